//! DualPI2: the square law, the schedulers, the step and the ramp, and a comparison with a transcription of Linux's
//! `sch_dualpi2`.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::discipline::dualpi2::{Params, Scheduler};
use tailback_qdisc::law::pi2::{Gains, Pi2};
use tailback_qdisc::{Ecn, Qdisc, Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

#[test]
fn the_probability_of_scalable_flows_is_twice_the_root_of_that_of_classic_flows() {
    let gains = Gains { target: Dur::from_ms(15), update: Dur::from_ms(16), alpha: 0.16, beta: 3.2 };
    let mut law = Pi2::new(gains, 1.0);
    for n in 0..200 {
        law.update(law.next_update(), Dur::from_ms(10 + n % 30));
        assert!((law.scalable(2.0) - 2.0 * law.classic().sqrt()).abs() < 1e-12);
    }
    assert!(law.classic() > 0.0);
    // Windows at equal round-trip times: Prague 2/p_L = 1/√p_C, Reno 1.22/√p_C; their ratio is 1/1.22 = 0.82.
    let (prague, reno) = (2.0 / law.scalable(2.0), 1.22 / law.classic().sqrt());
    assert!((prague / reno - 0.82).abs() < 0.001);
}

#[test]
fn classic_packets_are_dropped_with_the_square_of_p_while_scalable_ones_are_all_marked() {
    // In overload without drops of L packets p' is limited to 1/k: L packets are marked with probability 1, C packets
    // dropped with probability 1/k².
    for coupling in [2.0, 4.0] {
        let traffic = Traffic { ect: 0.5, l4s: 1.0, loads: &[2.0], packets: 100_000, ..Traffic::default() };
        let params = Params { coupling, drop_on_overload: false, classic_share: 0.5, ..Params::default() };
        let mut rig =
            Rig::new(&Spec::DualPi2(params), &places(u64::MAX, traffic.rate), Rng::named(coupling as u64, "port"));
        let arrivals = traffic.draw(1);
        let log = serve(&mut rig, traffic.rate, &arrivals, |_, _| {});
        let settled = &log[20_000..80_000];
        let fates_of = |ecn: Ecn| -> Vec<Fate> {
            settled.iter().filter(|(seq, _)| arrivals[*seq as usize].ecn == ecn).map(|(_, fate)| *fate).collect()
        };
        assert!(fates_of(Ecn::Ect1).iter().all(|fate| *fate == Fate::Sent { marked: true }));
        let classic = fates_of(Ecn::NotEct);
        let dropped = classic.iter().filter(|fate| **fate == Fate::Dropped(Reason::Early)).count();
        let share = dropped as f64 / classic.len() as f64;
        assert!((share * coupling * coupling - 1.0).abs() < 0.07, "{coupling}: {share}");
    }
}

#[test]
fn the_weighted_round_robin_gives_the_classic_queue_a_tenth_of_the_link() {
    let traffic = Traffic { ect: 0.5, l4s: 1.0, loads: &[4.0], packets: 40_000, ..Traffic::default() };
    let params = Params { target: Dur::from_secs(3600), step: Dur::from_secs(3600), ..Params::default() };
    let mut rig = Rig::new(&Spec::DualPi2(params), &places(u64::MAX, traffic.rate), Rng::named(1, "port"));
    let arrivals = traffic.draw(1);
    let log = serve(&mut rig, traffic.rate, &arrivals, |_, _| {});
    // Both queues have packets while the first 8000 leave; of the 7000 counted a tenth is 700.
    let classic = log[1000..8000].iter().filter(|(seq, _)| arrivals[*seq as usize].ecn == Ecn::NotEct).count();
    assert!((690..=710).contains(&classic), "{classic}");
}

#[test]
fn the_time_shifted_fifo_sends_a_classic_packet_first_that_has_waited_longer_by_more_than_the_shift() {
    let shift = Dur::from_ms(50);
    let params = Params { scheduler: Scheduler::TimeShiftedFifo, time_shift: shift, ..Params::default() };
    for (gap, first) in [(50_000, 1), (50_001, 0)] {
        let mut rig = Rig::new(&Spec::DualPi2(params.clone()), &places(10, Rate::mbit(10)), Rng::named(1, "port"));
        let mut log = Log::new();
        let later = Time::ZERO + Dur::from_us(gap);
        rig.arrive(
            &Arrival {
                at: Time::ZERO,
                seq: 0,
                flow: 0,
                size: 1000,
                ecn: Ecn::NotEct,
                colour: tailback_qdisc::Colour::default(),
            },
            &mut log,
        );
        rig.arrive(
            &Arrival {
                at: later,
                seq: 1,
                flow: 1,
                size: 1000,
                ecn: Ecn::Ect1,
                colour: tailback_qdisc::Colour::default(),
            },
            &mut log,
        );
        rig.leave(later, &mut log);
        assert_eq!(log[0].0, first);
    }
}

/// Returns, for each of four packets, `true` if it is marked. The four ECT(1) packets of 1000 B arrive at once and
/// leave one by one, 0.8 ms apart, before the first update of the controller.
fn marked_of_four(params: Params) -> Vec<bool> {
    let mut rig = Rig::new(&Spec::DualPi2(params), &places(10, Rate::mbit(10)), Rng::named(1, "port"));
    let mut log = Log::new();
    for seq in 0..4 {
        let ecn = Ecn::Ect1;
        let arrival =
            Arrival { at: Time::ZERO, seq, flow: 0, size: 1000, ecn, colour: tailback_qdisc::Colour::default() };
        rig.arrive(&arrival, &mut log);
    }
    for n in 1..=4 {
        rig.leave(Time::ZERO + Dur::from_us(800 * n), &mut log);
    }
    log.iter().map(|(_, fate)| *fate == Fate::Sent { marked: true }).collect()
}

#[test]
fn a_step_in_packets_marks_a_packet_that_leaves_more_than_that_number_behind() {
    // The packets leave 3, 2, 1 and 0 behind and have waited 0.8, 1.6, 2.4 and 3.2 ms.
    for (step, expected) in [
        (0, [true, true, true, false]),
        (1, [true, true, false, false]),
        (2, [true, false, false, false]),
        (3, [false; 4]),
    ] {
        let params = Params { step_packets: Some(step), ..Params::default() };
        assert_eq!(marked_of_four(params), expected, "{step}");
    }
    assert_eq!(marked_of_four(Params::default()), [false, true, true, true]);
}

#[test]
fn the_step_spares_packets_that_found_fewer_than_min_qlen_step_in_the_l_queue() {
    // The packets found 0, 1, 2 and 3 in the L queue, and all but the first have waited for more than the step of 1 ms.
    for (min_qlen_step, expected) in [
        (0, [false, true, true, true]),
        (1, [false, true, true, true]),
        (2, [false, false, true, true]),
        (4, [false; 4]),
    ] {
        let params = Params { min_qlen_step, ..Params::default() };
        assert_eq!(marked_of_four(params), expected, "{min_qlen_step}");
    }
}

/// RFC 9332, appendix A.1: one random number is compared with the larger of native and coupled probability. At the
/// update at 1 s a C packet has waited for 1 s, so that p' becomes 0.25 and the coupled probability 0.5. The ramp gives
/// the native probability.
#[test]
fn on_a_ramp_packets_are_marked_with_the_larger_of_native_and_coupled_probability() {
    const PACKETS: u32 = 4_000;
    for native in [0.25, 0.5, 0.75] {
        let params = Params {
            target: Dur::from_ns(1),
            update: Dur::from_secs(1),
            alpha: 0.25,
            beta: 1e-9,
            step: Dur::ZERO,
            ramp: Dur::from_ms(100),
            ..Params::default()
        };
        let mut rig = Rig::new(&Spec::DualPi2(params), &places(10_000, Rate::mbit(10)), Rng::named(1, "port"));
        let mut log = Log::new();
        let arrival =
            |at, seq, ecn| Arrival { at, seq, flow: 0, size: 1000, ecn, colour: tailback_qdisc::Colour::default() };
        rig.arrive(&arrival(Time::ZERO, 0, Ecn::NotEct), &mut log);
        let second = Time::ZERO + Dur::from_secs(1);
        rig.wake(second, &mut log);
        assert!((rig.state("base_probability") - 0.25).abs() < 1e-6);
        (1..=PACKETS).for_each(|seq| rig.arrive(&arrival(second, seq, Ecn::Ect1), &mut log));
        let later = second + Dur::from_us((native * 1e5) as u64);
        let mut steps = Steps::at_most(u64::from(PACKETS) + 1);
        while rig.q.packets() > 3 {
            steps.step("packets wait and none leaves");
            rig.leave(later, &mut log);
        }
        let marked = log.iter().filter(|(_, fate)| *fate == Fate::Sent { marked: true }).count();
        let (share, expected) = (marked as f64 / f64::from(PACKETS), f64::max(native, 0.5));
        // Three standard deviations are 0.024; two draws joined by "or" would give 0.63, 0.75 and 0.88.
        assert!((share - expected).abs() < 0.024, "{native}: {share} instead of {expected}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    let stepped = Params { step_packets: Some(5), ..Params::default() };
    refuse(Params { ramp: Dur::from_ms(1), ..stepped.clone() }, "ramp");
    refuse(Params { step: Dur::from_ms(2), ..stepped }, "step");
    refuse(Params { coupling: 0.5, ..Params::default() }, "coupling");
    refuse(Params { classic_share: 1.0, ..Params::default() }, "classic-share");
    refuse(Params { update: Dur::ZERO, ..Params::default() }, "update");
}

/// `sch_dualpi2` with its default gains and weights; the probability is a real number here.
struct Kernel {
    rng: Rng,
    drop_overload: bool,
    /// Step threshold in packets; `None`: 1 ms.
    step_packets: Option<usize>,
    min_qlen_step: usize,
    c: VecDeque<Held>,
    /// Packets, each with `true` if the step applies to it.
    l: VecDeque<(Held, bool)>,
    limit: usize,
    prob: f64,
    last_qdelay: f64,
    credit: i64,
    due: Time,
}

const MTU: i64 = 1514;

impl Kernel {
    fn roll(&mut self, prob: f64) -> bool {
        self.rng.uniform() < prob
    }
    fn must_drop(&mut self, packet: &mut Held) -> bool {
        let backlog: i64 = self.c.iter().chain(self.l.iter().map(|(h, _)| h)).map(|h| i64::from(h.size)).sum();
        if backlog < 2 * MTU {
            return false;
        }
        let (prob, local_l_prob) = (self.prob, self.prob * 2.0);
        let overload = local_l_prob > 1.0;
        if !packet.l4s {
            if self.roll(prob) && self.roll(prob) {
                if overload || !packet.ect {
                    return true;
                }
                packet.marked = true;
            }
            return false;
        }
        if overload {
            if self.drop_overload && self.roll(prob) && self.roll(prob) {
                return true;
            }
            packet.marked = true;
        } else if self.roll(local_l_prob) {
            packet.marked = true;
        }
        false
    }
}

impl Queue for Kernel {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        if self.c.len() + self.l.len() >= self.limit {
            log.push((arrival.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        let packet = Held::new(arrival);
        let apply_step = self.l.len() >= self.min_qlen_step;
        if packet.l4s { self.l.push_back((packet, apply_step)) } else { self.c.push_back(packet) }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        loop {
            let mut change = 0;
            let (c_len, l_len) = (self.c.len(), self.l.len());
            let mut apply_step = false;
            let mut packet = if l_len > 0 && (c_len == 0 || self.credit <= 0) {
                if c_len > 0 {
                    change = 10;
                }
                let (packet, apply) = self.l.pop_front().unwrap();
                apply_step = apply;
                packet
            } else if c_len > 0 {
                if l_len > 0 {
                    change = -90;
                }
                self.c.pop_front().unwrap()
            } else {
                self.credit = MTU * (10 - 90);
                return None;
            };
            change *= i64::from(packet.size);
            if self.must_drop(&mut packet) {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                continue;
            }
            let above = match self.step_packets {
                Some(packets) => self.l.len() > packets,
                None => now.since(packet.at) > Dur::from_ms(1),
            };
            if apply_step && above {
                packet.marked = true;
            }
            self.credit += change;
            log.push((packet.seq, packet.sent()));
            return Some(packet.size);
        }
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        let waited = |head: Option<&Held>| head.map_or(0.0, |h| now.since(h.at).as_secs());
        let qdelay = f64::max(waited(self.c.front()), waited(self.l.front().map(|(h, _)| h)));
        let delta = (qdelay - 0.015) * 0.16 + (qdelay - self.last_qdelay) * 3.2;
        self.last_qdelay = qdelay;
        self.prob = (self.prob + delta).clamp(0.0, 1.0);
        if !self.drop_overload {
            self.prob = self.prob.min(0.5);
        }
        self.due = now + Dur::from_ms(16);
    }
}

#[test]
fn dualpi2_gives_each_of_150_000_packets_its_fate_in_linux() {
    let traffic = Traffic {
        sizes: &[1500, 1500, 300],
        packets: 150_000,
        loads: &[0.3, 0.9, 1.1, 1.6, 3.0],
        phase: Dur::from_secs(2),
        l4s: 0.5,
        ..Traffic::default()
    };
    for (seed, drop_overload, step_packets, min_qlen_step) in
        [(1, true, None, 0), (2, false, None, 0), (3, true, Some(5), 0), (4, false, None, 3)]
    {
        let rng = Rng::named(seed, "port");
        let mut reference = Kernel {
            rng: rng.clone(),
            drop_overload,
            step_packets,
            min_qlen_step,
            c: VecDeque::new(),
            l: VecDeque::new(),
            limit: 150,
            prob: 0.0,
            last_qdelay: 0.0,
            credit: MTU * (10 - 90),
            due: Time::ZERO + Dur::from_ms(16),
        };
        let arrivals = traffic.draw(seed);
        let params = Params {
            drop_on_overload: drop_overload,
            step_packets: step_packets.map(|n| n as u64),
            min_qlen_step: min_qlen_step as u64,
            ..Params::default()
        };
        let mut ours = Rig::new(&Spec::DualPi2(params), &places(150, traffic.rate), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        let tally = tally(&log);
        assert!(tally[..fate::UNRESPONSIVE].iter().all(|n| *n > 100), "{tally:?}");
    }
}
