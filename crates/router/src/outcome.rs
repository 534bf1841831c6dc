//! Results of readers and writers.

use crate::{Report, ir};

/// A configuration that was read, with its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Supported part of the configuration.
    pub config: ir::Config,
    /// Unsupported lines, errors, and lines without effect.
    pub report: Report,
}

/// An exported configuration, with its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Text in the writer's language.
    pub text: String,
    /// Parts that the language does not support, and approximations.
    pub report: Report,
}
