//! Named random streams and the one module of transcendental maths.
//!
//! Each component of a run draws from a stream of its own, derived from (seed, component name):
//! adding a flow or a probe moves no one else's draws, and two runs that share a name and a seed
//! see common random numbers. Beside them a hash of keys, which draws nothing.

pub mod maths;
mod stream;

pub use stream::Rng;

/// What [`mix`] is given steps of, so that neighbouring keys have nothing in common: 2^64 over the golden ratio.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads a key over 64 bits, for hashes that must be the same everywhere: the finaliser of
/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection.
#[inline]
pub fn mix(key: u64) -> u64 {
    let z = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
