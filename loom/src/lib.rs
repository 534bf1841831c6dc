//! The barrier of `crates/parallel`, with loom's primitives in place of the standard library's.

#[path = "../../crates/parallel/src/barrier.rs"]
pub mod barrier;
pub mod sync;
