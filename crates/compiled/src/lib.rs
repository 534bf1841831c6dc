//! User-defined components in machine code and in WebAssembly, with one interface for both.
//!
//! A file defines functions for each class, declared in `python/tailback/include/tailback_law.h`. The host passes a record
//! of what has happened and receives a record of the decision, in the layout of [`tailback_user`]. A component gets numbers
//! from the host only: its parameters, draws from the random stream of its port, and functions with the same bits on every
//! platform.
//!
//! [`native`] loads libraries in machine code and [`wasm`] modules of WebAssembly (feature `load`). [`State`] is the part of
//! the host that both share, also with hosts that load components themselves.

pub mod abi;
mod component;
mod parameters;
mod state;

#[cfg(feature = "load")]
mod components;
#[cfg(feature = "load")]
mod digest;
#[cfg(feature = "load")]
pub mod last_call;
#[cfg(feature = "load")]
pub mod native;
#[cfg(feature = "load")]
pub mod wasm;

pub use component::{Component, Instance, Make};
#[cfg(feature = "load")]
pub use components::Components;
pub use parameters::Parameters;
pub use state::{Failed, State};
