//! FRED, SRED and CHOKe compared packet by packet with transcriptions of their papers; the share of a flood under FRED,
//! CHOKe, RED-PD and FQ-CoDel.

use crate::common::{Arrival, Fate, Held, Log, Queue, Rig, Traffic, assert_same, fate, places, serve, tally};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use tailback_document::decode;
use tailback_qdisc::{Qdisc, Reason, Site, Spec};
use tailback_random::{Rng, maths};
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const LIMIT: u64 = 60;

fn spec(document: serde_json::Value) -> Spec {
    decode(document).unwrap()
}

/// Returns traffic of which flow 0 sends the share `share` of the packets.
fn flooded(seed: u64, share: f64, packets: u32) -> Vec<Arrival> {
    let mut rng = Rng::named(seed, "flood");
    let mut arrivals = Traffic { packets, ..Traffic::default() }.draw(seed);
    for a in &mut arrivals {
        a.flow = if rng.chance(share) { 0 } else { 1 + a.flow };
    }
    arrivals
}

/// Fails unless the discipline and the reference decide the same about each packet; returns the number of packets of
/// each fate.
fn compare(document: serde_json::Value, reference: &mut impl Queue, traffic: &[Arrival]) -> [usize; 5] {
    let mut ours = Rig::new(&spec(document), &places(LIMIT, RATE), Rng::named(9, "port"));
    let ours = serve(&mut ours, RATE, traffic, |_, _| {});
    let theirs = serve(reference, RATE, traffic, |_, _| {});
    assert_same(&ours, &theirs);
    tally(&ours)
}

/// Lin and Morris 1997, the pseudo-code of the paper line by line.
struct PaperFred {
    /// `true`: with the support for many flows.
    many_flows: bool,
    max_th: f64,
    rng: Rng,
    queue: VecDeque<Held>,
    qlen: BTreeMap<u32, u32>,
    strike: BTreeMap<u32, u32>,
    avg: f64,
    avgcq: f64,
    count: i64,
    q_time: Time,
    nactive: u32,
}

const MIN_TH: f64 = 15.0;
const MIN_Q: f64 = 4.0;

impl PaperFred {
    fn calculate_average(&mut self, now: Time, departed: bool) {
        let q = self.queue.len() as f64;
        if q != 0.0 || departed {
            self.avg = (1.0 - 0.002) * self.avg + 0.002 * q;
        } else {
            let m = (now.since(self.q_time).as_secs() * RATE.0 as f64 / 8000.0).floor();
            self.avg *= maths::pow(1.0 - 0.002, m);
            self.q_time = now;
        }
        self.avgcq = if self.nactive > 0 { self.avg / f64::from(self.nactive) } else { self.avg };
        self.avgcq = self.avgcq.max(1.0);
        if q == 0.0 && departed {
            self.q_time = now;
        }
    }
}

impl Queue for PaperFred {
    fn arrive(&mut self, a: &Arrival, log: &mut Log) {
        let i = a.flow;
        self.qlen.entry(i).or_insert(0);
        self.strike.entry(i).or_insert(0);
        if self.queue.is_empty() {
            self.calculate_average(a.at, false);
        }
        let maxq = if self.many_flows && self.avg >= self.max_th { 2.0 } else { MIN_TH };
        let qlen_i = f64::from(self.qlen[&i]);
        if qlen_i >= maxq
            || (self.avg >= self.max_th && qlen_i > 2.0 * self.avgcq)
            || (qlen_i >= self.avgcq && self.strike[&i] > 1)
        {
            *self.strike.get_mut(&i).unwrap() += 1;
            log.push((a.seq, Fate::Dropped(Reason::Unresponsive)));
            return;
        }
        if MIN_TH <= self.avg && self.avg < self.max_th {
            self.count += 1;
            if qlen_i >= MIN_Q.max(self.avgcq) {
                let pb = 0.02 * (self.avg - MIN_TH) / (self.max_th - MIN_TH);
                let room = 1.0 - self.count as f64 * pb;
                if room <= 0.0 || self.rng.uniform() < pb / room {
                    self.count = 0;
                    log.push((a.seq, Fate::Dropped(Reason::Early)));
                    return;
                }
            }
        } else if self.avg < MIN_TH {
            self.count = -1;
        } else {
            self.count = 0;
            if !self.many_flows {
                log.push((a.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        if self.queue.len() as u64 >= LIMIT {
            log.push((a.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        if self.qlen[&i] == 0 {
            self.nactive += 1;
        }
        self.calculate_average(a.at, false);
        *self.qlen.get_mut(&i).unwrap() += 1;
        self.queue.push_back(Held::new(a));
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.queue.pop_front()?;
        *self.qlen.get_mut(&packet.flow).unwrap() -= 1;
        self.calculate_average(now, true);
        if self.qlen[&packet.flow] == 0 {
            self.nactive -= 1;
            self.qlen.remove(&packet.flow);
            self.strike.remove(&packet.flow);
        }
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

#[test]
fn fred_gives_each_packet_its_fate_in_the_paper() {
    for (many_flows, max_th) in [(true, 30.0), (false, 20.0)] {
        let mut reference = PaperFred {
            many_flows,
            max_th,
            rng: Rng::named(9, "port"),
            queue: VecDeque::new(),
            qlen: BTreeMap::new(),
            strike: BTreeMap::new(),
            avg: 0.0,
            avgcq: 1.0,
            count: -1,
            q_time: Time::ZERO,
            nactive: 0,
        };
        let max = format!("{max_th}packets");
        let document = json!({ "kind": "fred", "min": "15packets", "max": max, "many-flows": many_flows });
        let fates = compare(document, &mut reference, &flooded(1, 0.15, 200_000));
        assert!(fates[fate::EARLY] > 100 && fates[fate::UNRESPONSIVE] > 2_000, "{fates:?}");
        assert!(!many_flows || fates[fate::FULL] > 10, "{fates:?}");
    }
}

#[test]
fn the_share_of_a_flow_under_fred_is_at_least_one_packet() {
    let rig = Rig::new(&spec(json!({ "kind": "fred" })), &places(LIMIT, RATE), Rng::named(9, "port"));
    assert_eq!(rig.state("average_packets_per_flow"), 1.0);
}

/// Ott, Lakshman and Wong 1999, sections II and III.
struct PaperSred {
    rng: Rng,
    queue: VecDeque<Held>,
    list: Vec<u32>,
    p_hit: f64,
}

impl Queue for PaperSred {
    fn arrive(&mut self, a: &Arrival, log: &mut Log) {
        const M: usize = 100;
        let mut hit = 0.0;
        if self.list.len() < M {
            self.list.push(a.flow);
        } else {
            let zombie = self.rng.below(M as u64) as usize;
            if self.list[zombie] == a.flow {
                hit = 1.0;
            } else if self.rng.uniform() < 0.25 {
                self.list[zombie] = a.flow;
            }
            let alpha = 0.25 / M as f64;
            self.p_hit = (1.0 - alpha) * self.p_hit + alpha * hit;
        }
        let (q, b) = (self.queue.len() as f64, LIMIT as f64);
        let p_sred = if b / 3.0 <= q {
            0.15
        } else if b / 6.0 <= q {
            0.15 / 4.0
        } else {
            0.0
        };
        let mut p_zap = p_sred * f64::min(1.0, 1.0 / ((256.0 * self.p_hit) * (256.0 * self.p_hit)));
        if hit > 0.0 {
            p_zap *= 1.0 + hit / self.p_hit;
        }
        if self.rng.uniform() < p_zap {
            log.push((a.seq, Fate::Dropped(Reason::Early)));
        } else if self.queue.len() as u64 >= LIMIT {
            log.push((a.seq, Fate::Dropped(Reason::BufferFull)));
        } else {
            self.queue.push_back(Held::new(a));
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.queue.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

#[test]
fn sred_gives_each_packet_its_fate_in_the_paper() {
    let mut reference = PaperSred { rng: Rng::named(9, "port"), queue: VecDeque::new(), list: Vec::new(), p_hit: 0.0 };
    let traffic = flooded(2, 0.02, 200_000);
    let fates = compare(json!({ "kind": "sred", "zombies": 100 }), &mut reference, &traffic);
    assert!(fates[fate::EARLY] > 1_500 && fates[fate::FULL] > 1_000, "{fates:?}");
}

#[test]
fn sred_estimates_the_number_of_flows() {
    for flows in [10u64, 100] {
        let traffic = Traffic { flows, packets: 400_000, ..Traffic::default() }.draw(3);
        let mut rig =
            Rig::new(&spec(json!({ "kind": "sred", "zombies": 500 })), &places(LIMIT, RATE), Rng::named(1, "p"));
        serve(&mut rig, RATE, &traffic, |_, _| {});
        let estimate = rig.state("estimated_flows") / flows as f64;
        assert!((estimate - 1.0).abs() < 0.25, "{flows} flows: {estimate}");
    }
}

/// CHOKe (Pan, Prabhakar and Psounis 2000, figure 1) over RED of 1993, in packets, with the count as in
/// ns-2; RED decides before CHOKe draws its candidate.
struct PaperChoke {
    rng: Rng,
    queue: VecDeque<Held>,
    avg: f64,
    count: u32,
    old: bool,
    idle_since: Option<Time>,
}

impl PaperChoke {
    fn red_drops(&mut self) -> bool {
        self.count += 1;
        if self.avg < 5.0 || self.queue.len() <= 1 {
            self.old = false;
            return false;
        }
        if self.avg >= 25.0 {
            self.count = 0;
            return true;
        }
        if !self.old {
            (self.count, self.old) = (1, true);
            return false;
        }
        let pb = 0.1 * (self.avg - 5.0) / 20.0;
        let room = 1.0 - f64::from(self.count) * pb;
        let drop = if room <= 0.0 { self.rng.uniform() < 1.0 } else { self.rng.uniform() < pb / room };
        if drop {
            self.count = 0;
        }
        drop
    }
}

impl Queue for PaperChoke {
    fn arrive(&mut self, a: &Arrival, log: &mut Log) {
        match self.idle_since.take() {
            Some(since) => {
                let m = (RATE.0 as f64 / 8000.0 * a.at.since(since).as_secs()).floor();
                self.avg *= maths::pow(1.0 - 0.01, m);
            }
            None => self.avg = (1.0 - 0.01) * self.avg + 0.01 * self.queue.len() as f64,
        }
        let red = self.red_drops();
        if self.avg >= 5.0 && !self.queue.is_empty() {
            let chosen = self.rng.below(self.queue.len() as u64) as usize;
            if self.queue[chosen].flow == a.flow {
                let victim = self.queue.remove(chosen).unwrap();
                log.push((victim.seq, Fate::Dropped(Reason::Early)));
                log.push((a.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        if self.queue.len() as u64 >= LIMIT {
            self.count = 0;
            log.push((a.seq, Fate::Dropped(Reason::BufferFull)));
        } else if red {
            log.push((a.seq, Fate::Dropped(Reason::Early)));
        } else {
            self.queue.push_back(Held::new(a));
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.idle_since = Some(now);
        }
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

/// Returns the parameters of RED that [`PaperChoke`] has.
fn red() -> serde_json::Value {
    json!({ "min": "5packets", "max": "25packets", "max-p": 0.1, "weight": 0.01, "gentle": false, "wait": false,
            "byte-mode": false, "count": "packets", "mean-packet": "1000B", "idle": "1993" })
}

#[test]
fn choke_gives_each_packet_its_fate_in_the_paper_with_red_deciding_first() {
    let mut reference = PaperChoke {
        rng: Rng::named(9, "port"),
        queue: VecDeque::new(),
        avg: 0.0,
        count: 0,
        old: false,
        idle_since: Some(Time::ZERO),
    };
    let fates = compare(json!({ "kind": "choke", "red": red() }), &mut reference, &flooded(4, 0.3, 200_000));
    assert!(fates[fate::EARLY] > 20_000 && fates[fate::UNMARKED] > 100_000, "{fates:?}");
}

/// Returns the flood's share of the second half of the packets sent. The flood is half of an offered load of 300 %.
fn share_of_flood(document: serde_json::Value) -> f64 {
    let mut rng = Rng::named(5, "flood");
    let traffic = Traffic { loads: &[3.0], packets: 400_000, ..Traffic::default() };
    let mut arrivals = traffic.draw(5);
    for a in &mut arrivals {
        a.flow = if rng.chance(0.5) { 0 } else { 1 + a.flow };
    }
    let site = Site { packets: LIMIT, rate: RATE, ..Site::default() };
    let mut rig = Rig::new(&spec(document), &site, Rng::named(1, "port"));
    let log = serve(&mut rig, RATE, &arrivals, |_, _| {});
    let sent: Vec<u32> = log.iter().filter(|(_, f)| matches!(f, Fate::Sent { .. })).map(|(seq, _)| *seq).collect();
    let half = &sent[sent.len() / 2..];
    half.iter().filter(|seq| arrivals[**seq as usize].flow == 0).count() as f64 / half.len() as f64
}

#[test]
fn choke_red_pd_fred_and_fq_codel_limit_the_share_of_a_flood_and_red_does_not() {
    let share = |kind: &str, red: Option<serde_json::Value>| {
        let mut document = json!({ "kind": kind });
        if let Some(red) = red {
            document["red"] = red;
        }
        share_of_flood(document)
    };
    let mut alone = red();
    alone["kind"] = json!("red");
    let plain = share_of_flood(alone);
    assert!((plain - 0.5).abs() < 0.02, "RED does not distinguish flows: {plain}");
    let shares @ [choke, red_pd, fred, fq_codel] =
        [share("choke", Some(red())), share("red-pd", Some(red())), share("fred", None), share("fq-codel", None)];
    // (1 + e)^-1 is the most that any flow can have under CHOKe (Tang, Wang and Low 2003).
    assert!(choke < 0.269 && red_pd < 0.1 && fred < 0.1, "{shares:?}");
    // A little more than 1/51, an equal share of 51 flows: with 60 places some flows at times have no packet waiting.
    assert!(fq_codel < 1.25 / 51.0, "{shares:?}");
}

#[test]
fn red_pd_filters_a_flood_and_stops_monitoring_it_after_it_has_slowed_down() {
    // Flow 0 sends nine tenths of the link's rate for 20 s and then a fiftieth of that; forty other flows together send
    // half of the link's rate.
    let mut rng = Rng::named(6, "flood");
    let mut arrivals = Traffic { flows: 40, packets: 75_000, loads: &[1.4], ..Traffic::default() }.draw(6);
    let change = Time::ZERO + Dur::from_secs(20);
    for a in &mut arrivals {
        a.flow += 1;
    }
    arrivals.iter_mut().filter(|_| rng.chance(9.0 / 14.0)).for_each(|a| a.flow = 0);
    arrivals.retain(|a| a.flow > 0 || a.at < change || a.seq.is_multiple_of(50));
    let mut document = json!({ "kind": "red-pd", "red": red() });
    document["red"]["weight"] = json!(0.002);
    let mut rig = Rig::new(&spec(document), &places(LIMIT, RATE), Rng::named(1, "port"));
    let (mut during, mut after) = (0.0f64, f64::NAN);
    let log = serve(&mut rig, RATE, &arrivals, |rig, now| {
        if now < change {
            during = during.max(rig.state("largest_filter_probability"));
        }
        after = rig.state("monitored_flows");
    });
    assert!(during > 0.2, "{during}");
    assert_eq!(after, 0.0);
    let fates = tally(&log);
    let filtered = |f: &Fate| *f == Fate::Dropped(Reason::Unresponsive);
    assert!(fates[fate::UNRESPONSIVE] > 1_000, "{fates:?}");
    let others = log.iter().filter(|(seq, f)| filtered(f) && arrivals.iter().any(|a| a.seq == *seq && a.flow > 0));
    assert!(
        others.count() * 10 < fates[fate::UNRESPONSIVE],
        "a tenth or more of the filtered packets are of other flows"
    );
}

/// Lin and Morris (1997), section 5.1: above `max` a flow may have two packets, so that many flows share a small
/// buffer.
#[test]
fn above_its_upper_threshold_fred_lets_each_flow_have_two_packets() {
    let document = json!({ "kind": "fred", "min": "1packet", "max": "2packets", "weight": 1.0 });
    let mut rig = Rig::new(&spec(document), &places(LIMIT, RATE), Rng::named(1, "port"));
    let mut log = Log::new();
    // Six flows send one packet each, which makes an average of five; then flow 20 sends four packets.
    for (seq, flow) in [1, 2, 3, 4, 5, 6, 20, 20, 20, 20].into_iter().enumerate() {
        let (seq, at) = (seq as u32, Time(seq as u64));
        let colour = tailback_qdisc::Colour::default();
        rig.arrive(&Arrival { at, seq, flow, size: 1000, ecn: tailback_qdisc::Ecn::NotEct, colour }, &mut log);
    }
    assert_eq!(log, [(8, Fate::Dropped(Reason::Unresponsive)), (9, Fate::Dropped(Reason::Unresponsive))]);
}

/// FRED with the weight 1: its average is the backlog that the last accepted packet found, or that the last departure
/// left. Each packet has 1000 B, the mean; the drops and marks of packets of these flows that arrive at one instant are
/// returned, with the discipline.
fn fred(more: serde_json::Value, flows: &[u32], seed: u64) -> (Log, Rig) {
    let mut document = json!({ "kind": "fred", "weight": 1.0, "ecn": true });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut rig = Rig::new(&spec(document), &places(LIMIT, RATE), Rng::named(seed, "port"));
    let mut log = Log::new();
    fred_arrivals(&mut rig, flows, &mut log);
    (log, rig)
}

fn fred_arrivals(rig: &mut Rig, flows: &[u32], log: &mut Log) {
    for (seq, flow) in flows.iter().enumerate() {
        let colour = tailback_qdisc::Colour::default();
        let ecn = tailback_qdisc::Ecn::Ect0;
        rig.arrive(&Arrival { at: Time::ZERO, seq: seq as u32, flow: *flow, size: 1000, ecn, colour }, log);
    }
}

#[test]
fn fred_s_limits_of_a_flow_change_at_exactly_its_upper_threshold() {
    // The fourth packet finds three, which is `max`: flow 1 may then have two packets, not three.
    let bounds = json!({ "min": "2500B", "max": "3packets", "min-flow": 1000 });
    assert_eq!(fred(bounds.clone(), &[1, 1, 2, 3, 1], 1).0, [(4, Fate::Dropped(Reason::Unresponsive))]);
    // The third finds two: the flow may have `min` packets.
    assert_eq!(fred(bounds, &[1, 1, 2, 1], 1).0, []);
    // At `max` no packet is chosen at random with the support for many flows, and each one without.
    let bounds =
        |many: bool| json!({ "min": "1packet", "max": "2packets", "max-p": 1.0, "min-flow": 1, "many-flows": many });
    for seed in 0..8 {
        let (log, rig) = fred(bounds(true), &[1, 2, 3, 1], seed);
        assert_eq!((log, rig.marked), (vec![], 0));
        let (log, rig) = fred(bounds(false), &[1, 2, 3, 4], seed);
        assert_eq!((log, rig.marked), (vec![(3, Fate::Dropped(Reason::Early))], 0), "no marks at `max`");
    }
}

#[test]
fn fred_marks_the_packet_for_which_the_count_makes_the_choice_certain() {
    // min = 2, max = 4. Averages before the packets: 0, 0, 1, 2, 3; counts: -1, -1, -1, 0, 1. p_b = 0 at 2 and 1/2 at 3,
    // where p = (1/2)/(1 - 1/2) = 1. Flow 1 has a packet.
    let bounds = json!({ "min": "2packets", "max": "4packets", "max-p": 1.0, "min-flow": 1 });
    for seed in 0..16 {
        let (log, mut rig) = fred(bounds.clone(), &[1, 2, 3, 4, 1], seed);
        assert_eq!((log, rig.marked, rig.q.packets()), (vec![], 1, 5));
        assert_eq!(Queue::leave(&mut rig, Time::ZERO, &mut Log::new()), Some(1000));
    }
    // A change of the parameters in the meantime: flow 1 is dropped, not marked.
    for seed in 0..16 {
        let (log, mut rig) = fred(bounds.clone(), &[1, 2, 3, 4], seed);
        assert_eq!((log, rig.marked), (vec![], 0));
        let mut fresh = json!({ "kind": "fred", "weight": 1.0, "ecn": false });
        fresh.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        rig.q.retune(Time::ZERO, &spec(fresh), &places(LIMIT, RATE));
        let mut log = Log::new();
        fred_arrivals(&mut rig, &[1], &mut log);
        assert_eq!((log, rig.marked), (vec![(0, Fate::Dropped(Reason::Early))], 0));
    }
}

#[test]
fn the_share_under_fred_of_a_single_flow_is_the_whole_average() {
    let (log, rig) = fred(json!({ "min": "10packets", "max": "20packets" }), &[7, 7, 7, 7], 1);
    assert_eq!(log, []);
    assert_eq!((rig.state("average_packets"), rig.state("average_packets_per_flow")), (3.0, 3.0));
    // `min` is at least one packet: a second packet of a flow is dropped at a queue of 2 places.
    let mut rig = Rig::new(&spec(json!({ "kind": "fred" })), &places(2, RATE), Rng::named(1, "port"));
    let mut log = Log::new();
    fred_arrivals(&mut rig, &[7, 7], &mut log);
    assert_eq!(log, [(1, Fate::Dropped(Reason::Unresponsive))]);
}

/// RED-PD whose RED drops only what finds the queue full, in a queue of two packets of `size` bytes, after arrivals of
/// flow 0 of which `lost` are dropped.
fn red_pd(more: serde_json::Value, size: u16, lost: u32) -> Rig {
    let red = json!({ "min": "900packets", "max": "999packets", "count": "packets" });
    let mut document =
        json!({ "kind": "red-pd", "rtt": "20ms", "hold": "0s", "intervals": 1, "needed": 1, "red": red });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut rig = Rig::new(&spec(document), &places(2, RATE), Rng::named(1, "port"));
    red_pd_arrivals(&mut rig, size, 2 + lost);
    rig
}

fn red_pd_arrivals(rig: &mut Rig, size: u16, packets: u32) {
    for seq in 0..packets {
        let colour = tailback_qdisc::Colour::default();
        let ecn = tailback_qdisc::Ecn::NotEct;
        rig.arrive(&Arrival { at: Time::ZERO, seq, flow: 0, size, ecn, colour }, &mut Log::new());
    }
}

/// Ends the present interval, and returns its time, the number of monitored flows, and the filter probability.
fn interval_end(rig: &mut Rig) -> (Dur, f64, f64) {
    let due = rig.wake_at().expect("an interval always ends");
    rig.wake(due, &mut Log::new());
    (due.since(Time::ZERO), rig.state("monitored_flows"), rig.state("largest_filter_probability"))
}

/// Bytes of state of RED-PD without lists: those of a queue, of RED (41), of the monitor (40), and of one flow with its
/// index.
const RED_PD_BYTES: usize = 24 + 41 + 40 + (32 + 4);

/// Mahajan, Floyd and Wetherall (2001), section 3, with the constants of ns-2.35.
#[test]
fn red_pd_raises_and_lowers_a_probability_by_its_rules() {
    let mut rig = red_pd(json!({}), 1000, 8);
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES);
    let ms = |ms: f64| Dur::from_secs_f64(ms * 1e-3);
    // 8 of 10 packets dropped: p = 0.8, and min(0.8, 2 * 0.8, 0.5) is the first probability.
    assert_eq!(interval_end(&mut rig), (ms(200.0), 1.0, 0.5));
    // An entry of the list of dropped flows is 12 bytes long, the length of an interval 8.
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES + 12 + 8);
    // R / sqrt(1.5 * 0.8) and R / sqrt(1.5 * 0.4) are below 2 R. The flow has no drops in the remembered interval, and
    // the last change is exactly one interval of 2 R ago: 0.05 less. p is then halved with each interval.
    assert_eq!(interval_end(&mut rig), (ms(240.0), 1.0, 0.45));
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES + 8);
    let (at, _, p) = interval_end(&mut rig);
    assert!(at == ms(280.0) && (p - 0.4).abs() < 1e-12);
    // p = 0.1: the next interval is R / sqrt(0.15) = 2.582 R long, longer than the 2 R since the last change.
    let (at, _, p) = interval_end(&mut rig);
    assert!(at == ms(320.0) && (p - 0.4).abs() < 1e-12);
    // p = 0.05, R / sqrt(0.075) = 3.651 R, and 4.582 R have passed.
    let (at, monitored, p) = interval_end(&mut rig);
    assert!((at.as_secs() - (0.32 + 0.02 / 0.15f64.sqrt())).abs() < 1e-11 && (p - 0.35).abs() < 1e-12, "{at} {p}");
    assert_eq!(monitored, 1.0);
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES + 8);
}

#[test]
fn red_pd_changes_no_probability_before_the_hold_time_has_passed() {
    assert_eq!(interval_end(&mut red_pd(json!({ "hold": "200ms" }), 1000, 8)).2, 0.5);
    assert_eq!(interval_end(&mut red_pd(json!({ "hold": "201ms" }), 1000, 8)).2, 0.0);
}

#[test]
fn red_pd_counts_single_bytes_and_has_no_interval_without_drops_in_its_lengths() {
    // One of three bytes is dropped.
    assert_eq!(interval_end(&mut red_pd(json!({}), 1, 1)).2, 1.0 / 3.0);
    let mut rig = red_pd(json!({}), 1000, 0);
    assert_eq!(interval_end(&mut rig), (Dur::from_ms(200), 0.0, 0.0));
    assert_eq!(interval_end(&mut rig), (Dur::from_ms(400), 0.0, 0.0));
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES);
    // All packets dropped: R / sqrt(1.5) is below 2 R.
    let red = json!({ "min": "900packets", "max": "999packets", "count": "packets" });
    let document = json!({ "kind": "red-pd", "rtt": "20ms", "intervals": 1, "needed": 1, "red": red });
    let mut rig = Rig::new(&spec(document), &places(0, RATE), Rng::named(1, "port"));
    red_pd_arrivals(&mut rig, 1000, 5);
    interval_end(&mut rig);
    assert_eq!(rig.wake_at(), Some(Time::ZERO + Dur::from_ms(240)));
}

#[test]
fn red_pd_monitors_a_flow_only_above_a_drop_rate_of_one_in_a_thousand() {
    for (passed, monitored) in [(999, 0.0), (998, 1.0)] {
        let mut rig = red_pd(json!({}), 1000, 1);
        for _ in 0..passed - 2 {
            Queue::leave(&mut rig, Time::ZERO, &mut Log::new());
            red_pd_arrivals(&mut rig, 1000, 1);
        }
        assert_eq!(interval_end(&mut rig).1, monitored, "1 of {} packets dropped", passed + 1);
    }
}

#[test]
fn red_pd_forgets_intervals_beyond_a_smaller_number_of_them() {
    let mut rig = red_pd(json!({ "intervals": 3, "needed": 3 }), 1000, 8);
    for _ in 0..2 {
        interval_end(&mut rig);
        red_pd_arrivals(&mut rig, 1000, 8);
    }
    interval_end(&mut rig);
    // Three intervals with drops of the flow.
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES + 3 * (12 + 8));
    let red = json!({ "min": "900packets", "max": "999packets", "count": "packets" });
    let fewer = json!({ "kind": "red-pd", "rtt": "20ms", "hold": "0s", "intervals": 1, "needed": 1, "red": red });
    rig.q.retune(Time::ZERO, &spec(fewer), &places(2, RATE));
    assert_eq!(rig.q.state_bytes(), RED_PD_BYTES + 12 + 8);
}

#[test]
fn red_pd_takes_a_new_number_of_intervals_that_a_monitored_flow_needs() {
    let red = json!({ "min": "900packets", "max": "999packets", "count": "packets" });
    let document = |needed: u32| json!({ "kind": "red-pd", "rtt": "20ms", "hold": "0s", "intervals": 3, "needed": needed, "red": red });
    let mut rig = red_pd(json!({ "intervals": 3, "needed": 3 }), 1000, 8);
    assert_eq!(interval_end(&mut rig).1, 0.0, "drops in one of three intervals");
    rig.q.retune(Time::ZERO, &spec(document(2)), &places(2, RATE));
    red_pd_arrivals(&mut rig, 1000, 8);
    assert_eq!(interval_end(&mut rig).1, 1.0, "drops in two of three intervals");
}
