//! A scenario: a document that has been read, checked, and found to make sense.

use crate::complaint::{Complaint, On};
use crate::document::{Document, Run};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::origin::{self, Origin};
use crate::schema::schema;
use crate::warnings::{self, Offered, Warning, Warnings};
use crate::{decode, effect, files, set, toml_out};
use core::hash::Hasher;
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::BTreeMap;
use tailback_document::Path;
use tailback_sim::plan::{Engine, Plan};

/// A document that makes sense; there is no other way to have one.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// As it was written, changes included: what `with_set` goes on from.
    tree: Value,
    origin: Origin,
    document: Document,
    plan: Plan,
    /// How the files that it names are read.
    files: Files,
}

/// The plan of one replication: that of the scenario with the given seed, and with the given
/// engine if there is one. `warmup = "auto"` gives a plan without warm-up; the caller finds the
/// warm-up on a pilot run and puts it in.
pub fn build(scenario: &Scenario, seed: u64, engine: Option<Engine>) -> Plan {
    let plan = scenario.plan.clone();
    Plan { seed, engine: engine.unwrap_or(plan.engine), ..plan }
}

impl Scenario {
    /// Reads a document in TOML; `filename` is for errors. One that names files is refused.
    pub fn from_toml(text: &str, filename: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_toml_with(text, filename, Files::none())
    }

    /// Reads a document in TOML and the files that it names.
    pub fn from_toml_with(text: &str, filename: &str, files: Files) -> Result<Scenario, ScenarioError> {
        match origin::read_toml(text, filename) {
            Ok((tree, origin)) => Scenario::new(tree, origin, files),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// Reads a document in JSON: the same tables and lists as in TOML. One that names files is refused.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_json_with(text, Files::none())
    }

    /// Reads a document in JSON and the files that it names.
    pub fn from_json_with(text: &str, files: Files) -> Result<Scenario, ScenarioError> {
        match origin::read_json(text, "<scenario>") {
            Ok((tree, origin)) => Scenario::new(tree, origin, files),
            Err((complaints, origin)) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// The scenario with values replaced: pairs of a path, such as `links[0].rate`,
    /// `flows[data].source.burst` or `flows[*].class`, and a TOML value or plain text. Later pairs
    /// see what earlier ones did; checked once, at the end.
    pub fn with_set<P: AsRef<str>, V: AsRef<str>>(&self, pairs: &[(P, V)]) -> Result<Scenario, ScenarioError> {
        if pairs.is_empty() {
            return Ok(self.clone());
        }
        let (mut tree, mut origin) = (self.tree.clone(), self.origin.clone());
        let whole = serde_json::to_value(&self.document).unwrap_or_default();
        for (path, value) in pairs {
            let (path, value) = (path.as_ref(), value.as_ref());
            let text = format!("{path}={value}");
            match set::assignment(&tree, path, value) {
                Ok(assignment) => {
                    for place in assignment.paths {
                        set::put(&mut tree, &whole, &place, assignment.value.clone());
                        origin.set(place, &text, path.len() + 1);
                    }
                }
                Err(message) => {
                    origin.set(Path::root(), &text, path.len() + 1);
                    let complaint = Complaint { path: Path::root(), on: On::Key, message, help: None };
                    return Err(ScenarioError::locate(vec![complaint], &origin));
                }
            }
        }
        Scenario::new(tree, origin, self.files.clone())
    }

    fn new(tree: Value, origin: Origin, files: Files) -> Result<Scenario, ScenarioError> {
        let checked = decode::document(schema, &tree).and_then(|mut document: Document| {
            files::load(&mut document, &files)?;
            Ok((crate::build::plan(&document)?, document))
        });
        match checked {
            Ok((plan, document)) => Ok(Scenario { tree, origin, document, plan, files }),
            Err(complaints) => Err(ScenarioError::locate(complaints, &origin)),
        }
    }

    /// What looks wrong although it is allowed, in the order of the file, but for what `run.accept` names.
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of(&self.document, &self.plan, &self.origin)
    }
    /// What each group of flows offers on average while it is measured; none where the network decides it.
    pub fn offered(&self) -> BTreeMap<String, Option<Offered>> {
        warnings::offered(&self.plan)
    }
    /// Of the settings that `with_set` would make, those that change the document and nothing of what it amounts to.
    pub fn without_effect<P: AsRef<str>, V: AsRef<str>>(
        &self,
        pairs: &[(P, V)],
    ) -> Result<Vec<Warning>, ScenarioError> {
        warnings::without_effect(self, pairs)
    }
    /// Hash of what the document amounts to: scenarios with the same give the same results, also where the
    /// documents differ in what nothing goes by. 128 bits in hexadecimal.
    pub fn effect(&self) -> String {
        effect::hash(&self.document, &self.plan)
    }
    /// Warnings with their places in this document.
    pub(crate) fn locate(&self, found: Warnings) -> Vec<Warning> {
        found.locate(&self.document, &self.origin)
    }

    /// The document, defaults filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }
    /// Its title; empty if it has none.
    pub fn title(&self) -> &str {
        self.document.title.as_deref().unwrap_or("")
    }
    /// How long, how often, and with which seed to run it.
    pub fn run(&self) -> &Run {
        &self.document.run
    }
    /// `[run]` in JSON, defaults filled in.
    pub fn run_config(&self) -> String {
        canonical(&self.document.run).to_string()
    }
    /// The canonical form: JSON with all defaults filled in, keys sorted, units normalised. Equal
    /// scenarios have equal text.
    pub fn to_json(&self) -> String {
        canonical(&self.document).to_string()
    }
    /// The document in TOML, defaults filled in; it reads back as an equal scenario.
    pub fn to_toml(&self) -> String {
        toml_out::document(&canonical(&self.document))
    }
    /// SipHash-2-4 of the canonical form, and of the frames of the traces that it names, with a key
    /// of zeros: 128 bits in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hasher = SipHasher24::new();
        hasher.write(self.to_json().as_bytes());
        for frame in files::traces(&self.document).flat_map(|trace| trace.frames()) {
            hasher.write(&frame.to_le_bytes());
        }
        let hash = hasher.finish128();
        format!("{:016x}{:016x}", hash.h1, hash.h2)
    }
}

fn canonical<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("documents have text keys and finite numbers only")
}
