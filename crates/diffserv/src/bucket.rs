//! The token bucket, in exact integers.

use tailback_units::{Dur, Rate, Time};

/// A token bucket of rate r and depth b: the bytes that conform in any interval of length t are at
/// most b + r·t, exactly, whatever the instants.
///
/// Its level is counted in 10^-12 bit, the amount that 1 bit/s gives in a picosecond, so nothing is
/// ever rounded.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: i128,
    /// At most `depth`; below 0 only after [`TokenBucket::charge`].
    level: i128,
    depth: i128,
    at: Time,
}

/// Units of a byte.
const BYTE: i128 = 8_000_000_000_000;

impl TokenBucket {
    /// A full bucket at time zero: `rate`, and a depth of `burst` bytes.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        let depth = i128::from(burst) * BYTE;
        TokenBucket { rate: i128::from(rate.0), level: depth, depth, at: Time::ZERO }
    }
    /// Bytes of its variables: the level and when it was right.
    pub fn state_bytes(&self) -> usize {
        size_of_val(&self.level) + size_of_val(&self.at)
    }
    /// Takes another rate, from the last `fill` on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = i128::from(rate.0);
    }
    /// Adds the tokens up to `now`, which is not before the last call's. Returns those that found
    /// no room, in 10^-12 bit.
    pub fn fill(&mut self, now: Time) -> u128 {
        let tokens = self.rate * i128::from(now.since(self.at).0);
        self.at = self.at.max(now);
        self.add(tokens.unsigned_abs())
    }
    /// Adds tokens, in 10^-12 bit; returns those that found no room.
    pub fn add(&mut self, tokens: u128) -> u128 {
        let sum = self.level + tokens as i128;
        self.level = sum.min(self.depth);
        (sum - self.level).unsigned_abs()
    }
    /// Whether there are tokens for `bytes`, as of the last `fill`.
    #[inline]
    pub fn holds(&self, bytes: u32) -> bool {
        self.level >= i128::from(bytes) * BYTE
    }
    /// Takes the tokens of `bytes`, if there are as many; whether there were.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> bool {
        let holds = self.holds(bytes);
        if holds {
            self.charge(bytes);
        }
        holds
    }
    /// Takes the tokens of `bytes` though there may not be as many: the bucket is then in debt.
    #[inline]
    pub fn charge(&mut self, bytes: u32) {
        self.level -= i128::from(bytes) * BYTE;
    }
    /// Bytes that a full bucket holds.
    pub fn depth(&self) -> u64 {
        (self.depth / BYTE) as u64
    }
    /// Whether it is in debt, as of the last `fill`.
    #[inline]
    pub fn is_in_debt(&self) -> bool {
        self.level < 0
    }
    /// The first instant at which `bytes` will conform; none if the bucket is too shallow, or
    /// nothing flows in.
    pub fn ready_at(&self, bytes: u32) -> Option<Time> {
        let need = i128::from(bytes) * BYTE;
        if need > self.depth {
            return None;
        }
        let wait = match need - self.level {
            ..=0 => 0,
            missing if self.rate > 0 => (missing + self.rate - 1) / self.rate,
            _ => return None,
        };
        Some(self.at + Dur(u64::try_from(wait).unwrap_or(u64::MAX)))
    }
    /// Whole bytes of tokens, as of the last `fill`; none in debt.
    pub fn bytes(&self) -> u64 {
        (self.level.max(0) / BYTE) as u64
    }
}
