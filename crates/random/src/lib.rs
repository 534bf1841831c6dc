//! Named random streams, transcendental functions whose results have the same bits on every target, and a hash of keys.
//!
//! Each component of a run draws from a stream of its own, derived from the seed and the component's name: adding a
//! flow or a probe does not change the draws of others, and components with the same name have the same draws in all
//! runs with the same seed (common random numbers).

pub mod maths;
mod stream;

pub use stream::Rng;

/// Increment of successive keys for [`mix`], as in SplitMix64: 2^64 divided by the golden ratio. It is odd, so that
/// repeated wrapping addition yields all 2^64 keys before one recurs.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a key to 64 bits, the same on every target: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014),
/// a bijection.
#[inline]
pub fn mix(key: u64) -> u64 {
    let z = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
