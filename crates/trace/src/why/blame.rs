//! Sums of a port's queue by flow over a run.

use super::log::is_ack;
use super::queue::{Share, flow_label};
use crate::Network;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_sim::plan::{EventKind, TracePlan};
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Flow, `true` for its acknowledgements, and class.
type Key = (u32, bool, u8);

/// Queue of a port over a run.
#[derive(Debug)]
pub struct Blame<'a> {
    network: &'a Network,
    port: u32,
    /// Rows of the present instant, which are not yet in causal order.
    instant: Vec<Row>,
    sums: BTreeMap<Key, Sum>,
    /// Packets in the queue.
    waiting: BTreeMap<u64, (Key, u64)>,
    bytes: u64,
    /// The packet that arrived last, its arrival, and the arrival before it.
    newest: (u64, Time, Time),
    worst: u64,
    worst_at: Time,
    worst_shares: BTreeMap<Key, (u64, u64)>,
}

/// Sums of a flow in a class.
#[derive(Clone, Debug, Default)]
struct Sum {
    packets: u64,
    bytes: u64,
    since: Time,
    /// Byte picoseconds.
    area: u128,
    arrived_packets: u64,
    arrived_bytes: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    marked: u64,
    reasons: BTreeMap<String, u64>,
}

impl Sum {
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
    /// Its composition.
    pub shares: Vec<Share>,
}

/// Part of a flow in a port's queue over the run.
#[derive(Clone, Debug, Serialize)]
pub struct BlameRow {
    /// Name of the flow.
    pub flow: String,
    /// Class.
    pub class: u8,
    /// Fraction of the integral of the backlog over the run, 0 to 1.
    pub share: f64,
    /// Time average of its backlog, bytes.
    pub mean_bytes: f64,
    /// Packets that arrived.
    pub arrived_packets: u64,
    /// Their buffer bytes.
    pub arrived_bytes: u64,
    /// Packets dropped at the queue.
    pub dropped_packets: u64,
    /// Their buffer bytes.
    pub dropped_bytes: u64,
    /// Packets marked "congestion experienced".
    pub marked_packets: u64,
    /// Drops by reason.
    pub drops: BTreeMap<String, u64>,
}

impl<'a> Blame<'a> {
    /// Returns the sums of a port before the first row.
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

    /// Returns the selection of rows that the sums need.
    pub fn selection(&self) -> TracePlan {
        let ports = (0..self.network.ports.len()).map(|number| number == self.port as usize).collect();
        TracePlan { ports: Some(ports), ..TracePlan::default() }
    }

    /// Adds the next rows.
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

    /// Adds the rows of the present instant in causal order.
    fn settle(&mut self) {
        let mut rows = std::mem::take(&mut self.instant);
        rows.sort_by_key(|row| row.turn);
        for row in rows {
            self.enter(&row);
        }
    }

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
                // A packet that leaves at the instant at which the queue is longest was in it.
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

    /// Notes the composition of the queue if it is the longest so far; `but`: a packet that was refused.
    fn note(&mut self, but: Option<u64>) {
        let refused = but.and_then(|packet| self.waiting.get(&packet)).copied();
        let bytes = self.bytes - refused.map_or(0, |(_, size)| size);
        if bytes <= self.worst {
            return;
        }
        // The queue has been as long since its last growth.
        let (newest, at, before) = self.newest;
        (self.worst, self.worst_at) = (bytes, if but == Some(newest) { before } else { at });
        self.worst_shares =
            self.sums.iter().map(|(key, sum)| (*key, (sum.packets, sum.bytes))).filter(|(_, s)| s.0 > 0).collect();
        if let Some((key, size)) = refused
            && let Some(share) = self.worst_shares.get_mut(&key)
        {
            *share = (share.0 - 1, share.1 - size);
        }
    }

    /// Returns the queue at its longest, and the part of each flow over the run, the largest first.
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
