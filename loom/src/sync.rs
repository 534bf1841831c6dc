//! Loom's primitives.
//!
//! Loom takes sequentially consistent accesses as acquire and release alone. Where one thread stores and then loads what the
//! other one stores, a fence between the two has the same effect, and loom knows fences in full. It stands after such stores
//! in one run of a model and before such loads in another ([`fences`]), so that a weaker order of either shows.

pub use loom::hint::spin_loop;
pub use loom::sync::Mutex;
use loom::sync::atomic::fence;
pub use loom::sync::atomic::{AtomicU32, Ordering};
pub use loom::thread::{Thread, current, park};
use std::cell::Cell;
// It is written before `parked` and read after it: no state of its own.
pub use std::sync::{OnceLock, PoisonError};

/// No spins: a spin would let the other threads go first.
pub const MOST_SPINS: u32 = 1;
pub const LEAST_SPINS: u32 = 1;

/// Place of the fences that stand for sequential consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    AfterStores,
    BeforeLoads,
}

thread_local! {
    // Loom runs the threads of a model on the thread that calls it.
    static FENCES: Cell<Fences> = const { Cell::new(Fences::AfterStores) };
}

/// Sets the place of fences for the models of this thread.
pub fn fences(at: Fences) {
    FENCES.set(at);
}

fn fence_at(at: Fences, order: Ordering) {
    if order == Ordering::SeqCst && FENCES.get() == at {
        fence(Ordering::SeqCst);
    }
}

macro_rules! atomic {
    ($name:ident, $of:ty) => {
        #[derive(Default)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            pub fn load(&self, order: Ordering) -> $of {
                fence_at(Fences::BeforeLoads, order);
                self.0.load(order)
            }
            pub fn store(&self, value: $of, order: Ordering) {
                self.0.store(value, order);
                fence_at(Fences::AfterStores, order);
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU64, u64);

impl AtomicBool {
    pub fn new(value: bool) -> AtomicBool {
        AtomicBool(loom::sync::atomic::AtomicBool::new(value))
    }
}
