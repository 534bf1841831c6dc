//! The JSON Schema of the document, and functions that look up the schema of a path.

use crate::document::Document;
use crate::origin::lookup;
use crate::toml_out;
use crate::tunable_keys::are_tunable;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use tailback_document::{Path, Step};

/// Returns the schema of a scenario document (JSON Schema 2020-12), generated from the types and their doc comments.
///
/// It has two keywords of its own, at properties. `x-tunable` is `true` if the property can change during a run. In a
/// table in which the other properties can, `x-fixed` gives the reason why this one cannot.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Document);
        schema.insert("title".to_owned(), "Tailback scenario".into());
        let mut schema = schema.to_value();
        let paths = Paths::of(&schema);
        for place in paths.found.iter().filter(|(_, found)| found.tunable && !found.fixed).map(|(place, _)| place) {
            if let Some(property) = schema.pointer_mut(place).and_then(Value::as_object_mut) {
                property.insert(TUNABLE.to_owned(), true.into());
            }
        }
        schema
    })
}

/// Keyword of properties that can change during a run.
pub(crate) const TUNABLE: &str = "x-tunable";
/// Keyword with the reason why a property cannot change during a run.
const FIXED: &str = "x-fixed";

/// Kinds of paths of documents that lead to a property of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds {
    /// `true` if the value at such a path can change during a run.
    tunable: bool,
    /// `true` if the value at such a path is fixed.
    fixed: bool,
}

/// Properties of a schema with the paths that lead to them.
struct Paths<'a> {
    root: &'a Value,
    /// Kinds of paths by the JSON pointer of the property.
    found: BTreeMap<String, Kinds>,
}

impl<'a> Paths<'a> {
    /// Returns all properties of a schema.
    fn of(root: &'a Value) -> Paths<'a> {
        let mut paths = Paths { root, found: BTreeMap::new() };
        paths.visit(root, "", &mut Vec::new(), false, &mut Vec::new());
        paths
    }

    /// Adds the properties below the node at the JSON pointer `place`, to which `keys` lead; a key that the user
    /// chooses is `*`. `fixed`: the path contains a property that is marked as fixed. `within` are the definitions that
    /// contain the node: their properties below themselves, such as those of a discipline in a class of a discipline,
    /// are not visited again.
    fn visit(&mut self, node: &'a Value, place: &str, keys: &mut Vec<&'a str>, fixed: bool, within: &mut Vec<&'a str>) {
        let referred = node.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        if let Some(name) = referred.filter(|name| !within.contains(name)) {
            within.push(name);
            self.visit(&self.root["$defs"][name], &format!("/$defs/{name}"), keys, fixed, within);
            within.pop();
        }
        for choice in ["oneOf", "anyOf"] {
            for (i, one) in node.get(choice).and_then(Value::as_array).into_iter().flatten().enumerate() {
                self.visit(one, &format!("{place}/{choice}/{i}"), keys, fixed, within);
            }
        }
        if let Some(items) = node.get("items") {
            self.visit(items, &format!("{place}/items"), keys, fixed, within);
        }
        let patterns = node.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let patterns = patterns.map(|(pattern, any)| (format!("patternProperties/{}", escaped(pattern)), any));
        let any = node.get("additionalProperties").map(|any| ("additionalProperties".to_owned(), any));
        for (last, any) in patterns.chain(any) {
            keys.push("*");
            self.visit(any, &format!("{place}/{last}"), keys, fixed, within);
            keys.pop();
        }
        for (key, property) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            keys.push(key);
            let place = format!("{place}/properties/{}", escaped(key));
            let fixed = fixed || property.get(FIXED).is_some();
            let kinds = self.found.entry(place.clone()).or_default();
            if !fixed && are_tunable(keys) {
                kinds.tunable = true;
            } else {
                kinds.fixed = true;
            }
            self.visit(property, &place, keys, fixed, within);
            keys.pop();
        }
    }
}

/// Returns a key as a step of a JSON pointer (RFC 6901, section 3).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_property_is_tunable_at_one_path_and_fixed_at_another() {
        let paths = Paths::of(schema());
        let mixed: Vec<&String> =
            paths.found.iter().filter(|(_, kinds)| kinds.tunable && kinds.fixed).map(|(place, _)| place).collect();
        assert!(mixed.is_empty(), "the mark of a property is one for all of its paths: {mixed:#?}");
    }
}
