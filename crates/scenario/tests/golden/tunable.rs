//! The marks of the schema for keys that can change during a run (`x-tunable`) or are fixed (`x-fixed`), against what a
//! run accepts, in the fixed scenarios, which have every key of the schema.

use super::complete::alternatives;
use super::{FILES, scenarios};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tailback_document::Path;
use tailback_scenario::{Scenario, build, schema};

/// A value in a document, with the property of the schema that describes it.
struct Place {
    path: Path,
    value: Value,
    property: &'static Value,
}

impl Place {
    /// Returns the identity of the property.
    fn id(&self) -> *const Value {
        self.property
    }
    fn is_tunable(&self) -> bool {
        self.property.get("x-tunable").is_some_and(|mark| mark == true)
    }
    fn is_fixed(&self) -> bool {
        self.property.get("x-fixed").is_some()
    }
}

/// Adds the values below a value of a document that a node of the schema describes.
fn visit(node: &'static Value, value: &Value, path: &Path, found: &mut Vec<Place>) {
    for node in alternatives(node) {
        if let (Some(items), Value::Array(list)) = (node.get("items"), value) {
            list.iter().enumerate().for_each(|(i, one)| visit(items, one, &path.join(i), found));
        }
        let Value::Object(table) = value else { continue };
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            let kind = properties.get("kind").and_then(|kind| kind.get("const"));
            if kind.is_some_and(|kind| table.get("kind") != Some(kind)) {
                continue;
            }
            for (key, property) in properties {
                if let Some(value) = table.get(key).filter(|value| !value.is_null()) {
                    let path = path.join(key.as_str());
                    visit(property, value, &path, found);
                    found.push(Place { path, value: value.clone(), property });
                }
            }
        } else if let Some(any) = node.get("additionalProperties").filter(|any| any.is_object()) {
            table.iter().for_each(|(key, one)| visit(any, one, &path.join(key.as_str()), found));
        }
    }
}

/// Returns the values in a scenario.
fn places(scenario: &Scenario) -> Vec<Place> {
    let document: Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let mut found = Vec::new();
    visit(schema(), &document, &Path::root(), &mut found);
    // The paths of keys that change are in a document without its timeline.
    found.retain(|place| !place.path.to_string().starts_with("timeline"));
    found
}

/// Disciplines inside others with keys that the fixed scenarios have only elsewhere.
const MORE: [&str; 2] = [
    r#"{ kind = "choke", red = { adaptive = { kind = "feng" }, independent = true, mark-limit = 0.5, ecn = true } }"#,
    r#"{ kind = "fair-queue-wred", fair-queue = { aggregate = "8packets", individual = "5packets" },
         wred = { nonconforming = { min = 3, max = 9 } } }"#,
];

/// Returns the fixed scenarios and some with other disciplines, by name.
fn all() -> Vec<(String, Scenario)> {
    let golden: Vec<_> = FILES.iter().flat_map(|file| scenarios(file)).map(|one| (one.name, one.scenario)).collect();
    let first = &golden[0].1;
    let more = MORE.map(|inner| (inner.to_owned(), first.with_set(&[("network.discipline", inner)]).expect(inner)));
    golden.iter().cloned().chain(more).collect()
}

/// Returns a value as TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let pairs = table.iter().filter(|(_, value)| !value.is_null());
            let pairs: Vec<String> = pairs.map(|(key, value)| format!("{} = {}", json!(key), toml(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// Returns a scenario with another list of tunable keys. `Err`: the messages.
fn declared(scenario: &Scenario, keys: &[Value]) -> Result<Scenario, Vec<String>> {
    let changed = scenario.with_set(&[("run.tunable", toml(&json!(keys)))]);
    changed.map_err(|e| e.problems().iter().map(|problem| problem.message.clone()).collect())
}

/// Returns the properties of the schema that have a mark, with a description.
fn marked(mark: &str) -> BTreeMap<*const Value, String> {
    fn all(node: &'static Value, name: &str, mark: &str, found: &mut BTreeMap<*const Value, String>) {
        match node {
            Value::Object(table) => {
                if table.contains_key(mark) {
                    found.insert(node, name.to_owned());
                }
                table.iter().for_each(|(key, node)| all(node, &format!("{name}/{key}"), mark, found));
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(i, node)| all(node, &format!("{name}/{i}"), mark, found));
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    all(schema(), "", mark, &mut found);
    found
}

#[test]
fn a_key_can_be_declared_tunable_if_the_schema_marks_it_and_other_keys_cannot() {
    let (mut missing, mut refused) = (marked("x-tunable"), BTreeSet::new());
    assert!(missing.len() > 300, "{}", missing.len());
    for (name, scenario) in all() {
        let places = places(&scenario);
        let (tunable, others): (Vec<&Place>, Vec<&Place>) = places.iter().partition(|place| place.is_tunable());
        let entry = |place: &&Place| match place.path.to_string() {
            // The bound is required.
            key if key.rsplit('.').next() == Some("delay") => json!({ "key": key, "min": "1ns" }),
            key => json!(key),
        };
        let keys: Vec<Value> = tunable.iter().map(entry).collect();
        assert_eq!(declared(&scenario, &keys).err(), None, "{name}: {keys:?}");
        for place in &tunable {
            missing.remove(&place.id());
        }
        // A key that is marked as fixed can be declared, and is refused when it changes.
        let others: Vec<&&Place> = others.iter().filter(|place| !place.is_fixed()).collect();
        let keys: Vec<Value> = others.iter().map(|place| json!(place.path.to_string())).collect();
        let messages = declared(&scenario, &keys).err().unwrap_or_default();
        let messages: BTreeSet<String> = messages.into_iter().collect();
        let expected = others.iter().map(|place| format!("`{}` is fixed during a run", place.path));
        let differing: Vec<String> = messages.symmetric_difference(&expected.collect()).cloned().collect();
        assert!(differing.is_empty(), "{name}: {differing:#?}");
        refused.extend(others.iter().map(|place| place.id()));
    }
    let missing: Vec<&String> = missing.values().filter(|name| !name.ends_with("/queues")).collect();
    assert!(missing.is_empty(), "marked, but in no fixed scenario: {missing:#?}");
    assert!(refused.len() > 300, "{}", refused.len());
}

/// Keys marked as tunable of which no change is accepted here: `file` needs another file, `victim` inside another
/// discipline is fixed by that discipline, and `queues` of a user's scheduler are in no fixed scenario.
const NOT_CHANGED: &[&str] = &["file", "queues", "victim"];

/// Keys marked as fixed of which no other value is valid here; the tests of `tailback-qdisc` have other values. `class`,
/// `file` and `parameters` of a user's law, and the `scheduler` of `user-scheduler`, are in no fixed scenario.
const NOT_REFUSED: &[&str] = &["average", "class", "default", "file", "name", "parameters", "parent", "scheduler"];

/// Returns other values for a value that a property describes.
fn others(place: &Place) -> Vec<Value> {
    let words = alternatives(place.property).into_iter().flat_map(|node| {
        let all = node.get("enum").and_then(Value::as_array).into_iter().flatten();
        all.chain(node.get("const")).cloned()
    });
    words.chain(near(&place.value)).collect()
}

/// Returns values near a value: other numbers, quantities and truth values, and tables and lists with one of them.
fn near(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(yes) => vec![json!(!yes)],
        Value::Number(n) if n.is_f64() => [0.75, 1.25].map(|factor| json!(factor * n.as_f64().unwrap_or(0.0))).into(),
        Value::Number(n) => n.as_u64().map_or_else(Vec::new, |n| vec![json!(n + 1), json!(n / 2)]),
        Value::String(text) => {
            let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
            let number = number.parse::<u64>();
            number.map_or_else(|_| Vec::new(), |n| [n + 1, n / 2, 2 * n].map(|n| json!(format!("{n}{unit}"))).into())
        }
        Value::Array(list) => {
            let with = |i: usize, one: Value| {
                let mut list = list.clone();
                list[i] = one;
                Value::Array(list)
            };
            (0..list.len()).flat_map(|i| near(&list[i]).into_iter().map(move |one| with(i, one))).collect()
        }
        Value::Object(table) => {
            let with = |key: &String, one: Value| {
                let mut table = table.clone();
                table.insert(key.clone(), one);
                Value::Object(table)
            };
            table.iter().flat_map(|(key, one)| near(one).into_iter().map(move |one| with(key, one))).collect()
        }
        Value::Null => Vec::new(),
    }
}

#[test]
fn a_key_marked_as_tunable_changes_during_a_run_and_one_marked_as_fixed_does_not() {
    let golden: Vec<(Scenario, Vec<Place>)> = all()
        .into_iter()
        .map(|(_, scenario)| {
            let found = places(&scenario);
            (scenario, found)
        })
        .collect();
    // The first values of a property in all scenarios are tried in each.
    let mut pool: BTreeMap<*const Value, Vec<Value>> = BTreeMap::new();
    for place in golden.iter().flat_map(|(_, places)| places) {
        let values = pool.entry(place.id()).or_default();
        if values.len() < 8 && !values.contains(&place.value) {
            values.push(place.value.clone());
        }
    }
    let (mut tunable, mut fixed) = (marked("x-tunable"), marked("x-fixed"));
    for (scenario, places) in &golden {
        for place in places {
            let wanted = tunable.contains_key(&place.id()) || fixed.contains_key(&place.id());
            if !wanted {
                continue;
            }
            let values = others(place).into_iter().take(24).chain(pool[&place.id()].iter().cloned());
            for value in values.filter(|value| *value != place.value) {
                let set = Map::from_iter([(place.path.to_string(), value.clone())]);
                let timeline = toml(&json!([{ "at": "1us", "set": set }]));
                let changed = scenario.with_set(&[("timeline", timeline.as_str())]);
                if changed.as_ref().is_ok_and(|changed| !build(changed, 1, None).timeline.is_empty()) {
                    assert!(!place.is_fixed(), "a change of a fixed key was accepted: {timeline}");
                    tunable.remove(&place.id());
                    break;
                }
                if changed.is_err_and(|e| place.is_fixed() && e.rendered().contains("fixed during a run")) {
                    fixed.remove(&place.id());
                    break;
                }
            }
        }
    }
    let last = |left: &BTreeMap<*const Value, String>| -> BTreeSet<String> {
        left.values().filter_map(|name| Some(name.rsplit_once('/')?.1.to_owned())).collect()
    };
    let listed = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(last(&tunable), listed(NOT_CHANGED), "marked as tunable, but no change was accepted: {tunable:#?}");
    assert_eq!(last(&fixed), listed(NOT_REFUSED), "marked as fixed, but no change was refused: {fixed:#?}");
}
