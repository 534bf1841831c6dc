//! RED, CHOKe, PIE and SFQ in form "linux": transcriptions of the functions of Linux 6.1, and rules by hand.

use crate::link;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::law::pie::{Estimator, Params as PieParams, Pie};
use tailback_qdisc::law::red::{AboveMax, Adaptive, Count, Floyd, Idle, Params, Red};
use tailback_qdisc::law::{Arrival as Arriving, ArrivalLaw, Backlog, Decision, Form};
use tailback_qdisc::{Cx, Discipline, Ecn, Fate as Verdict, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::{Rng, maths};
use tailback_units::{Amount, Dur, Fraction, Rate, Size, Time};

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

fn packets(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

/// Returns RED with thresholds of 10 and 30 packets, of which the average is the queue itself.
fn red() -> Params {
    Params {
        min: Some(Amount::packets(10)),
        max: Some(Amount::packets(30)),
        max_p: Fraction(0.4),
        weight: Some(1.0),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        above_max: AboveMax::Mark,
        idle: Idle::None,
        form: Form::Linux,
        ..Params::default()
    }
}

/// `struct red_parms` and `struct red_vars` of `include/net/red.h`; the thresholds of `red_set_parms` are those times
/// 2^`w_log`.
struct Kernel {
    w_log: u32,
    qavg: u64,
    qth_min: u64,
    qth_max: u64,
    max_p: u32,
    qcount: i64,
    q_r: u64,
}

impl Kernel {
    fn red_random(&self, rng: &mut Rng) -> u64 {
        let range = (self.qth_max - self.qth_min) >> self.w_log;
        let step = u64::from((self.max_p / range as u32).max(1));
        ((rng.uniform() * 4_294_967_296.0) as u64) / step
    }
    fn red_calc_qavg_no_idle_time(&mut self, backlog: u64) -> u64 {
        self.qavg = self.qavg + backlog - (self.qavg >> self.w_log);
        self.qavg
    }
    fn red_action(&mut self, qavg: u64, rng: &mut Rng) -> Decision {
        if qavg < self.qth_min {
            self.qcount = -1;
            return Decision::Pass;
        }
        if qavg >= self.qth_max {
            self.qcount = -1;
            return Decision::Early;
        }
        self.qcount += 1;
        if self.qcount == 0 {
            self.q_r = self.red_random(rng);
            return Decision::Pass;
        }
        if ((qavg - self.qth_min) >> self.w_log) * (self.qcount as u64) < self.q_r {
            return Decision::Pass;
        }
        self.qcount = 0;
        self.q_r = self.red_random(rng);
        Decision::Early
    }
}

/// Compares each choice and each average with the kernel's, for a weight of 2^-`w_log`.
fn compare_with_red_action(w_log: u32) {
    let (mut ours, mut theirs) = (Rng::named(1, "red"), Rng::named(1, "red"));
    let weight = 1.0 / f64::from(1 << w_log);
    let mut law = Red::new(&Params { weight: Some(weight), ..red() }, Rate::mbit(10));
    let max_p = (0.4 * f64::from(u32::MAX)) as u32;
    let (qth_min, qth_max) = (10 << w_log, 30 << w_log);
    let mut kernel = Kernel { w_log, qavg: 0, qth_min, qth_max, max_p, qcount: -1, q_r: 0 };
    let (mut walk, mut queue, mut chosen) = (Rng::named(2, "queue"), 15, 0);
    for arrival in 0..50_000 {
        queue = (queue + walk.below(3)).saturating_sub(1).clamp(5, 34);
        let qavg = kernel.red_calc_qavg_no_idle_time(queue);
        let expected = kernel.red_action(qavg, &mut theirs);
        let found = law.arrive(ms(arrival), packets(queue), 1000, &mut ours);
        assert_eq!(found, expected, "arrival {arrival}, queue {queue}");
        assert_eq!(law.average(), qavg as f64 * weight, "arrival {arrival}, queue {queue}");
        chosen += usize::from(found == Decision::Early);
        // A full queue does not restart the count.
        if arrival % 97 == 0 {
            law.forced();
        }
    }
    assert!(chosen > 5_000, "{chosen}");
}

#[test]
fn red_chooses_as_red_action() {
    [0, 3, 9].into_iter().for_each(compare_with_red_action);
}

/// The average falls from above until its whole part is the number of waiting packets, and then stays.
#[test]
fn the_average_of_a_steady_queue_is_up_to_a_packet_larger() {
    let mut law = Red::new(&Params { weight: Some(1.0 / 512.0), ..red() }, Rate::mbit(10));
    (0..100).for_each(|time| _ = law.observe(ms(time), packets(1000)));
    (100..100_000).for_each(|time| _ = law.observe(ms(time), packets(5)));
    assert_eq!(law.average(), 5.0 + 511.0 / 512.0);
}

/// `red_adaptative_algo` every 500 ms, by hand: thresholds of 10 and 30 packets give a target of 18 to 22.
#[test]
fn max_p_adapts_at_each_expiry_to_the_average_of_that_time() {
    let adaptive = Some(Adaptive::Floyd(Floyd::default()));
    let mut law = Red::new(&Params { adaptive, max_p: Fraction(0.02), ..red() }, Rate::mbit(10));
    let rng = &mut Rng::named(1, "adapt");
    // The average is 25 from 100 ms on; the expiry at 500 ms raises max_p by a quarter, 0.005, at the next arrival.
    law.arrive(ms(100), packets(25), 1000, rng);
    assert_eq!(law.max_p(), 0.02);
    law.arrive(ms(501), packets(20), 1000, rng);
    assert_eq!(law.max_p(), 0.025);
    // At 1000 ms the average is 20, in the target.
    law.arrive(ms(1_001), packets(40), 1000, rng);
    assert_eq!(law.max_p(), 0.025);
    // At 1500, 2000 and 2500 ms it is 40: a quarter of 0.025, then of 0.03125, and 0.0097…, each below 0.01.
    law.arrive(ms(2_600), packets(12), 1000, rng);
    let raised = 0.025 * 1.25 * 1.25 * 1.25;
    assert!((law.max_p() - raised).abs() < 1e-12, "{}", law.max_p());
    // At 3000 and 3500 ms it is 12, below the target; the bound of 0.01 holds before the multiplication.
    law.arrive(ms(3_500), packets(12), 1000, rng);
    assert!((law.max_p() - raised * 0.81).abs() < 1e-12, "{}", law.max_p());
    law.arrive(ms(60_000), packets(12), 1000, rng);
    assert!((0.009..0.01).contains(&law.max_p()), "{}", law.max_p());
}

#[test]
fn without_ageing_an_idle_time_leaves_the_average_as_it_is() {
    let mut law = Red::new(&Params { weight: Some(0.5), ..red() }, Rate::mbit(10));
    law.observe(ms(0), packets(16));
    law.idle(ms(1));
    law.observe(ms(9_000), packets(0));
    assert_eq!(law.average(), 4.0);
}

/// `tc_red_eval_idle_damping` of iproute2 6.1, and `red_calc_qavg_from_idle_time`, in their integers.
struct Idling {
    /// Entries of the table, and the logarithm of the width of a cell, as tc computes them.
    stab: [u8; 256],
    cell_log: u32,
}

impl Idling {
    fn new(w_log: u32, bytes: u32, bytes_per_second: u32) -> Idling {
        let xmit_time = (1e6 * f64::from(bytes) / f64::from(bytes_per_second) * 15.625).ceil();
        let l_w = -maths::ln(1.0 - 1.0 / f64::from(1 << w_log)) / xmit_time;
        let cell_log = (0..32).find(|log| 31.0 / l_w / ((1_u64 << log) as f64) < 512.0).expect("a cell");
        let mut stab = [31; 256];
        stab[0] = 0;
        for (i, entry) in (1..255_u64).zip(&mut stab[1..]) {
            *entry = ((i << cell_log) as f64 * l_w).min(31.0) as u8;
        }
        Idling { stab, cell_log }
    }
    fn aged(&self, qavg: u64, us: u64) -> u64 {
        let us = us.min(255 << self.cell_log);
        let shift = self.stab[(us >> self.cell_log) as usize];
        let less = (qavg * us) >> self.cell_log;
        match shift {
            1.. => qavg >> shift,
            _ if less < qavg >> 1 => qavg - less,
            _ => qavg >> 1,
        }
    }
}

/// Idle times of 1 µs to 300 s, at links of 100 kbit/s to 1 Gbit/s.
#[test]
fn an_idle_time_ages_the_average_by_the_table_of_tc() {
    let mut random = Rng::named(1, "idle");
    let (mut halved, mut linear) = (0, 0);
    for (w_log, rate, queue) in [(9, 10_000_000, 55), (3, 100_000, 17), (5, 100_000_000, 203), (11, 1_000_000_000, 999)]
    {
        let kernel = Idling::new(w_log, 1000, rate / 8);
        for _ in 0..2_000 {
            let us = maths::pow(10.0, random.uniform() * 8.5) as u64;
            let weight = 1.0 / f64::from(1 << w_log);
            let params = Params { weight: Some(weight), idle: Idle::Original, ..red() };
            let mut law = Red::new(&params, Rate(rate.into()));
            (0..=500).for_each(|_| _ = law.observe(ms(1), packets(queue)));
            let qavg = (law.average() / weight) as u64;
            law.idle(ms(2));
            law.observe(ms(2) + Dur::from_us(us), packets(queue));
            let expected = kernel.aged(qavg, us);
            assert_eq!(law.average() / weight, expected as f64, "w_log {w_log}, {rate} bit/s, {qavg} after {us} us");
            halved += usize::from(expected < qavg / 2);
            linear += usize::from(expected > qavg / 2 && expected < qavg);
        }
    }
    assert!(halved > 500 && linear > 500, "{halved} {linear}");
}

/// Returns the error of a document.
fn refused(document: Value) -> String {
    decode::<Spec>(document)
        .map_or_else(|e| e.to_string(), |spec| Checked::check(&spec).expect_err("refused").to_string())
}

#[test]
fn a_form_of_linux_refuses_what_it_does_not_have_and_says_what_to_write() {
    let red = |more: Value| {
        let mut red = json!({ "kind": "red", "form": "linux", "gentle": false, "wait": false, "byte-mode": false, "idle": "none" });
        red.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        red
    };
    assert!(Checked::check(&decode::<Spec>(red(json!({}))).unwrap()).is_ok());
    for (document, word) in [
        (red(json!({ "gentle": true })), "gentle = false"),
        (red(json!({ "idle": "ns" })), "none"),
        (red(json!({ "victim": "head" })), "victim"),
        (red(json!({ "adaptive": { "kind": "feng" } })), "floyd"),
        (red(json!({ "adaptive": { "kind": "floyd", "interval": "1us" } })), "1ms"),
        (json!({ "kind": "choke", "form": "linux" }), "gentle = false"),
        (json!({ "kind": "pie", "form": "linux", "derandomise": false }), "derandomise"),
        (json!({ "kind": "fq-pie", "form": "linux", "pie": { "long-delay-step": false } }), "long-delay-step"),
        (json!({ "kind": "sfq", "form": "linux", "victim": "random" }), "victim"),
        (json!({ "kind": "sfq", "form": "linux", "overflow": "share" }), "longest"),
    ] {
        let message = refused(document.clone());
        assert!(message.contains(word) && message.contains("write"), "{document}: {message}");
    }
}

const SITE: Site = Site { bytes: u64::MAX, packets: 10_000, rate: Rate(10_000_000) };

/// Returns the flows of the packets that leave, in order, and the numbers of the arrivals that are dropped. The packets
/// have 1000 wire bytes, and all arrive before the first leaves.
fn served(document: Value, limit: u64, flows: &[u32]) -> (Vec<u32>, Vec<usize>) {
    let site = Site { packets: limit, ..SITE };
    let arrival = |flow: &u32| link::Arrival { at: Time::ZERO, flow: *flow, bytes: 1000, ecn: Ecn::NotEct };
    let arrivals: Vec<link::Arrival> = flows.iter().map(arrival).collect();
    let log = link::run(&mut link::build(document, &site), &arrivals, SITE.rate, 1, ms(1_000));
    (log.departed.iter().map(|d| d.flow).collect(), log.dropped.iter().map(|d| d.arrival).collect())
}

/// `choke_enqueue`: the average, here the queue itself, must exceed the threshold of one packet before a packet is
/// compared. Of one flow the first two packets wait; then each second arrival and a waiting packet are dropped.
#[test]
fn choke_compares_above_its_threshold() {
    let red = json!({ "gentle": false, "wait": false, "byte-mode": false, "idle": "none", "count": "packets",
                      "min": "1packets", "max": "1001packets", "max-p": 1e-6, "weight": 1.0 });
    let (left, dropped) = served(json!({ "kind": "choke", "form": "linux", "red": red }), 1_000, &[0; 10]);
    assert_eq!((left.len(), dropped.len()), (2, 8));
}

/// `choke_drop_by_idx`, `choke_len`: a limit of three packets has a ring of four places. Packets of the flows 0, 1 and 2 wait
/// in three of them; the next arrivals of flow 2 find the queue full, until one draws the packet of its own flow, which
/// leaves a hole. The arrival after it takes the fourth place: the ring, now taken for empty, never sends its three packets,
/// and is full for all others. Without holes, in the published form, all packets that are not dropped leave.
#[test]
fn choke_stops_when_packets_and_holes_fill_its_ring() {
    let red = json!({ "gentle": false, "wait": false, "byte-mode": false, "idle": "none", "count": "packets",
                      "min": "1packets", "max": "1001packets", "max-p": 1e-6, "weight": 1.0 });
    let choke = |form: &str| json!({ "kind": "choke", "form": form, "red": red });
    let flows: Vec<u32> = [0, 1].into_iter().chain([2; 98]).collect();
    let (left, dropped) = served(choke("linux"), 3, &flows);
    assert_eq!((left.len(), dropped.len()), (0, 97));
    let (left, dropped) = served(choke("published"), 3, &flows);
    assert!(left.len() >= 2 && left.len() + dropped.len() == flows.len(), "{left:?}");
}

/// `choke_dequeue`: packets that are stuck still wait, so that a scheduler calls dequeue and gets none, which begins an idle
/// time, also with `idle` "none". The next arrival finds an aged average, here one of 0 after 1000 s, although packets wait;
/// an arrival that follows it without an idle time adds their number. The seven packets, the limit, are stuck with a hole.
#[test]
fn a_choke_that_has_stopped_ages_its_average() {
    let red = json!({ "gentle": false, "wait": false, "byte-mode": false, "idle": "none", "count": "packets",
                      "min": "1packets", "max": "1001packets", "max-p": 1e-6, "weight": 0.5 });
    let site = Site { packets: 7, ..SITE };
    let mut choke = link::build(json!({ "kind": "choke", "form": "linux", "red": red }), &site);
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let arrive = |choke: &mut Discipline, at, flow, cx: &mut Cx<'_>| {
        let arrival = link::Arrival { at, flow, bytes: 1000, ecn: Ecn::NotEct };
        choke.enqueue(at, link::packet(&arrival, 0), cx);
        let mut found = [0.0; 2];
        choke.probe(&mut |name, value| match name {
            "stuck" => found[0] = value,
            "average_packets" => found[1] = value,
            _ => {}
        });
        found
    };
    let stuck =
        [0, 1].into_iter().chain([2; 98]).map(|flow| arrive(&mut choke, Time::ZERO, flow, cx)[0]).last().unwrap();
    assert_eq!((stuck, choke.packets()), (7.0, 7));
    assert!(choke.dequeue(ms(1), &Gate::default(), cx).is_none());
    assert_eq!(arrive(&mut choke, ms(1_000_001), 3, cx), [stuck, 0.0]);
    assert_eq!(arrive(&mut choke, ms(1_000_001), 4, cx), [stuck, 0.5 * stuck]);
}

/// `fq_codel_drop`: of queues with equal bytes the first one in the table loses the packet. Five
/// packets of the flows 9, 0, 1 and 2 wait, two of flow 2, as many as the limit. Flow 3 exceeds it: the two packets of
/// flow 2 are the most. From then on each queue has one packet, and the first one in use loses it: flow 9 at the arrival
/// of flow 4, flow 0 at that of flow 5, its next packet at its own arrival, and flow 1 at that of flow 6.
#[test]
fn fq_codel_drops_from_the_first_of_the_longest_queues() {
    let document = json!({ "kind": "fq-codel", "buckets": "per-flow", "form": "linux", "batch": 1 });
    let flows = [9, 0, 1, 2, 2, 3, 4, 5, 0, 6];
    let (_, dropped) = served(document, 5, &flows);
    let of: Vec<u32> = dropped.iter().map(|i| flows[*i]).collect();
    assert_eq!(of, [2, 9, 0, 0, 1]);
}

/// `sfq_dequeue`: with 1514 B per round a queue sends two packets of 1000 B and owes 486 B, which its next turn pays.
#[test]
fn sfq_sends_while_the_allotment_is_positive() {
    let document = |form: &str| json!({ "kind": "sfq", "buckets": "per-flow", "quantum": "1514B", "form": form });
    let flows = [0, 0, 0, 1, 1, 1];
    assert_eq!(served(document("linux"), 100, &flows).0, [0, 0, 1, 1, 0, 1]);
    assert_eq!(served(document("published"), 100, &flows).0, [0, 1, 0, 0, 1, 1]);
}

/// `sfq_drop`: the longest queue is that with the most packets, of equal ones the last that reached its length.
/// `sfq_change`: there are as many queues as packets may wait, so that a packet of another flow is dropped if each of
/// them has one.
#[test]
fn sfq_drops_from_the_queue_with_the_most_packets() {
    let linux = |victim: &str| json!({ "kind": "sfq", "buckets": "per-flow", "form": "linux", "victim": victim });
    for (victim, limit, flows, dropped) in [
        ("tail", 4, &[0, 0, 1, 1, 2][..], 3),
        ("head", 4, &[0, 0, 1, 1, 2], 2),
        ("tail", 5, &[0, 0, 0, 1, 1, 2], 2),
        ("tail", 2, &[0, 1, 2], 2),
        ("tail", 2, &[0, 1, 0], 2),
    ] {
        assert_eq!(served(linux(victim), limit, flows).1, [dropped], "{victim} {limit} {flows:?}");
    }
}

/// `struct pie_vars` with the functions of `net/sched/sch_pie.c`; times are in ticks of 64 ns.
#[derive(Default)]
struct Sch {
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// `u64::MAX`: invalid.
    dq_tstamp: u64,
    prob: u64,
    accu_prob: u64,
    /// -1: invalid.
    dq_count: i64,
    avg_dq_rate: u64,
    dq_rate_estimator: bool,
}

const MAX_PROB: u64 = u64::MAX >> 8;
const TARGET: u64 = 15_000_000 / 64;
const MTU: u64 = 1514;

impl Sch {
    fn init(&mut self) {
        (self.burst_time, self.dq_tstamp, self.accu_prob) = (150_000_000 / 64, u64::MAX, 0);
        (self.dq_count, self.avg_dq_rate) = (-1, 0);
    }
    fn drop_early(&mut self, backlog: u64, rng: &mut Rng) -> bool {
        if self.burst_time > 0 || (self.qdelay < TARGET / 2 && self.prob < MAX_PROB / 5) || backlog < 2 * MTU {
            return false;
        }
        self.accu_prob = if self.prob == 0 { 0 } else { self.accu_prob + self.prob };
        if self.accu_prob < (MAX_PROB / 100) * 85 {
            return false;
        }
        if self.accu_prob >= (MAX_PROB / 2) * 17 {
            return true;
        }
        if rng.uniform() * (MAX_PROB as f64) < self.prob as f64 {
            self.accu_prob = 0;
            return true;
        }
        false
    }
    fn process_dequeue(&mut self, now: u64, enqueued: u64, len: u64, backlog: u64) {
        let mut dtime = 0;
        if self.dq_rate_estimator {
            if backlog >= 16_384 && self.dq_count == -1 {
                (self.dq_tstamp, self.dq_count) = (now, 0);
            }
            if self.dq_count == -1 {
                return;
            }
            self.dq_count += len as i64;
            dtime = now - self.dq_tstamp;
            if self.dq_count < 16_384 || dtime == 0 {
                return;
            }
            let count = ((self.dq_count as u64) << 8) / dtime;
            self.avg_dq_rate =
                if self.avg_dq_rate == 0 { count } else { self.avg_dq_rate - (self.avg_dq_rate >> 3) + (count >> 3) };
            if backlog < 16_384 {
                self.dq_count = -1;
            } else {
                (self.dq_count, self.dq_tstamp) = (0, now);
            }
        } else {
            self.qdelay = if backlog > 0 { now - enqueued } else { 0 };
            if self.dq_tstamp != u64::MAX {
                dtime = now - self.dq_tstamp;
            }
            self.dq_tstamp = now;
        }
        self.burst_time = self.burst_time.saturating_sub(dtime);
    }
    fn calculate_probability(&mut self, backlog: u64) {
        let (qdelay, qdelay_old) = if self.dq_rate_estimator {
            let old = self.qdelay;
            self.qdelay_old = old;
            ((backlog << 8).checked_div(self.avg_dq_rate).unwrap_or(0), old)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        let mut update_prob = !(qdelay == 0 && backlog != 0);
        let (mut alpha, mut beta) = ((2 * (MAX_PROB / 15_625_000)) >> 4, (20 * (MAX_PROB / 15_625_000)) >> 4);
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < MAX_PROB / power && power <= 1_000_000 {
                (alpha, beta, power) = (alpha >> 2, beta >> 2, power * 10);
            }
        }
        let mut delta =
            (alpha as i64) * (qdelay as i64 - TARGET as i64) + (beta as i64) * (qdelay as i64 - qdelay_old as i64);
        let oldprob = self.prob;
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = ((MAX_PROB / 100) * 2) as i64;
        }
        if qdelay > 250_000_000 / 64 {
            delta += (MAX_PROB / 50) as i64;
        }
        self.prob = self.prob.wrapping_add(delta as u64);
        if delta > 0 {
            if self.prob < oldprob {
                self.prob = MAX_PROB;
                update_prob = false;
            }
        } else if self.prob > oldprob {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && update_prob {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let measured = !self.dq_rate_estimator || self.avg_dq_rate > 0;
        if self.qdelay < TARGET / 2 && self.qdelay_old < TARGET / 2 && self.prob == 0 && measured {
            self.init();
        }
        if !self.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }
}

/// Returns the numbers of packets that join, are marked and are dropped by PIE, after a comparison of each fate with
/// that of the transcription. A queue of 1000 B packets is served at 8 Mbit/s, and loaded more and less in turns.
fn compared(estimator: Estimator, ecn: bool) -> [usize; 3] {
    let params = PieParams { form: Form::Linux, ecn, estimator, ..PieParams::default() };
    let mut law = Pie::new(&params);
    let mut kernel = Sch { dq_rate_estimator: estimator == Estimator::DepartureRate, ..Sch::default() };
    kernel.init();
    let (mut ours, mut theirs, mut load) = (Rng::named(1, "pie"), Rng::named(1, "pie"), Rng::named(2, "load"));
    let (mut queue, mut found) = (std::collections::VecDeque::new(), [0; 3]);
    // Times are multiples of 64 ns.
    for tick in 1..400_000_u64 {
        let now = Time::ZERO + Dur::from_us(64 * tick);
        let now_ticks = 1_000 * tick;
        if law.next_update().expect("PIE has a timer") <= now {
            let backlog = packets(queue.len() as u64);
            law.update(now, backlog);
            kernel.calculate_probability(backlog.bytes);
            let p = kernel.prob as f64 / MAX_PROB as f64;
            assert!((law.probability() - p.min(1.0)).abs() < 1e-5, "{tick}: {} {p}", law.probability());
        }
        let share = [0.03, 0.066, 0.02, 0.09][(tick / 20_000 % 4) as usize];
        if load.chance(share) {
            let code = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
            let mut packet = Packet::new(0, Traits::data(0, true).with_ecn(code), Time::ZERO, 0, 1);
            packet.set_lengths(1000, 1000);
            packet.at = now;
            let backlog = packets(queue.len() as u64);
            let fate = law.judge(&Arriving { now, packet: &packet, queue: backlog, full: false }, &mut ours);
            let expected = if !kernel.drop_early(backlog.bytes, &mut theirs) {
                Verdict::Joins
            } else if ecn && kernel.prob <= MAX_PROB / 10 {
                Verdict::Marked
            } else {
                kernel.accu_prob = 0;
                Verdict::Dropped(Reason::Early)
            };
            assert_eq!(fate, expected, "{tick}");
            found[match fate {
                Verdict::Joins => 0,
                Verdict::Marked => 1,
                Verdict::Dropped(_) => 2,
            }] += 1;
            if !matches!(fate, Verdict::Dropped(_)) {
                queue.push_back(packet);
            }
        }
        // A packet leaves every 1.024 ms.
        if tick % 16 == 0
            && let Some(packet) = queue.pop_front()
        {
            let left = packets(queue.len() as u64);
            law.depart(now, &packet, left);
            kernel.process_dequeue(now_ticks, packet.at.0 / 64_000, 1000, left.bytes);
        }
    }
    found
}

#[test]
fn pie_decides_as_sch_pie() {
    for (estimator, ecn) in [
        (Estimator::Timestamp, false),
        (Estimator::Timestamp, true),
        (Estimator::DepartureRate, false),
        (Estimator::DepartureRate, true),
    ] {
        let [joined, marked, dropped] = compared(estimator, ecn);
        assert!(joined > 10_000 && dropped > 1_000 && (marked > 50) == ecn, "{joined} {marked} {dropped}");
    }
}
