//! Results of readers and writers.

use crate::{Report, ir};

/// A configuration that was read, with its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The supported part.
    pub config: ir::Config,
    /// Unsupported lines, errors, and lines without effect.
    pub report: Report,
}

/// An exported configuration, with its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// Unsupported features, and approximations.
    pub report: Report,
}
