//! The interface of reaction laws.

use crate::congestion_notification::Feedback;
use tailback_random::Rng;
use tailback_units::Time;

/// A law of a reaction point, for one limiter. Its initial rate is that of the link.
pub trait React {
    /// Processes a message of congestion point `point` (from 1); returns `true` if it was obeyed.
    fn hear(&mut self, now: Time, point: u16, feedback: Feedback, rng: &mut Rng) -> bool;
    /// Notes that a frame of `bytes` wire bytes has left the limiter.
    fn sent(&mut self, _now: Time, _bytes: u16, _rng: &mut Rng) {}
    /// Updates the state that changes with time alone to `now`.
    fn advance(&mut self, _now: Time, _rng: &mut Rng) {}
    /// Returns the rate, bit/s, above 0 and at most that of the link.
    fn rate(&self) -> f64;
    /// Returns the end of the last stop, before which no frame may be sent; [`Time::ZERO`]: there was no stop.
    fn stopped_until(&self) -> Time;
    /// Returns the number of the congestion point for the tags of the limiter's frames: the last one that slowed the
    /// limiter; 0 before the first.
    fn point(&self) -> u16;
    /// Returns `true` if the tags of the limiter's frames have the Solicit bit.
    fn solicits(&self) -> bool {
        false
    }
    /// Returns `true` if the rate is that of the link, so that the limiter can be removed.
    fn is_over(&self) -> bool;
}
