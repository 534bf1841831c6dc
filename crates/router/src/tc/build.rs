//! From the tables of the devices to policies.

use super::qdisc::{Kind, Qdisc};
use super::{Device, Handle, Parent, Tables};
use crate::Report;
use crate::ir::{Class, Config, Match, Medium, Policy, Port, Queue, Rule, Scheduler};

/// The policies of all devices.
pub(super) fn build(tables: &Tables, report: &mut Report) -> Config {
    let mut config = Config::default();
    for name in &tables.order {
        let Some(device) = tables.devices.get(name) else { continue };
        for qdisc in &device.qdiscs {
            if let Some(policy) = policy(name, device, qdisc, report) {
                config.policies.push(policy);
            } else if matches!(qdisc.kind, Kind::Ingress) {
                report.unsupported(
                    qdisc.at,
                    "what is done with packets that arrive",
                    Some("police them where they are sent"),
                );
            }
        }
        if let Some(root) = device.root() {
            let mut class = Class { at: root.at, ..Class::default() };
            fill(&mut class, name, device, root, report);
            config.ports.push(Port {
                name: name.clone(),
                medium: medium(name),
                root: class,
                at: root.at,
                ..Port::default()
            });
        }
    }
    config
}

/// The kind of line behind a device, by how the kernel and systemd name devices.
fn medium(name: &str) -> Medium {
    const KINDS: [(&str, Medium); 12] = [
        ("eth", Medium::Ethernet),
        ("en", Medium::Ethernet),
        ("wl", Medium::Ethernet),
        ("lan", Medium::Ethernet),
        ("wan", Medium::Ethernet),
        ("ifb", Medium::Ethernet),
        ("br", Medium::Ethernet),
        ("bond", Medium::Ethernet),
        ("veth", Medium::Ethernet),
        ("ppp", Medium::Tunnel),
        ("tun", Medium::Tunnel),
        ("wg", Medium::Tunnel),
    ];
    // A VLAN device strips the tag before its disciplines see the frame, so it counts as any other.
    KINDS.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(Medium::Unknown, |(_, medium)| *medium)
}

fn policy_name(device: &str, major: u16) -> String {
    format!("{device}-{major:x}")
}

/// What is done with the packets of a class in which that discipline hangs.
fn fill(class: &mut Class, name: &str, device: &Device, qdisc: &Qdisc, report: &mut Report) {
    let Kind::Leaf { queue, limit, shape } = &qdisc.kind else {
        class.queue = Queue::Policy(policy_name(name, qdisc.major));
        return;
    };
    class.queue.clone_from(queue);
    class.limit = *limit;
    if shape.is_none() {
        return;
    }
    class.shape = *shape;
    let inner =
        device.qdiscs.iter().find(|inner| matches!(inner.parent, Parent::Class(parent) if parent.major == qdisc.major));
    match inner.map(|inner| (&inner.kind, inner)) {
        Some((Kind::Leaf { shape: Some(_), .. }, inner)) => {
            report.unsupported(inner.at, "a token bucket in a token bucket", Some("keep the slower one"));
        }
        Some((Kind::Leaf { queue, limit, shape: None }, _)) => {
            class.queue.clone_from(queue);
            class.limit = *limit;
        }
        Some((_, inner)) => {
            class.queue = Queue::Policy(policy_name(name, inner.major));
            class.limit = None;
        }
        None => {}
    }
}

fn policy(name: &str, device: &Device, qdisc: &Qdisc, report: &mut Report) -> Option<Policy> {
    let mut policy = Policy { name: policy_name(name, qdisc.major), at: qdisc.at, ..Policy::default() };
    let handle = |minor: u16| Handle { major: qdisc.major, minor }.to_string();
    let mut implied = Vec::new();
    match &qdisc.kind {
        Kind::Leaf { .. } | Kind::Ingress => return None,
        Kind::Htb { default } => {
            policy.scheduler = Scheduler::Htb;
            policy.classes = own_classes(device, qdisc, &handle);
            let is_class = |minor: u16| policy.classes.iter().any(|class| class.name == handle(minor));
            if *default > 0 && is_class(*default) {
                policy.default = Some(handle(*default));
            } else {
                let message = if *default > 0 {
                    format!("the default class {} is not there", handle(*default))
                } else {
                    "there is no default class".to_owned()
                };
                report.warning(
                    qdisc.at,
                    format!("{message}: packets that no filter is about go around the token buckets"),
                    "write `default` with the number of a class",
                );
            }
            htb_rates(&policy, report);
        }
        Kind::Drr => {
            policy.scheduler = Scheduler::Drr;
            policy.classes = own_classes(device, qdisc, &handle);
            report.warning(
                qdisc.at,
                "drr drops packets that no filter is about",
                "end with a filter that is about all packets",
            );
        }
        Kind::Prio { bands, map } => {
            policy.scheduler = Scheduler::Priority;
            policy.classes =
                (1..=*bands).map(|band| Class { name: handle(band), at: qdisc.at, ..Class::default() }).collect();
            let band = |priority: usize| map.get(priority).map_or(1, |band| band + 1);
            policy.default = Some(handle(band(0)));
            // The kernel's priority of a packet follows from four bits of its DS field: bulk, interactive, interactive bulk.
            for (value, priority) in [(0x08, 2), (0x10, 6), (0x18, 4)] {
                if band(priority) != band(0) {
                    let when = Match::DsField { value, mask: 0x18 };
                    implied.push(Rule { when, class: handle(band(priority)), police: None, at: qdisc.at });
                }
            }
        }
        Kind::Ets { strict, quanta, bands } => {
            policy.scheduler = Scheduler::Ets;
            policy.classes = (1..=*bands)
                .map(|band| {
                    let index = usize::from(band.saturating_sub(1)).checked_sub(usize::from(*strict));
                    // Bands beyond those given have the quantum of a full frame.
                    let quantum = index.map(|index| quanta.get(index).copied().unwrap_or(1514));
                    Class { name: handle(band), quantum, at: qdisc.at, ..Class::default() }
                })
                .collect();
            policy.default = Some(handle(*bands));
        }
    }
    for class in &mut policy.classes {
        let minor = class.name.split(':').nth(1).and_then(|minor| u16::from_str_radix(minor, 16).ok());
        let place = Parent::Class(Handle { major: qdisc.major, minor: minor.unwrap_or(0) });
        if let Some(inner) = device.qdiscs.iter().find(|inner| inner.parent == place) {
            fill(class, name, device, inner, report);
        }
    }
    rules(&mut policy, device, qdisc, report);
    for rule in implied {
        // A script that was written from such a policy says in filters what the priomap says.
        if !policy.rules.contains(&rule) {
            policy.rules.push(rule);
        }
    }
    Some(policy)
}

fn own_classes(device: &Device, qdisc: &Qdisc, handle: &dyn Fn(u16) -> String) -> Vec<Class> {
    device
        .classes
        .iter()
        .filter(|class| class.id.major == qdisc.major)
        .map(|class| Class {
            name: class.id.to_string(),
            parent: class.parent.map(handle),
            htb: class.htb,
            quantum: class.quantum,
            at: class.at,
            ..Class::default()
        })
        .collect()
}

fn rules(policy: &mut Policy, device: &Device, qdisc: &Qdisc, report: &mut Report) {
    for filter in device.filters.iter().filter(|filter| filter.parent.major == qdisc.major) {
        let class = filter.target.map(|target| target.to_string()).or_else(|| policy.default.clone());
        let Some(class) = class else {
            report.unsupported(filter.at, "a filter that leads nowhere", Some("write `flowid`"));
            continue;
        };
        if policy.classes.iter().any(|own| own.parent.as_ref() == Some(&class)) {
            report.warning(
                filter.at,
                format!("{class} has classes within, so its packets go to the default class"),
                "let the filter lead to a class without classes",
            );
            continue;
        }
        policy.rules.push(Rule { when: filter.when.clone(), class, police: filter.police.clone(), at: filter.at });
    }
}

fn htb_rates(policy: &Policy, report: &mut Report) {
    for class in &policy.classes {
        let Some(own) = class.htb else { continue };
        if own.ceil.is_some_and(|ceil| ceil < own.rate) {
            report.warning(
                class.at,
                format!("the ceiling of {} is below its rate", class.name),
                "raise ceil, or lower rate",
            );
        }
        let within = policy.classes.iter().filter(|inner| inner.parent.as_ref() == Some(&class.name));
        let sum: u64 = within.filter_map(|inner| inner.htb).fold(0, |sum, htb| sum.saturating_add(htb.rate));
        if sum > own.rate {
            report.warning(
                class.at,
                format!("the classes within {} are guaranteed {sum} bit/s of its {}", class.name, own.rate),
                "lower their rates: not all can have what they are guaranteed",
            );
        }
    }
}
