//! Output queues: a scheduler map and its schedulers become a policy.
//!
//! Junos selects a queue in this order ("Transmission Priority Scheduling", Junos OS Class of Service User Guide):
//! queues within their transmit rate by priority, then queues above it by priority, each by weighted round robin.
//! A hierarchical token bucket (HTB) has the same order: leaves within their rate by priority, then leaves that borrow
//! by priority, each by deficit round robin. With only one priority below the strict ones, class-based scheduling with
//! guaranteed bandwidths is equivalent and is used instead, since delay bounds can be computed for it.

use super::builder::Builder;
use super::cos::{Buffer, PRIORITIES, Scheduler, Transmit};
use super::defaults;
use super::firewall::default_burst;
use crate::ir::{
    Act, Class, HtbClass, Limit, Match, Police, Policy, Priority, Queue, Rule, Scheduler as Serving, Shape, Share,
};
use crate::{Place, Scope};
use std::collections::BTreeSet;

/// Name of the default scheduler map.
const DEFAULT_MAP: &str = "default scheduler map";
/// The whole in millionths: 100 %.
const WHOLE: u64 = 1_000_000;
/// Index in [`PRIORITIES`] of the lowest priority.
const LOWEST: usize = 6;

/// Treatment of departing packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Departure {
    /// Scheduler map.
    pub map: Option<(String, Place)>,
    /// Shaping rate, and burst in bytes.
    pub shaping: Option<(Transmit, Option<u64>)>,
    /// Rate of the link in bit/s, if known.
    pub line: Option<u64>,
    /// Rules of an output filter that assign a forwarding class; at most one matches a packet.
    pub rules: Vec<(Match, usize, Place)>,
    /// Parts of the configuration that the policy depends on.
    pub parts: BTreeSet<String>,
    pub at: Place,
}

/// An output queue.
#[derive(Clone, Debug)]
pub(super) struct OutputQueue {
    pub name: String,
    /// Indices of the forwarding classes of the queue.
    classes: Vec<usize>,
    pub scheduler: Scheduler,
    strict: bool,
    /// `true` if the scheduler map, or the default one, has a scheduler for it.
    scheduled: bool,
    /// Guaranteed bandwidth; `None`: no transmit rate.
    share: Option<Share>,
    /// Guaranteed bandwidth in millionths of the port's rate, if known.
    fraction: Option<u64>,
    /// Fraction of the buffer in millionths.
    buffer_fraction: u64,
}

/// Fraction of the buffer, in millionths, of a queue with neither a buffer size nor a transmit rate. Juniper does not
/// document it.
const MIN_BUFFER: u64 = 10_000;

/// Rates that percentages refer to.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// Rate of the port's shaper in bit/s: percentages become rates. `None`: no shaper.
    shaped: Option<u64>,
    /// Rate of the shaper, or else of the link, in bit/s; `None`: unknown.
    known: Option<u64>,
}

impl Base {
    /// Returns the bandwidth of a transmit rate; `None`: it states none, or depends on other queues.
    fn share(self, transmit: Transmit) -> Option<Share> {
        match transmit {
            Transmit::Rate(rate) => Some(Share::Rate(rate)),
            Transmit::Percent(0) | Transmit::Unset | Transmit::Remainder => None,
            Transmit::Percent(percent) => Some(self.percent(u64::from(percent) * 10_000)),
        }
    }
    /// Returns the bandwidth of a fraction in millionths.
    fn percent(self, millionths: u64) -> Share {
        match self.shaped {
            Some(rate) => Share::Rate(scaled(rate, millionths, WHOLE).max(1)),
            None => Share::Percent(u32::try_from(millionths / 10_000).unwrap_or(100)),
        }
    }
    /// Returns the fraction of a bandwidth in millionths; `None`: the port's rate is unknown.
    fn fraction(self, share: Share) -> Option<u64> {
        match share {
            Share::Percent(percent) => Some(u64::from(percent) * 10_000),
            Share::Rate(rate) => Some(scaled(rate, WHOLE, self.known?)),
            _ => None,
        }
    }
}

/// Returns `value` times `by` / `of`, rounded down.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

impl Builder<'_> {
    /// Returns the class at the root of a port: its shaper and its queues. `title` names the port in messages.
    pub(super) fn departing(&mut self, own: &Departure, title: &str) -> Class {
        let mut base = Base { shaped: None, known: own.line };
        let mut root = Class { at: own.at, ..Class::default() };
        if let Some((shaping, burst)) = own.shaping {
            let rate = match (shaping, own.line) {
                (Transmit::Rate(rate), _) => Some(rate),
                (Transmit::Percent(percent), Some(line)) => Some(scaled(line, u64::from(percent), 100)),
                _ => None,
            };
            if let Some(rate) = rate.filter(|rate| *rate > 0) {
                base = Base { shaped: Some(rate), known: Some(rate) };
                root.shape = Some(Shape { rate: Share::Rate(rate), burst, excess: None, peak: false });
            } else {
                let message =
                    format!("the shaping rate of `{title}` is a percentage of the link's rate, which is not known");
                self.report.unsupported(own.at, message, Some("state `speed`, or the shaping rate in bit/s"));
            }
        }
        let mut parts = own.parts.clone();
        let queues = self.queues(own, base, &mut parts);
        let policy = self.policy(own, base, &queues, parts, title);
        root.queue = Queue::Policy(policy);
        root
    }

    /// Returns the queues that packets may enter, with their bandwidths.
    fn queues(&mut self, own: &Departure, base: Base, parts: &mut BTreeSet<String>) -> Vec<OutputQueue> {
        let map = own.map.as_ref().and_then(|(name, at)| {
            let found = self.cos.maps.get(name).cloned();
            if found.is_none() {
                let message = format!("there is no scheduler map `{name}`");
                self.report.error(*at, message, "define it under `class-of-service scheduler-maps`");
            }
            let _ = parts.insert(format!("scheduler map {name}"));
            found
        });
        let numbers: BTreeSet<u8> = self.cos.classes.iter().map(|class| class.queue).collect();
        let mut queues: Vec<OutputQueue> = Vec::new();
        for number in numbers {
            let classes = self.cos.classes.iter().enumerate().filter(|(_, class)| class.queue == number);
            let classes: Vec<usize> = classes.map(|(index, _)| index).collect();
            let mut made = OutputQueue {
                name: String::new(),
                scheduler: Scheduler { priority: LOWEST, ..Scheduler::default() },
                strict: false,
                scheduled: false,
                share: None,
                fraction: None,
                buffer_fraction: 0,
                classes,
            };
            let mut named = made.classes.first().copied();
            if let Some((map, _)) = &map {
                let mut entries = map.iter().filter(|(class, ..)| made.classes.contains(class));
                if let Some((class, scheduler, _)) = entries.next()
                    && let Some((found, strict)) = self.cos.schedulers.get(scheduler)
                {
                    let _ = parts.insert(format!("scheduler {scheduler}"));
                    let drops = found.drops.iter().map(|(.., profile)| format!("drop profile {profile}"));
                    parts.extend(drops);
                    (made.scheduler, made.strict, made.scheduled) = (found.clone(), *strict, true);
                    named = Some(*class);
                    if let Some((other, name, at)) = entries.next() {
                        let message = format!(
                            "class `{}` shares queue {number} with another class: its scheduler `{name}` is left out",
                            self.cos.classes.get(*other).map_or("", |class| class.name.as_str())
                        );
                        self.report.unsupported(*at, message, Some("give one class of each queue a scheduler"));
                    }
                }
            } else if own.map.is_none()
                && let Some(index) = (0..4).find(|index| made.classes.contains(&self.cos.default_class(*index)))
            {
                let percent = defaults::SHARES.get(index).copied().unwrap_or(0);
                made.scheduler.transmit = if percent > 0 { Transmit::Percent(percent) } else { Transmit::Unset };
                made.scheduled = percent > 0;
            }
            made.name = named
                .and_then(|index| self.cos.classes.get(index))
                .map_or_else(String::new, |class| class.name.clone());
            // A queue without a scheduler that no classifier selects is always empty.
            if made.scheduled || made.classes.iter().any(|class| self.reached.contains(class)) {
                queues.push(made);
            }
        }
        if own.map.is_none() {
            let _ = parts.insert(DEFAULT_MAP.to_owned());
            self.report.enter(Scope::Part(DEFAULT_MAP.to_owned()));
            self.report.assumed(
                Place::default(),
                "without a scheduler map, best-effort has 95 % and network-control 5 % of the link's rate (\"Default Schedulers Overview\", \
                 Junos OS Class of Service User Guide)",
                "apply a scheduler map",
            );
        }
        shares(&mut queues, base);
        set_buffer_fractions(&mut queues);
        queues
    }

    /// Adds the policy of the queues of a port, unless there is an equal one; returns its name.
    fn policy(
        &mut self,
        own: &Departure,
        base: Base,
        queues: &[OutputQueue],
        parts: BTreeSet<String>,
        title: &str,
    ) -> String {
        let name = own.map.as_ref().map_or_else(|| DEFAULT_MAP.to_owned(), |(name, _)| name.clone());
        let first = self.cos.default_class(0);
        let default = queues.iter().find(|queue| queue.classes.contains(&first)).or_else(|| queues.first());
        let default = default.map_or_else(String::new, |queue| queue.name.clone());
        let shared = is_shared(queues, base, &default);
        let mut policy = Policy {
            name,
            scheduler: if shared { Serving::ClassBased } else { Serving::Htb },
            default: Some(default),
            at: own.map.as_ref().map_or(own.at, |(_, at)| *at),
            parts: parts.into_iter().collect(),
            ..Policy::default()
        };
        let of = |class: usize| queues.iter().find(|queue| queue.classes.contains(&class));
        let mut taken = Vec::new();
        // The class that an output filter assigns overrides that of the classifier.
        for (when, class, at) in &own.rules {
            if let Some(queue) = of(*class) {
                policy.rules.push(Rule { when: when.clone(), class: queue.name.clone(), police: None, at: *at });
                taken.push(when.clone());
            }
        }
        for queue in queues {
            for class in &queue.classes {
                let Ok(number) = u8::try_from(*class) else { continue };
                let mut when = Match::TrafficClass(number);
                if !taken.is_empty() {
                    when = Match::All(vec![Match::Not(Box::new(Match::AnyOf(taken.clone()))), when]);
                }
                let class = queue.name.clone();
                policy.rules.push(Rule { when, class, police: None, at: queue.scheduler.at });
            }
        }
        let before = self.config.policies.len();
        if !shared {
            policy.classes.push(Class {
                name: ROOT_CLASS.to_owned(),
                htb: Some(HtbClass { percent: Some(1_000_000), ceil_percent: Some(1_000_000), ..HtbClass::default() }),
                ..Class::default()
            });
        }
        let least =
            queues.iter().filter_map(|queue| queue.fraction).filter(|fraction| *fraction > 0).min().unwrap_or(WHOLE);
        for queue in queues {
            let mut class = Class { name: queue.name.clone(), at: queue.scheduler.at, ..Class::default() };
            class.wred = self.wred(queue, &mut class.limit);
            let scale = class.limit.take();
            class.limit = Some(limit(queue, base, shared, scale));
            class.police = policer(queue, base);
            if shared {
                guaranteed(&mut class, queue, base, queues);
            } else {
                class.parent = Some(ROOT_CLASS.to_owned());
                class.htb = Some(buckets(queue, base, least));
            }
            policy.classes.push(class);
        }
        let name = self.add_policy(policy);
        if self.config.policies.len() > before {
            self.notes(queues, base, &name, title);
        }
        name
    }

    /// Reports the assumptions about the queues of a policy.
    fn notes(&mut self, queues: &[OutputQueue], base: Base, name: &str, title: &str) {
        self.report.enter(Scope::Policy(name.to_owned()));
        let temporal: Vec<&str> = queues
            .iter()
            .filter(|queue| matches!(queue.scheduler.buffer, Buffer::Microseconds(_)))
            .map(|queue| queue.name.as_str())
            .collect();
        if temporal.len() < queues.len() {
            let ms = defaults::depth(base.known) / 1_000;
            self.report.assumed(
                Place::default(),
                format!(
                    "the buffer of `{title}` holds {ms} ms at its rate ({}); a queue without `buffer-size` has the same percentage of \
                     the buffer as of the rate, and drops arriving packets when it is full",
                    defaults::DEPTH_SOURCE
                ),
                "depths differ by line card: write `buffer-size temporal MICROSECONDS`",
            );
        }
        if !temporal.is_empty() {
            self.report.assumed(
                Place::default(),
                format!("`buffer-size temporal` is taken at the transmit rate of the queue ({})", temporal.join(", ")),
                "some platforms use the rate of the interface (\"buffer-size (Schedulers)\")",
            );
        }
        for queue in
            queues.iter().filter(|queue| queue.scheduler.transmit == Transmit::Remainder && queue.share.is_none())
        {
            let message =
                format!("queue `{}`: the rate that the other transmit rates leave is zero, or not known", queue.name);
            let advice = "write a percentage, or state the rate of the link with `speed`";
            self.report.unsupported(queue.scheduler.at, message, Some(advice));
        }
        let none: Vec<&OutputQueue> = queues.iter().filter(|queue| queue.share.is_none() && !queue.strict).collect();
        if !none.is_empty() {
            let names: Vec<&str> = none.iter().map(|queue| queue.name.as_str()).collect();
            let at = none.iter().map(|queue| queue.scheduler.at).find(|at| at.line > 0).unwrap_or_default();
            let message = format!(
                "queues without a transmit rate get only the bandwidth that the others leave, with the minimum weight: {}",
                names.join(", ")
            );
            self.report.assumed(at, message, "give them a scheduler with `transmit-rate`");
        }
        let empty = |queue: &&OutputQueue| {
            queue.scheduler.buffer == Buffer::SameAsRate && queue.fraction.is_none_or(|fraction| fraction == 0)
        };
        let names: Vec<&str> = queues.iter().filter(empty).map(|queue| queue.name.as_str()).collect();
        if !names.is_empty() {
            let message = format!(
                "queues with neither `buffer-size` nor a transmit rate get 1 % of the buffer: {}",
                names.join(", ")
            );
            self.report.assumed(Place::default(), message, "write `buffer-size`");
        }
        for queue in queues.iter().filter(|queue| queue.scheduler.transmit == Transmit::Percent(0)) {
            let message = format!("queue `{}`: a transmit rate of 0 % drops all packets on some platforms", queue.name);
            self.report.unsupported(queue.scheduler.at, message, None);
        }
        let unlimited = |own: &Scheduler| !own.limited && !own.exact && own.shaping.is_none();
        for queue in queues.iter().filter(|queue| queue.strict && unlimited(&queue.scheduler)) {
            let message = format!(
                "queue `{}` has strict priority without a limit: it can take the whole link, since its transmit rate is not an \
                 upper limit (\"Priority Scheduling Overview\")",
                queue.name
            );
            self.report.warning(
                queue.scheduler.at,
                message,
                "write `shaping-rate` or `rate-limit`; QFX10000 limits it by itself",
            );
        }
        for queue in queues.iter().filter(|queue| queue.scheduler.limited) {
            let message = format!("queue `{}`: `rate-limit` is taken with a burst of 5 ms of its rate", queue.name);
            self.report.assumed(queue.scheduler.at, message, "the burst of the platform is not documented");
        }
        let middle = |queue: &&OutputQueue| (2..LOWEST).contains(&queue.scheduler.priority);
        if let Some(queue) = queues.iter().find(middle) {
            let known = PRIORITIES.iter().find(|(_, level)| *level == queue.scheduler.priority);
            let message = format!(
                "queue `{}`: priority `{}` is simulated as a level of its own, within and above the transmit rate",
                queue.name,
                known.map_or("", |(name, _)| name)
            );
            let advice = "line cards have fewer levels (\"Platform Support for Priority Scheduling\")";
            self.report.warning(queue.scheduler.at, message, advice);
        }
        let strict: Vec<&OutputQueue> =
            queues.iter().filter(|queue| queue.strict && queue.scheduler.priority == 1).collect();
        if let [_, second, ..] = strict.as_slice() {
            let message = format!(
                "queue `{}` is a second queue of priority strict-high: the two are served alternately",
                second.name
            );
            self.report.warning(
                second.scheduler.at,
                message,
                "most platforms accept one strict-high queue per interface",
            );
        }
        let sum = queues
            .iter()
            .filter(|queue| !queue.strict)
            .filter_map(|queue| queue.fraction)
            .fold(0u64, u64::saturating_add);
        if sum > WHOLE {
            let message =
                format!("the transmit rates of `{name}` add up to {} % of the rate of `{title}`", sum / 10_000);
            let at = queues.iter().map(|queue| queue.scheduler.at).find(|at| at.line > 0).unwrap_or_default();
            self.report.warning(at, message, "no queue can rely on its rate; some platforms refuse to commit this");
        }
    }
}

/// Name of the HTB root class; its rate is that of the port, so that it never limits.
const ROOT_CLASS: &str = "(port)";

/// Sets the guaranteed bandwidths of all queues; those with `remainder` divide the rest equally.
fn shares(queues: &mut [OutputQueue], base: Base) {
    for queue in queues.iter_mut() {
        queue.share = base.share(queue.scheduler.transmit);
        queue.fraction = queue.share.and_then(|share| base.fraction(share));
    }
    let remainders = queues.iter().filter(|queue| queue.scheduler.transmit == Transmit::Remainder).count();
    let Ok(remainders @ 1..) = u64::try_from(remainders) else { return };
    let known = queues.iter().all(|queue| queue.share.is_none() || queue.fraction.is_some());
    if !known {
        return;
    }
    let taken = queues.iter().filter_map(|queue| queue.fraction).fold(0u64, u64::saturating_add);
    let each = WHOLE.saturating_sub(taken) / remainders;
    for queue in queues.iter_mut().filter(|queue| queue.scheduler.transmit == Transmit::Remainder) {
        if each > 0 {
            // Whole percentages are kept, so that --rate can change the link's rate.
            queue.share = Some(match base.known {
                Some(rate) if each % 10_000 != 0 => Share::Rate(scaled(rate, each, WHOLE).max(1)),
                _ => base.percent(each),
            });
            queue.fraction = Some(each);
        }
    }
}

/// Sets the buffer fractions of all queues: a queue without `buffer-size` has the same fraction of the buffer as of the
/// rate; those with `remainder` divide the rest equally.
fn set_buffer_fractions(queues: &mut [OutputQueue]) {
    for queue in queues.iter_mut() {
        queue.buffer_fraction = match queue.scheduler.buffer {
            Buffer::Percent(percent) => u64::from(percent) * 10_000,
            Buffer::Remainder => 0,
            Buffer::SameAsRate | Buffer::Microseconds(_) => {
                queue.fraction.filter(|fraction| *fraction > 0).unwrap_or(MIN_BUFFER)
            }
        };
    }
    let remainders = queues.iter().filter(|queue| queue.scheduler.buffer == Buffer::Remainder).count();
    let Ok(remainders @ 1..) = u64::try_from(remainders) else { return };
    let taken = queues.iter().map(|queue| queue.buffer_fraction).fold(0u64, u64::saturating_add);
    let each = (WHOLE.saturating_sub(taken) / remainders).max(MIN_BUFFER);
    queues
        .iter_mut()
        .filter(|queue| queue.scheduler.buffer == Buffer::Remainder)
        .for_each(|queue| queue.buffer_fraction = each);
}

/// `true` if class-based scheduling is equivalent to HTB: all queues that are not strict have a transmit rate and the
/// same priority, which is below that of the strict ones. Upper limits must be rates, since a percentage would refer to
/// the guaranteed bandwidth.
fn is_shared(queues: &[OutputQueue], base: Base, default: &str) -> bool {
    let (strict, others): (Vec<&OutputQueue>, Vec<&OutputQueue>) = queues.iter().partition(|queue| queue.strict);
    let level = others.iter().map(|queue| queue.scheduler.priority).min();
    let fits = |queue: &&OutputQueue| {
        Some(queue.scheduler.priority) == level
            && queue.share.is_some()
            && !matches!(ceiling(queue, base), Some(Share::Percent(_)))
    };
    let plain = |queue: &&OutputQueue| {
        let own = &queue.scheduler;
        Some(own.priority) < level && !own.exact && own.shaping.is_none() && own.drops.is_empty()
    };
    others.iter().all(fits)
        && others.iter().any(|queue| queue.name == default)
        && strict.iter().all(plain)
        && strict.iter().filter(|queue| queue.scheduler.priority == 1).count() <= 1
}

/// Sets bandwidth, shaper and priority of a class under class-based scheduling.
fn guaranteed(class: &mut Class, queue: &OutputQueue, base: Base, all: &[OutputQueue]) {
    if queue.strict {
        let before = all.iter().any(|other| other.strict && other.scheduler.priority < queue.scheduler.priority);
        class.priority = Some(Priority { level: if before { 2 } else { 1 }, rate: None, burst: None });
        return;
    }
    class.bandwidth = queue.share;
    class.shape = ceiling(queue, base).map(|rate| Shape { rate, burst: None, excess: None, peak: false });
}

/// Returns the upper limit of a queue's rate; `None`: no limit.
fn ceiling(queue: &OutputQueue, base: Base) -> Option<Share> {
    let shaping = queue.scheduler.shaping.and_then(|shaping| base.share(shaping));
    if queue.scheduler.exact { queue.share.or(shaping) } else { shaping }
}

/// Returns the HTB parameters of a queue's class; `least` is the smallest rate fraction of all queues, in millionths.
fn buckets(queue: &OutputQueue, base: Base, least: u64) -> HtbClass {
    let ceiling = ceiling(queue, base);
    // A strict queue is always within its rate.
    let rate = if queue.strict { Some(ceiling.unwrap_or(Share::Percent(100))) } else { queue.share };
    let millionths = |percent: u32| percent.saturating_mul(10_000);
    let mut made = HtbClass { prio: u32::try_from(queue.scheduler.priority).ok(), ..HtbClass::default() };
    match rate {
        Some(Share::Percent(percent)) => made.percent = Some(millionths(percent)),
        Some(Share::Rate(rate)) => made.rate = rate,
        _ => made.rate = 1,
    }
    match ceiling {
        Some(Share::Percent(percent)) => made.ceil_percent = Some(millionths(percent)),
        Some(Share::Rate(rate)) => made.ceil = Some(rate),
        _ => made.ceil_percent = Some(1_000_000),
    }
    // Quanta are proportional to the rates. The smallest holds one frame: jumbo frames of 9 kB are assumed only from
    // 1 Gbit/s up.
    let smallest = if base.known.is_some_and(|rate| rate >= 1_000_000_000) { 9_300 } else { 1_600 };
    let weight = queue.fraction.unwrap_or(0).max(least);
    made.quantum = Some(scaled(smallest, if queue.share.is_some() { weight } else { least }, least).min(1_000_000_000));
    made
}

/// Returns the policer of `rate-limit`.
fn policer(queue: &OutputQueue, base: Base) -> Option<Police> {
    let share = queue.share.filter(|_| queue.scheduler.limited)?;
    let bps = share.of(base.known.unwrap_or(0)).filter(|rate| *rate > 0);
    Some(Police {
        rate: share,
        burst: bps.map(default_burst),
        peak: None,
        excess: None,
        conform: vec![Act::Transmit],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: crate::ir::Counting::default(),
    })
}

/// Returns the queue limit. `scale` is the fill level in percent at which the drop profile drops all packets; `None`:
/// 100 %.
fn limit(queue: &OutputQueue, base: Base, shared: bool, scale: Option<Limit>) -> Limit {
    let depth = defaults::depth(base.known);
    // The limit in microseconds at the port's rate.
    let whole = match (queue.scheduler.buffer, queue.fraction) {
        (Buffer::Microseconds(us), Some(fraction)) => scaled(us, fraction, WHOLE),
        (Buffer::Microseconds(us), None) => us,
        _ => scaled(depth, queue.buffer_fraction, WHOLE),
    };
    let scale = if let Some(Limit::Percent(percent)) = scale { u64::from(percent) } else { 100 };
    let whole = scaled(whole, scale, 100).max(1);
    if let Some(rate) = base.shaped {
        return Limit::Bytes(scaled(rate, whole, 8 * WHOLE).max(1));
    }
    // Rate at which the limit of the class is converted to bytes.
    let own = match (shared && !queue.strict, queue.share, ceiling(queue, base)) {
        (true, Some(share), _) | (false, _, Some(share)) => share,
        _ => Share::Percent(100),
    };
    match (own, base.known) {
        (Share::Percent(percent), _) => Limit::Microseconds(scaled(whole, 100, u64::from(percent)).max(1)),
        (_, Some(rate)) => Limit::Bytes(scaled(rate, whole, 8 * WHOLE).max(1)),
        (_, None) => Limit::Microseconds(depth),
    }
}
