//! PIE: its bursts, its decay, and a transcription of RFC 8033's pseudo-code.

use crate::common::rfc8033::Rfc;
use crate::common::*;
use tailback_qdisc::law::pie::{Estimator, Params, Pie};
use tailback_qdisc::law::{Arrival as Arriving, ArrivalLaw, Backlog, Decision};
use tailback_qdisc::{Ecn, Fate as Verdict, Packet, Reason, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

const LONG: Backlog = Backlog { packets: 100, bytes: 100_000 };

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Reports the departure of a packet of 1000 bytes that has waited for `sojourn`; `remaining` is the backlog behind it.
fn depart(law: &mut Pie, now: Time, sojourn: Dur, remaining: Backlog) {
    let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, 1);
    packet.set_lengths(1000, 1020);
    packet.at = Time(now.0 - sojourn.0);
    law.depart(now, &packet, remaining);
}

/// Returns the time of the next update.
fn due(law: &Pie) -> Time {
    law.next_update().expect("PIE has a timer")
}

/// Makes `n` updates at a constant delay of `ms` milliseconds.
fn updates(law: &mut Pie, ms: u64, n: usize) {
    for _ in 0..n {
        depart(law, due(law) + Dur::from_ms(ms), Dur::from_ms(ms), LONG);
        law.update(due(law), LONG);
    }
}

// RFC 8033 section 4.4. Ten updates of 15 ms are 150 ms.
#[test]
fn a_burst_of_150_ms_passes_whatever_the_delay() {
    let rng = &mut Rng::named(1, "burst");
    let mut law = Pie::new(&Params::default());
    for n in 1..=10 {
        updates(&mut law, 200, 1);
        if n < 10 {
            assert_eq!(law.arrive(LONG, 1000, rng), Decision::Pass);
        }
    }
    assert!(law.probability() > 0.0);
    updates(&mut law, 200, 200);
    let drops = (0..1000).filter(|_| law.arrive(LONG, 1000, rng) == Decision::Early).count();
    assert!(drops > 100, "{drops}");
}

// RFC 8033 section 4.1.
#[test]
fn with_at_most_two_full_packets_waiting_no_packet_is_dropped() {
    let rng = &mut Rng::named(1, "short");
    let mut law = Pie::new(&Params::default());
    updates(&mut law, 200, 300);
    let two = Backlog { packets: 2, bytes: 3028 };
    assert!((0..1000).all(|_| law.arrive(two, 1000, rng) == Decision::Pass));
}

// RFC 8033 section 5.4.
#[test]
fn derandomised_drops_are_between_0_85_over_p_and_8_5_over_p_packets_apart() {
    let rng = &mut Rng::named(1, "spread");
    let mut law = Pie::new(&Params::default());
    let mut steps = Steps::at_most(10_000_000);
    while law.probability() < 0.05 {
        steps.step("the probability does not rise");
        updates(&mut law, 40, 1);
    }
    let p = law.probability();
    let (mut gap, mut gaps) = (0, Vec::new());
    while gaps.len() < 2000 {
        steps.step("the law drops too little");
        gap += 1;
        if law.arrive(LONG, 1000, rng) == Decision::Early {
            gaps.push(gap);
            gap = 0;
        }
    }
    let (shortest, longest) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(f64::from(*shortest) >= 0.85 / p && f64::from(*longest) <= 8.5 / p + 1.0, "{shortest} {longest} {p}");
}

// RFC 8033 section 4.2.
#[test]
fn without_delay_the_probability_decays_by_2_percent_per_update() {
    let mut law = Pie::new(&Params { alpha: 1e-12, beta: 1e-12, ..Params::default() });
    updates(&mut law, 300, 3);
    let now = due(&law);
    depart(&mut law, now, Dur::ZERO, Backlog::default());
    law.update(due(&law), Backlog::default());
    let start = law.probability();
    law.update(due(&law), Backlog::default());
    assert!((law.probability() / start - 0.98).abs() < 1e-6);
}

// RFC 8033 section 5.5 caps a step at 0.02 once the probability is 0.1; 0.125 · (1 s − 15 ms) is above.
#[test]
fn above_250_ms_the_probability_rises_by_0_02_per_update_and_with_the_long_delay_step_by_0_04() {
    for (long_delay_step, rise) in [(false, 0.02), (true, 0.04)] {
        let mut law = Pie::new(&Params { long_delay_step, ..Params::default() });
        let mut steps = Steps::at_most(100_000);
        while law.probability() < 0.1 {
            steps.step("the probability does not rise");
            updates(&mut law, 1000, 1);
        }
        let before = law.probability();
        updates(&mut law, 1000, 10);
        assert!((law.probability() - before - 10.0 * rise).abs() < 1e-9, "{before} {}", law.probability());
    }
}

// RFC 8033 section 5.2.
#[test]
fn the_rate_estimate_gives_the_delay_of_the_backlog() {
    let mut law = Pie::new(&Params { estimator: Estimator::DepartureRate, ..Params::default() });
    // A departure of 1000 bytes every 0.8 ms.
    for n in 0..100 {
        depart(&mut law, Time::ZERO + Dur::from_us(800 * n), Dur::ZERO, LONG);
    }
    law.update(at(1000), LONG);
    // 17 departures of 1000 bytes reach 16384 bytes; the 16 gaps of 0.8 ms between them, 12.8 ms, count as the time of
    // 16384 bytes.
    let expected = 100_000.0 * 0.0128 / 16_384.0;
    assert!((law.delay() - expected).abs() < 1e-9, "{} {expected}", law.delay());
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { update: Dur::ZERO, ..Params::default() }, "update");
    refuse(Params { alpha: -1.0, ..Params::default() }, "alpha");
    refuse(Params { beta: f64::INFINITY, ..Params::default() }, "beta");
}

/// The RFC's queue with its limit and timer.
struct SingleQueue {
    law: Rfc,
    rng: Rng,
    limit: usize,
    due: Time,
    update: Dur,
}

impl Queue for SingleQueue {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let full = self.law.q.len() >= self.limit;
        self.law.arrive(arrival, full, &mut self.rng, log);
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        self.law.leave(now, log)
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        self.due = now + self.update;
        self.law.update();
    }
}

// RFC 8033 sections 4.1, 4.2, 4.4, 5.1, 5.2, 5.4 and 5.5.
#[test]
fn pie_gives_each_of_150_000_packets_its_fate_in_the_rfc() {
    let traffic = Traffic {
        sizes: &[1500, 1500, 300],
        packets: 150_000,
        loads: &[0.3, 0.9, 1.05, 1.3, 0.01],
        phase: Dur::from_secs(3),
        ..Traffic::default()
    };
    let base = Params { ecn: true, ..Params::default() };
    let forms = [
        base.clone(),
        Params { derandomise: false, mark_limit: Fraction(0.3), ..base.clone() },
        Params { estimator: Estimator::DepartureRate, byte_mode: true, ..base.clone() },
        Params { long_delay_step: false, ..base },
    ];
    for (seed, params) in (1..).zip(forms) {
        let rng = Rng::named(seed, "port");
        let (due, update) = (Time::ZERO + params.update, params.update);
        let mut reference = SingleQueue { law: Rfc::new(&params), rng: rng.clone(), limit: 300, due, update };
        let arrivals = traffic.draw(seed);
        let mut ours = Rig::new(&Spec::Pie(params), &places(300, Rate::mbit(10)), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        let tally = tally(&log);
        assert!(tally[fate::MARKED] > 50 && tally[fate::EARLY] > 100, "{tally:?}");
    }
}

/// Returns the values of the law's time series: the probability, the delay and the burst allowance, both in seconds.
fn series(law: &Pie) -> [f64; 3] {
    let mut values = Vec::new();
    law.probe(&mut |_, value| values.push(value));
    values.try_into().expect("three values")
}

/// Returns parameters without a burst allowance, with a target of 1 s. Gains and delays are such that the probability
/// after an update is exact: the first step is divided by 2048, as the probability is below 10^-6, and the other factors
/// are powers of two, too.
fn exact(beta: f64) -> Params {
    Params { target: Dur::from_secs(1), burst: Dur::ZERO, alpha: 1e-300, beta, derandomise: false, ..Params::default() }
}

/// Returns a law after an update that found a delay of 250 ms: its probability is `p`.
fn with_probability(p: f64, params: impl FnOnce(Params) -> Params) -> Pie {
    let mut law = Pie::new(&params(exact(p * 8192.0)));
    updates(&mut law, 250, 1);
    assert_eq!(law.probability(), p);
    law
}

// RFC 8033 section 4.4: the allowance is restored while the delay and its last value are below half of the target.
#[test]
fn the_burst_allowance_is_restored_only_if_both_delays_are_below_half_of_the_target() {
    let params = Params { target: Dur::from_ms(16), alpha: 1.0, beta: 1e-300, ..Params::default() };
    let rng = &mut Rng::named(1, "burst");
    assert_eq!(series(&Pie::new(&params)), [0.0, 0.0, 0.15]);
    // Delay at the update and delay afterwards, ms; allowance after the next arrival, s. The update takes 15 ms.
    for (old, new, left) in [(7, 7, 0.15), (7, 8, 0.135), (8, 7, 0.135), (8, 8, 0.135)] {
        let mut law = Pie::new(&params);
        updates(&mut law, old, 1);
        depart(&mut law, at(20), Dur::from_ms(new), LONG);
        law.arrive(LONG, 1000, rng);
        assert_eq!(series(&law), [0.0, new as f64 / 1e3, left], "{old} {new}");
    }
}

// RFC 8033 section 5.1.
#[test]
fn at_the_limit_of_marks_itself_ecn_capable_packets_are_dropped() {
    for limit in [0.5, 1.0] {
        let mut law = with_probability(1.0, |params| Params { ecn: true, mark_limit: Fraction(limit), ..params });
        let mut packet = Packet::new(0, Traits::data(0, true).with_ecn(Ecn::Ect0), Time::ZERO, 0, 1);
        packet.set_lengths(1000, 1020);
        let arrival = Arriving { now: at(20), packet: &packet, queue: LONG, full: false };
        assert_eq!(law.judge(&arrival, &mut Rng::named(1, "ecn")), Verdict::Dropped(Reason::Early), "{limit}");
    }
}

// RFC 8033 section 4.1: no drop if the last delay is below half of the target (500 ms) and the probability below 0.2.
#[test]
fn at_half_of_the_target_or_at_a_probability_of_0_2_packets_are_dropped() {
    let drops = |law: &mut Pie| {
        let rng = &mut Rng::named(1, "half");
        (0..1000).filter(|_| law.arrive(LONG, 1000, rng) == Decision::Early).count()
    };
    // 1000 p, within three standard deviations.
    assert!((162..=238).contains(&drops(&mut with_probability(0.2, |params| params))));
    assert_eq!(drops(&mut with_probability(0.19, |params| params)), 0);
    for (delay, expected) in [(499, 0..=0), (500, 71..=129)] {
        // A delay of 500 ms raises the probability to 409.6 · 0.5 / 2048 = 0.1.
        let mut law = Pie::new(&exact(409.6));
        updates(&mut law, delay, 1);
        let found = drops(&mut law);
        assert!(expected.contains(&found), "{delay}: {found}");
    }
}

#[test]
fn in_byte_mode_a_packet_larger_than_a_full_one_has_the_probability_of_a_full_one() {
    let mut law = with_probability(0.5, |params| Params { byte_mode: true, mtu: tailback_units::Size(500), ..params });
    let rng = &mut Rng::named(1, "large");
    let drops = (0..1000).filter(|_| law.arrive(LONG, 1000, rng) == Decision::Early).count();
    assert!((452..=548).contains(&drops), "{drops}");
}

// RFC 8033 section 5.4: random drops from an accumulated probability of 0.85 on, and a certain one at 8.5.
#[test]
fn derandomisation_begins_at_exactly_0_85_and_ends_at_exactly_8_5() {
    let law = with_probability(0.85, |params| Params { derandomise: true, ..params });
    let first = |seed| law.clone().arrive(LONG, 1000, &mut Rng::named(seed, "first")) == Decision::Early;
    let drops = (0..100).filter(|seed| first(*seed)).count();
    assert!((74..=96).contains(&drops), "{drops}");
    // 136 packets of 1/16. Random numbers are drawn for those after the 13th, 0.8125. The seed is one for which no
    // random number is below 1/16.
    let draws = |seed| {
        let mut rng = Rng::named(seed, "last");
        (0..136).all(|_| rng.uniform() >= 0.0625)
    };
    let seed = (0..100_000).find(|seed| draws(*seed)).expect("a share of 0.00015 of the seeds");
    let mut law = with_probability(0.0625, |params| Params { derandomise: true, target: Dur::from_ms(500), ..params });
    let rng = &mut Rng::named(seed, "last");
    let early: Vec<usize> = (1..=136).filter(|_| law.arrive(LONG, 1000, rng) == Decision::Early).collect();
    assert_eq!(early, [136]);
}

// RFC 8033 section 5.2: a measurement begins with a backlog of 2^14 bytes, and ends when 2^14 bytes have left.
#[test]
fn a_measurement_of_the_departure_rate_begins_and_ends_at_exactly_16384_bytes() {
    // Backlog at the first departure; sizes of the first and of all other packets; number of gaps of 1 ms until the end
    // of the measurement (0: none ends).
    for (backlog, first, gaps) in [(16_383, 1024, 0), (16_384, 1024, 15), (16_384, 1023, 16), (16_384, 1025, 15)] {
        let mut law = Pie::new(&Params { estimator: Estimator::DepartureRate, ..Params::default() });
        for n in 0..17 {
            let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, 1);
            let size = if n == 0 { first } else { 1024 };
            packet.set_lengths(size, size + 20);
            let bytes = if n == 0 { backlog } else { 0 };
            law.depart(at(n), &packet, Backlog { packets: 1, bytes });
        }
        law.update(at(100), Backlog { packets: 16, bytes: 16_384 });
        assert_eq!(law.delay(), f64::from(gaps) / 1e3, "{backlog} {first}");
    }
}

// RFC 8033 sections 4.2 and 5.5, and RFC 8034: above 250 ms the probability rises by an additional 0.02.
#[test]
fn from_a_probability_of_0_1_a_step_is_at_most_0_02_and_above_250_ms_at_most_0_04() {
    // At exactly 250 ms there is no additional step.
    let mut law = with_probability(0.1, |params| params);
    updates(&mut law, 500, 1);
    assert_eq!(law.probability(), 0.1 + (0.02 + 0.02));
    let mut law = with_probability(0.1, |params| Params { long_delay_step: false, ..params });
    updates(&mut law, 500, 1);
    assert_eq!(law.probability(), 0.1 + 0.02);
}
