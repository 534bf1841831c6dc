//! Results of the calls that step through a run.

/// Progress of a step when its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The budget of events is used up; events may remain at or before the requested instant.
    Running,
    /// All events at and before the requested instant have been handled.
    Done,
}

/// Reason for which a change cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimely {
    /// The time of the change is not after the current time, or the run has ended.
    Past,
    /// The time of the change is after the end of the run.
    AfterTheEnd,
}
