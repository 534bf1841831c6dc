//! The weighted fair queue of Cisco routers compared packet by packet with a transcription of its description.
//!
//! The description is that of Cisco IOS Quality of Service Solutions, "Weighted fair queueing", and of the command
//! reference of `fair-queue`: sequence numbers, the weight 32384 / (precedence + 1), the congestive discard threshold
//! and its quarter, the hold queue, and the aggregate and individual limits of distributed WFQ. All computations are in
//! integers.

use crate::common::*;
use std::collections::{BTreeMap, VecDeque};
use tailback_qdisc::discipline::fair::{Buckets, KeyBy};
use tailback_qdisc::discipline::fair_queue::{Params, Weighting};
use tailback_qdisc::{Cx, Dropped, Qdisc, Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Rate, Time};

/// Returns the IP precedence of an arrival: the flow's index modulo 8, and for every fifth packet of the traffic 3
/// more, modulo 8.
fn precedence(arrival: &Arrival) -> u8 {
    let of_flow = (arrival.flow % 8) as u8;
    if arrival.seq.is_multiple_of(5) { (of_flow + 3) % 8 } else { of_flow }
}

#[derive(Default)]
struct Conversation {
    /// Packets with their sequence numbers and their order of arrival.
    packets: VecDeque<(Held, u64, u64)>,
    last: u64,
    refusing: bool,
}

struct Router {
    p: Params,
    threshold: usize,
    hold: usize,
    /// Aggregate and individual limit of distributed WFQ, packets. `None`: no such limits.
    dwfq: Option<(usize, usize)>,
    conversations: BTreeMap<(u32, u8), Conversation>,
    /// Sequence number of the packet in service.
    in_service: u64,
    arrivals: u64,
}

impl Router {
    fn waiting(&self) -> usize {
        self.conversations.values().map(|c| c.packets.len()).sum()
    }
}

impl Queue for Router {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let precedence = precedence(arrival);
        let weight = match self.p.weights {
            Weighting::Precedence => u64::from(self.p.scale) / (u64::from(precedence) + 1),
            Weighting::Equal => 1,
        };
        let key = match self.p.key {
            KeyBy::Flow => (arrival.flow, 0),
            KeyBy::FlowTos => (arrival.flow, precedence),
            KeyBy::One => (0, 0),
        };
        let waiting = self.waiting();
        let c = self.conversations.entry(key).or_default();
        let mut refused =
            self.dwfq.is_some_and(|(aggregate, individual)| waiting >= aggregate && c.packets.len() >= individual);
        if !refused {
            if c.packets.len() >= self.threshold {
                c.refusing = true;
            } else if 4 * c.packets.len() < self.threshold {
                c.refusing = false;
            }
            refused = c.refusing;
        }
        if refused {
            log.push((arrival.seq, Fate::Dropped(Reason::Early)));
            return;
        }
        if waiting >= self.hold {
            log.push((arrival.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        c.last = c.last.max(self.in_service) + u64::from(wire(arrival.size)) * weight;
        c.packets.push_back((Held::new(arrival), c.last, self.arrivals));
        self.arrivals += 1;
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let head = |c: &&mut Conversation| c.packets.front().map(|(_, number, order)| (*number, *order));
        let chosen = self.conversations.values_mut().filter(|c| !c.packets.is_empty()).min_by_key(head)?;
        let (packet, number, _) = chosen.packets.pop_front()?;
        self.in_service = number;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
}

/// The discipline under test, fed with packets that have a precedence.
struct Ours(Rig);

impl Queue for Ours {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let mut packet = packet(arrival);
        packet.code = precedence(arrival) << 3;
        let Rig { q, rng, dropped, marked, .. } = &mut self.0;
        q.enqueue(arrival.at, packet, &mut Cx { rng, dropped, marked });
        log.extend(dropped.drain(..).map(|Dropped { packet, why, .. }| (packet.seq, Fate::Dropped(why))));
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        self.0.leave(now, log)
    }
}

const RATE: Rate = Rate(10_000_000);

/// Fails unless the discipline and the router decide the same about each packet; returns the number of packets of each
/// fate.
fn compare(params: Params, seed: u64) -> [usize; 5] {
    let number = |amount: Amount| match amount {
        Amount::Millipackets(n) => n as usize / 1000,
        Amount::Bytes(_) => unreachable!("limits are packets"),
    };
    let traffic = Traffic {
        rate: RATE,
        flows: 24,
        sizes: &[40, 200, 576, 1000, 1500],
        loads: &[0.4, 1.2, 2.5],
        phase: Dur::from_secs(1),
        packets: 120_000,
        ..Traffic::default()
    };
    let arrivals = traffic.draw(seed);
    let mut reference = Router {
        threshold: number(params.threshold),
        hold: number(params.hold),
        dwfq: params.aggregate.map(number).zip(params.individual.map(number)),
        p: params.clone(),
        conversations: BTreeMap::new(),
        in_service: 0,
        arrivals: 0,
    };
    let mut ours = Ours(Rig::new(&Spec::FairQueue(params), &places(10_000, RATE), Rng::named(seed, "port")));
    let log = serve(&mut ours, RATE, &arrivals, |_, _| {});
    assert_same(&log, &serve(&mut reference, RATE, &arrivals, |_, _| {}));
    tally(&log)
}

#[test]
fn the_fair_queue_gives_each_of_600_000_packets_the_fate_of_its_description() {
    let per_flow = Params { queues: Buckets::PerFlow, ..Params::default() };
    let forms = [
        Params { hold: Amount::packets(400), ..per_flow.clone() },
        Params { key: KeyBy::Flow, threshold: Amount::packets(16), hold: Amount::packets(200), ..per_flow.clone() },
        Params { key: KeyBy::One, threshold: Amount::packets(900), hold: Amount::packets(40), ..per_flow.clone() },
        Params { scale: 4096, threshold: Amount::packets(30), hold: Amount::packets(150), ..per_flow.clone() },
        Params {
            weights: Weighting::Equal,
            threshold: Amount::packets(300),
            aggregate: Some(Amount::packets(120)),
            individual: Some(Amount::packets(6)),
            hold: Amount::packets(150),
            ..per_flow
        },
    ];
    let mut total = [0; 5];
    for (seed, params) in (1..).zip(forms) {
        let tally = compare(params, seed);
        println!("{tally:?}");
        total.iter_mut().zip(tally).for_each(|(sum, n)| *sum += n);
    }
    assert!(
        [total[fate::UNMARKED], total[fate::EARLY], total[fate::FULL]].iter().all(|n| *n > 10_000),
        "every fate occurs: {total:?}"
    );
}
