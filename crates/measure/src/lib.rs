//! Measurement: sketches of delays, digests of results, the statistics of replications, and the
//! closed forms that simulations are tested against.
//!
//! A run records integers into a [`Sketch`] and, at its end, writes them into a [`Digest`];
//! [`statistics`] turns the results of several replications into intervals; [`quality`] says what they
//! mean to users of speech and video; [`oracle`] holds what queueing theory says the answer must be.

mod digest;
pub mod oracle;
pub mod quality;
mod sketch;
pub mod statistics;
mod variation;

pub use digest::Digest;
pub use sketch::{Bucket, Sketch};
pub use variation::Variation;
