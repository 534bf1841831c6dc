//! Rows that a world has written and not handed over yet.

use super::{Order, Row, Summary};
use crate::plan::TracePlan;
use std::collections::BTreeMap;
use tailback_units::Time;

/// State of a world's trace.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub plan: TracePlan,
    /// `true` if packets carry rate-limited tags, which are stored in place of the code point.
    pub has_tags: bool,
    /// Position of the rows of the event that is being handled.
    pub order: Order,
    /// Rows written and not handed over, in the order in which they were written.
    rows: Vec<Row>,
    /// `true` while a change of the timeline is applied, whose rows are ordered by port.
    pub in_change: bool,
    /// Row of the packet that entered a queue last: marks at its arrival are attributed to it.
    pub entered: Option<Row>,
    /// Number of marks at each port and class at the last observation.
    pub marks: BTreeMap<(u32, usize), u64>,
    /// Classes of each port that pauses stopped at the last observation: bit k for class k.
    pub paused: BTreeMap<u32, u8>,
    /// Number of pauses of each port that its watchdog had ended at the last observation.
    pub ignored: BTreeMap<u32, u64>,
    /// Number of acknowledgements sent by each connection, modulo 2^16; it distinguishes equal acknowledgements.
    acks: BTreeMap<u32, u16>,
    /// Number of arrivals, departures and drops at the queue of each port so far.
    turns: BTreeMap<u32, u64>,
    summary: Summary,
}

impl Tracer {
    pub fn new(plan: TracePlan, has_tags: bool) -> Tracer {
        Tracer {
            plan,
            has_tags,
            order: Order::default(),
            rows: Vec::new(),
            in_change: false,
            entered: None,
            marks: BTreeMap::new(),
            paused: BTreeMap::new(),
            ignored: BTreeMap::new(),
            acks: BTreeMap::new(),
            turns: BTreeMap::new(),
            summary: Summary::default(),
        }
    }

    /// Writes a row, with the position of the event that is being handled.
    pub fn write(&mut self, mut row: Row) {
        let port = if self.in_change { row.port } else { 0 };
        row.order = Order { port, ..self.order };
        self.rows.push(row);
    }

    /// Returns the number of rows written and not handed over yet.
    pub fn written(&self) -> usize {
        self.rows.len()
    }

    /// Inserts the row of an arrival before row number `at`, since the rows from `at` on were written while the arrival
    /// was handled.
    pub fn write_before(&mut self, at: usize, row: Row) {
        self.rows.insert(at, Row { order: self.order, ..row });
    }

    /// Returns the number of the next acknowledgement of a connection, modulo 2^16.
    pub fn next_ack(&mut self, connection: u32) -> u16 {
        let number = self.acks.entry(connection).or_default();
        *number = number.wrapping_add(1);
        *number
    }

    /// Returns the number of the next arrival, departure or drop at the queue of a port.
    pub fn next_turn(&mut self, port: u32) -> u64 {
        let number = self.turns.entry(port).or_default();
        *number += 1;
        *number
    }

    /// Removes and returns the rows before `complete`, sorted by time and order, and adds them to the summary.
    pub fn take(&mut self, complete: Time) -> Vec<Row> {
        let kept = self.rows.partition_point(|row| row.time < complete);
        let later = self.rows.split_off(kept);
        let mut rows = std::mem::replace(&mut self.rows, later);
        // The sort is stable, so the rows of an event stay in the order in which they were written.
        rows.sort_by_key(|row| (row.time, row.order));
        self.summary.add(&rows);
        rows
    }

    /// Returns the number and hash of the rows returned by `take` so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}
