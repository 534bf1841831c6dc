//! Measurement: delay histograms, delay variation, digests of results, statistics over replications, perceived quality,
//! and closed forms for validation.
//!
//! A run records integers into a [`Sketch`] or a [`Variation`] and, at its end, writes results into a [`Digest`];
//! [`statistics`] computes intervals over replications; [`quality`] maps network performance to the perceived quality
//! of speech and video; [`oracle`] has the results of queueing theory.

mod digest;
pub mod oracle;
pub mod quality;
mod sketch;
pub mod statistics;
mod variation;

pub use digest::Digest;
pub use sketch::{Bucket, Sketch};
pub use variation::Variation;
