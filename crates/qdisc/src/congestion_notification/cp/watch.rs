//! The interface of congestion points.

use crate::congestion_notification::Feedback;
use crate::law::Backlog;
use tailback_random::Rng;

/// An arriving frame as a congestion point sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The waiting frames, without this one.
    pub queued: Backlog,
    /// Its buffer bytes.
    pub size: u16,
    /// Solicit bit of its tag. `None`: it has no tag, or that of another congestion point.
    pub limited: Option<bool>,
}

/// The answer of a congestion point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// `true` if the frame was sampled.
    pub sampled: bool,
    /// Feedback to its source. `None`: no message.
    pub feedback: Option<Feedback>,
}

/// A law of a congestion point.
pub trait Watch {
    /// A frame arrives, whether or not there will be room for it.
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer;
}
