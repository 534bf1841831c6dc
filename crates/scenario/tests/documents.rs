//! Forms of a document: the canonical form, TOML, schema and explanations are consistent.

use crate::common::generated::{Size, document};
use crate::common::right::RIGHT;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tailback_scenario::{Scenario, explain, names, schema};

/// Returns the valid scenario.
fn right() -> Scenario {
    Scenario::from_toml(RIGHT, "lan.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the scenario that is parsed from the TOML of `scenario`.
fn reparsed(scenario: &Scenario) -> Scenario {
    let toml = scenario.to_toml();
    Scenario::from_toml(&toml, "again.toml").unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

#[test]
fn the_hash_of_a_document_is_unchanged() {
    // A change of this hash makes all stored results unfindable, and requires a new version of the document format.
    assert_eq!(right().hash(), "51b24cf674ec5c1c08e7af2e626af35e");
}

#[test]
fn equal_scenarios_have_equal_hashes_however_they_are_written() {
    let other = RIGHT
        .replace("duration = \"60s\"", "duration = \"1min\"\nseed = 1")
        .replace("buffer = \"50kB\"", "buffer = \"0.05MB\"\nframing = \"ethernet\"")
        .replace("high = 0.8", "high = \"80%\"");
    let other = Scenario::from_toml(&other, "other.toml").unwrap();
    assert_eq!(other.to_json(), right().to_json());
    assert_eq!(other.hash(), right().hash());
    assert_eq!(Scenario::from_json(&right().to_json()).unwrap().hash(), right().hash());
    assert_ne!(right().with_set(&[("run.seed", "2")]).unwrap().hash(), right().hash());
}

#[test]
fn a_scenario_reads_back_from_its_own_toml() {
    assert_eq!(reparsed(&right()).to_json(), right().to_json());
}

#[test]
fn set_values_replace_those_of_the_file() {
    let set = right()
        .with_set(&[
            ("flows[*].source.rate", "1Mbit/s"),
            ("flows[data].source.burst", "6kB"),
            ("links[0].rate", "[\"1Mbit/s\", \"2Mbit/s\"]"),
            ("backpressure.scope", "plain"),
            ("switches.floor.backpressure.scope", "class"),
            ("run.precision", "{ metric = \"loss\" }"),
        ])
        .unwrap_or_else(|e| panic!("{e}"));
    let json: Value = serde_json::from_str(&set.to_json()).unwrap();
    assert_eq!(json["flows"][0]["source"], json!({ "kind": "uniform-uniform", "burst": "6kB", "rate": "1Mbit/s" }));
    assert_eq!(json["flows"][1]["source"]["rate"], "1Mbit/s");
    assert_eq!(json["links"][0]["rate"], json!(["1Mbit/s", "2Mbit/s"]));
    assert_eq!(
        (&json["backpressure"]["scope"], &json["switches"]["floor"]["backpressure"]["scope"]),
        (&json!("plain"), &json!("class"))
    );
    assert_eq!(json["run"]["precision"]["max-replications"], 100);
}

#[test]
fn unbounded_nesting_is_an_error_with_its_place() {
    let (lists, tables, dots) = ("[".repeat(100_000), "{a=".repeat(100_000), ".a".repeat(50_000));
    let toml = |text: &str| Scenario::from_toml(text, "deep.toml").unwrap_err();
    let assert_reported = |error: tailback_scenario::ScenarioError, line: usize| {
        let problem = error.first();
        assert_eq!(problem.message, "tables and lists are nested too deeply");
        assert_eq!(problem.line, Some(line), "{}", problem.rendered);
        assert!(problem.rendered.len() < 1000, "{}", problem.rendered);
    };
    for text in [format!("x = {lists}"), format!("x = {tables}"), format!("x{dots} = 1"), format!("[x{dots}]\ny = 1")] {
        assert_reported(toml(&format!("tailback = 1\n\n{text}\n")), 3);
        assert_reported(
            tailback_scenario::Study::from_toml(&format!("study = 1\n{text}"), "deep.toml").unwrap_err(),
            2,
        );
    }
    for text in [lists.clone(), "{\"a\":".repeat(100_000)] {
        assert_reported(Scenario::from_json(&text).unwrap_err(), 1);
        assert_reported(tailback_scenario::Study::from_json(&text).unwrap_err(), 1);
    }
    for (path, value) in [("run.duration", lists.as_str()), ("run.duration", &tables), (&format!("x{dots}"), "1")] {
        let found = right().with_set(&[(path, value)]).unwrap_err();
        assert!(found.rendered().len() < 1000, "{}", found.rendered());
    }
}

/// Calls `f` for each property of each table in the schema.
fn properties(node: &Value, path: &str, f: &mut dyn FnMut(&str, &Value)) {
    match node {
        Value::Object(map) => {
            for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                f(&format!("{path}.{name}"), property);
            }
            map.iter().for_each(|(key, value)| properties(value, &format!("{path}/{key}"), f));
        }
        Value::Array(list) => list.iter().for_each(|value| properties(value, path, f)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_schema_has_a_description() {
    let mut seen = 0;
    properties(schema(), "", &mut |path, node| {
        seen += 1;
        let described = node["description"].as_str().is_some_and(|text| text.len() > 3);
        assert!(described || node["const"].is_string(), "{path} has no description: {node}");
    });
    assert!(seen > 80, "only {seen} properties");
}

#[test]
fn the_schema_requires_version_and_run_and_refuses_unknown_sections() {
    let schema = schema();
    assert_eq!(schema["title"], "Tailback scenario");
    assert_eq!(schema["required"], json!(["tailback", "run"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["flows"]["items"]["$ref"], "#/$defs/FlowGroup");
}

#[test]
fn every_name_is_explained() {
    let names = names();
    for (family, list) in names.as_object().unwrap() {
        let list = list.as_array().unwrap();
        assert!(!list.is_empty(), "{family}");
        for name in list {
            let name = name.as_str().unwrap();
            let text = explain(name).unwrap_or_else(|| panic!("{family} `{name}` is not explained"));
            assert!(text.lines().count() >= 2, "{name}: {text}");
        }
    }
    assert_eq!(explain("no-such-thing"), None);
    assert_eq!(explain(""), None);
}

/// Adds to `found` every value of a key `kind` in the schema, with the description of its table.
fn kinds_of(node: &Value, found: &mut BTreeSet<(String, String)>) {
    match node {
        Value::Object(map) => {
            if let Some(kind) = node["properties"]["kind"]["const"].as_str() {
                found.insert((kind.to_owned(), node["description"].as_str().unwrap_or_default().to_owned()));
            }
            map.values().for_each(|node| kinds_of(node, found));
        }
        Value::Array(list) => list.iter().for_each(|node| kinds_of(node, found)),
        _ => {}
    }
}

#[test]
fn every_kind_of_the_schema_is_listed_and_explained() {
    let mut kinds = BTreeSet::new();
    kinds_of(schema(), &mut kinds);
    let known = |name: &str| kinds.iter().any(|(kind, _)| kind == name);
    assert!(["fq-codel", "pareto", "web-search", "sack", "go-back-n", "qcn"].into_iter().all(known));
    let names = names();
    let is_listed =
        |kind: &str| names.as_object().unwrap().values().any(|list| list.as_array().unwrap().contains(&kind.into()));
    for (kind, about) in &kinds {
        assert!(is_listed(kind), "`{kind}` is in no list");
        let text = explain(kind).unwrap_or_else(|| panic!("`{kind}` is not explained"));
        assert!(text.contains(&format!("{{ kind = \"{kind}\" }}")), "{text}");
        // A name may be that of several kinds: each is explained.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&words(about)), "{about} is missing in\n{text}");
    }
    let text = explain("exponential").unwrap();
    assert!(text.contains("flows.application.size = ") && text.contains("flows.application.think = "), "{text}");
}

#[test]
fn an_explanation_gives_units_ranges_and_defaults() {
    let expected = "\
backpressure.detection = { kind = \"watermark\" }
  Two watermarks: congested when the queue exceeds the high one, until it falls
  below the low one.

  parameters:
    high  (fraction, default 0.8)
        High watermark, a fraction of the buffer; above `low`, at most 1.
    low  (fraction, default 0.7)
        Low watermark, a fraction of the buffer; 0 to below `high`.
";
    assert_eq!(explain("watermark").unwrap(), expected);
    let run = explain("run").unwrap();
    assert!(
        run.contains("duration  (duration, required)")
            && run.contains("replications  (whole number, 1 to 100000, default 5)"),
        "{run}"
    );
    assert!(explain("links.rate").unwrap().contains("rate, or [forward, backward]"));
    assert!(explain("timeline").unwrap().contains("high  (fraction, optional)"));
    assert!(explain("backpressure").unwrap().contains("detection  (kind \"watermark\" or \"fill-rate\""));
}

/// Fragments from which invalid values are generated.
const SCRAPS: &[&str] = &[
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "#",
    "\n",
    "*",
    "?",
    "-",
    "\t",
    "\\",
    "\u{0}",
    "é",
    "\u{feff}",
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "9223372036854775807",
    "18446744073709551616",
    "true",
    "\"\"",
    "\"h*\"",
    "\"[\"",
    "\"-1ms\"",
    "\"1e9s\"",
    "\"213days\"",
    "\"99999999999h\"",
    "\"unlimited\"",
    "\"auto\"",
    "kind = \"mac\"",
    "count = 4096",
    "pair = \"all\"",
    "[run]",
    "[[flows]]",
    "[switches.x]",
    "2026-01-01",
    "0x10",
    "[\"core\", \"core\"]",
    "{ kind = \"cbr\" }",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_scenario_reads_back_from_its_own_toml(document in document(Size::Any)) {
        let scenario = Scenario::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}\n{document:#}"));
        let reparsed = reparsed(&scenario);
        prop_assert_eq!(reparsed.to_json(), scenario.to_json());
        prop_assert_eq!(reparsed.hash(), scenario.hash());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_text_makes_the_parser_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, prop::sample::select(SCRAPS)), 1..4),
    ) {
        let mut text: Vec<char> = RIGHT.chars().collect();
        for (at, deleted, scrap) in edits {
            let at = at.index(text.len());
            let end = (at + deleted).min(text.len());
            text.splice(at..end, scrap.chars());
        }
        let text: String = text.into_iter().collect();
        match Scenario::from_toml(&text, "x.toml") {
            Ok(scenario) => {
                let reparsed = reparsed(&scenario);
                prop_assert_eq!(reparsed.to_json(), scenario.to_json());
            }
            Err(e) => {
                for problem in e.problems() {
                    prop_assert!(problem.line.unwrap() <= text.lines().count().max(1), "{}", problem.rendered);
                    prop_assert!(problem.rendered.starts_with("error: ") && problem.rendered.contains('^'), "{}", problem.rendered);
                }
            }
        }
    }

    #[test]
    fn no_value_of_any_key_makes_the_parser_panic(at in any::<prop::sample::Index>(), scrap in prop::sample::select(SCRAPS), json in any::<bool>()) {
        // A value of the document, chosen at random, is replaced by an invalid one.
        let tree: Value = serde_json::from_str(&right().to_json()).unwrap();
        let mut paths = Vec::new();
        collect_paths(&tree, String::new(), &mut paths);
        let path = &paths[at.index(paths.len())];
        let value = if json { format!("{{ a = {scrap} }}") } else { scrap.to_owned() };
        if let Err(e) = right().with_set(&[(path, value)]) {
            prop_assert!(e.rendered().contains("error: "));
        }
    }
}

/// Adds to `found` the paths of all values in `value`, which is at `path`, and `path` itself.
fn collect_paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            map.iter().for_each(|(key, value)| collect_paths(value, inner(key), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| collect_paths(value, format!("{path}[{i}]"), found));
        }
        _ => {}
    }
    if !path.is_empty() {
        found.push(path);
    }
}
