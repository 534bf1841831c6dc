//! Answers of a run that is stepped through.

/// Progress of a step when its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The budget of events is used up; further events may remain up to the instant to which the step was to run.
    Running,
    /// All events up to the instant have been handled.
    Done,
}

/// Reason why a change cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimely {
    /// Its time is not after the current time, or the run has ended.
    Past,
    /// Its time is after the end of the run.
    AfterTheEnd,
}
