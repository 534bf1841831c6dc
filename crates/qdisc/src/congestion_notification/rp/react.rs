//! The interface of reaction laws.

use crate::congestion_notification::Feedback;
use tailback_random::Rng;
use tailback_units::Time;

/// A law of a reaction point, for one limiter. It starts at the line's rate.
pub trait React {
    /// A message of congestion point `point` (from 1); whether it was obeyed.
    fn hear(&mut self, now: Time, point: u16, feedback: Feedback, rng: &mut Rng) -> bool;
    /// Notes that a frame of `bytes` wire bytes has left the limiter.
    fn sent(&mut self, _now: Time, _bytes: u16, _rng: &mut Rng) {}
    /// Brings what changes by time alone up to `now`.
    fn advance(&mut self, _now: Time, _rng: &mut Rng) {}
    /// The rate, bit/s, above 0 and at most the line's.
    fn rate(&self) -> f64;
    /// Earliest time of the next frame.
    fn stopped_until(&self) -> Time;
    /// Congestion point that the tags of its frames name: the last that slowed it; 0 before the first.
    fn point(&self) -> u16;
    /// Returns `true` if the tags of its frames solicit positive feedback.
    fn solicits(&self) -> bool {
        false
    }
    /// Returns `true` if it limits nothing any more.
    fn is_over(&self) -> bool;
}
