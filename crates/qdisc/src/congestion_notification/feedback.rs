//! Feedback of a congestion point to the source of a frame.

/// Feedback of a congestion point (CP) to the source of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// BCN 0: the source stops for a random time.
    Stop,
    /// The source sends faster (above 0) or slower (below 0). Unit: levels of BCN's table, frames
    /// of ECM's linear feedback, or steps of QCN's quantised feedback.
    Change(f64),
}
