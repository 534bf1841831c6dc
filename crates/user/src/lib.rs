//! Interfaces of user-defined components: queue laws, schedulers, congestion controls and traffic sources that a user has
//! written and a scenario names.
//!
//! A component maps numbers to a decision; it owns no packet, no queue and no connection. Each interface has one record of
//! what has happened ([`QueueCall`]) and one of the decision ([`QueueAnswer`]), with the layout of C, so that code in any
//! language can be given the same fields. Components may be in Python, in machine code, or in WebAssembly.
//!
//! This crate and the other core crates load nothing. The program around them, the Python package, provides [`Factories`], which load a file and make instances. A plan holds [`Code`], which is plain data.

mod answer;
mod code;
mod congestion;
mod factories;
mod fault;
mod installed;
mod language;
mod names;
mod queue;
mod scheduler;
mod source;

pub use code::{Code, Loaded};
pub use congestion::{CongestionAnswer, CongestionCall, CongestionEvent, CongestionLaw, CongestionOptions};
pub use factories::{Factories, Install, LoadError, NoFactories, Parameter, Role};
pub use fault::{Fault, Faults};
pub use installed::Installed;
pub use language::Language;
pub use names::lasting;
pub use queue::{QueueAnswer, QueueCall, QueueEvent, QueueLaw, QueueVerdict};
pub use scheduler::{QueueState, SchedulerAnswer, SchedulerCall, SchedulerEvent, SchedulerLaw};
pub use source::{SourceAnswer, SourceCall, SourceEvent, SourceLaw};
