//! Times, sizes and numbers in texts.

/// Returns a time in seconds with six decimals, or with nine, truncated, if it is not a whole number of microseconds.
pub(super) fn instant(ps: u64) -> String {
    let micros = ps / 1_000_000;
    let below_micros = ps % 1_000_000;
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    if below_micros == 0 { format!("{text} s") } else { format!("{text}{:03} s", below_micros / 1000) }
}

/// Returns a duration in the largest unit of which it is at least one, with three significant digits.
pub(super) fn span(ps: u64) -> String {
    let units = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ps as f64 >= *scale).unwrap_or((1.0, "ps"));
    format!("{} {unit}", digits(ps as f64 / scale))
}

/// Returns a number of bytes in the largest unit of which it is at least one, with three significant digits.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(scale, _)| bytes as f64 >= *scale) {
        Some((scale, unit)) => format!("{} {unit}", digits(bytes as f64 / scale)),
        None => format!("{bytes} B"),
    }
}

/// Returns a number from 1 up with three significant digits, a smaller one with two decimals, without zeros at its end;
/// numbers of 1000 and more have all their integer digits.
pub(super) fn digits(value: f64) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns `part` of `whole` as a percentage; 0 % if `whole` is 0.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".to_owned() } else { format!("{} %", digits(100.0 * part as f64 / whole as f64)) }
}

/// Returns the value of a state variable without unit.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || (0.01..1e15).contains(&value) {
        if value.fract() == 0.0 { format!("{value:.0}") } else { digits(value) }
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        assert_eq!(instant(1_204_300_000_000), "1.204300 s");
        assert_eq!(instant(1_204_300_123_000), "1.204300123 s");
        assert_eq!([span(1_500_000_000), span(12_340), span(999)], ["1.5 ms", "12.3 ns", "999 ps"]);
        assert_eq!([size(999), size(31_240), size(2_000_000)], ["999 B", "31.2 kB", "2 MB"]);
        assert_eq!([percent(71, 100), percent(1, 3), percent(0, 0)], ["71 %", "33.3 %", "0 %"]);
    }
}
