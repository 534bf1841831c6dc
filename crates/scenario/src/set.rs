//! Changes given as `path=value`: `links[0].rate=10Mbit/s`, `flows[*].source.burst=6kB`.

use crate::origin::lookup;
use serde_json::{Map, Value};
use tailback_document::{Path, Step, listed, suggest};

/// Upper bound on the number of steps of a path. Documents have about ten levels. A bound is needed because functions
/// that process the tree recurse once per level; the parsers of TOML and JSON stop at about a hundred levels.
const MAX_DEPTH: usize = 64;

/// A value, and the paths to which it is assigned.
pub(crate) struct Assignment {
    /// All paths that match; several are possible with `*`.
    pub paths: Vec<Path>,
    pub value: Value,
}

/// Finds the paths that `path` matches in `tree`, and parses `value` as TOML or, if it is not TOML, as plain text.
///
/// A step is a key (`run.seed`), an index from 0 (`links[0]`), the name of a list's entry (`flows[data]`), or `*` for
/// all (`flows[*]`, `switches.*`).
pub(crate) fn assignment(tree: &Value, path: &str, value: &str) -> Result<Assignment, String> {
    Ok(Assignment { paths: places(tree, path)?, value: value_of(value.trim()) })
}

/// Finds the paths that `path` matches in `tree`, as [`assignment`]; the error is a message.
pub(crate) fn places(tree: &Value, path: &str) -> Result<Vec<Path>, String> {
    let pattern = Path::parse(path.trim()).filter(|pattern| !pattern.0.is_empty()).ok_or_else(|| {
        format!("`{path}` is not a path; write one such as run.duration, links[0].rate or flows[data].source.burst")
    })?;
    if pattern.0.len() > MAX_DEPTH {
        return Err(format!(
            "this path has {} steps, above the limit of {MAX_DEPTH}; write a path such as run.duration",
            pattern.0.len()
        ));
    }
    let mut paths = Vec::new();
    resolve(Some(tree), &pattern.0, &Path::root(), &mut paths)?;
    Ok(paths)
}

/// Sets `value` at `path`. Missing tables on the path are created with the kind that `with_defaults`, the document with
/// its defaults, has there.
pub(crate) fn put(tree: &mut Value, with_defaults: &Value, path: &Path, value: Value) {
    let mut at = tree;
    let mut default = Some(with_defaults);
    for step in &path.0 {
        if at.is_null() {
            let kind = default.and_then(|table| table.get("kind")).map(|kind| ("kind".to_owned(), kind.clone()));
            *at = Value::Object(Map::from_iter(kind));
        }
        default = default.and_then(|table| match step {
            Step::Key(key) => table.get(key),
            Step::Index(i) => table.get(i),
        });
        at = match (step, at) {
            (Step::Key(key), Value::Object(map)) => map.entry(key.clone()).or_insert(Value::Null),
            (Step::Index(i), Value::Array(list)) if *i < list.len() => &mut list[*i],
            // `resolve` has matched the path to the tree.
            _ => return,
        };
    }
    *at = value;
}

/// Adds to `found` the paths that `steps` match in `tree`, the value at `here`; `None`: there is no value, so that any
/// further keys match.
fn resolve(tree: Option<&Value>, steps: &[Step], here: &Path, found: &mut Vec<Path>) -> Result<(), String> {
    let Some((step, remaining)) = steps.split_first() else {
        found.push(here.clone());
        return Ok(());
    };
    let mut descend = |step: Step| {
        let next = here.join(step);
        let value = tree.and_then(|value| lookup(value, &Path(next.0[here.0.len()..].to_vec())));
        resolve(value, remaining, &next, found)
    };
    let shown = || if here.0.is_empty() { "the scenario".to_owned() } else { format!("`{here}`") };
    match (tree, step) {
        (Some(Value::Object(map)), Step::Key(all)) if all == "*" => {
            if map.is_empty() {
                return Err(format!("{} is empty, so `*` matches nothing", shown()));
            }
            map.keys().try_for_each(|key| descend(Step::Key(key.clone())))
        }
        (Some(Value::Array(list)), Step::Key(all)) if all == "*" => {
            if list.is_empty() {
                return Err(format!("{} is empty, so `*` matches nothing", shown()));
            }
            (0..list.len()).try_for_each(|i| descend(Step::Index(i)))
        }
        (Some(Value::Array(list)), Step::Index(i)) => match list.len() {
            n if *i < n => descend(step.clone()),
            0 => Err(format!("{} is empty", shown())),
            n => Err(format!("{} has {n} entries, [0] to [{}]; [{i}] is not one of them", shown(), n - 1)),
        },
        (Some(Value::Array(list)), Step::Key(name)) => {
            let names = || list.iter().filter_map(|entry| entry.get("name")?.as_str());
            match list.iter().position(|entry| entry.get("name").and_then(Value::as_str) == Some(name)) {
                Some(i) => descend(Step::Index(i)),
                None if names().next().is_none() => {
                    Err(format!("the entries of {} have no names; write an index such as [0]", shown()))
                }
                None => Err(match suggest(name, names()) {
                    Some(near) => format!("no entry of {} is named `{name}`; did you mean `{near}`?", shown()),
                    None => format!("no entry of {} is named `{name}`; there are {}", shown(), listed(names())),
                }),
            }
        }
        (Some(Value::Object(_)), Step::Key(_)) => descend(step.clone()),
        (None | Some(Value::Null), Step::Key(key)) if key != "*" => descend(step.clone()),
        (None | Some(Value::Null), _) => Err(format!("there is no {}", shown())),
        (Some(Value::Object(_)), Step::Index(i)) => {
            Err(format!("{} is a table and has no entry [{i}]; write the name of a key, such as .key", shown()))
        }
        (Some(scalar), _) => Err(format!("{} is {scalar}, which is not a table; set it as a whole", shown())),
    }
}

/// Parses a value as TOML or, if it is not TOML, as plain text.
pub(crate) fn value_of(text: &str) -> Value {
    // A scenario has no dates and no infinities: such a value is returned as plain text, which the key's parser refuses.
    fn tree(value: &toml_edit::Value) -> Option<Value> {
        Some(match value {
            toml_edit::Value::String(s) => Value::String(s.value().clone()),
            toml_edit::Value::Integer(n) => Value::from(*n.value()),
            toml_edit::Value::Float(x) if x.value().is_finite() => Value::from(*x.value()),
            toml_edit::Value::Boolean(b) => Value::Bool(*b.value()),
            toml_edit::Value::Array(list) => Value::Array(list.iter().map(tree).collect::<Option<_>>()?),
            toml_edit::Value::InlineTable(table) => Value::Object(
                table.iter().map(|(key, value)| Some((key.to_owned(), tree(value)?))).collect::<Option<_>>()?,
            ),
            toml_edit::Value::Float(_) | toml_edit::Value::Datetime(_) => return None,
        })
    }
    text.parse::<toml_edit::Value>().ok().as_ref().and_then(tree).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the paths that a path matches in a small document.
    fn paths(path: &str) -> Result<Vec<String>, String> {
        let tree = json!({ "run": { "seed": 1 }, "links": [{ "rate": 1 }, { "rate": 2 }], "flows": [{ "name": "a" }, { "name": "b" }], "switches": { "s1": {}, "s2": {} } });
        assignment(&tree, path, "1").map(|found| found.paths.iter().map(Path::to_string).collect())
    }

    #[test]
    fn a_path_matches_one_value_or_with_a_star_all() {
        assert_eq!(paths("run.seed").unwrap(), ["run.seed"]);
        assert_eq!(paths("links[1].rate").unwrap(), ["links[1].rate"]);
        assert_eq!(paths("links[*].rate").unwrap(), ["links[0].rate", "links[1].rate"]);
        assert_eq!(paths("flows[b].source.burst").unwrap(), ["flows[1].source.burst"]);
        assert_eq!(paths("switches.*.buffer").unwrap(), ["switches.s1.buffer", "switches.s2.buffer"]);
        assert_eq!(paths("backpressure.detection.high").unwrap(), ["backpressure.detection.high"]);
    }

    #[test]
    fn an_unknown_path_lists_the_alternatives() {
        for (path, phrase) in [
            ("links[2].rate", "has 2 entries, [0] to [1]"),
            ("flows[c].class", "there are `a` and `b`"),
            ("links[x].rate", "write an index"),
            ("run.seed.x", "which is not a table"),
            ("run[0]", "such as .key"),
            ("nothing.*", "there is no `nothing`"),
            ("a..b", "is not a path"),
            ("", "is not a path"),
            // With one call per step this path would overflow the stack.
            (&"x.".repeat(50_000)[..99_999], "has 50000 steps"),
            (&"x.".repeat(65)[..129], "has 65 steps"),
        ] {
            let message = paths(path).unwrap_err();
            assert!(message.contains(phrase), "{path}: {message}");
        }
    }

    #[test]
    fn a_path_of_the_maximum_depth_is_set() {
        assert_eq!(paths(&"x.".repeat(MAX_DEPTH)[..2 * MAX_DEPTH - 1]).unwrap().len(), 1);
    }

    #[test]
    fn a_value_is_toml_or_else_plain_text() {
        for (text, value) in [
            ("10Mbit/s", json!("10Mbit/s")),
            ("\"10Mbit/s\"", json!("10Mbit/s")),
            ("5", json!(5)),
            ("0.5", json!(0.5)),
            ("true", json!(true)),
            ("plain", json!("plain")),
            ("{ kind = \"mac\", quanta = 9 }", json!({ "kind": "mac", "quanta": 9 })),
            ("[\"1kB\", \"2kB\"]", json!(["1kB", "2kB"])),
            ("nan", json!("nan")),
            ("2026-01-01", json!("2026-01-01")),
            ("", json!("")),
        ] {
            assert_eq!(value_of(text), value, "{text}");
        }
    }
}
