//! What congestion points have said, rate limiters have done, and where ports wait for each other for ever.

use crate::port::Queue;
use crate::port::Waiting;
use crate::world::World;
use serde::Serialize;
use tailback_measure::Digest;

/// What congestion points have said and rate limiters have done, from the end of the warm-up to the end.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionReport {
    /// Congestion points, in the order of their ports.
    pub points: Vec<CongestionPointReport>,
    /// Reaction points.
    pub limiters: Vec<LimitersReport>,
    /// Messages that found no rate limiters, since the start.
    pub unheard: u64,
}

/// One congestion point's results.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionPointReport {
    /// Its port.
    pub port: String,
    /// Its class.
    pub class: u8,
    /// Its number in tags.
    pub number: u16,
    /// Frames that arrived.
    pub arrived: u64,
    /// Of these, sampled.
    pub sampled: u64,
    /// Messages to stop.
    pub stop: u64,
    /// Messages to slow down.
    pub slower: u64,
    /// Messages to speed up.
    pub faster: u64,
    /// Of all these, in answer to frames that solicited and were not sampled.
    pub solicited: u64,
}

/// The results of one port's rate limiters in one class.
#[derive(Clone, Debug, Serialize)]
pub struct LimitersReport {
    /// The port.
    pub port: String,
    /// The class.
    pub class: u8,
    /// Limiters set up and done with.
    pub created: u64,
    /// See `created`.
    pub removed: u64,
    /// Time average of the number of limiters.
    pub mean_active: f64,
    /// Messages obeyed.
    pub stop: u64,
    /// See `stop`.
    pub slower: u64,
    /// See `stop`.
    pub faster: u64,
    /// Messages ignored: to speed up from a congestion point that has not slowed the limiter last, or during a stop.
    pub ignored: u64,
    /// Frames of TCP that met more than the threshold of their kind, and of these the marked or dropped.
    pub tcp_above: u64,
    /// See `tcp_above`.
    pub tcp_signalled: u64,
    /// Frames of UDP that met more than the threshold of their kind, all of which were dropped.
    pub udp_refused: u64,
    /// Most frames of UDP in one limiter's queue.
    pub most_udp: u64,
    /// Time average of the bytes in the limiters' queues.
    pub mean_bytes: f64,
    /// Most bytes in the limiters' queues.
    pub max_bytes: u64,
}

/// Ports that can never send again, since the frames at each hold the memory that the one before waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadlockReport {
    /// Class of the frames.
    pub class: u8,
    /// The circle, in order: each waits for frames at the next, the last for those at the first.
    pub ports: Vec<String>,
    /// Since when all of them have waited, seconds.
    pub since_s: f64,
}

impl World {
    /// None where there is nothing of the kind, so that the digest is as it was before there was any.
    pub(super) fn congestion_report(&mut self, names: &[String], digest: &mut Digest) -> Option<CongestionReport> {
        let (now, span) = (self.now, self.now.since(self.plan.warmup).0);
        let mean = |area: u128| if span == 0 { 0.0 } else { area as f64 / span as f64 };
        let (mut points, mut limiters) = (Vec::new(), Vec::new());
        for (port, name) in self.ports.iter_mut().zip(names) {
            let Queue::General(m) = &mut port.queue else { continue };
            for (class, queue) in m.queues.iter_mut().enumerate() {
                if let Some(point) = &queue.point {
                    let c = point.counters;
                    let [stop, slower, faster] = c.sent;
                    [c.arrived, c.sampled, stop, slower, faster, c.solicited].into_iter().for_each(|n| digest.u64(n));
                    points.push(CongestionPointReport {
                        port: name.clone(),
                        class: class as u8,
                        number: point.number,
                        arrived: c.arrived,
                        sampled: c.sampled,
                        stop,
                        slower,
                        faster,
                        solicited: c.solicited,
                    });
                }
                if let Waiting::Limited(found) = &mut queue.waiting {
                    let c = found.counters(now);
                    let [stop, slower, faster] = c.obeyed;
                    [c.created, c.removed, stop, slower, faster, c.ignored].into_iter().for_each(|n| digest.u64(n));
                    [c.tcp_above, c.tcp_signalled, c.udp_refused, c.most_udp].into_iter().for_each(|n| digest.u64(n));
                    digest.u128(c.area);
                    limiters.push(LimitersReport {
                        port: name.clone(),
                        class: class as u8,
                        created: c.created,
                        removed: c.removed,
                        mean_active: mean(c.active_area),
                        stop,
                        slower,
                        faster,
                        ignored: c.ignored,
                        tcp_above: c.tcp_above,
                        tcp_signalled: c.tcp_signalled,
                        udp_refused: c.udp_refused,
                        most_udp: c.most_udp,
                        mean_bytes: mean(c.area),
                        max_bytes: c.most_bytes,
                    });
                }
            }
        }
        let some = !points.is_empty() || !limiters.is_empty();
        some.then_some(CongestionReport { points, limiters, unheard: self.unheard })
    }

    pub(super) fn deadlock_reports(&self, names: &[String]) -> Vec<DeadlockReport> {
        let report = |deadlock: crate::world::Deadlock| DeadlockReport {
            class: deadlock.class,
            ports: deadlock.ports.iter().map(|port| names[*port as usize].clone()).collect(),
            since_s: deadlock.since.as_secs(),
        };
        self.deadlocks().into_iter().map(report).collect()
    }
}
