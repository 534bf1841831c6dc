//! Shrinking: search for a failing document that no longer fails without any one of its entries.

use serde_json::Value;

/// Maximum number of trials; each trial runs a network several times.
const MAX_TRIALS: usize = 600;

/// A step from a table or list to one of its entries.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns `document` without the keys and list entries that it does not need to make `fails` return `true`, as far as
/// [`MAX_TRIALS`] permits. `fails` must return `true` for `document`.
pub fn shrink(document: &Value, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let (mut smallest, mut trials) = (document.clone(), 0);
    loop {
        let mut places = Vec::new();
        collect(&smallest, &mut Vec::new(), &mut places);
        let mut shrunk = false;
        // From the last place to the first, so that the remaining places stay valid after a removal.
        for place in places.iter().rev() {
            trials += 1;
            if trials > MAX_TRIALS {
                return smallest;
            }
            let mut smaller = smallest.clone();
            if remove(&mut smaller, place) && fails(&smaller) {
                smallest = smaller;
                shrunk = true;
            }
        }
        if !shrunk {
            return smallest;
        }
    }
}

/// Collects the places of all keys and list entries under `value`, outer ones first; `at` is the place of `value`.
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

/// Removes the value at a place; returns `false` if there is no value.
fn remove(value: &mut Value, place: &[Step]) -> bool {
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
fn only_the_entries_that_a_failure_needs_remain() {
    let document = serde_json::json!({ "a": [1, 2, 3, { "b": 4, "c": [5, 6] }], "d": { "e": 7 }, "f": 8 });
    let smallest = shrink(&document, |value| value.to_string().contains('6'));
    assert_eq!(smallest, serde_json::json!({ "a": [{ "c": [6] }] }));
}
