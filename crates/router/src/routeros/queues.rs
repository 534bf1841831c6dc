//! `/queue tree` and `/queue simple` as hierarchies of token buckets (MikroTik, "HTB").
//!
//! A leaf gets `limit-at` in any case, then the excess of its parents up to `max-limit`, leaves of a higher priority
//! first. The size of a bucket is `bucket-size` times `max-limit`.

use super::mangle::{Mangle, addresses, one};
use super::script::Command;
use super::types::Kind;
use super::units;
use crate::ir::{Class, Config, HtbClass, Match, Policy, Port, Queue, Rule, Scheduler};
use crate::{Level, Place, Report, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the ports of simple queues, which are not attached to an interface.
pub(super) const UPLOAD: &str = "simple-upload";
pub(super) const DOWNLOAD: &str = "simple-download";
/// Upper bound on the nesting; RouterOS has eight levels.
const DEEPEST: usize = 64;
/// Rate of a queue without `limit-at`, bit/s: token buckets have no rate of 0.
const LEAST: u64 = 1000;
/// Quantum of leaves of equal priority in bytes; that of RouterOS is unknown.
const TURN: u64 = 1514;

/// A queue of a tree, or one direction of a simple queue.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub name: String,
    pub at: Place,
    /// Another queue, or an interface.
    pub parent: String,
    pub when: When,
    /// Guaranteed and maximum rate in bit/s; 0: none.
    pub least: u64,
    pub most: u64,
    /// Priority, 1 before 8.
    pub priority: u64,
    /// Place of the priority, if it is stated.
    pub ranked: Option<Place>,
    pub kind: String,
    pub kind_at: Place,
    /// Bucket size in microseconds of `most`.
    pub bucket: u64,
    /// For a simple queue: `true` for the direction to the target.
    pub side: Option<bool>,
    /// Remarks that apply if the queue is used.
    pub notes: Vec<(Level, Place, String, Option<&'static str>)>,
}

/// Condition on the packets of a queue.
#[derive(Clone, Debug)]
pub(super) enum When {
    /// Packets with one of these marks; empty: all packets.
    Marks(Vec<u32>),
    /// Packets with one of these marks that meet a condition.
    Both(Vec<u32>, Match),
}

/// Returns one half of a value such as `10M/20M`: the first is for the target's upload.
fn half(text: &str, download: bool) -> &str {
    let (up, down) = text.split_once('/').unwrap_or((text, text));
    if download { down } else { up }
}

const TREE: [&str; 16] = [
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

/// Reads a queue; `side` is the direction of a simple queue.
pub(super) fn read(command: &Command, side: Option<bool>, mangle: &mut Mangle, report: &mut Report) -> Option<Own> {
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
                report.error(at, format!("`{text}` is no rate"), "write it such as 512k, 10M or 1G");
            }
            0
        }),
    };
    let (least, most, burst) = (rate("limit-at"), rate("max-limit"), rate("burst-limit"));
    if let Some((_, at)) = value("burst-limit").filter(|_| burst > 0) {
        let message = format!("`{name}`: a higher rate while the average is low (burst-limit) is not simulated");
        notes.push((Level::Unsupported, at, message, Some("write burst-limit=0, or a larger bucket-size")));
    }
    let priority = match value("priority") {
        None => 8,
        Some((text, at)) => text.parse().ok().filter(|rank| (1..=8).contains(rank)).unwrap_or_else(|| {
            report.error(at, format!("`{text}` is no priority"), "priorities are 1, the highest, to 8");
            8
        }),
    };
    let bucket = match value("bucket-size") {
        None => 100_000,
        Some((text, at)) => units::scaled(text, 1_000_000).filter(|size| *size <= 10_000_000).unwrap_or_else(|| {
            report.error(at, format!("`{text}` is no bucket size"), "bucket sizes are 0 to 10");
            100_000
        }),
    };
    let marks = command.get("packet-mark").or_else(|| command.get("packet-marks")).map_or("", |own| own.0);
    let marks: Vec<u32> =
        marks.split(',').map(str::trim).filter(|mark| !mark.is_empty()).map(|mark| mangle.packet_mark(mark)).collect();
    for word in command.words.iter().filter(|word| !TREE.contains(&word.key.as_str())) {
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
    Some(Own {
        name,
        at: command.at,
        parent,
        when,
        least,
        most,
        priority,
        ranked: value("priority").map(|own| own.1),
        kind: kind.to_owned(),
        kind_at,
        bucket,
        side,
        notes,
    })
}

/// Returns the condition of a simple queue: packets from or to its target.
fn target(command: &Command, download: bool, notes: &mut Vec<(Level, Place, String, Option<&'static str>)>) -> Match {
    let mut all = Vec::new();
    for (key, sends) in [("target", !download), ("dst", download)] {
        let Some((text, at)) = command.get(key).filter(|(text, _)| !text.is_empty()) else { continue };
        let mut any = Vec::new();
        for part in text.split(',').map(str::trim) {
            match addresses(part) {
                Some(nets) => any.push(one(nets, if sends { Match::Source } else { Match::Destination })),
                None if sends && !part.contains(':') => any.push(Match::InputInterface(part.to_owned())),
                None => {
                    let message = format!("packets to `{part}`: which interface packets leave by is not known here");
                    notes.push((Level::Unsupported, at, message, Some("write the addresses behind it as the target")));
                }
            }
        }
        all.push(if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) });
    }
    if all.len() == 1 { all.remove(0) } else { Match::All(all) }
}

/// Returns ports with the policies of their trees.
pub(super) fn build(
    queues: &[Own],
    kinds: &BTreeMap<String, Kind>,
    mangle: &Mangle,
    config: &mut Config,
    report: &mut Report,
) {
    let mut by_name: BTreeMap<(Option<bool>, &str), usize> = BTreeMap::new();
    for (index, own) in queues.iter().enumerate() {
        let _ = by_name.entry((own.side, own.name.as_str())).or_insert(index);
    }
    // The interface at the root of each queue.
    let root = |own: &Own| {
        let mut parent = own.parent.as_str();
        for _ in 0..=queues.len().min(DEEPEST) {
            match by_name.get(&(own.side, parent)).and_then(|index| queues.get(*index)) {
                Some(above) => parent = &above.parent,
                None => return Some(parent.to_owned()),
            }
        }
        None
    };
    let mut roots: Vec<(String, Vec<&Own>)> = Vec::new();
    for own in queues {
        let Some(port) = root(own) else {
            report.error(
                own.at,
                format!("`{}` is within itself, or deeper than {DEEPEST} queues", own.name),
                "let a parent be another queue",
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
            let message = format!("packets pass the queues of {} as well, which is not simulated", others.join(", "));
            report.unsupported(at, message, Some("judge a router with one kind of queues"));
        }
    }
    report.enter(Scope::Everything);
    // Rows of the table may arrive on these interfaces.
    for name in mangle.inputs() {
        if !config.ports.iter().any(|port| port.name == *name) {
            config.ports.push(Port { name: name.clone(), ..Port::default() });
        }
    }
}

/// `true` if packets of one root also pass another.
fn is_other(name: &str, other: &str) -> bool {
    let everywhere = |name: &str| name == UPLOAD || name == DOWNLOAD || name.starts_with("global");
    let simple = |name: &str| name == UPLOAD || name == DOWNLOAD;
    name != other && (everywhere(other) || everywhere(name)) && !(simple(name) && simple(other))
}

fn policy(port: &str, queues: &[&Own], kinds: &BTreeMap<String, Kind>, mangle: &Mangle, report: &mut Report) -> Policy {
    let at = queues.first().map_or(Place::default(), |own| own.at);
    let mut made = Policy { name: port.to_owned(), scheduler: Scheduler::Htb, at, ..Policy::default() };
    let inner: BTreeSet<&str> = queues.iter().map(|own| own.parent.as_str()).collect();
    let names: BTreeSet<&str> = queues.iter().map(|own| own.name.as_str()).collect();
    // The output interface is known only for trees at an interface.
    let device = (!port.starts_with("global") && queues.iter().all(|own| own.side.is_none())).then_some(port);
    let asked: BTreeSet<u32> = queues.iter().flat_map(|own| own.marks().iter().copied()).collect();
    let asked: Vec<u32> = asked.into_iter().collect();
    let conditions = marks(&asked, device, mangle, at, report);
    let (mut reported, mut ranks, mut turns) = (BTreeSet::new(), BTreeSet::new(), false);
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
            if let Some(at) = own.ranked.filter(|_| own.most == 0 && own.priority < 8) {
                let message = format!(
                    "`{}`: MikroTik's pages contradict each other on priority without max-limit: it applies here",
                    own.name
                );
                report.assumed(at, message, "write max-limit");
            }
            turns |= above.is_some() && !ranks.insert((own.parent.clone(), own.priority));
            let when = own.condition(&asked, &conditions);
            made.rules.push(Rule { when, class: own.name.clone(), police: None, at: own.at });
        } else {
            if let Some(at) = own.ranked.filter(|_| own.priority < 8) {
                report.ignored(at, "the priority of a queue with queues within has no meaning");
            }
            if own.side.is_some() || !own.marks().is_empty() {
                let message = format!("packets of `{}` that no queue within takes go past the queues here", own.name);
                report.assumed(own.at, message, "add a queue for the rest within it");
            }
            within(own, queues, report);
        }
        made.classes.push(class);
    }
    if turns {
        let message = "queues of one priority share what is left in equal parts, and what MikroTik does is unknown";
        report.assumed(at, message, "give each queue a priority, or its share as limit-at");
    }
    made
}

/// Warns of guarantees above the available rate.
fn within(own: &Own, queues: &[&Own], report: &mut Report) {
    let children = queues.iter().filter(|child| child.parent == own.name);
    let sum = children.fold(0u64, |sum, child| sum.saturating_add(child.least));
    if own.most > 0 && sum > own.most {
        let message = format!("the queues within `{}` are guaranteed {sum} bit/s, more than its max-limit", own.name);
        report.unsupported(own.at, message, Some("lower limit-at: who gets what then is decided behind the queues"));
    }
}

/// Returns the HTB parameters of a queue. An unlimited queue has the link's rate, and a queue at the root its maximum
/// rate ("CIR(parent) = MIR(parent)" of a main parent).
fn buckets(own: &Own, top: bool, leaf: bool) -> HtbClass {
    let most = if own.most > 0 { own.most.max(own.least) } else { 0 };
    let burst = |rate: u64| u64::try_from(u128::from(rate) * u128::from(own.bucket) / 8_000_000).unwrap_or(u64::MAX);
    let mut made = HtbClass {
        rate: if top && most > 0 { most } else { own.least.max(LEAST) },
        ceil: (most > 0).then_some(most),
        prio: leaf.then(|| u32::try_from(own.priority).unwrap_or(8) - 1),
        quantum: leaf.then_some(TURN),
        ..HtbClass::default()
    };
    made.burst = Some(burst(made.rate));
    made.cburst = Some(burst(most));
    if most == 0 {
        made.ceil_percent = Some(1_000_000);
        if top {
            made.percent = Some(1_000_000);
        }
    }
    made
}

/// Returns the condition of each mark.
fn marks(asked: &[u32], device: Option<&str>, mangle: &Mangle, at: Place, report: &mut Report) -> Vec<Match> {
    if !mangle.marks() {
        let named: Vec<String> = mangle.numbers().iter().map(|(name, number)| format!("{name} {number}")).collect();
        if !asked.is_empty() {
            let message = format!("no rule gives packet marks: the column `mark` has them as {}", named.join(", "));
            report.assumed(at, message, "paste /ip firewall mangle, or write the column `mark`");
        }
        return asked.iter().map(|mark| Match::FirewallMark { value: *mark, mask: u32::MAX }).collect();
    }
    mangle.resolve(device, asked, report).unwrap_or_else(|| {
        report.unsupported(at, "rules of the firewall that are too many to follow: no packet has a mark", None);
        vec![Match::AnyOf(Vec::new()); asked.len()]
    })
}

impl Own {
    fn marks(&self) -> &[u32] {
        let (When::Marks(marks) | When::Both(marks, _)) = &self.when;
        marks
    }

    fn condition(&self, asked: &[u32], conditions: &[Match]) -> Match {
        let found =
            |mark: &u32| asked.iter().position(|own| own == mark).and_then(|index| conditions.get(index)).cloned();
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
