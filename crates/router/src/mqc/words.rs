//! Lines, words and abbreviated keywords.

use crate::ir::Unit;
use crate::{Level, Place};
use tailback_diffserv::Dscp;

/// A word of a line, with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub at: Place,
}

/// Error of a line: place, message, and advice.
#[derive(Debug)]
pub(super) struct Trouble {
    pub at: Place,
    pub message: String,
    pub advice: Option<String>,
    /// [`Level::Error`], [`Level::Unsupported`] or [`Level::Ignored`].
    pub level: Level,
}

impl Trouble {
    /// Returns an error: a router would refuse the line.
    pub fn wrong(at: Place, message: impl Into<String>, advice: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: Some(advice.into()), level: Level::Error }
    }
    /// Returns the remark on an unsupported line.
    pub fn unsupported(at: Place, message: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: None, level: Level::Unsupported }
    }
    /// Returns the remark on a line without effect on queues.
    pub fn ignored(at: Place, message: impl Into<String>) -> Trouble {
        Trouble { at, message: message.into(), advice: None, level: Level::Ignored }
    }
}

/// Result of matching an abbreviation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The keyword.
    One(&'static str),
    /// The keywords of which the word is a prefix.
    Several(Vec<&'static str>),
    /// The word is a prefix of no keyword.
    None,
}

/// Returns the keyword that `word` equals, ignoring case, or of which it is a unique prefix.
pub(super) fn pick(word: &str, keywords: &[&'static str]) -> Pick {
    let begins = |keyword: &str| {
        keyword.len() >= word.len()
            && keyword.as_bytes().iter().zip(word.as_bytes()).all(|(k, w)| k.eq_ignore_ascii_case(w))
    };
    if let Some(same) = keywords.iter().find(|keyword| keyword.eq_ignore_ascii_case(word)) {
        return Pick::One(same);
    }
    let mut found: Vec<&'static str> =
        keywords.iter().copied().filter(|keyword| !word.is_empty() && begins(keyword)).collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Pick::None,
        (Some(one), true) => Pick::One(one),
        (Some(last), false) => {
            found.push(last);
            Pick::Several(found)
        }
    }
}

/// Splits a line into words; a `!` at the beginning of a word starts a comment.
pub(super) fn split(line: &str, number: u32) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start: Option<(usize, u32)> = None;
    let mut column = 0;
    for (index, character) in line.char_indices() {
        column += 1;
        match (character.is_whitespace(), start) {
            (false, None) if character == '!' => return words,
            (false, None) => start = Some((index, column)),
            (true, Some((from, at))) => {
                words.push(Word { text: line.get(from..index).unwrap_or_default(), at: Place::new(number, at) });
                start = None;
            }
            _ => {}
        }
    }
    if let Some((from, at)) = start {
        words.push(Word { text: line.get(from..).unwrap_or_default(), at: Place::new(number, at) });
    }
    words
}

/// Cursor over the words of a line.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    words: &'a [Word<'a>],
    next: usize,
    end: Place,
}

impl<'a> Cursor<'a> {
    pub fn new(words: &'a [Word<'a>]) -> Cursor<'a> {
        let end = words.last().map_or_else(Place::default, |last| {
            Place::new(last.at.line, last.at.column.saturating_add(last.text.chars().count() as u32))
        });
        Cursor { words, next: 0, end }
    }
    /// Returns the next word without taking it.
    pub fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }
    /// Takes the next word.
    pub fn take(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }
    /// Returns the place of the next word, or of the end of the line.
    pub fn at(&self) -> Place {
        self.peek().map_or(self.end, |word| word.at)
    }
    /// `true` if no word is left.
    pub fn is_done(&self) -> bool {
        self.peek().is_none()
    }
    /// Takes the rest of the line, words joined by spaces.
    pub fn rest(&mut self) -> String {
        let rest = self.words.get(self.next..).unwrap_or_default();
        self.next = self.words.len();
        rest.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
    }
    /// Takes the next word if it is one of the keywords or the unique prefix of one.
    pub fn one_of(&mut self, keywords: &[&'static str]) -> Option<&'static str> {
        match pick(self.peek()?.text, keywords) {
            Pick::One(keyword) => {
                self.next += 1;
                Some(keyword)
            }
            Pick::Several(_) | Pick::None => None,
        }
    }
    /// `true` if the word after the next one is `word`, ignoring case.
    pub fn second_is(&self, word: &str) -> bool {
        self.words.get(self.next + 1).is_some_and(|own| own.text.eq_ignore_ascii_case(word))
    }
    /// Takes one of the keywords or a unique prefix; the error lists the keywords.
    pub fn expect(&mut self, keywords: &[&'static str]) -> Result<&'static str, Trouble> {
        let choices = keywords.join(", ");
        let Some(word) = self.peek() else {
            return Err(Trouble::wrong(self.end, "the line ends too early", format!("write one of: {choices}")));
        };
        match pick(word.text, keywords) {
            Pick::One(keyword) => {
                self.next += 1;
                Ok(keyword)
            }
            Pick::Several(all) => {
                let message = format!("`{}` is ambiguous", word.text);
                Err(Trouble::wrong(word.at, message, format!("write one of: {}", all.join(", "))))
            }
            Pick::None => {
                let message = format!("`{}` is not known here", word.text);
                Err(Trouble { advice: Some(format!("known are: {choices}")), ..Trouble::unsupported(word.at, message) })
            }
        }
    }
    /// Takes the next word; `what` names it in the error.
    pub fn name(&mut self, what: &str) -> Result<Word<'a>, Trouble> {
        self.take().ok_or_else(|| Trouble::wrong(self.end, format!("{what} is missing"), "finish the line"))
    }
    /// `true` if the next word begins with a digit.
    pub fn is_number(&self) -> bool {
        self.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
    }
    /// Takes a decimal integer from `low` to `high`; `what` names it in the error.
    pub fn number(&mut self, what: &str, low: u64, high: u64) -> Result<u64, Trouble> {
        let word = self.name(what)?;
        match word.text.parse::<u64>() {
            Ok(n) if (low..=high).contains(&n) => Ok(n),
            _ => Err(Trouble::wrong(
                word.at,
                format!("`{}` is not a valid {what}", word.text),
                format!("write an integer from {low} to {high}"),
            )),
        }
    }
    /// Takes a decimal integer of 32 bits from `low` to `high`; `what` names it in the error.
    pub fn small(&mut self, what: &str, low: u32, high: u32) -> Result<u32, Trouble> {
        self.number(what, u64::from(low), u64::from(high)).map(|n| u32::try_from(n).unwrap_or(high))
    }
    /// Takes a rate; returns bit/s, 1 to [`HIGHEST_RATE`]. A number may have a suffix k, m or g, or a unit (`20m`, `20
    /// mbps`, `1.5 gbps`); without one it is in multiples of `unit` bit/s.
    pub fn rate(&mut self, what: &str, unit: u64) -> Result<u64, Trouble> {
        let word = self.name(what)?;
        let wrong = || {
            Trouble::wrong(
                word.at,
                format!("`{}` is not a valid {what}", word.text),
                "write a number up to 10 Tbit/s, such as 2000000, 20m or 2 mbps",
            )
        };
        let end = word.text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.text.len());
        let (digits, suffix) = word.text.split_at(end);
        let suffixed = match suffix.to_ascii_lowercase().as_str() {
            "" => None,
            "k" => Some(1_000),
            "m" => Some(1_000_000),
            "g" => Some(1_000_000_000),
            other => Some(RATE_UNITS.iter().find(|(name, _)| *name == other).map(|(_, bits)| *bits).ok_or_else(wrong)?),
        };
        let factor = match suffixed {
            Some(factor) => factor,
            None => self.unit(&RATE_UNITS)?.unwrap_or(unit),
        };
        let rate = decimal(digits, factor).filter(|rate| (1..=HIGHEST_RATE).contains(rate));
        rate.ok_or_else(wrong)
    }
    /// Takes a rate that is in bit/s unless it has a unit.
    pub fn bits_per_second(&mut self) -> Result<u64, Trouble> {
        self.rate("rate in bit/s", 1)
    }
    /// Takes the next word if it is one of the units, unabbreviated; returns the factor. Rates in packets or cells are
    /// unsupported.
    pub fn unit(&mut self, units: &[(&str, u64)]) -> Result<Option<u64>, Trouble> {
        let Some(word) = self.peek() else { return Ok(None) };
        if ["pps", "cellsps", "cells", "per-thousand", "per-million"].iter().any(|u| word.text.eq_ignore_ascii_case(u))
        {
            return Err(Trouble::unsupported(word.at, format!("a value in `{}`", word.text)));
        }
        let found = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.text)).map(|(_, factor)| *factor);
        if found.is_some() {
            self.next += 1;
        }
        Ok(found)
    }
    /// Takes an amount of bytes, microseconds, packets or percent, at most 10^12; returns it with its unit. A number
    /// without a unit is in `unit`.
    pub fn amount(&mut self, what: &str, unit: Unit) -> Result<(u64, Unit), Trouble> {
        let word = self.name(what)?;
        let wrong = || {
            Trouble::wrong(
                word.at,
                format!("`{}` is not a valid {what}", word.text),
                "write a number up to 10^12, such as 64, 200 kbytes or 10 ms",
            )
        };
        let (mut unit, mut factor) = (unit, 1);
        if let Some(next) = self.peek() {
            if next.text.eq_ignore_ascii_case("cells") {
                return Err(Trouble::unsupported(next.at, "a number of ATM cells"));
            }
            let found = AMOUNT_UNITS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(next.text));
            if let Some((_, of, by)) = found {
                (unit, factor) = (*of, *by);
                self.next += 1;
            }
        }
        let n = decimal(word.text, factor).filter(|n| *n <= MAX_AMOUNT).ok_or_else(wrong)?;
        Ok((n, unit))
    }
    /// Takes a DSCP, by name or number; returns 0 to 63.
    pub fn dscp(&mut self) -> Result<u8, Trouble> {
        let word = self.name("code point")?;
        word.text
            .parse::<Dscp>()
            .map(Dscp::codepoint)
            .map_err(|_| Trouble::wrong(word.at, format!("`{}` is not a DSCP", word.text), DSCPS))
    }
    /// Takes an IP precedence, by name or number; returns 0 to 7.
    pub fn precedence(&mut self) -> Result<u8, Trouble> {
        const NAMES: [&str; 8] =
            ["routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network"];
        let word = self.name("precedence")?;
        let named = NAMES.iter().position(|name| name.eq_ignore_ascii_case(word.text)).map(|index| index as u8);
        named.or_else(|| word.text.parse().ok().filter(|n| *n < 8)).ok_or_else(|| {
            Trouble::wrong(
                word.at,
                format!("`{}` is not an IP precedence", word.text),
                "write an integer from 0 to 7, or a name such as critical",
            )
        })
    }
    /// Takes all integers that follow, at least one, each from 0 to `high`.
    pub fn numbers(&mut self, what: &str, high: u8) -> Result<Vec<u8>, Trouble> {
        let mut found = vec![self.small(what, 0, u32::from(high))? as u8];
        while self.is_number() {
            found.push(self.small(what, 0, u32::from(high))? as u8);
        }
        Ok(found)
    }
    /// Checks that no word is left; remaining ones are unsupported.
    pub fn finish(&self) -> Result<(), Trouble> {
        match self.peek() {
            None => Ok(()),
            Some(word) => {
                Err(Trouble::unsupported(word.at, format!("`{}` and the words after it are not known here", word.text)))
            }
        }
    }
}

/// DSCPs that a router accepts, for advice.
pub(super) const DSCPS: &str = "write af11 to af43, ef, va, cs0 to cs7, default, or 0 to 63";
/// Units of rates in IOS XR and NX-OS, in bit/s.
pub(super) const RATE_UNITS: [(&str, u64); 4] =
    [("bps", 1), ("kbps", 1_000), ("mbps", 1_000_000), ("gbps", 1_000_000_000)];
/// Units of limits and bursts: name, kind and factor. kbytes and mbytes are assumed to be 10^3 and 10^6 bytes, since no
/// public document defines them.
const AMOUNT_UNITS: [(&str, Unit, u64); 9] = [
    ("packets", Unit::Packets, 1),
    ("bytes", Unit::Bytes, 1),
    ("kbytes", Unit::Bytes, 1_000),
    ("mbytes", Unit::Bytes, 1_000_000),
    ("gbytes", Unit::Bytes, 1_000_000_000),
    ("us", Unit::Microseconds, 1),
    ("ms", Unit::Microseconds, 1_000),
    ("milliseconds", Unit::Microseconds, 1_000),
    ("percent", Unit::Percent, 1),
];
/// Maximum of an amount in its base unit.
const MAX_AMOUNT: u64 = 1_000_000_000_000;

/// Parses a decimal number; returns its product with a factor, rounded down. `None`: not a number, or overflow.
fn decimal(text: &str, factor: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    if !digits(whole) || !digits(part) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
    let part = u64::try_from(u128::from(part.parse::<u64>().ok()?) * u128::from(factor) / scale).ok()?;
    whole.checked_add(part)
}

/// Maximum of a rate in bit/s.
pub(crate) const HIGHEST_RATE: u64 = 10_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_recognised_by_a_unique_prefix() {
        let known = ["police", "policy-map", "priority"];
        assert_eq!(pick("policy-map", &known), Pick::One("policy-map"));
        assert_eq!(pick("PRI", &known), Pick::One("priority"));
        assert_eq!(pick("poli", &known), Pick::Several(vec!["police", "policy-map"]));
        assert_eq!(pick("", &known), Pick::None);
        assert_eq!(pick("policing", &known), Pick::None);
    }

    #[test]
    fn words_have_columns_in_characters_and_a_comment_ends_the_line() {
        let words = split("  é class  VOICE ! rest", 7);
        let found: Vec<_> = words.iter().map(|word| (word.text, word.at.line, word.at.column)).collect();
        assert_eq!(found, [("é", 7, 3), ("class", 7, 5), ("VOICE", 7, 12)]);
    }
}
