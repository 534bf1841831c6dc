//! Tree of the stops behind a wait: the notification that stopped a port, the congested queue on whose behalf the
//! notification was sent, the packets that fill that queue, and the stops of the ports at which these packets wait.

use super::log::{Log, cause, same_queue};
use super::queue::{Share, at_input, shares, waiting_at};
use super::stops::{Covers, Ended, Interval, intervals, notification};
use crate::Memory;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_sim::plan::{EventKind, FrameKind, NodeId};
use tailback_sim::trace::{Cause, Detail, Row};
use tailback_units::Time;

/// Maximum depth of a tree. A chain ends by itself, at the latest at a stop that is in the tree already; the bound
/// limits the size of the tree.
const DEPTH: usize = 64;

/// Stop of a port, explained at one instant.
#[derive(Clone, Debug, Serialize)]
pub struct StopNode {
    /// Name of the port.
    pub port: String,
    /// Index of the port.
    #[serde(skip)]
    pub number: u32,
    /// The instant at which the stop is explained.
    pub at_ps: u64,
    /// Stopped traffic in words, such as `class 3`.
    pub traffic: String,
    /// Kind of the notification: `PAUSE`, `PFC` or `XOFF`.
    pub signal: &'static str,
    /// Start of the stop.
    pub since_ps: u64,
    /// End of the stop; `None`: it was in force at the end of the explained interval.
    pub until_ps: Option<u64>,
    /// Reason of the end.
    pub ended: Ended,
    /// `true` if the traffic was slowed, `false` if it was stopped.
    pub slows: bool,
    /// Congested queues on whose behalf the port was stopped; empty: `end` says why.
    pub causes: Vec<CauseNode>,
    /// End of the chain, if it ends at this stop: a ring, a stop that is explained elsewhere in the tree, or an unknown
    /// cause. `None`: the causes continue the chain.
    pub end: Option<End>,
}

/// A congested queue, or a host in a pause storm, that stopped a neighbour.
#[derive(Clone, Debug, Serialize)]
pub struct CauseNode {
    /// Name of the port of the queue; for an input, of the port towards the neighbour behind it.
    pub port: String,
    /// The queue as rows identify it.
    #[serde(skip)]
    pub cause: Cause,
    /// Index of the port towards the stopped neighbour.
    #[serde(skip)]
    pub target: u32,
    /// Class of the queue, 0 is the highest.
    pub class: u8,
    /// `true` if the queue is an input of the switch.
    pub input: bool,
    /// Name of the congested destination; `None`: destinations have no limits of their own.
    pub destination: Option<String>,
    /// Time of the decision to stop the neighbour.
    pub notified_ps: u64,
    /// Time at which the queue was certainly congested: that of the decision, or the start of the PAUSE frame.
    pub known_ps: u64,
    /// Time at which the queue became congested; `None`: a storm, or not in the trace.
    pub congested_ps: Option<u64>,
    /// Occupancy when the queue became congested, bytes; 0 if that is not in the trace.
    pub level: u64,
    /// Threshold that the occupancy passed, bytes; `None`: the threshold is not fixed.
    pub threshold: Option<u64>,
    /// Packets in the queue by flow, the largest share first.
    pub filled_by: Vec<Share>,
    /// Ports at which these packets wait, that with the most bytes first.
    pub waits_at: Vec<Group>,
    /// Stops of these ports.
    pub stops: Vec<StopNode>,
    /// End of the chain; `None`: `stops` continue the chain.
    pub end: Option<End>,
}

/// Packets of a congested queue that wait at one port.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Name of the port.
    pub port: String,
    /// Buffer bytes of the packets.
    pub bytes: u64,
    /// The packets by flow, the largest share first.
    pub flows: Vec<Share>,
}

/// End of a chain of stops and causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum End {
    /// A queue passed its threshold although its port was not stopped: more traffic arrived for the port than its link
    /// carries.
    Congested {
        /// Name of the port whose link limits.
        port: String,
    },
    /// A host sends PAUSE frames continuously.
    Storm {
        /// Name of the host.
        host: String,
    },
    /// Ports wait for each other.
    Ring {
        /// Names of the ports. Each is stopped because packets wait at the next one, and the last one because packets
        /// wait at the first.
        ports: Vec<String>,
    },
    /// The stop is explained elsewhere in the tree, or the tree has reached its maximum depth.
    Above {
        /// Name of the port.
        port: String,
    },
    /// The cause of the notification is not in the rows.
    Unknown,
}

/// Tree under construction.
pub(super) struct Tree<'l, 'a> {
    log: &'l Log<'a>,
    /// For each port, the intervals during which it was stopped.
    intervals: BTreeMap<u32, Vec<Interval>>,
    /// Stops (port, class, instant) that are explained in the tree.
    explained: Vec<(u32, u8, Time)>,
    /// Earliest instant for which the content of a queue was computed; [`Time::NEVER`]: none yet.
    pub earliest: Time,
}

impl<'l, 'a> Tree<'l, 'a> {
    pub fn new(log: &'l Log<'a>) -> Tree<'l, 'a> {
        Tree { log, intervals: BTreeMap::new(), explained: Vec::new(), earliest: Time::NEVER }
    }

    /// Returns the stop of `port` at `time` that concerns any of the packets in `waits` (class and destination);
    /// `None`: the port is not stopped.
    pub fn stop(&mut self, port: u32, time: Time, waits: &[(u8, NodeId)]) -> Option<StopNode> {
        self.stop_in(port, time, waits, &mut Vec::new())
    }

    /// Returns the same as [`Tree::stop`]; `path` has the stops between the root of the tree and this one.
    fn stop_in(
        &mut self,
        port: u32,
        time: Time,
        waits: &[(u8, NodeId)],
        path: &mut Vec<(u32, u8, Time)>,
    ) -> Option<StopNode> {
        let log = self.log;
        let all = self.intervals.entry(port).or_insert_with(|| intervals(log, port));
        let covers = |interval: &&Interval| waits.iter().any(|(class, to)| interval.covers.includes(*class, *to));
        let active = |interval: &&Interval| interval.start <= time && time < interval.end;
        let mut found: Vec<Interval> = all.iter().filter(active).filter(covers).cloned().collect();
        // Slowed traffic is explained only if no traffic is stopped.
        if found.iter().any(|interval| !interval.slows) {
            found.retain(|interval| !interval.slows);
        }
        let first = found.iter().min_by_key(|interval| interval.start)?;
        let last = found.iter().max_by_key(|interval| interval.end)?;
        let effect = log.row(*first.effects.first()?);
        let class = waits.iter().find(|(c, to)| first.covers.includes(*c, *to)).map_or(0, |(class, _)| *class);
        let mut node = StopNode {
            port: log.port_name(port),
            number: port,
            at_ps: time.0,
            traffic: traffic(log, &found),
            signal: signal(effect.frame),
            since_ps: first.start.0,
            until_ps: (last.end <= log.until).then_some(last.end.0),
            ended: if last.end > log.until { Ended::InForce } else { last.ended },
            slows: first.slows,
            causes: Vec::new(),
            end: None,
        };
        let here = (port, class, time);
        if let Some(at) = path.iter().position(|place| *place == here) {
            node.end = Some(End::Ring { ports: path[at..].iter().map(|(port, ..)| log.port_name(*port)).collect() });
            return Some(node);
        }
        if self.explained.contains(&here) || path.len() >= DEPTH {
            node.end = Some(End::Above { port: node.port.clone() });
            return Some(node);
        }
        self.explained.push(here);
        path.push(here);
        let mut known: Vec<Cause> = Vec::new();
        for interval in &found {
            let before = |effect: &&usize| log.row(**effect).time <= time;
            let Some(effect) = interval.effects.iter().rev().find(before) else { continue };
            let Some(notification) = notification(log, log.row(*effect)) else { continue };
            for (source, notified) in notification.sources {
                if known.iter().any(|other| same_queue(*other, source)) {
                    continue;
                }
                known.push(source);
                let is_pause = matches!(log.row(*effect).frame, FrameKind::Pause | FrameKind::Pfc);
                let reference = if is_pause { notification.sent } else { notified };
                let cause = self.cause(port ^ 1, source, [notified, reference, time], path);
                node.causes.push(cause);
            }
        }
        path.pop();
        if node.causes.is_empty() {
            node.end = Some(End::Unknown);
        }
        Some(node)
    }

    /// Returns the congested queue on whose behalf the neighbour behind port `target` was stopped. The times are that
    /// of the decision (`notified`), one at which the queue was certainly congested (`known`), and the instant that is
    /// explained (`time`).
    fn cause(
        &mut self,
        target: u32,
        source: Cause,
        [notified, known, time]: [Time; 3],
        path: &mut Vec<(u32, u8, Time)>,
    ) -> CauseNode {
        let log = self.log;
        let node = log.network.ports[target as usize].from;
        let began = |row: &&Row| {
            row.event == EventKind::Congested
                && row.time <= notified
                && log.network.ports[row.port as usize].from == node
                && cause(row).is_some_and(|own| same_queue(own, source) && (!own.input || row.port == target))
        };
        let transition = log.transitions().rev().find(began);
        let is_crossbar = matches!(log.network.memories[usize::from(node)], Memory::Crossbar(_));
        let mut found = CauseNode {
            port: log.port_name(source.port),
            cause: source,
            target,
            class: source.class,
            input: source.port == target || is_crossbar,
            destination: source.destination.map(|to| log.node_name(to)),
            notified_ps: notified.0,
            known_ps: known.0,
            congested_ps: transition.map(|row| row.time.0),
            level: transition.map_or(0, |row| row.queue_bytes),
            threshold: transition.and_then(|row| match row.detail.as_deref() {
                Some(Detail::Congestion { threshold, .. }) => *threshold,
                _ => None,
            }),
            filled_by: Vec::new(),
            waits_at: Vec::new(),
            stops: Vec::new(),
            end: None,
        };
        if transition.is_none() {
            let is_host = log.network.hosts[usize::from(node)];
            found.end = Some(if is_host { End::Storm { host: log.node_name(node) } } else { End::Unknown });
            return found;
        }
        let mut groups = self.contents(target, source, time);
        let mut at = time;
        if groups.is_empty() {
            (groups, at) = (self.contents(target, source, known), known);
        }
        let rows = |group: &[usize]| -> Vec<&Row> { group.iter().map(|index| log.row(*index)).collect() };
        found.filled_by = shares(log, groups.iter().flat_map(|(_, group)| rows(group)));
        let congested_at = transition.map_or(known, |row| row.time);
        let mut unstopped = None;
        for (port, group) in &groups {
            let group = rows(group);
            let bytes = group.iter().map(|row| u64::from(row.size)).sum();
            let name = port.map_or_else(|| "an unknown output".to_owned(), |port| log.port_name(port));
            found.waits_at.push(Group { port: name.clone(), bytes, flows: shares(log, group.iter().copied()) });
            let waits: Vec<(u8, NodeId)> = group.iter().map(|row| (row.class, log.destination(row))).collect();
            let stop = port.and_then(|port| {
                let now = self.stop_in(port, at, &waits, path);
                // The queue may have filled up while its port was stopped, and be draining now.
                now.or_else(|| if congested_at < at { self.stop_in(port, congested_at, &waits, path) } else { None })
            });
            match stop {
                Some(stop) => found.stops.push(stop),
                None => _ = unstopped.get_or_insert((name, bytes)),
            }
        }
        let largest = found.waits_at.first().map(|group| group.port.clone());
        found.end = match unstopped {
            // The largest part waits at a port that is not stopped.
            Some((port, _)) if largest.as_ref() == Some(&port) || found.stops.is_empty() => {
                Some(End::Congested { port })
            }
            None if found.stops.is_empty() => Some(End::Congested { port: found.port.clone() }),
            _ => None,
        };
        found
    }

    /// Returns the packets that a congested queue holds at the end of instant `time`, as indices of rows. They are
    /// grouped by the port at which they wait or to which they will be forwarded (`None`: unknown), the group with the
    /// most bytes first.
    fn contents(&mut self, target: u32, source: Cause, time: Time) -> Vec<(Option<u32>, Vec<usize>)> {
        let log = self.log;
        self.earliest = self.earliest.min(time);
        let node = log.network.ports[target as usize].from;
        let mut groups: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        match log.network.memories[usize::from(node)] {
            Memory::Crossbar(_) => {
                let whole_input = source.port == target;
                for (index, output) in at_input(log, target ^ 1, time) {
                    let row = log.row(index);
                    let to = source.destination.is_none_or(|to| log.destination(row) == to);
                    if whole_input || output == Some(source.port) && row.class == source.class && to {
                        groups.entry(output).or_default().push(index);
                    }
                }
            }
            Memory::ByInput(_) => {
                for port in log.ports_of(node) {
                    for index in waiting_at(log, port, time) {
                        let row = log.row(index);
                        let via = log.arrival(row.packet, node, row.time).map(|arrival| arrival.port);
                        if row.class == source.class && via == Some(target ^ 1) {
                            groups.entry(Some(port)).or_default().push(index);
                        }
                    }
                }
            }
            Memory::Queues | Memory::Shared(_) => {
                for index in waiting_at(log, source.port, time) {
                    let row = log.row(index);
                    let to = source.destination.is_none_or(|to| log.destination(row) == to);
                    if row.class == source.class && to {
                        groups.entry(Some(source.port)).or_default().push(index);
                    }
                }
            }
        }
        let bytes = |group: &[usize]| group.iter().map(|index| u64::from(log.row(*index).size)).sum::<u64>();
        let mut found: Vec<(Option<u32>, Vec<usize>)> = groups.into_iter().collect();
        found.sort_by_key(|(_, group)| std::cmp::Reverse(bytes(group)));
        found
    }
}

/// Returns the stopped traffic in words.
fn traffic(log: &Log<'_>, intervals: &[Interval]) -> String {
    let mut words: Vec<String> = Vec::new();
    for interval in intervals {
        let text = match &interval.covers {
            Covers::Port => "all traffic".to_owned(),
            Covers::Class(class) => format!("class {class}"),
            Covers::Destinations(all, class) => {
                let names: Vec<String> = all.iter().map(|to| log.node_name(*to)).collect();
                let class = class.map_or_else(String::new, |class| format!(" in class {class}"));
                format!("traffic to {}{class}", names.join(", "))
            }
        };
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.join(" and ")
}

/// Returns the kind of a notification by its frame.
fn signal(frame: FrameKind) -> &'static str {
    match frame {
        FrameKind::Pause => "PAUSE",
        FrameKind::Pfc => "PFC",
        _ => "XOFF",
    }
}
