//! Documents for several test files.

pub mod generated;
pub mod right;
