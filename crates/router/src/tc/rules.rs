//! Rules of policies, from the filters of a device and the modifications of packets before them.

use super::action::{Edit, drop_all};
use super::filters::one_of;
use super::handle::Handle;
use super::marking::{Marking, Step};
use super::tables::{Device, Filter, Hook, Kind, Parent, Qdisc, Tables};
use crate::Report;
use crate::ir::{Match, Policy, Rule};

/// Returns the modifications of a device's packets before its disciplines: by the firewall, then by egress filters of
/// `clsact`. If packets are redirected to the device on reception, only the filters of the receiving device up to the
/// one that redirects them apply.
pub(super) fn marking(name: &str, tables: &Tables, report: &mut Report) -> Marking {
    let mut found = Vec::new();
    let mut is_redirected_here = false;
    for (from, device) in &tables.devices {
        let filters: Vec<&Filter> = device.filters.iter().filter(|filter| filter.hook == Hook::Ingress).collect();
        for (index, filter) in filters.iter().enumerate() {
            if filter.actions.redirect.as_deref() != Some(name) {
                continue;
            }
            is_redirected_here = true;
            let before = filters.get(..=index).unwrap_or_default();
            let passed = before.iter().filter(|own| own.actions.next || core::ptr::eq(**own, *filter));
            found.extend(passed.flat_map(|own| edits(own)));
            if !matches!(filter.when, Match::Any | Match::Version(4)) {
                report.assumed(
                    filter.at,
                    format!(
                        "only packets received on {from} that match this filter are redirected to {name}: the traffic \
                             table has no others"
                    ),
                    "remove other packets from the table",
                );
            }
        }
    }
    if is_redirected_here {
        return Marking::new(found, false);
    }
    match tables.firewall.steps(name) {
        Ok(steps) => found.extend(steps),
        Err(at) => report.unsupported(
            at,
            "the chains of the firewall have too many jumps and are ignored",
            Some("give the traffic table a column `mark`, and remove the rules"),
        ),
    }
    if let Some(at) = tables.firewall.output().filter(|_| !found.is_empty()) {
        report.assumed(
            at,
            "packets traverse the chain OUTPUT, as if this host generated them",
            "remove the rules of OUTPUT if the host only forwards",
        );
    }
    let egress = tables.devices.get(name).into_iter().flat_map(|device| &device.filters);
    let mut matched_before: Vec<Match> = Vec::new();
    for filter in egress.filter(|filter| filter.hook == Hook::Egress) {
        if filter.actions.police.is_some() || filter.actions.drop || filter.actions.redirect.is_some() {
            report.unsupported(
                filter.at,
                "an egress filter of clsact that drops, polices or redirects",
                Some("police in the root discipline"),
            );
        }
        for mut step in edits(filter) {
            if !matched_before.is_empty() {
                let mut all: Vec<Match> =
                    matched_before.iter().map(|when| Match::Not(Box::new(when.clone()))).collect();
                all.push(step.when);
                step.when = Match::All(all);
            }
            found.push(step);
        }
        // The first filter that matches ends the evaluation, unless its action is `continue`.
        if !filter.actions.next {
            matched_before.push(filter.when.clone());
        }
    }
    Marking::new(found, tables.firewall.marks())
}

/// Returns the modifications by a filter, as steps.
fn edits(filter: &Filter) -> impl Iterator<Item = Step> + '_ {
    filter.actions.edits.iter().map(|edit| Step::new(filter.when.clone(), *edit))
}

/// Reports filters of packets received by a device, except those that redirect them.
pub(super) fn report_ingress(device: &Device, report: &mut Report) {
    for filter in device.filters.iter().filter(|filter| filter.hook == Hook::Ingress) {
        if filter.actions.redirect.is_none() {
            report.unsupported(
                filter.at,
                "a filter of received packets that does not redirect them",
                Some("redirect them to an ifb device, or police them where they are sent"),
            );
        }
    }
}

/// Sets the rules of a discipline's policy: first those for packets whose kernel priority selects one of its classes,
/// then those of its filters. `before` are the modifications of packets before the discipline.
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
                    format!("a priority that selects class {name}, which has child classes"),
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
        let police = if filter.actions.drop { Some(drop_all()) } else { filter.actions.police.clone() };
        let target = filter.target.map(|target| target.to_string());
        let inner = target.as_ref().filter(|class| is_inner(policy, class));
        if let Some(class) = inner {
            report.warning(
                filter.at,
                format!("class {class} has child classes, so packets of this filter go to the default class"),
                "let the filter select a leaf class",
            );
        }
        let Some(class) = target.clone().filter(|_| inner.is_none()).or_else(|| policy.default.clone()) else {
            report.unsupported(
                filter.at,
                "a filter that selects no class, without a default class",
                Some("write `flowid` with a leaf class"),
            );
            continue;
        };
        policy.rules.push(Rule { when, class, police, at: filter.at });
    }
    policy.rules = joined(core::mem::take(&mut policy.rules));
}

/// Joins each pair of consecutive rules that differ only in the IP version, 4 before 6, into one.
fn joined(rules: Vec<Rule>) -> Vec<Rule> {
    let mut joined: Vec<Rule> = Vec::new();
    for rule in rules {
        if let Some(last) = joined.last_mut()
            && last.class == rule.class
            && last.police.is_none()
            && rule.police.is_none()
            && let (Some((4, of_ipv4)), Some((6, of_ipv6))) = (of_version(&last.when), of_version(&rule.when))
            && of_ipv4 == of_ipv6
        {
            last.when = of_ipv4;
            continue;
        }
        joined.push(rule);
    }
    joined
}

/// Returns the IP version with which a condition begins, and the rest of the condition; `None`: it begins otherwise.
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

/// Flattens a conjunction and removes duplicates, which arise from the substitution of marks.
fn flat(when: Match) -> Match {
    let Match::All(all) = when else { return when };
    let mut conditions: Vec<Match> = Vec::new();
    for part in all {
        let inner = match flat(part) {
            Match::All(inner) => inner,
            single => vec![single],
        };
        for condition in inner {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
    }
    one_of(conditions)
}

/// Reports actions of a discipline's filter that are not simulated or have an unexpected effect.
fn report_actions(device: &Device, filter: &Filter, report: &mut Report) {
    let actions = &filter.actions;
    if actions.redirect.is_some() {
        report.unsupported(
            filter.at,
            "a filter that redirects packets to another device: this device sends them here",
            None,
        );
    }
    if actions.next && actions.police.is_some() {
        report.unsupported(
            filter.at,
            "a policer before `continue`",
            Some("police with the filter that selects the class"),
        );
    }
    if filter.target.is_none() && actions.edits.iter().any(|edit| matches!(edit, Edit::Priority(_))) && !actions.next {
        report.warning(
            filter.at,
            "a priority set by a filter of the discipline itself comes too late to select a class: the packets go to the \
             default class",
            "write `flowid`, or move the filter to clsact's egress hook",
        );
    }
    if filter.target.is_none() && !actions.acts && !actions.next {
        report.warning(
            filter.at,
            "a filter without a class: its packets go to the default class, and no later filter is evaluated",
            "write `flowid`",
        );
    }
    // The kernel evaluates filters of inner disciplines on the modified packet, which is not simulated.
    let writes = actions.edits.iter().any(|edit| !matches!(edit, Edit::Priority(_)));
    let inner = filter.target.and_then(|target| {
        device
            .qdiscs
            .iter()
            .find(|qdisc| qdisc.parent == Parent::Class(target) && !matches!(qdisc.kind, Kind::Leaf { .. }))
    });
    if writes && inner.is_some() && !actions.next {
        report.unsupported(
            filter.at,
            "a filter that modifies packets before an inner discipline classifies them",
            Some("modify the packets before the root discipline"),
        );
    }
}

/// `true` if the class has child classes.
fn is_inner(policy: &Policy, class: &str) -> bool {
    policy.classes.iter().any(|own| own.parent.as_deref() == Some(class))
}

/// Reports that [`Marking`] gave up on a condition.
fn too_long(qdisc: &Qdisc, report: &mut Report) {
    report.unsupported(
        qdisc.at,
        "a condition on fields that the firewall sets has too many terms",
        Some("give the traffic table a column `mark`, and remove the rules"),
    );
}

/// Parses a handle `MAJOR:MINOR`, both hexadecimal; `None`: other text.
fn handle(name: &str) -> Option<Handle> {
    let (major, minor) = name.split_once(':')?;
    let part = |text: &str| u16::from_str_radix(text, 16).ok();
    Some(Handle { major: part(major)?, minor: part(minor)? })
}
