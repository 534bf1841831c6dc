//! Named random streams and the one module of transcendental maths.
//!
//! Each component of a run draws from a stream of its own, derived from (seed, component name):
//! adding a flow or a probe moves no one else's draws, and two runs that share a name and a seed
//! see common random numbers.

pub mod maths;
mod stream;

pub use stream::Rng;
