//! Parsers of quantities in the notation of RouterOS: rates with the factors `k`, `M` and `G` (10^3, 10^6, 10^9), sizes
//! with `KiB` and `MiB` (2^10, 2^20), times such as `1m30s`. A parser returns `None` for another text, and for a
//! quantity that is too large.

/// Parses a rate, such as `10M` or `256k`, into bit/s; at most 10 Tbit/s.
pub(super) fn rate(text: &str) -> Option<u64> {
    let (digits, unit) = parts(text)?;
    let unit = match unit.trim_end_matches("bps") {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    };
    scaled(digits, unit).filter(|rate| *rate <= crate::mqc::HIGHEST_RATE)
}

/// Parses a size into bytes; a number without a unit is in units of `bare` bytes.
pub(super) fn size(text: &str, bare: u64) -> Option<u64> {
    let (digits, unit) = parts(text)?;
    let unit = match unit {
        "" => bare,
        "B" => 1,
        "KiB" | "k" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        _ => return None,
    };
    scaled(digits, unit)
}

/// Parses a time into microseconds; a number without a unit is in seconds.
pub(super) fn time(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let unit = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" | "" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        rest = behind;
    }
    Some(sum)
}

/// Splits a quantity into its number and its unit; `None`: it does not begin with a digit or a point.
fn parts(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Returns a decimal number of at most six decimals times `unit`, rounded down; `None`: not such a number, or too
/// large.
pub(super) fn scaled(digits: &str, unit: u64) -> Option<u64> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    if part.len() > 6 || part.contains('.') {
        return None;
    }
    let millionths = if part.is_empty() { 0 } else { format!("{part:0<6}").parse::<u64>().ok()? };
    let part = u64::try_from(u128::from(millionths) * u128::from(unit) / 1_000_000).ok()?;
    whole.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_units_of_routeros() {
        assert_eq!(
            [rate("10M"), rate("256k"), rate("1.5M"), rate("0")],
            [Some(10_000_000), Some(256_000), Some(1_500_000), Some(0)]
        );
        assert_eq!([size("50KiB", 1), size("2", 1024), size("x", 1)], [Some(51_200), Some(2_048), None]);
        assert_eq!(
            [time("1m30s"), time("100ms"), time("5"), time("1x")],
            [Some(90_000_000), Some(100_000), Some(5_000_000), None]
        );
        assert_eq!([rate("99999999999999999999"), rate(""), rate("M"), rate("1.2.3")], [None; 4]);
    }
}
