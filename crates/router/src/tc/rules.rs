//! Rules of policies from the filters of a device and the earlier modifications of packets.

use super::action::{Edit, drops};
use super::filters::one_of;
use super::handle::Handle;
use super::marking::{Marking, Step};
use super::tables::{Device, Filter, Hook, Kind, Parent, Qdisc, Tables};
use crate::Report;
use crate::ir::{Match, Policy, Rule};

/// Returns the modifications of packets that a device sends before its disciplines: by the firewall, then by filters of
/// `clsact`. Packets that are redirected to a device have met only the filters of their input device.
pub(super) fn marking(name: &str, tables: &Tables, report: &mut Report) -> Marking {
    let mut found = Vec::new();
    let mut arrives = false;
    for (from, device) in &tables.devices {
        let filters: Vec<&Filter> = device.filters.iter().filter(|filter| filter.hook == Hook::Ingress).collect();
        for (index, filter) in filters.iter().enumerate() {
            if filter.actions.redirect.as_deref() != Some(name) {
                continue;
            }
            arrives = true;
            let before = filters.get(..=index).unwrap_or_default();
            let through = before.iter().filter(|own| own.actions.next || core::ptr::eq(**own, *filter));
            found.extend(through.flat_map(|own| edits(own)));
            if !matches!(filter.when, Match::Any | Match::Version(4)) {
                report.assumed(
                    filter.at,
                    format!("of what arrives at {from} only packets that meet this filter come to {name}: the traffic table is \
                             taken to hold those"),
                    "leave other packets out of the table",
                );
            }
        }
    }
    if arrives {
        return Marking::new(found, false);
    }
    match tables.firewall.steps(name) {
        Ok(steps) => found.extend(steps),
        Err(at) => report.unsupported(
            at,
            "the chains of the firewall jump to each other too often: they are ignored",
            Some("give the traffic table a column `mark`, and leave the rules out"),
        ),
    }
    if let Some(at) = tables.firewall.output().filter(|_| !found.is_empty()) {
        report.assumed(
            at,
            "packets are taken to pass the chain OUTPUT, as those that this host itself sends do",
            "leave its rules out if the host only forwards",
        );
    }
    let egress = tables.devices.get(name).into_iter().flat_map(|device| &device.filters);
    let mut asked: Vec<Match> = Vec::new();
    for filter in egress.filter(|filter| filter.hook == Hook::Egress) {
        if filter.actions.police.is_some() || filter.actions.drop || filter.actions.redirect.is_some() {
            report.unsupported(
                filter.at,
                "what clsact drops, polices or redirects",
                Some("police in the root discipline"),
            );
        }
        for mut step in edits(filter) {
            if !asked.is_empty() {
                let mut all: Vec<Match> = asked.iter().map(|when| Match::Not(Box::new(when.clone()))).collect();
                all.push(step.when);
                step.when = Match::All(all);
            }
            found.push(step);
        }
        // The first match ends the evaluation, unless it says `continue`.
        if !filter.actions.next {
            asked.push(filter.when.clone());
        }
    }
    Marking::new(found, tables.firewall.marks())
}

fn edits(filter: &Filter) -> impl Iterator<Item = Step> + '_ {
    filter.actions.edits.iter().map(|edit| Step::new(filter.when.clone(), *edit))
}

/// Reports actions on packets that arrive at a device, other than redirection.
pub(super) fn arriving(device: &Device, report: &mut Report) {
    for filter in device.filters.iter().filter(|filter| filter.hook == Hook::Ingress) {
        if filter.actions.redirect.is_none() {
            report.unsupported(
                filter.at,
                "what is done with packets that arrive",
                Some("redirect them to an ifb device, or police them where they are sent"),
            );
        }
    }
}

/// Sets the rules of a discipline: first those of packets whose priority names one of its classes, then its filters.
pub(super) fn rules(policy: &mut Policy, device: &Device, qdisc: &Qdisc, before: &Marking, report: &mut Report) {
    let mut marking = before.again();
    let classes: Vec<String> = policy.classes.iter().map(|class| class.name.clone()).collect();
    if marking.steps.iter().any(|step| matches!(step.edit, Edit::Priority(_))) {
        // `htb_classify`, `prio_classify` and others check `skb->priority` before their filters.
        for name in &classes {
            let Some(class) = handle(name) else { continue };
            match marking.priority(class) {
                Some(Match::AnyOf(any)) if any.is_empty() => {}
                Some(when) if !is_inner(policy, name) => {
                    policy.rules.push(Rule { when, class: name.clone(), police: None, at: qdisc.at });
                }
                Some(_) => report.unsupported(
                    qdisc.at,
                    format!("a priority that names {name}, which has classes within"),
                    None,
                ),
                None => too_long(qdisc, report),
            }
        }
    }
    for filter in device.filters.iter().filter(|filter| filter.hook == Hook::Qdisc(qdisc.major)) {
        let Some(when) = marking.resolve(&filter.when).map(flat) else {
            too_long(qdisc, report);
            continue;
        };
        report_actions(device, filter, report);
        if filter.actions.next {
            let writes = filter.actions.edits.iter().filter(|edit| !matches!(edit, Edit::Priority(_)));
            writes.for_each(|edit| marking.push(Step::new(filter.when.clone(), *edit)));
            continue;
        }
        let police = if filter.actions.drop { Some(drops()) } else { filter.actions.police.clone() };
        let target = filter.target.map(|target| target.to_string());
        let inner = target.as_ref().filter(|class| is_inner(policy, class));
        if let Some(class) = inner {
            report.warning(
                filter.at,
                format!("{class} has classes within, so its packets go to the default class"),
                "let the filter lead to a class without classes",
            );
        }
        let Some(class) = target.clone().filter(|_| inner.is_none()).or_else(|| policy.default.clone()) else {
            report.unsupported(
                filter.at,
                "a filter that leads to no class, where there is no default class",
                Some("write `flowid` with a class without classes"),
            );
            continue;
        };
        policy.rules.push(Rule { when, class, police, at: filter.at });
    }
    policy.rules = joined(core::mem::take(&mut policy.rules));
}

/// Joins consecutive filters that differ only in the IP version into one.
fn joined(rules: Vec<Rule>) -> Vec<Rule> {
    let mut made: Vec<Rule> = Vec::new();
    for rule in rules {
        if let Some(last) = made.last_mut()
            && last.class == rule.class
            && last.police.is_none()
            && rule.police.is_none()
            && let (Some((4, one)), Some((6, other))) = (of_version(&last.when), of_version(&rule.when))
            && one == other
        {
            last.when = one;
            continue;
        }
        made.push(rule);
    }
    made
}

/// Returns the IP version of a filter, and its other conditions.
fn of_version(when: &Match) -> Option<(u8, Match)> {
    match when {
        Match::Version(version) => Some((*version, Match::Any)),
        Match::All(all) => match all.as_slice() {
            [Match::Version(version), rest @ ..] => Some((*version, one_of(rest.to_vec()))),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a conjunction as a flat list without duplicates: substituted marks bring their own conditions.
fn flat(when: Match) -> Match {
    let Match::All(all) = when else { return when };
    let mut made: Vec<Match> = Vec::new();
    for one in all {
        let inner = match flat(one) {
            Match::All(inner) => inner,
            one => vec![one],
        };
        for one in inner {
            if !made.contains(&one) {
                made.push(one);
            }
        }
    }
    one_of(made)
}

fn report_actions(device: &Device, filter: &Filter, report: &mut Report) {
    let actions = &filter.actions;
    if actions.redirect.is_some() {
        report.unsupported(filter.at, "packets that a filter sends to another device: they are sent here", None);
    }
    if filter.target.is_none() && actions.edits.iter().any(|edit| matches!(edit, Edit::Priority(_))) && !actions.next {
        report.warning(
            filter.at,
            "a priority that a filter of the discipline itself writes comes too late to choose a class: such packets go to the \
             default class",
            "write `flowid`, or put the filter into clsact's egress",
        );
    }
    if filter.target.is_none() && !actions.any && !actions.next {
        report.warning(
            filter.at,
            "a filter that leads nowhere: such packets go to the default class, and no later filter is asked",
            "write `flowid`",
        );
    }
    // Modified fields are seen by filters of inner disciplines.
    let writes = actions.edits.iter().any(|edit| !matches!(edit, Edit::Priority(_)));
    let within = filter.target.and_then(|target| {
        device
            .qdiscs
            .iter()
            .find(|inner| inner.parent == Parent::Class(target) && !matches!(inner.kind, Kind::Leaf { .. }))
    });
    if writes && within.is_some() && !actions.next {
        report.unsupported(
            filter.at,
            "what a filter writes into packets before a discipline within looks at them",
            Some("write it before the root discipline"),
        );
    }
}

fn is_inner(policy: &Policy, class: &str) -> bool {
    policy.classes.iter().any(|own| own.parent.as_deref() == Some(class))
}

fn too_long(qdisc: &Qdisc, report: &mut Report) {
    report.unsupported(
        qdisc.at,
        "what the firewall writes is only partly known here, or by too many rules",
        Some("give the traffic table a column `mark`, and leave the rules out"),
    );
}

fn handle(name: &str) -> Option<Handle> {
    let (major, minor) = name.split_once(':')?;
    let part = |text: &str| u16::from_str_radix(text, 16).ok();
    Some(Handle { major: part(major)?, minor: part(minor)? })
}
