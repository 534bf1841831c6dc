//! Conditions of a configuration in the notation of a scenario.

use super::traffic::Traffic;
use crate::ir::{Config, Match, Policy, Rule};
use crate::{Place, Report};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Compiler of conditions. Conditions on other fields than the DSCP are resolved: they become the list of rows of the
/// traffic table that meet them.
pub(super) struct Conditions<'a> {
    pub config: &'a Config,
    pub traffic: &'a Traffic,
    /// `true` if the policy sets DSCPs: all conditions are then resolved, with the headers that the rows have before
    /// the policy.
    pub resolve: bool,
    /// Names of the class maps to which the scenario refers.
    pub used: BTreeSet<String>,
    /// Conditions that cannot be evaluated for some rows, by their description: place, and indices of the rows.
    unknown: BTreeMap<String, (Place, BTreeSet<usize>)>,
    /// Names of the rows without an MPLS traffic class on which a condition depends.
    unlabelled: BTreeSet<String>,
}

impl<'a> Conditions<'a> {
    pub fn new(config: &'a Config, traffic: &'a Traffic, resolve: bool) -> Conditions<'a> {
        Conditions {
            config,
            traffic,
            resolve,
            used: BTreeSet::new(),
            unknown: BTreeMap::new(),
            unlabelled: BTreeSet::new(),
        }
    }

    /// Returns the condition of the class at `index` in `order`, the order of the classes in the scenario: one of the
    /// class's rules matches, and no earlier rule of a class that is later in `order`.
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

    /// Returns a condition in the notation of a scenario.
    pub fn condition(&mut self, when: &Match, at: Place, report: &mut Report) -> Value {
        if self.resolve {
            return self.resolved(when, at);
        }
        match when {
            Match::Any => json!({}),
            Match::AnyOf(any) if any.is_empty() => json!({ "not": {} }),
            Match::All(all) if all.is_empty() => json!({}),
            Match::Dscp(values) => json!({ "dscp": values.iter().map(|value| dscp(*value)).collect::<Vec<_>>() }),
            Match::Precedence(values) => json!({ "precedence": values }),
            Match::DsField { value, mask } if mask & 3 == 0 => {
                let codes: Vec<String> = (0..64u8).filter(|code| code << 2 & mask == *value).map(dscp).collect();
                json!({ "dscp": codes })
            }
            Match::DsField { .. } => {
                let message = "a condition on the ECN bits, which may change on the path, is assumed not to hold";
                report.unsupported(at, message, None);
                json!({ "not": {} })
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
            _ => self.resolved(when, at),
        }
    }

    /// `true` if a condition depends only on DSCPs.
    fn is_plain(&self, when: &Match, depth: usize) -> bool {
        match when {
            Match::Any | Match::Dscp(_) | Match::Precedence(_) => true,
            Match::DsField { mask, .. } => mask & 3 == 0,
            Match::Not(inner) => self.is_plain(inner, depth),
            Match::All(all) | Match::AnyOf(all) => all.iter().all(|one| self.is_plain(one, depth)),
            // Deeper nesting than that of routers is resolved.
            Match::ClassMap(name) if depth < 4 => self.config.class_map(name).is_some_and(|map| {
                !map.conditions.is_empty() && map.conditions.iter().all(|one| self.is_plain(one, depth + 1))
            }),
            _ => false,
        }
    }

    /// Reports conditions that cannot be evaluated for some rows, once each.
    pub fn settle(&mut self, report: &mut Report) {
        for (text, (at, rows)) in core::mem::take(&mut self.unknown) {
            let names = rows.into_iter().filter_map(|index| Some(self.traffic.rows.get(index)?.name.clone()));
            report_unknown(report, at, &names.collect::<Vec<_>>(), &text);
        }
        let names: Vec<&str> = self.unlabelled.iter().map(String::as_str).collect();
        if !names.is_empty() {
            let message =
                format!("{} to have the precedence as MPLS traffic class", rows(&names, "is assumed", "are assumed"));
            report.assumed(Place::default(), message, "add a column `exp` to the traffic table");
        }
        self.unlabelled.clear();
    }

    /// `true` if a condition depends on the MPLS traffic class.
    fn depends_on_labels(&self, when: &Match, depth: usize) -> bool {
        match when {
            Match::Experimental(_) => true,
            Match::Not(inner) => self.depends_on_labels(inner, depth),
            Match::All(all) | Match::AnyOf(all) => all.iter().any(|one| self.depends_on_labels(one, depth)),
            Match::ClassMap(name) if depth < 4 => self
                .config
                .class_map(name)
                .is_some_and(|map| map.conditions.iter().any(|one| self.depends_on_labels(one, depth + 1))),
            _ => false,
        }
    }

    /// Returns a condition as the names of the groups of flows for which it holds.
    fn resolved(&mut self, when: &Match, at: Place) -> Value {
        let mut groups = Vec::new();
        for (index, row) in self.traffic.rows.iter().enumerate() {
            match when.holds(&row.header, self.config) {
                Some(true) => groups.push(row.name.clone()),
                Some(false) => {}
                None => {
                    let (_, rows) = self.unknown.entry(plain(when)).or_insert_with(|| (at, BTreeSet::new()));
                    let _ = rows.insert(index);
                }
            }
        }
        if self.depends_on_labels(when, 0) {
            let without = self.traffic.rows.iter().filter(|row| row.header.experimental.is_none());
            self.unlabelled.extend(without.map(|row| row.name.clone()));
        }
        if groups.is_empty() { json!({ "not": {} }) } else { json!({ "flows": groups }) }
    }

    /// Returns the class maps that are used, for `[class-maps]`.
    pub fn maps(&mut self, report: &mut Report) -> serde_json::Map<String, Value> {
        let mut made = serde_json::Map::new();
        // A class map may refer to others, which are used then, too.
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

/// Formats a DSCP in the notation of documents.
pub(super) fn dscp(code: u8) -> String {
    tailback_diffserv::Dscp::new(code).map_or_else(|| code.to_string(), |dscp| dscp.to_string())
}

/// Formats a subject such as "the row `a` is" or "the rows `a`, `b` and 3 more are"; `one` and `several` are the verbs.
pub(super) fn rows(names: &[&str], one: &str, several: &str) -> String {
    const NAMED: usize = 12;
    let quoted: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match (names.len(), names.len().saturating_sub(NAMED)) {
        (1, _) => format!("the row {} {one}", quoted.join("")),
        (_, 0) => format!("the rows {} {several}", quoted.join(", ")),
        (_, more) => format!("the rows {} and {more} more {several}", quoted.join(", ")),
    }
}

/// Description of a condition on the firewall mark.
const MARK: &str = "the firewall mark";

/// Reports a condition that cannot be evaluated for some rows.
pub(super) fn report_unknown(report: &mut Report, at: Place, names: &[String], condition: &str) {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("{} not state enough to evaluate {condition}", rows(&names, "does", "do"));
    if condition == MARK {
        // Rules set marks, so that a script with conditions on them is incomplete without those rules.
        let advice = "it is assumed not to hold: add a column `mark` to the traffic table, or the commands that set marks to \
                      the script";
        return report.unsupported(at, message, Some(advice));
    }
    let advice = "it is assumed not to hold: add the fields that it tests to the traffic table (protocol, source, destination, \
                  ports, application, match, vlan, cos, input)";
    report.assumed(at, message, advice);
}

/// `true` if a condition depends on a firewall mark.
fn marked(when: &Match) -> bool {
    match when {
        Match::FirewallMark { .. } => true,
        Match::Not(inner) => marked(inner),
        Match::All(all) | Match::AnyOf(all) => all.iter().any(marked),
        _ => false,
    }
}

/// Returns a description of a condition by the fields that it tests.
pub(super) fn plain(when: &Match) -> String {
    match when {
        when if marked(when) => MARK.to_owned(),
        Match::TrafficClass(_) => "the traffic class".to_owned(),
        Match::Vlan(_) => "the VLAN".to_owned(),
        Match::AccessList(name) => format!("the access list `{name}`"),
        Match::Protocol(name) => format!("the protocol `{name}`"),
        Match::ClassMap(name) => format!("the class map `{name}`"),
        Match::Cos(_) => "the class of service".to_owned(),
        Match::QosGroup(_) => "the QoS group".to_owned(),
        Match::InputInterface(name) => format!("the input interface `{name}`"),
        _ => "protocol, addresses and ports".to_owned(),
    }
}
