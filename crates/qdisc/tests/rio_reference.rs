//! RIO compared packet by packet with figure 4 of Clark and Fang (IEEE/ACM ToN 6(4), 1998), and enhanced RED with its
//! description (Feng et al., NOSSDAV 1997). Both are transcribed with the RED of 1993 and the idle time of ns-2.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::red::{Count, Params};
use tailback_qdisc::law::{ered, rio};
use tailback_qdisc::{Colour, Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Amount, Fraction, Rate, Size, Time};

/// Limit of the queue, packets.
const PLACES: usize = 60;

/// Returns RED of 1993 with these thresholds in packets.
fn level(min: u64, max: u64, max_p: f64, weight: f64) -> Params {
    Params {
        min: Some(Amount::packets(min)),
        max: Some(Amount::packets(max)),
        max_p: Fraction(max_p),
        weight: Some(weight),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ecn: true,
        ..Params::default()
    }
}

/// One RED of 1993: thresholds and an average in packets, and the count since the last mark or drop.
struct Classic {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    avg: f64,
    count: u64,
    between: bool,
    q_time: Option<f64>,
    s: f64,
}

impl Classic {
    fn new(min: u64, max: u64, max_p: f64, w_q: f64, rate: Rate) -> Classic {
        let s = 8000.0 / rate.0 as f64;
        Classic {
            min_th: min as f64,
            max_th: max as f64,
            max_p,
            w_q,
            avg: 0.0,
            count: 0,
            between: false,
            q_time: Some(0.0),
            s,
        }
    }
    /// Updates the average; after an idle time also for the packets that the link could have sent.
    fn average(&mut self, q: usize, now: f64) {
        if let Some(since) = self.q_time.take() {
            let mut m = ((now - since) / self.s) as u64;
            // After 100 000 packets the average is practically 0.
            m = m.min(100_000);
            for _ in 0..m {
                self.avg *= 1.0 - self.w_q;
            }
        }
        self.avg = (1.0 - self.w_q) * self.avg + self.w_q * q as f64;
    }
    /// Returns 0 for a packet that passes, 1 for one to be marked or dropped at random, 2 for one to be dropped; `q` is
    /// the queue that this RED counts.
    fn judge(&mut self, q: usize, rng: &mut Rng) -> u8 {
        self.count += 1;
        if self.avg < self.min_th || q <= 1 {
            self.between = false;
            return 0;
        }
        if self.avg >= self.max_th {
            self.count = 0;
            return 2;
        }
        if !self.between {
            self.between = true;
            self.count = 1;
            return 0;
        }
        let p_b = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th);
        let p_a = if self.count as f64 * p_b < 1.0 { p_b / (1.0 - self.count as f64 * p_b) } else { 1.0 };
        if rng.uniform() >= p_a.min(1.0) {
            return 0;
        }
        self.count = 0;
        1
    }
}

/// Carries out a verdict of [`Classic::judge`].
fn push(q: &mut VecDeque<Held>, mut packet: Held, verdict: u8, log: &mut Log) {
    match verdict {
        0 => q.push_back(packet),
        1 if packet.ect => {
            packet.marked = true;
            q.push_back(packet);
        }
        _ => log.push((packet.seq, Fate::Dropped(Reason::Early))),
    }
}

/// Figure 4: an In packet updates both averages and is dropped by avg_in; an Out packet updates only avg_total and is
/// dropped by avg_total.
struct ClarkFang {
    rng: Rng,
    q: VecDeque<Held>,
    r#in: Classic,
    out: Classic,
}

impl Queue for ClarkFang {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let (now, packet) = (arrival.at.as_secs(), Held::new(arrival));
        let q_in = self.q.iter().filter(|p| p.colour == Colour::Green).count();
        let q = self.q.len();
        let full = q >= PLACES;
        let is_in = packet.colour == Colour::Green;
        // The verdict does not depend on the other average, which is updated later.
        let red = if is_in {
            self.r#in.average(q_in, now);
            &mut self.r#in
        } else {
            self.out.average(q, now);
            &mut self.out
        };
        let verdict = red.judge(if is_in { q_in } else { q }, &mut self.rng);
        if full {
            red.count = 0;
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
        } else {
            push(&mut self.q, packet, verdict, log);
        }
        if is_in {
            self.out.average(q, now);
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        for red in [&mut self.r#in, &mut self.out] {
            red.q_time.get_or_insert(now.as_secs());
        }
    }
}

/// RED for packets that are not green; green packets pass unless the queue is full or the average is at least `top`.
struct Enhanced {
    rng: Rng,
    q: VecDeque<Held>,
    red: Classic,
    top: f64,
}

impl Queue for Enhanced {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let (now, packet, q) = (arrival.at.as_secs(), Held::new(arrival), self.q.len());
        self.red.average(q, now);
        let green = packet.colour == Colour::Green;
        let verdict = match green {
            true if self.red.avg >= self.top => 2,
            true => 0,
            false => self.red.judge(q, &mut self.rng),
        };
        if q >= PLACES {
            if !green {
                self.red.count = 0;
            }
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
        } else {
            push(&mut self.q, packet, verdict, log);
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.q.pop_front()?;
        log.push((packet.seq, packet.sent()));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        self.red.q_time.get_or_insert(now.as_secs());
    }
}

/// Returns traffic in which flow k has the colour at index k modulo their number.
fn coloured(colours: &'static [Colour]) -> Traffic {
    Traffic { colours, packets: 100_000, ..Traffic::default() }
}

/// Fails unless the discipline and the reference decide the same about each packet; returns the number of packets of
/// each fate.
fn compare<Q: Queue>(spec: Spec, mut reference: Q, traffic: &Traffic, rng: Rng) -> [usize; 5] {
    let arrivals = traffic.draw(7);
    let mut ours = Rig::new(&spec, &places(PLACES as u64, traffic.rate), rng);
    let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
    assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
    tally(&log)
}

#[test]
fn rio_gives_each_of_100_000_packets_its_fate_in_figure_4_of_clark_and_fang() {
    for (colours, weight) in [
        (&[Colour::Green, Colour::Yellow][..], 0.02),
        (&[Colour::Green, Colour::Green, Colour::Green, Colour::Yellow], 0.002),
        // Without parameters for red, red packets are Out packets, too.
        (&[Colour::Green, Colour::Yellow, Colour::Red], 0.05),
    ] {
        let traffic = coloured(colours);
        let rng = Rng::named(3, "port");
        let spec =
            Spec::Rio(rio::Params { green: level(20, 40, 0.02, weight), yellow: level(5, 15, 0.5, weight), red: None });
        let reference = ClarkFang {
            rng: rng.clone(),
            q: VecDeque::new(),
            r#in: Classic::new(20, 40, 0.02, weight, traffic.rate),
            out: Classic::new(5, 15, 0.5, weight, traffic.rate),
        };
        let tally = compare(spec, reference, &traffic, rng);
        assert!(tally[..fate::FULL].iter().all(|n| *n > 100), "sent, marked and dropped early: {tally:?}");
    }
}

#[test]
fn enhanced_red_gives_each_of_100_000_packets_the_fate_of_its_description() {
    for top in [None, Some(30)] {
        let traffic = coloured(&[Colour::Green, Colour::Red, Colour::Green]);
        let rng = Rng::named(4, "port");
        let spec = Spec::Ered(ered::Params { red: level(5, 20, 0.1, 0.02), green_max: top.map(Amount::packets) });
        let reference = Enhanced {
            rng: rng.clone(),
            q: VecDeque::new(),
            red: Classic::new(5, 20, 0.1, 0.02, traffic.rate),
            top: top.map_or(f64::INFINITY, |packets| packets as f64),
        };
        let tally = compare(spec, reference, &traffic, rng);
        assert!(tally[..fate::FULL].iter().all(|n| *n > 100), "sent, marked and dropped early: {tally:?}");
        assert_eq!(tally[fate::FULL] > 0, top.is_none(), "the queue is full only if green has no threshold of its own");
    }
}
