//! The written forms: a decimal number followed by a unit, `"1.5 Mbit/s"`, `"50kB"`, `"20ms"`.

use crate::{Amount, Dur, Rate};
use core::fmt;

/// A size in bytes.
pub type Bytes = u64;

/// Why a written quantity was refused, in words that say what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for QuantityError {}

/// Units of one kind of quantity: spelling and factor, plus spellings that are refused with advice.
struct Units {
    what: &'static str,
    example: &'static str,
    accepted: &'static [(&'static str, u128)],
    refused: &'static [(&'static str, &'static str)],
}

const DURATION: Units = Units {
    what: "a duration",
    example: "20ms",
    accepted: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    refused: &[("m", "min or ms"), ("sec", "s"), ("msec", "ms"), ("usec", "us"), ("S", "s"), ("MS", "ms")],
};

const RATE: Units = Units {
    what: "a rate",
    example: "10Mbit/s",
    accepted: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
    refused: &[
        ("bps", "bit/s"),
        ("kbps", "kbit/s (or kB/s if you mean bytes)"),
        ("Kbps", "kbit/s (or kB/s if you mean bytes)"),
        ("mbps", "Mbit/s (or MB/s if you mean bytes)"),
        ("Mbps", "Mbit/s (or MB/s if you mean bytes)"),
        ("Gbps", "Gbit/s (or GB/s if you mean bytes)"),
        ("gbps", "Gbit/s (or GB/s if you mean bytes)"),
        ("mb", "Mbit/s"),
        ("Mb", "Mbit/s"),
        ("MB", "MB/s (bytes) or Mbit/s (bits)"),
        ("Mbit", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbit/s", "Mbit/s"),
        ("Gbit", "Gbit/s"),
        ("kbit", "kbit/s"),
        ("Kbit/s", "kbit/s"),
        ("M", "Mbit/s"),
        ("G", "Gbit/s"),
    ],
};

const SIZE: Units = Units {
    what: "a size",
    example: "50kB",
    accepted: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1_024),
        ("MiB", 1_048_576),
        ("GiB", 1_073_741_824),
    ],
    refused: &[
        ("KB", "kB (1000 bytes) or KiB (1024 bytes)"),
        ("kb", "kB"),
        ("Kb", "kB"),
        ("k", "kB"),
        ("K", "kB"),
        ("M", "MB"),
        ("Mb", "MB"),
        ("mb", "MB"),
        ("b", "B"),
        ("bytes", "B"),
        ("kbit", "kB"),
    ],
};

const PACKETS: Units = Units {
    what: "a number of packets",
    example: "100packets",
    accepted: &[("packets", 1_000), ("packet", 1_000)],
    refused: &[("p", "packets"), ("pkt", "packets"), ("pkts", "packets")],
};

/// Parses a duration such as `"20ms"`; exact to the picosecond, refused when it is negative,
/// without a unit, with an unknown unit, finer than 1 ps, or longer than 213 days.
pub fn parse_duration(text: &str) -> Result<Dur, QuantityError> {
    parse(text, &DURATION).map(Dur)
}

/// Parses a rate such as `"10Mbit/s"`; refused when it is negative, zero, without a unit, with an
/// unknown unit, or above 10 Tbit/s.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let bits = parse(text, &RATE)?;
    if bits == 0 {
        return Err(QuantityError(format!("`{text}` is zero; a rate is above zero")));
    }
    if bits > 10_000_000_000_000 {
        return Err(QuantityError(format!("`{text}` is above 10Tbit/s, the highest rate supported")));
    }
    Ok(Rate(bits))
}

/// Parses a size such as `"50kB"` (kB = 1000 bytes, KiB = 1024 bytes).
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    parse(text, &SIZE)
}

/// Parses an amount in a queue: a size such as `"50kB"` or a number of packets such as
/// `"100packets"`, to a thousandth of a packet.
pub fn parse_amount(text: &str) -> Result<Amount, QuantityError> {
    let unit =
        text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-')).trim();
    if unit.starts_with('p') {
        return parse(text, &PACKETS).map(Amount::Millipackets);
    }
    if unit.is_empty() {
        return Err(QuantityError(format!(
            "`{text}` has no unit; an amount is written such as \"50kB\" or \"100packets\""
        )));
    }
    parse(text, &SIZE).map(Amount::Bytes)
}

/// Parses a fraction written as a percentage, `"80%"`, into 0 to 1.
pub fn parse_fraction(text: &str) -> Result<f64, QuantityError> {
    let refuse = || QuantityError(format!("`{text}` is not a fraction; write a number from 0 to 1, or \"80%\""));
    let number = text.trim().strip_suffix('%').ok_or_else(refuse)?.trim_end();
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(refuse());
    }
    let value: f64 = number.parse().map_err(|_| refuse())?;
    if value > 100.0 { Err(refuse()) } else { Ok(value / 100.0) }
}

fn parse(text: &str, units: &Units) -> Result<u64, QuantityError> {
    let Units { what, example, .. } = units;
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'))).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    if number.starts_with('-') {
        return Err(QuantityError(format!("`{text}` is negative; {what} is at least zero")));
    }
    if number.is_empty() {
        return Err(QuantityError(format!("`{text}` is not {what}; write a number and a unit, such as \"{example}\"")));
    }
    if unit.is_empty() {
        return Err(QuantityError(format!("`{text}` has no unit; {what} is written such as \"{example}\"")));
    }
    let Some(&(_, factor)) = units.accepted.iter().find(|(name, _)| *name == unit) else {
        if let Some((_, advice)) = units.refused.iter().find(|(name, _)| *name == unit) {
            return Err(QuantityError(format!("`{unit}` is not a unit of {what} here; did you mean {advice}?")));
        }
        let known: Vec<&str> = units.accepted.iter().map(|u| u.0).collect();
        return Err(QuantityError(format!("`{unit}` is not a unit of {what}; the units are {}", known.join(", "))));
    };
    decimal(number, factor).ok_or_else(|| {
        QuantityError(format!(
            "`{text}` is malformed, finer than the smallest unit, or too large; {what} is written such as \"{example}\""
        ))
    })
}

/// `number` times `factor` in exact decimal arithmetic; none when malformed, not whole, or too large.
fn decimal(number: &str, factor: u128) -> Option<u64> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| -> Option<u128> {
        let s = s.replace('_', "");
        if s.is_empty() || s.len() > 20 || !s.bytes().all(|b| b.is_ascii_digit()) { None } else { s.parse().ok() }
    };
    let scale = 10u128.checked_pow(u32::try_from(fraction.replace('_', "").len()).ok()?)?;
    let parts =
        digits(whole)?.checked_mul(factor)?.checked_mul(scale)?.checked_add(digits(fraction)?.checked_mul(factor)?)?;
    if parts % scale != 0 {
        return None;
    }
    u64::try_from(parts / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_quantities_are_exact() {
        assert_eq!(parse_duration("1.5ms").unwrap(), Dur(1_500_000_000));
        assert_eq!(parse_duration("20 s").unwrap(), Dur::from_secs(20));
        assert_eq!(parse_rate("10Mbit/s").unwrap(), Rate(10_000_000));
        assert_eq!(parse_rate("1.544Mbit/s").unwrap(), Rate(1_544_000));
        assert_eq!(parse_bytes("50kB").unwrap(), 50_000);
        assert_eq!(parse_bytes("1KiB").unwrap(), 1_024);
        assert_eq!(parse_fraction("80%").unwrap(), 0.8);
        assert_eq!(parse_amount("50kB").unwrap(), Amount::Bytes(50_000));
        assert_eq!(parse_amount("1packet").unwrap(), Amount::packets(1));
        assert_eq!(parse_amount("1.7 packets").unwrap(), Amount::Millipackets(1_700));
    }

    #[test]
    fn wrong_units_are_refused_with_what_to_write() {
        for (error, advice) in [
            (parse_rate("10 mb").unwrap_err(), "Mbit/s"),
            (parse_rate("10Mbps").unwrap_err(), "MB/s if you mean bytes"),
            (parse_rate("10").unwrap_err(), "10Mbit/s"),
            (parse_duration("5m").unwrap_err(), "min or ms"),
            (parse_bytes("50KB").unwrap_err(), "KiB"),
            (parse_duration("-1ms").unwrap_err(), "negative"),
            (parse_duration("99999999999999999999h").unwrap_err(), "too large"),
            (parse_duration("0.1ps").unwrap_err(), "finer"),
            (parse_duration("nan").unwrap_err(), "number and a unit"),
            (parse_rate("0bit/s").unwrap_err(), "above zero"),
            (parse_fraction("120%").unwrap_err(), "0 to 1"),
            (parse_amount("100").unwrap_err(), "100packets"),
            (parse_amount("100pkts").unwrap_err(), "did you mean packets"),
            (parse_amount("100KB").unwrap_err(), "KiB"),
            (parse_amount("1.0001packets").unwrap_err(), "finer"),
        ] {
            assert!(error.0.contains(advice), "{error} should say {advice}");
        }
    }

    #[test]
    fn what_is_displayed_parses_back() {
        for ps in [0, 1, 999, 1_000, 1_500, 51_200_000, 20_000_000_000_000, 123_456_789_012_345, u64::MAX] {
            assert_eq!(parse_duration(&Dur(ps).to_string()).unwrap(), Dur(ps));
        }
        for amount in [Amount::packets(1), Amount::packets(100), Amount::Millipackets(1_740), Amount::Bytes(1_234)] {
            assert_eq!(parse_amount(&amount.to_string()).unwrap(), amount);
        }
        for bits in [1, 1_000, 1_544_000, 10_000_000, 44_940_001, 1_234_567_890] {
            assert_eq!(parse_rate(&Rate(bits).to_string()).unwrap(), Rate(bits));
        }
    }
}
