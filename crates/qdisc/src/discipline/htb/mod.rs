//! Hierarchical token bucket: each class has an assured rate, and a ceiling up to which it borrows
//! from its parent.

mod feed;
mod params;
mod tree;

pub use params::{Class, Params};
pub use tree::Htb;
