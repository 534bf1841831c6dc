//! Instants and durations in integer picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: picoseconds since the start of the run, 0 to 2^64 − 2 (about 213 days). The value above,
/// [`Time::NEVER`], is not an instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A duration in picoseconds, 0 to 2^64 − 1 (about 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dur(pub u64);

/// Returns `n` units of `ps` picoseconds each, in picoseconds; panics on overflow.
const fn checked_ps(n: u64, ps: u64) -> u64 {
    match n.checked_mul(ps) {
        Some(product) => product,
        None => panic!("a duration is at most 2^64 - 1 ps, about 213 days"),
    }
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The time of an event that never happens; later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the time elapsed since `earlier`; zero if `earlier` is later than `self`.
    #[inline]
    pub fn since(self, earlier: Time) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }
    /// Returns the instant in seconds, rounded to an `f64`; only for reports, since the core computes with integers.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

/// The constructors from integers panic above 2^64 − 1 ps (213 days), in builds without overflow checks, too.
impl Dur {
    /// 0 ps.
    pub const ZERO: Dur = Dur(0);

    /// Returns `n` picoseconds.
    pub const fn from_ps(n: u64) -> Dur {
        Dur(n)
    }
    /// Returns `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Dur {
        Dur(checked_ps(n, 1_000))
    }
    /// Returns `n` microseconds.
    pub const fn from_us(n: u64) -> Dur {
        Dur(checked_ps(n, 1_000_000))
    }
    /// Returns `n` milliseconds.
    pub const fn from_ms(n: u64) -> Dur {
        Dur(checked_ps(n, 1_000_000_000))
    }
    /// Returns `n` whole seconds.
    pub const fn from_secs(n: u64) -> Dur {
        Dur(checked_ps(n, 1_000_000_000_000))
    }
    /// Returns `s` seconds as an integer number of picoseconds: `s * 1e12` in `f64`, rounded to the nearest integer.
    /// Negative values and NaN give 0 ps, values above the range 2^64 − 1 ps.
    pub fn from_secs_f64(s: f64) -> Dur {
        // A float-to-integer cast saturates and maps NaN to 0.
        Dur((s * 1e12).round() as u64)
    }
    /// Returns the duration in seconds, rounded to an `f64`; for reports and for models whose reference uses real
    /// numbers.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Add<Dur> for Time {
    type Output = Time;
    /// Returns the sum; [`Time::NEVER`] if the sum exceeds the range.
    #[inline]
    fn add(self, d: Dur) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Dur> for Time {
    #[inline]
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}
impl Add for Dur {
    type Output = Dur;
    /// Returns the sum; 2^64 − 1 ps if the sum exceeds the range.
    #[inline]
    fn add(self, d: Dur) -> Dur {
        Dur(self.0.saturating_add(d.0))
    }
}
impl AddAssign for Dur {
    #[inline]
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}
impl Sub for Dur {
    type Output = Dur;
    /// Returns the difference; zero if it would be negative.
    #[inline]
    fn sub(self, d: Dur) -> Dur {
        Dur(self.0.saturating_sub(d.0))
    }
}
impl Mul<u64> for Dur {
    type Output = Dur;
    /// Returns the product; 2^64 − 1 ps if the product exceeds the range.
    #[inline]
    fn mul(self, n: u64) -> Dur {
        Dur(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Dur {
    type Output = Dur;
    /// Returns the quotient, rounded down; panics if `n` is zero.
    #[inline]
    fn div(self, n: u64) -> Dur {
        Dur(self.0 / n)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={}", Dur(self.0))
    }
}
impl fmt::Display for Time {
    /// Formats the exact instant in seconds, such as "0.1 s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PS_PER_S: u64 = 1_000_000_000_000;
        let (whole, rest) = (self.0 / PS_PER_S, self.0 % PS_PER_S);
        let digits = format!("{whole}.{rest:012}");
        write!(f, "{} s", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}
impl fmt::Debug for Dur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Display for Dur {
    /// Formats the exact value, which parses back to the same duration, in the largest of the units s, ms, us and ns
    /// that is not above the value and needs at most three decimals, otherwise in ps. Zero is "0s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, ps) in [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)] {
            if self.0 >= ps && self.0.is_multiple_of(ps / 1000) {
                let (whole, rest) = (self.0 / ps, self.0 % ps / (ps / 1000));
                return if rest == 0 {
                    write!(f, "{whole}{unit}")
                } else {
                    let digits = format!("{rest:03}");
                    write!(f, "{whole}.{}{unit}", digits.trim_end_matches('0'))
                };
            }
        }
        if self.0 == 0 { write!(f, "0s") } else { write!(f, "{}ps", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    const MAX_PS: u64 = u64::MAX;
    type Constructor = fn(u64) -> Dur;

    #[test]
    fn an_instant_is_displayed_exactly_in_seconds() {
        // The nearest floating-point number of 100e9 ps times 1e-12 is 0.09999999999999999.
        let shown = [0, 1, 100_000_000_000, 1_001_200_000_000, 149_575_983_287, 20_000_000_000_000];
        let expected = ["0 s", "0.000000000001 s", "0.1 s", "1.0012 s", "0.149575983287 s", "20 s"];
        assert_eq!(shown.map(|ps| Time(ps).to_string()), expected);
        assert_eq!(Time(MAX_PS).to_string(), "18446744.073709551615 s");
    }

    #[test]
    fn a_constructor_panics_from_the_first_value_that_does_not_fit() {
        let constructors: [(Constructor, u64); 4] = [
            (Dur::from_ns, 1_000),
            (Dur::from_us, 1_000_000),
            (Dur::from_ms, 1_000_000_000),
            (Dur::from_secs, 1_000_000_000_000),
        ];
        for (constructor, ps) in constructors {
            assert_eq!(constructor(MAX_PS / ps), Dur(MAX_PS / ps * ps));
            let message = catch_unwind(|| constructor(MAX_PS / ps + 1)).expect_err("it does not fit");
            assert!(message.downcast_ref::<&str>().is_some_and(|text| text.contains("213 days")));
        }
    }

    #[test]
    fn sums_products_and_differences_saturate() {
        assert_eq!(Time(MAX_PS - 1) + Dur(2), Time::NEVER);
        assert_eq!(Dur(MAX_PS - 1) + Dur(2), Dur(MAX_PS));
        assert_eq!(Dur(MAX_PS / 2 + 1) * 2, Dur(MAX_PS));
        assert_eq!(Dur(1) - Dur(2), Dur::ZERO);
        assert_eq!(Time(1).since(Time(2)), Dur::ZERO);
    }

    #[test]
    fn seconds_as_a_real_number_are_rounded_to_the_nearest_picosecond() {
        assert_eq!(Dur::from_secs_f64(1.5e-12), Dur(2));
        assert_eq!(Dur::from_secs_f64(1.4e-12), Dur(1));
        // Between 2^52 and 2^53 ps, 4504 s to 9007 s, each product is an integer; an odd one plus 0.5 would be rounded up
        // to the even one above.
        for s in [4_503.599_627_370_497_f64, 7_000.000_000_000_007] {
            let product = s * 1e12;
            assert_eq!((product % 2.0, Dur::from_secs_f64(s).0 as f64), (1.0, product));
        }
    }

    #[test]
    fn seconds_as_a_real_number_saturate() {
        assert_eq!(Dur::from_secs_f64(1e9), Dur(MAX_PS));
        assert_eq!([Dur::from_secs_f64(-1.0), Dur::from_secs_f64(f64::NAN)], [Dur::ZERO; 2]);
    }
}
