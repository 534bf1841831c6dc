//! Parsers of rates, sizes, percentages and code points.

use super::tree::{Id, Tree};
use crate::{Report, Scope};
use std::collections::BTreeMap;
use tailback_diffserv::Dscp;

/// Parses a rate in bit/s or a size in bytes: digits, an optional fraction, and k, m or g, in either case, for 10^3,
/// 10^6 or 10^9 (Junos OS Class of Service User Guide, `transmit-rate`: "k (1000), m (1,000,000), or g
/// (1,000,000,000)"). A fraction of one bit or byte is cut off. `None`: another word, more than 15 digits before or
/// after the point, or a value of 2^64 or more.
pub(super) fn number(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let (digits, factor) = match word.strip_suffix(['k', 'm', 'g']) {
        Some(digits) if word.ends_with('k') => (digits, 1_000),
        Some(digits) if word.ends_with('m') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (word.as_str(), 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str| (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(part) {
        return None;
    }
    let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
    let fraction = part.parse::<u128>().ok()? * factor / scale;
    u64::try_from(whole.parse::<u128>().ok()? * factor + fraction).ok()
}

/// Parses a rate in bit/s; `None`: no number, or not from 1 bit/s to 10 Tbit/s.
pub(super) fn rate(word: &str) -> Option<u64> {
    number(word).filter(|rate| (1..=crate::mqc::HIGHEST_RATE).contains(rate))
}

/// Parses an integer percentage, with or without `%`; `None`: another word, or above 100.
pub(super) fn percent(word: &str) -> Option<u32> {
    word.strip_suffix('%').unwrap_or(word).parse().ok().filter(|percent| *percent <= 100)
}

/// Header field that a classifier uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// DSCP of IPv4, and of IPv6 where no classifier for [`Field::Dscp6`] applies.
    Dscp,
    /// DSCP of IPv6.
    Dscp6,
    /// IP precedence.
    Precedence,
    /// Traffic class of the MPLS label (RFC 5462, formerly EXP).
    Exp,
    /// Priority of the VLAN tag (IEEE 802.1Q).
    Cos,
}

impl Field {
    /// All fields, with their names in `classifiers` and `code-point-aliases`.
    pub const ALL: [(&'static str, Field); 5] = [
        ("dscp", Field::Dscp),
        ("dscp-ipv6", Field::Dscp6),
        ("inet-precedence", Field::Precedence),
        ("exp", Field::Exp),
        ("ieee-802.1", Field::Cos),
    ];
    /// Returns the field of a name of [`Field::ALL`]; `None`: another name.
    pub fn named(name: &str) -> Option<Field> {
        Field::ALL.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
    /// Returns the name of the field in configurations.
    pub fn name(self) -> &'static str {
        Field::ALL.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }
    /// Returns the number of values of the field, 8 or 64.
    pub fn values(self) -> u8 {
        if matches!(self, Field::Dscp | Field::Dscp6) { 64 } else { 8 }
    }
}

/// Default aliases of three-bit fields (Junos OS Class of Service User Guide, "Default CoS Values and Aliases").
const THREE_BITS: [(&str, u8); 10] = [
    ("be", 0),
    ("be1", 1),
    ("ef", 2),
    ("ef1", 3),
    ("af11", 4),
    ("af12", 5),
    ("nc1", 6),
    ("cs6", 6),
    ("nc2", 7),
    ("cs7", 7),
];

/// Aliases of code points that the configuration defines; they override default aliases of the same name.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// Code points by field and alias.
    defined: BTreeMap<(Field, String), u8>,
}

impl Aliases {
    /// Reads the section `code-point-aliases`; `None`: the configuration has none. Reports an alias whose value is not
    /// the bits of a code point: without the error, a default alias of the same name would apply.
    pub fn read(tree: &mut Tree, aliases: Option<Id>, report: &mut Report) -> Aliases {
        let mut found = Aliases::default();
        let Some(aliases) = aliases else { return found };
        report.enter(Scope::Everything);
        for section in tree.children(aliases) {
            let Some(field) = Field::named(tree.word(section)) else { continue };
            for alias in tree.children(section) {
                let name = tree.word(alias).to_owned();
                let Some(value) = tree.value(alias) else { continue };
                if let Some(code) = bits(field, tree.word(value)) {
                    let _ = found.defined.insert((field, name), code);
                } else {
                    let word = tree.word(value);
                    let message =
                        format!("the alias `{name}` of {} has the value `{word}`, which is not bits", field.name());
                    report.error(
                        tree.at(value),
                        message,
                        "write six bits for a DSCP, such as 101110; else three, such as 101",
                    );
                }
            }
        }
        found
    }
    /// Parses a code point: a defined alias, else its bits, else a default alias. `None`: none of these for `field`.
    pub fn code(&self, field: Field, word: &str) -> Option<u8> {
        if let Some(code) = self.defined.get(&(field, word.to_owned())) {
            return Some(*code);
        }
        bits(field, word).or_else(|| match field {
            Field::Dscp | Field::Dscp6 => dscp(word),
            Field::Precedence | Field::Exp | Field::Cos => {
                THREE_BITS.iter().find(|(name, _)| *name == word).map(|(_, code)| *code)
            }
        })
    }
}

/// Returns the DSCP of a default alias: a name of RFC 2474, 2597, 3246 or 5865, or `be`, `nc1` or `nc2` of the
/// document named at [`THREE_BITS`]. `None`: another word.
fn dscp(word: &str) -> Option<u8> {
    match word {
        "be" => Some(0),
        "nc1" => Some(48),
        "nc2" => Some(56),
        _ if word.bytes().all(|b| b.is_ascii_digit()) => None,
        _ => word.parse::<Dscp>().ok().map(Dscp::codepoint),
    }
}

/// Parses a code point in binary digits, as in classifiers: six for a DSCP, else three. `None`: another word.
fn bits(field: Field, word: &str) -> Option<u8> {
    let digits = if field.values() == 64 { 6 } else { 3 };
    (word.len() == digits).then(|| u8::from_str_radix(word, 2).ok()).flatten()
}

/// Parses a DSCP in a firewall filter: a default alias, or a number from 0 to 63, decimal, hexadecimal after `0x` or
/// binary after `b`. `None`: another word.
pub(super) fn filter_dscp(word: &str) -> Option<u8> {
    let number = if let Some(digits) = word.strip_prefix("0x") {
        u8::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = word.strip_prefix('b').filter(|rest| rest.bytes().all(|b| matches!(b, b'0' | b'1'))) {
        u8::from_str_radix(digits, 2).ok()
    } else {
        word.parse().ok()
    };
    number.filter(|code| *code < 64).or_else(|| dscp(word))
}

/// Parses an IP precedence: a name, or a number from 0 to 7. `None`: another word.
pub(super) fn precedence(word: &str) -> Option<u8> {
    const NAMES: [&str; 8] = [
        "routine",
        "priority",
        "immediate",
        "flash",
        "flash-override",
        "critical-ecp",
        "internet-control",
        "net-control",
    ];
    let named = NAMES.iter().position(|name| *name == word).and_then(|index| u8::try_from(index).ok());
    named.or_else(|| word.parse().ok().filter(|n| *n < 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_decimal_suffixes() {
        for (word, value) in [
            ("64k", Some(64_000)),
            ("1.5m", Some(1_500_000)),
            ("10G", Some(10_000_000_000)),
            ("3200", Some(3_200)),
            ("k", None),
            ("1.m", None),
            ("-3", None),
            ("999999999999999g", None),
        ] {
            assert_eq!(number(word), value, "{word}");
        }
    }

    #[test]
    fn percentages_have_at_most_one_sign() {
        for (word, value) in [("5", Some(5)), ("5%", Some(5)), ("5%%", None), ("%", None), ("101%", None)] {
            assert_eq!(percent(word), value, "{word}");
        }
    }

    #[test]
    fn code_points_are_bits_or_aliases() {
        let aliases = Aliases::default();
        assert_eq!(aliases.code(Field::Dscp, "101110"), Some(46));
        assert_eq!(aliases.code(Field::Dscp, "ef"), Some(46));
        assert_eq!(aliases.code(Field::Dscp, "nc1"), Some(48));
        assert_eq!(aliases.code(Field::Exp, "ef"), Some(2));
        assert_eq!(aliases.code(Field::Exp, "101"), Some(5));
        assert_eq!(aliases.code(Field::Dscp, "101"), None);
        assert_eq!(filter_dscp("0x2e"), Some(46));
        assert_eq!(filter_dscp("b101110"), Some(46));
        assert_eq!(filter_dscp("46"), Some(46));
        assert_eq!(filter_dscp("be"), Some(0));
    }
}
