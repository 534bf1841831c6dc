//! Components in machine code: libraries with the functions of `tailback_law.h`.
//!
//! Loading a library and each call execute its code in this process: it may crash the process, or not return. The caller
//! decides in which process it runs ([`crate::last_call`]).

mod class;
mod elf;
mod host;
mod instance;
mod library;

pub use class::Class;
pub use host::{Host, addresses};
pub use instance::{Answer, Made, NativeInstance};
pub use library::Library;
