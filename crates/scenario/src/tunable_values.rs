//! The values of a document that can change during a run, with their help and bounds.

use crate::document::Tunable;
use crate::scenario::Scenario;
use crate::schema::{TUNABLE, alternatives, at, schema};
use crate::set;
use serde::Serialize;
use serde_json::Value;
use tailback_document::Path;

/// A value of a document that can change during a run.
#[derive(Clone, Debug, Serialize)]
pub struct TunableValue {
    /// Path of the key, as for `--set`.
    pub path: String,
    /// Value in the document, or the default.
    pub value: Value,
    /// Description of the key in the schema.
    pub help: String,
    /// Smallest value: that of `run.tunable`, or else of the schema; absent: the schema has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Value>,
    /// Largest value: that of `run.tunable`, or else of the schema; absent: the schema has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Value>,
    /// `true` if `run.tunable` covers the key.
    pub declared: bool,
    /// All values of a key that takes one of several words; empty for other keys.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub words: &'static [&'static str],
}

/// Lists and tables whose entries have a state: the values of the key, the first at the start of a run, and the description.
const STATES: [(&str, &[&str], &str); 3] = [
    ("links", &["up", "down"], "State of the link: frames on a link that goes down are lost, and queues wait."),
    ("flows", &["start", "stop"], "State of the flow: a stopped flow sends nothing."),
    ("hosts", &["calm", "storm"], "State of the host: in a storm it sends PAUSE frames without end."),
];

impl Scenario {
    /// Returns the single values, not tables, whose keys can change during a run, in the order of their paths, and then the states
    /// of links, flows and hosts, which are not in the document, with those at the start of a run. Whether a running network can follow the change of a key that `run.tunable` does not cover is known when it is added there.
    pub fn tunable_values(&self) -> Vec<TunableValue> {
        let tree = serde_json::to_value(self.document()).unwrap_or_default();
        let mut singles = Vec::new();
        add_singles(&tree, &Path::root(), &mut singles);
        let declared: Vec<(Vec<Path>, &Tunable)> = (self.run().tunable.iter())
            .map(|tunable| (set::places(&tree, &tunable.key).unwrap_or_default(), tunable))
            .collect();
        let covering = |path: &Path| {
            let covers = |places: &[Path]| places.iter().any(|place| path.0.starts_with(&place.0));
            declared.iter().find(|(places, _)| covers(places)).map(|(_, tunable)| *tunable)
        };
        let state = |(path, words, help): (Path, &'static [&'static str], &str)| TunableValue {
            path: path.to_string(),
            value: words[0].into(),
            help: help.to_owned(),
            min: None,
            max: None,
            declared: covering(&path).is_some(),
            words,
        };
        let described = |(path, value): (Path, Value)| {
            let node = at(schema(), &tree, &path).filter(|node| node[TUNABLE] == true)?;
            let within = alternatives(schema(), node);
            let bound = |name: &str| within.iter().find_map(|node| node.get(name)).cloned();
            let own = covering(&path);
            let text =
                core::iter::once(node).chain(within.iter().copied()).find_map(|node| node["description"].as_str());
            Some(TunableValue {
                path: path.to_string(),
                value,
                help: text.unwrap_or_default().to_owned(),
                min: own.and_then(|own| own.min.clone()).or_else(|| bound("minimum")),
                max: own.and_then(|own| own.max.clone()).or_else(|| bound("maximum")),
                declared: own.is_some(),
                words: &[],
            })
        };
        let values = singles.into_iter().filter_map(described);
        values.chain(states(&tree).into_iter().map(state)).collect()
    }
}

/// Returns the paths of the states in a document, with the words of `STATES` and the description.
fn states(tree: &Value) -> Vec<(Path, &'static [&'static str], &'static str)> {
    let of = |(section, words, help): (&str, &'static [&'static str], &'static str)| {
        let root = Path::root().join(section);
        let entries: Vec<Path> = match &tree[section] {
            Value::Array(list) => (0..list.len()).map(|i| root.join(i)).collect(),
            Value::Object(table) => table.keys().map(|name| root.join(name.as_str())).collect(),
            _ => Vec::new(),
        };
        entries.into_iter().map(move |entry| (entry.join("state"), words, help)).collect::<Vec<_>>()
    };
    STATES.into_iter().flat_map(of).collect()
}

/// Adds the single values of a tree, with their paths.
fn add_singles(tree: &Value, path: &Path, found: &mut Vec<(Path, Value)>) {
    match tree {
        Value::Object(table) => {
            table.iter().for_each(|(key, inner)| add_singles(inner, &path.join(key.as_str()), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, inner)| add_singles(inner, &path.join(i), found));
        }
        single => found.push((path.clone(), single.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_those_that_can_change_with_the_bounds_of_the_declaration() {
        let text = r#"
            tailback = 1
            [run]
            duration = "10ms"
            tunable = [{ key = "links[0].rate", min = "1Mbit/s", max = "20Mbit/s" }, "flows[*].state"]
            [network]
            discipline = { kind = "red", min = "5kB", max = "15kB" }
            [hosts]
            a = {}
            b = {}
            [[links]]
            between = ["a", "b"]
            rate = "10Mbit/s"
            [[flows]]
            name = "data"
            from = "a"
            to = "b"
            source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B" }
        "#;
        let scenario = Scenario::from_toml(text, "test").expect("the scenario is valid");
        let values = scenario.tunable_values();
        let named = |path: &str| values.iter().find(|value| value.path == path);
        let rate = named("links[0].rate").expect("rates of links can change");
        assert_eq!((&rate.value, rate.declared), (&Value::from("10Mbit/s"), true));
        assert_eq!(rate.max, Some(Value::from("20Mbit/s")));
        assert!(!rate.help.is_empty());
        let min = named("network.discipline.min").expect("parameters of RED can change");
        assert_eq!((&min.value, min.declared), (&Value::from("5kB"), false));
        let flow = named("flows[0].state").expect("flows have a state");
        assert_eq!((&flow.value, flow.words, flow.declared), (&Value::from("start"), &["start", "stop"][..], true));
        assert!(named("hosts.b.state").is_some_and(|host| !host.declared && host.value == "calm"));
        // Kinds and the settings of a run are fixed.
        assert!(named("network.discipline.kind").is_none());
        assert!(named("run.duration").is_none());
    }
}
