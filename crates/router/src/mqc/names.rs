//! Names of objects and interfaces that a router accepts.

use super::interface::kind;
use crate::Report;
use crate::ir::{Class, Config, Match, Medium, Queue, Scheduler};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of the name of a class map or policy map in characters (Cisco IOS Quality of Service
/// Solutions Command Reference, `class-map` and `policy-map`).
const MAX_NAME_LENGTH: usize = 40;

/// `true` if a router accepts the name as one word.
fn is_legal(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= MAX_NAME_LENGTH
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+&#@".contains(c))
}

/// Renames objects whose names a router does not accept.
pub(super) fn legalise(config: &mut Config) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let names = |config: &Config| -> Vec<String> {
        let maps = config.class_maps.iter().map(|map| map.name.clone());
        let lists = config.access_lists.iter().map(|list| list.name.clone());
        maps.chain(lists).chain(config.policies.iter().map(|policy| policy.name.clone())).collect()
    };
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    let all = names(config);
    taken.extend(all.iter().filter(|name| is_legal(name)).cloned());
    for name in all.iter().filter(|name| !is_legal(name)) {
        if renamed.contains_key(name) {
            continue;
        }
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let plain = if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("class-{plain}") };
        // Leaves room for a hyphen and a number of up to five digits.
        let plain: String = plain.chars().take(MAX_NAME_LENGTH - 6).collect();
        let mut found = plain.clone();
        for number in 2..100_000 {
            if !taken.contains(&found) {
                break;
            }
            found = format!("{plain}-{number}");
        }
        let _ = taken.insert(found.clone());
        let _ = renamed.insert(name.clone(), found);
    }
    if renamed.is_empty() {
        return;
    }
    let rename = |name: &mut String| {
        if let Some(other) = renamed.get(name) {
            name.clone_from(other);
        }
    };
    config.class_maps.iter_mut().for_each(|map| {
        rename(&mut map.name);
        map.conditions.iter_mut().for_each(|one| condition(one, &rename));
    });
    config.access_lists.iter_mut().for_each(|list| rename(&mut list.name));
    for policy in &mut config.policies {
        rename(&mut policy.name);
        // In a policy map a class has the name of its class map.
        let has_class_maps = policy.scheduler == Scheduler::ClassBased;
        policy.classes.iter_mut().for_each(|class| {
            if has_class_maps {
                rename(&mut class.name);
            }
            queue(class, &rename);
        });
        for rule in &mut policy.rules {
            condition(&mut rule.when, &rename);
            if has_class_maps {
                rename(&mut rule.class);
            }
        }
        if let Some(default) = policy.default.as_mut().filter(|_| has_class_maps) {
            rename(default);
        }
    }
    for port in &mut config.ports {
        port.input.iter_mut().for_each(rename);
        queue(&mut port.root, &rename);
    }
}

/// Renames the inner policy of a class.
fn queue(class: &mut Class, rename: &dyn Fn(&mut String)) {
    if let Queue::Policy(name) = &mut class.queue {
        rename(name);
    }
}

/// Renames the class maps and access lists in a condition.
fn condition(when: &mut Match, rename: &dyn Fn(&mut String)) {
    match when {
        Match::ClassMap(name) | Match::AccessList(name) => rename(name),
        Match::Not(inner) => condition(inner, rename),
        Match::All(all) | Match::AnyOf(all) => all.iter_mut().for_each(|one| condition(one, rename)),
        _ => {}
    }
}

/// Names the interface of a configuration that came from a scenario; `None`: a name chosen by the rate of the
/// link. A rate that the type does not have becomes `bandwidth`; the report says so if the type has a fixed rate.
pub fn name_interface(config: &mut Config, name: Option<&str>) -> Report {
    let mut report = Report::default();
    for port in &mut config.ports {
        let own = match (name, port.rate) {
            (Some(name), _) => name,
            (None, Some(10_000_000 | 100_000_000 | 1_000_000_000) | None) => "GigabitEthernet0/0",
            (None, Some(10_000_000_000)) => "TenGigabitEthernet0/0",
            (None, Some(_)) => "Serial0/0",
        };
        if name.is_none() {
            report.assumed(port.at, format!("the interface is called {own}"), "name it with --interface-name");
        }
        own.clone_into(&mut port.name);
        let (medium, rate) = kind(own);
        port.medium = medium;
        let Some(line) = port.rate else { continue };
        let speeds = [10_000_000, 100_000_000, 1_000_000_000];
        let stated = match medium {
            Medium::Ethernet | Medium::Dot1q => rate == Some(line) || speeds.contains(&line),
            _ => false,
        };
        if !stated {
            (port.rate, port.bandwidth) = (rate, Some(line));
            if rate.is_some() {
                let message = format!("{own} does not have the rate {line} bit/s of the scenario's link");
                report.warning(port.at, message, "shape class-default to that rate, with this policy as its child");
            }
        }
    }
    report
}
