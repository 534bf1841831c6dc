//! Explanations for the terminal, from the doc comments that are also in the schema.

use crate::schema::{self, schema};
use crate::toml_out;
use core::fmt::Write as _;
use serde_json::{Map, Value};
use tailback_document::{Path, Step};

/// Families of kinds, with the path of a key that takes them.
const KINDS: [(&str, &str); 20] = [
    ("sources", "flows.source"),
    ("applications", "flows.application"),
    ("disciplines", "network.discipline"),
    ("transports", "flows.transport"),
    ("congestion-controls", "flows.transport.congestion-control"),
    ("fabrics", "fabric"),
    ("models", "switches.model"),
    ("detections", "backpressure.detection"),
    ("responses", "backpressure.response"),
    ("signals", "backpressure.signal"),
    ("sizes", "flows.application.size"),
    ("times", "flows.application.think"),
    ("numbers", "flows.application.objects"),
    ("meters", "flows.marking.meter"),
    ("recoveries", "flows.transport.recovery"),
    ("transmissions", "flows.transport.reservation.transmission"),
    ("adaptations", "network.discipline.adaptive"),
    ("limiter-queues", "hosts.rate-limiters.aqm"),
    ("congestion-points", "switches.congestion-notification"),
    ("reactions", "hosts.rate-limiters.law"),
];

/// Families of words, with the path of a key that takes them.
const WORDS: [(&str, &str); 8] = [
    ("scopes", "backpressure.scope"),
    ("notify", "backpressure.notify"),
    ("addresses", "backpressure.addresses"),
    ("routing", "network.routing"),
    ("pairs", "flows.pair"),
    ("states", "timeline.state"),
    ("metrics", "run.precision.metric"),
    ("engines", "run.engine"),
];

/// Returns all names that a document may choose from: an object with a list of names for each family, such as
/// "sources", and the list "sections".
pub fn names() -> Value {
    let mut names = Map::from_iter([("sections".to_owned(), Value::from(sections()))]);
    for (family, path) in KINDS {
        names.insert(family.to_owned(), kinds(path).into_iter().filter_map(kind_of).collect());
    }
    for (family, path) in WORDS {
        // The alternative `null` of an optional key has no name.
        let words = by_path(path).into_iter().flat_map(alternatives).filter_map(|node| node["const"].as_str());
        names.insert(family.to_owned(), words.collect());
    }
    Value::Object(names)
}

/// Explains a kind (`watermark`), a section (`links`), a key (`links.rate`, or `rate` in any table) or a word
/// (`shortest-path`), with its parameters, their units and defaults. `None`: there is no such name.
pub fn explain(name: &str) -> Option<String> {
    let mut texts = Vec::new();
    if let Some(node) = by_path(name) {
        texts.push(described(name, node));
    }
    for (_, path) in KINDS {
        let named = kinds(path).into_iter().filter(|kind| kind_of(kind) == Some(name));
        texts.extend(named.map(|kind| described(&format!("{path} = {{ kind = \"{name}\" }}"), kind)));
    }
    if texts.is_empty() {
        for (_, path) in WORDS {
            let word = by_path(path).into_iter().flat_map(alternatives).find(|word| word["const"] == name);
            texts.extend(word.map(|word| described(&format!("{path} = \"{name}\""), word)));
        }
        for section in sections() {
            let path = format!("{section}.{name}");
            texts.extend(by_path(&path).filter(|_| !name.contains('.')).map(|node| described(&path, node)));
        }
    }
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

/// Returns the kinds that are allowed at a path under each kind of the tables above it: the recoveries of TCP and of
/// RDMA differ.
fn kinds(path: &str) -> Vec<&'static Value> {
    let Some(path) = Path::parse(path) else { return Vec::new() };
    let mut nodes = vec![schema()];
    for step in &path.0 {
        let Step::Key(key) = step else { return Vec::new() };
        let here = nodes.into_iter().flat_map(alternatives).flat_map(entries);
        nodes = here.filter_map(|node| node.get("properties")?.get(key)).collect();
    }
    let mut kinds: Vec<&'static Value> = Vec::new();
    for node in nodes.into_iter().flat_map(alternatives).filter(|node| kind_of(node).is_some()) {
        if !kinds.iter().any(|known| core::ptr::eq(*known, node)) {
            kinds.push(node);
        }
    }
    kinds
}

/// Returns the names of the document's tables and lists of tables.
fn sections() -> Vec<&'static str> {
    let tables = |node: &'static Value| {
        alternatives(node).iter().any(|node| matches!(node["type"].as_str(), Some("object" | "array")))
    };
    let properties = schema()["properties"].as_object();
    properties.into_iter().flatten().filter(|(_, node)| tables(node)).map(|(name, _)| name.as_str()).collect()
}

/// Returns the schema's node of a dotted path, such as `links`, `links.rate`, `switches.ports` or
/// `run.precision.metric`; `None`: there is no such key.
fn by_path(name: &str) -> Option<&'static Value> {
    let path = Path::parse(name).filter(|path| !path.0.is_empty())?;
    let mut node = schema();
    for step in &path.0 {
        let Step::Key(key) = step else { return None };
        let here: Vec<&'static Value> = alternatives(node).into_iter().flat_map(entries).collect();
        node = here.iter().find_map(|node| node.get("properties")?.get(key))?;
    }
    Some(node)
}

/// Returns the node itself; for a list or a table with names as keys, the nodes of its entries.
fn entries(node: &'static Value) -> Vec<&'static Value> {
    let inner = node.get("items").or_else(|| node.get("additionalProperties").filter(|any| any.is_object()));
    inner.map_or_else(|| vec![node], alternatives)
}

/// Returns the heading, a node's description, and its parameters, kinds or words, one per line.
fn described(heading: &str, node: &'static Value) -> String {
    let mut text = format!("{heading}\n");
    let description = node.get("description").or_else(|| alternatives(node).first()?.get("description"));
    for line in wrapped(description.and_then(Value::as_str).unwrap_or(""), WIDTH - 2) {
        let _ = writeln!(text, "  {line}");
    }
    let inner: Vec<&'static Value> =
        alternatives(node).into_iter().flat_map(entries).filter(|node| !is_null(node)).collect();
    let several = |nodes: &[&'static Value], heading: &str, name: &str| {
        let lines = nodes.iter().map(|node| line(node[name].as_str().unwrap_or("?"), "", node));
        format!("\n  {heading}:\n{}", lines.collect::<String>())
    };
    if inner.len() > 1 && inner.iter().all(|node| kind_of(node).is_some()) {
        text.push_str(&several(&inner, "kinds", "title"));
    } else if inner.len() > 1 && inner.iter().all(|node| node["const"].is_string()) {
        text.push_str(&several(&inner, "one of", "const"));
    } else if let Some(table) = inner.iter().find(|node| node["properties"].is_object()) {
        if inner.len() > 1 {
            let _ = writeln!(text, "  {}", forms(node));
        }
        text.push_str(&parameters(table));
    } else if node.get("const").is_none() {
        let _ = writeln!(text, "  {}", facts(node, None));
    }
    text
}

/// Returns the parameters of a table, one per line with their facts and descriptions.
fn parameters(table: &'static Value) -> String {
    let required = |key: &str| table["required"].as_array().is_some_and(|list| list.iter().any(|k| k == key));
    let properties = toml_out::ordered(&table["properties"]);
    let lines = properties.iter().filter(|(key, _)| *key != "kind");
    let lines: String = lines.map(|(key, node)| line(key, &facts(node, Some(required(key))), node)).collect();
    if lines.is_empty() { "\n  no parameters\n".to_owned() } else { format!("\n  parameters:\n{lines}") }
}

/// Returns `    name  (facts)` and the indented description.
fn line(name: &str, facts: &str, node: &Value) -> String {
    let facts = if facts.is_empty() { String::new() } else { format!("  ({facts})") };
    let description = node.get("description").and_then(Value::as_str).unwrap_or("");
    let lines = wrapped(description, WIDTH - 8);
    lines.into_iter().fold(format!("    {name}{facts}\n"), |text, line| format!("{text}        {line}\n"))
}

/// Returns the notation of a parameter, its range and its default, separated by commas. `required`: `true` if the
/// parameter must be given; `None`: the node is not a parameter of a table.
fn facts(node: &'static Value, required: Option<bool>) -> String {
    let mut facts = vec![forms(node)];
    if let (Some(minimum), Some(maximum)) = (node["minimum"].as_number(), node["maximum"].as_number()) {
        facts.push(format!("{minimum} to {maximum}"));
    }
    match (node.get("default"), required) {
        (Some(default), _) if !default.is_null() => facts.push(format!("default {}", toml_out::value(default))),
        (None, Some(true)) => facts.push("required".to_owned()),
        (_, Some(_)) => facts.push("optional".to_owned()),
        (_, None) => {}
    }
    facts.retain(|fact| !fact.is_empty());
    facts.join(", ")
}

/// Returns the notation of a value: its unit, its type, or its words.
fn forms(node: &'static Value) -> String {
    let mut forms = Vec::new();
    collect_forms(node, &mut forms);
    match forms.split_last() {
        // Of several kinds only the first keeps the word "kind".
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")).replace(" kind ", " "),
        _ => forms.concat(),
    }
}

/// Adds the notations that a node accepts, without duplicates.
fn collect_forms(node: &'static Value, forms: &mut Vec<String>) {
    let form = if let Some(format) = node["format"].as_str().filter(|format| !MACHINE_FORMATS.contains(format)) {
        format.to_owned()
    } else if let Some(list) = node["anyOf"].as_array().or(node["oneOf"].as_array()) {
        return list.iter().filter(|node| !is_null(node)).for_each(|node| collect_forms(node, forms));
    } else if node.get("$ref").is_some() {
        return alternatives(node).into_iter().for_each(|node| collect_forms(node, forms));
    } else if let Some(kind) = kind_of(node) {
        format!("kind \"{kind}\"")
    } else if let Some(word) = node["const"].as_str() {
        format!("\"{word}\"")
    } else {
        match node["type"].as_str().or_else(|| node["type"].get(0)?.as_str()) {
            Some("integer") => "whole number",
            Some("number") => "number",
            Some("boolean") => "true or false",
            Some("array") => "list",
            Some("object") => "table",
            _ => "text",
        }
        .to_owned()
    };
    if !forms.contains(&form) {
        forms.push(form);
    }
}

/// Returns the constant `kind` of a table; `None`: it has none.
fn kind_of(node: &'static Value) -> Option<&'static str> {
    node.get("properties")?.get("kind")?.get("const")?.as_str()
}

/// Returns the alternatives at a node of the scenario's schema.
fn alternatives(node: &'static Value) -> Vec<&'static Value> {
    schema::alternatives(schema(), node)
}

fn is_null(node: &Value) -> bool {
    node["type"] == "null"
}

/// Formats that describe storage and not notation.
const MACHINE_FORMATS: [&str; 7] = ["uint8", "uint16", "uint32", "uint64", "double", "float", "uint"];

/// Line width of explanations in columns, that of a default terminal.
const WIDTH: usize = 80;

/// Wraps text to lines of at most `width` characters; an empty line separates paragraphs.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(core::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}
