//! Results of congestion points and rate limiters, and deadlocks.

use crate::port::Queue;
use crate::port::Waiting;
use crate::world::World;
use serde::Serialize;
use tailback_measure::Digest;

/// Congestion notification from the end of the warm-up to the end.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionReport {
    /// Congestion points, in port order.
    pub points: Vec<CongestionPointReport>,
    /// Rate limiters, in port order.
    pub limiters: Vec<LimitersReport>,
    /// Messages that reached their host, which has no rate limiters for the sampled frame's port and class, since the
    /// start.
    pub unheard: u64,
}

/// Results of a congestion point.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionPointReport {
    /// Name of the port.
    pub port: String,
    /// Class.
    pub class: u8,
    /// Number of the congestion point in messages and tags, from 1.
    pub number: u16,
    /// Frames that arrived.
    pub arrived: u64,
    /// Arrived frames that were sampled.
    pub sampled: u64,
    /// Messages to stop.
    pub stop: u64,
    /// Messages to slow down.
    pub slower: u64,
    /// Messages to speed up.
    pub faster: u64,
    /// Messages of the three kinds for frames that requested one and were not sampled.
    pub solicited: u64,
}

/// Results of the rate limiters of a port and class.
#[derive(Clone, Debug, Serialize)]
pub struct LimitersReport {
    /// Port.
    pub port: String,
    /// Class.
    pub class: u8,
    /// Limiters created.
    pub created: u64,
    /// Limiters removed.
    pub removed: u64,
    /// Time average of the number of limiters.
    pub mean_active: f64,
    /// Messages to stop that were obeyed.
    pub stop: u64,
    /// Messages to slow down that were obeyed.
    pub slower: u64,
    /// Messages to speed up that were obeyed.
    pub faster: u64,
    /// Messages ignored: messages to speed up that came from a congestion point other than the last one that slowed the
    /// limiter, or while the limiter was stopped.
    pub ignored: u64,
    /// TCP frames that found their limiter's queue above the threshold for TCP.
    pub tcp_above: u64,
    /// TCP frames above the threshold that were marked or dropped.
    pub tcp_signalled: u64,
    /// UDP frames that found their limiter's queue above the threshold for UDP; all of them were dropped.
    pub udp_refused: u64,
    /// Maximum number of UDP frames in one limiter's queue.
    pub most_udp: u64,
    /// Time average of the bytes in the limiters' queues.
    pub mean_bytes: f64,
    /// Maximum of the bytes in the limiters' queues.
    pub max_bytes: u64,
}

/// Deadlock: ports that can never send again, since the frames at each port occupy the memory for which the port before
/// it waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadlockReport {
    /// Class of the frames.
    pub class: u8,
    /// The cycle, in order: each port waits for frames at the next port, and the last one for frames at the first.
    pub ports: Vec<String>,
    /// Instant since which all ports of the cycle have waited, seconds.
    pub since_s: f64,
}

impl World {
    /// Returns the results of congestion points and rate limiters, and adds them to the digest; `None`: there are none,
    /// and the digest is unchanged.
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
                    for n in [c.arrived, c.sampled, stop, slower, faster, c.solicited] {
                        digest.u64(n);
                    }
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
                    for n in [c.created, c.removed, stop, slower, faster, c.ignored] {
                        digest.u64(n);
                    }
                    for n in [c.tcp_above, c.tcp_signalled, c.udp_refused, c.most_udp] {
                        digest.u64(n);
                    }
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
        some.then_some(CongestionReport { points, limiters, unheard: self.undelivered_messages })
    }

    /// Returns the deadlocks at the end; `names` are those of the ports.
    pub(super) fn deadlock_reports(&self, names: &[String]) -> Vec<DeadlockReport> {
        let report = |deadlock: crate::world::deadlock::Deadlock| DeadlockReport {
            class: deadlock.class,
            ports: deadlock.ports.iter().map(|port| names[*port as usize].clone()).collect(),
            since_s: deadlock.since.as_secs(),
        };
        self.deadlocks().into_iter().map(report).collect()
    }
}
