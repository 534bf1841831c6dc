//! Sums over a run, by flow, of what arrived at a port's queue, waited in it and was dropped.

use super::log::is_ack;
use super::queue::{Share, flow_label};
use crate::Network;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_sim::plan::{EventKind, TracePlan};
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Index of the flow, `true` for its acknowledgements, and class.
type Key = (u32, bool, u8);

/// Sums of a port's queue, computed from the rows of a run.
#[derive(Debug)]
pub struct Blame<'a> {
    network: &'a Network,
    port: u32,
    /// Rows of the current instant, which are not yet in causal order.
    instant: Vec<Row>,
    sums: BTreeMap<Key, Sum>,
    /// Packets in the queue, with their buffer bytes.
    waiting: BTreeMap<u64, (Key, u64)>,
    /// Buffer bytes of the packets in the queue.
    bytes: u64,
    /// The packet that arrived last, the time of its arrival, and the time of the arrival before it.
    newest: (u64, Time, Time),
    /// Largest backlog so far, bytes.
    worst: u64,
    /// First instant of the largest backlog.
    worst_at: Time,
    /// Packets and bytes of each flow and class in the largest backlog.
    worst_shares: BTreeMap<Key, (u64, u64)>,
}

/// Sums of a flow in a class.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Packets in the queue.
    packets: u64,
    /// Buffer bytes of the packets in the queue.
    bytes: u64,
    /// Time up to which `area` is computed.
    since: Time,
    /// Integral of the backlog over time, byte picoseconds.
    area: u128,
    arrived_packets: u64,
    arrived_bytes: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    marked: u64,
    reasons: BTreeMap<String, u64>,
}

impl Sum {
    /// Extends the integral of the backlog to `now`.
    fn settle(&mut self, now: Time) {
        self.area += u128::from(self.bytes) * u128::from(now.since(self.since).0);
        self.since = now;
    }
}

/// Queue of a port at its longest.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// The first instant of the largest backlog.
    pub time_ps: u64,
    /// The backlog, all classes, bytes.
    pub bytes: u64,
    /// The packets in the backlog by flow, that with the most bytes first.
    pub shares: Vec<Share>,
}

/// Sums of a flow in one class at a port's queue over the run.
#[derive(Clone, Debug, Serialize)]
pub struct BlameRow {
    /// Name of the flow, as in [`Share::flow`].
    pub flow: String,
    /// Class, 0 is the highest.
    pub class: u8,
    /// Fraction of the flow in the integral of the port's backlog over the run, 0 to 1.
    pub share: f64,
    /// Time average of the flow's backlog over the run, bytes.
    pub mean_bytes: f64,
    /// Number of packets that arrived at the queue.
    pub arrived_packets: u64,
    /// Buffer bytes of the packets that arrived.
    pub arrived_bytes: u64,
    /// Number of packets dropped at the queue.
    pub dropped_packets: u64,
    /// Buffer bytes of the packets dropped.
    pub dropped_bytes: u64,
    /// Number of packets marked "congestion experienced".
    pub marked_packets: u64,
    /// Number of drops by reason.
    pub drops: BTreeMap<String, u64>,
}

impl<'a> Blame<'a> {
    /// Returns the empty sums of the port with index `port`.
    pub fn new(network: &'a Network, port: u32) -> Blame<'a> {
        Blame {
            network,
            port,
            instant: Vec::new(),
            sums: BTreeMap::new(),
            waiting: BTreeMap::new(),
            bytes: 0,
            newest: (0, Time::ZERO, Time::ZERO),
            worst: 0,
            worst_at: Time::ZERO,
            worst_shares: BTreeMap::new(),
        }
    }

    /// Returns the selection of the rows that the sums need.
    pub fn selection(&self) -> TracePlan {
        let ports = (0..self.network.ports.len()).map(|number| number == self.port as usize).collect();
        TracePlan { ports: Some(ports), ..TracePlan::default() }
    }

    /// Processes the next rows, in the order of the trace; rows of other ports are skipped.
    pub fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            let concerns = row.turn > 0 || row.event == EventKind::Mark;
            if row.port != self.port || !concerns {
                continue;
            }
            if self.instant.first().is_some_and(|first| first.time != row.time) {
                self.settle();
            }
            self.instant.push(row);
        }
    }

    /// Adds the rows of the current instant to the sums, in causal order.
    fn settle(&mut self) {
        let mut rows = std::mem::take(&mut self.instant);
        rows.sort_by_key(|row| row.turn);
        for row in rows {
            self.enter(&row);
        }
    }

    /// Adds a row to the sums.
    fn enter(&mut self, row: &Row) {
        let key = (row.flow, is_ack(row), row.class);
        let size = u64::from(row.size);
        let sum = self.sums.entry(key).or_default();
        match row.event {
            EventKind::Enqueue => {
                sum.arrived_packets += 1;
                sum.arrived_bytes += size;
                sum.settle(row.time);
                (sum.packets, sum.bytes) = (sum.packets + 1, sum.bytes + size);
                self.bytes += size;
                self.waiting.insert(row.packet, (key, size));
                self.newest = (row.packet, row.time, self.newest.1);
            }
            EventKind::Dequeue | EventKind::Drop => {
                if row.event == EventKind::Drop {
                    sum.dropped_packets += 1;
                    sum.dropped_bytes += size;
                    let reason = row.reason.map_or_else(String::new, |reason| reason.to_string());
                    *sum.reasons.entry(reason).or_default() += 1;
                }
                // The maximum is compared before a packet leaves, so that it includes packets that leave at its
                // instant.
                self.note((row.event == EventKind::Drop).then_some(row.packet));
                if row.event == EventKind::Drop && self.newest.0 == row.packet {
                    self.newest.1 = self.newest.2;
                }
                if let Some((key, size)) = self.waiting.remove(&row.packet) {
                    let sum = self.sums.entry(key).or_default();
                    sum.settle(row.time);
                    (sum.packets, sum.bytes) = (sum.packets - 1, sum.bytes - size);
                    self.bytes -= size;
                }
            }
            EventKind::Mark => sum.marked += 1,
            _ => {}
        }
    }

    /// Records the composition of the queue if it is the longest so far. `refused`: a packet that was dropped, and does
    /// not count.
    fn note(&mut self, refused: Option<u64>) {
        let refused_size = refused.and_then(|packet| self.waiting.get(&packet)).copied();
        let bytes = self.bytes - refused_size.map_or(0, |(_, size)| size);
        if bytes <= self.worst {
            return;
        }
        // The queue reached this length when the last packet arrived that was not refused.
        let (newest, at, before) = self.newest;
        (self.worst, self.worst_at) = (bytes, if refused == Some(newest) { before } else { at });
        self.worst_shares =
            self.sums.iter().map(|(key, sum)| (*key, (sum.packets, sum.bytes))).filter(|(_, s)| s.0 > 0).collect();
        if let Some((key, size)) = refused_size
            && let Some(share) = self.worst_shares.get_mut(&key)
        {
            *share = (share.0 - 1, share.1 - size);
        }
    }

    /// Returns the queue at its longest, and the sums of each flow over the run, that with the largest share first.
    pub fn finish(mut self) -> (Worst, Vec<BlameRow>) {
        self.settle();
        let end = self.network.end;
        self.note(None);
        self.sums.values_mut().for_each(|sum| sum.settle(end.max(sum.since)));
        let name = |(flow, acks, _): Key| flow_label(&self.network.flows[flow as usize].name, acks);
        let total: u128 = self.sums.values().map(|sum| sum.area).sum();
        let row = |(key, sum): (&Key, &Sum)| BlameRow {
            flow: name(*key),
            class: key.2,
            share: if total == 0 { 0.0 } else { sum.area as f64 / total as f64 },
            mean_bytes: sum.area as f64 / end.0.max(1) as f64,
            arrived_packets: sum.arrived_packets,
            arrived_bytes: sum.arrived_bytes,
            dropped_packets: sum.dropped_packets,
            dropped_bytes: sum.dropped_bytes,
            marked_packets: sum.marked,
            drops: sum.reasons.clone(),
        };
        let mut rows: Vec<BlameRow> = self.sums.iter().map(row).collect();
        rows.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.flow.cmp(&b.flow)));
        let share = |(key, (packets, bytes)): (&Key, &(u64, u64))| Share {
            flow: name(*key),
            class: key.2,
            packets: *packets,
            bytes: *bytes,
        };
        let mut shares: Vec<Share> = self.worst_shares.iter().map(share).filter(|share| share.packets > 0).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        (Worst { time_ps: self.worst_at.0, bytes: self.worst, shares }, rows)
    }
}
