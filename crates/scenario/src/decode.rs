//! Decoding of a tree into a document, with recovery after errors.

use crate::complaint::{Complaint, On};
use crate::origin::{lookup, lookup_mut};
use crate::{schema, toml_out};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use tailback_document::{DecodeError, Path, Problem, Step, decode};

/// Upper bound on the number of errors returned; decoding stops once it is reached.
const MAX_ERRORS: usize = 20;

/// Decodes the tree and collects all independent errors, not only the first.
///
/// serde stops at its first error. A refused value is therefore removed, a missing one is added from the schema's
/// examples, and decoding is repeated: the next error is then independent of the first. `schema` returns the schema of
/// `T`; it is expensive to build, and not needed for a document without errors.
pub(crate) fn document<T: DeserializeOwned + Serialize>(
    schema: fn() -> &'static Value,
    tree: &Value,
) -> Result<T, Vec<Complaint>> {
    match without_errors(tree) {
        Some(document) => Ok(document),
        None => with_recovery(schema(), tree),
    }
}

/// Returns the document if it has no errors; `None`: it has errors, or the schema is needed to find them.
fn without_errors<T: DeserializeOwned + Serialize>(tree: &Value) -> Option<T> {
    let document = decode(tree.clone()).ok()?;
    let read = serde_json::to_value(&document).ok()?;
    keeps_lists(tree, &read).then_some(document)
}

/// `true` if each list of the tree is also a list in the document `read` from it: serde also accepts a list for a
/// struct, field by field.
fn keeps_lists(tree: &Value, read: &Value) -> bool {
    match tree {
        Value::Array(list) => {
            let stays = |(i, value)| keeps_lists(value, read.get(i).unwrap_or(&Value::Null));
            read.is_array() && list.iter().enumerate().all(stays)
        }
        Value::Object(map) => map.iter().all(|(key, value)| keeps_lists(value, read.get(key).unwrap_or(&Value::Null))),
        _ => true,
    }
}

/// Decodes the tree again after each error, with the value of the error removed or replaced.
fn with_recovery<T: DeserializeOwned>(root: &'static Value, tree: &Value) -> Result<T, Vec<Complaint>> {
    let mut patched = tree.clone();
    let mut complaints = Vec::new();
    let mut removed_paths = BTreeSet::new();
    let mut renamed: Vec<(Path, Path)> = Vec::new();
    let mut inserted: Vec<Path> = Vec::new();
    for path in lists_for_tables(root, tree, &Path::root()) {
        let help = match path.0.as_slice() {
            [Step::Key(section)] => format!("this section is a single table: write [{section}]"),
            _ => "write a table in braces, such as { … }".to_owned(),
        };
        let message = "expected a table, found a list".to_owned();
        complaints.push(Complaint { path: path.clone(), on: On::Value, message, help: Some(help) });
        remove(&mut patched, &path);
        removed_paths.insert(path);
    }
    loop {
        match decode::<T>(patched.clone()) {
            Ok(document) if complaints.is_empty() => return Ok(document),
            Ok(_) => return Err(complaints),
            // An error in an inserted example is not the user's error.
            Err(e) if inserted.iter().any(|path| e.path.0.starts_with(&path.0)) => return Err(complaints),
            Err(e) => {
                let complaint = as_written(with_advice(root, &e, &patched), &renamed);
                let patchable = match &e.problem {
                    Problem::MissingKey(key) => {
                        let path = e.path.join(key.as_str());
                        let example = schema::at(root, &patched, &path).and_then(|node| schema::example(root, node));
                        if !removed_paths.contains(&path) {
                            complaints.push(complaint);
                        }
                        inserted.push(path.clone());
                        example.is_some_and(|example| add(&mut patched, &path, example))
                    }
                    // The other keys of a table with an unknown kind cannot be checked.
                    Problem::Value if is_unknown_kind(&e) => {
                        let table = e.path.parent().unwrap_or_default();
                        let example = schema::at(root, &patched, &table).and_then(|node| schema::example(root, node));
                        complaints.push(complaint);
                        removed_paths.insert(e.path.clone());
                        let place = lookup_mut(&mut patched, &table);
                        inserted.push(table);
                        example.zip(place).map(|(example, place)| *place = example).is_some()
                    }
                    Problem::UnknownKey | Problem::Value => {
                        let path = nearest_key(&e.path);
                        let suggestion =
                            e.help.as_deref().filter(|_| e.problem == Problem::UnknownKey).and_then(suggested);
                        complaints.push(complaint);
                        let removed = path.as_ref().and_then(|path| remove(&mut patched, path));
                        let is_removed = removed.is_some();
                        // The value of a misspelt key is decoded under the suggested name.
                        if let (Some(suggestion), Some(value), Some(path)) = (suggestion, removed, &path) {
                            let right = path.parent().unwrap_or_default().join(suggestion);
                            if lookup(&patched, &right).is_none() && add(&mut patched, &right, value) {
                                renamed.push((right, path.clone()));
                            }
                        }
                        removed_paths.extend(path);
                        is_removed
                    }
                };
                if !patchable || complaints.len() >= MAX_ERRORS {
                    return Err(complaints);
                }
            }
        }
    }
}

/// `true` if the error is an unknown `kind`.
fn is_unknown_kind(e: &DecodeError) -> bool {
    e.path.0.last() == Some(&Step::from("kind")) && e.message.starts_with("unknown kind")
}

/// Returns the paths of lists at which the schema requires tables: serde would decode their entries as the fields of a
/// struct.
fn lists_for_tables(root: &'static Value, value: &Value, path: &Path) -> Vec<Path> {
    let inner: Vec<(Path, &Value)> = match value {
        Value::Array(list) => {
            let is = |node: &Value, name: &str| node["type"].as_str() == Some(name);
            let nodes =
                schema::at(root, &Value::Null, path).map_or_else(Vec::new, |node| schema::alternatives(root, node));
            if nodes.iter().any(|node| is(node, "object")) && !nodes.iter().any(|node| is(node, "array")) {
                return vec![path.clone()];
            }
            list.iter().enumerate().map(|(i, value)| (path.join(i), value)).collect()
        }
        Value::Object(map) => map.iter().map(|(key, value)| (path.join(key.as_str()), value)).collect(),
        _ => return Vec::new(),
    };
    inner.iter().flat_map(|(path, value)| lists_for_tables(root, value, path)).collect()
}

/// Returns the complaint about `e` with advice: from the schema, or that for a frequent mistake.
fn with_advice(root: &'static Value, e: &DecodeError, tree: &Value) -> Complaint {
    let complaint = Complaint::from(e.clone());
    // TOML assigns keys after [run] to that section, until the next heading.
    if let Some(section) = misplaced(root, &e.path).filter(|_| e.problem == Problem::UnknownKey) {
        let help =
            format!("`{section}` is a section of its own: write [{section}], or put it before the first heading");
        return Complaint { help: Some(help), ..complaint };
    }
    if complaint.help.is_some() {
        return complaint;
    }
    let help = match (&e.problem, lookup(tree, &e.path)) {
        (Problem::MissingKey(key), _) if e.path.0.is_empty() && (key == "tailback" || key == "study") => {
            Some(format!("add `{key} = 1` at the top: the version of the document's format"))
        }
        (Problem::MissingKey(key), _) => schema::how_to_add(root, tree, &e.path, key),
        (Problem::Value, Some(Value::Object(_))) if e.path.0.len() == 1 && e.message.starts_with("expected a list") => {
            Some(format!("each entry of `{0}` is a table of its own: write [[{0}]]", e.path))
        }
        (Problem::Value, Some(_)) => {
            let example = schema::at(root, tree, &e.path).and_then(|node| schema::example(root, node));
            example.map(|example| match e.path.0.last() {
                Some(Step::Key(key)) => format!("write, for example, `{key} = {}`", toml_out::value(&example)),
                _ => format!("write, for example, {}", toml_out::value(&example)),
            })
        }
        _ => None,
    };
    Complaint { help, ..complaint }
}

/// Returns the key of a section that was nested in another section by mistake.
fn misplaced<'a>(root: &Value, path: &'a Path) -> Option<&'a str> {
    let [_, .., Step::Key(key)] = path.0.as_slice() else { return None };
    let section = root["properties"].get(key)?;
    let is = |name: &str| schema::alternatives(root, section).iter().any(|node| node["type"] == name);
    if is("object") || is("array") { Some(key) } else { None }
}

/// Returns the complaint with the keys as the user wrote them, in place of the suggested ones. `renamed` has pairs of a
/// suggested path and the path in the document.
fn as_written(mut complaint: Complaint, renamed: &[(Path, Path)]) -> Complaint {
    for (right, written) in renamed.iter().rev() {
        if let Some(tail) = complaint.path.0.strip_prefix(right.0.as_slice()) {
            complaint.path = written.join_path(&Path(tail.to_vec()));
        }
    }
    complaint
}

/// Returns the path up to its last key; `None`: it has no key.
fn nearest_key(path: &Path) -> Option<Path> {
    let keys = path.0.iter().rposition(|step| matches!(step, Step::Key(_)))?;
    Some(Path(path.0[..=keys].to_vec()))
}

/// Returns the key of "did you mean `key`?".
fn suggested(help: &str) -> Option<String> {
    help.strip_prefix("did you mean `")?.strip_suffix("`?").map(str::to_owned)
}

/// Removes and returns the value at `path`; `None`: there is none, or it is not in a table.
fn remove(tree: &mut Value, path: &Path) -> Option<Value> {
    let (Some(parent), Some(Step::Key(key))) = (path.parent(), path.0.last()) else { return None };
    lookup_mut(tree, &parent)?.as_object_mut()?.remove(key)
}

/// Adds a value at `path`; returns `false` if the path is not in a table, or had a value.
fn add(tree: &mut Value, path: &Path, value: Value) -> bool {
    let (Some(parent), Some(Step::Key(key))) = (path.parent(), path.0.last()) else { return false };
    lookup_mut(tree, &parent)
        .and_then(Value::as_object_mut)
        .is_some_and(|table| table.insert(key.clone(), value).is_none())
}
