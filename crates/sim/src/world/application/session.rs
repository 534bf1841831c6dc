//! Sessions: a client that requests pages from its server.

use std::sync::Arc;
use tailback_random::Rng;
use tailback_traffic::Pages;
use tailback_units::Time;

/// State of a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) spec: Arc<Pages>,
    pub(super) rng: Rng,
    /// Index of the group in the results.
    pub(super) group: usize,
    /// Instant at and after which no page begins.
    pub(super) stop: Time,
    pub(super) channels: Vec<Channel>,
    /// Number of objects of the current page that have not yet been requested.
    pub(super) remaining: u32,
    /// Time of the request for the page, which is its start.
    pub(super) began: Time,
    /// `true` if an exchange of the current page was abandoned.
    pub(super) failed: bool,
}

/// Pair of flows that carries one exchange at a time.
#[derive(Debug)]
pub(super) struct Channel {
    /// Flow that carries requests.
    pub(super) request: u32,
    /// Flow that carries responses.
    pub(super) response: u32,
    /// Bytes of the response for which the channel waits; `None`: the channel is idle.
    pub(super) awaited: Option<u64>,
    /// Time of the last request.
    pub(super) requested_at: Time,
    /// `true` if the channel has carried a request: fresh connections are reopened before the next one.
    pub(super) used: bool,
}

impl Session {
    /// Returns an idle session; `channels` are pairs of flows, the first for requests and the second for responses.
    pub fn new(spec: Pages, rng: Rng, group: usize, stop: Time, channels: &[[u32; 2]]) -> Session {
        let channel = |[request, response]: &[u32; 2]| Channel {
            request: *request,
            response: *response,
            awaited: None,
            requested_at: Time::ZERO,
            used: false,
        };
        let channels = channels.iter().map(channel).collect();
        Session { spec: Arc::new(spec), rng, group, stop, channels, remaining: 0, began: Time::ZERO, failed: false }
    }

    /// Returns the flow whose event starts the first page, and the time of that event: a session begins with a think
    /// time.
    pub fn first(&mut self, start: Time) -> (u32, Time) {
        (self.channels[0].request, start + self.spec.think.draw(&mut self.rng))
    }

    /// Returns the bytes of the response for which a channel waits; `None`: the channel is idle.
    pub fn awaits(&self, channel: usize) -> Option<u64> {
        self.channels[channel].awaited
    }

    /// Draws the service time of a request that has arrived on a channel. Returns the flow that carries the response,
    /// and the time at which the response is sent.
    pub fn serves(&mut self, channel: usize, now: Time) -> (u32, Time) {
        (self.channels[channel].response, now + self.spec.service.draw(&mut self.rng))
    }
}
