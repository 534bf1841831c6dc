//! The scenario document: types, schema, checks, warnings, and compilation into a plan; also study documents, and runs
//! that are stepped through.
//!
//! Text is parsed into a tree with source positions (`origin`), the tree decoded into a [`document::Document`]
//! (`decode`), the document compiled into a [`Plan`](tailback_sim::plan::Plan) (`build`). Each step may fail with a
//! [`ScenarioError`], which shows the source line with advice. A [`Scenario`] has passed all three steps.

mod build;
mod codes;
mod complaint;
mod decode;
mod disciplines;
pub mod document;
mod effect;
mod error;
mod explain;
mod files;
mod glob;
mod network;
mod origin;
mod pilot;
mod presets;
mod scenario;
mod schema;
mod set;
mod simulation;
mod study;
mod toml_out;
mod tunable_keys;
mod tunable_values;
mod tuning;
mod warnings;

pub use error::{Problem, ScenarioError};
pub use explain::{explain, names};
pub use files::Files;
pub use glob::Glob;
pub use network::network;
pub use pilot::PILOT_LENGTHS;
pub use scenario::{Scenario, build};
pub use schema::schema;
pub use simulation::{REACTION, Setting, Simulation};
pub use study::{
    Axis, Design, DesignKind, Mechanism, Of, Paths, Range, Scale, Study, StudyDocument, Until, study_schema,
};
pub use tunable_values::TunableValue;
pub use warnings::{Offered, Warning};
