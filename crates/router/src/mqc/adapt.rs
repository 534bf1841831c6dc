//! Conversion from other languages into policy maps.

use super::condition_text::condition_text;
use super::policy_map::DEFAULT_CLASS;
use crate::ir::{
    AccessEntry, AccessList, By, Class, ClassMap, Config, Fair, HtbClass, Limit, Match, Policy, Priority, Profile,
    Queue, Red, Rule, Scheduler, Shape, Share, Wred,
};
use crate::{Place, Report};

/// Packet size in bytes for the conversion of thresholds in bytes to packets.
const PACKET: u64 = 1500;

/// Returns the configuration with class maps and policies of class-based queueing only; approximations are reported.
pub(super) fn adapt(config: &Config) -> (Config, Report) {
    let mut maker = Maker { made: config.clone(), report: Report::default() };
    maker.made.policies.clear();
    for policy in &config.policies {
        maker.policy(policy);
    }
    let mut ports = core::mem::take(&mut maker.made.ports);
    for port in &mut ports {
        let mut root = core::mem::take(&mut port.root);
        maker.queue(&mut root);
        if root.shape.is_some() || (root.wred.is_some() && matches!(root.queue, Queue::Policy(_))) {
            // An interface cannot shape, but a policy with one class can.
            let name = format!("{}-shape", port.name);
            DEFAULT_CLASS.clone_into(&mut root.name);
            let classes = vec![core::mem::take(&mut root)];
            let default = Some(DEFAULT_CLASS.to_owned());
            maker.made.policies.push(Policy { name: name.clone(), default, classes, ..Policy::default() });
            root.queue = Queue::Policy(name);
        } else if let Some(limit) = root.limit.take() {
            match limit {
                Limit::Packets(packets) => port.hold = port.hold.or(u32::try_from(packets).ok()),
                other => {
                    maker.note(port.at, format!("the limit {other:?} of `{}`: hold-queue counts packets", port.name));
                }
            }
        }
        port.root = root;
        // A port without a rate gets one that fits the guarantees and ceilings of its top classes.
        if port.rate.or(port.bandwidth).is_none()
            && let Queue::Policy(name) = &port.root.queue
            && let Some(policy) = config.policy(name)
        {
            let top = || policy.classes.iter().filter(|class| class.parent.is_none()).filter_map(|class| class.htb);
            let sum = top().fold(0u64, |sum, htb| sum.saturating_add(htb.rate));
            let highest = top().map(|htb| htb.ceil.unwrap_or(htb.rate)).max().unwrap_or(0);
            port.rate = Some(sum.max(highest)).filter(|rate| *rate > 0);
        }
    }
    maker.made.ports = ports;
    (maker.made, maker.report)
}

struct Maker {
    made: Config,
    report: Report,
}

impl Maker {
    /// Warns of an approximation.
    fn note(&mut self, at: Place, what: String) {
        self.report.warning(at, what, "check that the approximation is what you want");
    }

    /// Converts a policy, whatever its scheduler.
    fn policy(&mut self, policy: &Policy) {
        match policy.scheduler {
            Scheduler::ClassBased => {
                let mut own = policy.clone();
                own.classes.iter_mut().for_each(|class| self.queue(class));
                self.made.policies.push(own);
            }
            Scheduler::Priority if policy.name.starts_with("priority-list-") => self.made.policies.push(policy.clone()),
            Scheduler::Htb => self.htb(policy),
            Scheduler::Hfsc => self.report.unsupported(
                policy.at,
                format!("`{}`: policy maps have no service curves", policy.name),
                Some("write its classes with htb, or give the router bandwidth and shape by hand"),
            ),
            Scheduler::Priority | Scheduler::Drr | Scheduler::Ets => {
                let mut classes = policy.classes.clone();
                for (index, class) in classes.iter_mut().enumerate() {
                    let strict = policy.scheduler == Scheduler::Priority
                        || (policy.scheduler == Scheduler::Ets && class.quantum.is_none());
                    let is_default = policy.default.as_ref() == Some(&class.name);
                    if strict && is_default {
                        self.note(
                            class.at,
                            format!("`{}`: the default class gets the remaining bandwidth in any band", class.name),
                        );
                    } else if strict && index < 2 {
                        class.priority = Some(Priority { level: index as u8 + 1, rate: None, burst: None });
                    } else if strict {
                        self.note(
                            class.at,
                            format!(
                                "`{}`: routers have two levels of priority; this class gets the remaining bandwidth",
                                class.name
                            ),
                        );
                    } else {
                        let ratio = class.quantum.unwrap_or(PACKET).clamp(1, 65536);
                        class.bandwidth = Some(Share::RemainingRatio(u32::try_from(ratio).unwrap_or(1)));
                    }
                    class.quantum = None;
                    self.queue(class);
                }
                self.classes(policy, &policy.name, classes);
            }
        }
    }

    /// Converts a policy of HTB: its top classes become a policy, and so do the child classes of each class.
    fn htb(&mut self, policy: &Policy) {
        let children = |parent: Option<&str>| -> Vec<Class> {
            policy.classes.iter().filter(|class| class.parent.as_deref() == parent).cloned().collect()
        };
        let is_inner = |name: &str| policy.classes.iter().any(|class| class.parent.as_deref() == Some(name));
        for outer in [None].into_iter().chain(policy.classes.iter().filter(|class| is_inner(&class.name)).map(Some)) {
            let mut classes = children(outer.map(|class| class.name.as_str()));
            let ceiling = outer.and_then(|class| class.htb).map(|htb| htb.ceil.unwrap_or(htb.rate));
            let sum = classes.iter().filter_map(|class| class.htb).fold(0u64, |sum, htb| sum.saturating_add(htb.rate));
            let scale = ceiling.filter(|ceiling| sum > *ceiling);
            if scale.is_some() {
                self.note(
                    policy.at,
                    format!(
                        "the guarantees of the classes of `{}` exceed the rate above them and are scaled down",
                        policy.name
                    ),
                );
            }
            for class in &mut classes {
                let Some(HtbClass { rate, ceil, burst, prio, .. }) = class.htb.take() else { continue };
                let rate = scale.map_or(rate, |scale| {
                    let scaled = u128::from(rate) * u128::from(scale) / u128::from(sum.max(1));
                    u64::try_from(scaled).unwrap_or(rate).max(1000)
                });
                let ceil = ceil.unwrap_or(rate);
                if outer.is_some() || has_several_top_classes(policy) {
                    class.bandwidth = Some(Share::Rate(rate));
                }
                if ceiling.is_none_or(|ceiling| ceil < ceiling) {
                    class.shape = Some(Shape { rate: Share::Rate(ceil), burst, excess: None, peak: false });
                }
                if prio.is_some_and(|prio| prio > 0) {
                    self.note(
                        class.at,
                        format!("class `{}`: the priority in borrowing (prio) has no counterpart", class.name),
                    );
                }
                class.parent = None;
                if is_inner(&class.name) {
                    class.queue = Queue::Policy(inner_name(policy, &class.name));
                } else {
                    self.queue(class);
                }
            }
            let name = outer.map_or_else(|| policy.name.clone(), |class| inner_name(policy, &class.name));
            self.classes(policy, &name, classes);
        }
    }

    /// Adds a policy of these classes; the rules of each class become a class map. The only class, or a default class
    /// without rules, becomes class-default.
    fn classes(&mut self, policy: &Policy, name: &str, mut classes: Vec<Class>) {
        let first = |class: &Class| policy.rules.iter().position(|rule| rule.class == class.name);
        classes.sort_by_key(|class| first(class).unwrap_or(usize::MAX));
        let alone = classes.len() == 1;
        let mut made = Policy { name: name.to_owned(), at: policy.at, ..Policy::default() };
        for mut class in classes {
            let own: Vec<&Rule> = policy.rules.iter().filter(|rule| rule.class == class.name).collect();
            let is_default = policy.default.as_ref() == Some(&class.name);
            if alone || (is_default && own.is_empty()) {
                DEFAULT_CLASS.clone_into(&mut class.name);
                made.default = Some(class.name.clone());
                made.classes.push(class);
                continue;
            }
            if is_default {
                self.note(
                    class.at,
                    format!("`{}` is also the default class; unmatched packets go to class-default", class.name),
                );
            }
            if own.is_empty() {
                self.note(class.at, format!("no filter selects `{}`", class.name));
            }
            let map = self.class_map(&class.name, &own);
            for rule in own {
                if rule.police.is_some() {
                    class.police.clone_from(&rule.police);
                }
            }
            let at = class.at;
            made.rules.push(Rule { when: Match::ClassMap(map.clone()), class: map.clone(), police: None, at });
            class.name = map;
            made.classes.push(class);
        }
        self.made.policies.push(made);
    }

    /// Adds a class map that matches any of the rules; returns its name.
    fn class_map(&mut self, class: &str, rules: &[&Rule]) -> String {
        let taken = |maker: &Maker, name: &str| maker.made.class_map(name).is_some();
        let mut name = class.to_owned();
        for number in 2..1000 {
            if !taken(self, &name) {
                break;
            }
            name = format!("{class}-{number}");
        }
        let mut conditions = Vec::new();
        for rule in rules {
            if let Match::ClassMap(_) | Match::AccessList(_) = rule.when {
                conditions.push(rule.when.clone());
            } else if condition_text(&rule.when).is_some() {
                conditions.push(rule.when.clone());
            } else if let Some(entry) = entry(&rule.when) {
                let list = format!("{name}-{}", conditions.len() + 1);
                let entries = vec![AccessEntry { sequence: 10, permit: true, conditions: entry, at: rule.at }];
                self.made.access_lists.push(AccessList {
                    name: list.clone(),
                    standard: false,
                    ipv6: false,
                    entries,
                    at: rule.at,
                });
                conditions.push(Match::AccessList(list));
            } else {
                self.report.unsupported(rule.at, format!("no class map expresses {:?}", rule.when), None);
            }
        }
        self.made.class_maps.push(ClassMap { name: name.clone(), all: false, conditions, at: Place::default() });
        name
    }

    /// Replaces a queue that routers do not have by the nearest equivalent.
    fn queue(&mut self, class: &mut Class) {
        let at = class.at;
        match core::mem::take(&mut class.queue) {
            Queue::Netem(_) => {
                self.report.unsupported(at, format!("class `{}`: a router has no netem", class.name), None);
            }
            Queue::Sfq(_) | Queue::Fq(_) | Queue::FqCodel(_) | Queue::FqPie(_) => {
                self.note(at, format!("class `{}`: its fair queueing becomes fair-queue", class.name));
                class.queue = Queue::Fair(Fair::default());
                class.limit = None;
            }
            Queue::Codel(_) | Queue::Pie(_) => {
                self.note(at, format!("class `{}`: its AQM has no counterpart and becomes a FIFO", class.name));
            }
            Queue::Red(red) => {
                self.note(
                    at,
                    format!("class `{}`: byte-based RED becomes random-detect in packets of {PACKET} B", class.name),
                );
                class.wred = Some(wred(red, class.limit));
                class.limit = class.limit.map(in_packets);
            }
            Queue::Gred(_) => {
                self.report.unsupported(at, format!("class `{}`: gred has no counterpart", class.name), None);
            }
            other => class.queue = other,
        }
    }
}

/// `true` if more than one class has no parent class.
fn has_several_top_classes(policy: &Policy) -> bool {
    policy.classes.iter().filter(|class| class.parent.is_none()).count() > 1
}

/// Returns the name of the policy of a class's child classes.
fn inner_name(policy: &Policy, class: &str) -> String {
    format!("{}-{}", policy.name, class.replace(':', "-"))
}

/// Returns the conditions of an equivalent entry of an extended access list; `None`: there is none.
fn entry(when: &Match) -> Option<Vec<Match>> {
    // The access lists written here are for IPv4.
    let conditions = match when {
        Match::All(all) => all.iter().filter(|one| **one != Match::Version(4)).cloned().collect(),
        Match::Version(4) => Vec::new(),
        one => vec![one.clone()],
    };
    let has_ports = |condition: &Match| matches!(condition, Match::SourcePort(_) | Match::DestinationPort(_));
    let has_protocol = conditions.iter().any(|condition| matches!(condition, Match::IpProtocol(6 | 17)));
    let fits = conditions.iter().all(|condition| match condition {
        Match::Dscp(values) | Match::Precedence(values) => values.len() == 1,
        Match::IpProtocol(_) | Match::Source(_) | Match::Destination(_) => true,
        other => has_ports(other) && has_protocol,
    });
    fits.then_some(conditions)
}

/// Converts a limit in bytes to packets, rounded up.
fn in_packets(limit: Limit) -> Limit {
    match limit {
        Limit::Bytes(bytes) => Limit::Packets(bytes.div_ceil(PACKET)),
        other => other,
    }
}

/// Returns WRED with the profile of a RED for all precedences.
fn wred(red: Red, limit: Option<Limit>) -> Wred {
    let limit = if let Some(Limit::Bytes(bytes)) = limit { bytes } else { 64 * PACKET };
    let max = red.max.unwrap_or(limit / 4);
    let min = red.min.unwrap_or(max / 3);
    let packets = |bytes: u64| u32::try_from((bytes / PACKET).max(1)).unwrap_or(u32::MAX);
    let denominator = red.probability.filter(|p| *p > 0).map(|p| 1_000_000 / p);
    let profile = |code| Profile {
        code: Some(code),
        min: packets(min),
        max: packets(max).max(packets(min)),
        unit: crate::ir::Unit::Packets,
        denominator,
    };
    Wred { by: By::Precedence, exponent: None, ecn: red.ecn, profiles: (0..8).map(profile).collect() }
}
