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
    pub fn wrong(at: Place, message: impl Into<String>, advice: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: Some(advice.into()), unsupported: false }
    }
    pub fn unsupported(at: Place, message: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: None, unsupported: true }
    }
}

/// A rate, absolute or relative to the device's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rate {
    /// bit/s.
    Bits(u64),
    /// Millionths of the rate of the device.
    Part(u32),
}

/// Arguments of a command.
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
    pub fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.next)
    }
    pub fn take(&mut self) -> Option<&'a Word> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }
    pub fn is_done(&self) -> bool {
        self.peek().is_none()
    }
    /// Returns the place of the next argument; after the last one, that of the command.
    pub fn at(&self) -> Place {
        self.peek().map_or(self.start, |word| word.at)
    }
    /// Takes the next word if it is this one.
    pub fn is(&mut self, word: &str) -> bool {
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
    pub fn word(&mut self, what: &str) -> Result<&'a Word, Trouble> {
        let start = self.start;
        self.take().ok_or_else(|| Trouble::wrong(start, format!("{what} is missing"), "finish the command"))
    }
    fn parsed<T>(&mut self, what: &str, example: &str, parse: fn(&str) -> Option<T>) -> Result<T, Trouble> {
        let word = self.word(what)?;
        parse(&word.text).ok_or_else(|| {
            Trouble::wrong(word.at, format!("`{}` is no {what}", word.text), format!("write it such as {example}"))
        })
    }
    pub fn rate(&mut self) -> Result<u64, Trouble> {
        self.parsed("rate", "10mbit (mbps are megabytes per second)", units::rate)
    }
    pub fn size(&mut self) -> Result<u64, Trouble> {
        self.parsed("size", "15k", units::size)
    }
    pub fn time(&mut self) -> Result<u64, Trouble> {
        self.parsed("time", "50ms", units::time)
    }
    pub fn number(&mut self) -> Result<u64, Trouble> {
        self.parsed("number", "100", units::number)
    }
    /// Takes an integer that may be negative.
    pub fn signed(&mut self) -> Result<i64, Trouble> {
        self.parsed("number", "44", |text| {
            let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
            units::number(digits).and_then(|n| i64::try_from(n).ok()).map(|n| sign * n)
        })
    }
    /// Takes a rate in bit/s, or in millionths of that of the device (`30%`).
    pub fn rate_or_part(&mut self) -> Result<Rate, Trouble> {
        self.parsed("rate", "10mbit (mbps are megabytes per second), or 30%", |text| match text.strip_suffix('%') {
            Some(percent) => units::percent(percent).map(Rate::Part),
            None => units::rate(text).map(Rate::Bits),
        })
    }
    pub fn millionths(&mut self) -> Result<u32, Trouble> {
        self.parsed("probability", "0.02", units::millionths)
    }
    /// Takes an integer in the range.
    pub fn within(&mut self, what: &str, low: u64, high: u64) -> Result<u64, Trouble> {
        let at = self.at();
        let number = self.number()?;
        if (low..=high).contains(&number) {
            return Ok(number);
        }
        Err(Trouble::wrong(at, format!("{number} is no {what}"), format!("write {low} to {high}")))
    }
    /// Takes a 16-bit number in hexadecimal without a prefix, the notation of handles and `default`.
    pub fn hexadecimal(&mut self) -> Result<u16, Trouble> {
        self.parsed("class number", "30", |text| u16::from_str_radix(text.trim_start_matches("0x"), 16).ok())
    }
    /// Takes a handle such as `1:10`, `1:` or `:10`; the default of its major number is `major`.
    pub fn handle(&mut self, major: Option<u16>) -> Result<Handle, Trouble> {
        let word = self.word("handle")?;
        let part = |text: &str| u16::from_str_radix(text, 16).ok();
        let found = word.text.split_once(':').and_then(|(first, second)| {
            let major = if first.is_empty() { major? } else { part(first)? };
            let minor = if second.is_empty() { 0 } else { part(second)? };
            Some(Handle { major, minor })
        });
        found.ok_or_else(|| {
            Trouble::wrong(word.at, format!("`{}` is no handle", word.text), "write it such as 1:10, in hexadecimal")
        })
    }
}
