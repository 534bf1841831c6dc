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
    /// Messages since the start that reached a host without rate limiters for the sampled frame's port and class.
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
    /// Messages sent to stop the source.
    pub stop: u64,
    /// Messages sent to slow the source down.
    pub slower: u64,
    /// Messages sent to speed the source up.
    pub faster: u64,
    /// Number of the messages of the three kinds above for frames that requested a message and were not sampled.
    pub solicited: u64,
}

/// Results of the rate limiters of a port and class.
#[derive(Clone, Debug, Serialize)]
pub struct LimitersReport {
    /// Name of the port.
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
    /// Messages to speed up that were ignored: the congestion point was not the one that slowed the limiter last, or
    /// the limiter was stopped.
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

/// Deadlock: a cycle of ports that can never send again, since each port waits for memory that frames at the next port
/// of the cycle occupy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadlockReport {
    /// Class of the frames.
    pub class: u8,
    /// Names of the ports in the order of the cycle: each waits for the next, the last for the first.
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
            let Queue::General(general) = &mut port.queue else { continue };
            for (class, queue) in general.queues.iter_mut().enumerate() {
                if let Some(point) = &queue.point {
                    let counters = point.counters;
                    let [stop, slower, faster] = counters.sent;
                    for n in [counters.arrived, counters.sampled, stop, slower, faster, counters.solicited] {
                        digest.u64(n);
                    }
                    points.push(CongestionPointReport {
                        port: name.clone(),
                        class: class as u8,
                        number: point.number,
                        arrived: counters.arrived,
                        sampled: counters.sampled,
                        stop,
                        slower,
                        faster,
                        solicited: counters.solicited,
                    });
                }
                if let Waiting::Limited(limited) = &mut queue.waiting {
                    let c = limited.counters(now);
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
        let any = !points.is_empty() || !limiters.is_empty();
        any.then_some(CongestionReport { points, limiters, unheard: self.undelivered_messages })
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
