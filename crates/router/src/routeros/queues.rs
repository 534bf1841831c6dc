//! `/queue tree` and `/queue simple` as hierarchical token buckets (MikroTik, "HTB (Hierarchical Token Bucket)").
//!
//! A leaf is guaranteed `limit-at`. Up to `max-limit` it borrows from its parents, leaves of higher priority first. A
//! bucket holds `bucket-size` seconds at `max-limit`.

use super::mangle::{Mangle, addresses, any_of};
use super::script::Command;
use super::types::Kind;
use super::units;
use crate::ir::{Class, Config, HtbClass, Match, Policy, Port, Queue, Rule, Scheduler};
use crate::{Level, Place, Report, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the port of simple queues from the target; simple queues are not attached to an interface.
pub(super) const UPLOAD: &str = "simple-upload";
/// Name of the port of simple queues to the target.
pub(super) const DOWNLOAD: &str = "simple-download";
/// Upper bound on the nesting of queues; RouterOS itself has eight levels.
const MAX_DEPTH: usize = 64;
/// Rate of a queue without `limit-at` in bit/s: a token bucket cannot have the rate 0.
const MIN_RATE: u64 = 1000;
/// Quantum of leaves of equal priority, in bytes; MikroTik does not document that of RouterOS.
const QUANTUM: u64 = 1514;

/// A queue of a tree, or one direction of a simple queue.
#[derive(Clone, Debug)]
pub(super) struct TreeQueue {
    pub name: String,
    pub at: Place,
    /// Name of the parent: another queue, or an interface.
    pub parent: String,
    pub when: When,
    /// Guaranteed rate in bit/s; 0: none.
    pub limit_at: u64,
    /// Maximum rate in bit/s; 0: unlimited.
    pub max_limit: u64,
    /// Priority from 1, the highest, to 8.
    pub priority: u64,
    /// Place of the priority, if it is stated.
    pub priority_at: Option<Place>,
    /// Name of the queue type.
    pub kind: String,
    pub kind_at: Place,
    /// Bucket size in microseconds of `max_limit`.
    pub bucket: u64,
    /// Direction of a simple queue: `true` to the target, `false` from it. `None`: a queue of a tree.
    pub side: Option<bool>,
    /// Remarks that are reported if the queue is used: level, place, message and advice.
    pub notes: Vec<(Level, Place, String, Option<&'static str>)>,
}

/// Condition on the packets of a queue.
#[derive(Clone, Debug)]
pub(super) enum When {
    /// Packets with one of these marks; empty: all packets.
    Marks(Vec<u32>),
    /// Packets with one of these marks that meet the condition; no marks: all packets that meet it.
    Both(Vec<u32>, Match),
}

/// Returns one half of a value such as `10M/20M`: the first is for packets from the target (upload), the second for
/// packets to it (download).
fn half(text: &str, download: bool) -> &str {
    let (up, down) = text.split_once('/').unwrap_or((text, text));
    if download { down } else { up }
}

/// Keys that are read, or that have no effect on queues.
const KEYS: [&str; 16] = [
    "name",
    "parent",
    "packet-mark",
    "limit-at",
    "max-limit",
    "priority",
    "queue",
    "bucket-size",
    "burst-limit",
    "burst-threshold",
    "burst-time",
    "comment",
    "disabled",
    "packet-marks",
    "target",
    "dst",
];

/// Reads a queue; `side` is the direction of a simple queue as in [`TreeQueue::side`]. Rate errors are reported for the
/// upload alone. `None`: it has no parent, which is reported.
pub(super) fn read(
    command: &Command,
    side: Option<bool>,
    mangle: &mut Mangle,
    report: &mut Report,
) -> Option<TreeQueue> {
    let value = |key: &str| command.get(key).map(|(text, at)| (side.map_or(text, |download| half(text, download)), at));
    let name = match command.get("name") {
        Some((name, _)) => name.to_owned(),
        None => format!("queue-{}", command.at.line),
    };
    let mut notes = Vec::new();
    let mut rate = |key: &str| match value(key) {
        None => 0,
        Some((text, at)) => units::rate(text).unwrap_or_else(|| {
            if side != Some(true) {
                report.error(at, format!("`{text}` is not a rate"), "write a rate in bit/s such as 512k, 10M or 1G");
            }
            0
        }),
    };
    let (limit_at, max_limit, burst) = (rate("limit-at"), rate("max-limit"), rate("burst-limit"));
    if let Some((_, at)) = value("burst-limit").filter(|_| burst > 0) {
        let message = format!("`{name}`: burst-limit, a higher rate while the average rate is low, is not simulated");
        notes.push((Level::Unsupported, at, message, Some("write burst-limit=0, or a larger bucket-size")));
    }
    let priority = match value("priority") {
        None => 8,
        Some((text, at)) => text.parse().ok().filter(|rank| (1..=8).contains(rank)).unwrap_or_else(|| {
            report.error(at, format!("`{text}` is not a priority"), "write a whole number from 1, the highest, to 8");
            8
        }),
    };
    let bucket = match value("bucket-size") {
        None => 100_000,
        Some((text, at)) => units::scaled(text, 1_000_000).filter(|size| *size <= 10_000_000).unwrap_or_else(|| {
            report.error(
                at,
                format!("`{text}` is not a bucket size"),
                "write a number of seconds at max-limit from 0 to 10, such as 0.1",
            );
            100_000
        }),
    };
    let marks = command.get("packet-mark").or_else(|| command.get("packet-marks")).map_or("", |own| own.0);
    let marks: Vec<u32> =
        marks.split(',').map(str::trim).filter(|mark| !mark.is_empty()).map(|mark| mangle.packet_mark(mark)).collect();
    for word in command.words.iter().filter(|word| !KEYS.contains(&word.key.as_str())) {
        let stated = word.value.as_deref().unwrap_or_default();
        let empty = matches!(stated, "" | "0" | "0/0" | "no" | "default" | "default-small" | "0s" | "0s/0s");
        if empty && (word.key.starts_with("total-") || word.key == "time") {
            continue;
        }
        let message = format!("`{}` of `{name}` is not simulated", word.key);
        notes.push((Level::Unsupported, word.at, message, None));
    }
    let (kind, kind_at) = value("queue").map_or(("default-small", command.at), |own| own);
    let parent = command.get("parent").map(|own| own.0.to_owned());
    let (parent, when) = match side {
        None => {
            if let Some(parent) = parent {
                (parent, When::Marks(marks))
            } else {
                report.error(
                    command.at,
                    format!("`{name}` has no parent"),
                    "write the interface, `global`, or another queue",
                );
                return None;
            }
        }
        Some(download) => {
            let root = if download { DOWNLOAD } else { UPLOAD };
            let parent = parent.filter(|parent| parent != "none").unwrap_or_else(|| root.to_owned());
            (parent, When::Both(marks, target(command, download, &mut notes)))
        }
    };
    Some(TreeQueue {
        name,
        at: command.at,
        parent,
        when,
        limit_at,
        max_limit,
        priority,
        priority_at: value("priority").map(|own| own.1),
        kind: kind.to_owned(),
        kind_at,
        bucket,
        side,
        notes,
    })
}

/// Returns the condition of one direction of a simple queue: packets from its target, or to it (`download`).
fn target(command: &Command, download: bool, notes: &mut Vec<(Level, Place, String, Option<&'static str>)>) -> Match {
    let mut all = Vec::new();
    for (key, sends) in [("target", !download), ("dst", download)] {
        let Some((text, at)) = command.get(key).filter(|(text, _)| !text.is_empty()) else { continue };
        let mut any = Vec::new();
        for part in text.split(',').map(str::trim) {
            match addresses(part) {
                Some(nets) => any.push(any_of(nets, if sends { Match::Source } else { Match::Destination })),
                None if sends && !part.contains(':') => any.push(Match::InputInterface(part.to_owned())),
                None => {
                    let message = format!(
                        "packets from or to `{part}` cannot be matched: only those of IPv4 addresses, and of interfaces that they arrive by"
                    );
                    notes.push((
                        Level::Unsupported,
                        at,
                        message,
                        Some("write the IPv4 addresses behind it as the target"),
                    ));
                }
            }
        }
        all.push(if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) });
    }
    if all.len() == 1 { all.remove(0) } else { Match::All(all) }
}

/// Adds to `config` the policies of all queues, with their ports.
pub(super) fn build(
    queues: &[TreeQueue],
    kinds: &BTreeMap<String, Kind>,
    mangle: &Mangle,
    config: &mut Config,
    report: &mut Report,
) {
    let mut by_name: BTreeMap<(Option<bool>, &str), usize> = BTreeMap::new();
    for (index, own) in queues.iter().enumerate() {
        let _ = by_name.entry((own.side, own.name.as_str())).or_insert(index);
    }
    // Returns the interface at the root of a queue; `None`: nested too deep, or in a cycle.
    let root = |own: &TreeQueue| {
        let mut parent = own.parent.as_str();
        for _ in 0..=queues.len().min(MAX_DEPTH) {
            match by_name.get(&(own.side, parent)).and_then(|index| queues.get(*index)) {
                Some(above) => parent = &above.parent,
                None => return Some(parent.to_owned()),
            }
        }
        None
    };
    let mut roots: Vec<(String, Vec<&TreeQueue>)> = Vec::new();
    for own in queues {
        let Some(port) = root(own) else {
            report.error(
                own.at,
                format!("`{}` is an ancestor of itself, or nested more than {MAX_DEPTH} deep", own.name),
                "write another queue, or an interface, as its parent",
            );
            continue;
        };
        match roots.iter_mut().find(|(name, _)| *name == port) {
            Some((_, all)) => all.push(own),
            None => roots.push((port, vec![own])),
        }
    }
    for (name, own) in &roots {
        let at = own.first().map_or(Place::default(), |own| own.at);
        if !config.ports.iter().any(|port| port.name == *name) {
            let port = Port { name: name.clone(), at, ..Port::default() };
            config.ports.push(port);
        }
        if let Some(port) = config.ports.iter_mut().find(|port| port.name == *name) {
            port.root = Class { queue: Queue::Policy(name.clone()), at, ..Class::default() };
        }
        report.enter(Scope::Policy(name.clone()));
        let made = policy(name, own, kinds, mangle, report);
        config.policies.push(made);
        let others: Vec<&str> =
            roots.iter().map(|(other, _)| other.as_str()).filter(|other| is_other(name, other)).collect();
        if !others.is_empty() {
            let message = format!("packets also pass the queues at {}, which are not simulated", others.join(", "));
            report.unsupported(at, message, Some("simulate the queues at one place alone"));
        }
    }
    report.enter(Scope::Everything);
    // Rows of the traffic table may name these interfaces in the column `input`.
    for name in mangle.inputs() {
        if !config.ports.iter().any(|port| port.name == *name) {
            config.ports.push(Port { name: name.clone(), ..Port::default() });
        }
    }
}

/// `true` if packets that pass the queues at `name` may also pass those at `other`.
fn is_other(name: &str, other: &str) -> bool {
    let everywhere = |name: &str| name == UPLOAD || name == DOWNLOAD || name.starts_with("global");
    let simple = |name: &str| name == UPLOAD || name == DOWNLOAD;
    name != other && (everywhere(other) || everywhere(name)) && !(simple(name) && simple(other))
}

/// Returns the policy of the queues at a port.
fn policy(
    port: &str,
    queues: &[&TreeQueue],
    kinds: &BTreeMap<String, Kind>,
    mangle: &Mangle,
    report: &mut Report,
) -> Policy {
    let at = queues.first().map_or(Place::default(), |own| own.at);
    let mut made = Policy { name: port.to_owned(), scheduler: Scheduler::Htb, at, ..Policy::default() };
    let inner: BTreeSet<&str> = queues.iter().map(|own| own.parent.as_str()).collect();
    let names: BTreeSet<&str> = queues.iter().map(|own| own.name.as_str()).collect();
    // The output interface is known only for trees at an interface.
    let device = (!port.starts_with("global") && queues.iter().all(|own| own.side.is_none())).then_some(port);
    let wanted: BTreeSet<u32> = queues.iter().flat_map(|own| own.marks().iter().copied()).collect();
    let wanted: Vec<u32> = wanted.into_iter().collect();
    let conditions = marks(&wanted, device, mangle, at, report);
    let (mut reported, mut ranks, mut equal_priorities) = (BTreeSet::new(), BTreeSet::new(), false);
    for own in queues {
        let leaf = !inner.contains(own.name.as_str());
        let above = queues.iter().find(|above| above.name == own.parent);
        for (level, at, message, advice) in &own.notes {
            report.add(*level, *at, message.clone(), *advice);
        }
        let mut class = Class { name: own.name.clone(), at: own.at, ..Class::default() };
        class.parent = names.contains(own.parent.as_str()).then(|| own.parent.clone());
        class.htb = Some(buckets(own, above.is_none(), leaf));
        if leaf {
            match kinds.get(&own.kind) {
                Some(kind) => {
                    (class.queue, class.limit) = (kind.queue.clone(), kind.limit);
                    if reported.insert(own.kind.clone()) {
                        kind.report_to(own.kind_at, report);
                    }
                }
                None => report.error(
                    own.kind_at,
                    format!("there is no queue type `{}`", own.kind),
                    "paste /queue type as well",
                ),
            }
            if let Some(at) = own.priority_at.filter(|_| own.max_limit == 0 && own.priority < 8) {
                let message = format!(
                    "`{}`: MikroTik's pages disagree on whether priority has an effect without max-limit: here it has",
                    own.name
                );
                report.assumed(at, message, "write max-limit");
            }
            equal_priorities |= above.is_some() && !ranks.insert((own.parent.clone(), own.priority));
            let when = own.condition(&wanted, &conditions);
            made.rules.push(Rule { when, class: own.name.clone(), police: None, at: own.at });
        } else {
            if let Some(at) = own.priority_at.filter(|_| own.priority < 8) {
                report.ignored(at, "the priority of a queue with child queues has no effect");
            }
            if own.side.is_some() || !own.marks().is_empty() {
                let message =
                    format!("packets of `{}` that match none of its child queues bypass all queues here", own.name);
                report.assumed(own.at, message, "add a child queue for the other packets");
            }
            check_guarantees(own, queues, report);
        }
        made.classes.push(class);
    }
    if equal_priorities {
        let message =
            "queues of equal priority share the excess rate equally; how RouterOS divides it is not documented";
        report.assumed(at, message, "give each queue a priority of its own, or its share as limit-at");
    }
    made
}

/// Reports child queues whose guaranteed rates exceed the maximum rate of their parent.
fn check_guarantees(own: &TreeQueue, queues: &[&TreeQueue], report: &mut Report) {
    let children = queues.iter().filter(|child| child.parent == own.name);
    let sum = children.fold(0u64, |sum, child| sum.saturating_add(child.limit_at));
    if own.max_limit > 0 && sum > own.max_limit {
        let message =
            format!("the child queues of `{}` are guaranteed {sum} bit/s in total, more than its max-limit", own.name);
        report.unsupported(
            own.at,
            message,
            Some("lower limit-at: the excess is divided after the queues, not by them"),
        );
    }
}

/// Returns the HTB parameters of a queue; `top`: its parent is an interface. An unlimited queue may use the link's
/// rate, and the rate of a top queue is its maximum rate (MikroTik: "CIR(parent) = MIR(parent)" for a main parent).
fn buckets(own: &TreeQueue, top: bool, leaf: bool) -> HtbClass {
    let max_limit = if own.max_limit > 0 { own.max_limit.max(own.limit_at) } else { 0 };
    let burst = |rate: u64| u64::try_from(u128::from(rate) * u128::from(own.bucket) / 8_000_000).unwrap_or(u64::MAX);
    let mut made = HtbClass {
        rate: if top && max_limit > 0 { max_limit } else { own.limit_at.max(MIN_RATE) },
        ceil: (max_limit > 0).then_some(max_limit),
        prio: leaf.then(|| u32::try_from(own.priority).unwrap_or(8) - 1),
        quantum: leaf.then_some(QUANTUM),
        ..HtbClass::default()
    };
    made.burst = Some(burst(made.rate));
    made.cburst = Some(burst(max_limit));
    if max_limit == 0 {
        made.ceil_percent = Some(1_000_000);
        if top {
            made.percent = Some(1_000_000);
        }
    }
    made
}

/// Returns the condition on packets with each of the marks `wanted`, for packets that leave by `device` (`None`:
/// unknown).
fn marks(wanted: &[u32], device: Option<&str>, mangle: &Mangle, at: Place, report: &mut Report) -> Vec<Match> {
    if !mangle.marks() {
        let named: Vec<String> = mangle.numbers().iter().map(|(name, number)| format!("{name} {number}")).collect();
        if !wanted.is_empty() {
            let message =
                format!("no rule sets packet marks; their numbers in the column `mark` are: {}", named.join(", "));
            report.assumed(at, message, "paste /ip firewall mangle, or write the numbers in the column `mark`");
        }
        return wanted.iter().map(|mark| Match::FirewallMark { value: *mark, mask: u32::MAX }).collect();
    }
    mangle.resolve(device, wanted, report).unwrap_or_else(|| {
        report.unsupported(at, "the mangle rules are too complex to be evaluated: no packet has a mark", None);
        vec![Match::AnyOf(Vec::new()); wanted.len()]
    })
}

impl TreeQueue {
    fn marks(&self) -> &[u32] {
        let (When::Marks(marks) | When::Both(marks, _)) = &self.when;
        marks
    }

    /// Returns the condition of the queue; `conditions` are those of the marks `wanted`.
    fn condition(&self, wanted: &[u32], conditions: &[Match]) -> Match {
        let found =
            |mark: &u32| wanted.iter().position(|own| own == mark).and_then(|index| conditions.get(index)).cloned();
        let mut any: Vec<Match> = self.marks().iter().filter_map(found).collect();
        let marked = match any.len() {
            0 => Match::Any,
            1 => any.remove(0),
            _ => Match::AnyOf(any),
        };
        match (&self.when, marked) {
            (When::Marks(_), marked) => marked,
            (When::Both(_, when), Match::Any) => when.clone(),
            (When::Both(_, when), marked) => Match::All(vec![when.clone(), marked]),
        }
    }
}
