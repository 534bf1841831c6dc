//! Records of transfers and of changes of senders.
//!
//! A transfer is recorded in two halves: the start, the size and the retransmissions where its flow is sent, the
//! completion where it arrives; the report joins them. Each kind of record has a limit on its rows. The rows kept are
//! the first in the order of (time, flow), so that they do not depend on the partition.

use super::connections::{Outgoing, Write};
use crate::plan::{Plan, RecordKind};
use std::collections::VecDeque;
use tailback_transport::State;
use tailback_units::{Dur, Time};

/// Rows of one kind, at most a number of them.
#[derive(Debug)]
pub(crate) struct Log<T> {
    rows: Vec<T>,
    limit: usize,
    /// Number of rows left out.
    omitted: u64,
}

/// A row with its place in the order of the record.
pub(crate) trait Row {
    /// Returns the time, the flow or port, and a number among rows with the same time and flow or port.
    fn key(&self) -> (Time, u32, u32);
}

impl<T: Row> Log<T> {
    pub(super) fn new(limit: usize) -> Log<T> {
        Log { rows: Vec::new(), limit, omitted: 0 }
    }

    /// Adds a row, which is not earlier than those before; returns its index, or `None` if it is left out. Rows with
    /// the time of the last one are kept above the limit, since the order of the record decides which of them remain.
    pub(super) fn push(&mut self, row: T) -> Option<usize> {
        let at = row.key().0;
        if self.rows.len() < self.limit || self.rows.last().is_some_and(|last| last.key().0 == at) {
            self.rows.push(row);
            return Some(self.rows.len() - 1);
        }
        self.omitted += 1;
        None
    }

    /// Adds the rows of a partition.
    pub(super) fn merge(&mut self, other: Log<T>) {
        self.rows.extend(other.rows);
        self.omitted += other.omitted;
    }

    /// Returns the rows in their order, and the number of those left out.
    pub(crate) fn finish(mut self) -> (Vec<T>, u64) {
        self.rows.sort_by_key(Row::key);
        let above = self.rows.len().saturating_sub(self.limit);
        self.rows.truncate(self.limit);
        (self.rows, self.omitted + above as u64)
    }
}

/// Records of a run.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub transfers: Option<Transfers>,
    pub changes: Option<Changes>,
}

impl Records {
    /// Returns the empty records of a plan; `None`: it records neither transfers nor changes.
    pub(super) fn new(plan: &Plan, connections: usize) -> Option<Box<Records>> {
        let record = plan.record;
        let transfers = record.has(RecordKind::Transfers).then(|| Transfers {
            log: Log::new(record.rows),
            numbers: vec![0; plan.flows.len()],
            open: (0..connections).map(|_| VecDeque::new()).collect(),
            completions: Vec::new(),
        });
        let changes = record
            .has(RecordKind::TransportChanges)
            .then(|| Changes { log: Log::new(record.rows), last: vec![None; connections] });
        (transfers.is_some() || changes.is_some()).then(|| Box::new(Records { transfers, changes }))
    }

    /// Adds the records of a partition.
    pub(super) fn merge(&mut self, other: Records) {
        if let (Some(mine), Some(theirs)) = (&mut self.transfers, other.transfers) {
            mine.log.merge(theirs.log);
            mine.completions.extend(theirs.completions);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.changes, other.changes) {
            mine.log.merge(theirs.log);
        }
    }
}

/// Transfers, in halves.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub log: Log<Transfer>,
    /// By flow: number of its transfers so far.
    numbers: Vec<u32>,
    /// By connection: segments of the recorded transfers that are not acknowledged, in their order.
    pub(super) open: Vec<VecDeque<Range>>,
    /// Completions of recorded transfers.
    pub completions: Vec<Completion>,
}

/// The half of a transfer that its sender knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub start: Time,
    pub bytes: u64,
    pub flow: u32,
    /// Number among the transfers of the flow.
    pub number: u32,
    /// Retransmissions of its segments.
    pub retransmissions: u32,
    /// `true` if its last segments were discarded, so that it is never complete.
    pub cut: bool,
}

impl Row for Transfer {
    fn key(&self) -> (Time, u32, u32) {
        (self.start, self.flow, self.number)
    }
}

/// Segments of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    start: u32,
    /// Segment after the last one.
    end: u32,
    row: usize,
}

/// The half of a transfer that its receiver knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub flow: u32,
    /// Number among the transfers of the flow.
    pub number: u32,
    /// Arrival of the last byte.
    pub at: Time,
    /// Time that the transfer would take over an idle path if all segments were sent at once.
    pub idle: Dur,
}

impl Transfers {
    /// Adds a transfer; returns its number among those of its flow. [`Write::UNRECORDED`]: it is left out.
    pub(super) fn begin(&mut self, now: Time, flow: u32, bytes: u64, segments: Option<(u32, u32, u32)>) -> u32 {
        let number = self.numbers[flow as usize];
        self.numbers[flow as usize] = (number + 1).min(Write::UNRECORDED - 1);
        let row = Transfer { start: now, bytes, flow, number, retransmissions: 0, cut: false };
        let Some(row) = self.log.push(row) else { return Write::UNRECORDED };
        if let Some((connection, start, end)) = segments {
            self.open[connection as usize].push_back(Range { start, end, row });
        }
        number
    }

    /// Counts a retransmission of a connection's segment; all segments before `una` are acknowledged.
    pub(super) fn retransmitted(&mut self, connection: u32, segment: u32, una: u32) {
        let open = &mut self.open[connection as usize];
        while open.front().is_some_and(|range| una.wrapping_sub(range.end) <= u32::MAX / 2) {
            open.pop_front();
        }
        // The ranges follow each other, except for transfers that were left out.
        let distance = |of: u32| of.wrapping_sub(una) as i32;
        let at = open.partition_point(|range| distance(range.end) <= distance(segment));
        if let Some(range) = open.get(at).filter(|range| distance(range.start) <= distance(segment)) {
            self.log.rows[range.row].retransmissions += 1;
        }
    }

    /// Ends the transfers of which segments from `end` on are discarded.
    pub(super) fn cut(&mut self, connection: u32, end: u32) {
        let open = &mut self.open[connection as usize];
        for range in open.iter_mut().rev() {
            if (range.end.wrapping_sub(end) as i32) <= 0 {
                break;
            }
            self.log.rows[range.row].cut = true;
            range.end = end;
            if (range.start.wrapping_sub(end) as i32) > 0 {
                range.start = end;
            }
        }
    }
}

/// Changes of the state of senders.
#[derive(Debug)]
pub(crate) struct Changes {
    pub log: Log<Change>,
    /// By connection: its last change, and the index of the row, if it was kept.
    last: Vec<Option<(Change, Option<usize>)>>,
}

/// State of a sender from an instant on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub at: Time,
    pub flow: u32,
    /// Segments outstanding.
    pub in_flight: u32,
    /// Congestion window, segments.
    pub window: f64,
    /// Slow-start threshold, segments; infinite before the first congestion.
    pub threshold: f64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// First segment not acknowledged.
    pub una: u32,
    /// First segment never transmitted.
    pub next: u32,
    pub state: State,
}

impl Row for Change {
    fn key(&self) -> (Time, u32, u32) {
        (self.at, self.flow, 0)
    }
}

impl Change {
    fn of(now: Time, out: &Outgoing) -> Change {
        let sender = &out.sender;
        Change {
            at: now,
            flow: out.flow,
            in_flight: sender.in_flight(),
            window: sender.cwnd(),
            threshold: sender.ssthresh(),
            srtt: sender.srtt(),
            una: sender.una(),
            next: sender.next(),
            state: sender.state(),
        }
    }

    /// Returns `true` if two states are equal.
    fn same(&self, other: &Change) -> bool {
        (self.window, self.threshold) == (other.window, other.threshold)
            && (self.in_flight, self.una, self.next) == (other.in_flight, other.una, other.next)
            && (self.srtt, self.state) == (other.srtt, other.state)
    }
}

impl Changes {
    /// Records the state of a sender if it has changed. Of several changes at one instant the last one remains.
    pub(super) fn note(&mut self, now: Time, connection: u32, out: &Outgoing) {
        let (state, last) = (Change::of(now, out), &mut self.last[connection as usize]);
        match last {
            Some((before, _)) if before.same(&state) => {}
            Some((before, row)) if before.at == now => {
                *before = state;
                if let Some(row) = *row {
                    self.log.rows[row] = state;
                }
            }
            _ => *last = Some((state, self.log.push(state))),
        }
    }
}
