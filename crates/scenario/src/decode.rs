//! From a tree to a document, going on after an error as long as that makes sense.

use crate::complaint::Complaint;
use crate::document::Document;
use crate::origin::{lookup, lookup_mut};
use crate::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use tailback_document::{DecodeError, Path, Problem, Step, decode};

/// More complaints at once help nobody.
const MOST: usize = 20;

/// Decodes the tree; all errors that can be told apart, not only the first.
///
/// serde stops at its first error. So what it refused is taken out, what it misses is put in from
/// the schema's examples, and it is asked again: what it says then is wrong on its own account.
pub(crate) fn document(tree: &Value) -> Result<Document, Vec<Complaint>> {
    let mut patched = tree.clone();
    let mut complaints = Vec::new();
    let mut taken_out = BTreeSet::new();
    loop {
        match decode::<Document>(patched.clone()) {
            Ok(document) if complaints.is_empty() => return Ok(document),
            Ok(_) => return Err(complaints),
            Err(e) => {
                let patchable = match &e.problem {
                    Problem::MissingKey(key) => {
                        let path = e.path.join(key.as_str());
                        let example = schema::at(&patched, &path).and_then(schema::example);
                        if !taken_out.contains(&path) {
                            complaints.push(explained(e, tree));
                        }
                        example.is_some_and(|example| add(&mut patched, &path, example))
                    }
                    Problem::UnknownKey | Problem::Value => {
                        let path = nearest_key(&e.path);
                        let meant = e.help.as_deref().filter(|_| e.problem == Problem::UnknownKey).and_then(meant);
                        complaints.push(explained(e, tree));
                        let removed = path.as_ref().and_then(|path| remove(&mut patched, path));
                        let patched_up = removed.is_some();
                        // A misspelt key is read on under the name that was meant.
                        if let (Some(meant), Some(value), Some(path)) = (meant, removed, &path) {
                            let right = path.parent().unwrap_or_default().join(meant);
                            if lookup(&patched, &right).is_none() {
                                add(&mut patched, &right, value);
                            }
                        }
                        taken_out.extend(path);
                        patched_up
                    }
                };
                if !patchable || complaints.len() >= MOST {
                    return Err(complaints);
                }
            }
        }
    }
}

/// The error with advice from the schema or from habit.
fn explained(e: DecodeError, tree: &Value) -> Complaint {
    // The place in the document as written, which `e.path` is unless a key above it was misspelt.
    let help = match (&e.problem, lookup(tree, &e.path)) {
        _ if e.help.is_some() => None,
        (Problem::MissingKey(key), _) if key == "tailback" => {
            Some("add `tailback = 1` at the top: the version of the document's format".to_owned())
        }
        (Problem::MissingKey(key), _) => schema::how_to_add(tree, &e.path, key),
        (Problem::Value, Some(Value::Object(_))) if e.path.0.len() == 1 && e.message.starts_with("expected a list") => {
            Some(format!("each of the {0} has a table of its own: write [[{0}]]", e.path))
        }
        (Problem::Value, Some(Value::Array(_))) if e.path.0.len() == 1 && e.message.starts_with("expected a table") => {
            Some(format!("there is one such table: write [{}]", e.path))
        }
        (Problem::Value, Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)))
            if e.message.starts_with("expected") =>
        {
            let example = schema::at(tree, &e.path).and_then(schema::example);
            example.map(|example| match e.path.0.last() {
                Some(Step::Key(key)) => format!("write it such as `{key} = {}`", crate::toml_out::value(&example)),
                _ => format!("write it such as {}", crate::toml_out::value(&example)),
            })
        }
        _ => None,
    };
    let complaint = Complaint::from(e);
    Complaint { help: complaint.help.or(help), ..complaint }
}

fn nearest_key(path: &Path) -> Option<Path> {
    let keys = path.0.iter().rposition(|step| matches!(step, Step::Key(_)))?;
    Some(Path(path.0[..=keys].to_vec()))
}

/// The key in "did you mean `key`?".
fn meant(help: &str) -> Option<String> {
    help.strip_prefix("did you mean `")?.strip_suffix("`?").map(str::to_owned)
}

fn remove(tree: &mut Value, path: &Path) -> Option<Value> {
    let (Some(parent), Some(Step::Key(key))) = (path.parent(), path.0.last()) else { return None };
    lookup_mut(tree, &parent)?.as_object_mut()?.remove(key)
}

fn add(tree: &mut Value, path: &Path, value: Value) -> bool {
    let (Some(parent), Some(Step::Key(key))) = (path.parent(), path.0.last()) else { return false };
    lookup_mut(tree, &parent)
        .and_then(Value::as_object_mut)
        .is_some_and(|table| table.insert(key.clone(), value).is_none())
}
