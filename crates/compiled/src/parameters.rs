//! Parameters of a component, which it reads one by one when an instance is made.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use tailback_document::{listed, suggest};
use tailback_units::{parse_bytes, parse_duration, parse_rate};

/// Unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A number.
    Number,
    /// A duration such as "5ms"; the value is picoseconds.
    Duration,
    /// A rate such as "10Mbit/s"; the value is bit/s.
    Rate,
    /// A size such as "9kB"; the value is bytes.
    Size,
    /// `true` or `false`; the value is 1 or 0.
    Flag,
}

impl Unit {
    /// Units in the order of their numbers in the interface.
    const ALL: [Unit; 5] = [Unit::Number, Unit::Duration, Unit::Rate, Unit::Size, Unit::Flag];
}

/// The table `parameters` of a component, and the names that it has requested.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    values: Map<String, Value>,
    known: BTreeSet<String>,
}

impl Parameters {
    /// Returns the parameters before any is read.
    pub fn new(values: &Map<String, Value>) -> Parameters {
        Parameters { values: values.clone(), known: BTreeSet::new() }
    }

    /// Returns the value of a parameter in the unit with this number; `default` if the table does not have it.
    ///
    /// # Errors
    /// If there is no such unit, or if the value is of another kind.
    pub fn number(&mut self, name: &str, unit: u32, default: f64) -> Result<f64, String> {
        let unit = Unit::ALL.get(unit as usize).ok_or_else(|| format!("no unit has the number {unit}"))?;
        let Some(value) = self.value(name) else { return Ok(default) };
        let refused = |form: &str| format!("`{name}` is {value}; write {form}");
        match (unit, value) {
            (Unit::Number, Value::Number(number)) => number.as_f64().ok_or_else(|| refused("a number")),
            (Unit::Number, _) => Err(refused("a number")),
            (Unit::Flag, Value::Bool(flag)) => Ok(f64::from(u8::from(*flag))),
            (Unit::Flag, _) => Err(refused("true or false")),
            (Unit::Duration, Value::String(text)) => named(name, parse_duration(text).map(|found| found.0)),
            (Unit::Rate, Value::String(text)) => named(name, parse_rate(text).map(|found| found.0)),
            (Unit::Size, Value::String(text)) => named(name, parse_bytes(text)),
            (Unit::Duration, _) => Err(refused("a duration such as \"5ms\"")),
            (Unit::Rate, _) => Err(refused("a rate such as \"10Mbit/s\"")),
            (Unit::Size, _) => Err(refused("a size such as \"9kB\"")),
        }
    }

    /// Returns a parameter that is text; `None`: the table does not have it.
    ///
    /// # Errors
    /// If the value is no text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value) => Err(format!("`{name}` is {value}; write a text")),
        }
    }

    /// Refuses parameters that have not been requested.
    ///
    /// # Errors
    /// If there is one; the message names it and the nearest known one.
    pub fn check_known(&self) -> Result<(), String> {
        let Some(name) = self.values.keys().find(|name| !self.known.contains(*name)) else { return Ok(()) };
        let known = || self.known.iter().map(String::as_str);
        Err(match suggest(name, known()) {
            Some(near) => format!("there is no parameter `{name}`; did you mean `{near}`?"),
            None => format!("there is no parameter `{name}`; the parameters are {}", listed(known())),
        })
    }

    /// Returns the value of a parameter, and notes that it is known.
    fn value(&mut self, name: &str) -> Option<&Value> {
        self.known.insert(name.to_owned());
        self.values.get(name)
    }
}

/// Returns a quantity as a real, or the error with the name of the parameter.
fn named<E: core::fmt::Display>(name: &str, found: Result<u64, E>) -> Result<f64, String> {
    found.map(|value| value as f64).map_err(|error| format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(value: Value) -> Parameters {
        Parameters::new(value.as_object().expect("the test writes a table"))
    }

    #[test]
    fn each_unit_has_its_form() {
        let mut one =
            parameters(json!({ "gain": 0.5, "wait": "5ms", "rate": "10Mbit/s", "limit": "9kB", "ecn": true }));
        let found = [("gain", 0), ("wait", 1), ("rate", 2), ("limit", 3), ("ecn", 4), ("other", 0)];
        let found = found.map(|(name, unit)| one.number(name, unit, -1.0));
        assert_eq!(found, [Ok(0.5), Ok(5e9), Ok(1e7), Ok(9e3), Ok(1.0), Ok(-1.0)]);
        assert_eq!(one.text("wait"), Ok(Some("5ms".to_owned())));
        assert_eq!(one.text("missing"), Ok(None));
        assert_eq!(one.check_known(), Ok(()));
    }

    #[test]
    fn a_value_of_another_kind_is_refused_with_its_name() {
        let mut one = parameters(json!({ "gain": "5", "wait": 5, "bad": "5 parsecs" }));
        let errors = [("gain", 0), ("wait", 1), ("wait", 2), ("wait", 3), ("wait", 4), ("bad", 1), ("gain", 5)];
        let errors = errors.map(|(name, unit)| one.number(name, unit, 0.0).expect_err("it is refused"));
        assert_eq!(errors[0], "`gain` is \"5\"; write a number");
        assert_eq!(errors[1], "`wait` is 5; write a duration such as \"5ms\"");
        assert_eq!(errors[2], "`wait` is 5; write a rate such as \"10Mbit/s\"");
        assert_eq!(errors[3], "`wait` is 5; write a size such as \"9kB\"");
        assert_eq!(errors[4], "`wait` is 5; write true or false");
        assert!(errors[5].starts_with("`bad`: "), "{}", errors[5]);
        assert_eq!(errors[6], "no unit has the number 5");
        assert_eq!(one.text("wait"), Err("`wait` is 5; write a text".to_owned()));
    }

    #[test]
    fn a_parameter_that_the_component_does_not_read_is_refused() {
        let mut one = parameters(json!({ "intervall": "5ms" }));
        assert_eq!(one.check_known(), Err("there is no parameter `intervall`; the parameters are (none)".to_owned()));
        assert_eq!(one.number("interval", 1, 7.0), Ok(7.0));
        assert_eq!(one.check_known(), Err("there is no parameter `intervall`; did you mean `interval`?".to_owned()));
    }
}
