//! Import and export of router configurations. Cisco's modular QoS command line, Linux `tc` and other languages are
//! read into one intermediate representation, which is compiled into a scenario; a scenario is decompiled into it for
//! export.
//!
//! [`ir`] is the intermediate representation. [`LANGUAGES`] lists the languages: [`mqc`] and [`tc`] are read and
//! written, [`junos`], [`routeros`] and [`sonic`] are only read. Unsupported lines are in the [`Report`], with line and
//! column; nothing is ignored silently. [`lower`](fn@lower) compiles a [`Config`](ir::Config) and a table of
//! [`Traffic`] into a scenario document, and [`lift`](fn@lift) decompiles a scenario.
//!
//! Readers do not panic on any text, and their work is bounded by the length of the text.

pub mod ir;
pub mod junos;
mod language;
mod lift;
mod lower;
pub mod mqc;
mod outcome;
mod patch;
mod report;
pub mod routeros;
pub mod sonic;
pub mod tc;

pub use ir::Platform;
pub use language::{LANGUAGES, Language, Writer};
pub use lift::lift;
pub use lower::{Link, Lowered, Membership, Model, Options, Overhead, Row, Traffic, lower};
pub use outcome::{Exported, Imported};
pub use patch::{Change, Patched, Syntax, patch};
pub use report::{Level, Notice, Place, Report, Scope};
