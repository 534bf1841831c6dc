//! Feedback of a congestion point to the source of a frame.

/// Feedback of a congestion point (CP) to the source of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// BCN 0: send nothing for a while.
    Stop,
    /// Send faster (above 0) or slower (below 0), in the congestion point's own measure: levels of
    /// BCN's table, frames of ECM's linear feedback, steps of QCN's quantised one.
    Change(f64),
}
