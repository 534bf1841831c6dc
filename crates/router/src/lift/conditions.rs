//! Conversion of a scenario's conditions into those of a configuration.

use super::state::{Lifting, MAX_DEPTH, NOWHERE};
use super::values::text;
use crate::ir::{ClassMap, Match};
use serde_json::Value;
use tailback_diffserv::Dscp;

impl Lifting<'_> {
    /// Converts a condition of the scenario. With `class`, the result refers to a class map, as MQC requires: the one
    /// that the scenario names, or else a new one with the name `class`.
    pub(super) fn condition(&mut self, when: &Value, class: Option<&str>) -> Match {
        let made = self.plain(when, 0);
        let Some(class) = class else { return made };
        if let Match::ClassMap(_) = made {
            return made;
        }
        let (all, conditions) = match made {
            Match::All(all) => (true, all),
            Match::AnyOf(any) => (false, any),
            one => (true, vec![one]),
        };
        self.map(class, all, conditions);
        Match::ClassMap(class.to_owned())
    }

    /// Adds a class map, and one for each nested conjunction or disjunction.
    fn map(&mut self, name: &str, all: bool, conditions: Vec<Match>) {
        let mut flat = Vec::new();
        for (index, condition) in conditions.into_iter().enumerate() {
            let inner = format!("{name}-{}", index + 1);
            flat.push(self.flat(condition, &inner));
        }
        if self.config.class_map(name).is_none() {
            self.config.class_maps.push(ClassMap { name: name.to_owned(), all, conditions: flat, at: NOWHERE });
        }
    }

    /// Returns a condition in which class maps replace nested conjunctions and disjunctions; their names begin with
    /// `name`.
    fn flat(&mut self, condition: Match, name: &str) -> Match {
        match condition {
            Match::All(all) => {
                self.map(name, true, all);
                Match::ClassMap(name.to_owned())
            }
            Match::AnyOf(any) => {
                self.map(name, false, any);
                Match::ClassMap(name.to_owned())
            }
            Match::Not(inner) => match self.flat(*inner, name) {
                Match::Not(twice) => *twice,
                one => Match::Not(Box::new(one)),
            },
            one => one,
        }
    }

    /// Converts a condition of the scenario with its nesting; `depth` is that of the condition.
    fn plain(&mut self, when: &Value, depth: usize) -> Match {
        if depth > MAX_DEPTH {
            self.not_exported(format!("conditions nested more than {MAX_DEPTH} deep are not exported"));
            return Match::AnyOf(Vec::new());
        }
        match when {
            Value::String(name) => {
                self.named(name, depth);
                Match::ClassMap(name.clone())
            }
            Value::Array(any) => one_or(any.iter().map(|one| self.plain(one, depth + 1)).collect(), Match::AnyOf),
            Value::Object(table) => {
                let mut all = Vec::new();
                for (key, value) in table {
                    if let Some(one) = self.key(key, value, depth) {
                        all.push(one);
                    }
                }
                if all.is_empty() { Match::Any } else { one_or(all, Match::All) }
            }
            _ => Match::Any,
        }
    }

    /// Converts the class map of that name, unless it has been converted.
    fn named(&mut self, name: &str, depth: usize) {
        if self.config.class_map(name).is_some() {
            return;
        }
        let Some(inner) = self.document.get("class-maps").and_then(|maps| maps.get(name)) else { return };
        let inner = inner.clone();
        let (all, conditions) = match self.plain(&inner, depth + 1) {
            Match::All(all) => (true, all),
            Match::AnyOf(any) => (false, any),
            one => (true, vec![one]),
        };
        self.map(name, all, conditions);
    }

    /// Converts one key of a condition; `None`: it has no counterpart, which is reported.
    fn key(&mut self, key: &str, value: &Value, depth: usize) -> Option<Match> {
        let each = |value: &Value| match value {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let numbers = || -> Vec<u8> {
            each(value).iter().filter_map(Value::as_u64).filter_map(|n| u8::try_from(n).ok()).collect()
        };
        Some(match key {
            "dscp" => {
                let code = |value: &Value| match value {
                    Value::String(text) => text.parse::<Dscp>().ok().map(Dscp::codepoint),
                    other => other.as_u64().and_then(|n| u8::try_from(n).ok()),
                };
                let codes: Vec<u8> = each(value).iter().filter_map(code).collect();
                // A line of a class map has at most eight values.
                let lines: Vec<Match> = codes.chunks(8).map(|codes| Match::Dscp(codes.to_vec())).collect();
                one_or(lines, Match::AnyOf)
            }
            "precedence" => Match::Precedence(numbers()),
            "exp" => Match::Experimental(numbers()),
            "not" => Match::Not(Box::new(self.plain(value, depth + 1))),
            "all" => one_or(each(value).iter().map(|one| self.plain(one, depth + 1)).collect(), Match::All),
            "any" => one_or(each(value).iter().map(|one| self.plain(one, depth + 1)).collect(), Match::AnyOf),
            "flows" => {
                let names: Vec<String> = each(value).iter().filter_map(Value::as_str).map(str::to_owned).collect();
                self.flows(&names)
            }
            other => {
                self.not_exported(format!("conditions on `{other}` are not exported"));
                return None;
            }
        })
    }

    /// Converts a condition on groups of flows into one on their DSCPs. Other groups with these DSCPs are reported.
    fn flows(&mut self, names: &[String]) -> Match {
        let (mut codes, mut others) = (Vec::new(), Vec::new());
        for flow in self.document.get("flows").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = text(flow, "name") else { continue };
            let code =
                text(flow, "dscp").and_then(|text| text.parse::<Dscp>().ok()).unwrap_or(Dscp::DEFAULT).codepoint();
            if !names.iter().any(|own| own == name) {
                others.push((name, code));
            } else if !codes.contains(&code) {
                codes.push(code);
            }
        }
        let alike: Vec<&str> = others.iter().filter(|(_, code)| codes.contains(code)).map(|(name, _)| *name).collect();
        let message = format!("the groups of flows {} are matched by their DSCPs", names.join(", "));
        if alike.is_empty() {
            self.report.warning(NOWHERE, message, "a router has no groups of flows");
        } else {
            let message = format!("{message}, which other groups have as well: {}", alike.join(", "));
            let advice = "with --original, write the values into the text that the scenario was imported from; or give each group a DSCP of \
                          its own";
            self.report.unsupported(NOWHERE, message, Some(advice));
        }
        one_or(codes.chunks(8).map(|codes| Match::Dscp(codes.to_vec())).collect(), Match::AnyOf)
    }
}

/// Returns the only condition, or `several` of all.
fn one_or(mut all: Vec<Match>, several: fn(Vec<Match>) -> Match) -> Match {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => one,
        (Some(last), false) => {
            all.push(last);
            several(all)
        }
        (None, _) => several(all),
    }
}
