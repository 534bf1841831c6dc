//! Merging the traces of partitions.

use super::Row;
use std::collections::VecDeque;
use tailback_units::Time;

/// Traces of the partitions of a run, of which the rows are returned in the order of the undivided run.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Part>,
}

/// Rows of a partition that have not been returned yet.
#[derive(Debug)]
struct Part {
    rows: VecDeque<Row>,
    /// All rows before this instant are known.
    complete: Time,
}

impl Merge {
    /// Returns the merge of the traces of `parts` partitions.
    pub fn new(parts: usize) -> Merge {
        Merge { parts: (0..parts).map(|_| Part { rows: VecDeque::new(), complete: Time::ZERO }).collect() }
    }

    /// Adds the next rows of a partition, which has handled all events before `complete`.
    pub fn add(&mut self, part: usize, rows: Vec<Row>, complete: Time) {
        self.parts[part].rows.extend(rows);
        self.parts[part].complete = complete;
    }

    /// Returns the rows of all partitions that no later row precedes.
    pub fn take(&mut self) -> Vec<Row> {
        let complete = self.parts.iter().map(|part| part.complete).min().unwrap_or(Time::NEVER);
        let mut found = Vec::new();
        loop {
            let heads = self.parts.iter().enumerate().filter_map(|(part, state)| Some((part, state.rows.front()?)));
            let first =
                heads.min_by_key(|(part, row)| (row.time, row.order, *part)).map(|(part, row)| (part, row.time));
            let Some((part, _)) = first.filter(|(_, time)| *time < complete) else { return found };
            found.extend(self.parts[part].rows.pop_front());
        }
    }
}
