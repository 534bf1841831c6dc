//! Numbers in messages: four significant digits, or all digits of the integer part if these are more, and a unit.

/// Formats a number in the first of the units, which are in descending order, in which its rounded value is at least 1;
/// otherwise in the last.
fn in_units(value: f64, units: &[(&str, f64)]) -> String {
    let (unit, size) =
        units.iter().find(|(_, size)| value >= *size * 0.99995).or(units.last()).copied().unwrap_or(("", 1.0));
    format!("{}{unit}", digits(value / size))
}

/// Formats a number with four significant digits, or all digits of its integer part if these are more, without trailing
/// zeros after the decimal point.
pub(super) fn digits(value: f64) -> String {
    // Exponent after rounding to four digits: 9.9999 becomes 10.
    let scientific = format!("{value:.3e}");
    let exponent: i32 = scientific.rsplit('e').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let text = format!("{value:.*}", (3 - exponent).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a rate in bit/s, such as `27.35Mbit/s`.
pub(super) fn rate(bits: f64) -> String {
    in_units(bits, &[("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)])
}

/// Formats bytes, such as `52.5kB`.
pub(super) fn bytes(bytes: f64) -> String {
    in_units(bytes, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)])
}

/// Formats seconds, such as `400us`.
pub(super) fn seconds(seconds: f64) -> String {
    in_units(seconds, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
}

/// Formats a fraction as a percentage.
pub(super) fn percent(part: f64) -> String {
    format!("{}%", digits(100.0 * part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits_and_the_largest_unit_in_which_they_are_at_least_one() {
        assert_eq!(rate(27_345_678.0), "27.35Mbit/s");
        assert_eq!(rate(10e6), "10Mbit/s");
        assert_eq!(rate(999.0), "999bit/s");
        assert_eq!(rate(999_999_999.9), "1Gbit/s");
        assert_eq!(rate(999_900_000.0), "999.9Mbit/s");
        assert_eq!(bytes(3_125_000.0), "3.125MB");
        assert_eq!(seconds(0.000_4), "400us");
        assert_eq!(percent(0.634_44), "63.44%");
        assert_eq!(digits(12_345.6), "12346");
        assert_eq!(digits(9.999_96), "10");
        assert_eq!(digits(0.075_26), "0.07526");
        assert_eq!(digits(0.0), "0");
    }
}
