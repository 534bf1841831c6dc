//! Instants and durations in integer picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: picoseconds since the start of the run, 0 to 2^64 − 1 (about 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A duration in picoseconds, 0 to 2^64 − 1 (about 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dur(pub u64);

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
    /// Returns the instant in seconds; only for reports, since the core computes with integers.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Dur {
    /// A duration of zero.
    pub const ZERO: Dur = Dur(0);

    /// Returns `n` picoseconds.
    pub const fn from_ps(n: u64) -> Dur {
        Dur(n)
    }
    /// Returns `n` nanoseconds; panics on overflow (above 213 days).
    pub const fn from_ns(n: u64) -> Dur {
        Dur(n * 1_000)
    }
    /// Returns `n` microseconds; panics on overflow (above 213 days).
    pub const fn from_us(n: u64) -> Dur {
        Dur(n * 1_000_000)
    }
    /// Returns `n` milliseconds; panics on overflow (above 213 days).
    pub const fn from_ms(n: u64) -> Dur {
        Dur(n * 1_000_000_000)
    }
    /// Returns `n` whole seconds; panics on overflow (above 213 days).
    pub const fn from_secs(n: u64) -> Dur {
        Dur(n * 1_000_000_000_000)
    }
    /// Returns the nearest duration to `s` seconds; negative values and NaN give zero, too large ones saturate.
    pub fn from_secs_f64(s: f64) -> Dur {
        // A float-to-integer cast saturates and maps NaN to 0.
        Dur((s * 1e12 + 0.5) as u64)
    }
    /// Returns the duration in seconds, for reports and for models whose reference uses real numbers.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Add<Dur> for Time {
    type Output = Time;
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
    #[inline]
    fn mul(self, n: u64) -> Dur {
        Dur(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Dur {
    type Output = Dur;
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
impl fmt::Debug for Dur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Display for Dur {
    /// Formats the shortest exact notation in s, ms, us, ns or ps; it parses back to the same value.
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
