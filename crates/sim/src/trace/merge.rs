//! Merging of the traces of partitions.

use super::Row;
use std::collections::VecDeque;
use tailback_units::Time;

/// Merge of the traces of a run's partitions: returns their rows in the order of the undivided run.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Part>,
}

/// Rows of a partition that have not been returned yet.
#[derive(Debug)]
struct Part {
    rows: VecDeque<Row>,
    /// Instant before which all rows of the partition have been added.
    complete: Time,
}

impl Merge {
    /// Returns an empty merge of the traces of `parts` partitions.
    pub fn new(parts: usize) -> Merge {
        Merge { parts: (0..parts).map(|_| Part { rows: VecDeque::new(), complete: Time::ZERO }).collect() }
    }

    /// Adds the next rows of the partition with number `part`, which has handled all events before `complete`.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn add(&mut self, part: usize, rows: Vec<Row>, complete: Time) {
        self.parts[part].rows.extend(rows);
        self.parts[part].complete = complete;
    }

    /// Removes and returns the rows that precede all rows still to be added, in the order of the undivided run.
    pub fn take(&mut self) -> Vec<Row> {
        let complete = self.parts.iter().map(|part| part.complete).min().unwrap_or(Time::NEVER);
        let mut merged = Vec::new();
        loop {
            let heads = self.parts.iter().enumerate().filter_map(|(part, state)| Some((part, state.rows.front()?)));
            let first =
                heads.min_by_key(|(part, row)| (row.time, row.order, *part)).map(|(part, row)| (part, row.time));
            let Some((part, _)) = first.filter(|(_, time)| *time < complete) else { return merged };
            merged.extend(self.parts[part].rows.pop_front());
        }
    }
}
