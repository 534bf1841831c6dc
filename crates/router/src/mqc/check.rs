//! Checks for configurations that a router would refuse, or whose effect may be unexpected.

use super::policy_map::DEFAULT_CLASS;
use crate::ir::{
    By, Class, Config, Limit, Match, Platform, Policy, Port, Profile, Queue, Scheduler, Share, Unit, Wred,
};
use crate::{Place, Report};
use std::collections::BTreeSet;

/// Default queue limit of a class in packets (classic IOS).
const QUEUE_LIMIT: u64 = 64;
/// Percentage of the rate that classes may reserve by default before Cisco's hierarchical queueing framework
/// (12.4(20)T).
const OLD_RESERVABLE: u64 = 75;
/// Maximum number of levels of nested policies in routers.
const MAX_LEVELS: usize = 3;

/// Reports errors and warnings about the configuration as a whole.
pub(super) fn check(config: &Config, report: &mut Report) {
    references(config, report);
    for policy in &config.policies {
        for class in &policy.classes {
            let both_allowed = config.platform == Some(Platform::Nxos);
            actions(class, policy, both_allowed, report);
        }
        units(policy, report);
    }
    let mut reached = BTreeSet::new();
    for port in &config.ports {
        attached(port, config, report, &mut reached);
    }
    for policy in config.policies.iter().filter(|policy| !reached.contains(policy.name.as_str())) {
        // Percentages of a policy that is not attached have no reference rate, but their sum is limited.
        sums(policy, None, 100, report);
        if !config.policies.iter().any(|other| children(other).any(|child| child == policy.name)) {
            report.warning(
                policy.at,
                format!("no interface uses the policy map `{}`", policy.name),
                "add `service-policy output` to an interface, or name one with --policy",
            );
        }
    }
}

/// Returns the names of the child policies of a policy's classes.
fn children(policy: &Policy) -> impl Iterator<Item = &str> {
    policy.classes.iter().filter_map(|class| match &class.queue {
        Queue::Policy(name) => Some(name.as_str()),
        _ => None,
    })
}

// --- Names ---

/// Reports names that are not defined, and cycles of class maps.
fn references(config: &Config, report: &mut Report) {
    for policy in &config.policies {
        for rule in &policy.rules {
            named(&rule.when, rule.at, config, report);
        }
        for class in &policy.classes {
            if let Queue::Policy(name) = &class.queue
                && config.policy(name).is_none()
            {
                report.error(class.at, format!("there is no policy map `{name}`"), "define it, or correct the name");
            }
        }
    }
    for map in &config.class_maps {
        for condition in &map.conditions {
            named(condition, map.at, config, report);
        }
        if map.conditions.is_empty() {
            let message = format!("the class map `{}` has no conditions, so it matches no packet", map.name);
            report.warning(map.at, message, "add a `match` line");
        }
    }
    for (name, at) in in_cycles(config) {
        report.error(
            at,
            format!("the class map `{name}` is in a cycle of class maps, or refers to one"),
            "break the cycle",
        );
    }
}

/// Reports undefined names in a condition.
fn named(condition: &Match, at: Place, config: &Config, report: &mut Report) {
    match condition {
        Match::ClassMap(name) if config.class_map(name).is_none() => {
            report.error(at, format!("there is no class map `{name}`"), "define it, or correct the name");
        }
        Match::AccessList(name) if config.access_list(name).is_none() => {
            report.error(at, format!("there is no access list `{name}`"), "define it, or correct the name");
        }
        Match::Not(inner) => named(inner, at, config, report),
        Match::All(all) | Match::AnyOf(all) => all.iter().for_each(|one| named(one, at, config, report)),
        _ => {}
    }
}

/// Returns the class maps that contain themselves, or refer to one that does, with their places.
fn in_cycles(config: &Config) -> Vec<(&str, Place)> {
    let uses: Vec<(usize, usize)> = config
        .class_maps
        .iter()
        .enumerate()
        .flat_map(|(index, map)| {
            map.conditions.iter().filter_map(move |condition| Some((index, inner_map(condition)?)))
        })
        .filter_map(|(index, name)| Some((index, config.class_maps.iter().position(|map| map.name == name)?)))
        .collect();
    cyclic(config.class_maps.len(), &uses)
        .into_iter()
        .filter_map(|index| config.class_maps.get(index).map(|map| (map.name.as_str(), map.at)))
        .collect()
}

/// Returns the name of the class map to which a condition refers.
fn inner_map(condition: &Match) -> Option<&str> {
    match condition {
        Match::ClassMap(name) => Some(name),
        Match::Not(inner) => inner_map(inner),
        _ => None,
    }
}

/// Returns the nodes from which a cycle is reachable.
fn cyclic(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    // Number of edges of each node that lead to nodes which may reach a cycle.
    let mut left: Vec<usize> = vec![0; nodes];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, to) in edges {
        if let (Some(count), Some(back)) = (left.get_mut(*from), users.get_mut(*to)) {
            *count += 1;
            back.push(*from);
        }
    }
    let mut settled: Vec<usize> = (0..nodes).filter(|node| left.get(*node) == Some(&0)).collect();
    while let Some(node) = settled.pop() {
        for user in users.get(node).into_iter().flatten() {
            if let Some(count) = left.get_mut(*user) {
                *count -= 1;
                if *count == 0 {
                    settled.push(*user);
                }
            }
        }
    }
    (0..nodes).filter(|node| left.get(*node).is_some_and(|count| *count > 0)).collect()
}

// --- Actions of a class ---

/// Checks the actions of a class; `both_allowed`: bandwidth and priority are compatible, as on NX-OS, where such a
/// class has priority.
fn actions(class: &Class, policy: &Policy, both_allowed: bool, report: &mut Report) {
    let (at, name) = (class.at, class.name.as_str());
    if policy.scheduler != Scheduler::ClassBased {
        return;
    }
    if class.bandwidth.is_some() && class.priority.is_some() && both_allowed {
        report.unsupported(
            at,
            format!("class `{name}` has both bandwidth and priority: it is served first, without a limit"),
            Some("remove one of them"),
        );
    } else if class.bandwidth.is_some() && class.priority.is_some() {
        report.error(at, format!("class `{name}` has both bandwidth and priority"), "keep one of them");
    }
    if class.priority.is_some() && name == DEFAULT_CLASS {
        report.error(at, "class-default cannot have priority", "give the packets a class of their own");
    }
    if class.priority.is_some() && matches!(class.queue, Queue::Fair(_)) {
        report.error(at, format!("class `{name}` has priority and fair-queue"), "remove fair-queue");
    }
    if let Some(wred) = &class.wred {
        if class.priority.is_some() {
            report.error(at, format!("class `{name}` has priority and random-detect"), "remove random-detect");
        } else if class.bandwidth.is_none() && class.shape.is_none() && name != DEFAULT_CLASS {
            report.error(
                at,
                format!("class `{name}` has random-detect without bandwidth or shape"),
                "add bandwidth, or move random-detect to class-default",
            );
        }
        if class.limit.is_some() {
            report.warning(
                at,
                format!("class `{name}` has random-detect and queue-limit"),
                "old releases refuse both; both are applied here",
            );
        }
        for profile in &wred.profiles {
            thresholds(class, wred, *profile, report);
        }
    }
}

/// Reports a maximum threshold of WRED above the queue limit.
fn thresholds(class: &Class, wred: &Wred, profile: Profile, report: &mut Report) {
    let limit = if let Some(Limit::Packets(limit)) = class.limit { limit } else { QUEUE_LIMIT };
    let has_other_unit = !matches!(class.limit, None | Some(Limit::Packets(_)));
    if profile.unit != Unit::Packets || has_other_unit || u64::from(profile.max) <= limit {
        return;
    }
    let code = profile.code.map_or_else(|| "rsvp".to_owned(), |code| code.to_string());
    let kind = if wred.by == By::Dscp { "dscp" } else { "precedence" };
    let message = format!(
        "class `{}`: the maximum threshold {} of {kind} {code} is above the queue limit {limit}",
        class.name, profile.max
    );
    if class.limit.is_some() {
        let advice = "raise queue-limit, or lower the threshold: the queue overflows before the average reaches it";
        report.error(class.at, message, advice);
    } else {
        let advice = "state queue-limit: IOS refuses such a threshold with its default queue limit";
        report.warning(class.at, message, advice);
    }
}

/// Reports bandwidths of one policy in different units.
fn units(policy: &Policy, report: &mut Report) {
    let kind = |share: Share| match share {
        Share::Rate(_) => "kbit/s",
        Share::Percent(_) => "percent",
        Share::RemainingPercent(_) => "remaining percent",
        Share::RemainingRatio(_) => "remaining ratio",
    };
    let mut first: Option<(&'static str, &str)> = None;
    for class in &policy.classes {
        // The rate of priority may have another unit than those of bandwidth (Cisco IOS Quality of Service Solutions
        // Command Reference, `priority`).
        let own = class.bandwidth;
        let Some(unit) = own.map(kind) else { continue };
        let absolute = |unit: &str| matches!(unit, "kbit/s" | "percent");
        match first {
            None => first = Some((unit, &class.name)),
            Some((other, name)) if other != unit && (absolute(other) == absolute(unit)) => {
                let message = format!(
                    "class `{}` states bandwidth in {unit}, and class `{name}` of the same policy in {other}",
                    class.name
                );
                report.error(class.at, message, "use one unit for all classes of a policy");
                return;
            }
            Some(_) => {}
        }
    }
}

// --- Sums, by attachment ---

/// Checks the policies attached to a port, and adds the names of the output policies and their child policies to
/// `reached`.
fn attached<'a>(port: &'a Port, config: &'a Config, report: &mut Report, reached: &mut BTreeSet<&'a str>) {
    if let Some(input) = &port.input {
        match config.policy(input) {
            None => {
                report.error(port.at, format!("there is no policy map `{input}`"), "define it, or correct the name");
            }
            Some(policy) => {
                let _ = reached.insert(policy.name.as_str());
                let queues =
                    |class: &Class| class.bandwidth.is_some() || class.priority.is_some() || class.shape.is_some();
                for class in policy.classes.iter().filter(|class| queues(class)) {
                    let message =
                        format!("class `{}` has a queueing action, and the policy is attached to input", class.name);
                    report.error(class.at, message, "input policies can only police and mark");
                }
            }
        }
    }
    let Queue::Policy(root) = &port.root.queue else { return };
    if config.policy(root).is_none() {
        report.error(port.at, format!("there is no policy map `{root}`"), "define it, or correct the name");
        return;
    }
    let reservable = u64::from(port.reservable.unwrap_or(100));
    // Each policy is visited at most once per level and port.
    let mut level: Vec<(&str, Option<u64>)> = vec![(root, port.bandwidth.or(port.rate))];
    for depth in 0.. {
        let mut next: Vec<(&str, Option<u64>)> = Vec::new();
        let mut seen = BTreeSet::new();
        for (name, base) in level {
            let Some(policy) = config.policy(name) else { continue };
            if !seen.insert(name) {
                continue;
            }
            let _ = reached.insert(policy.name.as_str());
            if depth == MAX_LEVELS {
                report.error(
                    policy.at,
                    format!("`{name}` is nested more than {MAX_LEVELS} levels deep"),
                    "routers allow three levels",
                );
                return;
            }
            sums(policy, base, if depth == 0 { reservable } else { 100 }, report);
            for class in &policy.classes {
                if let Queue::Policy(child) = &class.queue {
                    let shaped = class.shape.and_then(|shape| shape.bps(base?));
                    let own = class.bandwidth.and_then(|share| share.of(base?));
                    next.push((child, shaped.or(own).or(base)));
                    if class.shape.is_none()
                        && class.bandwidth.is_none()
                        && class.priority.is_none()
                        && queues(config, child)
                    {
                        let message = format!("class `{}` has a queueing child policy but no rate", class.name);
                        report.warning(
                            class.at,
                            message,
                            "add `shape average` or `bandwidth`, without which routers refuse the child policy",
                        );
                    }
                }
            }
        }
        if next.is_empty() {
            return;
        }
        level = next;
    }
}

/// `true` if a class of the policy has bandwidth or priority.
fn queues(config: &Config, policy: &str) -> bool {
    let queues = |class: &Class| class.bandwidth.is_some() || class.priority.is_some();
    config.policy(policy).is_some_and(|policy| policy.classes.iter().any(queues))
}

/// Checks the sums of bandwidth and priority of a policy; `base` is the reference rate in bit/s, `reservable` a
/// percentage.
fn sums(policy: &Policy, base: Option<u64>, reservable: u64, report: &mut Report) {
    if policy.scheduler != Scheduler::ClassBased {
        return;
    }
    let (mut percent, mut rate, mut remaining) = (0u64, 0u64, 0u64);
    for class in &policy.classes {
        for share in class.bandwidth.into_iter().chain(class.priority.and_then(|priority| priority.rate)) {
            match share {
                Share::Percent(n) => percent = percent.saturating_add(u64::from(n)),
                Share::Rate(n) => rate = rate.saturating_add(n),
                Share::RemainingPercent(n) => remaining = remaining.saturating_add(u64::from(n)),
                Share::RemainingRatio(_) => {}
            }
        }
    }
    if remaining > 100 {
        let message = format!("the remaining percentages of `{}` sum to {remaining}", policy.name);
        report.error(policy.at, message, "lower them to a sum of at most 100");
    }
    // Rounded down: an excess below one percent may be due to rates in whole kbit/s.
    let of_rate = base
        .filter(|base| *base > 0)
        .map_or(0, |base| u64::try_from(u128::from(rate) * 100 / u128::from(base)).unwrap_or(u64::MAX));
    let sum = percent.saturating_add(of_rate);
    if sum > reservable {
        let base = base.map_or_else(String::new, |base| format!(" of {base} bit/s"));
        let message = format!(
            "the classes of `{}` reserve {sum} %{base}, more than the {reservable} % that may be reserved",
            policy.name
        );
        report.error(policy.at, message, "lower bandwidth and priority, or raise max-reserved-bandwidth");
    } else if sum > OLD_RESERVABLE && reservable == 100 {
        report.warning(
            policy.at,
            format!("the classes of `{}` reserve {sum} %", policy.name),
            "releases before 12.4(20)T allow 75 % unless max-reserved-bandwidth is higher",
        );
    }
}
