//! Stochastic fair Blue compared packet by packet with transcriptions of the report's figure and of Linux's `sch_sfb`.
//! The transcriptions use the hash function under test.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::sfb::{BinFull, Bins, Form, LowerAt, Params, Rehash, Warmed};
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Time};

/// UM CSE-TR-387-99, figure of SFB: levels and bins with a queue length and a probability each.
struct Report {
    rng: Rng,
    q: VecDeque<Held>,
    limit: usize,
    /// For each bin of each level the queue length, the probability, and the time in s of the probability's last
    /// change.
    b: Vec<Vec<(u64, f64, f64)>>,
    hash: Bins,
    bin_size: u64,
    /// Increment and decrement.
    delta: (f64, f64),
    freeze: f64,
    drop_if_full: BinFull,
    /// `true` if a bin's probability falls when its last packet leaves, as in Feng's code for ns.
    at_dequeue: bool,
    boxtime: f64,
    last_pass: Option<f64>,
}

impl Queue for Report {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        if self.hash.seed() == 0 {
            self.hash.draw(&mut self.rng);
            // The seed of the second set of bins, which is not used without a moving hash.
            self.rng.bits();
        }
        let now = arrival.at.as_secs();
        let mut packet = Held::new(arrival);
        let h: Vec<usize> = self.hash.of(packet.flow).collect();
        let mut pmin = 1.0;
        let mut full = 0;
        for (level, bin) in self.b.iter_mut().zip(&h) {
            let (qlen, pm, last) = &mut level[*bin];
            if *qlen > self.bin_size {
                full += 1;
                if now - *last > self.freeze {
                    *pm = if *pm + self.delta.0 > 1.0 { 1.0 } else { *pm + self.delta.0 };
                    *last = now;
                }
            } else if *qlen == 0 && !self.at_dequeue && now - *last > self.freeze {
                *pm = if *pm - self.delta.1 < 0.0 { 0.0 } else { *pm - self.delta.1 };
                *last = now;
            }
            if *pm < pmin {
                pmin = *pm;
            }
        }
        let refused = match self.drop_if_full {
            BinFull::Increase => false,
            BinFull::DropAny => full > 0,
            BinFull::DropAll => full == h.len(),
        };
        if refused {
            log.push((packet.seq, Fate::Dropped(Reason::Early)));
            return;
        }
        if pmin == 1.0 {
            if self.last_pass.is_some_and(|last| now - last < self.boxtime) {
                log.push((packet.seq, Fate::Dropped(Reason::Unresponsive)));
                return;
            }
            self.last_pass = Some(now);
        } else if self.rng.uniform() < pmin {
            if !packet.ect {
                let why = if self.q.len() >= self.limit { Reason::BufferFull } else { Reason::Early };
                log.push((packet.seq, Fate::Dropped(why)));
                return;
            }
            packet.marked = true;
        }
        if self.q.len() >= self.limit {
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        (0..h.len()).for_each(|i| self.b[i][h[i]].0 += 1);
        self.q.push_back(packet);
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        for (i, bin) in self.hash.of(packet.flow).enumerate() {
            let (qlen, pm, last) = &mut self.b[i][bin];
            *qlen -= 1;
            if *qlen == 0 && self.at_dequeue && now.as_secs() - *last > self.freeze {
                *pm = if *pm - self.delta.1 < 0.0 { 0.0 } else { *pm - self.delta.1 };
                *last = now.as_secs();
            }
        }
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

fn steep() -> Traffic {
    // There are few flows, so that some keep their bins full for a long time.
    Traffic {
        flows: 12,
        loads: &[0.3, 1.1, 2.0, 4.0],
        phase: Dur::from_secs(2),
        packets: 150_000,
        ..Traffic::default()
    }
}

#[test]
fn the_published_form_gives_each_of_150_000_packets_its_fate_in_the_figure() {
    let traffic = steep();
    let arrivals = traffic.draw(1);
    let mut total = [0; 5];
    let forms = [
        (BinFull::Increase, LowerAt::Arrival),
        (BinFull::DropAny, LowerAt::Arrival),
        (BinFull::DropAll, LowerAt::Arrival),
        (BinFull::Increase, LowerAt::Departure),
    ];
    for (seed, (bin_full, lower_at)) in (1..).zip(forms) {
        let rng = Rng::named(seed, "port");
        let steps = Params { increment: Some(0.02), bin_size: Some(6), ..Params::default() };
        let params = Params { ecn: true, bin_full, lower_at, ..steps };
        let mut reference = Report {
            rng: rng.clone(),
            q: VecDeque::new(),
            limit: 60,
            b: vec![vec![(0, 0.0, 0.0); 23]; 2],
            hash: Bins::new(2, 23),
            bin_size: 6,
            delta: (0.02, 0.001),
            freeze: 0.01,
            drop_if_full: bin_full,
            at_dequeue: lower_at == LowerAt::Departure,
            boxtime: 0.05,
            last_pass: None,
        };
        let mut ours = Rig::new(&Spec::Sfb(params), &places(60, traffic.rate), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        total.iter_mut().zip(tally(&log)).for_each(|(sum, n)| *sum += n);
    }
    assert!(total.iter().all(|n| *n > 100), "every fate occurs: {total:?}");
}

const MAX_PROB: u32 = 0xffff;

/// `sch_sfb`: eight levels of sixteen bins in two slots, 16-bit probabilities, tokens.
struct Kernel {
    rng: Rng,
    q: VecDeque<(Held, [Option<Vec<usize>>; 2])>,
    limit: usize,
    /// For each bin of each level of each slot, the queue length and the probability.
    bins: [Vec<Vec<(u32, u32)>>; 2],
    hash: [Bins; 2],
    slot: usize,
    double_buffering: bool,
    rehash_time: Time,
    rehash_interval: Dur,
    warmup_time: Dur,
    tokens_avail: u64,
    token_time: Time,
}

impl Kernel {
    fn update(level: &mut [(u32, u32)], bin: usize) -> (u32, u32) {
        let b = &mut level[bin];
        if b.0 == 0 {
            b.1 = b.1.saturating_sub(11);
        } else if b.0 >= 20 {
            b.1 = (b.1 + 66).min(MAX_PROB);
        }
        *b
    }
    fn rate_limit(&mut self, now: Time) -> bool {
        if self.tokens_avail < 1 {
            let age = now.since(self.token_time).min(Dur::from_secs(10));
            self.tokens_avail = ((age.as_secs() * 10.0) as u64).min(20);
            self.token_time = now;
            if self.tokens_avail < 1 {
                return true;
            }
        }
        self.tokens_avail -= 1;
        false
    }
}

impl Queue for Kernel {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = arrival.at;
        let mut packet = Held::new(arrival);
        if self.q.len() >= self.limit {
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        if self.hash[0].seed() == 0 {
            self.hash.iter_mut().for_each(|h| h.draw(&mut self.rng));
        }
        let limit = self.rehash_time + self.rehash_interval;
        if now > limit {
            self.hash[self.slot].draw(&mut self.rng);
            self.slot ^= 1;
            self.double_buffering = false;
            self.rehash_time = now;
        } else if !self.double_buffering && now.0 > limit.0 - self.warmup_time.0 {
            self.double_buffering = true;
        }
        let (slot, other) = (self.slot, self.slot ^ 1);
        let mut hashes = [None, None];
        let found: Vec<usize> = self.hash[slot].of(packet.flow).collect();
        let (mut p_min, mut minqlen) = (u32::MAX, u32::MAX);
        for (level, bin) in found.iter().enumerate() {
            let (qlen, p) = Kernel::update(&mut self.bins[slot][level], *bin);
            minqlen = minqlen.min(qlen);
            p_min = p_min.min(p);
        }
        hashes[slot] = Some(found);
        if minqlen >= 25 {
            log.push((packet.seq, Fate::Dropped(Reason::Early)));
            return;
        }
        if p_min >= MAX_PROB {
            if self.double_buffering {
                let found: Vec<usize> = self.hash[other].of(packet.flow).collect();
                for (level, bin) in found.iter().enumerate() {
                    Kernel::update(&mut self.bins[other][level], *bin);
                }
                hashes[other] = Some(found);
            }
            if self.rate_limit(now) {
                log.push((packet.seq, Fate::Dropped(Reason::Unresponsive)));
                return;
            }
        } else {
            let r = (self.rng.uniform() * 65_536.0) as u32;
            if r < p_min {
                if (p_min > MAX_PROB / 2 && r < (p_min - MAX_PROB / 2) * 2) || !packet.ect {
                    log.push((packet.seq, Fate::Dropped(Reason::Early)));
                    return;
                }
                packet.marked = true;
            }
        }
        for (slot, found) in hashes.iter().enumerate() {
            found.iter().flatten().enumerate().for_each(|(level, bin)| self.bins[slot][level][*bin].0 += 1);
        }
        self.q.push_back((packet, hashes));
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let (packet, hashes) = self.q.pop_front()?;
        for (slot, found) in hashes.iter().enumerate() {
            for (level, bin) in found.iter().flatten().enumerate() {
                let qlen = &mut self.bins[slot][level][*bin].0;
                *qlen = qlen.saturating_sub(1);
            }
        }
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

#[test]
fn linuxs_form_gives_each_of_150_000_packets_its_fate_in_the_kernel() {
    let traffic = steep();
    let arrivals = traffic.draw(2);
    let rng = Rng::named(1, "port");
    let rehash = Rehash {
        interval: Dur::from_secs(8),
        warm_up: Some(Dur::from_secs(4)),
        warmed_by: Warmed::Unresponsive,
        double_buffer: true,
        cap: Fraction(1.0),
    };
    let (levels, bins) = (8, 16);
    let set = vec![vec![(0, 0); bins]; levels];
    let mut reference = Kernel {
        rng: rng.clone(),
        q: VecDeque::new(),
        limit: 200,
        bins: [set.clone(), set],
        hash: [Bins::new(levels, bins), Bins::new(levels, bins)],
        slot: 0,
        double_buffering: false,
        rehash_time: Time::ZERO,
        rehash_interval: Dur::from_secs(8),
        warmup_time: Dur::from_secs(4),
        tokens_avail: 20,
        token_time: Time::ZERO,
    };
    let params = Params { form: Form::Linux, ecn: true, rehash: Some(rehash), ..Params::default() };
    let mut ours = Rig::new(&Spec::Sfb(params), &places(200, traffic.rate), rng);
    let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
    assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
    let tally = tally(&log);
    assert!(tally[..fate::FULL].iter().all(|n| *n > 100), "{tally:?}");
}
