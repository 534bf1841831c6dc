//! Arguments of a command.

use super::handle::Handle;
use super::shell::Word;
use super::units;
use crate::Place;

/// Error of a command: place, message, and advice.
#[derive(Debug)]
pub(super) struct Trouble {
    pub at: Place,
    pub message: String,
    pub advice: Option<String>,
    /// `true` if the kernel accepts the command but it is unsupported here; otherwise it is an error.
    pub unsupported: bool,
}

impl Trouble {
    /// Returns an error: the kernel or `tc` would refuse the command.
    pub fn wrong(at: Place, message: impl Into<String>, advice: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: Some(advice.into()), unsupported: false }
    }
    /// Returns the remark on a command that is valid but unsupported.
    pub fn unsupported(at: Place, message: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: None, unsupported: true }
    }
}

/// A rate, absolute or relative to the device's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rate {
    /// Rate in bit/s.
    Bits(u64),
    /// Millionths of the rate of the device, above 0 to 1000000.
    Part(u32),
}

/// Rates that `tc` accepts here, for errors.
const RATE: &str = "a rate above 0 to 10tbit, such as 10mbit (mbps: 10^6 bytes per second)";

/// Arguments of a command, taken one by one.
pub(super) struct Args<'a> {
    words: &'a [Word],
    next: usize,
    start: Place,
}

impl<'a> Args<'a> {
    pub fn new(words: &'a [Word], start: Place) -> Args<'a> {
        Args { words, next: 0, start }
    }
    /// Returns the place of the command.
    pub fn start(&self) -> Place {
        self.start
    }
    /// Returns the next word without taking it.
    pub fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.next)
    }
    /// Takes the next word.
    pub fn take(&mut self) -> Option<&'a Word> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }
    /// `true` if no word is left.
    pub fn is_done(&self) -> bool {
        self.peek().is_none()
    }
    /// Returns the place of the next argument; after the last one, that of the command.
    pub fn at(&self) -> Place {
        self.peek().map_or(self.start, |word| word.at)
    }
    /// Takes the next word if it is this one; `true`: it was.
    pub fn take_if(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|own| own.text == word);
        self.next += usize::from(found);
        found
    }
    /// Takes a word that is a prefix of a keyword; returns the first such keyword.
    pub fn prefix_of(&mut self, keywords: &[&'static str]) -> Result<&'static str, Trouble> {
        let word = self.word("keyword")?;
        keywords.iter().find(|keyword| keyword.starts_with(&word.text)).copied().ok_or_else(|| {
            let message = format!("`{}` is not known here", word.text);
            Trouble {
                advice: Some(format!("known are: {}", keywords.join(", "))),
                ..Trouble::unsupported(word.at, message)
            }
        })
    }
    /// Takes the next word; `what` names it in the error.
    pub fn word(&mut self, what: &str) -> Result<&'a Word, Trouble> {
        let start = self.start;
        self.take().ok_or_else(|| Trouble::wrong(start, format!("{what} is missing"), "finish the command"))
    }
    /// Takes a word and parses it; `accepted` describes the form, unit and range for the error.
    fn parsed<T>(&mut self, what: &str, accepted: &str, parse: fn(&str) -> Option<T>) -> Result<T, Trouble> {
        let word = self.word(what)?;
        parse(&word.text).ok_or_else(|| {
            Trouble::wrong(word.at, format!("`{}` is not a valid {what}", word.text), format!("write {accepted}"))
        })
    }
    /// Takes a rate; returns bit/s.
    pub fn rate(&mut self) -> Result<u64, Trouble> {
        self.parsed("rate", RATE, units::rate)
    }
    /// Takes a size; returns bytes.
    pub fn size(&mut self) -> Result<u64, Trouble> {
        self.parsed("size", "a size of at most 1 TiB, in bytes or such as 15k (k: 1024 bytes)", units::size)
    }
    /// Takes a time; returns microseconds.
    pub fn time(&mut self) -> Result<u64, Trouble> {
        self.parsed("time", "a time of at most 12 days, in microseconds or such as 50ms", units::time)
    }
    /// Takes an integer, decimal or hexadecimal after `0x`.
    pub fn number(&mut self) -> Result<u64, Trouble> {
        self.parsed("number", "an integer from 0, decimal or, after 0x, hexadecimal", units::number)
    }
    /// Takes an integer that may be negative.
    pub fn signed(&mut self) -> Result<i64, Trouble> {
        self.parsed("number", "an integer such as 44 or -14", |text| {
            let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
            units::number(digits).and_then(|n| i64::try_from(n).ok()).map(|n| sign * n)
        })
    }
    /// Takes an absolute rate, or a percentage of the device's (`30%`).
    pub fn rate_or_part(&mut self) -> Result<Rate, Trouble> {
        self.parsed(
            "rate",
            "a rate such as 10mbit (mbps: 10^6 bytes per second), or a percentage above 0% to 100%, such as 30%",
            |text| match text.strip_suffix('%') {
                Some(percent) => units::percent(percent).filter(|part| *part > 0).map(Rate::Part),
                None => units::rate(text).map(Rate::Bits),
            },
        )
    }
    /// Takes a probability from 0 to 1; returns millionths.
    pub fn millionths(&mut self) -> Result<u32, Trouble> {
        self.parsed("probability", "a probability from 0 to 1, such as 0.02", units::millionths)
    }
    /// Takes an integer from `low` to `high`.
    pub fn within(&mut self, what: &str, low: u64, high: u64) -> Result<u64, Trouble> {
        let at = self.at();
        let number = self.number()?;
        if (low..=high).contains(&number) {
            return Ok(number);
        }
        Err(Trouble::wrong(
            at,
            format!("{number} is not a valid {what}"),
            format!("write an integer from {low} to {high}"),
        ))
    }
    /// Takes a 16-bit number in hexadecimal without a prefix, the notation of handles and `default`.
    pub fn hexadecimal(&mut self) -> Result<u16, Trouble> {
        self.parsed("class number", "a hexadecimal number from 0 to ffff, such as 30", |text| {
            u16::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        })
    }
    /// Takes a handle such as `1:10`, `1:` (minor number 0) or, if there is a default `major`, `:10`.
    pub fn handle(&mut self, major: Option<u16>) -> Result<Handle, Trouble> {
        let word = self.word("handle")?;
        let part = |text: &str| u16::from_str_radix(text, 16).ok();
        let found = word.text.split_once(':').and_then(|(first, second)| {
            let major = if first.is_empty() { major? } else { part(first)? };
            let minor = if second.is_empty() { 0 } else { part(second)? };
            Some(Handle { major, minor })
        });
        found.ok_or_else(|| {
            Trouble::wrong(
                word.at,
                format!("`{}` is not a valid handle", word.text),
                "write MAJOR:MINOR in hexadecimal, each up to ffff, such as 1:10",
            )
        })
    }
}
