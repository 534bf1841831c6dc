//! BBRv3 against a transcription of its draft.

mod draft;
mod variables;

use std::collections::BTreeMap;
use tailback_random::Rng;
use tailback_transport::Tcp;
use tailback_transport::cc::{Acked, Build, CongestionControl, RateSample, Window, bbr3};
use tailback_units::{Dur, Time};
use variables::{Ack, Draft, INF, start};

/// A path with about 1000 segments per second and a round-trip time of 100 to 120 ms, with bursts of loss.
struct Path {
    rng: Rng,
    now: Time,
    /// Number of segments delivered.
    total: u64,
}

impl Path {
    /// Returns acknowledgement `i`, at a window of `cwnd` segments.
    fn acknowledge(&mut self, i: u32, cwnd: f64) -> Acked {
        let rng = &mut self.rng;
        self.now += Dur(rng.below(2_000_000_000));
        let delivered = 1 + rng.below(2) as u32;
        self.total += u64::from(delivered);
        let fill = 0.3 + 0.9 * rng.uniform();
        let in_flight = (cwnd * fill.min(1.0)) as u32;
        let sent_in_flight = (in_flight + 1 + rng.below(8) as u32).min(400);
        // In bursts of loss, from below 1 % to above 4 % of the segments outstanding are lost.
        let lossy = i % 700 < 100 && rng.chance(0.2);
        let lost = if lossy { rng.below(2 + u64::from(sent_in_flight / 20)) as u32 } else { 0 };
        let rtt = Dur(100_000_000_000 + rng.below(20_000_000_000));
        let sample = RateSample {
            delivered: (f64::from(in_flight) * (0.8 + 0.2 * rng.uniform())) as u32 + 1,
            interval: Dur((f64::from(in_flight.max(90)) * 1e9) as u64),
            prior_delivered: self.total.saturating_sub(u64::from(in_flight.min(110))),
            total_delivered: self.total,
            sent_in_flight,
            lost,
            app_limited: rng.chance(0.05),
        };
        Acked {
            now: self.now,
            delivered,
            advanced: delivered,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            in_flight_before: in_flight + delivered,
            in_flight,
            window_limited: true,
            ece: false,
            recovering: false,
            round: false,
            lost,
            rate: Some(sample),
        }
    }
}

/// Returns the acknowledgement in the units of the draft.
fn in_draft(acked: &Acked) -> Ack {
    let rs = acked.rate.expect("each has a sample");
    Ack {
        now: acked.now.as_secs(),
        rtt: acked.rtt.expect("each has a round-trip time").as_secs(),
        newly_acked: f64::from(acked.delivered),
        lost: acked.lost,
        inflight: f64::from(acked.in_flight),
        inflight_before: acked.in_flight_before,
        rate: f64::from(rs.delivered) / rs.interval.as_secs(),
        rs,
    }
}

/// Checks that the control has the values of the draft.
fn check(at: &str, control: &bbr3::Bbr3, cwnd: f64, draft: &Draft) {
    let mut actual = BTreeMap::new();
    control.probe(&mut |name, value| {
        actual.insert(name, value);
    });
    actual.insert("pacing rate", control.pacing().rate.expect("BBR paces"));
    actual.insert("window", cwnd);
    let expected = [
        ("bandwidth", draft.max_bw()),
        ("bandwidth-short", draft.bw_shortterm),
        ("in-flight-short", draft.inflight_shortterm),
        ("in-flight-long", draft.inflight_longterm),
        ("min-rtt", draft.min_rtt.unwrap_or(0.0)),
        ("pacing-gain", draft.pacing_gain),
        ("mode", f64::from(draft.state as u8)),
        ("pacing rate", draft.pacing_rate),
        ("window", draft.cwnd),
    ];
    for (name, value) in expected {
        let same = actual[name] == value || (actual[name] / value - 1.0).abs() < 1e-9;
        assert!(same, "{at}, {:?}: {name} {} instead of {value}", draft.state, actual[name]);
    }
}

/// Compares the control with the draft at each of `acks` acknowledgements, which are the same for both and depend on
/// the window. Returns the number of acknowledgements in each state, and the number of those with a finite long-term
/// bound.
fn compare(seed: u64, acks: u32) -> (BTreeMap<String, u32>, u32) {
    let mut control = bbr3::Params {}.build(&Tcp::default().setup(), Rng::named(seed, "cc"));
    let mut window = Window { cwnd: 10.0, ssthresh: INF };
    let mut path = Path { rng: Rng::named(seed, "path"), now: Time::ZERO + Dur::from_ms(100), total: 0 };
    let (mut draft, mut seen, mut bounded) = (None, BTreeMap::new(), 0);
    for i in 0..acks {
        let acked = path.acknowledge(i, window.cwnd);
        let ack = in_draft(&acked);
        let draft = draft.get_or_insert_with(|| start(Rng::named(seed, "cc"), ack.now, ack.rtt));
        control.on_ack(&mut window, &acked);
        draft.update_on_ack(&ack);
        check(&format!("seed {seed}, acknowledgement {i}"), &control, window.cwnd, draft);
        *seen.entry(format!("{:?}", draft.state)).or_insert(0) += 1;
        bounded += u32::from(draft.inflight_longterm < INF);
    }
    (seen, bounded)
}

#[test]
fn bbr3_follows_the_draft_through_30_000_acknowledgements_with_loss() {
    for seed in 1..=3 {
        let (seen, bounded) = compare(seed, 30_000);
        for state in ["Startup", "Drain", "Down", "Cruise", "Refill", "Up", "ProbeRtt"] {
            assert!(seen.get(state).is_some_and(|n| *n > 2), "{state}: {seen:?}");
        }
        assert!(bounded > 10_000, "the long-term bound is finite in {bounded} of 30000");
    }
}

/// Step of the times of [`on_grid`]; in seconds it is a binary fraction, so that sums of times are exact.
const GRID: Dur = Dur(1_000_000_000_000 / 64);

fn grid_secs(time: u64) -> f64 {
    (time / GRID.0) as f64 / 64.0
}

/// An acknowledgement on a path where many quantities are equal: times are multiples of [`GRID`], the minimum round-trip
/// time is 1/8 s, rates are multiples of 8 segments per second, and one segment of 50, the threshold of loss, is lost at times.
fn on_grid(path: &mut Path, i: u32, cwnd: f64) -> Acked {
    let rng = &mut path.rng;
    path.now += GRID * rng.below(3);
    let delivered = 1 + rng.below(10) as u32;
    path.total += u64::from(delivered);
    let window = cwnd as u32;
    let in_flight = if i < 100 { window.max(1) - 1 } else { rng.below(u64::from(window) + 1) as u32 };
    let capacity = if i < 16 { 32 } else { [40, 32, 50, 20][i as usize / 2_000 % 4] };
    let lossy = i % 700 < 200 && rng.chance(0.1);
    let rtt = GRID * (8 + rng.below(4));
    let sample = RateSample {
        delivered: (in_flight + 1).min(capacity - rng.below(2) as u32),
        interval: GRID * 8,
        prior_delivered: path.total.saturating_sub(u64::from(in_flight.min(60))),
        total_delivered: path.total,
        sent_in_flight: if in_flight < 50 && rng.chance(0.5) { 50 } else { in_flight + 1 },
        lost: if lossy { 1 + rng.below(2) as u32 } else { 0 },
        app_limited: rng.chance(0.2),
    };
    Acked {
        now: path.now,
        delivered,
        advanced: delivered,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight_before: in_flight + delivered,
        in_flight,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: sample.lost,
        rate: Some(sample),
    }
}

#[test]
fn bbr3_follows_the_draft_where_times_rates_and_windows_equal_their_bounds() {
    let mut seen = BTreeMap::new();
    for seed in 1..=30 {
        let mut control = bbr3::Params {}.build(&Tcp::default().setup(), Rng::named(seed, "cc"));
        let mut window = Window { cwnd: 10.0, ssthresh: INF };
        let mut path = Path { rng: Rng::named(seed, "path"), now: Time::ZERO + GRID * 8, total: 0 };
        let mut draft = None;
        for i in 0..10_000 {
            let acked = on_grid(&mut path, i, window.cwnd);
            let ack = Ack { now: grid_secs(acked.now.0), rtt: grid_secs(acked.srtt.0), ..in_draft(&acked) };
            let draft = draft.get_or_insert_with(|| start(Rng::named(seed, "cc"), ack.now, ack.rtt));
            control.on_ack(&mut window, &acked);
            draft.update_on_ack(&ack);
            check(&format!("seed {seed}, acknowledgement {i}"), &control, window.cwnd, draft);
            *seen.entry(format!("{:?}", draft.state)).or_insert(0) += 1;
        }
    }
    for state in ["Startup", "Drain", "Down", "Cruise", "Refill", "Up", "ProbeRtt"] {
        assert!(seen.get(state).is_some_and(|n| *n > 100), "{state}: {seen:?}");
    }
}
