//! Every kind, every word and every parameter of the schema occurs in a fixed scenario, parameters with a value other
//! than their default.

use super::{FILES, scenarios};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tailback_scenario::schema;

/// Parameters and words without a fixed scenario, since their effect is not part of a run's results or is checked by
/// another test.
const ELSEWHERE: [&str; 38] = [
    "accept = \"coarse-sample\"",
    "accept = \"doubtful-interval\"",
    "accept = \"no-effect\"",
    "accept = \"no-marks\"",
    "accept = \"overload\"",
    "accept = \"reordering\"",
    "accept = \"short-measurement\"",
    "accept = \"unreachable\"",
    "accept = \"wide-interval\"",
    "discipline { kind = \"user\" }",
    "discipline { kind = \"user-scheduler\" }",
    "discipline { kind = \"user-scheduler\" }: default",
    "discipline { kind = \"user-scheduler\" }: queues",
    "discipline { kind = \"user-scheduler\" }: scheduler",
    "document: description",
    "document: title",
    "engine = \"plain\"",
    "metric = \"delay\"",
    "metric = \"loss\"",
    "metric = \"throughput\"",
    "precision: absolute",
    "precision: max-replications",
    "precision: metric",
    "precision: relative",
    "run: accept",
    "run: confidence",
    "run: engine",
    "run: precision",
    "run: replications",
    "run: seed",
    "run: tunable",
    "scheduler: class",
    "scheduler: file",
    "scheduler: parameters",
    "tunable: key",
    "tunable: max",
    "tunable: min",
    "warmup = \"auto\"",
];

/// Kinds, words and parameters of documents, each with a description.
type Found = BTreeMap<String, String>;

/// Returns the alternatives at a node of the schema: references resolved, `anyOf` and `oneOf` expanded.
pub(super) fn alternatives(node: &'static Value) -> Vec<&'static Value> {
    if let Some(name) = node.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")) {
        return alternatives(&schema()["$defs"][name]);
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(list) = node.get(choice).and_then(Value::as_array) {
            return list.iter().flat_map(alternatives).collect();
        }
    }
    vec![node]
}

/// Returns the words among alternatives.
fn words(alternatives: &[&'static Value]) -> Vec<&'static str> {
    let listed = |node: &'static Value| {
        let all = node.get("enum").and_then(Value::as_array).into_iter().flatten();
        all.chain(node.get("const")).filter_map(Value::as_str)
    };
    alternatives.iter().flat_map(|node| listed(node)).collect()
}

/// Returns the keys of a table without its kind: tables with the same keys are one type.
fn keys(table: &'static Value) -> Vec<&'static str> {
    let properties = table.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(key, _)| key.as_str()).filter(|key| *key != "kind").collect()
}

/// Adds the kinds, words and parameters at a node of the schema and below it: with a `value` of a document, those that
/// the value contains; without, all of them, and each node once (`done`).
fn visit(
    node: &'static Value,
    value: Option<&Value>,
    label: &str,
    done: &mut BTreeSet<*const Value>,
    found: &mut Found,
) {
    let alternatives = alternatives(node);
    let words = words(&alternatives);
    for word in &words {
        if value.is_none_or(|value| value == word) {
            found.insert(format!("word {word} of {words:?}"), format!("{label} = {word:?}"));
        }
    }
    for node in alternatives {
        if value.is_none() && !done.insert(node) {
            continue;
        }
        if let Some(items) = node.get("items") {
            match value {
                Some(Value::Array(list)) => list.iter().for_each(|v| visit(items, Some(v), label, done, found)),
                Some(_) => {}
                None => visit(items, None, label, done, found),
            }
        }
        if let Some(any) = node.get("additionalProperties").filter(|any| any.is_object()) {
            match value {
                Some(Value::Object(table)) => table.values().for_each(|v| visit(any, Some(v), label, done, found)),
                Some(_) => {}
                None => visit(any, None, label, done, found),
            }
        }
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            table(node, properties, value, label, done, found);
        }
    }
}

/// Adds the kind and the parameters of a table and of the values in it, as [`visit`]; a `value` of another kind adds
/// nothing.
fn table(
    node: &'static Value,
    properties: &'static serde_json::Map<String, Value>,
    value: Option<&Value>,
    label: &str,
    done: &mut BTreeSet<*const Value>,
    found: &mut Found,
) {
    let kind = properties.get("kind").and_then(|kind| kind.get("const")).and_then(Value::as_str);
    if value.is_some_and(|value| !value.is_object() || value.get("kind").and_then(Value::as_str) != kind) {
        return;
    }
    let type_of = keys(node).join(" ");
    let label = kind.map_or_else(|| label.to_owned(), |kind| format!("{label} {{ kind = {kind:?} }}"));
    if let Some(kind) = kind {
        found.insert(format!("kind {kind} {type_of}"), label.clone());
    }
    for (key, property) in properties.iter().filter(|(key, _)| *key != "kind") {
        let inner = value.map(|value| value.get(key));
        let written = match inner {
            None => true,
            Some(inner) => inner.is_some_and(|inner| Some(inner) != property.get("default") && !inner.is_null()),
        };
        if written {
            found.insert(format!("key {key} of {type_of}"), format!("{label}: {key}"));
        }
        match inner {
            None => visit(property, None, key, done, found),
            Some(Some(inner)) => visit(property, Some(inner), key, done, found),
            Some(None) => {}
        }
    }
}

#[test]
fn a_parameter_at_its_default_does_not_count() {
    let text = "tailback = 1\nrun = { duration = \"1s\" }\nnetwork = { discipline = { kind = \"red\", ecn = true } }\n\
                hosts = { a = {}, b = {} }\nlinks = [{ between = [\"a\", \"b\"], rate = \"1Mbit/s\" }]\n\
                flows = [{ name = \"f\", from = \"a\", to = \"b\", source = { kind = \"bulk\", size = \"1kB\" } }]\n";
    let scenario = tailback_scenario::Scenario::from_toml(text, "red.toml").unwrap_or_else(|e| panic!("{e}"));
    let document: Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let mut shown = Found::new();
    visit(schema(), Some(&document), "document", &mut BTreeSet::new(), &mut shown);
    let keys = |table: &str| shown.values().filter(|label| label.starts_with(table)).cloned().collect::<Vec<_>>();
    assert_eq!(keys("discipline"), ["discipline { kind = \"red\" }: ecn", "discipline { kind = \"red\" }"]);
    assert_eq!(keys("network"), ["network: discipline"]);
}

#[test]
fn every_kind_word_and_parameter_of_the_schema_is_in_a_fixed_scenario() {
    let (mut wanted, mut shown) = (Found::new(), Found::new());
    visit(schema(), None, "document", &mut BTreeSet::new(), &mut wanted);
    for golden in FILES.iter().flat_map(|file| scenarios(file)) {
        let document: Value = serde_json::from_str(&golden.scenario.to_json()).expect("JSON");
        visit(schema(), Some(&document), "document", &mut BTreeSet::new(), &mut shown);
    }
    assert!(wanted.len() > 500, "{}", wanted.len());
    let elsewhere: BTreeSet<&str> = ELSEWHERE.into_iter().collect();
    let missing = wanted.iter().filter(|(what, _)| !shown.contains_key(*what)).map(|(_, label)| label.as_str());
    let missing: BTreeSet<&str> = missing.collect();
    let (new, stale) = (missing.difference(&elsewhere), elsewhere.difference(&missing));
    let (new, stale): (Vec<&&str>, Vec<&&str>) = (new.collect(), stale.collect());
    assert!(
        new.is_empty(),
        "no fixed scenario has these; add one with each of them, away from its default, to a file in tests/golden, then \
         run TAILBACK_GOLDEN=accept cargo test -p tailback-scenario --test all golden\n{new:#?}"
    );
    assert!(stale.is_empty(), "these have a scenario now, and are no exception: {stale:#?}");
}
