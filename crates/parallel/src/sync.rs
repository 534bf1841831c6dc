//! Synchronisation primitives of the barrier. The model in `loom/` compiles `barrier.rs` with loom's primitives in
//! their place.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
pub use std::sync::{Mutex, OnceLock, PoisonError};
pub use std::thread::{Thread, current, park};

/// Upper bound on the number of spins of a thread at the barrier before it parks, about 10 µs.
pub const MAX_SPINS: u32 = 1_000;
/// Lower bound on the number of spins before parking. The number is halved after a wait in which the thread parked, as
/// with more threads than idle processors, and doubled after another wait.
pub const MIN_SPINS: u32 = 4;
