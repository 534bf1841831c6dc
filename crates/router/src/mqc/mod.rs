//! Cisco's modular QoS command line: class maps, policy maps, access lists, interfaces.
//!
//! A configuration is read line by line. Each command belongs to a mode that earlier commands have opened; as on a
//! router, a command that the current mode does not accept is tried in the enclosing mode, so indentation has no
//! effect. Keywords may be abbreviated to prefixes that are unique in the mode.

mod access_list;
mod adapt;
mod check;
mod class_map;
mod condition_text;
mod export;
mod foreign;
mod import;
mod interface;
mod legacy;
mod names;
mod paste;
mod platform;
mod police;
mod policy_map;
mod queue_lines;
mod reader;
mod words;

pub(crate) use words::HIGHEST_RATE;

pub use crate::ir::Platform;
pub use export::export;
pub use import::import;
pub use names::name_interface;
pub use paste::paste;
pub(crate) use platform::Depth;
