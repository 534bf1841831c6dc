//! Queues of a port: scheduler map and schedulers become a policy.
//!
//! Junos looks for a queue to serve in this order ("Transmission Priority Scheduling", Junos OS Class of Service User Guide):
//! queues within their transmit rate by priority, then queues beyond it by priority, each time in weighted turns. Hierarchical
//! token buckets do the same: leaves that may send by right by priority, then leaves that borrow by priority, in turns of their
//! quanta. Where one priority is left below the strict ones, guaranteed shares come to the same, and give bounds.

use super::cos::{Buffer, PRIORITIES, Scheduler, Transmit};
use super::firewall::usual_burst;
use super::{Maker, defaults};
use crate::ir::{
    Act, Class, HtbClass, Limit, Match, Police, Policy, Priority, Queue, Rule, Scheduler as Serving, Shape, Share,
};
use crate::{Place, Scope};
use std::collections::BTreeSet;

/// The scheduler map of ports that name none.
const USUAL: &str = "default scheduler map";
/// Millionths.
const WHOLE: u64 = 1_000_000;
/// Place in [`PRIORITIES`] of the lowest.
const LOWEST: usize = 6;

/// What a port does with what it sends.
#[derive(Clone, Debug, Default)]
pub(super) struct Departure {
    pub map: Option<(String, Place)>,
    pub shaping: Option<(Transmit, Option<u64>)>,
    /// Rate of the line in bit/s, where it is known.
    pub line: Option<u64>,
    /// Rules of an output filter that give another class: each holds of no packet of another.
    pub rules: Vec<(Match, usize, Place)>,
    pub parts: BTreeSet<String>,
    pub at: Place,
}

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub name: String,
    /// The forwarding classes whose packets wait in it.
    classes: Vec<usize>,
    pub scheduler: Scheduler,
    strict: bool,
    /// Whether it has a scheduler of its own.
    scheduled: bool,
    /// What it is guaranteed.
    share: Option<Share>,
    /// The same, of the rate of the port in millionths, where that is known.
    part: Option<u64>,
    /// Its part of the buffer in millionths.
    room: u64,
}

/// Part of the buffer in millionths of a queue for which neither a buffer nor a rate is stated; no public document has it.
const LEAST_ROOM: u64 = 10_000;

/// What shares are parts of.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// Rate of a shaper, bit/s: shares become rates.
    shaped: Option<u64>,
    /// The same, or that of the line.
    known: Option<u64>,
}

impl Base {
    fn share(self, transmit: Transmit) -> Option<Share> {
        match transmit {
            Transmit::Rate(rate) => Some(Share::Rate(rate)),
            Transmit::Percent(0) | Transmit::Nothing | Transmit::Remainder => None,
            Transmit::Percent(percent) => Some(self.percent(u64::from(percent) * 10_000)),
        }
    }
    /// A part in millionths.
    fn percent(self, millionths: u64) -> Share {
        match self.shaped {
            Some(rate) => Share::Rate(scaled(rate, millionths, WHOLE).max(1)),
            None => Share::Percent(u32::try_from(millionths / 10_000).unwrap_or(100)),
        }
    }
    fn part(self, share: Share) -> Option<u64> {
        match share {
            Share::Percent(percent) => Some(u64::from(percent) * 10_000),
            Share::Rate(rate) => Some(scaled(rate, WHOLE, self.known?)),
            _ => None,
        }
    }
}

fn scaled(value: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

impl Maker<'_> {
    /// The queues of a port, as what it does with all that it sends.
    pub(super) fn departing(&mut self, own: &Departure, title: &str) -> Class {
        let mut base = Base { shaped: None, known: own.line };
        let mut root = Class { at: own.at, ..Class::default() };
        if let Some((shaping, burst)) = own.shaping {
            let rate = match (shaping, own.line) {
                (Transmit::Rate(rate), _) => Some(rate),
                (Transmit::Percent(percent), Some(line)) => Some(scaled(line, u64::from(percent), 100)),
                _ => None,
            };
            match rate.filter(|rate| *rate > 0) {
                Some(rate) => {
                    base = Base { shaped: Some(rate), known: Some(rate) };
                    root.shape = Some(Shape { rate: Share::Rate(rate), burst, excess: None, peak: false });
                }
                None => {
                    let message = format!("the rate of `{title}`, of which its shaping rate is a part, is not known");
                    self.report.unsupported(own.at, message, Some("state `speed`, or the shaping rate in bit/s"));
                }
            }
        }
        let mut parts = own.parts.clone();
        let queues = self.queues(own, base, &mut parts);
        let policy = self.policy(own, base, queues, parts, title);
        root.queue = Queue::Policy(policy);
        root
    }

    /// The queues that packets may be in, with their shares.
    fn queues(&mut self, own: &Departure, base: Base, parts: &mut BTreeSet<String>) -> Vec<Waiting> {
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
        let mut queues: Vec<Waiting> = Vec::new();
        for number in numbers {
            let classes = self.cos.classes.iter().enumerate().filter(|(_, class)| class.queue == number);
            let classes: Vec<usize> = classes.map(|(index, _)| index).collect();
            let mut made = Waiting {
                name: String::new(),
                scheduler: Scheduler { priority: LOWEST, ..Scheduler::default() },
                strict: false,
                scheduled: false,
                share: None,
                part: None,
                room: 0,
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
                            "class `{}` shares queue {number}: its scheduler `{name}` is left out",
                            self.cos.classes.get(*other).map_or("", |class| class.name.as_str())
                        );
                        self.report.unsupported(*at, message, Some("give one class of each queue a scheduler"));
                    }
                }
            } else if own.map.is_none()
                && let Some(index) = (0..4).find(|index| made.classes.contains(&self.cos.usual_class(*index)))
            {
                let percent = defaults::SHARES.get(index).copied().unwrap_or(0);
                made.scheduler.transmit = if percent > 0 { Transmit::Percent(percent) } else { Transmit::Nothing };
                made.scheduled = percent > 0;
            }
            made.name = named
                .and_then(|index| self.cos.classes.get(index))
                .map_or_else(String::new, |class| class.name.clone());
            // A queue that no scheduler is for and no classifier leads to is always empty.
            if made.scheduled || made.classes.iter().any(|class| self.reached.contains(class)) {
                queues.push(made);
            }
        }
        if own.map.is_none() {
            let _ = parts.insert(USUAL.to_owned());
            self.report.enter(Scope::Part(USUAL.to_owned()));
            self.report.assumed(
                Place::default(),
                "without a scheduler map best-effort has 95 % and network-control 5 % of the line (\"Default Schedulers Overview\", \
                 Junos OS Class of Service User Guide)",
                "apply a scheduler map",
            );
        }
        shares(&mut queues, base);
        rooms(&mut queues);
        queues
    }

    fn policy(
        &mut self,
        own: &Departure,
        base: Base,
        queues: Vec<Waiting>,
        parts: BTreeSet<String>,
        title: &str,
    ) -> String {
        let name = own.map.as_ref().map_or_else(|| USUAL.to_owned(), |(name, _)| name.clone());
        let first = self.cos.usual_class(0);
        let default = queues.iter().find(|queue| queue.classes.contains(&first)).or_else(|| queues.first());
        let default = default.map_or_else(String::new, |queue| queue.name.clone());
        let shared = is_shared(&queues, base, &default);
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
        // A packet that the filter gives a class is in no other.
        for (when, class, at) in &own.rules {
            if let Some(queue) = of(*class) {
                policy.rules.push(Rule { when: when.clone(), class: queue.name.clone(), police: None, at: *at });
                taken.push(when.clone());
            }
        }
        for queue in &queues {
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
        let least = queues.iter().filter_map(|queue| queue.part).filter(|part| *part > 0).min().unwrap_or(WHOLE);
        for queue in &queues {
            let mut class = Class { name: queue.name.clone(), at: queue.scheduler.at, ..Class::default() };
            class.wred = self.wred(queue, &mut class.limit);
            let scale = class.limit.take();
            class.limit = Some(limit(queue, base, shared, scale));
            class.police = policer(queue, base);
            if shared {
                guaranteed(&mut class, queue, base, &queues);
            } else {
                class.parent = Some(ROOT_CLASS.to_owned());
                class.htb = Some(buckets(queue, base, least));
            }
            policy.classes.push(class);
        }
        let name = self.keep(policy);
        if self.config.policies.len() > before {
            self.notes(&queues, base, &name, title);
        }
        name
    }

    /// Remarks on what was assumed for the queues of a policy.
    fn notes(&mut self, queues: &[Waiting], base: Base, name: &str, title: &str) {
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
                    "the buffer of `{title}` holds {ms} ms of its rate ({}), of which a queue without `buffer-size` has as much \
                     as of the rate; a full queue drops what arrives",
                    defaults::DEPTH_SOURCE
                ),
                "depths differ by line card: write `buffer-size temporal MICROSECONDS`",
            );
        }
        if !temporal.is_empty() {
            self.report.assumed(
                Place::default(),
                format!("`buffer-size temporal` is taken at the transmit rate of the queue ({})", temporal.join(", ")),
                "some platforms take it at the rate of the interface (\"buffer-size (Schedulers)\")",
            );
        }
        for queue in
            queues.iter().filter(|queue| queue.scheduler.transmit == Transmit::Remainder && queue.share.is_none())
        {
            let message =
                format!("queue `{}`: what the other transmit rates leave is nothing, or not known", queue.name);
            let advice = "write a percentage, or state the rate of the line with `speed`";
            self.report.unsupported(queue.scheduler.at, message, Some(advice));
        }
        let none: Vec<&Waiting> = queues.iter().filter(|queue| queue.share.is_none() && !queue.strict).collect();
        if !none.is_empty() {
            let names: Vec<&str> = none.iter().map(|queue| queue.name.as_str()).collect();
            let at = none.iter().map(|queue| queue.scheduler.at).find(|at| at.line > 0).unwrap_or_default();
            let message = format!(
                "queues without a transmit rate get what the others leave, with the least weight: {}",
                names.join(", ")
            );
            self.report.assumed(at, message, "give them a scheduler with `transmit-rate`");
        }
        let empty =
            |queue: &&Waiting| queue.scheduler.buffer == Buffer::Usual && queue.part.is_none_or(|part| part == 0);
        let names: Vec<&str> = queues.iter().filter(empty).map(|queue| queue.name.as_str()).collect();
        if !names.is_empty() {
            let message = format!(
                "queues with neither `buffer-size` nor a transmit rate are taken to hold 1 % of the buffer: {}",
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
                "queue `{}` has strict priority without a limit: it can take all of the line, since a transmit rate does not \
                 limit it (\"Priority Scheduling Overview\")",
                queue.name
            );
            self.report.warning(
                queue.scheduler.at,
                message,
                "write `shaping-rate` or `rate-limit`; QFX10000 limits it",
            );
        }
        for queue in queues.iter().filter(|queue| queue.scheduler.limited) {
            let message = format!("queue `{}`: `rate-limit` is taken with a burst of 5 ms of its rate", queue.name);
            self.report.assumed(queue.scheduler.at, message, "what burst the platform has is not public");
        }
        let middle = |queue: &&Waiting| (2..LOWEST).contains(&queue.scheduler.priority);
        if let Some(queue) = queues.iter().find(middle) {
            let known = PRIORITIES.iter().find(|(_, level)| *level == queue.scheduler.priority);
            let message = format!(
                "queue `{}`: `{}` is a level of its own, within and beyond the transmit rate",
                queue.name,
                known.map_or("", |(name, _)| name)
            );
            let advice = "line cards have fewer levels (\"Platform Support for Priority Scheduling\")";
            self.report.warning(queue.scheduler.at, message, advice);
        }
        let strict: Vec<&Waiting> =
            queues.iter().filter(|queue| queue.strict && queue.scheduler.priority == 1).collect();
        if let [_, second, ..] = strict.as_slice() {
            let message = format!("queue `{}` is a second one of strict-high: they take turns", second.name);
            self.report.warning(second.scheduler.at, message, "most platforms take one for each interface");
        }
        let sum =
            queues.iter().filter(|queue| !queue.strict).filter_map(|queue| queue.part).fold(0u64, u64::saturating_add);
        if sum > WHOLE {
            let message = format!("the transmit rates of `{name}` add up to {} % of `{title}`", sum / 10_000);
            let at = queues.iter().map(|queue| queue.scheduler.at).find(|at| at.line > 0).unwrap_or_default();
            self.report.warning(at, message, "no queue can rely on its rate; some platforms refuse to commit this");
        }
    }
}

/// The class of token buckets that all others are within. It never limits them.
const ROOT_CLASS: &str = "(port)";

/// Shares of all queues, the remainders included.
fn shares(queues: &mut [Waiting], base: Base) {
    for queue in queues.iter_mut() {
        queue.share = base.share(queue.scheduler.transmit);
        queue.part = queue.share.and_then(|share| base.part(share));
    }
    let rests = queues.iter().filter(|queue| queue.scheduler.transmit == Transmit::Remainder).count();
    let Ok(rests @ 1..) = u64::try_from(rests) else { return };
    let known = queues.iter().all(|queue| queue.share.is_none() || queue.part.is_some());
    if !known {
        return;
    }
    let taken = queues.iter().filter_map(|queue| queue.part).fold(0u64, u64::saturating_add);
    let each = WHOLE.saturating_sub(taken) / rests;
    for queue in queues.iter_mut().filter(|queue| queue.scheduler.transmit == Transmit::Remainder) {
        if each > 0 {
            // Whole percents stay what they are when --rate gives another line.
            queue.share = Some(match base.known {
                Some(rate) if each % 10_000 != 0 => Share::Rate(scaled(rate, each, WHOLE).max(1)),
                _ => base.percent(each),
            });
            queue.part = Some(each);
        }
    }
}

/// Parts of the buffer: a queue without `buffer-size` has as much of it as of the rate, and a remainder what the others leave.
fn rooms(queues: &mut [Waiting]) {
    for queue in queues.iter_mut() {
        queue.room = match queue.scheduler.buffer {
            Buffer::Percent(percent) => u64::from(percent) * 10_000,
            Buffer::Remainder => 0,
            Buffer::Usual | Buffer::Microseconds(_) => queue.part.filter(|part| *part > 0).unwrap_or(LEAST_ROOM),
        };
    }
    let rests = queues.iter().filter(|queue| queue.scheduler.buffer == Buffer::Remainder).count();
    let Ok(rests @ 1..) = u64::try_from(rests) else { return };
    let taken = queues.iter().map(|queue| queue.room).fold(0u64, u64::saturating_add);
    let each = (WHOLE.saturating_sub(taken) / rests).max(LEAST_ROOM);
    queues.iter_mut().filter(|queue| queue.scheduler.buffer == Buffer::Remainder).for_each(|queue| queue.room = each);
}

/// Whether guaranteed shares below strict priority do what the queues do: all that are not strict have one priority, lower than
/// the strict ones, and a share; what a queue gets at most is a rate, since a percentage would be one of its share.
fn is_shared(queues: &[Waiting], base: Base, default: &str) -> bool {
    let (strict, others): (Vec<&Waiting>, Vec<&Waiting>) = queues.iter().partition(|queue| queue.strict);
    let level = others.iter().map(|queue| queue.scheduler.priority).min();
    let fits = |queue: &&Waiting| {
        Some(queue.scheduler.priority) == level
            && queue.share.is_some()
            && !matches!(ceiling(queue, base), Some(Share::Percent(_)))
    };
    let plain = |queue: &&Waiting| {
        let own = &queue.scheduler;
        Some(own.priority) < level && !own.exact && own.shaping.is_none() && own.drops.is_empty()
    };
    others.iter().all(fits)
        && others.iter().any(|queue| queue.name == default)
        && strict.iter().all(plain)
        && strict.iter().filter(|queue| queue.scheduler.priority == 1).count() <= 1
}

/// A class of guaranteed shares and strict priority.
fn guaranteed(class: &mut Class, queue: &Waiting, base: Base, all: &[Waiting]) {
    if queue.strict {
        let before = all.iter().any(|other| other.strict && other.scheduler.priority < queue.scheduler.priority);
        class.priority = Some(Priority { level: if before { 2 } else { 1 }, rate: None, burst: None });
        return;
    }
    class.bandwidth = queue.share;
    class.shape = ceiling(queue, base).map(|rate| Shape { rate, burst: None, excess: None, peak: false });
}

/// What a queue may send at most.
fn ceiling(queue: &Waiting, base: Base) -> Option<Share> {
    let shaping = queue.scheduler.shaping.and_then(|shaping| base.share(shaping));
    if queue.scheduler.exact { queue.share.or(shaping) } else { shaping }
}

/// A class of token buckets.
fn buckets(queue: &Waiting, base: Base, least: u64) -> HtbClass {
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
    // Turns beyond the rate are in proportion to it; frames of 9 kB are taken on fast lines only.
    let smallest = if base.known.is_some_and(|rate| rate >= 1_000_000_000) { 9_300 } else { 1_600 };
    let weight = queue.part.unwrap_or(0).max(least);
    made.quantum = Some(scaled(smallest, if queue.share.is_some() { weight } else { least }, least).min(1_000_000_000));
    made
}

/// The policer of `rate-limit`.
fn policer(queue: &Waiting, base: Base) -> Option<Police> {
    let share = queue.share.filter(|_| queue.scheduler.limited)?;
    let bps = share.of(base.known.unwrap_or(0)).filter(|rate| *rate > 0);
    Some(Police {
        rate: share,
        burst: bps.map(usual_burst),
        peak: None,
        excess: None,
        conform: vec![Act::Transmit],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: crate::ir::Counting::default(),
    })
}

/// How much may wait; `scale` is the percentage of it from which on a drop profile drops everything.
fn limit(queue: &Waiting, base: Base, shared: bool, scale: Option<Limit>) -> Limit {
    let depth = defaults::depth(base.known);
    // Microseconds at the rate of the port.
    let whole = match (queue.scheduler.buffer, queue.part) {
        (Buffer::Microseconds(us), Some(part)) => scaled(us, part, WHOLE),
        (Buffer::Microseconds(us), None) => us,
        _ => scaled(depth, queue.room, WHOLE),
    };
    let scale = if let Some(Limit::Percent(percent)) = scale { u64::from(percent) } else { 100 };
    let whole = scaled(whole, scale, 100).max(1);
    if let Some(rate) = base.shaped {
        return Limit::Bytes(scaled(rate, whole, 8 * WHOLE).max(1));
    }
    // The share of the rate at which the class's limit is reckoned.
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
