//! The interface of congestion points.

use crate::congestion_notification::Feedback;
use crate::law::Backlog;
use tailback_random::Rng;

/// An arriving frame, and the queue that it finds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The waiting frames, without this one.
    pub queued: Backlog,
    /// Buffer bytes of the frame.
    pub size: u16,
    /// Solicit bit of the frame's tag. `None`: the frame has no tag, or a tag with the number of another congestion
    /// point.
    pub limited: Option<bool>,
}

/// Decision of a congestion point about a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// `true` if the frame was sampled.
    pub sampled: bool,
    /// Feedback to the source of the frame. `None`: no message.
    pub feedback: Option<Feedback>,
}

/// A law of a congestion point.
pub trait Watch {
    /// Processes an arriving frame, even if it will be dropped because the queue is full.
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer;
}
