//! Records of a run besides its statistics.

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A row for each transfer: a write of a known size to a transport, or a message of an application.
    Transfers,
    /// A row for each change of the state of a connection's sender.
    TransportChanges,
    /// With the time series: bytes delivered by flow.
    ThroughputByFlow,
    /// With the time series: bytes waiting at each port by flow.
    QueueByFlow,
    /// With the time series: minimum and maximum of each port's queue between samples. All ports take the general form,
    /// with two events per packet and the same results, since the backlog of the other forms has no history.
    QueueExtremes,
    /// Distribution of delays of each class, and of each group of flows if each flow has a histogram.
    DelayDistribution,
}

/// Choice of the records. The choice has no effect on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bit k: the kind with the discriminant k is recorded.
    kinds: u8,
    /// Maximum number of rows of each kind; further rows are counted and left out.
    pub rows: usize,
}

impl Default for Record {
    fn default() -> Record {
        Record { kinds: 0, rows: Record::ROWS }
    }
}

impl Record {
    /// Default of the maximum number of rows of each kind.
    pub const ROWS: usize = 1_000_000;

    /// Returns the choice of the given kinds, with at most `rows` rows of each.
    pub fn of(kinds: impl IntoIterator<Item = RecordKind>, rows: usize) -> Record {
        Record { kinds: kinds.into_iter().fold(0, |bits, kind| bits | 1 << kind as u8), rows }
    }

    /// Returns `true` if records of this kind are kept.
    pub fn has(self, kind: RecordKind) -> bool {
        self.kinds & 1 << kind as u8 != 0
    }
}
