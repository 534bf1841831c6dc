//! The parameters that a schema lists, and other values of each in a document.

use core::fmt::Debug;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use tailback_document::{Invalid, Path, Step};

/// A parameter in a document.
pub struct Leaf {
    /// Kind and parameter, with `[]` for any element and `*` for any key.
    pub label: String,
    /// Place in the document.
    pub at: Path,
    /// Values to try; null: the key is removed.
    pub values: Vec<Value>,
    /// Reason why the schema marks the parameter as fixed (`x-fixed`).
    pub fixed: Option<String>,
}

/// JSON schema of a type.
pub struct Schema(pub Value);

impl Schema {
    /// Returns the schema of a type.
    pub fn of<T: JsonSchema>() -> Schema {
        Schema(serde_json::to_value(schemars::schema_for!(T)).expect("JSON"))
    }
    /// Returns the alternatives at a node: references resolved, `anyOf` and `oneOf` expanded.
    fn alternatives<'a>(&'a self, node: &'a Value) -> Vec<&'a Value> {
        if let Some(name) = node.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")) {
            return self.alternatives(&self.0["$defs"][name]);
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(list) = node.get(choice).and_then(Value::as_array) {
                return list.iter().flat_map(|one| self.alternatives(one)).collect();
            }
        }
        vec![node]
    }

    /// Adds the parameters below a node of the schema to `out`. `value` is the document's value at the place `at`;
    /// null: the document does not have this key. `None`: there is no document, and all parameters are added.
    pub fn visit(&self, node: &Value, label: &str, at: &Path, value: Option<&Value>, out: &mut Vec<Leaf>) {
        let last = label.rsplit(['.', ' ']).next().unwrap_or("");
        let fixed = node.get("x-fixed").map(|why| why.as_str().expect("a reason").to_owned());
        let leaf = |values: Vec<Value>| Leaf { label: label.to_owned(), at: at.clone(), values, fixed: fixed.clone() };
        match last {
            "match" => return out.push(leaf(vec![json!({ "flow": [4] }), json!({ "flow": [5, 1] })])),
            "accounting" => return out.push(leaf(vec![json!("38B"), json!({ "bytes": "9B", "cells": true })])),
            "discipline" => {
                return out.push(leaf(vec![
                    json!({ "kind": "blue" }),
                    json!({ "kind": "drop-tail", "packets": 2 }),
                    Value::Null,
                ]));
            }
            _ => {}
        }
        let alternatives = self.alternatives(node);
        let scalars: Vec<Value> = alternatives.iter().flat_map(|node| values(node)).collect();
        if !scalars.is_empty() {
            out.push(leaf(scalars));
        }
        for node in &alternatives {
            if let Some(items) = node.get("items") {
                match value {
                    None => self.visit(items, &format!("{label}[]"), at, None, out),
                    Some(value) => {
                        let list = value.as_array().cloned().unwrap_or_default();
                        let shorter = list.len().saturating_sub(1);
                        out.push(leaf(vec![json!(list[..shorter])]));
                        for (i, one) in list.iter().enumerate() {
                            self.visit(items, &format!("{label}[]"), &at.join(i), Some(one), out);
                        }
                    }
                }
            }
            let patterns = node.get("patternProperties").and_then(Value::as_object).and_then(|all| all.values().next());
            if let Some(any) = patterns.or(node.get("additionalProperties")).filter(|any| any.is_object()) {
                match value {
                    None => self.visit(any, &format!("{label}.*"), at, None, out),
                    Some(value) => {
                        for (key, one) in value.as_object().into_iter().flatten() {
                            self.visit(any, &format!("{label}.*"), &at.join(key.as_str()), Some(one), out);
                        }
                    }
                }
            }
            if let Some(properties) = node.get("properties").and_then(Value::as_object) {
                self.table(properties, label, at, value, out);
            }
        }
    }

    /// Adds the parameters of a table to `out`, unless `value` is a table of another kind.
    fn table(
        &self,
        properties: &Map<String, Value>,
        label: &str,
        at: &Path,
        value: Option<&Value>,
        out: &mut Vec<Leaf>,
    ) {
        let kind = properties.get("kind").and_then(|kind| kind.get("const"));
        if value.is_some_and(|value| !value.is_object() || value.get("kind") != kind) {
            return;
        }
        let label = match kind.and_then(Value::as_str) {
            Some(kind) if !label.is_empty() => format!("{label}({kind})."),
            Some(kind) => format!("{kind} "),
            None => format!("{label}."),
        };
        for (key, property) in properties.iter().filter(|(key, _)| *key != "kind") {
            let inner = value.map(|value| value.get(key).unwrap_or(&Value::Null));
            self.visit(property, &format!("{label}{key}"), &at.join(key.as_str()), inner, out);
        }
    }
}

/// Returns the values to try for a scalar; none if the node is not a scalar.
fn values(node: &Value) -> Vec<Value> {
    let words = node.get("enum").and_then(Value::as_array).into_iter().flatten().chain(node.get("const"));
    let mut all: Vec<Value> = words.cloned().collect();
    let types = node.get("type").map(|t| t.as_array().cloned().unwrap_or_else(|| vec![t.clone()])).unwrap_or_default();
    let format = node.get("format").and_then(Value::as_str).unwrap_or("");
    for kind in types.iter().filter_map(Value::as_str) {
        let more = match (kind, format) {
            ("null", _) => json!([null]),
            ("boolean", _) => json!([true, false]),
            ("integer", _) => json!([1, 2, 3, 7, 11, 2000]),
            ("number", _) => json!([0.5, 0.05, 0.9, 1.5, 5.0, 30.0, 0.005]),
            ("string", "duration") => json!(["7ms", "2ms", "900us", "0s"]),
            ("string", "size") => json!(["700B", "2500B", "100B", "5kB"]),
            ("string", "size or packets") => json!(["3packets", "6packets", "2kB", "10packets", "16packets"]),
            ("string", "rate") => json!(["1Mbit/s", "2500kbit/s", "7Mbit/s"]),
            ("string", "") if all.is_empty() => json!(["other", "voice", "middle", "data"]),
            _ => continue,
        };
        all.extend(more.as_array().unwrap().clone());
    }
    all
}

/// Returns the document with `value` at the place `at`; null removes the key. `None`: the document has no table or list
/// that could hold the value.
pub fn replaced(document: &Value, at: &Path, value: &Value) -> Option<Value> {
    let (mut all, (last, init)) = (document.clone(), at.0.split_last()?);
    let mut node = &mut all;
    for step in init {
        node = match step {
            Step::Key(key) => node.get_mut(key)?,
            Step::Index(i) => node.get_mut(i)?,
        };
    }
    match (last, value) {
        (Step::Key(key), Value::Null) => _ = node.as_object_mut()?.remove(key),
        (Step::Key(key), value) => _ = node.as_object_mut()?.insert(key.clone(), value.clone()),
        (Step::Index(i), value) => *node.get_mut(i)? = value.clone(),
    }
    Some(all)
}

/// Results of [`try_all`].
pub struct Found {
    /// Labels of all parameters.
    pub all: BTreeSet<String>,
    /// Labels of the parameters that the schema marks as fixed, with the reason.
    fixed: BTreeSet<(String, String)>,
    /// Labels of the parameters of which a change was accepted.
    accepted: BTreeSet<String>,
    /// Labels of the parameters of which a change was refused, with the reason.
    refused: BTreeSet<(String, String)>,
    /// Labels of the parameters of which a change had an effect on packets.
    effective: BTreeSet<String>,
    /// Descriptions of the changes after which a run differed from one that was built with the new parameters.
    unequal: Vec<String>,
}

/// Runs a discipline with the first parameters, changed to the second, if any, at the start. Returns all that a caller
/// can observe, and the part of it that shows an effect on packets.
pub type Run<'a, S, E> = dyn Fn(&S, Option<&S>) -> (Vec<E>, Vec<E>) + 'a;

/// Tries other values of each parameter of each document. For each value that `check` accepts, a run that begins with a
/// change to the value must equal one that is built with it.
pub fn try_all<S: PartialEq, E: Debug + PartialEq>(
    schema: &Schema,
    bases: &[Value],
    valid: &dyn Fn(&Value) -> Option<S>,
    check: &dyn Fn(&S, &S) -> Result<(), Invalid>,
    run: &Run<'_, S, E>,
) -> Found {
    let mut all = Vec::new();
    schema.visit(&schema.0, "", &Path::root(), None, &mut all);
    let fixed = all.iter().filter_map(|leaf| Some((leaf.label.clone(), leaf.fixed.clone()?)));
    let mut found = Found {
        fixed: fixed.collect(),
        all: all.into_iter().map(|leaf| leaf.label).collect(),
        accepted: BTreeSet::new(),
        refused: BTreeSet::new(),
        effective: BTreeSet::new(),
        unequal: Vec::new(),
    };
    for document in bases {
        let from = valid(document).unwrap_or_else(|| panic!("{document}"));
        let (_, unchanged) = run(&from, None);
        let mut leaves = Vec::new();
        schema.visit(&schema.0, "", &Path::root(), Some(document), &mut leaves);
        for Leaf { label, at, values, fixed: _ } in leaves {
            for value in values {
                let changed = replaced(document, &at, &value).expect("a place");
                let Some(to) = valid(&changed).filter(|to| *to != from) else { continue };
                let context = format!("{label} of {document}: {value}");
                if let Err(e) = check(&from, &to) {
                    assert!(e.path.starts_with(&at.to_string()), "{context}: {e}");
                    let (_, why) = e.message.split_once("during a run: ").expect("a reason");
                    found.refused.insert((label.clone(), why.to_owned()));
                    continue;
                }
                found.accepted.insert(label.clone());
                let ((built, effect), (retuned, _)) = (run(&to, None), run(&from, Some(&to)));
                if let Some(i) = retuned.iter().zip(&built).position(|(a, b)| a != b) {
                    found.unequal.push(format!("{context}\n{:?}\n{:?}", retuned[i], built[i]));
                } else if retuned.len() != built.len() {
                    found.unequal.push(format!("{context}: the end"));
                }
                if effect != unchanged {
                    found.effective.insert(label.clone());
                }
            }
        }
    }
    found
}

impl Found {
    /// Fails if a run differed, or if a list is not exact: `alone` has the parameters that were never changed,
    /// `refused` those of which a change was refused, with the reason, and `without_effect` those of which no change
    /// had an effect.
    pub fn assert_as_listed(&self, alone: &[&str], refused: &[&str], without_effect: &[&str]) {
        assert!(self.unequal.is_empty(), "{} differ:\n{}", self.unequal.len(), self.unequal.join("\n"));
        let changed = self.accepted.iter().chain(self.refused.iter().map(|(label, _)| label));
        let changed: BTreeSet<String> = changed.cloned().collect();
        assert_listed(&self.all.difference(&changed).cloned().collect(), alone, "never changed");
        let reasons = self.refused.iter().map(|(label, why)| format!("{label}: {why}"));
        assert_listed(&reasons.collect(), refused, "refused");
        assert_listed(&self.accepted.difference(&self.effective).cloned().collect(), without_effect, "without effect");
    }

    /// Fails if the marks of the schema are not exact: a parameter of which a change was refused is marked as fixed with
    /// the reason of the refusal, or its key is in `conditional`, with the condition; a parameter of which a change was
    /// accepted is not marked, unless the new value was the default, written out.
    pub fn assert_marked(&self, conditional: &[(&str, &str)]) {
        let unmarked = self.refused.difference(&self.fixed).filter_map(|(label, _)| label.rsplit(['.', ' ']).next());
        let conditional: Vec<&str> = conditional.iter().map(|(key, _)| *key).collect();
        assert_listed(&unmarked.map(str::to_owned).collect(), &conditional, "refused, but not marked as fixed");
        let refused: BTreeSet<&String> = self.refused.iter().map(|(label, _)| label).collect();
        let changeable = |label: &String| {
            self.effective.contains(label) || self.accepted.contains(label) && !refused.contains(label)
        };
        let changeable: Vec<_> = self.fixed.iter().filter(|(label, _)| changeable(label)).collect();
        assert!(changeable.is_empty(), "marked as fixed, but a change was accepted: {changeable:#?}");
    }
}

/// Fails unless `found` and `listed` are equal.
#[track_caller]
fn assert_listed(found: &BTreeSet<String>, listed: &[&str], context: &str) {
    let listed: BTreeSet<String> = listed.iter().map(|label| (*label).to_owned()).collect();
    let (new, stale): (Vec<&String>, Vec<&String>) =
        (found.difference(&listed).collect(), listed.difference(found).collect());
    assert!(new.is_empty() && stale.is_empty(), "{context}: not in the list {new:#?}\nonly in the list {stale:#?}");
}
