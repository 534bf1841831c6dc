//! Documents as TOML, with keys in the usual order.

use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

/// Keys that come first, in this order; all other keys follow alphabetically.
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

/// Returns the document in sections; `tree` is a table of scalars, tables and lists of tables.
pub(crate) fn document(tree: &Value) -> String {
    let mut document = DocumentMut::new();
    for (key, value) in ordered(tree) {
        let item = match value {
            Value::Object(_) if key == "switches" => Item::Table(tables(value)),
            Value::Object(_) if key == "class-maps" => Item::Table(nested(value)),
            Value::Object(_) => Item::Table(section(value)),
            Value::Array(list) => {
                let mut tables = ArrayOfTables::new();
                for entry in list {
                    tables.push(section(entry));
                }
                Item::ArrayOfTables(tables)
            }
            scalar => Item::Value(inline(scalar)),
        };
        document.insert(key, item);
    }
    document.to_string()
}

/// Returns a single value in TOML, as after a `=`.
pub(crate) fn value(tree: &Value) -> String {
    inline(tree).to_string()
}

/// Returns a table with one value per line.
fn section(tree: &Value) -> Table {
    let mut table = Table::new();
    for (key, value) in ordered(tree) {
        table.insert(key, Item::Value(inline(value)));
    }
    table
}

/// Line width in characters above which a table becomes a section of its own, and a list takes several lines.
const WIDEST: usize = 100;

/// Returns a table with one value per line; long values become subtables, such as
/// `[[switches.ce.ports.sink.discipline.classes]]`.
fn nested(tree: &Value) -> Table {
    let mut table = Table::new();
    for (key, value) in ordered(tree) {
        table.insert(key, fitted(key, value));
    }
    // The header of a table without values of its own is omitted.
    let is_bare = table.iter().all(|(_, item)| item.is_table() || item.is_array_of_tables());
    table.set_implicit(is_bare && !table.is_empty());
    table
}

/// Returns the item of a key: on one line if it fits, otherwise as subtables or as a list of several lines.
fn fitted(key: &str, value: &Value) -> Item {
    let line = inline(value);
    if key.len() + 3 + line.to_string().len() <= WIDEST {
        return Item::Value(line);
    }
    let is_table = |value: &Value| value.as_object().is_some_and(|table| !table.is_empty());
    match (value, line) {
        (Value::Object(_), _) => Item::Table(nested(value)),
        // The alternatives of a match are written as a list of inline tables.
        (Value::Array(list), _) if key != "match" && list.iter().all(is_table) => {
            let mut tables = ArrayOfTables::new();
            for entry in list {
                let mut table = nested(entry);
                table.set_implicit(false);
                tables.push(table);
            }
            Item::ArrayOfTables(tables)
        }
        (_, toml_edit::Value::Array(mut list)) => {
            list.iter_mut().for_each(|entry| entry.decor_mut().set_prefix("\n    "));
            list.set_trailing_comma(true);
            list.set_trailing("\n");
            Item::Value(list.into())
        }
        (_, line) => Item::Value(line),
    }
}

/// Returns a table of sections: `[switches.sw1]`.
fn tables(tree: &Value) -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    for (key, value) in ordered(tree) {
        let mut section = nested(value);
        section.set_implicit(false);
        table.insert(key, Item::Table(section));
    }
    // An implicit table without content would be omitted.
    table.set_implicit(!table.is_empty());
    table
}

/// Returns a value in inline notation.
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
        // Callers leave out nulls, which TOML does not have.
        Value::Null => "".into(),
    }
}

/// Returns a table's entries without nulls: those of `FIRST` in its order, then the others alphabetically. Empty if
/// `tree` is not a table.
pub(crate) fn ordered(tree: &Value) -> Vec<(&str, &Value)> {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let entries = tree.as_object().into_iter().flat_map(Map::iter);
    let mut entries: Vec<_> =
        entries.filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_by_key(|(key, _)| (rank(key), *key));
    entries
}
