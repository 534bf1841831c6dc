//! Decoding of documents: what a user wrote becomes typed values, or an error that says where and
//! what to change.
//!
//! A document is a tree of tables and lists ([`serde_json::Value`], whatever file it came from).
//! [`decode`] turns a tree into a type and names the [`Path`] of what it refuses; [`kinds!`] makes
//! the enums that a `kind` key selects, such as the traffic models and the queue disciplines.

mod decode;
mod error;
mod kinds;
mod suggest;

pub use decode::decode;
pub use error::{DecodeError, Invalid, Path, Problem, Step};
pub use kinds::Checked;
pub use suggest::{listed, suggest};

/// What the expansion of [`kinds!`] refers to; not meant for other use.
#[doc(hidden)]
pub mod __private {
    pub use crate::kinds::{decode_params, kind_schema, one_of, tagged, take_kind};
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
