//! The study document: one scenario at many points. It is parsed and checked here like a scenario; points are generated
//! and run in Python.

mod check;
mod document;

pub use document::{Axis, Design, DesignKind, Mechanism, Of, Paths, Range, Scale, StudyDocument, Until};

use crate::complaint::{Complaint, Complaints, On};
use crate::decode;
use crate::error::ScenarioError;
use crate::origin::{self, Origin};
use serde_json::Value;
use std::sync::OnceLock;
use tailback_document::Path;

/// A parsed and checked study document.
#[derive(Clone, Debug)]
pub struct Study {
    document: StudyDocument,
    origin: Origin,
}

impl Study {
    /// Parses a document in TOML; `filename` is used in messages.
    ///
    /// # Errors
    /// If the text is not a valid study: all errors found, with line and column.
    pub fn from_toml(text: &str, filename: &str) -> Result<Study, ScenarioError> {
        match origin::read_toml(text, filename) {
            Ok((tree, origin)) => Study::new(&tree, origin),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// Parses a study document in JSON.
    ///
    /// # Errors
    /// If the text is not a valid study: all errors found, with their paths.
    pub fn from_json(text: &str) -> Result<Study, ScenarioError> {
        match origin::read_json(text, "<study>") {
            Ok((tree, origin)) => Study::new(&tree, origin),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    fn new(tree: &Value, origin: Origin) -> Result<Study, ScenarioError> {
        let document: StudyDocument =
            decode::document(study_schema, tree).map_err(|complaints| ScenarioError::locate(complaints, &origin))?;
        let mut complaints = Complaints::default();
        check::check(&document, &mut complaints);
        if complaints.is_empty() {
            Ok(Study { document, origin })
        } else {
            Err(ScenarioError::locate(complaints.into_vec(), &origin))
        }
    }

    /// Returns the document with defaults filled in.
    pub fn document(&self) -> &StudyDocument {
        &self.document
    }
    /// Returns the canonical form: JSON with defaults filled in and keys sorted.
    ///
    /// # Panics
    /// If the document has a number that is not finite, which its check refuses.
    pub fn to_json(&self) -> String {
        serde_json::to_value(&self.document).expect("studies have text keys and finite numbers only").to_string()
    }
    /// Returns an error about the value at `path`, such as `axes[0].values[2]`, that is found only when points are
    /// generated; `help`: advice. An error with a malformed path is about the whole document.
    pub fn refuse(&self, path: &str, message: &str, help: Option<&str>) -> ScenarioError {
        let path = Path::parse(path).unwrap_or_default();
        let complaint = Complaint { path, on: On::Value, message: message.to_owned(), help: help.map(str::to_owned) };
        ScenarioError::locate(vec![complaint], &self.origin)
    }
}

/// Returns the schema of a study document (JSON Schema 2020-12).
pub fn study_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(StudyDocument);
        schema.insert("title".to_owned(), "Tailback study".into());
        schema.to_value()
    })
}
