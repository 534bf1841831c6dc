//! The scenario document: its types, its schema, its checks, and the plan built from it.
//!
//! Text becomes a tree that remembers where everything stands (`origin`), the tree a
//! [`document::Document`] (`decode`), the document a [`Plan`](tailback_sim::plan::Plan) (`build`);
//! each step may refuse, and a [`ScenarioError`] shows the user's own line with advice. A
//! [`Scenario`] is what has passed all three.

mod build;
mod complaint;
mod decode;
pub mod document;
mod effect;
mod error;
mod explain;
mod files;
mod glob;
mod origin;
mod scenario;
mod schema;
mod set;
mod study;
mod toml_out;
mod warnings;

pub use error::{Problem, ScenarioError};
pub use explain::{explain, names};
pub use files::Files;
pub use scenario::{Scenario, build};
pub use schema::schema;
pub use study::{
    Axis, Design, DesignKind, Mechanism, Of, Paths, Range, Scale, Study, StudyDocument, Until, study_schema,
};
pub use warnings::{Offered, Warning};
