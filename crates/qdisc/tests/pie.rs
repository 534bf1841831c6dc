//! PIE: its bursts, its decay, and a literal transcription of RFC 8033's pseudo-code.

mod common;

use common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::pie::{Estimator, Params, Pie};
use tailback_qdisc::law::{Backlog, Decision};
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

const LONG: Backlog = Backlog { packets: 100, bytes: 100_000 };

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Lets `n` updates pass with the delay standing at `ms`; the instant after.
fn updates(law: &mut Pie, ms: u64, n: usize) {
    for _ in 0..n {
        law.depart(law.next_update(), Dur::from_ms(ms), 1000, LONG.bytes);
        law.update(law.next_update(), LONG);
    }
}

#[test]
fn a_burst_of_150_ms_passes_whatever_the_delay() {
    let rng = &mut Rng::named(1, "burst");
    let mut law = Pie::new(&Params::default());
    for n in 1..=10 {
        updates(&mut law, 200, 1);
        if n < 10 {
            assert_eq!(law.arrive(LONG, 1000, rng), Decision::Pass);
        }
    }
    assert!(law.probability() > 0.0);
    updates(&mut law, 200, 200);
    let chosen = (0..1000).filter(|_| law.arrive(LONG, 1000, rng) == Decision::Early).count();
    assert!(chosen > 100, "{chosen}");
}

#[test]
fn up_to_two_full_packets_waiting_none_is_chosen() {
    let rng = &mut Rng::named(1, "short");
    let mut law = Pie::new(&Params::default());
    updates(&mut law, 200, 300);
    let two = Backlog { packets: 2, bytes: 3028 };
    assert!((0..1000).all(|_| law.arrive(two, 1000, rng) == Decision::Pass));
}

#[test]
fn spread_choices_are_never_closer_than_0_85_over_p_nor_further_than_8_5_over_p() {
    let rng = &mut Rng::named(1, "spread");
    let mut law = Pie::new(&Params::default());
    while law.probability() < 0.05 {
        updates(&mut law, 40, 1);
    }
    let p = law.probability();
    let (mut gap, mut gaps) = (0, Vec::new());
    while gaps.len() < 2000 {
        gap += 1;
        if law.arrive(LONG, 1000, rng) == Decision::Early {
            gaps.push(gap);
            gap = 0;
        }
    }
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(f64::from(*least) >= 0.85 / p && f64::from(*most) <= 8.5 / p + 1.0, "{least} {most} {p}");
}

#[test]
fn without_delay_the_probability_decays_by_2_percent_per_update() {
    let mut law = Pie::new(&Params { alpha: 1e-12, beta: 1e-12, ..Params::default() });
    updates(&mut law, 300, 3);
    law.depart(law.next_update(), Dur::ZERO, 1000, 0);
    law.update(law.next_update(), Backlog::default());
    let start = law.probability();
    law.update(law.next_update(), Backlog::default());
    assert!((law.probability() / start - 0.98).abs() < 1e-6);
}

// RFC 8033 section 4.2 caps a step at 0.02 from a probability of 0.1 on; 0.125 · (1 s − 15 ms) is above.
#[test]
fn above_250_ms_the_probability_rises_by_the_caps_0_02_and_with_the_long_delay_step_by_as_much_again() {
    for (long_delay_step, rise) in [(false, 0.02), (true, 0.04)] {
        let mut law = Pie::new(&Params { long_delay_step, ..Params::default() });
        while law.probability() < 0.1 {
            updates(&mut law, 1000, 1);
        }
        let before = law.probability();
        updates(&mut law, 1000, 10);
        assert!((law.probability() - before - 10.0 * rise).abs() < 1e-9, "{before} {}", law.probability());
    }
}

#[test]
fn the_rate_estimate_gives_the_delay_of_the_backlog() {
    let mut law = Pie::new(&Params { estimator: Estimator::DepartureRate, ..Params::default() });
    // 1000 bytes each 0.8 ms.
    for n in 0..100 {
        law.depart(Time::ZERO + Dur::from_us(800 * n), Dur::ZERO, 1000, LONG.bytes);
    }
    law.update(at(1000), LONG);
    // 17 departures, 16 gaps of 0.8 ms, are taken for the time of 16384 bytes.
    let expected = 100_000.0 * 0.0128 / 16_384.0;
    assert!((law.delay() - expected).abs() < 1e-9, "{} {expected}", law.delay());
}

#[test]
fn nonsense_is_refused_with_advice() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { update: Dur::ZERO, ..Params::default() }, "update");
    refuse(Params { alpha: -1.0, ..Params::default() }, "alpha");
    refuse(Params { beta: f64::INFINITY, ..Params::default() }, "beta");
}

/// RFC 8033 appendices A and B, always active; with `long_delay_step` also Linux's step for delays above 250 ms.
struct Rfc {
    p: Params,
    rng: Rng,
    q: VecDeque<Held>,
    limit: usize,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    due: Time,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: u64,
    avg_dq_time: f64,
}

const DQ_THRESHOLD: u64 = 16_384;

impl Rfc {
    fn byte_length(&self) -> u64 {
        self.q.iter().map(|h| u64::from(h.size)).sum()
    }
    fn drop_early(&mut self, size: u16) -> bool {
        let qdelay_ref = self.p.target.as_secs();
        if (self.qdelay_old < qdelay_ref / 2.0 && self.drop_prob < 0.2) || self.byte_length() <= 2 * self.p.mtu.0 {
            return false;
        }
        let mut p = self.drop_prob;
        if self.p.byte_mode && u64::from(size) <= self.p.mtu.0 {
            p *= f64::from(size) / self.p.mtu.0 as f64;
        }
        if self.p.derandomise {
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
        self.rng.uniform() < p
    }
}

impl Queue for Rfc {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let mut packet = Held::new(arrival);
        let half = self.p.target.as_secs() / 2.0;
        if self.q.len() >= self.limit {
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
            self.accu_prob = 0.0;
            return;
        }
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.p.burst.as_secs();
        }
        if self.burst_allowance < 1e-9 && self.drop_early(packet.size) {
            self.accu_prob = 0.0;
            if self.p.ecn && packet.ect && self.drop_prob < self.p.mark_limit.0 {
                packet.marked = true;
            } else {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        self.q.push_back(packet);
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        match self.p.estimator {
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
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        self.due = now + self.p.update;
        if self.p.estimator == Estimator::DepartureRate {
            self.current_qdelay = self.byte_length() as f64 * self.avg_dq_time / DQ_THRESHOLD as f64;
        }
        let (delay, old) = (self.current_qdelay, self.qdelay_old);
        let mut p = self.p.alpha * (delay - self.p.target.as_secs()) + self.p.beta * (delay - old);
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
        if self.p.long_delay_step && delay > 0.25 {
            p += 0.02;
        }
        self.drop_prob += p;
        if delay == 0.0 && old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = delay;
        self.burst_allowance = f64::max(0.0, self.burst_allowance - self.p.update.as_secs());
    }
}

#[test]
fn it_decides_as_the_rfc_for_each_of_150_000_packets() {
    let traffic = Traffic {
        sizes: &[1500, 1500, 300],
        packets: 150_000,
        loads: &[0.3, 0.9, 1.05, 1.3, 0.01],
        phase: Dur::from_secs(3),
        ..Traffic::default()
    };
    let base = Params { ecn: true, ..Params::default() };
    let forms = [
        base.clone(),
        Params { derandomise: false, mark_limit: Fraction(0.3), ..base.clone() },
        Params { estimator: Estimator::DepartureRate, byte_mode: true, ..base.clone() },
        Params { long_delay_step: false, ..base },
    ];
    for (seed, params) in (1..).zip(forms) {
        let rng = Rng::named(seed, "port");
        let mut reference = Rfc {
            p: params.clone(),
            rng: rng.clone(),
            q: VecDeque::new(),
            limit: 300,
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: 0.15,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            due: Time::ZERO + params.update,
            in_measurement: false,
            measurement_start: 0.0,
            dq_count: 0,
            avg_dq_time: 0.0,
        };
        let arrivals = traffic.draw(seed);
        let mut ours = Rig::new(&Spec::Pie(params), &places(300, Rate::mbit(10)), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        let tally = tally(&log);
        assert!(tally[1] > 50 && tally[2] > 100, "{tally:?}");
    }
}
