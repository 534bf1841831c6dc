//! Token buckets in exact integer arithmetic.

use tailback_units::{Dur, Rate, Time};

/// A token bucket of rate r and depth b: in any interval of length t, at most b + r·t bytes conform.
///
/// Its level is in units of 10^-12 bit, the amount of 1 bit/s in a picosecond, so that tokens are never rounded.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// Rate in bit/s, which is also in units per picosecond.
    rate: i128,
    /// Tokens in units, at most `depth`; negative only after [`TokenBucket::charge`].
    level: i128,
    /// Depth in units.
    depth: i128,
    /// Time of the last `fill`.
    at: Time,
}

/// Units of the level per byte.
const BYTE: i128 = 8_000_000_000_000;

impl TokenBucket {
    /// Returns a full bucket at time zero with this rate and a depth of `burst` bytes.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        let depth = i128::from(burst) * BYTE;
        TokenBucket { rate: i128::from(rate.0), level: depth, depth, at: Time::ZERO }
    }
    /// Returns the memory that the bucket's state takes, in bytes: the level and the time of the last `fill`.
    pub fn state_bytes(&self) -> usize {
        size_of_val(&self.level) + size_of_val(&self.at)
    }
    /// Sets the rate, from the last `fill` on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = i128::from(rate.0);
    }
    /// Sets rate and depth to those of `fresh` from `now` on; tokens above the new depth are lost. Returns `true` if
    /// the rate or the depth has changed.
    pub fn adopt(&mut self, now: Time, fresh: &TokenBucket) -> bool {
        let changes = (self.rate, self.depth) != (fresh.rate, fresh.depth);
        if changes {
            self.fill(now);
            (self.rate, self.depth) = (fresh.rate, fresh.depth);
            self.level = self.level.min(self.depth);
        }
        changes
    }
    /// Adds the tokens that have accrued since the last call; `now` must not be before it. Returns the tokens that
    /// overflow, in 10^-12 bit.
    pub fn fill(&mut self, now: Time) -> u128 {
        let tokens = self.rate * i128::from(now.since(self.at).0);
        self.at = self.at.max(now);
        self.add(tokens.unsigned_abs())
    }
    /// Adds tokens in 10^-12 bit; returns those that overflow.
    pub fn add(&mut self, tokens: u128) -> u128 {
        let sum = self.level + tokens as i128;
        self.level = sum.min(self.depth);
        (sum - self.level).unsigned_abs()
    }
    /// `true` if there were tokens for `bytes` bytes at the last `fill`.
    #[inline]
    pub fn holds(&self, bytes: u32) -> bool {
        self.level >= i128::from(bytes) * BYTE
    }
    /// Takes the tokens of `bytes` bytes and returns `true` if there are enough; otherwise takes none.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> bool {
        let holds = self.holds(bytes);
        if holds {
            self.charge(bytes);
        }
        holds
    }
    /// Takes the tokens of `bytes` bytes even if there are not enough: the level is then negative.
    #[inline]
    pub fn charge(&mut self, bytes: u32) {
        self.level -= i128::from(bytes) * BYTE;
    }
    /// Returns the depth in bytes.
    pub fn depth(&self) -> u64 {
        (self.depth / BYTE) as u64
    }
    /// `true` if the level is negative, as of the last `fill`.
    #[inline]
    pub fn is_in_debt(&self) -> bool {
        self.level < 0
    }
    /// Returns the first instant, from the last `fill` on, at which a packet of `bytes` conforms; `None`: it exceeds the
    /// depth, or tokens are missing and the rate is zero.
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
    /// Returns the tokens in whole bytes, as of the last `fill`; 0 if the level is negative.
    pub fn bytes(&self) -> u64 {
        (self.level.max(0) / BYTE) as u64
    }
}
