//! Input policies. The fields that they set determine the output class of packets; packets that their policers drop
//! never enter a queue.
//!
//! A packet is classified by the input policy as it arrived, then marked and policed, and then classified by the output
//! policy (Cisco IOS Quality of Service Solutions Configuration Guide, "Order of QoS features"). Marks are known for
//! each row of the table and are written there; policers become conditioners before those of the output policy.

use super::Traffic;
use super::state::Lower;
use crate::ir::{Act, Config, Header, Mark, Policy, Port, Queue, same_interface};
use crate::{Place, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Upper bound on the nesting of input policies. Each classifier and filter of Junos is a policy, and so are the terms
/// after each `next term`.
const MAX_DEPTH: usize = 16;

/// Input interfaces of the traffic, and the policers that meter it there.
#[derive(Debug, Default)]
pub(super) struct Inputs<'a> {
    /// Interfaces, without duplicates.
    pub ports: Vec<&'a Port>,
    /// `true` if the default input policy applies to a row, because its interface has none or is unknown.
    pub uses_default: bool,
    /// Policers with their rows.
    policed: Vec<Policed<'a>>,
}

/// A policer, and the groups of flows that it meters.
#[derive(Debug)]
struct Policed<'a> {
    policy: &'a Policy,
    /// Index of the policer's class in the policy.
    class: usize,
    /// Name of the input interface.
    port: &'a str,
    /// Reference rate of percentages in bit/s; `None`: unknown.
    rate: Option<u64>,
    /// Names of the rows.
    groups: Vec<String>,
}

/// Determines the input interface of each row, and applies the marks of its policy to the row. `output` is the output
/// port; `may_be_own`: if no other port has an input policy, that of the output port applies.
pub(super) fn apply<'a>(
    config: &'a Config,
    output: &Port,
    may_be_own: bool,
    traffic: &mut Traffic,
    report: &mut Report,
) -> Inputs<'a> {
    let mut found = Inputs::default();
    let mut unknown: BTreeMap<String, (Place, Vec<String>)> = BTreeMap::new();
    let from = interfaces(config, output, may_be_own, traffic, report);
    let default = config.arrival.as_deref().and_then(|name| config.policy(name));
    for (row, port) in traffic.rows.iter_mut().zip(from) {
        if let Some(port) = port {
            row.header.input = Some(port.name.clone());
        }
        let own = port.filter(|port| port.input.is_some());
        let own = own.and_then(|port| Some((port, config.policy(port.input.as_deref()?)?)));
        let Some(policy) = own.map(|(_, policy)| policy).or(default) else { continue };
        match own {
            Some((port, _)) if found.ports.iter().all(|other| other.name != port.name) => found.ports.push(port),
            Some(_) => {}
            None => found.uses_default = true,
        }
        let arrived = row.header.clone();
        let mut next = Some(policy);
        for _ in 0..MAX_DEPTH {
            let Some(policy) = next.take() else { break };
            for rule in &policy.rules {
                match rule.when.holds(&arrived, config) {
                    Some(true) => break,
                    Some(false) => {}
                    None => {
                        let text = super::conditions::plain(&rule.when);
                        let rows = &mut unknown.entry(text).or_insert_with(|| (rule.at, Vec::new())).1;
                        if rows.last() != Some(&row.name) {
                            rows.push(row.name.clone());
                        }
                    }
                }
            }
            let rule = policy.rules.iter().find(|rule| rule.when.holds(&arrived, config) == Some(true));
            let name = rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref());
            let Some(index) = policy.classes.iter().position(|class| Some(class.name.as_str()) == name) else { break };
            let Some(class) = policy.classes.get(index) else { break };
            for mark in &class.set {
                write(*mark, &mut row.header);
            }
            if let (Some(police), Some((port, _))) = (&class.police, own) {
                // A mark that the policer sets on all packets is applied to the row.
                found.police(policy, index, port, &row.name);
                if let Some(mark) = common_mark(&police.conform, &police.exceed, &police.violate) {
                    write(mark, &mut row.header);
                }
            }
            if let Queue::Policy(inner) = &class.queue {
                next = config.policy(inner);
            }
        }
    }
    for (text, (at, rows)) in unknown {
        super::conditions::report_unknown(report, at, &rows, &text);
    }
    found
}

/// `true` if the choice of one of several input ports has no effect: all have the same input policy, without policers.
fn choice_has_no_effect(config: &Config, several: &[&Port]) -> bool {
    let [one, rest @ ..] = several else { return false };
    let mut names: Vec<&str> = one.input.as_deref().into_iter().collect();
    let mut metered = false;
    for _ in 0..MAX_DEPTH {
        let Some(policy) = names.pop().and_then(|name| config.policy(name)) else { break };
        metered |= policy.classes.iter().any(|class| class.police.is_some());
        // All classes of a classifier lead to the same filters.
        names.extend(policy.classes.iter().find_map(|class| match &class.queue {
            Queue::Policy(inner) => Some(inner.as_str()),
            _ => None,
        }));
    }
    config.arrival.is_some() && !rest.is_empty() && !metered && rest.iter().all(|other| other.input == one.input)
}

/// Returns a header with the marks of the input policy. This is the one policy that all other ports with an input
/// policy have; if there is no such port, that of the output port; otherwise the default, [`Config::arrival`]. Without
/// a default the header is unchanged.
pub(super) fn classified(config: &Config, output: &Port, header: &Header) -> Header {
    let others = config.ports.iter().filter(|port| port.name != output.name);
    let mut names = others.filter_map(|port| port.input.as_deref());
    let own = config.ports.iter().find(|port| port.name == output.name).and_then(|port| port.input.as_deref());
    let name = match (names.next(), config.arrival.as_deref()) {
        (Some(first), Some(_)) if names.all(|other| other == first) => Some(first),
        (None, Some(default)) => own.or(Some(default)),
        (_, default) => default,
    };
    let (mut made, mut next) = (header.clone(), name.and_then(|name| config.policy(name)));
    for _ in 0..MAX_DEPTH {
        let Some(policy) = next.take() else { break };
        let rule = policy.rules.iter().find(|rule| rule.when.holds(header, config) == Some(true));
        let name = rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref());
        let Some(class) = name.and_then(|name| policy.class(name)) else { break };
        class.set.iter().for_each(|mark| write(*mark, &mut made));
        if let Queue::Policy(inner) = &class.queue {
            next = config.policy(inner);
        }
    }
    made
}

impl<'a> Inputs<'a> {
    fn police(&mut self, policy: &'a Policy, class: usize, port: &'a Port, group: &str) {
        let same =
            |own: &&mut Policed<'a>| own.port == port.name && own.class == class && own.policy.name == policy.name;
        match self.policed.iter_mut().find(same) {
            Some(own) => own.groups.push(group.to_owned()),
            None => self.policed.push(Policed {
                policy,
                class,
                port: &port.name,
                rate: port.bandwidth.or(port.rate),
                groups: vec![group.to_owned()],
            }),
        }
    }
}

/// Returns the mark that a policer sets on packets of every colour; `None`: there is no such mark.
fn common_mark(conform: &[Act], exceed: &[Act], violate: &[Act]) -> Option<Mark> {
    let violate = if violate.is_empty() { exceed } else { violate };
    match (conform, exceed, violate) {
        ([Act::Set(a)], [Act::Set(b)], [Act::Set(c)]) if a == b && b == c => Some(*a),
        _ => None,
    }
}

/// Sets the field of a mark in a header.
fn write(mark: Mark, header: &mut Header) {
    match mark {
        Mark::Dscp(code) => header.dscp = code,
        // The precedence is the upper three bits (RFC 791 section 3.1). The lower three are kept, as by the action of a
        // conditioner.
        Mark::Precedence(precedence) => header.dscp = header.dscp & 0b111 | precedence << 3,
        Mark::Cos(cos) => header.cos = Some(cos),
        Mark::TrafficClass(class) => header.traffic_class = Some(class),
        Mark::ExperimentalImposition(exp) | Mark::ExperimentalTopmost(exp) => header.experimental = Some(exp),
        Mark::QosGroup(group) => header.qos_group = Some(group),
    }
}

/// Returns the input interface of each row; `None`: unknown, or no interface has an input policy.
fn interfaces<'a>(
    config: &'a Config,
    output: &Port,
    may_be_own: bool,
    traffic: &Traffic,
    report: &mut Report,
) -> Vec<Option<&'a Port>> {
    let others: Vec<&Port> = config.ports.iter().filter(|port| port.name != output.name).collect();
    let with: Vec<&Port> = others.iter().copied().filter(|port| port.input.is_some()).collect();
    let own = config.ports.iter().find(|port| port.name == output.name && port.input.is_some());
    let (mut assumed, mut unknown, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    for row in &traffic.rows {
        let by_name = row.header.input.as_ref().map(|name| {
            let named = |name: &str| config.ports.iter().find(|port| same_interface(&port.name, name));
            // The only unit of an interface is named by the interface.
            let unit =
                || name.rsplit_once('.').filter(|_| config.arrival.is_some()).and_then(|(outer, _)| named(outer));
            let port = named(name).or_else(unit);
            if port.is_none() {
                missing.push(format!("`{name}` of row `{}`", row.name));
            }
            port
        });
        let by_network = || {
            let source = row.header.source?;
            let nets = others.iter().flat_map(|port| port.networks.iter().map(move |net| (net, *port)));
            let holding = nets.filter(|(net, _)| net.holds(source));
            holding.max_by_key(|(net, _)| net.length().unwrap_or(0)).map(|(_, port)| port)
        };
        let chosen = match (by_name, with.as_slice()) {
            (Some(port), _) => port,
            (None, []) => own.filter(|_| may_be_own).inspect(|_| assumed.push(row.name.as_str())),
            (None, several) => match (by_network(), several) {
                (Some(port), _) => Some(port),
                (None, [one, ..]) if choice_has_no_effect(config, several) => Some(*one),
                (None, [one]) => {
                    assumed.push(row.name.as_str());
                    Some(*one)
                }
                (None, _) => {
                    unknown.push(row.name.as_str());
                    None
                }
            },
        };
        found.push(chosen);
    }
    let at = with.first().copied().or(own).map_or_else(Place::default, |port| port.at);
    let name = with.first().copied().or(own).map_or("", |port| port.name.as_str());
    if !assumed.is_empty() {
        let message = format!(
            "{} to arrive at `{name}`, whose input policy marks and polices packets",
            super::conditions::rows(&assumed, "is assumed", "are assumed")
        );
        report.assumed(at, message, "add a column `input` with the name of the interface to the traffic table");
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = with.iter().map(|port| port.name.as_str()).collect();
        let message = format!(
            "{} at any of {}: {} is applied",
            super::conditions::rows(&unknown, "may arrive", "may arrive"),
            names.join(", "),
            config.arrival.as_ref().map_or("no input policy".to_owned(), |name| format!("`{name}`"))
        );
        report.assumed(at, message, "add a column `input` with the name of the interface, or `source` with an address");
    }
    if !missing.is_empty() {
        let advice = "write the name of an interface of the configuration in the column `input`";
        report.error(Place::default(), format!("there is no interface {}", missing.join(", ")), advice);
    }
    found
}

impl Lower<'_> {
    /// Returns the policers of input policies as conditioners of the output port.
    pub(super) fn input_conditioners(&mut self, inputs: &Inputs<'_>) -> Vec<Value> {
        let mut made = Vec::new();
        let mut policed = std::collections::BTreeSet::new();
        let all = inputs.policed.iter().flat_map(|own| own.groups.iter().map(String::as_str));
        let twice: std::collections::BTreeSet<&str> = all.filter(|group| !policed.insert(*group)).collect();
        if !twice.is_empty() {
            let names: Vec<&str> = twice.into_iter().collect();
            let message = format!(
                "{} by several policers one after the other; only the first one is simulated",
                super::conditions::rows(&names, "is metered", "are metered")
            );
            self.report.unsupported(crate::Place::default(), message, None);
        }
        for own in &inputs.policed {
            let Some(class) = own.policy.classes.get(own.class) else { continue };
            let Some(police) = &class.police else { continue };
            let Some(rate) = own.rate.or_else(|| police.rate.of(0).filter(|rate| *rate > 0)) else {
                let message =
                    format!("a policer of `{}` states a percentage of its rate, which is not known", own.port);
                self.report.unsupported(class.at, message, Some("state `bandwidth` on that interface"));
                continue;
            };
            let acts = [&police.conform, &police.exceed, &police.violate];
            let inside =
                |act: &Act| matches!(act, Act::Set(mark) if !matches!(mark, Mark::Dscp(_) | Mark::Precedence(_)));
            if acts.iter().any(|acts| acts.iter().any(inside))
                && common_mark(&police.conform, &police.exceed, &police.violate).is_none()
            {
                let message = format!(
                    "class `{}`: fields other than the code point, which the policer sets in some packets only, are not simulated",
                    class.name
                );
                self.report.unsupported(class.at, message, None);
            }
            let marks = |act: &Act| matches!(act, Act::Set(Mark::Dscp(_) | Mark::Precedence(_)));
            if self.conditions.resolve && acts.iter().any(|acts| acts.iter().any(marks)) {
                let message = format!(
                    "class `{}`: the policer sets code points, which the output policy does not see here, since it sets code points, too",
                    class.name
                );
                self.report.unsupported(class.at, message, None);
            }
            made.extend(self.police(police, &json!({ "flows": own.groups }), rate, class.at));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::{Header, Mark, write};

    #[test]
    fn a_precedence_changes_only_the_upper_three_bits_of_the_code_point() {
        // AF31 is 011 010, with precedence 5 it is 101 010.
        let mut header = Header { dscp: 0b011_010, ..Header::default() };
        write(Mark::Precedence(5), &mut header);
        assert_eq!(header.dscp, 0b101_010);
    }
}
