//! A scenario: a document that has been parsed, checked and compiled.

use crate::complaint::{Complaint, On};
use crate::document::{Change, Document, Run};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::origin::{self, Origin};
use crate::schema::schema;
use crate::tuning::Tuned;
use crate::warnings::{self, Offered, Warning, Warnings};
use crate::{codes, decode, effect, files, presets, set, toml_out, tuning};
use core::hash::Hasher;
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::BTreeMap;
use tailback_document::Path;
use tailback_sim::plan::{ChangeKind, Engine, Plan};
use tailback_user::{Code, Factories, Language};

/// A valid document; every constructor checks the document.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The document as written, including changes: the base of `with_set`.
    tree: Value,
    origin: Origin,
    document: Document,
    plan: Plan,
    /// Reader of the files that the document names.
    files: Files,
}

/// Returns the plan of one replication: that of the scenario with the given seed, and with the given engine unless it
/// is `None`. With `warmup = "auto"` the plan has a warm-up of zero; the caller determines its length by a pilot run
/// and sets it.
pub fn build(scenario: &Scenario, seed: u64, engine: Option<Engine>) -> Plan {
    let plan = scenario.plan.clone();
    Plan { seed, engine: engine.unwrap_or(plan.engine), ..plan }
}

impl Scenario {
    /// Parses a document in TOML; `filename` is used in messages. A document that names files is refused.
    ///
    /// # Errors
    /// If the text is not a valid scenario: all errors found, with line and column.
    pub fn from_toml(text: &str, filename: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_toml_with(text, filename, Files::none())
    }

    /// Parses a document in TOML and loads the files that it names.
    ///
    /// # Errors
    /// If the text is not a valid scenario: all errors found, with line and column.
    pub fn from_toml_with(text: &str, filename: &str, files: Files) -> Result<Scenario, ScenarioError> {
        match origin::read_toml(text, filename) {
            Ok((tree, origin)) => Scenario::new(tree, origin, files),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// Parses a document in JSON, with the same tables and lists as in TOML. A document that names files is refused.
    ///
    /// # Errors
    /// If the text is not a valid scenario: all errors found, with their paths.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_json_with(text, Files::none())
    }

    /// Parses a document in JSON and loads the files that it names.
    ///
    /// # Errors
    /// If the text is not a valid scenario: all errors found, with their paths.
    pub fn from_json_with(text: &str, files: Files) -> Result<Scenario, ScenarioError> {
        match origin::read_json(text, "<scenario>") {
            Ok((tree, origin)) => Scenario::new(tree, origin, files),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// Returns the scenario with values replaced: pairs of a path, such as `links[0].rate`, `flows[data].source.burst`
    /// or `flows[*].class`, and a TOML value or plain text. Pairs are applied in order, and only the final document is
    /// checked.
    ///
    /// # Errors
    /// If a path or value is invalid, or the changed document is.
    pub fn with_set<P: AsRef<str>, V: AsRef<str>>(&self, pairs: &[(P, V)]) -> Result<Scenario, ScenarioError> {
        if pairs.is_empty() {
            return Ok(self.clone());
        }
        let (mut tree, mut origin) = (self.tree.clone(), self.origin.clone());
        let with_defaults = serde_json::to_value(&self.document).unwrap_or_default();
        for (path, value) in pairs {
            let (path, value) = (path.as_ref(), value.as_ref());
            let text = format!("{path}={value}");
            match set::assignment(&tree, path, value) {
                Ok(assignment) => {
                    for place in assignment.paths {
                        set::put(&mut tree, &with_defaults, &place, assignment.value.clone());
                        origin.set("--set", place, &text, path.len() + 1);
                    }
                }
                Err(message) => {
                    origin.set("--set", Path::root(), &text, path.len() + 1);
                    let complaint = Complaint { path: Path::root(), on: On::Key, message, help: None };
                    return Err(ScenarioError::locate(vec![complaint], &origin));
                }
            }
        }
        Scenario::new(tree, origin, self.files.clone())
    }

    /// Decodes, checks and compiles a tree.
    fn new(tree: Value, origin: Origin, files: Files) -> Result<Scenario, ScenarioError> {
        let checked = decode::document(schema, &presets::completed(&tree)).and_then(|mut document: Document| {
            files::load(&mut document, &files)?;
            let mut plan = crate::build::plan(&document)?;
            tuning::compile(&document, &mut plan, &files)?;
            Ok((plan, document))
        });
        match checked {
            Ok((plan, document)) => Ok(Scenario { tree, origin, document, plan, files }),
            Err(complaints) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// Returns the factories of the user-defined components that the document names.
    pub fn factories(&self) -> &dyn Factories {
        self.files.factories()
    }

    /// Returns `true` if the document names user-defined components.
    pub fn has_user_code(&self) -> bool {
        let mut found = false;
        codes::each_code(&self.document, |_| found = true);
        found
    }

    /// Returns `true` if the document names a user-defined component in this language.
    pub fn has_code_in(&self, language: Language) -> bool {
        let mut found = false;
        codes::each_code(&self.document, |code| found |= code.language() == Some(language));
        found
    }

    /// Returns the user-defined components that the document names, in its order.
    pub fn codes(&self) -> Vec<Code> {
        let mut found = Vec::new();
        codes::each_code(&self.document, |code| found.push(code.clone()));
        found
    }

    /// Returns the state of the document at the start of a run, from which its values change.
    pub(crate) fn tuned(&self) -> Tuned {
        Tuned::new(&self.document, &self.plan, &self.files)
    }

    /// Returns the changes of an entry of the timeline other than `set`.
    ///
    /// # Errors
    /// If the entry is invalid: complaints with paths in a document whose timeline has only this entry.
    pub(crate) fn changes_of(&self, change: &Change) -> Result<Vec<ChangeKind>, Vec<Complaint>> {
        let mut document = self.document.clone();
        document.timeline = vec![change.clone()];
        let plan = crate::build::plan(&document)?;
        Ok(plan.timeline.into_iter().map(|change| change.what).collect())
    }

    /// Returns the scenario with entries appended to its timeline; at equal times they take effect after existing ones.
    pub(crate) fn with_timeline(&self, changes: &[Change]) -> Result<Scenario, ScenarioError> {
        let mut tree = self.tree.clone();
        if !changes.is_empty()
            && let Some(map) = tree.as_object_mut()
        {
            let timeline = map.entry("timeline").or_insert_with(|| Value::Array(Vec::new()));
            if let Some(list) = timeline.as_array_mut() {
                list.extend(changes.iter().map(canonical));
            }
        }
        Scenario::new(tree, self.origin.clone(), self.files.clone())
    }

    /// Returns the warnings in the order of the file, except those in `run.accept`.
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of(&self.document, &self.plan, &self.origin)
    }
    /// Returns the mean offered load of each group of flows over the measured time, by name; `None`: the load is not
    /// known, or depends on the state of the network.
    pub fn offered(&self) -> BTreeMap<String, Option<Offered>> {
        warnings::offered(&self.plan)
    }

    /// Returns the hash of the document's effect: scenarios with equal hashes give equal results, even if the documents
    /// differ in unused settings. 128 bits in hexadecimal.
    pub fn effect(&self) -> String {
        effect::hash(&self.document, &self.plan)
    }
    /// Locates warnings in this document.
    pub(crate) fn locate(&self, found: Warnings) -> Vec<Warning> {
        found.locate(&self.document, &self.origin)
    }

    /// Returns the document with defaults filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }
    /// Returns the document's title; empty if it has none.
    pub fn title(&self) -> &str {
        self.document.title.as_deref().unwrap_or("")
    }
    /// Returns duration, replications, seed and recording of its runs.
    pub fn run(&self) -> &Run {
        &self.document.run
    }
    /// Returns `[run]` in JSON with defaults filled in, keys sorted and units normalised.
    pub fn run_config(&self) -> String {
        canonical(&self.document.run).to_string()
    }
    /// Returns the canonical form: JSON with all defaults filled in, keys sorted, units normalised. Equal scenarios
    /// have equal text.
    pub fn to_json(&self) -> String {
        canonical(&self.document).to_string()
    }
    /// Returns the document in TOML with defaults filled in; it parses back to an equal scenario.
    pub fn to_toml(&self) -> String {
        toml_out::document(&canonical(&self.document))
    }
    /// Returns the SipHash-2-4 of the canonical form and of the frames of its traces, with a zero key: 128 bits in
    /// hexadecimal.
    pub fn hash(&self) -> String {
        let mut hasher = SipHasher24::new();
        hasher.write(self.to_json().as_bytes());
        for frame in files::traces(&self.document).flat_map(tailback_traffic::Trace::frames) {
            hasher.write(&frame.to_le_bytes());
        }
        codes::each_code(&self.document, |code| {
            hasher.write(code.loaded.as_ref().map_or("", |loaded| &loaded.digest).as_bytes());
        });
        let hash = hasher.finish128();
        format!("{:016x}{:016x}", hash.h1, hash.h2)
    }
}

/// Returns the canonical form of a part of a document.
fn canonical<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("documents have text keys and finite numbers only")
}
