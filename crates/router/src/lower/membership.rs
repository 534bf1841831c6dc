//! Membership of groups of flows in classes.

use super::state::Membership;
use super::{Model, Row, Traffic};
use crate::ir::{Config, Header, Policy, Port, Queue};
use crate::{Place, Report};
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound on the nesting of policies.
const MAX_DEPTH: usize = 8;

/// Returns the classes with their groups of flows, in the order of the rows.
pub(super) fn of(traffic: &Traffic, config: &Config, port: &Port) -> Vec<Membership> {
    let mut found: Vec<Membership> = Vec::new();
    for row in &traffic.rows {
        let class = class_of(&row.header, config, port);
        match found.iter_mut().find(|own| own.class == class) {
            Some(own) => own.groups.push(row.name.clone()),
            None => found.push(Membership { class, groups: vec![row.name.clone()] }),
        }
    }
    found
}

/// Returns the name of the class of a packet, prefixed by those of the enclosing classes.
fn class_of(header: &Header, config: &Config, port: &Port) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut queue = &port.root.queue;
    while let Queue::Policy(name) = queue
        && names.len() < MAX_DEPTH
        && let Some(policy) = config.policy(name)
    {
        let rule = policy.rules.iter().find(|rule| rule.when.holds(header, config) == Some(true));
        let class = rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref());
        let Some(class) = class.and_then(|class| policy.class(class)) else {
            names.push("default");
            break;
        };
        names.push(&class.name);
        queue = &class.queue;
    }
    // The name of a default class with an inner policy is omitted.
    let named: Vec<&str> = match names.split_last() {
        Some((last, outer)) => outer.iter().copied().filter(|name| *name != "class-default").chain([*last]).collect(),
        None => vec!["all"],
    };
    named.join("/")
}

/// Sets the DSCP of rows that name a class to the first DSCP of that class.
pub(super) fn code_points(traffic: &mut Traffic, config: &Config, port: &Port, report: &mut Report) {
    for row in &mut traffic.rows {
        let Some(class) = row.class.clone() else { continue };
        match code_of(&class, config, port) {
            Some(code) => row.header.dscp = code,
            None if class_of(&row.header, config, port).ends_with(&class) => {}
            None => report.error(
                row.at,
                format!("no DSCP selects the class `{class}`, which row `{}` names", row.name),
                "write `dscp` instead, or the columns on which the class matches",
            ),
        }
    }
}

/// Reports rows that name a class of the port but are in another class, since an input policy marks their packets.
pub(super) fn moved(
    named: &[(usize, String)],
    traffic: &Traffic,
    found: &[Membership],
    config: &Config,
    port: &Port,
    report: &mut Report,
) {
    let reached = super::reach::of(port, &[], config);
    let classes: BTreeSet<&str> = config
        .policies
        .iter()
        .filter(|policy| reached.contains(&crate::Scope::Policy(policy.name.clone())))
        .flat_map(|policy| policy.classes.iter().map(|class| class.name.as_str()))
        .collect();
    let of: BTreeMap<&str, &str> =
        found.iter().flat_map(|own| own.groups.iter().map(|group| (group.as_str(), own.class.as_str()))).collect();
    for (index, class) in named {
        let Some(row) = traffic.rows.get(*index) else { continue };
        let now = of.get(row.name.as_str()).copied().unwrap_or_default();
        if classes.contains(class.as_str()) && now.rsplit('/').next() != Some(class) {
            let message = format!("the row `{}` names the class `{class}`, but its packets are in `{now}`", row.name);
            report.warning(row.at, message, "the input policy changes their marks");
        }
    }
}

/// Returns the first DSCP that selects a class of that name; `None`: no DSCP does.
fn code_of(class: &str, config: &Config, port: &Port) -> Option<u8> {
    // Input policies may have classes of the same names.
    let arriving = |policy: &Policy| {
        let named = |name: &Option<String>| name.as_ref() == Some(&policy.name);
        config.arrival.is_some() && (named(&config.arrival) || config.ports.iter().any(|own| named(&own.input)))
    };
    let policies = config.policies.iter().filter(|policy| policy.class(class).is_some() && !arriving(policy));
    policies.into_iter().find_map(|policy| preferred(policy, class, config, port))
}

/// Returns the first DSCP that selects a class of a policy; `None`: no DSCP does.
fn preferred(policy: &Policy, class: &str, config: &Config, port: &Port) -> Option<u8> {
    (0..64).find(|code| {
        let header = super::input::classified(config, port, &Header { dscp: *code, ..Header::default() });
        let rule = policy.rules.iter().find(|rule| rule.when.holds(&header, config) == Some(true));
        let found = rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref());
        found == Some(class)
    })
}

/// Returns example traffic at a link of `rate` bit/s: each class of the innermost policy sends 90 % of its guaranteed
/// rate, and the default class 110 % of the rest.
pub(super) fn example(config: &Config, port: &Port, rate: u64) -> Traffic {
    let mut made = Traffic::default();
    let (mut queue, mut rate, mut root) = (&port.root.queue, rate, None);
    for _ in 0..MAX_DEPTH {
        let Queue::Policy(name) = queue else { break };
        let Some(policy) = config.policy(name) else { break };
        root = Some(policy);
        let [only] = policy.classes.as_slice() else { break };
        rate = only.shape.and_then(|shape| shape.bps(rate)).unwrap_or(rate);
        queue = &only.queue;
    }
    let mut left = rate;
    let default = root.and_then(|policy| policy.default.as_ref());
    for class in root.into_iter().flat_map(|policy| &policy.classes).filter(|class| default != Some(&class.name)) {
        let share = class.bandwidth.or_else(|| class.priority?.rate).and_then(|share| share.of(rate));
        let own = share.or_else(|| class.htb.filter(|_| class.parent.is_some()).map(|htb| htb.rate));
        let (Some(own), Some(code)) = (own, root.and_then(|policy| preferred(policy, &class.name, config, port)))
        else {
            continue;
        };
        if own == 0 || made.rows.iter().any(|row| row.header.dscp == code) {
            continue;
        }
        left = left.saturating_sub(own);
        let name: String =
            class.name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        if made.rows.iter().all(|row| row.name != name) {
            made.rows.push(example_row(
                name,
                code,
                (own / 10 * 9).max(1),
                if class.priority.is_some() { 200 } else { 1000 },
            ));
        }
    }
    if made.rows.iter().all(|row| row.header.dscp != 0 && row.name != "other") {
        let rest = if left == 0 { rate / 10 } else { left.saturating_add(left / 10) };
        made.rows.push(example_row("other".to_owned(), 0, rest.max(1000), 1000));
    }
    made
}

fn example_row(name: String, dscp: u8, rate: u64, packet: u64) -> Row {
    let header = Header { dscp, ..Header::default() };
    Row {
        name,
        header,
        class: None,
        rate,
        packet,
        count: 1,
        model: Model::Poisson,
        rtt: 0,
        target: None,
        at: Place::default(),
    }
}
