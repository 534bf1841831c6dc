//! What a class is about, as a scenario says it.

use super::traffic::Traffic;
use crate::ir::{Config, Match, Policy, Rule};
use crate::{Place, Report};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Turns conditions into those of a scenario; what only addresses or ports tell is resolved on the rows of the table.
pub(super) struct Conditions<'a> {
    pub config: &'a Config,
    pub traffic: &'a Traffic,
    /// Whether code points change on the way, so that all conditions are resolved on what the sources sent.
    pub resolve: bool,
    /// Class maps that are used.
    pub used: BTreeSet<String>,
    /// Conditions about which a row does not say enough.
    unknown: BTreeSet<String>,
}

impl<'a> Conditions<'a> {
    pub fn new(config: &'a Config, traffic: &'a Traffic, resolve: bool) -> Conditions<'a> {
        Conditions { config, traffic, resolve, used: BTreeSet::new(), unknown: BTreeSet::new() }
    }

    /// What the class at `index` in `order` is about, when a scenario asks the classes in that order: what one of its rules is
    /// about, and no earlier rule of a class that is asked later.
    pub fn class(&mut self, policy: &Policy, order: &[&str], index: usize, report: &mut Report) -> Value {
        let later = order.get(index + 1..).unwrap_or_default();
        let own = order.get(index).copied().unwrap_or_default();
        let mut any = Vec::new();
        let mut before: Vec<&Rule> = Vec::new();
        for rule in &policy.rules {
            if rule.class == own {
                let holds = self.condition(&rule.when, rule.at, report);
                let not: Vec<Value> = before.iter().map(|rule| self.condition(&rule.when, rule.at, report)).collect();
                any.push(if not.is_empty() { holds } else { json!({ "all": [{ "not": not }, holds] }) });
            } else if later.contains(&rule.class.as_str()) {
                before.push(rule);
            }
        }
        match (any.pop(), any.is_empty()) {
            (None, _) => json!({ "not": {} }),
            (Some(one), true) => one,
            (Some(last), false) => {
                any.push(last);
                Value::Array(any)
            }
        }
    }

    /// A condition of a scenario.
    pub fn condition(&mut self, when: &Match, at: Place, report: &mut Report) -> Value {
        if self.resolve {
            return self.resolved(when, at, report);
        }
        match when {
            Match::Any => json!({}),
            Match::AnyOf(any) if any.is_empty() => json!({ "not": {} }),
            Match::All(all) if all.is_empty() => json!({}),
            Match::Dscp(values) => json!({ "dscp": values.iter().map(|value| dscp(*value)).collect::<Vec<_>>() }),
            Match::Precedence(values) => json!({ "precedence": values }),
            Match::Experimental(values) => json!({ "exp": values }),
            Match::DsField { value, mask } if mask & 3 == 0 => {
                let codes: Vec<String> = (0..64u8).filter(|code| code << 2 & mask == *value).map(dscp).collect();
                json!({ "dscp": codes })
            }
            Match::ClassMap(name) if self.is_plain(when, 0) => {
                let _ = self.used.insert(name.clone());
                json!(name)
            }
            Match::Not(inner) if self.is_plain(inner, 0) => json!({ "not": self.condition(inner, at, report) }),
            Match::All(all) if self.is_plain(when, 0) => {
                json!({ "all": all.iter().map(|one| self.condition(one, at, report)).collect::<Vec<_>>() })
            }
            Match::AnyOf(any) if self.is_plain(when, 0) => {
                Value::Array(any.iter().map(|one| self.condition(one, at, report)).collect())
            }
            _ => self.resolved(when, at, report),
        }
    }

    /// Whether code points alone decide.
    fn is_plain(&self, when: &Match, depth: usize) -> bool {
        match when {
            Match::Any | Match::Dscp(_) | Match::Precedence(_) | Match::Experimental(_) => true,
            Match::DsField { mask, .. } => mask & 3 == 0,
            Match::Not(inner) => self.is_plain(inner, depth),
            Match::All(all) | Match::AnyOf(all) => all.iter().all(|one| self.is_plain(one, depth)),
            // As deep as routers nest; deeper ones are resolved.
            Match::ClassMap(name) if depth < 4 => self.config.class_map(name).is_some_and(|map| {
                !map.conditions.is_empty() && map.conditions.iter().all(|one| self.is_plain(one, depth + 1))
            }),
            _ => false,
        }
    }

    /// The groups of flows of which a condition holds.
    fn resolved(&mut self, when: &Match, at: Place, report: &mut Report) -> Value {
        let mut groups = Vec::new();
        for row in &self.traffic.rows {
            match when.holds(&row.header, self.config) {
                Some(true) => groups.push(row.name.clone()),
                Some(false) => {}
                None => {
                    let text = format!("{when:?} {}", row.name);
                    if self.unknown.insert(text) {
                        let message = format!("the row `{}` does not say enough to judge {}", row.name, plain(when));
                        if marked(when) {
                            let advice = "it is taken not to hold: add a column `mark` to the table, or the firewall's lines \
                                          that set marks to the script";
                            report.unsupported(at, message, Some(advice));
                            continue;
                        }
                        report.warning(
                            at,
                            message,
                            "it is taken not to hold: add protocol, source, destination and ports to the table",
                        );
                    }
                }
            }
        }
        if groups.is_empty() { json!({ "not": {} }) } else { json!({ "flows": groups }) }
    }

    /// The class maps that are used, for `[class-maps]`.
    pub fn maps(&mut self, report: &mut Report) -> serde_json::Map<String, Value> {
        let mut made = serde_json::Map::new();
        // Maps name others, which are then used too.
        while let Some(name) = self.used.iter().find(|name| !made.contains_key(*name)).cloned() {
            let Some(map) = self.config.class_map(&name) else { break };
            let conditions: Vec<Value> = map.conditions.iter().map(|one| self.condition(one, map.at, report)).collect();
            let value = match (conditions.as_slice(), map.all) {
                ([one], _) => one.clone(),
                (all, true) => json!({ "all": all }),
                (any, false) => json!(any),
            };
            let _ = made.insert(name, value);
        }
        made
    }
}

/// A code point as documents write it.
pub(super) fn dscp(code: u8) -> String {
    tailback_diffserv::Dscp::new(code).map_or_else(|| code.to_string(), |dscp| dscp.to_string())
}

/// Whether it asks for a firewall mark.
fn marked(when: &Match) -> bool {
    match when {
        Match::FirewallMark { .. } => true,
        Match::Not(inner) => marked(inner),
        Match::All(all) | Match::AnyOf(all) => all.iter().any(marked),
        _ => false,
    }
}

fn plain(when: &Match) -> String {
    match when {
        Match::AccessList(name) => format!("the access list `{name}`"),
        Match::Protocol(name) => format!("the protocol `{name}`"),
        Match::ClassMap(name) => format!("the class map `{name}`"),
        Match::Cos(_) => "the class of service".to_owned(),
        Match::QosGroup(_) => "the QoS group".to_owned(),
        Match::FirewallMark { .. } => "the firewall mark".to_owned(),
        Match::InputInterface(name) => format!("the input interface `{name}`"),
        _ => "protocol, addresses and ports".to_owned(),
    }
}
