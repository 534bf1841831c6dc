//! Files that a scenario names: video traces and user-defined components. The core opens no files; its caller provides a
//! reader and factories.

use crate::codes;
use crate::complaint::{Complaint, On};
use crate::document::Document;
use core::fmt;
use std::sync::Arc;
use tailback_document::Path;
use tailback_traffic::{Model, Trace};
use tailback_user::{Factories, NoFactories};

/// Returns the text of a file by the path in the scenario, or an error message.
type Read = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Function that reads the files that a scenario names, and factories of the user-defined components that it names.
#[derive(Clone)]
pub struct Files {
    read: Arc<Read>,
    factories: Arc<dyn Factories>,
}

impl Files {
    /// Returns a reader that calls this function with a path as the scenario has it. The function returns the text of
    /// the file, or a message why it cannot be read. User-defined components are refused.
    pub fn read_by(read: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static) -> Files {
        Files { read: Arc::new(read), factories: Arc::new(NoFactories) }
    }
    /// Returns the same reader with factories of user-defined components.
    #[must_use]
    pub fn with_factories(self, factories: Arc<dyn Factories>) -> Files {
        Files { factories, ..self }
    }
    /// Returns the factories of user-defined components.
    pub(crate) fn factories(&self) -> &dyn Factories {
        &*self.factories
    }
    /// Returns a reader that refuses all files.
    pub fn none() -> Files {
        Files::read_by(|_| Err("reading files is disabled here".to_owned()))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

/// Returns the traces that the flows of a document name.
pub(crate) fn traces(document: &Document) -> impl Iterator<Item = &Trace> {
    document.flows.iter().filter_map(|flow| match &flow.source {
        Some(Model::Trace(trace)) => Some(trace),
        _ => None,
    })
}

/// Loads the traces and the user-defined components that a document names; returns the complaints about files that cannot be
/// read, parsed or loaded.
pub(crate) fn load(document: &mut Document, files: &Files) -> Result<(), Vec<Complaint>> {
    let mut complaints = codes::load(document, files.factories());
    for (index, flow) in document.flows.iter_mut().enumerate() {
        let Some(Model::Trace(trace)) = &mut flow.source else { continue };
        if trace.file.is_empty() {
            // Reported with the other parameters.
            continue;
        }
        let file = trace.file.clone();
        let found = (files.read)(&file)
            .map_err(|why| (format!("`{file}` cannot be read: {why}"), "give the path relative to the scenario's file"))
            .and_then(|text| {
                let help = "each line is a frame; see `format` for the supported formats";
                trace.load(&text).map_err(|e| match e.line {
                    0 => (format!("`{file}`: {}", e.message), help),
                    line => (format!("line {line} of `{file}`: {}", e.message), help),
                })
            });
        if let Err((message, help)) = found {
            let path = Path::root().join("flows").join(index).join("source").join("file");
            complaints.push(Complaint { path, on: On::Value, message, help: Some(help.to_owned()) });
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}
