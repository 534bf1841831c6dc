//! Lines, words and abbreviated keywords.

use crate::Place;
use tailback_diffserv::Dscp;

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub at: Place,
}

/// What is wrong with a line: where, what, and what to write instead.
#[derive(Debug)]
pub(super) struct Trouble {
    pub at: Place,
    pub message: String,
    pub advice: Option<String>,
    /// Whether a router knows it and we have no counterpart; otherwise it is an error.
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

/// What a word may mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pick {
    One(&'static str),
    Several(Vec<&'static str>),
    None,
}

/// The keyword that `word` is, or that it alone begins.
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

/// Splits a line into words; what follows a `!` that begins a word is a comment.
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

/// Reads the words of a line one by one.
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
    /// The next word, which stays.
    pub fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }
    /// The next word, which is taken.
    pub fn take(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }
    /// Where the next word stands, or the line ends.
    pub fn at(&self) -> Place {
        self.peek().map_or(self.end, |word| word.at)
    }
    pub fn is_done(&self) -> bool {
        self.peek().is_none()
    }
    /// The rest of the line, taken, its words joined.
    pub fn rest(&mut self) -> String {
        let rest = self.words.get(self.next..).unwrap_or_default();
        self.next = self.words.len();
        rest.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
    }
    /// Takes the next word if it is one of the keywords.
    pub fn one_of(&mut self, keywords: &[&'static str]) -> Option<&'static str> {
        match pick(self.peek()?.text, keywords) {
            Pick::One(keyword) => {
                self.next += 1;
                Some(keyword)
            }
            Pick::Several(_) | Pick::None => None,
        }
    }
    /// Takes one of the keywords, or says which there are.
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
    /// Takes a word that names something.
    pub fn name(&mut self, what: &str) -> Result<Word<'a>, Trouble> {
        self.take().ok_or_else(|| Trouble::wrong(self.end, format!("{what} is missing"), "finish the line"))
    }
    /// Whether the next word begins with a digit.
    pub fn is_number(&self) -> bool {
        self.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
    }
    /// Takes a whole number within the range.
    pub fn number(&mut self, what: &str, low: u64, high: u64) -> Result<u64, Trouble> {
        let word = self.name(what)?;
        match word.text.parse::<u64>() {
            Ok(n) if (low..=high).contains(&n) => Ok(n),
            _ => {
                Err(Trouble::wrong(word.at, format!("`{}` is no {what}", word.text), format!("write {low} to {high}")))
            }
        }
    }
    /// As [`number`](Self::number), in 32 bits.
    pub fn small(&mut self, what: &str, low: u32, high: u32) -> Result<u32, Trouble> {
        self.number(what, u64::from(low), u64::from(high)).map(|n| u32::try_from(n).unwrap_or(high))
    }
    /// Takes a rate in bit/s; k, m and g may follow the digits.
    pub fn bits_per_second(&mut self) -> Result<u64, Trouble> {
        let word = self.name("rate in bit/s")?;
        let (digits, factor) = match word.text.as_bytes().last() {
            Some(b'k' | b'K') => (word.text.get(..word.text.len() - 1).unwrap_or_default(), 1_000),
            Some(b'm' | b'M') => (word.text.get(..word.text.len() - 1).unwrap_or_default(), 1_000_000),
            Some(b'g' | b'G') => (word.text.get(..word.text.len() - 1).unwrap_or_default(), 1_000_000_000),
            _ => (word.text, 1),
        };
        let rate = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
        rate.filter(|rate| (1..=HIGHEST_RATE).contains(rate)).ok_or_else(|| {
            Trouble::wrong(word.at, format!("`{}` is no rate in bit/s", word.text), "write digits, such as 2000000")
        })
    }
    /// Takes a code point, by name or number.
    pub fn dscp(&mut self) -> Result<u8, Trouble> {
        let word = self.name("code point")?;
        word.text
            .parse::<Dscp>()
            .map(Dscp::codepoint)
            .map_err(|advice| Trouble::wrong(word.at, format!("`{}` is no code point", word.text), advice))
    }
    /// Takes an IP precedence, by name or number.
    pub fn precedence(&mut self) -> Result<u8, Trouble> {
        const NAMES: [&str; 8] =
            ["routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network"];
        let word = self.name("precedence")?;
        let named = NAMES.iter().position(|name| name.eq_ignore_ascii_case(word.text)).map(|index| index as u8);
        named.or_else(|| word.text.parse().ok().filter(|n| *n < 8)).ok_or_else(|| {
            Trouble::wrong(
                word.at,
                format!("`{}` is no precedence", word.text),
                "write 0 to 7, or a name such as critical",
            )
        })
    }
    /// Takes all numbers that are left, of which there is at least one.
    pub fn numbers(&mut self, what: &str, high: u8) -> Result<Vec<u8>, Trouble> {
        let mut found = vec![self.small(what, 0, u32::from(high))? as u8];
        while self.is_number() {
            found.push(self.small(what, 0, u32::from(high))? as u8);
        }
        Ok(found)
    }
    /// Complains about words that are left.
    pub fn finish(&self) -> Result<(), Trouble> {
        match self.peek() {
            None => Ok(()),
            Some(word) => {
                Err(Trouble::unsupported(word.at, format!("`{}` and what follows is not known here", word.text)))
            }
        }
    }
}

/// Highest rate that is believed, bit/s.
pub(crate) const HIGHEST_RATE: u64 = 10_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_known_by_a_prefix_that_no_other_has() {
        let known = ["police", "policy-map", "priority"];
        assert_eq!(pick("policy-map", &known), Pick::One("policy-map"));
        assert_eq!(pick("PRI", &known), Pick::One("priority"));
        assert_eq!(pick("poli", &known), Pick::Several(vec!["police", "policy-map"]));
        assert_eq!(pick("", &known), Pick::None);
        assert_eq!(pick("policing", &known), Pick::None);
    }

    #[test]
    fn words_know_their_columns_in_characters_and_a_comment_ends_the_line() {
        let words = split("  é class  VOICE ! rest", 7);
        let found: Vec<_> = words.iter().map(|word| (word.text, word.at.line, word.at.column)).collect();
        assert_eq!(found, [("é", 7, 3), ("class", 7, 5), ("VOICE", 7, 12)]);
    }
}
