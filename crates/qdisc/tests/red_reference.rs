//! RED compared packet by packet with a transcription of ns-2.35.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::red::{Adaptive, Count, Feng, Floyd, Params, Red};
use tailback_qdisc::{Reason, Spec, Victim};
use tailback_random::Rng;
use tailback_units::{Amount, Fraction, Rate, Size, Time};

/// Returns the parameters of the experiments of 1993, in packets of 1000 B, with thresholds of 5 and 15.
fn thesis() -> Params {
    Params {
        min: Some(Amount::packets(5)),
        max: Some(Amount::packets(15)),
        weight: Some(0.002),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ..Params::default()
    }
}

/// ns-2.35 `REDQueue`, written from its behaviour, with its names and in its units (seconds, packets).
pub struct NsRed {
    p: Params,
    pub rng: Rng,
    pub q: VecDeque<Held>,
    qlim: usize,
    ptc: f64,
    pub th_min: f64,
    th_max: f64,
    q_w: f64,
    pub v_ave: f64,
    v_prob1: f64,
    cur_max_p: f64,
    count: i64,
    count_bytes: i64,
    old: bool,
    idle: Option<f64>,
    lastset: f64,
    status: i8,
}

impl NsRed {
    pub fn new(p: &Params, qlim: usize, rate: Rate, rng: Rng) -> NsRed {
        let law = Red::new(p, rate);
        let (th_min, th_max) = law.thresholds();
        NsRed {
            p: p.clone(),
            rng,
            q: VecDeque::new(),
            qlim,
            ptc: rate.0 as f64 / (8.0 * p.mean_packet.0 as f64),
            th_min,
            th_max,
            q_w: law.weight(),
            v_ave: 0.0,
            v_prob1: 0.0,
            cur_max_p: p.max_p.0,
            count: 0,
            count_bytes: 0,
            old: false,
            idle: Some(0.0),
            lastset: 0.0,
            status: 0,
        }
    }

    fn qlen(&self) -> i64 {
        match self.p.count {
            Count::Packets => self.q.len() as i64,
            Count::Bytes => self.q.iter().map(|h| i64::from(h.size)).sum(),
        }
    }

    fn estimator(&mut self, mut m: i64, now: f64) {
        let mut ave = self.v_ave;
        m -= 1;
        while m >= 1 {
            ave *= 1.0 - self.q_w;
            m -= 1;
        }
        ave *= 1.0 - self.q_w;
        ave += self.q_w * self.qlen() as f64;
        match &self.p.adaptive {
            Some(Adaptive::Feng(f)) => {
                if self.th_min < ave && ave < self.th_max {
                    self.status = 0;
                }
                if ave < self.th_min && self.status != -1 {
                    self.status = -1;
                    self.cur_max_p = (self.cur_max_p / f.alpha).max(f.bottom.0);
                }
                if ave > self.th_max && self.status != 1 {
                    self.status = 1;
                    self.cur_max_p *= f.beta;
                }
            }
            Some(Adaptive::Floyd(f)) if now > self.lastset + f.interval.as_secs() => {
                let part = 0.4 * (self.th_max - self.th_min);
                let bottom = (80_000.0 / (self.ptc * 8.0 * self.p.mean_packet.0 as f64)).min(0.01);
                if ave < self.th_min + part && self.cur_max_p > bottom {
                    self.cur_max_p *= f.beta;
                    self.lastset = now;
                } else if ave > self.th_max - part && f.top.0 > self.cur_max_p {
                    let alpha = if f.alpha > 0.25 * self.cur_max_p { 0.25 * self.cur_max_p } else { f.alpha };
                    self.cur_max_p += alpha;
                    self.lastset = now;
                }
            }
            _ => {}
        }
        self.v_ave = ave;
    }

    fn calculate_p(&self) -> f64 {
        let p = if self.p.gentle && self.v_ave >= self.th_max {
            let v_c = (1.0 - self.cur_max_p) / self.th_max;
            v_c * self.v_ave + 2.0 * self.cur_max_p - 1.0
        } else if self.v_ave >= self.th_max {
            1.0
        } else {
            (self.v_ave / (self.th_max - self.th_min) - self.th_min / (self.th_max - self.th_min)) * self.cur_max_p
        };
        if p > 1.0 { 1.0 } else { p }
    }

    fn modify_p(&self, mut p: f64, size: u16) -> f64 {
        let mean = self.p.mean_packet.0 as i64;
        let count1 = if self.p.byte_mode { (self.count_bytes / mean) as f64 } else { self.count as f64 };
        if self.p.wait {
            if count1 * p < 1.0 {
                p = 0.0;
            } else if count1 * p < 2.0 {
                p /= 2.0 - count1 * p;
            } else {
                p = 1.0;
            }
        } else if count1 * p < 1.0 {
            p /= 1.0 - count1 * p;
        } else {
            p = 1.0;
        }
        if self.p.byte_mode && p < 1.0 {
            p = p * f64::from(size) / mean as f64;
        }
        if p > 1.0 { 1.0 } else { p }
    }

    /// Returns 0 for a packet that passes, 1 for one to be marked, 2 for one to be dropped.
    fn drop_early(&mut self, packet: &Held) -> u8 {
        self.v_prob1 = self.calculate_p();
        let v_prob = self.modify_p(self.v_prob1, packet.size);
        let u = self.rng.uniform();
        if u > v_prob {
            return 0;
        }
        self.count = 0;
        self.count_bytes = 0;
        if self.p.ecn && packet.ect && self.p.mark_limit.is_none_or(|limit| self.v_prob1 < limit.0) { 1 } else { 2 }
    }
}

impl Queue for NsRed {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = arrival.at.as_secs();
        let mut packet = Held::new(arrival);
        let m = self.idle.take().map_or(0, |since| (self.ptc * (now - since)) as i64);
        self.estimator(m + 1, now);
        self.count += 1;
        self.count_bytes += i64::from(packet.size);
        let qlen = self.qlen();
        // 0: none, 1: forced, 2: unforced.
        let mut droptype = 0;
        if self.v_ave >= self.th_min && qlen > 1 {
            let use_mark_p = self.p.mark_limit.is_some();
            let certain =
                (!self.p.gentle && self.v_ave >= self.th_max) || (self.p.gentle && self.v_ave >= 2.0 * self.th_max);
            if !use_mark_p && certain {
                droptype = 1;
            } else if !self.old {
                self.count = 1;
                self.count_bytes = i64::from(packet.size);
                self.old = true;
            } else {
                match self.drop_early(&packet) {
                    1 => packet.marked = true,
                    2 => droptype = 2,
                    _ => {}
                }
            }
        } else {
            self.old = false;
        }
        let full = self.q.len() >= self.qlim;
        if full {
            droptype = 1;
        }
        if droptype == 2 {
            log.push((packet.seq, Fate::Dropped(Reason::Early)));
            return;
        }
        self.q.push_back(packet);
        if droptype == 1 {
            let victim = match self.p.victim {
                Victim::Tail => self.q.len() - 1,
                Victim::Random => self.rng.below(self.q.len() as u64) as usize,
                // ns has min(1, length − 1).
                Victim::Head => 0,
            };
            let gone = self.q.remove(victim).unwrap();
            log.push((gone.seq, Fate::Dropped(if full { Reason::BufferFull } else { Reason::Early })));
            self.count = 0;
            self.count_bytes = 0;
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        self.idle = Some(now.as_secs());
    }
}

/// Fails unless RED and the transcription decide the same about each packet; returns the number of packets of each
/// fate, in the order of [`tally`].
fn compare(params: Params, traffic: &Traffic, seed: u64) -> [usize; 5] {
    let qlim = 50;
    let arrivals = traffic.draw(seed);
    let rng = Rng::named(seed, "port");
    let mut reference = NsRed::new(&params, qlim, traffic.rate, rng.clone());
    let mut ours = Rig::new(&Spec::Red(params), &places(qlim as u64, traffic.rate), rng);
    let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
    assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
    tally(&log)
}

#[test]
fn the_classic_form_decides_as_ns_does_for_each_of_120_000_packets() {
    let params = Params { min: Some(Amount::packets(10)), max: Some(Amount::packets(40)), ecn: true, ..thesis() };
    let tally = compare(params, &Traffic::default(), 1);
    assert!(tally[..fate::UNRESPONSIVE].iter().all(|n| *n > 100), "every fate occurs: {tally:?}");
}

#[test]
fn the_defaults_of_ns_with_its_limit_on_marks_decide_as_ns_does() {
    let params = Params { ecn: true, mark_limit: Some(Fraction(0.1)), ..Params::default() };
    let traffic = Traffic { sizes: &[40, 552, 1500, 1500], packets: 150_000, ..Traffic::default() };
    let tally = compare(params, &traffic, 2);
    assert!(tally[..fate::FULL].iter().all(|n| *n > 100), "{tally:?}");
}

#[test]
fn red_with_each_kind_of_victim_decides_as_ns_does() {
    for (seed, victim) in [Victim::Tail, Victim::Head, Victim::Random].into_iter().enumerate() {
        let params = Params {
            min: Some(Amount::packets(10)),
            max: Some(Amount::packets(30)),
            victim,
            gentle: seed % 2 == 0,
            wait: true,
            weight: Some(0.02),
            ecn: true,
            max_p: Fraction(0.02),
            ..thesis()
        };
        compare(params, &Traffic::default(), 10 + seed as u64);
    }
}

#[test]
fn fengs_and_floyds_adaptive_red_decide_as_ns_does() {
    for (seed, adaptive) in [Adaptive::Feng(Feng::default()), Adaptive::Floyd(Floyd::default())].into_iter().enumerate()
    {
        let gentle = matches!(adaptive, Adaptive::Floyd(_));
        let params = Params {
            min: Some(Amount::packets(5)),
            max: Some(Amount::packets(20)),
            weight: Some(0.02),
            gentle,
            adaptive: Some(adaptive),
            ..thesis()
        };
        compare(params, &Traffic::default(), 20 + seed as u64);
    }
}
