//! Shared functions of the fuzz targets: changes of documents, and short runs of accepted documents.

use serde_json::{Map, Value, json};
use tailback_random::Rng;
use tailback_scenario::{Files, Scenario, build};
use tailback_sim::World;
use tailback_sim::plan::Engine;

/// Maximum number of events of a run. A small network has every kind of event among them, and the run takes a few
/// milliseconds.
const EVENTS: u64 = 20_000;
/// Maximum number of nodes of a network that is run; a document with more is only read and checked.
const NODES: usize = 300;
/// Maximum number of flows of a network that is run.
const FLOWS: usize = 300;
/// Largest size in a document that is run, bytes. Sources emit all packets of a burst at once, so that larger bursts
/// need too much memory.
const BURST: u64 = 100_000_000;

/// Returns a reader of files that returns the same trace, one frame size per line, for every name.
pub fn files() -> Files {
    Files::read_by(|_| Ok("1000\n20000\n3\n0\n1500\n".to_owned()))
}

/// Reads a document: as JSON if it begins with a brace, otherwise as TOML. Returns `None` if the document is refused.
///
/// # Panics
/// If the message of the refusal does not begin with "error: ".
pub fn scenario(text: &str) -> Option<Scenario> {
    let read = if text.trim_start().starts_with('{') {
        Scenario::from_json_with(text, files())
    } else {
        Scenario::from_toml_with(text, "fuzz.toml", files())
    };
    match read {
        Ok(scenario) => Some(scenario),
        Err(error) => {
            assert!(error.rendered().starts_with("error: "), "{}", error.rendered());
            None
        }
    }
}

/// Checks that an accepted document is equal when it is read back from its own TOML, and runs it with both engines.
///
/// # Panics
/// If the document differs, or if a run violates the conservation of packets.
pub fn exercise(scenario: &Scenario) {
    let toml = scenario.to_toml();
    let again = Scenario::from_toml_with(&toml, "again.toml", files());
    let again = again.unwrap_or_else(|e| panic!("{}\n{toml}", e.rendered()));
    assert_eq!(again.to_json(), scenario.to_json(), "a document reads back from its own TOML");
    let json = serde_json::from_str(&scenario.to_json()).expect("the canonical form is JSON");
    if largest(&json) > BURST {
        return;
    }
    for engine in [Engine::Merged, Engine::Plain] {
        let plan = build(scenario, scenario.run().seed, Some(engine));
        if plan.nodes.len() > NODES || plan.flows.len() > FLOWS {
            return;
        }
        let mut world = World::new(plan);
        world.run(EVENTS);
        // The report checks the conservation of packets.
        world.report();
    }
}

/// Returns the largest size in a document, bytes, including limits of queues.
fn largest(value: &Value) -> u64 {
    match value {
        Value::Object(map) => map.values().map(largest).max().unwrap_or(0),
        Value::Array(list) => list.iter().map(largest).max().unwrap_or(0),
        Value::String(text) => bytes(text).unwrap_or(0),
        _ => 0,
    }
}

/// Returns the bytes of a size in decimal units, or about those in GiB; `None`: the text is not such a size.
fn bytes(text: &str) -> Option<u64> {
    let (number, factor) = [("GiB", 1e9), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)]
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    Some((number.trim().parse::<f64>().ok()? * factor) as u64)
}

// Values at the limits of the range of each quantity, and beyond them.
const SIZES: &[&str] = &["0B", "1B", "64B", "1kB", "65535B", "1GB", "1099511627776B", "18446744073709551615B", "unlimited"];
const COUNTS: &[&str] = &["0packets", "1packets", "2packets", "100000packets"];
const TIMES: &[&str] = &["0s", "1ps", "1ns", "1us", "1ms", "1s", "5000h"];
const RATES: &[&str] = &["0bit/s", "1bit/s", "1kbit/s", "1Mbit/s", "10Gbit/s", "10Tbit/s"];
const SHARES: &[&str] = &["0%", "0.001%", "50%", "100%", "200%"];
const WORDS: &[&str] = &["none", "batch", "", "*"];
const NUMBERS: &[&str] = &[
    "0", "1", "2", "8", "63", "64", "255", "65535", "65536", "4294967295", "9223372036854775807", "18446744073709551615", "-1",
    "0.0", "1e-300", "1e-9", "0.5", "0.9999999999999999", "1.0", "1.0000000001", "1e18", "1e300",
];
const OTHERS: &[&str] = &["true", "false", "null", "[]", "{}"];

/// Returns the extreme values of the quantity to which a value belongs; `None`: the value is another word, a list or a
/// table.
fn family(value: &Value) -> Option<&'static [&'static str]> {
    let Value::String(text) = value else {
        return value.is_number().then_some(NUMBERS);
    };
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return matches!(text.as_str(), "none" | "unlimited").then_some(SIZES);
    }
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_'));
    Some(match unit.trim() {
        "%" => SHARES,
        unit if unit.ends_with("bit/s") => RATES,
        unit if unit.starts_with("packet") => COUNTS,
        unit if unit.ends_with('B') => SIZES,
        _ => TIMES,
    })
}

/// Returns an extreme value. In seven of eight cases it is of the quantity of `old`, if that is known, so that the
/// document is not already refused for its type.
fn extreme(old: &Value, rng: &mut Rng) -> Value {
    let all = [SIZES, COUNTS, TIMES, RATES, SHARES, WORDS, NUMBERS, OTHERS];
    let list = match family(old) {
        Some(own) if rng.below(8) != 0 => own,
        _ => all[rng.below(all.len() as u64) as usize],
    };
    let text = list[rng.below(list.len() as u64) as usize];
    match core::ptr::eq(list, NUMBERS) || core::ptr::eq(list, OTHERS) {
        true => serde_json::from_str(text).expect("numbers and other values are JSON"),
        false => json!(text),
    }
}

/// Returns a document with one change, or in a third of the cases two to four. A change removes or duplicates a value,
/// or replaces it by an extreme value or by another value of the document. `seed` decides the changes. Returns `None`
/// if the document is refused or is not a table.
pub fn mutated(text: &str, seed: u32) -> Option<String> {
    let mut tree: Value = match serde_json::from_str(text) {
        Ok(tree) => tree,
        // The canonical form has all defaults, so that defaults are changed, too.
        Err(_) => serde_json::from_str(&scenario(text)?.to_json()).expect("the canonical form is JSON"),
    };
    tree.as_object()?;
    let rng = &mut Rng::named(u64::from(seed), "document mutator");
    let changes = if rng.below(3) == 0 { 2 + rng.below(3) } else { 1 };
    for _ in 0..changes {
        let mut paths = Vec::new();
        collect(&tree, String::new(), &mut paths);
        if paths.is_empty() {
            break;
        }
        let path = paths[rng.below(paths.len() as u64) as usize].clone();
        match rng.below(8) {
            0 => remove(&mut tree, &path),
            1 => {
                // In half of the cases the value is that of a key of the same name, which is more often valid.
                let key = path.rsplit('/').next().expect("a pointer begins with a slash");
                let of_same_key: Vec<_> = paths.iter().filter(|other| other.rsplit('/').next() == Some(key)).collect();
                let other = match rng.below(2) {
                    0 => of_same_key[rng.below(of_same_key.len() as u64) as usize],
                    _ => &paths[rng.below(paths.len() as u64) as usize],
                };
                *tree.pointer_mut(&path)? = tree.pointer(other).cloned().unwrap_or(json!({}));
            }
            2 => duplicate(&mut tree, &path),
            _ => {
                let value = tree.pointer_mut(&path)?;
                *value = extreme(value, rng);
            }
        }
    }
    Some(tree.to_string())
}

/// Collects the places of all values inside `value` as JSON pointers (RFC 6901); `at` is the pointer of `value`.
fn collect(value: &Value, at: String, paths: &mut Vec<String>) {
    let mut visit = |key: String, inner: &Value| {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        paths.push(at.clone());
        collect(inner, at, paths);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| visit(key.clone(), inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(n, inner)| visit(n.to_string(), inner)),
        _ => {}
    }
}

/// Returns the table or list that holds the value at a JSON pointer, and the last step of the pointer.
fn parent<'a>(tree: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (before, last) = path.rsplit_once('/')?;
    Some((tree.pointer_mut(before)?, last.replace("~1", "/").replace("~0", "~")))
}

/// Removes the value at a JSON pointer, if there is one.
fn remove(tree: &mut Value, path: &str) {
    match parent(tree, path) {
        Some((Value::Object(map), key)) => drop(map.remove(&key)),
        Some((Value::Array(list), key)) => {
            let at = key.parse().unwrap_or(usize::MAX);
            if at < list.len() {
                list.remove(at);
            }
        }
        _ => {}
    }
}

/// Duplicates the value at a JSON pointer: at the end of its list, or in its table under its key with an added "x".
fn duplicate(tree: &mut Value, path: &str) {
    let Some(copy) = tree.pointer(path).cloned() else { return };
    match parent(tree, path) {
        Some((Value::Object(map), key)) => drop(Map::insert(map, format!("{key}x"), copy)),
        Some((Value::Array(list), _)) => list.push(copy),
        _ => {}
    }
}
