//! Shrinking: search for a document from which no entry can be removed so that it still fails.

use serde_json::Value;

/// Maximum number of trials; each trial runs a network several times.
const MAX_TRIALS: usize = 600;

/// A step from a table or list to one of its entries.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns `document` without the entries and keys that are not needed for `fails`, as far as [`MAX_TRIALS`] permits.
pub fn shrink(document: &Value, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let (mut smallest, mut trials) = (document.clone(), 0);
    loop {
        let mut places = Vec::new();
        collect(&smallest, &mut Vec::new(), &mut places);
        let mut shrunk = false;
        // From the back, so that places before the removed ones remain valid.
        for place in places.iter().rev() {
            trials += 1;
            if trials > MAX_TRIALS {
                return smallest;
            }
            let mut smaller = smallest.clone();
            if without(&mut smaller, place) && fails(&smaller) {
                smallest = smaller;
                shrunk = true;
            }
        }
        if !shrunk {
            return smallest;
        }
    }
}

/// Collects the places of all entries and keys, outer ones first.
fn collect(value: &Value, at: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    let mut visit = |step: Step, inner: &Value| {
        at.push(step);
        places.push(at.clone());
        collect(inner, at, places);
        at.pop();
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| visit(Step::Key(key.clone()), inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(n, inner)| visit(Step::Index(n), inner)),
        _ => {}
    }
}

/// Removes the value at a place; `false` if it no longer exists.
fn without(value: &mut Value, place: &[Step]) -> bool {
    let Some((last, before)) = place.split_last() else { return false };
    let mut at = value;
    for step in before {
        let inner = match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(n) => at.get_mut(*n),
        };
        let Some(inner) = inner else { return false };
        at = inner;
    }
    match (last, at) {
        (Step::Key(key), Value::Object(map)) => map.remove(key).is_some(),
        (Step::Index(n), Value::Array(list)) if *n < list.len() => {
            list.remove(*n);
            true
        }
        _ => false,
    }
}

#[test]
fn irrelevant_entries_are_removed() {
    let document = serde_json::json!({ "a": [1, 2, 3, { "b": 4, "c": [5, 6] }], "d": { "e": 7 }, "f": 8 });
    let smallest = shrink(&document, |value| value.to_string().contains('6'));
    assert_eq!(smallest, serde_json::json!({ "a": [{ "c": [6] }] }));
}
