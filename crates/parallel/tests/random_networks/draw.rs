//! Random choices from one stream, so that a seed identifies a network.

use tailback_random::Rng;

/// A stream of choices.
#[derive(Debug)]
pub struct Draw(Rng);

impl Draw {
    /// Returns the stream of choices of a seed; equal seeds give equal choices.
    pub fn new(seed: u64) -> Draw {
        Draw(Rng::named(seed, "random network"))
    }
    /// Returns `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }
    /// Returns an integer uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }
    /// Returns an index into a list of `length` entries, at least one, with equal probability.
    pub fn index(&mut self, length: usize) -> usize {
        self.0.below(length as u64) as usize
    }
    /// Returns one of the values with equal probability.
    pub fn one<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())].clone()
    }
    /// Returns one of the values with probability in proportion to its weight.
    pub fn weighted<T: Clone>(&mut self, choices: &[(u64, T)]) -> T {
        let mut remaining = self.0.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            match remaining.checked_sub(*weight) {
                Some(rest) => remaining = rest,
                None => return choice.clone(),
            }
        }
        unreachable!("the number drawn is below the sum of the weights")
    }
    /// Returns a duration in the notation of documents, uniform from zero to `most` microseconds.
    pub fn micros(&mut self, most: u64) -> String {
        format!("{}us", self.between(0, most))
    }
}
