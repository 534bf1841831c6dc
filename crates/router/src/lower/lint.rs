//! Static checks: unreachable classes, access-list entries that are shadowed by earlier ones, priority without a rate,
//! and a priority rate below the rate of its flows. Findings are warnings, except that a redundant entry is an ignored
//! line; the policy is simulated as written.

use super::link::Link;
use super::traffic::{Model, Traffic};
use crate::Report;
use crate::Scope;
use crate::ir::{Class, Config, Header, Match, Policy, Port, Queue, Scheduler, all_cover};
use std::collections::BTreeSet;

/// Upper bound on the nesting of policies and of conditions; Cisco IOS allows three levels of policies.
const MAX_DEPTH: usize = 8;
/// Upper bound on the number of policies that are checked; a policy counts once for each place where it is attached.
const MAX_POLICIES: usize = 1000;

/// Reports settings of a port's policy that are probably mistakes, given the traffic of the port.
pub(super) fn lint(config: &Config, port: &Port, traffic: &Traffic, link: &Link, report: &mut Report) {
    let Queue::Policy(root) = &port.root.queue else { return };
    let base = port.root.shape.and_then(|shape| shape.bps(link.base)).unwrap_or(link.base);
    let all: Vec<usize> = (0..traffic.rows.len()).collect();
    let mut todo: Vec<(&str, u64, Vec<usize>, usize)> = vec![(root, base, all, 0)];
    let mut seen: Vec<&str> = Vec::new();
    for _ in 0..MAX_POLICIES {
        let Some((name, base, rows, depth)) = todo.pop() else { return };
        let Some(policy) = config.policy(name).filter(|_| depth < MAX_DEPTH) else { continue };
        if !seen.contains(&name) {
            seen.push(name);
            unreachable(policy, config, report);
        }
        for class in &policy.classes {
            let own: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|row| {
                    let header = traffic.rows.get(*row).map(|row| &row.header);
                    header.is_some_and(|header| class_of(policy, header, config) == Some(class.name.as_str()))
                })
                .collect();
            priority(policy, class, base, &own, traffic, link, report);
            if let Queue::Policy(inner) = &class.queue {
                let share = class.shape.and_then(|shape| shape.bps(base)).or_else(|| class.bandwidth?.of(base));
                todo.push((inner, share.unwrap_or(base), own, depth + 1));
            }
        }
    }
}

/// Returns the class of packets with `header`; `None`: no rule certainly matches, and there is no default class.
fn class_of<'a>(policy: &'a Policy, header: &Header, config: &Config) -> Option<&'a str> {
    let rule = policy.rules.iter().find(|rule| rule.when.holds(header, config) == Some(true));
    rule.map(|rule| rule.class.as_str()).or(policy.default.as_deref())
}

/// Upper bound on the number of entries of an access list that are checked.
const MAX_ENTRIES: usize = 500;

/// Reports entries of access lists that an earlier entry shadows: as a warning if the two differ in action, else as an
/// ignored line.
pub(super) fn shadowed(config: &Config, reached: &BTreeSet<Scope>, report: &mut Report) {
    let lists = config.access_lists.iter().filter(|list| reached.contains(&Scope::AccessList(list.name.clone())));
    for list in lists {
        for (index, entry) in list.entries.iter().enumerate().take(MAX_ENTRIES) {
            let before = list.entries.iter().take(index);
            let Some(first) = before.into_iter().find(|first| all_cover(&first.conditions, &entry.conditions)) else {
                continue;
            };
            let what = format!("of `{}` never applies: line {} matches all of its packets", list.name, first.at.line);
            if first.permit == entry.permit {
                report.ignored(entry.at, format!("the entry {what}, with the same action"));
            } else {
                let does = |permit| if permit { "permits" } else { "denies" };
                report.warning(
                    entry.at,
                    format!("the entry {what}, and {} them", does(first.permit)),
                    "put the narrower entry first",
                );
            }
        }
    }
}

/// Reports classes whose conditions depend only on the DSCP and that no packet reaches: no DSCP meets the conditions,
/// or earlier classes take all that do.
fn unreachable(policy: &Policy, config: &Config, report: &mut Report) {
    let mut taken: u64 = 0;
    for rule in &policy.rules {
        let Some(codes) = codes(&rule.when, config) else { continue };
        let left = codes & !taken;
        if codes == 0 {
            report.warning(
                rule.at,
                format!("class `{}` of `{}` never gets a packet: no DSCP meets its conditions", rule.class, policy.name),
                "a packet has one DSCP: with several `match dscp` lines write match-any, or list the values on one line",
            );
        } else if left == 0 {
            let before = policy.rules.iter().take_while(|other| !core::ptr::eq(*other, rule));
            let by: Vec<&str> = before
                .filter(|other| self::codes(&other.when, config).is_some_and(|own| own & codes != 0))
                .map(|other| other.class.as_str())
                .collect();
            report.warning(
                rule.at,
                format!(
                    "class `{}` of `{}` never gets a packet: all its DSCPs are in earlier classes: {}",
                    rule.class,
                    policy.name,
                    by.join(", ")
                ),
                "put the narrower class first",
            );
        }
        taken |= codes;
    }
}

/// Returns the DSCPs that meet a condition, bit i for DSCP i; `None`: the condition depends on other fields.
fn codes(when: &Match, config: &Config) -> Option<u64> {
    if depends_on_ipv6(when, config, MAX_DEPTH) {
        return None;
    }
    let mut found = 0;
    for code in 0..64u8 {
        let header = Header { dscp: code, ..Header::default() };
        if when.holds(&header, config)? {
            found |= 1 << code;
        }
    }
    Some(found)
}

/// `true` if a condition contains a test for IPv6: [`codes`] tries only IPv4 headers, and IPv6 packets have the same
/// DSCPs.
fn depends_on_ipv6(when: &Match, config: &Config, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let any = |all: &[Match]| all.iter().any(|one| depends_on_ipv6(one, config, depth));
    match when {
        Match::Version(6) => true,
        Match::Not(inner) => depends_on_ipv6(inner, config, depth),
        Match::All(all) | Match::AnyOf(all) => any(all),
        Match::ClassMap(name) => config.class_map(name).is_some_and(|map| any(&map.conditions)),
        _ => false,
    }
}

/// Reports a priority class of a class-based scheduler that has neither a rate nor a policer, or whose flows send more
/// than the smaller of the two rates. TCP flows do not count, since they adapt their rate.
fn priority(
    policy: &Policy,
    class: &Class,
    base: u64,
    rows: &[usize],
    traffic: &Traffic,
    link: &Link,
    report: &mut Report,
) {
    let Some(own) = class.priority.filter(|_| policy.scheduler == Scheduler::ClassBased) else { return };
    let policed = class.police.as_ref().and_then(|police| police.rate.of(base));
    let rate = match (own.rate.and_then(|share| share.of(base)), policed) {
        (Some(rate), Some(policed)) => rate.min(policed),
        (Some(rate), None) | (None, Some(rate)) => rate,
        // Only policies of Junos have parts; the Junos reader has already reported this.
        (None, None) if !policy.parts.is_empty() => return,
        (None, None) => {
            report.warning(
                class.at,
                format!(
                    "class `{}` has priority without a rate: it can take the whole link from the other classes",
                    class.name
                ),
                "write `priority` with a rate, or `police` in the class",
            );
            return;
        }
    };
    let sends = |row: &usize| traffic.rows.get(*row).filter(|row| row.model != Model::Tcp);
    let needs = rows.iter().filter_map(sends).fold(0u64, |sum, row| {
        let least = if link.overhead.unpadded { 0 } else { link.overhead.least };
        let counted = row.packet.saturating_add(u64::from(link.overhead.counted)).max(u64::from(least));
        let flow = u128::from(row.rate) * u128::from(counted) / u128::from(row.packet.max(1));
        sum.saturating_add(u64::try_from(flow).unwrap_or(u64::MAX).saturating_mul(u64::from(row.count)))
    });
    if needs > rate {
        report.warning(
            class.at,
            format!(
                "class `{}` has a priority rate of {} kbit/s, but its flows send {} kbit/s, {} B of {} per packet included: \
                 the excess is dropped when the link is congested",
                class.name,
                rate / 1000,
                needs.div_ceil(1000),
                link.overhead.counted,
                link.overhead.name
            ),
            "raise the rate, or admit fewer flows",
        );
    }
}
