//! PIE of RFC 8033 for a single queue.

use super::{Arrival, Fate, Held, Log};
use std::collections::VecDeque;
use tailback_qdisc::Reason;
use tailback_qdisc::law::pie::{Estimator, Params};
use tailback_random::Rng;
use tailback_units::Time;

/// RFC 8033 appendices A and B, always active; with `long_delay_step` also Linux's step for delays above 250 ms.
#[derive(Clone)]
pub struct Rfc {
    params: Params,
    pub q: VecDeque<Held>,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: u64,
    avg_dq_time: f64,
}

/// Bytes over which the departure rate is measured.
const DQ_THRESHOLD: u64 = 16_384;

impl Rfc {
    fn byte_length(&self) -> u64 {
        self.q.iter().map(|h| u64::from(h.size)).sum()
    }
    fn drop_early(&mut self, size: u16, rng: &mut Rng) -> bool {
        let qdelay_ref = self.params.target.as_secs();
        if (self.qdelay_old < qdelay_ref / 2.0 && self.drop_prob < 0.2) || self.byte_length() <= 2 * self.params.mtu.0 {
            return false;
        }
        let mut p = self.drop_prob;
        if self.params.byte_mode && u64::from(size) <= self.params.mtu.0 {
            p *= f64::from(size) / self.params.mtu.0 as f64;
        }
        if self.params.derandomise {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            } else {
                self.accu_prob += p;
            }
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        rng.uniform() < p
    }
    /// Returns an empty queue.
    pub fn new(params: &Params) -> Rfc {
        Rfc {
            params: params.clone(),
            q: VecDeque::new(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: params.burst.as_secs(),
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            in_measurement: false,
            measurement_start: 0.0,
            dq_count: 0,
            avg_dq_time: 0.0,
        }
    }
    /// Drops the arrival, or appends it to the queue; `full`: the buffer has no place for it.
    pub fn arrive(&mut self, arrival: &Arrival, full: bool, rng: &mut Rng, log: &mut Log) {
        let mut packet = Held::new(arrival);
        let half = self.params.target.as_secs() / 2.0;
        if full {
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
            self.accu_prob = 0.0;
            return;
        }
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.params.burst.as_secs();
        }
        if self.burst_allowance < 1e-9 && self.drop_early(packet.size, rng) {
            self.accu_prob = 0.0;
            if self.params.ecn && packet.ect && self.drop_prob < self.params.mark_limit.0 {
                packet.marked = true;
            } else {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        self.q.push_back(packet);
    }
    /// Removes the oldest packet and returns its buffer bytes.
    pub fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        match self.params.estimator {
            Estimator::Timestamp => {
                self.current_qdelay = now.since(packet.at).as_secs();
                if self.q.is_empty() {
                    self.current_qdelay = 0.0;
                }
            }
            Estimator::DepartureRate => {
                let now = now.as_secs();
                if !self.in_measurement && self.byte_length() >= DQ_THRESHOLD {
                    self.in_measurement = true;
                    self.measurement_start = now;
                    self.dq_count = 0;
                }
                if self.in_measurement {
                    self.dq_count += u64::from(packet.size);
                    if self.dq_count >= DQ_THRESHOLD {
                        let weight = DQ_THRESHOLD as f64 / 65_536.0;
                        let dq_time = now - self.measurement_start;
                        self.avg_dq_time = if self.avg_dq_time == 0.0 {
                            dq_time
                        } else {
                            dq_time * weight + self.avg_dq_time * (1.0 - weight)
                        };
                        self.in_measurement = false;
                    }
                }
            }
        }
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    /// Updates the drop probability (`calculate_drop_prob()`).
    pub fn update(&mut self) {
        if self.params.estimator == Estimator::DepartureRate {
            self.current_qdelay = self.byte_length() as f64 * self.avg_dq_time / DQ_THRESHOLD as f64;
        }
        let (delay, old) = (self.current_qdelay, self.qdelay_old);
        let mut p = self.params.alpha * (delay - self.params.target.as_secs()) + self.params.beta * (delay - old);
        p /= if self.drop_prob < 1e-6 {
            2048.0
        } else if self.drop_prob < 1e-5 {
            512.0
        } else if self.drop_prob < 1e-4 {
            128.0
        } else if self.drop_prob < 1e-3 {
            32.0
        } else if self.drop_prob < 1e-2 {
            8.0
        } else if self.drop_prob < 1e-1 {
            2.0
        } else {
            1.0
        };
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if self.params.long_delay_step && delay > 0.25 {
            p += 0.02;
        }
        self.drop_prob += p;
        if delay == 0.0 && old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = delay;
        self.burst_allowance = f64::max(0.0, self.burst_allowance - self.params.update.as_secs());
    }
}
