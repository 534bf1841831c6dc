//! FQ-PIE compared with a transcription: PIE of RFC 8033 in each queue and the rounds of RFC 8290, combined as in
//! `sch_fq_pie.c` of Linux (`fq_pie_qdisc_enqueue`, `fq_pie_qdisc_dequeue`, `fq_pie_timer`).

use crate::common::rfc8033::Rfc;
use crate::common::{Arrival, Log, Queue, Rig, Traffic, assert_same, fate, places, serve, tally, wire};
use std::collections::VecDeque;
use tailback_qdisc::Spec;
use tailback_qdisc::discipline::fair::Buckets;
use tailback_qdisc::discipline::fq_pie;
use tailback_qdisc::law::pie;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

const RATE: Rate = Rate(10_000_000);
/// Limit of all queues together, packets.
const LIMIT: usize = 400;
/// Wire bytes per queue and round.
const QUANTUM: i64 = 300;

struct Flow {
    pie: Rfc,
    deficit: i64,
}

struct FqPie {
    flows: Vec<Flow>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    rng: Rng,
    update: Dur,
    due: Time,
}

impl Queue for FqPie {
    fn arrive(&mut self, a: &Arrival, log: &mut Log) {
        let i = a.flow as usize;
        let qlen: usize = self.flows.iter().map(|flow| flow.pie.q.len()).sum();
        let before = self.flows[i].pie.q.len();
        self.flows[i].pie.arrive(a, qlen >= LIMIT, &mut self.rng, log);
        let joined = self.flows[i].pie.q.len() > before;
        if joined && !self.new_flows.contains(&i) && !self.old_flows.contains(&i) {
            self.new_flows.push_back(i);
            self.flows[i].deficit = QUANTUM;
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        loop {
            let new = !self.new_flows.is_empty();
            let head = if new { &mut self.new_flows } else { &mut self.old_flows };
            let i = *head.front()?;
            if self.flows[i].deficit <= 0 {
                self.flows[i].deficit += QUANTUM;
                head.pop_front();
                self.old_flows.push_back(i);
            } else if let Some(size) = self.flows[i].pie.leave(now, log) {
                self.flows[i].deficit -= i64::from(wire(size));
                return Some(size);
            } else {
                head.pop_front();
                // A new flow that is empty goes to the old flows once, if there are any.
                if new && !self.old_flows.is_empty() {
                    self.old_flows.push_back(i);
                }
            }
        }
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        self.due = now + self.update;
        self.flows.iter_mut().for_each(|flow| flow.pie.update());
    }
}

#[test]
fn fq_pie_gives_each_of_150_000_packets_the_fate_it_has_in_linux_and_the_rfcs_with_and_without_ecn() {
    for (seed, ecn) in [(1, true), (2, false)] {
        let pie = pie::Params { ecn, mark_limit: Fraction(0.9), ..pie::Params::default() };
        let flow = || Flow { pie: Rfc::new(&pie), deficit: 0 };
        let rng = Rng::named(seed, "port");
        let mut reference = FqPie {
            flows: (0..14).map(|_| flow()).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            rng: rng.clone(),
            update: pie.update,
            due: Time::ZERO + pie.update,
        };
        let mut flood = Rng::named(seed, "flood");
        let sizes: &[u16] = &[1500, 1487, 577, 61, 1009];
        let loads: &[f64] = &[0.3, 0.9, 1.1, 1.6, 3.0];
        let mut arrivals =
            Traffic { flows: 12, packets: 150_000, sizes, loads, phase: Dur::from_secs(3), ..Traffic::default() }
                .draw(seed);
        arrivals.iter_mut().filter(|_| flood.chance(0.4)).for_each(|a| a.flow = 12 + a.flow % 2);
        let params = fq_pie::Params {
            buckets: Buckets::PerFlow,
            quantum: Size(QUANTUM as u64),
            pie,
            ..fq_pie::Params::default()
        };
        let mut ours = Rig::new(&Spec::FqPie(params), &places(LIMIT as u64, RATE), rng);
        let ours = serve(&mut ours, RATE, &arrivals, |_, _| {});
        assert_same(&ours, &serve(&mut reference, RATE, &arrivals, |_, _| {}));
        let fates = tally(&ours);
        assert!(fates[fate::EARLY] > 500 && fates[fate::FULL] > 100 && (!ecn || fates[fate::MARKED] > 20), "{fates:?}");
    }
}
