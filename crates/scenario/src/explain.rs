//! Explanations for the terminal, from the doc comments that also make the schema.

use crate::document::{Detection, Response, Signal, SwitchModel};
use crate::schema::{alternatives, schema};
use crate::toml_out;
use serde_json::{Value, json};
use tailback_document::{Path, Step};
use tailback_qdisc::Spec;
use tailback_traffic::Model;

/// All names that a document chooses from, by what they are names of.
pub fn names() -> Value {
    json!({
        "sections": sections(),
        "sources": Model::NAMES,
        "disciplines": Spec::NAMES,
        "models": SwitchModel::NAMES,
        "detections": Detection::NAMES,
        "responses": Response::NAMES,
        "signals": Signal::NAMES,
        "scopes": words("backpressure", "scope"),
        "notify": words("backpressure", "notify"),
        "addresses": words("backpressure", "addresses"),
        "routing": words("network", "routing"),
        "metrics": ["loss", "delay", "throughput"],
    })
}

/// What a kind (`watermark`), a section (`links`) or a key (`links.rate`) is, which parameters it
/// has, their units and defaults; none when there is no such name.
pub fn explain(name: &str) -> Option<String> {
    let mut texts = Vec::new();
    if let Some(node) = by_path(name) {
        texts.push(described(name, node));
    }
    for (place, kind) in kinds() {
        if kind["title"] == name {
            texts.push(described(&format!("{place} = {{ kind = \"{name}\" }}"), kind));
        }
    }
    if texts.is_empty() {
        for (place, word) in all_words() {
            if word["const"] == name {
                texts.push(described(&format!("{place} = \"{name}\""), word));
            }
        }
    }
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

fn sections() -> Vec<&'static str> {
    let tables = |node: &Value| alternatives(node).iter().any(|node| matches!(node["type"].as_str(), Some("object" | "array")));
    let properties = schema()["properties"].as_object();
    properties.into_iter().flatten().filter(|(_, node)| tables(node)).map(|(name, _)| name.as_str()).collect()
}

/// The node of `links`, `links.rate`, `switches.ports` or `run.precision.metric`.
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

/// A node, or the entries of a list or of a table of names.
fn entries(node: &'static Value) -> Vec<&'static Value> {
    let inner = node.get("items").or_else(|| node.get("additionalProperties").filter(|any| any.is_object()));
    inner.map_or_else(|| vec![node], alternatives)
}

/// Every kind that a document may select, with the key that it stands behind.
fn kinds() -> Vec<(&'static str, &'static Value)> {
    let places = [
        ("source", "flows.source"),
        ("discipline", "network.discipline"),
        ("model", "switches.model"),
        ("detection", "backpressure.detection"),
        ("response", "backpressure.response"),
        ("signal", "backpressure.signal"),
    ];
    let at = |(key, path)| by_path(path).into_iter().flat_map(alternatives).map(move |kind| (key, kind));
    places.into_iter().flat_map(at).collect()
}

/// The words that a plain choice offers.
fn words(section: &str, key: &str) -> Vec<&'static str> {
    let node = by_path(&format!("{section}.{key}"));
    node.into_iter().flat_map(word_nodes).filter_map(|node| node["const"].as_str()).collect()
}

fn all_words() -> Vec<(String, &'static Value)> {
    let mut found = Vec::new();
    for section in sections() {
        let tables = by_path(section).into_iter().flat_map(alternatives).flat_map(entries);
        for (key, node) in tables.filter_map(|table| table["properties"].as_object()).flatten() {
            found.extend(word_nodes(node).into_iter().map(|word| (format!("{section}.{key}"), word)));
        }
    }
    found
}

fn word_nodes(node: &'static Value) -> Vec<&'static Value> {
    alternatives(node).into_iter().filter(|node| node["const"].is_string()).collect()
}

/// A node's description, then its parameters, its kinds or its words, one to a line.
fn described(heading: &str, node: &'static Value) -> String {
    let mut text = format!("{heading}\n");
    let description = node.get("description").or_else(|| alternatives(node).first()?.get("description"));
    for line in wrapped(description.and_then(Value::as_str).unwrap_or(""), 90) {
        text.push_str(&format!("  {line}\n"));
    }
    let inner: Vec<&'static Value> = alternatives(node).into_iter().flat_map(entries).filter(|node| !is_null(node)).collect();
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
            text.push_str(&format!("  {}\n", forms(node)));
        }
        text.push_str(&parameters(table));
    } else if node.get("const").is_none() {
        text.push_str(&format!("  {}\n", facts(node, None)));
    }
    text
}

fn parameters(table: &'static Value) -> String {
    let required = |key: &str| table["required"].as_array().is_some_and(|list| list.iter().any(|k| k == key));
    let properties = toml_out::ordered(&table["properties"]);
    let lines = properties.iter().filter(|(key, _)| *key != "kind");
    let lines: String = lines.map(|(key, node)| line(key, &facts(node, Some(required(key))), node)).collect();
    if lines.is_empty() { "\n  no parameters\n".to_owned() } else { format!("\n  parameters:\n{lines}") }
}

/// `    name  (facts)` and the indented description.
fn line(name: &str, facts: &str, node: &Value) -> String {
    let facts = if facts.is_empty() { String::new() } else { format!("  ({facts})") };
    let description = node.get("description").and_then(Value::as_str).unwrap_or("");
    let lines = wrapped(description, 84);
    lines.into_iter().fold(format!("    {name}{facts}\n"), |text, line| format!("{text}        {line}\n"))
}

/// How a parameter is written, its range, and its default.
fn facts(node: &'static Value, required: Option<bool>) -> String {
    let mut facts = vec![forms(node)];
    if let (Some(least), Some(most)) = (node["minimum"].as_number(), node["maximum"].as_number()) {
        facts.push(format!("{least} to {most}"));
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

/// How a value is written: its unit, its type, or the words to choose from.
fn forms(node: &'static Value) -> String {
    let mut forms = Vec::new();
    collect_forms(node, &mut forms);
    match forms.split_last() {
        Some((last, most)) if !most.is_empty() => format!("{} or {last}", most.join(", ")).replace(" kind ", " "),
        _ => forms.concat(),
    }
}

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

fn kind_of(node: &'static Value) -> Option<&'static str> {
    node.get("properties")?.get("kind")?.get("const")?.as_str()
}

fn is_null(node: &Value) -> bool {
    node["type"] == "null"
}

/// Formats that say how a program stores a number, not what a user writes.
const MACHINE_FORMATS: [&str; 7] = ["uint8", "uint16", "uint32", "uint64", "double", "float", "uint"];

/// Lines of at most `width` letters; an empty line starts a new paragraph.
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
