//! Primitives of the barrier. The model in `loom/` includes `barrier.rs` with those of loom in their place.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
pub use std::sync::{Mutex, OnceLock, PoisonError};
pub use std::thread::{Thread, current, park};

/// Upper and lower bound on the spins of a thread at the barrier before it parks (the upper bound is about 10 µs). The
/// number is halved after a wait that ended in parking, when there are more threads than idle processors.
pub const MAX_SPINS: u32 = 1_000;
pub const MIN_SPINS: u32 = 4;
