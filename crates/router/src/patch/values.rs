//! A port of a scenario as a flat list of values, for comparison value by value.

use serde_json::Value;
use std::collections::BTreeMap;
use tailback_units::{Amount, parse_amount, parse_duration, parse_fraction, parse_rate};

/// Unit of a number in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Rate in bit/s.
    Rate,
    /// Number of bytes.
    Bytes,
    /// Number of packets.
    Packets,
    /// Time in microseconds.
    Time,
    /// A number without a unit, such as a fraction, a level or a probability.
    Number,
}

/// A value of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaf {
    /// A number with its unit.
    Quantity(Unit, f64),
    /// A condition on packets.
    Condition(Value),
    /// Another value: a kind, a name, `true` or `false`.
    Text(String),
}

/// Values by path, such as `discipline.classes[VOICE].limit`.
pub(super) type Values = BTreeMap<String, Leaf>;

/// Returns the values of a port of a scenario in its canonical form, with the link rate and the class maps; `None`:
/// there is no such port.
pub(super) fn of(document: &Value, node: &str, neighbour: &str) -> Option<Values> {
    let table = document.get("switches")?.get(node)?.get("ports")?.get(neighbour)?;
    let mut found = Values::new();
    flatten(table, "", &mut found);
    if let Some(rate) = line_rate(document, node, neighbour) {
        let _ = found.insert("line.rate".to_owned(), Leaf::Quantity(Unit::Rate, rate as f64));
    }
    for (name, condition) in document.get("class-maps").and_then(Value::as_object).into_iter().flatten() {
        let _ = found.insert(format!("class-maps.{name}"), Leaf::Condition(condition.clone()));
    }
    Some(found)
}

/// Returns the rate in bit/s of the link from a node to its neighbour; `None`: there is no such link, or no rate.
pub(super) fn line_rate(document: &Value, node: &str, neighbour: &str) -> Option<u64> {
    document.get("links")?.as_array()?.iter().find_map(|link| {
        let ends: Vec<&str> = link.get("between")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let rates: Vec<&str> = match link.get("rate")? {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let index = match ends.as_slice() {
            [a, b] if *a == node && *b == neighbour => 0,
            [a, b] if *b == node && *a == neighbour => rates.len().saturating_sub(1),
            _ => return None,
        };
        parse_rate(rates.get(index)?).ok().map(|rate| rate.0)
    })
}

/// Adds the values of a part of the document, by path.
fn flatten(value: &Value, path: &str, found: &mut Values) {
    let key = path.rsplit(['.', ']']).next().unwrap_or_default();
    if key == "match" && !value.is_null() {
        let _ = found.insert(path.to_owned(), Leaf::Condition(value.clone()));
        return;
    }
    match value {
        Value::Null => {}
        Value::Object(table) => {
            for (key, inner) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(inner, &path, found);
            }
        }
        Value::Array(list) => {
            let names: Vec<Option<&str>> = list.iter().map(|one| one.get("name").and_then(Value::as_str)).collect();
            let unique = names.iter().enumerate().all(|(index, name)| {
                name.is_some() && names.iter().skip(index + 1).take(MAX_NAMED).all(|other| other != name)
            });
            // The names of the elements, in order: their number and order are in no other value.
            let order = |index: usize| names.get(index).copied().flatten().unwrap_or("-");
            let all: Vec<&str> = (0..list.len()).map(order).collect();
            let _ = found.insert(format!("{path}[]"), Leaf::Text(all.join(", ")));
            for (index, inner) in list.iter().enumerate() {
                let path = if unique { format!("{path}[{}]", order(index)) } else { format!("{path}[{index}]") };
                flatten(inner, &path, found);
            }
        }
        Value::Number(number) => {
            let _ = found.insert(path.to_owned(), Leaf::Quantity(Unit::Number, number.as_f64().unwrap_or(f64::NAN)));
        }
        Value::String(text) => {
            let _ = found.insert(path.to_owned(), quantity(text, key).unwrap_or_else(|| Leaf::Text(text.clone())));
        }
        Value::Bool(is) => {
            let _ = found.insert(path.to_owned(), Leaf::Text(is.to_string()));
        }
    }
}

/// Maximum distance of list elements whose names are compared, so that long lists take linear time; it exceeds the
/// number of classes of a port.
const MAX_NAMED: usize = 1100;

/// Parses a number with a unit; `None`: another text, or a key whose values are names.
fn quantity(text: &str, key: &str) -> Option<Leaf> {
    if matches!(key, "name" | "parent" | "default" | "kind") {
        return None;
    }
    if let Ok(fraction) = parse_fraction(text) {
        return Some(Leaf::Quantity(Unit::Number, fraction));
    }
    if let Ok(rate) = parse_rate(text) {
        return Some(Leaf::Quantity(Unit::Rate, rate.0 as f64));
    }
    if let Ok(time) = parse_duration(text) {
        return Some(Leaf::Quantity(Unit::Time, time.0 as f64 / 1e6));
    }
    Some(match parse_amount(text).ok()? {
        Amount::Bytes(n) => Leaf::Quantity(Unit::Bytes, n as f64),
        Amount::Millipackets(n) => Leaf::Quantity(Unit::Packets, n as f64 / 1000.0),
    })
}

impl Leaf {
    /// `true` if the values are equal, numbers up to a relative difference of 10^-9.
    pub fn same(&self, other: &Leaf) -> bool {
        match (self, other) {
            (Leaf::Quantity(a, x), Leaf::Quantity(b, y)) => a == b && (x - y).abs() <= 1e-9 * x.abs().max(y.abs()),
            _ => self == other,
        }
    }
    /// Formats the value for messages, a number with its unit.
    pub fn text(&self) -> String {
        match self {
            Leaf::Quantity(Unit::Rate, n) => format!("{n} bit/s"),
            Leaf::Quantity(Unit::Bytes, n) => format!("{n} B"),
            Leaf::Quantity(Unit::Packets, n) => format!("{n} packets"),
            Leaf::Quantity(Unit::Time, n) => format!("{n} us"),
            Leaf::Quantity(Unit::Number, n) => n.to_string(),
            Leaf::Condition(condition) => condition.to_string(),
            Leaf::Text(text) => text.clone(),
        }
    }
}

/// Returns the paths at which two ports differ, with both values.
pub(super) fn differences<'a>(
    old: &'a Values,
    new: &'a Values,
) -> BTreeMap<&'a str, (Option<&'a Leaf>, Option<&'a Leaf>)> {
    let mut found = BTreeMap::new();
    for path in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(path), new.get(path));
        let same = match (before, after) {
            (Some(before), Some(after)) => before.same(after),
            _ => before.is_none() && after.is_none(),
        };
        if !same {
            let _ = found.insert(path.as_str(), (before, after));
        }
    }
    found
}

/// Returns a condition without lists of flows: an import replaces conditions on addresses, ports and protocols by the
/// flows of the traffic table that meet them.
pub(super) fn without_flows(condition: &Value) -> Value {
    match condition {
        Value::Object(table) if table.len() == 1 => match table.iter().next() {
            Some((key, _)) if key == "flows" => Value::Null,
            Some((key, Value::Object(inner))) if key == "not" && inner.is_empty() => Value::Null,
            Some((key, inner)) => {
                let mut made = serde_json::Map::new();
                let _ = made.insert(key.clone(), without_flows(inner));
                Value::Object(made)
            }
            None => Value::Null,
        },
        Value::Object(table) => {
            Value::Object(table.iter().map(|(key, inner)| (key.clone(), without_flows(inner))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_flows).collect()),
        other => other.clone(),
    }
}
