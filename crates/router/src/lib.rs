//! Router configurations: Cisco's modular QoS command line, Linux `tc` and other languages become one tree of policies, that
//! tree becomes a scenario, and back.
//!
//! Read in this order: [`ir`] is what a configuration says, whichever language said it. [`LANGUAGES`] lists the languages:
//! [`mqc`] and [`tc`] are read and written, [`junos`], [`routeros`] and [`sonic`] are read. What is not understood is in the
//! [`Report`], with line and column, and nothing is dropped in silence.
//! [`lower`](fn@lower) makes a scenario document of a [`Config`](ir::Config) and a table of [`Traffic`],
//! [`lift`](fn@lift) goes the other way.
//!
//! Readers never panic, whatever the text, and their work is bounded by its length.

pub mod ir;
pub mod junos;
mod language;
mod lift;
mod lower;
pub mod mqc;
mod patch;
mod report;
pub mod routeros;
pub mod sonic;
pub mod tc;

pub use language::{LANGUAGES, Language, Writer};
pub use lift::lift;
pub use lower::{Link, Lowered, Membership, Model, Options, Overhead, Row, Traffic, lower};
pub use mqc::Platform;
pub use patch::{Change, Patched, Syntax, patch};
pub use report::{Level, Notice, Place, Report, Scope};

/// A configuration that was read, and what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// What was understood.
    pub config: ir::Config,
    /// What was not, what is wrong, and what has no effect.
    pub report: Report,
}

/// A configuration that was written, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// What the language cannot say, and what was approximated.
    pub report: Report,
}
