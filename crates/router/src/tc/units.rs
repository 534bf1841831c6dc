//! Quantities of `tc` (tc(8), "UNITS"): `bps` is bytes per second, and sizes are in powers of 1024.

/// Parses a rate; returns bit/s, 1 to [`HIGHEST_RATE`](crate::mqc::HIGHEST_RATE).
pub(super) fn rate(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 17] = [
        ("", 1),
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        ("kibit", 1 << 10),
        ("mibit", 1 << 20),
        ("gibit", 1 << 30),
        ("bps", 8),
        ("kbps", 8_000),
        ("mbps", 8_000_000),
        ("gbps", 8_000_000_000),
        ("tbps", 8_000_000_000_000),
        ("kibps", 8 << 10),
        ("mibps", 8 << 20),
        ("gibps", 8 << 30),
    ];
    scaled(text, &UNITS).filter(|rate| (1..=crate::mqc::HIGHEST_RATE).contains(rate))
}

/// Parses a size; returns bytes, at most 2^40. A cell size after a slash is ignored.
pub(super) fn size(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("b", 1),
        ("k", 1 << 10),
        ("kb", 1 << 10),
        ("m", 1 << 20),
        ("mb", 1 << 20),
        ("g", 1 << 30),
        ("gb", 1 << 30),
    ];
    const BITS: [(&str, u64); 3] = [("kbit", 1 << 10), ("mbit", 1 << 20), ("gbit", 1 << 30)];
    let text = text.split('/').next().unwrap_or_default();
    scaled(text, &UNITS).or_else(|| scaled(text, &BITS).map(|bits| bits / 8)).filter(|size| *size <= 1 << 40)
}

/// Parses a time; returns microseconds, at most 2^40.
pub(super) fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("us", 1),
        ("usec", 1),
        ("usecs", 1),
        ("ms", 1_000),
        ("msec", 1_000),
        ("msecs", 1_000),
        ("s", 1_000_000),
        ("sec", 1_000_000),
        ("secs", 1_000_000),
    ];
    scaled(text, &UNITS).filter(|time| *time <= 1 << 40)
}

/// Parses an integer, decimal or, after `0x`, hexadecimal.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses an integer as in C: hexadecimal after `0x`, octal after `0`, else decimal.
pub(super) fn based(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// Parses a probability from 0 to 1; returns millionths.
pub(super) fn millionths(text: &str) -> Option<u32> {
    const UNITS: [(&str, u64); 1] = [("", 1_000_000)];
    scaled(text, &UNITS).filter(|p| *p <= 1_000_000).and_then(|p| u32::try_from(p).ok())
}

/// Parses a percentage without its sign, from 0 to 100 (`parse_percent` of iproute2's `tc/tc_util.c`); returns
/// millionths.
pub(super) fn percent(text: &str) -> Option<u32> {
    const UNITS: [(&str, u64); 1] = [("", 10_000)];
    scaled(text, &UNITS).filter(|p| *p <= 1_000_000).and_then(|p| u32::try_from(p).ok())
}

/// Parses a decimal number with a unit; returns the number in the base unit, rounded down to an integer.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let total = u128::from(whole) * u128::from(factor) + u128::from(part) * u128::from(factor) / scale;
    u64::try_from(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bps_is_bytes_per_second_and_a_kilobyte_has_1024_bytes() {
        let rates =
            ["100kbit", "1.5Mbit", "1mbps", "8bps", "512", "1kibit", "x", "1furlong", "0kbit", "99999999999999tbit"];
        let found = rates.map(rate);
        assert_eq!(
            found,
            [Some(100_000), Some(1_500_000), Some(8_000_000), Some(64), Some(512), Some(1024), None, None, None, None]
        );
        assert_eq!(
            ["15k", "1600", "10kb/8", "1mbit", "2m"].map(size),
            [15_360, 1600, 10_240, 131_072, 2 << 20].map(Some)
        );
        assert_eq!(["50ms", "1s", "100", "5.5ms"].map(time), [50_000, 1_000_000, 100, 5_500].map(Some));
        assert_eq!(["184", "0xb8", "010", "0", "b8"].map(based), [Some(184), Some(184), Some(8), Some(0), None]);
        assert_eq!(
            ["30", "0.5", "100", "101", "0", "%"].map(percent),
            [Some(300_000), Some(5_000), Some(1_000_000), None, Some(0), None]
        );
        assert_eq!(["0.02", "1", "1.1", "."].map(millionths), [Some(20_000), Some(1_000_000), None, None]);
    }
}
