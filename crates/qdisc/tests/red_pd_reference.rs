//! RED-PD compared packet by packet with a transcription of ns-2.35: the filter of `queue/red-pd.cc` in front of
//! [`NsRed`], and the script that sets its probabilities (`tcl/ex/red-pd`, by the authors of the ICNP 2001 paper).
//!
//! The transcription differs from the script as `docs/mechanisms/red-pd.md` states: no test for unresponsive flows, the
//! first interval ends after ten round-trip times, probabilities fall at the end of an interval and not 1 ms later, and
//! drops by the filter do not raise a probability.

use crate::common::*;
use crate::red_reference::NsRed;
use std::collections::BTreeMap;
use tailback_qdisc::discipline::red_pd::Params;
use tailback_qdisc::law::red::{self, Count};
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Rate, Size, Time};

/// `RedPDFlow` with the flow monitor's counts of an interval, and the flow's entry in `mon_flow_hist_`.
#[derive(Clone, Copy, Default)]
struct Flow {
    monitored: bool,
    target_bw: f64,
    count: i64,
    bdrops: u64,
    mon_ebdrops: u64,
    last_change: Time,
}

struct NsRedPd {
    red: NsRed,
    flows: Vec<(u32, Flow)>,
    slots: BTreeMap<u32, usize>,
    barrivals: u64,
    bdrops: u64,
    mon_ebdrops: u64,
    high_dr_flow_hist: Vec<Vec<(usize, u64)>>,
    avg_drop_rate: f64,
    /// `BList_` and `Bindex_`: the lengths of the last intervals in a ring.
    b_list: Vec<Dur>,
    b_index: usize,
    detect_at: Time,
    target_rtt: Dur,
    max_drop_list: usize,
    max_high_dr_flow_hist: usize,
    x_in_regular: usize,
    min_time_to_consider: Dur,
    /// Number of increases of a probability; the following fields count decreases, flows that are no longer monitored,
    /// and targets that are halved.
    raised: u32,
    lowered: u32,
    unmonitored: u32,
    halved: u32,
}

impl NsRedPd {
    fn new(p: &Params, qlim: usize, rate: Rate, rng: Rng) -> NsRedPd {
        NsRedPd {
            red: NsRed::new(&p.red, qlim, rate, rng),
            flows: Vec::new(),
            slots: BTreeMap::new(),
            barrivals: 0,
            bdrops: 0,
            mon_ebdrops: 0,
            high_dr_flow_hist: Vec::new(),
            avg_drop_rate: -1.0,
            b_list: vec![Dur::ZERO; p.intervals as usize],
            b_index: 0,
            detect_at: Time::ZERO + p.rtt * 10,
            target_rtt: p.rtt,
            max_drop_list: p.flows as usize,
            max_high_dr_flow_hist: p.intervals as usize,
            x_in_regular: p.needed as usize,
            min_time_to_consider: p.hold,
            raised: 0,
            lowered: 0,
            unmonitored: 0,
            halved: 0,
        }
    }
    fn insert_high_dr_flows(&mut self) {
        let mut drop_list: Vec<(usize, u64)> = Vec::new();
        for (i, (_, flow)) in self.flows.iter().enumerate() {
            let flow_bdrops = flow.bdrops - flow.mon_ebdrops;
            if flow_bdrops > 0 {
                drop_list.push((i, flow_bdrops));
            }
        }
        if drop_list.len() > self.max_drop_list {
            drop_list.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            drop_list.truncate(self.max_drop_list);
        }
        self.high_dr_flow_hist.push(drop_list);
        if self.high_dr_flow_hist.len() > self.max_high_dr_flow_hist {
            self.high_dr_flow_hist.remove(0);
        }
    }
    /// Returns the number of drop lists in the history that contain the flow `i`, and the sum of its bytes in them.
    fn visits(&self, i: usize) -> (usize, u64) {
        let (mut flow_count, mut drop_count) = (0, 0);
        for drop_list in &self.high_dr_flow_hist {
            for (flow, bytes) in drop_list {
                if *flow == i {
                    flow_count += 1;
                    drop_count += bytes;
                }
            }
        }
        (flow_count, drop_count)
    }
    fn min_last_change(&self, no_b: usize) -> Dur {
        let mut sum = 0;
        let n = self.b_list.len();
        for back in 1..=no_b {
            sum += self.b_list[(self.b_index + 2 * n - back) % n].0;
        }
        if sum < self.min_time_to_consider.0 { self.min_time_to_consider } else { Dur(sum) }
    }
    fn calculate_b(&mut self, p: f64) -> Dur {
        let (min_time, max_time) = (Dur(2 * self.target_rtt.0), Dur(10 * self.target_rtt.0));
        if p == 0.0 {
            return max_time;
        }
        let x_by_y_r = self.x_in_regular as f64 / self.max_high_dr_flow_hist as f64 * self.target_rtt.as_secs();
        let mut time_after = Dur::from_secs_f64(x_by_y_r / (1.5 * p).sqrt());
        if time_after > max_time {
            time_after = max_time;
        }
        if time_after < min_time {
            time_after = min_time;
        }
        self.b_list[self.b_index] = time_after;
        self.b_index = (self.b_index + 1) % self.max_high_dr_flow_hist;
        time_after
    }
    fn do_detect(&mut self, now: Time) {
        let bdrops = self.bdrops - self.mon_ebdrops;
        let barrivals = self.barrivals - self.mon_ebdrops;
        let curr_drop_rate = if barrivals == 0 { 0.0 } else { bdrops as f64 / barrivals as f64 };
        // insertNCalDropRate
        if self.avg_drop_rate == -1.0 {
            self.avg_drop_rate = curr_drop_rate;
        } else {
            self.avg_drop_rate = 0.5 * curr_drop_rate + (1.0 - 0.5) * self.avg_drop_rate;
        }
        let avg_drop_rate = self.avg_drop_rate;
        let usable = if curr_drop_rate <= avg_drop_rate { curr_drop_rate } else { avg_drop_rate };
        self.insert_high_dr_flows();
        let mut regular_list = Vec::new();
        for i in 0..self.flows.len() {
            let (flow_count, drop_count) = self.visits(i);
            if flow_count >= self.x_in_regular {
                regular_list.push((i, drop_count));
            }
        }
        let sum: u64 = regular_list.iter().map(|(_, drop_count)| drop_count).sum();
        let avg_drop_count = sum as f64 / regular_list.len() as f64;
        if curr_drop_rate > 0.001 {
            let min_last_change = self.min_last_change(4);
            for (i, drop_count) in regular_list {
                let flow = &mut self.flows[i].1;
                // bdrops_ alone in the script, which counts drops by the filter, too.
                let dropped = flow.bdrops - flow.mon_ebdrops;
                if now.since(flow.last_change) < min_last_change || dropped == 0 {
                    continue;
                }
                let pre_drop_rate = usable * drop_count as f64 / avg_drop_count;
                if flow.monitored {
                    let old_target = flow.target_bw;
                    let old_drop_p = 1.0 - old_target;
                    let new_drop_p =
                        if pre_drop_rate > old_drop_p { 2.0 * old_drop_p } else { old_drop_p + pre_drop_rate };
                    let mut new_target = 1.0 - new_drop_p;
                    if new_target < 0.0 {
                        new_target = old_target / 2.0;
                        self.halved += 1;
                    }
                    flow.target_bw = new_target;
                    self.raised += 1;
                } else {
                    let new_drop_p = if pre_drop_rate > 2.0 * usable { 2.0 * usable } else { pre_drop_rate };
                    flow.target_bw = if 1.0 - new_drop_p < 0.5 { 0.5 } else { 1.0 - new_drop_p };
                    flow.monitored = true;
                }
                flow.last_change = now;
            }
        }
        self.detect_at = now + self.calculate_b(avg_drop_rate);
        for (_, flow) in &mut self.flows {
            (flow.bdrops, flow.mon_ebdrops) = (0, 0);
        }
        (self.barrivals, self.bdrops, self.mon_ebdrops) = (0, 0, 0);
    }
    fn do_reward(&mut self, now: Time) {
        let min_last_change = self.min_last_change(3);
        for i in 0..self.flows.len() {
            let irregular = self.visits(i).0 == 0;
            let flow = &mut self.flows[i].1;
            if !flow.monitored || !irregular || now.since(flow.last_change) < min_last_change {
                continue;
            }
            if flow.target_bw >= 0.995 {
                flow.monitored = false;
                self.unmonitored += 1;
            } else {
                let drop_p = 1.0 - flow.target_bw;
                // maxPReduction_ is 0.05.
                flow.target_bw = if drop_p > 2.0 * 0.05 { 1.0 - (drop_p - 0.05) } else { 1.0 - drop_p / 2.0 };
                self.lowered += 1;
            }
            flow.last_change = now;
        }
    }
}

impl Queue for NsRedPd {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let size = u64::from(arrival.size);
        let next = self.flows.len();
        let i = *self.slots.entry(arrival.flow).or_insert(next);
        if i == next {
            self.flows.push((arrival.flow, Flow::default()));
        }
        self.barrivals += size;
        let flow = &mut self.flows[i].1;
        if flow.monitored {
            // getP_monFlow with a currentBW of 1, then modify_p without bytes and wait.
            let mut p = 1.0 - flow.target_bw;
            if p != 0.0 {
                p = if flow.count as f64 * p < 1.0 { p / (1.0 - flow.count as f64 * p) } else { 1.0 };
                let u = self.red.rng.uniform();
                if u <= p && self.red.v_ave >= self.red.th_min && self.red.q.len() > 1 {
                    flow.mon_ebdrops += size;
                    flow.bdrops += size;
                    self.mon_ebdrops += size;
                    self.bdrops += size;
                    flow.count = 0;
                    log.push((arrival.seq, Fate::Dropped(Reason::Unresponsive)));
                    return;
                }
                flow.count += 1;
            }
        }
        let before = log.len();
        self.red.arrive(arrival, log);
        if log.len() > before {
            self.flows[i].1.bdrops += size;
            self.bdrops += size;
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        self.red.leave(now, log)
    }
    fn idle(&mut self, now: Time, log: &mut Log) {
        self.red.idle(now, log);
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.detect_at)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        self.do_detect(now);
        self.do_reward(now);
    }
}

/// Returns traffic in which each of six flows in turn sends 40 % of the packets for 8 s. With these sizes shares of
/// bytes differ from shares of packets.
fn floods(seed: u64, packets: u32) -> Vec<Arrival> {
    let mut rng = Rng::named(seed, "flood");
    let traffic = Traffic {
        packets,
        flows: 30,
        sizes: &[200, 1000, 1500],
        ect: 0.0,
        loads: &[0.8, 1.3, 2.0, 3.0],
        phase: Dur::from_secs(2),
        ..Traffic::default()
    };
    let mut arrivals = traffic.draw(seed);
    for a in &mut arrivals {
        let turn = (a.at.as_secs() / 8.0) as u32 % 6;
        if rng.chance(0.4) {
            a.flow = 30 + turn;
        }
    }
    arrivals
}

#[test]
fn red_pd_gives_each_of_200_000_packets_its_fate_in_ns() {
    let red = red::Params {
        min: Some(Amount::packets(10)),
        max: Some(Amount::packets(30)),
        weight: Some(0.002),
        gentle: true,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(900),
        ..red::Params::default()
    };
    let (mut changes, mut fates) = ([0; 4], [0; 5]);
    let forms = [
        Params { red: red.clone(), ..Params::default() },
        // A drop list of 8 flows, which is full, and no minimum time between changes.
        Params { red: red.clone(), flows: 8, hold: Dur::ZERO, ..Params::default() },
        Params {
            red: red.clone(),
            rtt: Dur::from_ms(100),
            intervals: 7,
            needed: 4,
            hold: Dur::from_ms(100),
            ..Params::default()
        },
        // The average is the queue, which is often exactly at the threshold.
        Params { red: red::Params { weight: Some(1.0), ..red }, ..Params::default() },
    ];
    for (seed, params) in (1..).zip(forms) {
        let (rate, qlim) = (Traffic::default().rate, 60);
        let arrivals = floods(seed, 200_000);
        let rng = Rng::named(seed, "port");
        let mut reference = NsRedPd::new(&params, qlim, rate, rng.clone());
        let mut ours = Rig::new(&Spec::RedPd(params), &places(qlim as u64, rate), rng);
        let log = serve(&mut ours, rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, rate, &arrivals, |_, _| {}));
        let counts = [reference.raised, reference.lowered, reference.unmonitored, reference.halved];
        changes.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        fates.iter_mut().zip(tally(&log)).for_each(|(sum, n)| *sum += n);
    }
    println!("raised, lowered, unmonitored, halved: {changes:?}; fates {fates:?}");
    assert!(changes[..3].iter().all(|n| *n > 20), "probabilities rise and fall: {changes:?}");
    assert!(
        [fates[fate::UNMARKED], fates[fate::EARLY], fates[fate::UNRESPONSIVE]].iter().all(|n| *n > 5_000)
            && fates[fate::FULL] > 100,
        "{fates:?}"
    );
}
