//! Decoding of documents into typed values, or into an error with a path and advice.
//!
//! A document is a tree of tables and lists ([`serde_json::Value`], parsed from any file format). [`decode`] converts a
//! tree into a type and names the [`Path`] of a refused value; [`kinds!`] declares the enums that a `kind` key selects,
//! such as the traffic models and the queue disciplines.

mod decode;
mod error;
mod kinds;
mod suggest;

pub use decode::decode;
pub use error::{DecodeError, Invalid, Path, Problem, Step};
pub use kinds::Checked;
pub use suggest::{listed, suggest};

/// Items to which the expansion of [`kinds!`] refers; private.
#[doc(hidden)]
pub mod __private {
    pub use crate::kinds::{decode_params, kind_schema, one_of, tagged, take_kind};
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
