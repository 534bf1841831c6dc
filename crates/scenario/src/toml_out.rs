//! A document as TOML, in the order in which people write one.

use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

/// Keys that come first, in this order; the others follow by name.
const FIRST: &[&str] = &[
    "tailback",
    "title",
    "description",
    "run",
    "network",
    "backpressure",
    "hosts",
    "switches",
    "links",
    "flows",
    "timeline",
    "kind",
    "name",
    "at",
    "between",
    "link",
    "flow",
    "switch",
    "from",
    "to",
    "pair",
    "class",
    "scope",
    "detection",
    "high",
    "low",
    "duration",
    "warmup",
    "seed",
    "replications",
    "confidence",
    "classes",
    "routing",
    "framing",
    "count",
    "buffer",
    "discipline",
    "model",
    "mtu",
    "header",
    "rate",
    "delay",
    "length",
    "start",
    "stop",
    "source",
];

/// The document in sections; `tree` is a table of scalars, tables and lists of tables.
pub(crate) fn document(tree: &Value) -> String {
    let mut document = DocumentMut::new();
    for (key, value) in ordered(tree) {
        let item = match value {
            Value::Object(_) if key == "switches" => Item::Table(tables(value)),
            Value::Object(_) => Item::Table(section(value)),
            Value::Array(list) => {
                let mut tables = ArrayOfTables::new();
                list.iter().for_each(|entry| tables.push(section(entry)));
                Item::ArrayOfTables(tables)
            }
            scalar => Item::Value(inline(scalar)),
        };
        document.insert(key, item);
    }
    document.to_string()
}

/// A single value as it stands behind a `=`.
pub(crate) fn value(tree: &Value) -> String {
    inline(tree).to_string()
}

/// A table whose values stand on one line each.
fn section(tree: &Value) -> Table {
    let mut table = Table::new();
    for (key, value) in ordered(tree) {
        table.insert(key, Item::Value(inline(value)));
    }
    table
}

/// A table of sections: `[switches.sw1]`.
fn tables(tree: &Value) -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    for (key, value) in ordered(tree) {
        table.insert(key, Item::Table(section(value)));
    }
    // An implicit table without content would not be written at all.
    table.set_implicit(!table.is_empty());
    table
}

fn inline(tree: &Value) -> toml_edit::Value {
    match tree {
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap_or(f64::NAN).into(), Into::into),
        Value::String(s) => s.as_str().into(),
        Value::Array(list) => list.iter().map(inline).collect::<Array>().into(),
        Value::Object(_) => {
            let mut table = InlineTable::new();
            for (key, value) in ordered(tree) {
                table.insert(key, inline(value));
            }
            table.into()
        }
        // The callers leave nulls out; TOML has none.
        Value::Null => "".into(),
    }
}

/// A table's entries without nulls, the well-known keys first.
pub(crate) fn ordered(tree: &Value) -> Vec<(&str, &Value)> {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let entries = tree.as_object().into_iter().flat_map(Map::iter);
    let mut entries: Vec<_> =
        entries.filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_by_key(|(key, _)| (rank(key), *key));
    entries
}
