//! CoDel: the spacing of its signals, and a comparison with a transcription of Linux's `codel_impl.h`, with the square
//! root of Linux and with that of RFC 8289.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::Form;
use tailback_qdisc::law::codel::{Codel, Params, Root, Verdict, control_law};
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Backlog in bytes, large enough that it does not end the drops.
const LONG: u64 = 1_000_000;

fn at(us: u64) -> Time {
    Time::ZERO + Dur::from_us(us)
}

/// Returns the instants, in seconds, of the first `n` drops if a packet that has waited for 50 ms is dequeued every 100
/// µs.
fn drops(law: &mut Codel, n: usize) -> Vec<f64> {
    let mut drops = Vec::new();
    let mut us = 0;
    let mut steps = Steps::at_most(1_000_000);
    while drops.len() < n {
        us += 100;
        steps.step("packets that wait for 50 ms are not dropped");
        while law.judge(at(us), Dur::from_ms(50), LONG, false) == Verdict::Drop {
            steps.step("every packet is dropped");
            drops.push(at(us).as_secs());
        }
    }
    drops
}

#[test]
fn nothing_is_dropped_within_the_first_interval() {
    let first = drops(&mut Codel::new(&Params::default()), 1)[0];
    assert!((0.1..0.1003).contains(&first), "{first}");
}

// As in Linux; RFC 8289 drops at exactly one interval, too.
#[test]
fn a_delay_must_have_stayed_above_target_for_longer_than_an_interval() {
    for (wait, verdict) in [(Dur::from_ms(100), Verdict::Deliver), (Dur::from_ms(100) + Dur(1), Verdict::Drop)] {
        let mut law = Codel::new(&Params::default());
        law.judge(at(0), Dur::from_ms(5), LONG, false);
        assert_eq!(law.judge(at(0) + wait, Dur::from_ms(5), LONG, false), verdict);
    }
}

#[test]
fn gaps_shrink_as_the_interval_over_the_root_of_the_count() {
    let drops = drops(&mut Codel::new(&Params::default()), 200);
    for (n, pair) in drops.windows(2).enumerate() {
        let expected = 0.1 / ((n + 1) as f64).sqrt();
        // Packets are dequeued every 0.1 ms, and the deadlines fall between.
        assert!((pair[1] - pair[0] - expected).abs() < 1.01e-4, "{n}: {} {expected}", pair[1] - pair[0]);
    }
    // The sum of the n gaps is about 2·interval·√n; for n = 199 it is 5 % less.
    let elapsed = drops[199] - drops[0];
    assert!((elapsed / (0.2 * 199f64.sqrt()) - 1.0).abs() < 0.06, "{elapsed}");
}

// By hand: y ← y (3 − n y²) / 2 from y = 1 gives 1/2, 9/16, 0.48779 and 0.44153 at the second to the fifth signal. A
// gap is y times 100 ms; the resolution of 16 bits is 1.5 µs.
#[test]
fn with_root_newton_the_gaps_are_those_of_newtons_method_from_one() {
    let params = Params { root: Root::Newton, ecn: true, ..Params::default() };
    let mut law = Codel::new(&params);
    law.judge(at(0), Dur::from_ms(50), LONG, true);
    let mut now = at(100_001);
    let mut gaps = Vec::new();
    for _ in 0..5 {
        assert_eq!(law.judge(now, Dur::from_ms(50), LONG, true), Verdict::Mark);
        gaps.push(law.drop_next().since(now).as_secs());
        now = law.drop_next();
    }
    for (gap, expected) in gaps.iter().zip([0.1, 0.05, 0.05625, 0.048_779, 0.044_153]) {
        assert!((gap - expected).abs() < 6e-6, "{gaps:?}");
    }
    assert_eq!(law.state_bytes(), Codel::new(&Params::default()).state_bytes() + 2);
}

#[test]
fn a_delay_below_target_or_a_backlog_of_one_packet_ends_the_drops() {
    for (sojourn, backlog) in [(4, LONG), (50, 1514)] {
        let mut law = Codel::new(&Params::default());
        drops(&mut law, 5);
        assert!(law.is_dropping());
        assert_eq!(law.judge(at(600_000), Dur::from_ms(sojourn), backlog, false), Verdict::Deliver);
        assert!(!law.is_dropping());
    }
}

#[test]
fn codel_resumes_near_its_old_rate_of_drops_after_a_pause_below_16_intervals_and_not_later() {
    for (pause_ms, resumes) in [(100, true), (2_000, false)] {
        let mut law = Codel::new(&Params::default());
        let last = drops(&mut law, 50)[49];
        let start = (last * 1e6) as u64 + 1000;
        law.judge(at(start), Dur::ZERO, LONG, false);
        // After the pause the delay is above the target again.
        let mut us = start + pause_ms * 1000;
        let mut steps = Steps::at_most(100_000);
        while law.judge(at(us), Dur::from_ms(50), LONG, false) != Verdict::Drop {
            steps.step("packets that wait for 50 ms are not dropped");
            us += 100;
        }
        law.judge(at(us), Dur::from_ms(50), LONG, false);
        assert_eq!(law.count() > 40, resumes, "{}", law.count());
    }
}

#[test]
fn late_marks_are_scheduled_from_their_deadlines() {
    let mut law = Codel::new(&Params { ecn: true, ..Params::default() });
    let mut us = 0;
    let mut steps = Steps::at_most(100_000);
    while law.judge(at(us), Dur::from_ms(50), LONG, true) != Verdict::Mark {
        steps.step("packets that wait for 50 ms are not marked");
        us += 100;
    }
    let deadline = law.drop_next();
    let late = deadline + Dur::from_ms(30);
    assert_eq!(law.judge(late, Dur::from_ms(50), LONG, true), Verdict::Mark);
    assert_eq!(law.drop_next(), control_law(deadline, Dur::from_ms(100), 2));
}

#[test]
fn above_the_ce_threshold_every_ecn_capable_packet_is_marked() {
    let mut law = Codel::new(&Params { ce_threshold: Some(Dur::from_ms(1)), ..Params::default() });
    assert_eq!(law.judge(at(0), Dur::from_ms(2), LONG, true), Verdict::Mark);
    assert_eq!(law.judge(at(0), Dur::from_ms(2), LONG, false), Verdict::Deliver);
    assert_eq!(law.judge(at(0), Dur::from_ms(1), LONG, true), Verdict::Deliver);
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { target: Dur::ZERO, ..Params::default() }, "target");
    refuse(Params { interval: Dur::from_ms(4), ..Params::default() }, "interval");
    refuse(Params { mtu: Size(0), ..Params::default() }, "mtu");
}

/// `codel_dequeue`, `codel_should_drop` and `codel_Newton_step`; with [`Root::Exact`] the root of RFC 8289 instead of
/// `codel_Newton_step`. In form "linux" all times are in units of 2^10 ns (`codel_get_time`), otherwise in ps.
struct Kernel {
    p: Params,
    q: VecDeque<Held>,
    limit: usize,
    count: u32,
    lastcount: u32,
    rec_inv_sqrt: u16,
    dropping: bool,
    first_above_time: u64,
    drop_next: u64,
    ldelay: u64,
}

impl Kernel {
    /// Returns a time in the unit of the clock, rounded down (`codel_get_time`, `(ns) >> CODEL_SHIFT`).
    fn units(&self, ps: u64) -> u64 {
        if self.p.form == Form::Linux { (ps / 1000) >> 10 } else { ps }
    }
    fn control_law(&self, t: u64) -> u64 {
        if self.p.root == Root::Exact && self.p.form == Form::Published {
            return t + (self.p.interval.0 as f64 / f64::from(self.count).sqrt()) as u64;
        }
        // `reciprocal_scale`
        let interval = u128::from(self.units(self.p.interval.0));
        t + ((interval * u128::from(u32::from(self.rec_inv_sqrt) << 16)) >> 32) as u64
    }
    fn newton_step(&mut self) {
        let invsqrt: u32 = u32::from(self.rec_inv_sqrt) << 16;
        let invsqrt2: u32 = ((u64::from(invsqrt) * u64::from(invsqrt)) >> 32) as u32;
        let mut val: u64 = (3 << 32) - (u64::from(self.count) * u64::from(invsqrt2));
        val >>= 2;
        val = (val * u64::from(invsqrt)) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (val >> 16) as u16;
    }
    fn should_drop(&mut self, packet: Option<&Held>, now: u64) -> bool {
        let Some(packet) = packet else {
            self.first_above_time = 0;
            return false;
        };
        self.ldelay = now - self.units(packet.at.0);
        let backlog: u64 = self.q.iter().map(|h| u64::from(h.size)).sum();
        if self.ldelay < self.units(self.p.target.0) || backlog <= self.p.mtu.0 {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now + self.units(self.p.interval.0);
            return false;
        }
        now > self.first_above_time
    }
    fn drop_and_next(&mut self, packet: &mut Option<Held>, log: &mut Log) {
        log.push((packet.unwrap().seq, Fate::Dropped(Reason::Early)));
        *packet = self.q.pop_front();
    }
}

impl Queue for Kernel {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        if self.q.len() >= self.limit {
            log.push((arrival.seq, Fate::Dropped(Reason::BufferFull)));
        } else {
            self.q.push_back(Held::new(arrival));
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let now = self.units(now.0);
        let mut skb = self.q.pop_front();
        if skb.is_none() {
            self.dropping = false;
            return None;
        }
        let drop = self.should_drop(skb.as_ref(), now);
        let can_mark = |skb: &mut Option<Held>, ecn: bool| match skb {
            Some(held) if ecn && held.ect => {
                held.marked = true;
                true
            }
            _ => false,
        };
        if self.dropping {
            if drop {
                while self.dropping && now >= self.drop_next {
                    self.count += 1;
                    self.newton_step();
                    if can_mark(&mut skb, self.p.ecn) {
                        self.drop_next = self.control_law(self.drop_next);
                        break;
                    }
                    self.drop_and_next(&mut skb, log);
                    if self.should_drop(skb.as_ref(), now) {
                        self.drop_next = self.control_law(self.drop_next);
                    } else {
                        self.dropping = false;
                    }
                }
            } else {
                self.dropping = false;
            }
        } else if drop {
            if !can_mark(&mut skb, self.p.ecn) {
                self.drop_and_next(&mut skb, log);
                self.should_drop(skb.as_ref(), now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.units(self.p.interval.0) as i64 {
                self.count = delta;
                self.newton_step();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.lastcount = self.count;
            self.drop_next = self.control_law(now);
        }
        if self.p.ce_threshold.is_some_and(|threshold| self.ldelay > self.units(threshold.0)) {
            can_mark(&mut skb, true);
        }
        let packet = skb?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

#[test]
fn codel_gives_each_of_150_000_packets_its_fate_in_linux() {
    let traffic = Traffic {
        sizes: &[1500, 1500, 300],
        packets: 150_000,
        loads: &[0.3, 0.9, 1.02, 1.3, 3.0],
        phase: Dur::from_secs(1),
        ..Traffic::default()
    };
    let forms = [(1, false, None), (2, true, None), (3, true, Some(Dur::from_ms(20)))];
    let sources = [(Root::Newton, Form::Published), (Root::Exact, Form::Published), (Root::Exact, Form::Linux)];
    let forms = forms.into_iter().flat_map(|form| sources.map(|source| (form, source)));
    for ((seed, ecn, ce_threshold), (root, form)) in forms {
        let params = Params { ecn, ce_threshold, root, form, ..Params::default() };
        let mut reference = Kernel {
            p: params.clone(),
            q: VecDeque::new(),
            limit: 400,
            count: 0,
            lastcount: 0,
            rec_inv_sqrt: u16::MAX,
            dropping: false,
            first_above_time: 0,
            drop_next: 0,
            ldelay: 0,
        };
        let arrivals = traffic.draw(seed);
        let mut ours = Rig::new(&Spec::Codel(params), &places(400, Rate::mbit(10)), Rng::named(seed, "port"));
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        let tally = tally(&log);
        assert!(
            tally[fate::EARLY] > 100 && tally[fate::FULL] > 100 && (!ecn || tally[fate::MARKED] > 100),
            "{tally:?}"
        );
    }
}
