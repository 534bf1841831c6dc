//! Conversion from other languages into `tc`: shares become rates, and classes of a router become classes of HTB.

use crate::Report;
use crate::ir::{
    Act, Class, Config, Counting, Fair, HtbClass, Limit, Match, Medium, Police, Policy, Queue, Red, Rule, Scheduler,
    Sfq, Share, Wred,
};

/// Packet size in bytes for the conversion of thresholds in packets to bytes.
const PACKET: u64 = 1500;
/// Length of a frame in bytes, for the conversion of quanta in packets to bytes (`psched_mtu`,
/// `include/net/pkt_sched.h`).
const FRAME: u64 = 1514;
/// Default queue limit of a class in packets (classic IOS).
const LIMIT: u64 = 64;
/// Rate of an interface that states none, bit/s.
const DEFAULT_RATE: u64 = 100_000_000;
/// Maximum nesting of policies and conditions.
const MAX_DEPTH: usize = 8;
/// Maximum number of classes of all policies together.
const MAX_CLASSES: usize = 1000;

/// Returns the configuration with policies that `tc` supports; approximations are reported.
pub(super) fn adapt(config: &Config) -> (Config, Report) {
    let mut maker = Maker { config, made: Config::default(), report: Report::default(), classes: 0 };
    for port in &config.ports {
        let mut own = port.clone();
        let rate = port.bandwidth.or(port.rate).unwrap_or(DEFAULT_RATE);
        if let Some(ring) = port.ring {
            maker.report.warning(
                port.at,
                format!("a transmit ring of {ring} packets is not set by tc"),
                "set the ring of the network card with `ethtool -G`",
            );
        }
        if port.input.is_some() {
            maker.report.unsupported(port.at, "the input policy", None);
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
    /// Number of classes converted so far.
    classes: usize,
}

impl Maker<'_> {
    /// Warns of an approximation in a class.
    fn note(&mut self, class: &Class, what: &str) {
        let message = format!("class `{}`: {what}", class.name);
        self.report.warning(class.at, message, "check that the approximation is what you want");
    }

    /// Returns the class with a queue that Linux has; its child policy, if any, is converted for `device`. `rate` is
    /// the rate in bit/s that the class may use.
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
            self.note(
                class,
                "WRED becomes byte-based RED with one profile; gred would need a tc_index set by another discipline",
            );
            let (red, limit) = red(&wred, made.limit, rate);
            (made.queue, made.limit) = (Queue::Red(red), Some(Limit::Bytes(limit)));
        }
        if let Queue::Red(red) = &mut made.queue
            && core::mem::take(&mut red.instant)
        {
            self.note(class, "drops by the instantaneous queue become drops by its average");
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
            self.note(class, "queue limits of single DSCPs or precedences are left out");
            made.code_limits.clear();
        }
        if let Some(Limit::Microseconds(us)) = made.limit {
            let bytes = u64::try_from(u128::from(rate) * u128::from(us) / 8_000_000).unwrap_or(u64::MAX);
            made.limit = Some(Limit::Bytes(bytes.max(PACKET)));
        }
        made
    }

    /// Converts the policy of that name; `None`: it does not exist, is nested too deeply, or no handle is left. `rate`
    /// is the rate in bit/s to which its shares refer.
    fn policy(&mut self, name: &str, rate: u64, device: &str, depth: usize) -> Option<Inner> {
        let policy = self.config.policy(name)?;
        self.classes += policy.classes.len();
        if depth > MAX_DEPTH || self.classes > MAX_CLASSES {
            self.report.unsupported(
                policy.at,
                format!("`{name}`: policies are nested too deeply, or have too many classes"),
                None,
            );
            return None;
        }
        if policy.scheduler == Scheduler::ClassBased {
            self.class_based(policy, rate, device, depth)
        } else {
            let mut own = policy.clone();
            if core::mem::take(&mut own.packets) {
                let message =
                    format!("policy `{}`: round robin by packets becomes DRR with {FRAME} B per packet", policy.name);
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

    /// Renames a policy and its classes after handles of `device`, unless their names are valid handles already.
    fn handles(&mut self, policy: &mut Policy, device: &str) {
        let major =
            |name: &str| name.strip_prefix(&format!("{device}-")).and_then(|major| u16::from_str_radix(major, 16).ok());
        let own = major(&policy.name).map(|major| format!("{major:x}:"));
        if own.is_some_and(|own| policy.classes.iter().all(|class| class.name.starts_with(&own))) {
            return;
        }
        // Classes whose names are handles of one discipline keep them.
        let stated =
            policy.classes.first().and_then(|class| class.name.split_once(':')).map(|(major, _)| major.to_owned());
        let valid = stated
            .as_ref()
            .and_then(|major| u16::from_str_radix(major, 16).ok())
            .filter(|major| (1..0x4000).contains(major));
        if let Some((stated, number)) = stated.zip(valid) {
            let name = format!("{device}-{number:x}");
            let legal = |class: &Class| {
                let minor = class.name.strip_prefix(&stated).and_then(|rest| rest.strip_prefix(':'));
                minor.is_some_and(|minor| {
                    u16::from_str_radix(minor, 16).is_ok_and(|n| n > 0 && format!("{n:x}") == minor)
                })
            };
            let free = self.made.policy(&name).is_none() && self.config.policy(&name).is_none();
            // The kernel numbers bands from 1, so a band can keep only that number.
            let has_bands = matches!(policy.scheduler, Scheduler::Priority | Scheduler::Ets);
            let is_numbered = |(index, class): (usize, &Class)| class.name == format!("{stated}:{:x}", index + 1);
            let fits = !has_bands || policy.classes.iter().enumerate().all(is_numbered);
            if format!("{number:x}") == stated && free && fits && policy.classes.iter().all(legal) {
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

    /// Returns the lowest major number, from 1, that no policy of the device has; `None`: all are used.
    fn unused(&self, device: &str) -> Option<usize> {
        (1..=0x3fff).find(|major| {
            let name = format!("{device}-{major:x}");
            self.made.policy(&name).is_none() && self.config.policy(&name).is_none()
        })
    }

    /// Converts a policy of CBWFQ and LLQ into classes of HTB; `None`: no handle is left.
    fn class_based(&mut self, policy: &Policy, rate: u64, device: &str, depth: usize) -> Option<Inner> {
        let default = policy.default.as_deref();
        if let [only] = policy.classes.as_slice()
            && default == Some(&only.name)
        {
            return Some(Inner::Class(Box::new(self.class(only, rate, device, depth))));
        }
        // The classes are numbered 10, 20, 30 … (hexadecimal) under class 1, which has the whole rate.
        let major = self.unused(device)?;
        let handle = |minor: usize| format!("{major:x}:{minor:x}");
        let mut made = Policy {
            name: format!("{device}-{major:x}"),
            scheduler: Scheduler::Htb,
            at: policy.at,
            ..Policy::default()
        };
        // Reserves the policy's position before those of its child policies, which are added below.
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
            // If the rate of a priority class were that of its policer, the class would have to borrow for a burst that
            // passes the policer, and the burst would not drain while calls use the rate. If its rate is its ceiling,
            // the class is served first, and the policer limits it.
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
        let name = made.name.clone();
        if let Some(own) = self.made.policies.get_mut(place) {
            *own = made;
        }
        Some(Inner::Policy(name))
    }

    /// Returns a policer with one rate and two outcomes, as `tc` supports; `rate` in bit/s is that to which shares
    /// refer.
    fn plain(&mut self, class: &Class, police: &Police, rate: u64) -> Police {
        let committed = police.rate.of(rate).unwrap_or(rate).max(1);
        let act = |acts: &[Act]| if acts.contains(&Act::Drop) { Act::Drop } else { Act::Transmit };
        let marks = |acts: &[Act]| acts.iter().any(|act| matches!(act, Act::Set(_)));
        if marks(&police.conform) || marks(&police.exceed) || marks(&police.violate) {
            self.note(class, "the markings of the policer are left out");
        }
        if police.peak.is_some() || !police.violate.is_empty() {
            self.note(class, "the three-colour policer becomes a two-colour one");
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

    /// Converts a rule into filters. A condition without an IP version becomes a filter for each version. With a
    /// policer, or a condition on an IPv4 address, an MPLS label or a VLAN tag, it becomes one filter.
    fn of_both_versions(&mut self, rule: &Rule) -> Vec<Rule> {
        let made = self.rules(rule);
        if names_a_version(&rule.when) || rule.police.is_some() {
            return made;
        }
        let has_one_version = |when: &Match| {
            matches!(when, Match::Source(_) | Match::Destination(_) | Match::Experimental(_) | Match::Cos(_))
        };
        let both = |one: Rule| {
            let conditions = match &one.when {
                Match::Any => Vec::new(),
                Match::All(all) => all.clone(),
                single => vec![single.clone()],
            };
            if conditions.iter().any(has_one_version) {
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
            let message = format!("no filter of tc expresses the condition of class `{}`: {:?}", rule.class, rule.when);
            self.report.unsupported(
                rule.at,
                message,
                Some("negations, deny entries and protocols by name have no counterpart"),
            );
            Vec::new()
        }
    }
}

/// Result of the conversion of a child policy: a policy, or the only class of one.
enum Inner {
    Policy(String),
    Class(Box<Class>),
}

/// Returns the rate in bit/s that a class may use, for the shares of its child policy.
fn class_rate(class: &Class, rate: u64) -> u64 {
    class.htb.map_or(rate, |htb| htb.ceil.unwrap_or(htb.rate))
}

/// Returns the guaranteed rate of a class in bit/s; `None`: it shares the remaining rate.
fn guaranteed(class: &Class, rate: u64) -> Option<u64> {
    let share = class.bandwidth.or_else(|| class.priority?.rate)?;
    if matches!(share, Share::RemainingPercent(_)) { None } else { share.of(rate) }
}

/// Returns the weight with which a class shares the remaining rate.
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

/// Returns the policer of a priority class; `None`: it has no rate. In `tc` the policer applies without congestion,
/// too.
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

/// Converts a limit in bytes to packets.
fn packets(limit: Limit) -> Limit {
    match limit {
        Limit::Bytes(bytes) => Limit::Packets((bytes / PACKET).max(1)),
        other => other,
    }
}

/// Returns RED with the lowest minimum and the highest maximum threshold of the profiles, and its limit in bytes;
/// `rate` in bit/s is that of the class.
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

/// Returns a condition as a disjunction of conjunctions of simple conditions; `None`: filters do not express it, or it
/// has more terms than `budget`.
fn conjunctions(when: &Match, config: &Config, depth: usize, budget: &mut usize) -> Option<Vec<Vec<Match>>> {
    *budget = budget.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    let inner = |one: &Match, budget: &mut usize| conjunctions(one, config, depth + 1, budget);
    match when {
        // Filters without an IP version are written for IPv4.
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
                // An entry that denies is expressible only if no entry after it permits.
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

/// A disjunction of conjunctions; `None`: filters do not express the condition, or it has too many terms.
type Lists = Option<Vec<Vec<Match>>>;

/// Returns the disjunction of all conditions.
fn union(all: &[Match], inner: impl Fn(&Match, &mut usize) -> Lists, budget: &mut usize) -> Lists {
    let mut found = Vec::new();
    for one in all {
        found.extend(inner(one, budget)?);
    }
    Some(found)
}

/// Returns the conjunction of all conditions, multiplied out.
fn product(all: &[Match], inner: impl Fn(&Match, &mut usize) -> Lists, budget: &mut usize) -> Lists {
    let mut found: Vec<Vec<Match>> = vec![Vec::new()];
    for one in all {
        let more = inner(one, budget)?;
        *budget = budget.checked_sub(found.len().saturating_mul(more.len()))?;
        found = found.iter().flat_map(|left| more.iter().map(|right| [left.as_slice(), right].concat())).collect();
    }
    Some(found)
}
