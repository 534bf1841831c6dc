//! Notations of quantities: a decimal number followed by a unit, such as `"1.5 Mbit/s"`, `"50kB"` or `"20ms"`.

use crate::{Amount, Dur, Rate};
use core::fmt;

/// A size in bytes.
pub type Bytes = u64;

/// Message on a refused quantity, which says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for QuantityError {}

/// Units and range of one kind of quantity, with the texts of its messages.
struct Units {
    /// Name of the quantity with its article.
    what: &'static str,
    example: &'static str,
    /// Resolution, in the notation of the quantity.
    resolution: &'static str,
    /// Largest value, in the notation of the quantity.
    largest: &'static str,
    /// Spelling of a unit and its size in the quantity's smallest unit.
    accepted: &'static [(&'static str, u128)],
    /// Common wrong spelling of a unit and the unit that is suggested.
    refused: &'static [(&'static str, &'static str)],
}

const DURATION: Units = Units {
    what: "a duration",
    example: "20ms",
    resolution: "1ps",
    largest: "5124h (213 days)",
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

/// Highest rate supported, in its notation.
const HIGHEST_RATE: &str = "10Tbit/s";

const RATE: Units = Units {
    what: "a rate",
    example: "10Mbit/s",
    resolution: "1bit/s",
    largest: HIGHEST_RATE,
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
        ("b/s", "bit/s"),
        ("kb/s", "kbit/s (or kB/s if you mean bytes)"),
        ("Kb/s", "kbit/s (or kB/s if you mean bytes)"),
        ("KB/s", "kB/s (or kbit/s if you mean bits)"),
        ("mb/s", "Mbit/s (or MB/s if you mean bytes)"),
        ("Mb/s", "Mbit/s (or MB/s if you mean bytes)"),
        ("gb/s", "Gbit/s (or GB/s if you mean bytes)"),
        ("Gb/s", "Gbit/s (or GB/s if you mean bytes)"),
        ("Tb/s", "Tbit/s"),
        ("Tbps", "Tbit/s"),
        ("M", "Mbit/s"),
        ("G", "Gbit/s"),
    ],
};

const SIZE: Units = Units {
    what: "a size",
    example: "50kB",
    resolution: "1B",
    largest: "18446744073GB",
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
    resolution: "0.001packets",
    largest: "18446744073709551packets",
    accepted: &[("packets", 1_000), ("packet", 1_000)],
    refused: &[("p", "packets"), ("pkt", "packets"), ("pkts", "packets")],
};

/// Parses a duration such as `"20ms"`, exact to the picosecond. Negative numbers, a missing or unknown unit, a
/// resolution below 1 ps and durations above 213 days are refused.
///
/// # Errors
/// A message with the accepted form.
pub fn parse_duration(text: &str) -> Result<Dur, QuantityError> {
    parse(text, &DURATION).map(Dur)
}

/// Parses a rate such as `"10Mbit/s"`. Negative numbers, zero, a missing or unknown unit and rates above 10 Tbit/s are
/// refused.
///
/// # Errors
/// A message with the accepted form.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let bits = parse(text, &RATE)?;
    if bits == 0 {
        return Err(QuantityError(format!("`{text}` is zero; a rate is above zero")));
    }
    if bits > 10_000_000_000_000 {
        return Err(QuantityError(format!("`{text}` is too large; a rate is at most {HIGHEST_RATE}")));
    }
    Ok(Rate(bits))
}

/// Parses a size such as `"50kB"` (kB = 1000 bytes, KiB = 1024 bytes).
///
/// # Errors
/// If the text is malformed or negative, has no unit or an unknown one, is not a whole number of bytes, or is above
/// 2^64 − 1 bytes: a message with the accepted form.
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    parse(text, &SIZE)
}

/// Parses an amount in a queue: a size such as `"50kB"` or a number of packets such as `"100packets"`, with a
/// resolution of a thousandth of a packet.
///
/// # Errors
/// If the text is malformed or negative, has no unit or an unknown one, is finer than the resolution, or is above
/// 2^64 − 1 bytes or thousandths of a packet: a message with the accepted form.
pub fn parse_amount(text: &str) -> Result<Amount, QuantityError> {
    let unit =
        text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-')).trim();
    if unit.starts_with('p') {
        return parse(text, &PACKETS).map(Amount::Millipackets);
    }
    if unit.is_empty() {
        return Err(QuantityError(format!(
            "`{text}` has no unit; write an amount with a unit, such as \"50kB\" or \"100packets\""
        )));
    }
    parse(text, &SIZE).map(Amount::Bytes)
}

/// Parses a fraction, written as a percentage such as `"80%"`; returns a number from 0 to 1.
///
/// # Errors
/// If the text is not a percentage from 0% to 100%: a message with the accepted form.
pub fn parse_fraction(text: &str) -> Result<f64, QuantityError> {
    let refuse = || {
        QuantityError(format!(
            "`{text}` is not a fraction; write a number from 0 to 1, or a percentage such as \"80%\""
        ))
    };
    let number = text.trim().strip_suffix('%').ok_or_else(refuse)?.trim_end();
    if let Some((before, after)) = number.split_once(',') {
        refuse_comma(text, before, &format!(",{after}%"))?;
    }
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(refuse());
    }
    let value: f64 = number.parse().map_err(|_| refuse())?;
    if value > 100.0 { Err(refuse()) } else { Ok(value / 100.0) }
}

/// Parses a number and one of `units`; returns the value in the unit whose factor is 1, or in thousandths of a packet.
fn parse(text: &str, units: &Units) -> Result<u64, QuantityError> {
    let Units { what, example, .. } = units;
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'))).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    refuse_comma(text, number, unit)?;
    if number.starts_with('-') {
        return Err(QuantityError(format!("`{text}` is negative; {what} is at least zero")));
    }
    if number.is_empty() {
        return Err(QuantityError(format!("`{text}` is not {what}; write a number and a unit, such as \"{example}\"")));
    }
    if unit.is_empty() {
        return Err(QuantityError(format!("`{text}` has no unit; write {what} with a unit, such as \"{example}\"")));
    }
    let Some(&(_, factor)) = units.accepted.iter().find(|(name, _)| *name == unit) else {
        if let Some((_, advice)) = units.refused.iter().find(|(name, _)| *name == unit) {
            return Err(QuantityError(format!("`{unit}` is not a unit of {what} here; did you mean {advice}?")));
        }
        if let Some((near, _)) = units.accepted.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            return Err(QuantityError(format!("`{unit}` is not a unit of {what}; did you mean {near}?")));
        }
        let known: Vec<&str> = units.accepted.iter().map(|u| u.0).collect();
        return Err(QuantityError(format!("`{unit}` is not a unit of {what}; the units are {}", known.join(", "))));
    };
    decimal(number, factor).map_err(|fault| {
        QuantityError(match fault {
            Fault::Malformed => format!("`{number}` is not a number; write {what} such as \"{example}\""),
            Fault::TooFine => format!("`{text}` is finer than {}, the resolution of {what}", units.resolution),
            Fault::TooLarge => format!("`{text}` is too large; {what} is at most {}", units.largest),
        })
    })
}

/// Refuses `text` if `tail`, its part after `number`, begins with a comma and a digit; the message has the number that
/// is probably intended.
fn refuse_comma(text: &str, number: &str, tail: &str) -> Result<(), QuantityError> {
    let has_comma = tail.strip_prefix(',').is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    if number.is_empty() || !has_comma {
        return Ok(());
    }
    let digits = tail[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len() - 1);
    let without = text.replace(',', "");
    let advice = if text.matches(',').count() > 1 {
        format!("write \"{without}\"")
    } else if digits == 3 {
        format!("write \"{}\", or \"{without}\" if it separates thousands", text.replace(',', "."))
    } else {
        format!("write a point: \"{}\"", text.replace(',', "."))
    };
    Err(QuantityError(format!("`{text}` has a comma in its number; {advice}")))
}

/// Reason for which a number is refused.
enum Fault {
    Malformed,
    TooFine,
    TooLarge,
}

/// Returns `number` times `factor` in exact decimal arithmetic; an error if the product is not an integer below 2^64.
fn decimal(number: &str, factor: u128) -> Result<u64, Fault> {
    let number = number.strip_prefix('+').unwrap_or(number).replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, "0"));
    let is_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return Err(Fault::Malformed);
    }
    // Without leading and trailing zeros, a number with more than 20 digits before the point is too large in any unit,
    // and one with more than 17 digits after the point is too fine.
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if whole.len() > 20 {
        return Err(Fault::TooLarge);
    }
    if fraction.len() > 17 {
        return Err(Fault::TooFine);
    }
    let value = |digits: &str| digits.bytes().fold(0u128, |value, b| value * 10 + u128::from(b - b'0'));
    let scale = 10u128.pow(fraction.len() as u32);
    // No overflow: the fraction is below 10^17 and the factor below 10^16.
    let scaled_fraction = value(fraction) * factor;
    if !scaled_fraction.is_multiple_of(scale) {
        return Err(Fault::TooFine);
    }
    let sum = value(whole).checked_mul(factor).and_then(|whole| whole.checked_add(scaled_fraction / scale));
    sum.and_then(|sum| u64::try_from(sum).ok()).ok_or(Fault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_exactly() {
        assert_eq!(parse_duration("1.5ms").unwrap(), Dur(1_500_000_000));
        assert_eq!(parse_duration("20 s").unwrap(), Dur::from_secs(20));
        assert_eq!(parse_rate("10Mbit/s").unwrap(), Rate(10_000_000));
        assert_eq!(parse_rate("1.544Mbit/s").unwrap(), Rate(1_544_000));
        assert_eq!(parse_bytes("50kB").unwrap(), 50_000);
        assert_eq!(parse_bytes("1KiB").unwrap(), 1_024);
        assert_eq!(parse_bytes("0001_000.000000000000000000000kB").unwrap(), 1_000_000);
        assert_eq!(parse_duration("18446744.073709551615s").unwrap(), Dur(u64::MAX));
        assert!(parse_duration("18446744.073709551616s").is_err());
        assert_eq!(parse_fraction("80%").unwrap(), 0.8);
        assert_eq!(parse_amount("50kB").unwrap(), Amount::Bytes(50_000));
        assert_eq!(parse_amount("1packet").unwrap(), Amount::packets(1));
        assert_eq!(parse_amount("1.7 packets").unwrap(), Amount::Millipackets(1_700));
    }

    #[test]
    fn invalid_quantities_are_refused_with_advice() {
        for (error, advice) in [
            (parse_rate("10 mb").unwrap_err(), "Mbit/s"),
            (parse_rate("10Mbps").unwrap_err(), "MB/s if you mean bytes"),
            (parse_rate("10").unwrap_err(), "10Mbit/s"),
            (parse_duration("5m").unwrap_err(), "min or ms"),
            (parse_bytes("50KB").unwrap_err(), "KiB"),
            (parse_duration("-1ms").unwrap_err(), "negative"),
            (parse_duration("99999999999999999999h").unwrap_err(), "too large; a duration is at most 5124h"),
            (parse_duration("999999999999999999999999999999h").unwrap_err(), "too large; a duration is at most"),
            (parse_bytes("99999999999GB").unwrap_err(), "too large; a size is at most 18446744073GB"),
            (parse_rate("99999999999GB/s").unwrap_err(), "too large; a rate is at most 10Tbit/s"),
            (parse_rate("11Tbit/s").unwrap_err(), "too large; a rate is at most 10Tbit/s"),
            (parse_duration("0.1ps").unwrap_err(), "finer than 1ps"),
            (parse_duration("0.0000000000000000000001s").unwrap_err(), "finer than 1ps"),
            (parse_rate("1.2.3Mbit/s").unwrap_err(), "`1.2.3` is not a number"),
            (parse_rate("10Mb/s").unwrap_err(), "did you mean Mbit/s (or MB/s if you mean bytes)?"),
            (parse_rate("10MBIT/S").unwrap_err(), "did you mean Mbit/s?"),
            (parse_rate("3,5Mbit/s").unwrap_err(), "write a point: \"3.5Mbit/s\""),
            (parse_amount("3,5packets").unwrap_err(), "write a point: \"3.5packets\""),
            (parse_amount("1,500kB").unwrap_err(), "\"1.500kB\", or \"1500kB\" if it separates thousands"),
            (parse_bytes("1,500,000B").unwrap_err(), "write \"1500000B\""),
            (parse_fraction("3,5%").unwrap_err(), "write a point: \"3.5%\""),
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
    fn displayed_quantities_parse_back() {
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
