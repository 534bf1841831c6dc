//! Hierarchical token bucket: each class has a rate that it is assured and a ceiling up to which it
//! borrows from its parent.

mod params;
mod tree;

pub use params::{Class, Params};
pub use tree::Htb;
