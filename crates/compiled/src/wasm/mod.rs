//! Components as modules of WebAssembly, with the functions of `tailback_law.h`.
//!
//! A module is interpreted. It has no access to anything but its memory and the host's functions; its results are the same
//! bits on every platform, and a call that does not end is ended after a fixed number of steps.

mod class;
mod data;
mod imports;
mod instance;
mod module;
#[cfg(test)]
mod tests;

pub use class::Class;
pub use data::{FUEL, MEMORY_BYTES};
pub use instance::WasmInstance;
pub use module::{Module, binary};
