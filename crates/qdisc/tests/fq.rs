//! FQ-CoDel compared with a transcription of RFC 8290 and RFC 8289; delays under FQ-CoDel and FQ-PIE; the limits of SFQ
//! with RED.

use crate::common::{Arrival, Fate, Held, Log, Queue, Rig, Traffic, assert_same, fate, places, serve, tally, wire};
use serde_json::json;
use std::collections::VecDeque;
use tailback_document::decode;
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const MTU: u64 = 1514;

fn spec(document: serde_json::Value) -> Spec {
    decode(document).unwrap()
}

/// RFC 8289 section 5.3 to 5.6, with the marking of RFC 8290 section 4.
#[derive(Default)]
struct Flow {
    queue: VecDeque<Held>,
    bytes: u64,
    first_above_time: Time,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
    credits: i64,
}

const INTERVAL: Dur = Dur::from_ms(100);
const TARGET: Dur = Dur::from_ms(5);

impl Flow {
    fn control_law(t: Time, count: u32) -> Time {
        t + Dur((INTERVAL.0 as f64 / f64::from(count).sqrt()) as u64)
    }
    fn dodequeue(&mut self, now: Time) -> (Option<Held>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above_time = Time::ZERO;
            return (None, false);
        };
        self.bytes -= u64::from(p.size);
        let mut ok_to_drop = false;
        if now.since(p.at) < TARGET || self.bytes <= MTU {
            self.first_above_time = Time::ZERO;
        } else if self.first_above_time == Time::ZERO {
            self.first_above_time = now + INTERVAL;
        } else if now > self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Held> {
        let (mut packet, mut ok) = self.dodequeue(now);
        if self.dropping {
            if !ok {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                let p = packet.as_mut()?;
                if p.ect {
                    p.marked = true;
                    self.drop_next = Flow::control_law(self.drop_next, self.count);
                    return packet;
                }
                log.push((p.seq, Fate::Dropped(Reason::Early)));
                (packet, ok) = self.dodequeue(now);
                if ok {
                    self.drop_next = Flow::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            let p = packet.as_mut()?;
            if p.ect {
                p.marked = true;
            } else {
                log.push((p.seq, Fate::Dropped(Reason::Early)));
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = if delta > 1 && now.0 < self.drop_next.0 + 16 * INTERVAL.0 { delta } else { 1 };
            self.drop_next = Flow::control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

/// RFC 8290 section 4, with a queue for each flow instead of hash buckets.
struct Rfc8290 {
    flows: Vec<Flow>,
    new_queues: VecDeque<usize>,
    old_queues: VecDeque<usize>,
    limit: u64,
    quantum: i64,
}

impl Rfc8290 {
    fn total(&self) -> u64 {
        self.flows.iter().map(|f| f.queue.len() as u64).sum()
    }
}

impl Queue for Rfc8290 {
    fn arrive(&mut self, a: &Arrival, log: &mut Log) {
        let i = a.flow as usize;
        self.flows[i].queue.push_back(Held::new(a));
        self.flows[i].bytes += u64::from(a.size);
        if !self.new_queues.contains(&i) && !self.old_queues.contains(&i) {
            self.new_queues.push_back(i);
            self.flows[i].credits = self.quantum;
        }
        if self.total() > self.limit {
            let most = self.flows.iter().map(|f| f.bytes).max().unwrap();
            let fattest = self.flows.iter_mut().find(|f| f.bytes == most).unwrap();
            let half = fattest.bytes / 2;
            for _ in 0..64 {
                let p = fattest.queue.pop_front().unwrap();
                fattest.bytes -= u64::from(p.size);
                log.push((p.seq, Fate::Dropped(Reason::BufferFull)));
                if fattest.bytes <= half {
                    break;
                }
            }
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        loop {
            let from_new = !self.new_queues.is_empty();
            let i = *(if from_new { &self.new_queues } else { &self.old_queues }).front()?;
            if self.flows[i].credits <= 0 {
                self.flows[i].credits += self.quantum;
                if from_new {
                    self.new_queues.pop_front();
                } else {
                    self.old_queues.pop_front();
                }
                self.old_queues.push_back(i);
                continue;
            }
            if let Some(p) = self.flows[i].dequeue(now, log) {
                self.flows[i].credits -= i64::from(wire(p.size));
                log.push((p.seq, p.sent()));
                return Some(p.size);
            }
            if from_new {
                self.new_queues.pop_front();
                self.old_queues.push_back(i);
            } else {
                self.old_queues.pop_front();
            }
        }
    }
}

/// Returns traffic of 14 flows, of which two send 40 % of the packets.
fn traffic(seed: u64) -> Vec<Arrival> {
    let mut rng = Rng::named(seed, "flood");
    // With these sizes two queues rarely have equal bytes. Of equal queues the reference may choose another one as the
    // fattest.
    let sizes: &[u16] = &[1500, 1487, 577, 61, 1009];
    let mut arrivals = Traffic { flows: 12, packets: 200_000, sizes, ..Traffic::default() }.draw(seed);
    arrivals.iter_mut().filter(|_| rng.chance(0.4)).for_each(|a| a.flow = 12 + a.flow % 2);
    arrivals
}

// RFC 8290 sections 4.1 and 4.2.
#[test]
fn fq_codel_sends_marks_and_drops_the_same_packets_as_rfc_8290() {
    let mut reference = Rfc8290 {
        flows: (0..14).map(|_| Flow::default()).collect(),
        new_queues: VecDeque::new(),
        old_queues: VecDeque::new(),
        limit: 300,
        quantum: 300,
    };
    let arrivals = traffic(1);
    let document = json!({ "kind": "fq-codel", "buckets": "per-flow", "quantum": "300B" });
    let mut ours = Rig::new(&spec(document), &places(300, RATE), Rng::named(9, "port"));
    let ours = serve(&mut ours, RATE, &arrivals, |_, _| {});
    let theirs = serve(&mut reference, RATE, &arrivals, |_, _| {});
    assert_same(&ours, &theirs);
    let fates = tally(&ours);
    assert!(fates[fate::MARKED] > 1_000 && fates[fate::EARLY] > 1_000 && fates[fate::FULL] > 1_000, "{fates:?}");
}

/// Returns the longest time that packets of `flow` wait, and the mean waiting time of the packets of all other flows in
/// seconds.
fn waits(document: serde_json::Value, arrivals: &[Arrival], flow: u32) -> (Dur, f64) {
    struct Timed {
        rig: Rig,
        sent: Vec<(u32, Time)>,
    }
    impl Queue for Timed {
        fn arrive(&mut self, a: &Arrival, log: &mut Log) {
            self.rig.arrive(a, log);
        }
        fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
            let size = self.rig.leave(now, log)?;
            self.sent.push((log.last()?.0, now));
            Some(size)
        }
        fn idle(&mut self, now: Time, log: &mut Log) {
            self.rig.idle(now, log);
        }
        fn wake_at(&self) -> Option<Time> {
            self.rig.wake_at()
        }
        fn wake(&mut self, now: Time, log: &mut Log) {
            self.rig.wake(now, log);
        }
    }
    let mut timed =
        Timed { rig: Rig::new(&spec(document), &places(1000, RATE), Rng::named(9, "port")), sent: Vec::new() };
    serve(&mut timed, RATE, arrivals, |_, _| {});
    let wait = |seq: u32, at: Time| at.since(arrivals[seq as usize].at);
    let (mut longest, mut sum, mut n) = (Dur::ZERO, 0.0, 0.0);
    for (seq, at) in timed.sent {
        if arrivals[seq as usize].flow == flow {
            longest = longest.max(wait(seq, at));
        } else {
            sum += wait(seq, at).as_secs();
            n += 1.0;
        }
    }
    (longest, sum / n)
}

/// Returns traffic of eight flows that together send at twice the rate of the link, and of flow 99, which sends a
/// packet of 200 B every 20 ms.
fn sparse_and_greedy() -> Vec<Arrival> {
    let mut arrivals = Traffic { flows: 8, packets: 60_000, loads: &[2.0], ect: 0.0, ..Traffic::default() }.draw(7);
    let end = arrivals.last().unwrap().at;
    let mut at = Time(1);
    while at < end {
        arrivals.push(Arrival {
            at,
            seq: 0,
            flow: 99,
            size: 200,
            ecn: tailback_qdisc::Ecn::NotEct,
            colour: tailback_qdisc::Colour::default(),
        });
        at += Dur::from_ms(20);
    }
    arrivals.sort_by_key(|a| a.at);
    (0..).zip(&mut arrivals).for_each(|(i, a)| a.seq = i);
    arrivals
}

#[test]
fn a_sparse_flow_waits_for_two_packets_at_most_and_greedy_flows_half_as_long_as_in_a_fifo() {
    let arrivals = sparse_and_greedy();
    let (fifo_sparse, fifo_others) = waits(json!({ "kind": "drop-tail" }), &arrivals, 99);
    assert!(fifo_sparse > Dur::from_ms(700) && fifo_others > 0.7);
    for kind in ["fq-codel", "fq-pie"] {
        let document = json!({ "kind": kind, "buckets": "per-flow" });
        let (sparse, others) = waits(document, &arrivals, 99);
        // At most the packet on the link, and one of a flow that became new just before, 0.8 ms each.
        assert!(sparse <= Dur::from_us(2 * 800 + 100), "{kind}: {sparse}");
        assert!(others < 0.35, "{kind}: {others}");
    }
}

#[test]
fn sfq_red_limits_each_bucket_to_its_part_of_the_limit() {
    let mut rng = Rng::named(1, "flood");
    let mut arrivals = Traffic { loads: &[3.0], packets: 60_000, ..Traffic::default() }.draw(2);
    arrivals.iter_mut().filter(|_| rng.chance(0.7)).for_each(|a| a.flow = 0);
    let red = json!({ "min": "2packets", "max": "7packets", "max-p": 1.0, "weight": 0.002, "gentle": false,
                      "count": "packets", "mean-packet": "1000B", "byte-mode": false });
    let document = json!({ "kind": "sfq-red", "buckets": 46, "red": red });
    let mut rig = Rig::new(&spec(document), &places(46 * 9, RATE), Rng::named(1, "port"));
    let mut peak_of_flood = 0;
    let log = serve(&mut rig, RATE, &arrivals, |rig, _| {
        let mut of_flood = 0;
        tailback_qdisc::Qdisc::visit(&rig.q, &mut |p| of_flood += u64::from(p.flow() == 0));
        peak_of_flood = peak_of_flood.max(of_flood);
    });
    // Each of the 46 buckets has a part of 9 packets.
    assert!(peak_of_flood <= 9, "{peak_of_flood}");
    let dropped = |flood: bool| {
        let of = |seq: &u32| (arrivals[*seq as usize].flow == 0) == flood;
        let all = arrivals.iter().filter(|a| (a.flow == 0) == flood).count() as f64;
        log.iter().filter(|(seq, fate)| matches!(fate, Fate::Dropped(_)) && of(seq)).count() as f64 / all
    };
    // The other flows together send 0.9 of the link's rate; only those in the flood's bucket lose packets with it.
    assert!(dropped(true) > 0.9 && dropped(false) < 0.15, "{} {}", dropped(true), dropped(false));
}
