//! Loom's primitives, under the names that the barrier uses.
//!
//! Loom treats sequentially consistent (SeqCst) loads and stores only as acquire and release. The barrier needs more
//! where a thread stores a value and then loads one that the other thread stores. A SeqCst fence between the store and
//! the load has the same effect, and loom models such fences fully. One run of a model has a fence after each SeqCst
//! store, and another run before each SeqCst load ([`fences`]). A model thus fails if either access has too weak an
//! order.

pub use loom::hint::spin_loop;
pub use loom::sync::Mutex;
use loom::sync::atomic::fence;
pub use loom::sync::atomic::{AtomicU32, Ordering};
pub use loom::thread::{Thread, current, park};
use std::cell::Cell;
// The barrier writes its `OnceLock` before `parked` and reads it after `parked`, so that loom need not model it.
pub use std::sync::{OnceLock, PoisonError};

/// Limits of the number of spins before a thread parks. They are 1, since loom would run the other threads at each
/// spin.
pub const MAX_SPINS: u32 = 1;
pub const MIN_SPINS: u32 = 1;

/// Place of the fences that replace sequential consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    AfterStores,
    BeforeLoads,
}

thread_local! {
    // Loom runs all threads of a model on the thread that runs the model, so that they share this value.
    static FENCES: Cell<Fences> = const { Cell::new(Fences::AfterStores) };
}

/// Sets the place of fences for the models that this thread runs.
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
