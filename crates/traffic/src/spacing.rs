//! Even spacing at a rate, in integer arithmetic.

use tailback_units::{Dur, Rate};

/// A period in picoseconds whose fraction is carried from step to step: the long-run rate is exact without floating
/// point, unless the period is limited to 2^64 − 1 ps.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// Whole picoseconds of the period.
    whole: u64,
    /// Numerator of the period's fraction of a picosecond, below `denominator`.
    remainder: u64,
    /// The rate, bit/s; 1 for a period in whole picoseconds.
    denominator: u64,
    /// Sum of the fractions that no step has included yet, in units of 1/`denominator` ps; below `denominator`.
    carry: u64,
}

impl Spacing {
    /// Returns the spacing of items of `bytes` bytes at `rate`; `None`: the rate is zero. A longer
    /// period than 2^64 − 1 ps becomes that one.
    pub fn at_rate(bytes: u64, rate: Rate) -> Option<Spacing> {
        let ps = u128::from(bytes) * 8_000_000_000_000;
        let denominator = u128::from(rate.0);
        let Ok(whole) = u64::try_from(ps.checked_div(denominator)?) else {
            return Some(Spacing::every(Dur(u64::MAX)));
        };
        // The remainder is below `denominator`, which came from a u64.
        Some(Spacing { whole, remainder: (ps % denominator) as u64, denominator: rate.0, carry: 0 })
    }

    /// Returns the spacing of items that are `interval` apart.
    pub fn every(interval: Dur) -> Spacing {
        Spacing { whole: interval.0, remainder: 0, denominator: 1, carry: 0 }
    }

    /// Returns the time from one item to the next, and carries its fraction to the next call.
    #[inline]
    pub fn step(&mut self) -> Dur {
        // The denominator is 1 or a rate, which `tailback_units` limits to 10^13 bit/s, so that the sum of two values
        // below it does not overflow.
        self.carry += self.remainder;
        let full = self.carry >= self.denominator;
        if full {
            self.carry -= self.denominator;
        }
        Dur(self.whole + u64::from(full))
    }

    /// Returns the period rounded down to whole picoseconds.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Returns the period rounded to the nearest picosecond.
    pub fn nearest(&self) -> u64 {
        self.whole + u64::from(self.remainder >= self.denominator - self.remainder)
    }

    /// Returns the period in picoseconds, with its fraction.
    pub fn mean_ps(&self) -> f64 {
        self.whole as f64 + self.remainder as f64 / self.denominator as f64
    }

    /// Returns the number of items per second; infinite for a period of 0.
    pub fn per_second(&self) -> f64 {
        1e12 / self.mean_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_million_steps_take_exactly_the_time_that_the_rate_implies() {
        // 1000 bytes at 3 Mbit/s take 2,666,666,666.67 ps, and 3 million of them 8000 s.
        let mut spacing = Spacing::at_rate(1000, Rate::mbit(3)).unwrap();
        let sum: u64 = (0..3_000_000).map(|_| spacing.step().0).sum();
        assert_eq!(sum, 8_000_000_000_000_000);
        assert_eq!(spacing.nearest(), 2_666_666_667);
    }

    #[test]
    fn a_period_above_the_maximum_becomes_the_maximum_also_in_each_step() {
        // At 3 bit/s the period has a fraction, which must not be added to the maximum.
        let mut spacing = Spacing::at_rate(u64::MAX, Rate(3)).unwrap();
        assert_eq!((spacing.whole(), spacing.nearest()), (u64::MAX, u64::MAX));
        assert!((0..4).all(|_| spacing.step() == Dur(u64::MAX)));
    }

    #[test]
    fn a_period_below_a_picosecond_is_zero_and_a_rate_of_zero_has_none() {
        assert_eq!(Spacing::at_rate(1, Rate(10_000_000_000_000)).unwrap().whole(), 0);
        assert!(Spacing::at_rate(1, Rate(0)).is_none());
    }
}
