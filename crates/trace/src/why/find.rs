//! Selection of a packet, and of the rows that explain it, in two passes over the rows.

use std::collections::{BTreeMap, BTreeSet};
use tailback_sim::plan::{EventKind, FrameKind, TracePlan};
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Choice of the packets of a flow that are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// All transmissions of the packet with this number.
    Packet(u32),
    /// The packet that is in the network at this time, the oldest if there are several; if there is none, the first one
    /// sent later.
    At(Time),
    /// The delivered packet with the largest delay.
    WorstDelay,
    /// The dropped packet with this index among the flow's drops in order of time, from 0.
    Drop(u64),
}

/// A packet and its time in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Identity of the packet.
    pub packet: u64,
    /// Time at which its source passed it to the network.
    pub from: Time,
    /// Time of its delivery or drop; [`Time::NEVER`]: it was in the network at the end of the run.
    pub until: Time,
}

/// Search for packets of a flow in the rows of a run.
#[derive(Debug)]
pub struct Finder {
    flow: u32,
    query: Query,
    /// Packets in the network, each with the time at which its source passed it to the network.
    live: BTreeMap<u64, Time>,
    found: Vec<Found>,
    /// Number of drops so far.
    drops: u64,
    /// Number of packets so far.
    packets: u64,
}

impl Finder {
    /// Returns the search among the packets of the flow with index `flow`.
    pub fn new(flow: u32, query: Query) -> Finder {
        Finder { flow, query, live: BTreeMap::new(), found: Vec::new(), drops: 0, packets: 0 }
    }

    /// Returns the selection of the rows that the search needs. `flows`: number of flows in the network.
    pub fn selection(&self, flows: usize) -> TracePlan {
        let bit = |event: EventKind| 1u16 << event as u16;
        let frames = 1 << FrameKind::Data as u16 | 1 << FrameKind::Syn as u16;
        let events = bit(EventKind::Enqueue) | bit(EventKind::Deliver) | bit(EventKind::Drop);
        let flows = (0..flows).map(|number| number == self.flow as usize).collect();
        TracePlan { flows: Some(flows), events, frames, ..TracePlan::default() }
    }

    /// Processes the next rows, in the order of the trace.
    pub fn add(&mut self, rows: &[Row]) {
        for row in rows {
            let is_data = matches!(row.frame, FrameKind::Data | FrameKind::Syn);
            if row.flow != self.flow || !is_data {
                continue;
            }
            let (is_drop, ends) = match row.event {
                EventKind::Enqueue => (false, false),
                EventKind::Deliver => (false, true),
                EventKind::Drop => (true, true),
                _ => continue,
            };
            if !self.live.contains_key(&row.packet) {
                self.packets += 1;
                self.live.insert(row.packet, row.stamp);
            }
            if let Query::Packet(number) = self.query {
                self.follow(row, number, ends);
            }
            if ends {
                self.live.remove(&row.packet);
                let found = Found { packet: row.packet, from: row.stamp, until: row.time };
                self.end(found, is_drop);
            }
        }
    }

    /// Records a transmission of the packet that has the wanted `number`. `ends`: the row ends the transmission.
    fn follow(&mut self, row: &Row, number: u32, ends: bool) {
        if row.sequence != number || row.frame != FrameKind::Data {
            return;
        }
        let until = if ends { row.time } else { Time::NEVER };
        match self.found.iter_mut().find(|found| found.packet == row.packet) {
            Some(found) => found.until = until,
            None => self.found.push(Found { packet: row.packet, from: row.stamp, until }),
        }
    }

    /// Compares a packet that has left the network with the best match so far.
    fn end(&mut self, other: Found, is_drop: bool) {
        match self.query {
            Query::Packet(_) => {}
            Query::At(time) if other.until >= time => self.nearest(time, other),
            Query::At(_) => {}
            Query::WorstDelay if !is_drop => {
                let delay = |found: &Found| found.until.since(found.from);
                if self.found.first().is_none_or(|best| delay(&other) > delay(best)) {
                    self.found = vec![other];
                }
            }
            Query::WorstDelay => {}
            Query::Drop(number) if is_drop => {
                if self.drops == number {
                    self.found.push(other);
                }
                self.drops += 1;
            }
            Query::Drop(_) => {}
        }
    }

    /// Keeps `other` if it matches [`Query::At`] better than the best match so far.
    fn nearest(&mut self, time: Time, other: Found) {
        let rank = |found: &Found| (found.from > time, found.from);
        if self.found.first().is_none_or(|best| rank(&other) < rank(best)) {
            self.found = vec![other];
        }
    }

    /// Returns the packets found, in the order in which their sources sent them; empty: no packet matches.
    pub fn finish(mut self) -> Vec<Found> {
        if let Query::At(time) = self.query {
            for (packet, from) in std::mem::take(&mut self.live) {
                self.nearest(time, Found { packet, from, until: Time::NEVER });
            }
        }
        self.found.sort_by_key(|found| (found.from, found.packet));
        self.found
    }

    /// Returns the number of the flow's packets in the rows so far, and the number of its drops.
    pub fn counts(&self) -> (u64, u64) {
        (self.packets, self.drops)
    }
}

/// Keeps the rows that explain an interval: all rows of the interval, the earlier rows of packets that are in the
/// network at its start, those of the last transmission of each port, and all earlier rows of notifications and
/// congested queues. Its memory therefore does not grow with the other rows of the run.
#[derive(Debug)]
pub struct Keeper {
    from: Time,
    until: Time,
    /// Rows before the interval of packets that are in the network.
    live: BTreeMap<u64, Vec<(u64, Row)>>,
    /// For each port, the number and the rows of the last transmission among those of packets that have left the
    /// network. They are needed because the transmission may still be in progress: a cut-through switch may drop a
    /// packet before it has arrived completely.
    last: BTreeMap<u32, (u64, Vec<(u64, Row)>)>,
    /// Other rows, each with its number.
    kept: Vec<(u64, Row)>,
    /// Number of rows so far.
    number: u64,
    /// The current instant, and the packets that have left the network at it. Rows of one instant are not in causal
    /// order, so that an earlier event of such a packet may follow.
    gone: (Time, BTreeSet<u64>),
}

impl Keeper {
    /// Returns the keeper of the rows that explain the interval `from` to `until`, both included.
    pub fn new(from: Time, until: Time) -> Keeper {
        Keeper {
            from,
            until,
            live: BTreeMap::new(),
            last: BTreeMap::new(),
            kept: Vec::new(),
            number: 0,
            gone: Default::default(),
        }
    }

    /// Processes the next rows, in the order of the trace.
    pub fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            self.number += 1;
            if row.time > self.until {
                continue;
            }
            if row.time < self.from && row.frame.is_packet() {
                if self.gone.0 != row.time {
                    self.gone = (row.time, BTreeSet::new());
                }
                if matches!(row.event, EventKind::Deliver | EventKind::Drop) {
                    self.gone.1.insert(row.packet);
                    if let Some(rows) = self.live.remove(&row.packet) {
                        self.keep_transmissions(&rows);
                    }
                } else if !self.gone.1.contains(&row.packet) {
                    self.live.entry(row.packet).or_default().push((self.number, row));
                }
            } else {
                self.kept.push((self.number, row));
            }
        }
    }

    /// Keeps the transmissions of a packet that has left the network, except at ports of which a later transmission is
    /// known.
    fn keep_transmissions(&mut self, rows: &[(u64, Row)]) {
        for (number, start) in rows.iter().filter(|(_, row)| row.event == EventKind::Dequeue) {
            if self.last.get(&start.port).is_some_and(|(known, _)| known > number) {
                continue;
            }
            let here =
                |row: &Row| row.port == start.port && matches!(row.event, EventKind::Enqueue | EventKind::Dequeue);
            let received = rows.iter().rev().find(|(at, row)| at < number && row.event == EventKind::Receive);
            let own = rows.iter().filter(|(_, row)| here(row));
            self.last.insert(start.port, (*number, received.into_iter().chain(own).cloned().collect()));
        }
    }

    /// Returns the number of kept rows.
    pub fn len(&self) -> usize {
        let last = self.last.values().map(|(_, rows)| rows.len()).sum::<usize>();
        self.kept.len() + self.live.values().map(Vec::len).sum::<usize>() + last
    }
    /// Returns `true` if no row is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the kept rows in the order of the trace.
    pub fn finish(self) -> Vec<Row> {
        let mut all = self.kept;
        all.extend(self.live.into_values().flatten());
        all.extend(self.last.into_values().flat_map(|(_, rows)| rows));
        all.sort_by_key(|(number, _)| *number);
        all.dedup_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, row)| row).collect()
    }
}
