//! Words of a configuration that contain a number, and the replacement of the number.

use super::values::Unit;

/// Language of a configuration that can be patched, which determines the notation of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Cisco's modular QoS command line: integers, whose unit depends on the command.
    Mqc,
    /// Scripts of Linux `tc`: numbers with a unit, and shell variables.
    Tc,
}

/// A word that contains a number, directly or after shell expansion.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// Range in the text, in bytes; the end is excluded.
    pub start: usize,
    pub end: usize,
    /// Line, and column in characters, from 1.
    pub line: u32,
    pub column: u32,
    /// Original text.
    pub text: String,
    /// Number as written, in `unit`; `None`: a shell expansion.
    pub number: Option<f64>,
    /// Unit after the number; empty: none.
    pub unit: String,
}

/// Returns the words of a text, except in comments, that are a number or a shell expansion, in order.
pub(super) fn tokens(text: &str, language: Syntax) -> Vec<Token> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        words(line, begin, number, language, &mut found);
        begin += line.len();
    }
    found
}

/// Adds the tokens of a line that begins at byte `begin` of the text.
fn words(line: &str, begin: usize, number: u32, language: Syntax, found: &mut Vec<Token>) {
    let mut start = None;
    let (mut column, mut from) = (0u32, 0u32);
    let comment = if language == Syntax::Mqc { '!' } else { '#' };
    let ends = line.char_indices().map(Some).chain([None]);
    for end in ends {
        column = column.saturating_add(1);
        match (end, start) {
            (Some((_, character)), None) if character == comment => return,
            (Some((at, character)), None) if !character.is_whitespace() => (start, from) = (Some(at), column),
            (Some((_, character)), Some(_)) if !character.is_whitespace() => {}
            (_, Some(first)) => {
                let last = end.map_or(line.len(), |(at, _)| at);
                let word = line.get(first..last).unwrap_or_default();
                found.extend(token(word, begin + first, number, from, language));
                start = None;
            }
            _ => {}
        }
    }
}

/// Returns the part of a word that is a number or a shell expansion; `None`: it has none.
fn token(word: &str, begin: usize, line: u32, column: u32, language: Syntax) -> Option<Token> {
    let mut skipped = 0;
    let mut inner = word;
    if language == Syntax::Tc {
        // `UP=800`, `export UP="800";`
        if let Some((name, _)) = word.split_once('=')
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        {
            skipped = name.len() + 1;
            inner = word.get(skipped..)?;
        }
        let opened = inner.trim_start_matches(['"', '\'']);
        skipped += inner.len() - opened.len();
        inner = opened.trim_end_matches(['"', '\'', ';']);
    }
    let made = |inner: &str, number: Option<f64>, unit: &str| Token {
        start: begin + skipped,
        end: begin + skipped + inner.len(),
        line,
        // The skipped text consists of ASCII characters.
        column: column.saturating_add(u32::try_from(skipped).unwrap_or(0)),
        text: inner.to_owned(),
        number,
        unit: unit.to_owned(),
    };
    if language == Syntax::Tc && inner.contains('$') {
        return Some(made(inner, None, ""));
    }
    let end = inner.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(inner.len());
    let (digits, unit) = inner.split_at_checked(end)?;
    // A burst of tc may be followed by a cell size: `15k/8`.
    let (unit, tail) = unit.split_at_checked(unit.find('/').unwrap_or(unit.len()))?;
    let inner = inner.strip_suffix(tail)?;
    let letters = unit.chars().all(|c| c.is_ascii_alphabetic() || c == '%');
    let is_short = digits.len() <= 15 && unit.len() <= 6;
    (!digits.is_empty() && letters && is_short).then(|| digits.parse().ok().map(|n| made(inner, Some(n), unit)))?
}

/// Units of rates of `tc` (tc(8), "UNITS"), in bit/s.
const RATES: [(&str, f64); 16] = [
    ("tbit", 1e12),
    ("gbit", 1e9),
    ("mbit", 1e6),
    ("kbit", 1e3),
    ("bit", 1.0),
    ("tbps", 8e12),
    ("gbps", 8e9),
    ("mbps", 8e6),
    ("kbps", 8e3),
    ("bps", 8.0),
    ("gibit", 1_073_741_824.0),
    ("mibit", 1_048_576.0),
    ("kibit", 1024.0),
    ("gibps", 8_589_934_592.0),
    ("mibps", 8_388_608.0),
    ("kibps", 8192.0),
];
/// Units of sizes of `tc`, in bytes.
const SIZES: [(&str, f64); 10] = [
    ("gb", 1_073_741_824.0),
    ("g", 1_073_741_824.0),
    ("mb", 1_048_576.0),
    ("m", 1_048_576.0),
    ("kb", 1024.0),
    ("k", 1024.0),
    ("b", 1.0),
    ("gbit", 134_217_728.0),
    ("mbit", 131_072.0),
    ("kbit", 128.0),
];
/// Units of times of `tc`, in microseconds.
const TIMES: [(&str, f64); 9] = [
    ("secs", 1e6),
    ("sec", 1e6),
    ("s", 1e6),
    ("msecs", 1e3),
    ("msec", 1e3),
    ("ms", 1e3),
    ("usecs", 1.0),
    ("usec", 1.0),
    ("us", 1.0),
];
/// Suffixes of rates in routers.
const SUFFIXES: [(&str, f64); 3] = [("g", 1e9), ("m", 1e6), ("k", 1e3)];

impl Token {
    /// Returns the token's own unit in base units (bit/s, bytes, microseconds) of `unit`; 1 for a number without a
    /// unit.
    pub fn factor(&self, unit: Unit, language: Syntax) -> f64 {
        let table: &[(&str, f64)] = match (language, unit) {
            (Syntax::Mqc, _) => &SUFFIXES,
            (Syntax::Tc, Unit::Rate) => &RATES,
            (Syntax::Tc, Unit::Bytes) => &SIZES,
            (Syntax::Tc, Unit::Time) => &TIMES,
            (Syntax::Tc, Unit::Packets | Unit::Number) => &[],
        };
        table.iter().find(|(name, _)| name.eq_ignore_ascii_case(&self.unit)).map_or(1.0, |(_, factor)| *factor)
    }

    /// Returns the token with another number, which is given in the base unit of `unit`: in the token's own unit if the
    /// number is an integer in it, else in a finer unit of the language. `None`: the value is negative or above 10^15.
    pub fn written(&self, value: f64, unit: Unit, language: Syntax) -> Option<String> {
        if !(0.0..=1e15).contains(&value) {
            return None;
        }
        if self.text.contains('.') && self.unit.is_empty() || unit == Unit::Number && self.is_fraction(value) {
            return Some(shortest(value));
        }
        let factor = self.factor(unit, language);
        let own = value / factor;
        // An integer in the own unit, up to rounding errors.
        if (own - own.round()).abs() <= 1e-9 * own.abs().max(1.0) && (own.round() >= 1.0 || value == 0.0) {
            return Some(format!("{}{}", own.round(), self.unit));
        }
        let finer = match (language, unit) {
            _ if factor <= 1.0 => None,
            (Syntax::Mqc, _) => Some(""),
            (Syntax::Tc, Unit::Rate) => {
                let kilobits = value / 1e3;
                if kilobits.fract() == 0.0 && kilobits >= 1.0 {
                    return Some(format!("{kilobits}kbit"));
                }
                Some("bit")
            }
            (Syntax::Tc, Unit::Bytes) => Some("b"),
            (Syntax::Tc, Unit::Time) => Some("us"),
            (Syntax::Tc, _) => None,
        };
        match finer {
            Some(finer) => Some(format!("{}{finer}", value.round())),
            None => Some(format!("{}{}", own.round(), self.unit)),
        }
    }

    /// `true` if the original number and the value have fractional parts.
    fn is_fraction(&self, value: f64) -> bool {
        self.number.is_some_and(|number| number.fract() != 0.0) && value.fract() != 0.0
    }

    /// Returns the literal that replaces a shell expansion, for `tc`.
    pub fn literal(value: f64, unit: Unit) -> String {
        match unit {
            Unit::Rate => format!("{}bit", value.round()),
            Unit::Bytes => format!("{}b", value.round()),
            Unit::Time => format!("{}us", value.round()),
            Unit::Packets => value.round().to_string(),
            Unit::Number => shortest(value),
        }
    }
}

/// Formats a number with at most six decimals, without trailing zeros.
fn shortest(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str, language: Syntax) -> Token {
        tokens(text, language).into_iter().next().unwrap()
    }

    #[test]
    fn tokens_are_words_with_a_number_outside_comments_and_have_line_and_column() {
        let text = " é priority 168 2000 ! 9\r\n match access-group name 10.0.0.1\n police 100k\n";
        let found: Vec<_> =
            tokens(text, Syntax::Mqc).iter().map(|t| (t.line, t.column, text[t.start..t.end].to_owned())).collect();
        assert_eq!(found, [(1, 13, "168".to_owned()), (1, 17, "2000".to_owned()), (3, 9, "100k".to_owned())]);
        let text = "UP=800; X=\"7mbit\" # 5\ntc class add classid 1:10 htb rate ${UP}kbit burst 15k\n";
        let found: Vec<_> = tokens(text, Syntax::Tc).iter().map(|t| text[t.start..t.end].to_owned()).collect();
        assert_eq!(found, ["800", "7mbit", "${UP}kbit", "15k"]);
    }

    #[test]
    fn a_value_that_is_fractional_in_the_unit_uses_a_finer_one() {
        let rate = only("1mbit", Syntax::Tc);
        let written = |token: &Token, value, unit| token.written(value, unit, Syntax::Tc).unwrap();
        assert_eq!(written(&rate, 2e6, Unit::Rate), "2mbit");
        assert_eq!(written(&rate, 1.5e6, Unit::Rate), "1500kbit");
        assert_eq!(written(&rate, 1_500_001.0, Unit::Rate), "1500001bit");
        // tc counts sizes in 1024 and bps in bytes.
        assert_eq!(written(&only("15k", Syntax::Tc), 16_384.0, Unit::Bytes), "16k");
        assert_eq!(written(&only("15k", Syntax::Tc), 16_000.0, Unit::Bytes), "16000b");
        assert_eq!(written(&only("100kbps", Syntax::Tc), 1_600_000.0, Unit::Rate), "200kbps");
        assert_eq!(written(&only("5ms", Syntax::Tc), 7_500.0, Unit::Time), "7500us");
        assert_eq!(written(&only("0.02", Syntax::Tc), 0.05, Unit::Number), "0.05");
        assert_eq!(only("100k", Syntax::Mqc).written(150_500.0, Unit::Rate, Syntax::Mqc).unwrap(), "150500");
    }
}
