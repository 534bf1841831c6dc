//! Blue: the speed of its probability, its forms and its threshold, and comparisons with transcriptions of the authors'
//! program for ns and of ALTQ.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::Backlog;
use tailback_qdisc::law::blue::{Blue, Form, IdleSteps, Params, Rise, Timers};
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Rate, Time};

/// The published parameter sets: freeze time in ms, increment, decrement.
const SETS: [(u64, f64, f64); 4] =
    [(10, 0.0025, 0.00025), (100, 0.0025, 0.00025), (10, 0.02, 0.002), (100, 0.02, 0.002)];

/// Returns the parameters of a set.
fn set((freeze, increment, decrement): (u64, f64, f64)) -> Params {
    Params {
        freeze: Some(Dur::from_ms(freeze)),
        increment: Some(increment),
        decrement: Some(decrement),
        ..Params::default()
    }
}

#[test]
fn a_rise_from_0_to_1_takes_freeze_time_over_increment_and_the_fall_ten_times_as_long() {
    // From 0 to 1 there are 1 / increment steps, a freeze time each.
    for (values, (seconds, steps)) in SETS.into_iter().zip([(4.0, 400), (40.0, 400), (0.5, 50), (5.0, 50)]) {
        let mut law = Blue::new(&set(values));
        law.arrive(Time::ZERO, Backlog::default(), &mut Rng::named(1, "x"));
        // A packet every 100 µs, dropped because the buffer is full. 400 sums of 0.0025 give 1 up to rounding.
        let mut now = Time::ZERO;
        let mut bound = Steps::at_most(1_000_000);
        while law.probability() < 1.0 - 1e-9 {
            bound.step("the probability does not reach 1");
            now += Dur::from_us(100);
            law.overflow(now);
        }
        // Each step comes with the first packet later than the freeze time.
        assert!((now.as_secs() - seconds - f64::from(steps) * 1e-4).abs() < 1e-3 * seconds, "{values:?}: {now:?}");
        let top = now;
        law.idle(now);
        while let Some(at) = law.next_update() {
            bound.step("the probability does not reach 0");
            law.update(at);
            now = at;
        }
        let late = now.since(top).as_secs() - 10.0 * seconds;
        assert!(
            (0.0..1.001e-3 * values.0 as f64).contains(&late),
            "at most one freeze time late, up to rounding: {values:?}: {now:?}"
        );
        assert_eq!(law.probability(), 0.0);
    }
}

#[test]
fn a_shared_freeze_time_delays_a_change_in_the_other_direction_and_separate_ones_do_not() {
    for (timers, lowered) in [(Timers::Shared, false), (Timers::Separate, true)] {
        let mut law = Blue::new(&Params { timers, ..set(SETS[3]) });
        law.arrive(Time::ZERO, Backlog::default(), &mut Rng::named(1, "x"));
        law.overflow(Time::ZERO + Dur::from_ms(150));
        law.idle(Time::ZERO + Dur::from_ms(160));
        assert_eq!(law.probability() < 0.02, lowered, "{timers:?}");
    }
}

#[test]
fn with_one_decrement_per_idle_time_a_probability_of_1_stays_near_1() {
    let mut law = Blue::new(&Params { idle: IdleSteps::Once, increment: Some(1.0), ..set(SETS[2]) });
    law.arrive(Time::ZERO, Backlog::default(), &mut Rng::named(1, "x"));
    law.overflow(Time::ZERO + Dur::from_ms(50));
    for ms in 100..2000 {
        law.idle(Time::ZERO + Dur::from_ms(ms));
    }
    assert_eq!((law.probability(), law.next_update()), (0.998, None));
}

#[test]
fn doubling_raises_the_probability_to_twice_its_value_plus_the_increment() {
    let mut law = Blue::new(&Params { rise: Rise::Doubling, ..set(SETS[2]) });
    let seen: Vec<f64> = (1..=4)
        .map(|n| {
            law.overflow(Time::ZERO + Dur::from_ms(20 * n));
            law.probability()
        })
        .collect();
    assert!(seen.iter().zip([0.02, 0.06, 0.14, 0.30]).all(|(a, b)| (a - b).abs() < 1e-12), "{seen:?}");
}

#[test]
fn a_queue_above_the_threshold_raises_the_probability_as_overflow_does() {
    let rate = Rate::mbit(10);
    let params = Params { threshold: Some(Amount::packets(20)), ..set(SETS[2]) };
    let mut rig = Rig::new(&Spec::Blue(params), &places(1000, rate), Rng::named(1, "port"));
    let traffic = Traffic { loads: &[1.1], packets: 20_000, ..Traffic::default() };
    let log = serve(&mut rig, rate, &traffic.draw(1), |_, _| {});
    let [.., early, full, _] = tally(&log);
    assert!(early > 100 && full == 0, "{early} {full}");
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { increment: Some(0.0), ..Params::default() }, "increment");
    refuse(Params { decrement: Some(f64::NAN), ..Params::default() }, "decrement");
    refuse(Params { freeze: Some(Dur(u64::MAX)), ..Params::default() }, "freeze");
}

/// `Queue/Blue`, the authors' program as ported to ns-2: times in seconds, separate timers, one decrement whenever the
/// link finds the queue empty. Its queue holds `qlim` packets here; in ns-2 it holds one packet less.
struct NsBlue {
    rng: Rng,
    q: VecDeque<Held>,
    qlim: usize,
    pmark: f64,
    increment: f64,
    decrement: f64,
    hold: f64,
    ifreezetime: f64,
    dfreezetime: f64,
    idle: bool,
}

impl Queue for NsBlue {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = arrival.at.as_secs();
        let mut packet = Held::new(arrival);
        self.idle = false;
        let u = self.rng.uniform();
        if u < self.pmark {
            if packet.ect {
                packet.marked = true;
            } else {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        self.q.push_back(packet);
        if self.q.len() > self.qlim {
            if now - self.ifreezetime > self.hold {
                self.ifreezetime = now;
                self.pmark += self.increment;
                if self.pmark > 1.0 {
                    self.pmark = 1.0;
                }
            }
            let gone = self.q.pop_back().unwrap();
            log.push((gone.seq, Fate::Dropped(Reason::BufferFull)));
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        let now = now.as_secs();
        if now - self.dfreezetime > self.hold {
            self.dfreezetime = now;
            self.pmark -= self.decrement;
            if self.pmark < 0.0 {
                self.pmark = 0.0;
            }
        }
        self.idle = true;
    }
}

#[test]
fn the_authors_form_gives_each_of_120_000_packets_its_fate_in_their_program() {
    let traffic = Traffic { loads: &[0.5, 0.9, 1.5, 3.0], ..Traffic::default() };
    let arrivals = traffic.draw(1);
    for (seed, values) in (1..).zip(SETS) {
        let (freeze, increment, decrement) = values;
        let rng = Rng::named(seed, "port");
        let params = Params { timers: Timers::Separate, idle: IdleSteps::Once, ecn: true, ..set(values) };
        let mut reference = NsBlue {
            rng: rng.clone(),
            q: VecDeque::new(),
            qlim: 50,
            pmark: 0.0,
            increment,
            decrement,
            hold: freeze as f64 / 1e3,
            ifreezetime: 0.0,
            dfreezetime: 0.0,
            idle: true,
        };
        let mut ours = Rig::new(&Spec::Blue(params), &places(50, traffic.rate), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        assert!(tally(&log)[..fate::UNRESPONSIVE].iter().all(|n| *n > 100), "{:?}", tally(&log));
    }
}

/// `altq_blue.c`: times in microseconds, the probability in thousandths, a random victim.
struct AltqBlue {
    rng: Rng,
    q: VecDeque<Held>,
    qlimit: usize,
    pmark: i32,
    idle: bool,
    last_us: i64,
}

const MAX_PMARK: i32 = 1000;
const HOLD_TIME_US: i64 = 50_000;

impl Queue for AltqBlue {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = (arrival.at.0 / 1_000_000) as i64;
        let mut packet = Held::new(arrival);
        if self.idle {
            self.idle = false;
            if now / 1_000_000 - self.last_us / 1_000_000 > 1 {
                self.pmark = 1;
                self.last_us = now;
            } else if now - self.last_us > HOLD_TIME_US {
                self.pmark = (self.pmark - 1).max(0);
                self.last_us = now;
            }
        }
        let drawn = (self.rng.uniform() * f64::from(MAX_PMARK)) as i32 % MAX_PMARK;
        let mut early = false;
        if drawn < self.pmark && self.q.len() > 1 {
            if packet.ect {
                packet.marked = true;
            } else {
                early = true;
            }
        }
        if early {
            log.push((packet.seq, Fate::Dropped(Reason::Early)));
            return;
        }
        let forced = self.q.len() >= self.qlimit;
        self.q.push_back(packet);
        if forced {
            let victim = self.rng.below(self.q.len() as u64) as usize;
            let gone = self.q.remove(victim).unwrap();
            if now - self.last_us > HOLD_TIME_US {
                self.pmark = (self.pmark + (MAX_PMARK >> 3)).min(MAX_PMARK);
                self.last_us = now;
            }
            log.push((gone.seq, Fate::Dropped(Reason::BufferFull)));
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        if !self.idle {
            self.idle = true;
            self.last_us = (now.0 / 1_000_000) as i64;
        }
    }
}

#[test]
fn altqs_form_gives_each_of_120_000_packets_its_fate_in_the_kernel() {
    // Silences of seconds, after which ALTQ sets the probability to 1/1000.
    let traffic = Traffic { loads: &[0.0003, 0.9, 1.1, 1.2], ..Traffic::default() };
    let mut arrivals = traffic.draw(1);
    // The resolution of the kernel's clock is 1 µs.
    for a in &mut arrivals {
        a.at = Time(a.at.0 / 1_000_000 * 1_000_000);
    }
    let rng = Rng::named(1, "port");
    let mut reference = AltqBlue { rng: rng.clone(), q: VecDeque::new(), qlimit: 50, pmark: 0, idle: true, last_us: 0 };
    let params = Params { form: Form::Altq, ecn: true, ..Params::default() };
    let mut ours = Rig::new(&Spec::Blue(params), &places(50, traffic.rate), rng);
    let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
    assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
    assert!(tally(&log)[..fate::UNRESPONSIVE].iter().all(|n| *n > 100), "{:?}", tally(&log));
}
