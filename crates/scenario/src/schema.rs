//! The JSON Schema of the document, and functions that look up the schema of a path.

use crate::document::Document;
use crate::origin::lookup;
use crate::toml_out;
use serde_json::{Map, Value, json};
use std::sync::OnceLock;
use tailback_document::{Path, Step};

/// Returns the schema of a scenario document (JSON Schema 2020-12), generated from the types and their doc comments.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Document);
        schema.insert("title".to_owned(), "Tailback scenario".into());
        schema.to_value()
    })
}

/// Returns the alternatives at a node of the schema `root`: references resolved, `anyOf` and `oneOf` expanded.
pub(crate) fn alternatives<'a>(root: &'a Value, node: &'a Value) -> Vec<&'a Value> {
    if let Some(name) = node.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")) {
        return root["$defs"].get(name).map_or_else(Vec::new, |node| alternatives(root, node));
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(list) = node.get(choice).and_then(Value::as_array) {
            return list.iter().flat_map(|node| alternatives(root, node)).collect();
        }
    }
    vec![node]
}

/// Returns the schema's node for the value at `path` in `tree`; `None`: no value is allowed there.
pub(crate) fn at(root: &'static Value, tree: &Value, path: &Path) -> Option<&'static Value> {
    let mut node = root;
    for (depth, step) in path.0.iter().enumerate() {
        let here = lookup(tree, &Path(path.0[..depth].to_vec()));
        node = child(root, node, here, step)?;
    }
    Some(node)
}

/// Returns the schema of a step below `node`; `None`: no value is allowed there. `here` is the value at the node, whose
/// kind selects one of several tables.
fn child(root: &'static Value, node: &'static Value, here: Option<&Value>, step: &Step) -> Option<&'static Value> {
    let alternatives = alternatives(root, node);
    match step {
        Step::Index(_) => alternatives.iter().find_map(|node| node.get("items")),
        Step::Key(key) => {
            let kind = here.and_then(|here| here.get("kind"));
            let fits = |node: &&Value| kind.is_none() || node["properties"]["kind"].get("const") == kind;
            let property = |node: &&'static Value| node.get("properties")?.get(key);
            let any = |node: &&'static Value| node.get("additionalProperties").filter(|any| any.is_object());
            let fitting = || alternatives.iter().copied().filter(|node| fits(node));
            fitting().find_map(|node| property(&node)).or_else(|| alternatives.iter().find_map(any))
        }
    }
}

/// Returns an example value that the schema accepts, for messages and for decoding after an error; `None`: the schema
/// does not give one.
pub(crate) fn example(root: &Value, node: &Value) -> Option<Value> {
    for node in core::iter::once(node).chain(alternatives(root, node)) {
        let first = |list: &str| node.get(list).and_then(|list| list.get(0)).cloned();
        if let Some(value) = first("examples").or_else(|| node.get("const").cloned()).or_else(|| first("enum")) {
            return Some(value);
        }
        let first_type = node.get("type").and_then(|t| t.as_str().or_else(|| t.get(0)?.as_str()));
        let value = match first_type {
            Some("object") => {
                let required = node.get("required").and_then(Value::as_array);
                let keys = required.into_iter().flatten().filter_map(Value::as_str);
                let entry = |key: &str| Some((key.to_owned(), example(root, node.get("properties")?.get(key)?)?));
                keys.map(entry).collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            Some("array") => Some(json!([])),
            Some("boolean") => Some(json!(true)),
            Some("integer") => Some(node.get("minimum").filter(|n| n.as_i64() != Some(0)).cloned().unwrap_or(json!(1))),
            Some("number") => Some(json!(1.0)),
            Some("string") => Some(json!("name")),
            _ => None,
        };
        if value.is_some() {
            return value;
        }
    }
    None
}

/// Returns advice on adding `key`, which is missing in the table at `path`; `None`: the schema gives no example.
pub(crate) fn how_to_add(root: &'static Value, tree: &Value, path: &Path, key: &str) -> Option<String> {
    let node = at(root, tree, &path.join(key))?;
    let example = example(root, node)?;
    if path.0.is_empty()
        && let Value::Object(table) = &example
    {
        let lines: Vec<String> =
            table.iter().map(|(key, value)| format!("{key} = {}", toml_out::value(value))).collect();
        return Some(format!("add a section [{key}] with {}", lines.join(", ")));
    }
    let about = node.get("description").and_then(Value::as_str).map(|text| format!(": {}", first_sentence(text)));
    Some(format!("add `{key} = {}`{}", toml_out::value(&example), about.unwrap_or_default()))
}

/// Returns a description up to its first full stop, without it, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.find(". ").map_or(text.trim_end_matches('.'), |end| &text[..end]).to_owned()
}
