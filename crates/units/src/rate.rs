//! Link rates and transmission times.

use crate::Dur;
use core::fmt;

/// A rate in bit/s. Rates of links are 1 to 10^13 bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// Transmission time of a byte at a rate, in picoseconds with 20 fractional bits (fixed point).
///
/// Costs one multiplication per packet instead of a division. Exact for every rate that divides 8·10^12 · 2^20;
/// otherwise the error is below 2^-21 ps per byte. The time of each packet is rounded to the nearest picosecond without
/// carry, so that packets of equal length take equal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxClock(u64);

/// Number of fractional bits of [`TxClock`].
const FRACTION_BITS: u32 = 20;
/// Half a picosecond, for rounding to the nearest one.
const HALF: u128 = 1 << (FRACTION_BITS - 1);

impl Rate {
    /// Returns `n` Mbit/s.
    ///
    /// # Panics
    ///
    /// If the rate exceeds 2^64 − 1 bit/s, in every build.
    pub const fn mbit(n: u64) -> Rate {
        match n.checked_mul(1_000_000) {
            Some(bits) => Rate(bits),
            None => panic!("a rate is at most 2^64 - 1 bit/s"),
        }
    }
    /// Returns the transmission time of a byte at this rate.
    ///
    /// # Panics
    /// If the rate is zero, which scenarios refuse.
    pub fn clock(self) -> TxClock {
        assert!(self.0 > 0, "a link's rate is above zero");
        let rate = u128::from(self.0);
        let ps_per_byte = ((8_000_000_000_000u128 << FRACTION_BITS) + rate / 2) / rate;
        TxClock(u64::try_from(ps_per_byte).unwrap_or(u64::MAX))
    }
}

impl TxClock {
    /// Returns the transmission time of `bytes` bytes. The result must be below 2^64 ps, which is not checked: larger
    /// results lose their upper bits. At 1 bit/s it fits up to 2.3 MB, at higher rates for proportionally more; a
    /// packet has at most 65,535 bytes and 127 bytes of framing.
    #[inline]
    pub fn tx_time(self, bytes: u32) -> Dur {
        Dur(((u128::from(self.0) * u128::from(bytes) + HALF) >> FRACTION_BITS) as u64)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Display for Rate {
    /// Formats exactly, in the largest unit up to Gbit/s in which the number is at least 1 and has at most three
    /// decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, n) in [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)] {
            if self.0 >= n && self.0.is_multiple_of(n / 1000) {
                let (whole, rest) = (self.0 / n, self.0 % n / (n / 1000));
                return if rest == 0 {
                    write!(f, "{whole}{unit}")
                } else {
                    let digits = format!("{rest:03}");
                    write!(f, "{whole}.{}{unit}", digits.trim_end_matches('0'))
                };
            }
        }
        write!(f, "{}bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_at_ten_megabits_takes_1230_4_microseconds() {
        assert_eq!(Rate::mbit(10).clock().tx_time(1538), Dur::from_ns(1_230_400));
    }

    #[test]
    fn the_slowest_and_fastest_rates_do_not_overflow() {
        assert_eq!(Rate(1).clock().tx_time(1), Dur::from_secs(8));
        assert_eq!(Rate(10_000_000_000_000).clock().tx_time(1500).0, 1200);
    }

    #[test]
    fn the_longest_packet_fits_at_the_lowest_rate() {
        assert_eq!(Rate(1).clock().tx_time(65_535 + 127), Dur::from_secs(8 * (65_535 + 127)));
        assert_eq!(Rate(1).clock().tx_time(2_300_000), Dur::from_secs(8 * 2_300_000));
    }

    #[test]
    #[should_panic(expected = "a rate is at most")]
    fn a_rate_that_does_not_fit_is_refused() {
        let _ = Rate::mbit(u64::MAX / 1_000_000 + 1);
    }

    #[test]
    fn the_transmission_time_is_right_to_a_millionth_at_a_rate_that_does_not_divide_a_second() {
        let t = Rate(44_940_001).clock().tx_time(1000).0 as f64;
        let exact = 8000.0 * 1e12 / 44_940_001.0;
        assert!((t / exact - 1.0).abs() < 1e-6);
    }
}
