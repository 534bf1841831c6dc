//! Primitives of the barrier. The model in `loom/` includes `barrier.rs` with those of loom in their place.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
pub use std::sync::{Mutex, OnceLock, PoisonError};
pub use std::thread::{Thread, current, park};

/// Upper bound on the spins of a thread at the barrier before it parks, about 10 µs.
pub const MAX_SPINS: u32 = 1_000;
/// Lower bound on these spins. Their number is halved after a wait that ended in parking, as with more threads than
/// idle processors, and doubled after one that did not.
pub const MIN_SPINS: u32 = 4;
