//! Conversion from other languages into `tc`: shares become rates, classes of a router classes of HTB.

use crate::Report;
use crate::ir::{
    Act, Class, Config, Counting, Fair, HtbClass, Limit, Match, Medium, Police, Policy, Queue, Red, Rule, Scheduler,
    Sfq, Share, Wred,
};

/// Packet size by which thresholds in packets become thresholds in bytes.
const PACKET: u64 = 1500;
/// Bytes of a frame, the unit of quanta in packets (`psched_mtu`, `include/net/pkt_sched.h`).
const FRAME: u64 = 1514;
/// Default queue limit of a class in packets (classic IOS).
const LIMIT: u64 = 64;
/// Default rate of an interface, bit/s.
const USUAL_RATE: u64 = 100_000_000;
/// Upper bound on the nesting.
const DEEPEST: usize = 8;
/// Upper bound on the classes.
const MOST: usize = 1000;

/// Returns the configuration with policies that `tc` supports; approximations are reported.
pub(super) fn adapt(config: &Config) -> (Config, Report) {
    let mut maker = Maker { config, made: Config::default(), report: Report::default(), classes: 0 };
    for port in &config.ports {
        let mut own = port.clone();
        let rate = port.bandwidth.or(port.rate).unwrap_or(USUAL_RATE);
        if let Some(ring) = port.ring {
            maker.report.warning(
                port.at,
                format!("a transmit ring of {ring}"),
                "use `ethtool -G` for the ring of the card",
            );
        }
        if port.input.is_some() {
            maker.report.unsupported(port.at, "the policy for what arrives", None);
            own.input = None;
        }
        if let Some(hold) = port.hold.filter(|_| own.root.limit.is_none() && own.root.queue == Queue::Fifo) {
            own.root.limit = Some(Limit::Packets(u64::from(hold)));
        }
        (own.rate, own.bandwidth, own.ring, own.hold) = (None, None, None, None);
        (own.reservable, own.encapsulation, own.medium) = (None, None, Medium::Unknown);
        own.root = maker.class(&own.root, rate, &port.name, 0);
        maker.made.ports.push(own);
    }
    (maker.made, maker.report)
}

struct Maker<'a> {
    config: &'a Config,
    made: Config,
    report: Report,
    classes: usize,
}

impl Maker<'_> {
    fn note(&mut self, class: &Class, what: &str) {
        let message = format!("class `{}`: {what}", class.name);
        self.report.warning(class.at, message, "check that the approximation is what you want");
    }

    /// Returns a class whose queue is one of Linux, and whose policy is written on `device`.
    fn class(&mut self, class: &Class, rate: u64, device: &str, depth: usize) -> Class {
        let mut made = class.clone();
        let rate = class.shape.and_then(|shape| shape.bps(rate)).unwrap_or(rate);
        if let Some(shape) = &mut made.shape {
            shape.rate = Share::Rate(rate);
            if let Some(Limit::Packets(packets)) = made.limit
                && made.queue == Queue::Fifo
            {
                made.limit = Some(Limit::Bytes(packets.saturating_mul(PACKET)));
            }
            let _ = shape.burst.get_or_insert((rate / 800).max(10 * 1024));
            (shape.excess, shape.peak) = (None, false);
        }
        if let Some(wred) = made.wred.take() {
            self.note(class, "WRED becomes RED by bytes with one profile; gred needs a tc_index that something sets");
            let (red, limit) = red(&wred, made.limit, rate);
            (made.queue, made.limit) = (Queue::Red(red), Some(Limit::Bytes(limit)));
        }
        if let Queue::Red(red) = &mut made.queue
            && core::mem::take(&mut red.instant)
        {
            self.note(class, "drops by what waits become drops by its average");
        }
        match &made.queue {
            Queue::Fair(Fair { queues, .. }) => {
                self.note(class, "fair-queue becomes sfq");
                made.queue = Queue::Sfq(Sfq {
                    divisor: queues.map(u64::from).filter(|n| n.is_power_of_two()),
                    ..Sfq::default()
                });
                made.limit = made.limit.map(packets);
            }
            Queue::Policy(name) => {
                let name = name.clone();
                match self.policy(&name, rate, device, depth + 1) {
                    Some(Inner::Policy(name)) => made.queue = Queue::Policy(name),
                    Some(Inner::Class(inner)) => {
                        // A policy with a single class is that class.
                        let inner = *inner;
                        (made.queue, made.limit) = (inner.queue, inner.limit);
                        made.shape = inner.shape.or(made.shape);
                    }
                    None => made.queue = Queue::Fifo,
                }
            }
            _ => {}
        }
        if !made.code_limits.is_empty() {
            self.note(class, "limits of single code points are left out");
            made.code_limits.clear();
        }
        if let Some(Limit::Microseconds(us)) = made.limit {
            let bytes = u64::try_from(u128::from(rate) * u128::from(us) / 8_000_000).unwrap_or(u64::MAX);
            made.limit = Some(Limit::Bytes(bytes.max(PACKET)));
        }
        made
    }

    fn policy(&mut self, name: &str, rate: u64, device: &str, depth: usize) -> Option<Inner> {
        let policy = self.config.policy(name)?;
        self.classes += policy.classes.len();
        if depth > DEEPEST || self.classes > MOST {
            self.report.unsupported(policy.at, format!("`{name}`: too many classes within each other"), None);
            return None;
        }
        if policy.scheduler == Scheduler::ClassBased {
            self.class_based(policy, rate, device, depth)
        } else {
            let mut own = policy.clone();
            if core::mem::take(&mut own.packets) {
                let message = format!("policy `{}`: turns of packets become turns of frames of {FRAME} B", policy.name);
                self.report.warning(policy.at, message, "check that the approximation is what you want");
                for class in &mut own.classes {
                    class.quantum = class.quantum.map(|packets| packets.saturating_mul(FRAME));
                }
            }
            own.rules = policy.rules.iter().flat_map(|rule| self.of_both_versions(rule)).collect();
            own.classes =
                policy.classes.iter().map(|class| self.class(class, class_rate(class, rate), device, depth)).collect();
            self.handles(&mut own, device);
            let name = own.name.clone();
            self.made.policies.push(own);
            Some(Inner::Policy(name))
        }
    }

    /// Assigns handles to a policy and its classes, unless their names are handles.
    fn handles(&mut self, policy: &mut Policy, device: &str) {
        let major =
            |name: &str| name.strip_prefix(&format!("{device}-")).and_then(|major| u16::from_str_radix(major, 16).ok());
        let own = major(&policy.name).map(|major| format!("{major:x}:"));
        if own.is_some_and(|own| policy.classes.iter().all(|class| class.name.starts_with(&own))) {
            return;
        }
        // Classes named by handles of one discipline keep their names.
        let one =
            policy.classes.first().and_then(|class| class.name.split_once(':')).map(|(major, _)| major.to_owned());
        let handle =
            one.as_ref().and_then(|one| u16::from_str_radix(one, 16).ok()).filter(|one| (1..0x4000).contains(one));
        if let Some((one, number)) = one.zip(handle) {
            let name = format!("{device}-{number:x}");
            let legal = |class: &Class| {
                let minor = class.name.strip_prefix(&one).and_then(|rest| rest.strip_prefix(':'));
                minor.is_some_and(|minor| {
                    u16::from_str_radix(minor, 16).is_ok_and(|n| n > 0 && format!("{n:x}") == minor)
                })
            };
            let free = self.made.policy(&name).is_none() && self.config.policy(&name).is_none();
            // Bands are numbered by the kernel.
            let banded = matches!(policy.scheduler, Scheduler::Priority | Scheduler::Ets);
            let numbered = |(index, class): (usize, &Class)| class.name == format!("{one}:{:x}", index + 1);
            let named = !banded || policy.classes.iter().enumerate().all(numbered);
            if format!("{number:x}") == one && free && named && policy.classes.iter().all(legal) {
                policy.name = name;
                return;
            }
        }
        let Some(number) = self.unused(device) else { return };
        let bands = matches!(policy.scheduler, Scheduler::Priority | Scheduler::Ets);
        let names: Vec<(String, String)> = policy
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| {
                (class.name.clone(), format!("{number:x}:{:x}", if bands { index + 1 } else { 0x10 * (index + 1) }))
            })
            .collect();
        let renamed = |name: &mut String| {
            if let Some((_, new)) = names.iter().find(|(old, _)| old == name) {
                name.clone_from(new);
            }
        };
        policy.name = format!("{device}-{number:x}");
        policy.classes.iter_mut().for_each(|class| {
            renamed(&mut class.name);
            class.parent.iter_mut().for_each(renamed);
        });
        policy.rules.iter_mut().for_each(|rule| renamed(&mut rule.class));
        policy.default.iter_mut().for_each(renamed);
    }

    /// Returns a handle that no policy of the device has.
    fn unused(&self, device: &str) -> Option<usize> {
        (1..=0x3fff).find(|major| {
            let name = format!("{device}-{major:x}");
            self.made.policy(&name).is_none() && self.config.policy(&name).is_none()
        })
    }

    fn class_based(&mut self, policy: &Policy, rate: u64, device: &str, depth: usize) -> Option<Inner> {
        let default = policy.default.as_deref();
        if let [only] = policy.classes.as_slice()
            && default == Some(&only.name)
        {
            return Some(Inner::Class(Box::new(self.class(only, rate, device, depth))));
        }
        // Handles are hexadecimal; a policy's classes are numbered in tens below the class of its whole rate.
        let major = self.unused(device)?;
        let handle = |minor: usize| format!("{major:x}:{minor:x}");
        let mut made = Policy {
            name: format!("{device}-{major:x}"),
            scheduler: Scheduler::Htb,
            at: policy.at,
            ..Policy::default()
        };
        // Reserves its place before those of the inner policies.
        self.made.policies.push(made.clone());
        let place = self.made.policies.len() - 1;
        let whole = HtbClass { rate, ceil: Some(rate), ..HtbClass::default() };
        made.classes.push(Class { name: handle(1), htb: Some(whole), ..Class::default() });
        let mut classes: Vec<&Class> = policy.classes.iter().collect();
        let rest = Class { name: "class-default".to_owned(), ..Class::default() };
        if default.is_none() {
            classes.push(&rest);
        }
        let given: u64 = classes.iter().filter_map(|class| guaranteed(class, rate)).sum();
        let left = rate.saturating_sub(given).max(rate / 100).max(1000);
        let sharing = classes
            .iter()
            .filter(|class| guaranteed(class, rate).is_none())
            .map(|class| weight(class))
            .sum::<u64>()
            .max(1);
        for (index, class) in classes.iter().enumerate() {
            let name = handle(0x10 * (index + 1));
            let own = guaranteed(class, rate).unwrap_or_else(|| {
                u64::try_from(u128::from(left) * u128::from(weight(class)) / u128::from(sharing))
                    .unwrap_or(left)
                    .max(1000)
            });
            let ceil = class.shape.and_then(|shape| shape.bps(rate)).unwrap_or(rate);
            let strict = class.priority.map(|priority| u32::from(priority.level.saturating_sub(1)));
            let lowest = if strict.is_some() { strict } else { Some(2) };
            let prio = lowest.filter(|_| policy.classes.iter().any(|class| class.priority.is_some()));
            let mut one = self.class(&Class { shape: None, ..(*class).clone() }, ceil, device, depth);
            let rule_police = one.police.take().or_else(|| priority_police(class, rate));
            for mark in core::mem::take(&mut one.set) {
                self.report.unsupported(class.at, format!("class `{}`: {mark:?} would need pedit", class.name), None);
            }
            (one.bandwidth, one.priority, one.shape) = (None, None, None);
            one.limit = one.limit.or_else(|| Some(Limit::Packets(LIMIT)).filter(|_| one.queue == Queue::Fifo));
            // HTB serves a class that has used up its rate only from the excess of others. A burst that passes the
            // policer would wait at the policed rate, and never drain while calls use that; with the whole rate it is
            // served first, and its rate is limited by the policer.
            let bounded = strict.is_some() && default != Some(&class.name) && rule_police.as_ref().is_some_and(drops);
            let own = if bounded { ceil } else { own.min(ceil) };
            one.htb = Some(HtbClass { rate: own, ceil: Some(ceil), prio, ..HtbClass::default() });
            (one.name, one.parent) = (name.clone(), Some(handle(1)));
            if default == Some(&class.name) || (default.is_none() && index + 1 == classes.len()) {
                made.default = Some(name.clone());
            }
            for rule in policy.rules.iter().filter(|rule| rule.class == class.name) {
                let police =
                    rule.police.clone().or_else(|| rule_police.clone()).map(|police| self.plain(class, &police, rate));
                let own = Rule { class: name.clone(), police, ..rule.clone() };
                made.rules.extend(self.rules(&own));
            }
            if default == Some(&class.name) && rule_police.is_some() {
                self.note(class, "the default class's policer is left out: it has no filter");
            }
            made.classes.push(one);
        }
        // In the order of the router's rules, not of the classes.
        let name = made.name.clone();
        if let Some(own) = self.made.policies.get_mut(place) {
            *own = made;
        }
        Some(Inner::Policy(name))
    }

    /// Returns a policer with the two outcomes that `tc` supports.
    fn plain(&mut self, class: &Class, police: &Police, rate: u64) -> Police {
        let committed = police.rate.of(rate).unwrap_or(rate).max(1);
        let act = |acts: &[Act]| if acts.contains(&Act::Drop) { Act::Drop } else { Act::Transmit };
        let marks = |acts: &[Act]| acts.iter().any(|act| matches!(act, Act::Set(_)));
        if marks(&police.conform) || marks(&police.exceed) || marks(&police.violate) {
            self.note(class, "the policer's marks are left out");
        }
        if police.peak.is_some() || !police.violate.is_empty() {
            self.note(class, "the policer of three colours becomes one of two");
        }
        Police {
            rate: Share::Rate(committed),
            burst: Some(police.burst.unwrap_or(committed / 32).max(PACKET)),
            peak: None,
            excess: None,
            conform: vec![act(&police.conform)],
            exceed: vec![act(&police.exceed)],
            violate: Vec::new(),
            counts: police.counts,
        }
    }

    /// Converts a rule without an IP version into a filter for each version.
    fn of_both_versions(&mut self, rule: &Rule) -> Vec<Rule> {
        let made = self.rules(rule);
        if names_a_version(&rule.when) || rule.police.is_some() {
            return made;
        }
        let is_one = |when: &Match| {
            matches!(when, Match::Source(_) | Match::Destination(_) | Match::Experimental(_) | Match::Cos(_))
        };
        let both = |one: Rule| {
            let conditions = match &one.when {
                Match::Any => Vec::new(),
                Match::All(all) => all.clone(),
                single => vec![single.clone()],
            };
            if conditions.iter().any(is_one) {
                return vec![one];
            }
            let of = |version: u8| {
                let all: Vec<Match> = [Match::Version(version)].into_iter().chain(conditions.iter().cloned()).collect();
                Rule { when: super::filters::one_of(all), ..one.clone() }
            };
            vec![of(4), of(6)]
        };
        made.into_iter().flat_map(both).collect()
    }

    /// Converts a rule into conjunctions of simple conditions, each of which is one filter.
    fn rules(&mut self, rule: &Rule) -> Vec<Rule> {
        let mut budget = 4096;
        if let Some(all) = conjunctions(&rule.when, self.config, 0, &mut budget) {
            let made = |mut conditions: Vec<Match>| {
                let when = match (conditions.pop(), conditions.is_empty()) {
                    (None, _) => Match::Any,
                    (Some(one), true) => one,
                    (Some(last), false) => {
                        conditions.push(last);
                        Match::All(conditions)
                    }
                };
                Rule { when, ..rule.clone() }
            };
            all.into_iter().map(made).collect()
        } else {
            let message = format!("the condition of class `{}` cannot be said in filters: {:?}", rule.class, rule.when);
            self.report.unsupported(
                rule.at,
                message,
                Some("negations, deny entries and protocols by name have no counterpart"),
            );
            Vec::new()
        }
    }
}

/// Result of converting an inner policy.
enum Inner {
    Policy(String),
    Class(Box<Class>),
}

fn class_rate(class: &Class, rate: u64) -> u64 {
    class.htb.map_or(rate, |htb| htb.ceil.unwrap_or(htb.rate))
}

fn guaranteed(class: &Class, rate: u64) -> Option<u64> {
    let share = class.bandwidth.or_else(|| class.priority?.rate)?;
    if matches!(share, Share::RemainingPercent(_)) { None } else { share.of(rate) }
}

fn weight(class: &Class) -> u64 {
    match class.bandwidth {
        Some(Share::RemainingPercent(n) | Share::RemainingRatio(n)) => u64::from(n),
        _ => 1,
    }
}

/// `true` if a policer drops all packets above its rate.
fn drops(police: &Police) -> bool {
    police.exceed.contains(&Act::Drop) && (police.violate.is_empty() || police.violate.contains(&Act::Drop))
}

/// Returns the policer of a priority class: in `tc` it applies with and without congestion.
fn priority_police(class: &Class, rate: u64) -> Option<Police> {
    let committed = class.priority?.rate?.of(rate)?;
    let burst = class.priority?.burst.unwrap_or(committed / 40);
    Some(Police {
        rate: Share::Rate(committed),
        burst: Some(burst.max(PACKET)),
        peak: None,
        excess: None,
        conform: vec![Act::Transmit],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: Counting::default(),
    })
}

fn packets(limit: Limit) -> Limit {
    match limit {
        Limit::Bytes(bytes) => Limit::Packets((bytes / PACKET).max(1)),
        other => other,
    }
}

fn red(wred: &Wred, limit: Option<Limit>, rate: u64) -> (Red, u64) {
    let packets = if let Some(Limit::Packets(n)) = limit { n } else { LIMIT };
    let min = wred.profiles.iter().map(|profile| profile.min).min().unwrap_or(20);
    let max = wred.profiles.iter().map(|profile| profile.max).max().unwrap_or(40);
    let denominator = wred.profiles.iter().find_map(|profile| profile.denominator).unwrap_or(10).max(1);
    let bytes = |n: u32| u64::from(n).saturating_mul(PACKET);
    let limit = packets.saturating_mul(PACKET).max(bytes(max).saturating_add(PACKET));
    let red = Red {
        min: Some(bytes(min.min(max.saturating_sub(1).max(1)))),
        max: Some(bytes(max)),
        avpkt: Some(PACKET),
        burst: Some((2 * u64::from(min) + u64::from(max)) / 3 + 1),
        probability: Some(1_000_000 / denominator),
        // Otherwise tc assumes 10 Mbit/s for the decay of the average during idle periods (`q_red.c`).
        bandwidth: Some(rate),
        ecn: wred.ecn,
        ..Red::default()
    };
    (red, limit)
}

/// Returns a condition as a disjunction of conjunctions; `None`: it is not expressible.
fn conjunctions(when: &Match, config: &Config, depth: usize, budget: &mut usize) -> Option<Vec<Vec<Match>>> {
    *budget = budget.checked_sub(1)?;
    if depth > DEEPEST {
        return None;
    }
    let inner = |one: &Match, budget: &mut usize| conjunctions(one, config, depth + 1, budget);
    match when {
        // Filters are written for IPv4.
        Match::Any | Match::Version(4) => Some(vec![Vec::new()]),
        Match::Dscp(values) => Some(values.iter().map(|value| vec![Match::Dscp(vec![*value])]).collect()),
        Match::Precedence(values) => Some(values.iter().map(|value| vec![Match::Precedence(vec![*value])]).collect()),
        Match::DsField { .. }
        | Match::FirewallMark { .. }
        | Match::IpProtocol(_)
        | Match::SourcePort(_)
        | Match::DestinationPort(_)
        | Match::Version(_)
        | Match::Source6(_)
        | Match::Destination6(_) => Some(vec![vec![when.clone()]]),
        Match::Experimental(values) => {
            Some(values.iter().map(|value| vec![Match::Experimental(vec![*value])]).collect())
        }
        Match::Cos(values) => Some(values.iter().map(|value| vec![Match::Cos(vec![*value])]).collect()),
        Match::Source(net) | Match::Destination(net) => net.length().map(|_| vec![vec![when.clone()]]),
        Match::ClassMap(name) => {
            let map = config.class_map(name)?;
            if map.all { product(&map.conditions, inner, budget) } else { union(&map.conditions, inner, budget) }
        }
        Match::AccessList(name) => {
            let list = config.access_list(name)?;
            let mut found = Vec::new();
            for entry in &list.entries {
                // Entries that deny at the end are redundant.
                if !entry.permit {
                    let rest = list.entries.iter().skip_while(|other| *other != entry);
                    return rest.into_iter().all(|other| !other.permit).then_some(found);
                }
                found.extend(product(&entry.conditions, inner, budget)?);
            }
            Some(found)
        }
        Match::All(all) => product(all, inner, budget),
        Match::AnyOf(any) => union(any, inner, budget),
        Match::Protocol(name) => {
            let (protocol, low, high) = crate::ir::application_ports(name)?;
            let range = crate::ir::PortRange { low, high };
            let one = |ports| vec![Match::IpProtocol(protocol), ports];
            Some(vec![one(Match::SourcePort(range)), one(Match::DestinationPort(range))])
        }
        Match::QosGroup(_) | Match::TrafficClass(_) | Match::Vlan(_) | Match::InputInterface(_) | Match::Not(_) => None,
    }
}

/// `true` if a condition is on one IP version.
fn names_a_version(when: &Match) -> bool {
    match when {
        Match::Version(_) | Match::Source6(_) | Match::Destination6(_) => true,
        Match::Not(inner) => names_a_version(inner),
        Match::All(all) | Match::AnyOf(all) => all.iter().any(names_a_version),
        _ => false,
    }
}

type Lists = Option<Vec<Vec<Match>>>;

fn union(all: &[Match], inner: impl Fn(&Match, &mut usize) -> Lists, budget: &mut usize) -> Lists {
    let mut found = Vec::new();
    for one in all {
        found.extend(inner(one, budget)?);
    }
    Some(found)
}

fn product(all: &[Match], inner: impl Fn(&Match, &mut usize) -> Lists, budget: &mut usize) -> Lists {
    let mut found: Vec<Vec<Match>> = vec![Vec::new()];
    for one in all {
        let more = inner(one, budget)?;
        *budget = budget.checked_sub(found.len().saturating_mul(more.len()))?;
        found = found.iter().flat_map(|left| more.iter().map(|right| [left.as_slice(), right].concat())).collect();
    }
    Some(found)
}
