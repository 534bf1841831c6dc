//! Policies for what arrives: what they write into packets decides the class in which these leave, and what their policers drop
//! never waits.
//!
//! A packet is classified by the input policy as it came, then marked and policed, and only then classified by the output policy
//! (Cisco IOS Quality of Service Solutions Configuration Guide, "Order of QoS features"). Marks are known for each row of the
//! table, so they are written there; policers become conditioners in front of those of the output policy.

use super::{Lower, Traffic};
use crate::ir::{Act, Config, Header, Mark, Policy, Port, Queue, same_interface};
use crate::{Place, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Deepest nesting that is followed.
const DEEPEST: usize = 4;

/// Interfaces that traffic comes in by, and what their policies' policers are about.
#[derive(Debug, Default)]
pub(super) struct Inputs<'a> {
    /// The interfaces, each once.
    pub ports: Vec<&'a Port>,
    /// Class of each row that a policer is in front of: policy, class, and the rate that percentages refer to.
    policed: Vec<Policed<'a>>,
}

/// A policer, and the groups of flows that meet it.
#[derive(Debug)]
struct Policed<'a> {
    policy: &'a Policy,
    class: usize,
    port: &'a str,
    rate: Option<u64>,
    groups: Vec<String>,
}

/// Finds for each row by which interface it comes in, and writes into it what the policy there writes into packets.
pub(super) fn apply<'a>(
    config: &'a Config,
    judged: &Port,
    alike: bool,
    traffic: &mut Traffic,
    report: &mut Report,
) -> Inputs<'a> {
    let mut found = Inputs::default();
    let mut unknown: BTreeMap<String, (Place, Vec<String>)> = BTreeMap::new();
    let from = interfaces(config, judged, alike, traffic, report);
    for (row, port) in traffic.rows.iter_mut().zip(from) {
        let Some(port) = port else { continue };
        row.header.input = Some(port.name.clone());
        let Some(policy) = port.input.as_deref().and_then(|name| config.policy(name)) else { continue };
        if found.ports.iter().all(|other| other.name != port.name) {
            found.ports.push(port);
        }
        let came = row.header.clone();
        let mut next = Some(policy);
        for _ in 0..DEEPEST {
            let Some(policy) = next.take() else { break };
            for rule in &policy.rules {
                match rule.when.holds(&came, config) {
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
            let rule = policy.rules.iter().find(|rule| rule.when.holds(&came, config) == Some(true));
            let name = rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref());
            let Some(index) = policy.classes.iter().position(|class| Some(class.name.as_str()) == name) else { break };
            let Some(class) = policy.classes.get(index) else { break };
            for mark in &class.set {
                write(*mark, &mut row.header);
            }
            if let Some(police) = &class.police {
                // What always happens to a packet that conforms and to one that exceeds is known here as well.
                found.police(policy, index, port, &row.name);
                if let Some(mark) = always(&police.conform, &police.exceed, &police.violate) {
                    write(mark, &mut row.header);
                }
            }
            if let Queue::Policy(inner) = &class.queue {
                next = config.policy(inner);
            }
        }
    }
    for (text, (at, rows)) in unknown {
        super::conditions::not_enough(report, at, &rows, &text);
    }
    found
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

/// The mark that a policer writes into packets whatever it finds, if it drops none.
fn always(conform: &[Act], exceed: &[Act], violate: &[Act]) -> Option<Mark> {
    let violate = if violate.is_empty() { exceed } else { violate };
    match (conform, exceed, violate) {
        ([Act::Set(a)], [Act::Set(b)], [Act::Set(c)]) if a == b && b == c => Some(*a),
        _ => None,
    }
}

fn write(mark: Mark, header: &mut Header) {
    match mark {
        Mark::Dscp(code) => header.dscp = code,
        // The lower three bits of the code point go: the field is the precedence's then.
        Mark::Precedence(precedence) => header.dscp = precedence << 3,
        Mark::Cos(cos) => header.cos = Some(cos),
        Mark::TrafficClass(class) => header.traffic_class = Some(class),
        Mark::ExperimentalImposition(exp) | Mark::ExperimentalTopmost(exp) => header.experimental = Some(exp),
        Mark::QosGroup(group) => header.qos_group = Some(group),
    }
}

/// The interface that each row comes in by; none where that decides nothing or is not known.
fn interfaces<'a>(
    config: &'a Config,
    judged: &Port,
    alike: bool,
    traffic: &Traffic,
    report: &mut Report,
) -> Vec<Option<&'a Port>> {
    let others: Vec<&Port> = config.ports.iter().filter(|port| port.name != judged.name).collect();
    let with: Vec<&Port> = others.iter().copied().filter(|port| port.input.is_some()).collect();
    let own = config.ports.iter().find(|port| port.name == judged.name && port.input.is_some());
    let (mut assumed, mut unknown, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    for row in &traffic.rows {
        let by_name = row.header.input.as_ref().map(|name| {
            let port = config.ports.iter().find(|port| same_interface(&port.name, name));
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
            (None, []) => own.filter(|_| alike).inspect(|_| assumed.push(row.name.as_str())),
            (None, several) => match (by_network(), several) {
                (Some(port), _) => Some(port),
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
            "{} taken to come in by `{name}`, whose input policy marks and polices it",
            super::conditions::rows(&assumed, "is", "are")
        );
        report.assumed(at, message, "add a column `input` to the table with the name of the interface");
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = with.iter().map(|port| port.name.as_str()).collect();
        let message = format!(
            "by which of {} {} in is not known: no input policy is applied",
            names.join(", "),
            super::conditions::rows(&unknown, "comes", "come")
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
    /// The policers of input policies, as conditioners.
    pub(super) fn input_conditioners(&mut self, inputs: &Inputs<'_>) -> Vec<Value> {
        let mut made = Vec::new();
        for own in &inputs.policed {
            let Some(class) = own.policy.classes.get(own.class) else { continue };
            let Some(police) = &class.police else { continue };
            let Some(rate) = own.rate.or_else(|| police.rate.of(0).filter(|rate| *rate > 0)) else {
                let message =
                    format!("the rate of `{}`, of which its policer takes a percentage, is not known", own.port);
                self.report.unsupported(class.at, message, Some("state `bandwidth` on that interface"));
                continue;
            };
            let acts = [&police.conform, &police.exceed, &police.violate];
            let inside =
                |act: &Act| matches!(act, Act::Set(mark) if !matches!(mark, Mark::Dscp(_) | Mark::Precedence(_)));
            if acts.iter().any(|acts| acts.iter().any(inside))
                && always(&police.conform, &police.exceed, &police.violate).is_none()
            {
                let message = format!(
                    "class `{}`: what the policer writes into some packets only, beside the code point, is not simulated",
                    class.name
                );
                self.report.unsupported(class.at, message, None);
            }
            let marks = |act: &Act| matches!(act, Act::Set(Mark::Dscp(_) | Mark::Precedence(_)));
            if self.conditions.resolve && acts.iter().any(|acts| acts.iter().any(marks)) {
                let message = format!(
                    "class `{}`: the policer writes code points that the output policy looks at, and that one writes code points, too",
                    class.name
                );
                self.report.unsupported(class.at, message, None);
            }
            made.extend(self.police(police, json!({ "flows": own.groups }), rate, class.at));
        }
        made
    }
}
