//! Choices, all drawn from one stream, so that a number names a network.

use tailback_random::Rng;

/// A stream of choices.
#[derive(Debug)]
pub struct Draw(Rng);

impl Draw {
    /// The stream of a seed. Equal seeds give equal choices.
    pub fn new(seed: u64) -> Draw {
        Draw(Rng::named(seed, "random network"))
    }
    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }
    /// Uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }
    /// An index into a list of so many entries.
    pub fn index(&mut self, length: usize) -> usize {
        self.0.below(length as u64) as usize
    }
    /// One of these, each with the same chance.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())].clone()
    }
    /// One of these, each with a chance in proportion to its weight.
    pub fn weighted<T: Clone>(&mut self, of: &[(u64, T)]) -> T {
        let mut left = self.0.below(of.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in of {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return choice.clone(),
            }
        }
        unreachable!("what was drawn is below the sum of the weights")
    }
    /// A duration as documents write it, from zero to so many microseconds.
    pub fn micros(&mut self, most: u64) -> String {
        format!("{}us", self.between(0, most))
    }
}
