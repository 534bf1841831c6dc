//! CUBIC against a transcription of RFC 9438, its mean window, and HyStart++.

use crate::common::{Fate, MS, Net, answer, at, deliver, tcp};
use serde_json::json;
use tailback_random::{Rng, maths};
use tailback_transport::cc::{Acked, Build, Congestion, CongestionControl, CongestionEvent, Sent, Window, cubic};
use tailback_transport::{Segment, State, Tcp};
use tailback_units::{Dur, Time};

/// A transcription of RFC 9438 with the names of the RFC, in segments and seconds. It shares no code with the crate.
#[derive(Clone, Default)]
#[allow(non_snake_case)]
struct Rfc {
    cwnd: f64,
    ssthresh: f64,
    W_max: f64,
    cwnd_prior: f64,
    K: f64,
    W_est: f64,
    t_epoch: Option<f64>,
    /// `true` if the next stage has K = 0: after slow start without loss, and after a timeout (sections 4.8 and 4.10).
    K_is_zero: bool,
    /// State before the last reduction.
    saved: Option<Box<Rfc>>,
}

impl Rfc {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;

    fn w_cubic(&self, t: f64) -> f64 {
        Self::C * maths::pow((t - self.K).abs(), 3.0).copysign(t - self.K) + self.W_max
    }
    /// Processes an acknowledgement. `first`: `false` in the slow start after a timeout, which counts one segment per
    /// acknowledgement; otherwise at most two count.
    fn ack(&mut self, now: f64, rtt: f64, segments_acked: f64, first: bool) {
        if self.cwnd < self.ssthresh {
            self.cwnd += if first { segments_acked.min(2.0) } else { segments_acked.min(1.0) };
            return;
        }
        if self.t_epoch.is_none() {
            self.t_epoch = Some(now);
            self.W_est = self.cwnd;
            if self.K_is_zero {
                self.K = 0.0;
                self.W_max = self.cwnd;
                self.K_is_zero = false;
            } else {
                let ratio = (self.W_max - self.cwnd) / Self::C;
                self.K = ratio.signum() * maths::pow(ratio.abs(), 1.0 / 3.0);
            }
        }
        let t = now - self.t_epoch.unwrap();
        let alpha_cubic =
            if self.W_est < self.cwnd_prior { 3.0 * (1.0 - Self::BETA) / (1.0 + Self::BETA) } else { 1.0 };
        self.W_est += alpha_cubic * segments_acked / self.cwnd;
        if self.w_cubic(t) < self.W_est {
            self.cwnd = self.W_est;
            return;
        }
        let w = self.w_cubic(t + rtt);
        let target = if w < self.cwnd {
            self.cwnd
        } else if w > 1.5 * self.cwnd {
            1.5 * self.cwnd
        } else {
            w
        };
        self.cwnd += (target - self.cwnd) / self.cwnd;
    }
    fn reduce(&mut self, flight_size: f64) {
        self.saved = Some(Box::new(Rfc { saved: None, ..self.clone() }));
        self.W_max = if self.cwnd < self.W_max { self.cwnd * (1.0 + Self::BETA) / 2.0 } else { self.cwnd };
        self.cwnd_prior = self.cwnd;
        self.ssthresh = (flight_size * Self::BETA).max(2.0);
        self.t_epoch = None;
        self.K_is_zero = false;
    }
}

const TICK: Dur = Dur::from_us(10);

fn acked(now: Time, advanced: u32, srtt: Dur) -> Acked {
    Acked {
        now,
        delivered: advanced,
        advanced,
        rtt: Some(srtt),
        srtt,
        min_rtt: srtt,
        in_flight_before: 10,
        in_flight: 10,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: 0,
        rate: None,
    }
}

/// Returns CUBIC without HyStart++.
fn without_hystart() -> cubic::Cubic {
    cubic::Params { hystart: false, ..Default::default() }.build(&Tcp::default().setup(), Rng::named(1, "cc"))
}

// RFC 9438 sections 4.1 to 4.10.
#[test]
fn the_window_is_that_of_the_formulas_of_rfc_9438_through_losses_echoes_timeouts_and_undoing() {
    // Numbers of losses, ECN echoes, timeouts and undone losses.
    let mut counts = [0; 4];
    for seed in 0..20 {
        let mut rng = Rng::named(seed, "events");
        let mut control = without_hystart();
        let mut window = Window { cwnd: 10.0, ssthresh: 60.0 };
        let mut rfc = Rfc { cwnd: 10.0, ssthresh: 60.0, K_is_zero: true, cwnd_prior: 60.0, ..Rfc::default() };
        let mut now = Time::ZERO + MS(1);
        let mut first = true;
        for i in 0..200_000u32 {
            let srtt = MS(rng.between(20, 120));
            now += TICK * rng.between(1, 300);
            if rng.chance(0.000_3) {
                let flight = (window.cwnd as u32).max(1);
                let cwnd = window.cwnd;
                match rng.below(4) {
                    0 => {
                        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, now, flight));
                        window.cwnd = window.ssthresh;
                        rfc.reduce(f64::from(flight));
                        rfc.cwnd = rfc.ssthresh;
                        counts[0] += 1;
                    }
                    1 => {
                        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Ecn, now, flight));
                        rfc.reduce(cwnd);
                        rfc.cwnd = (cwnd * 0.7).max(1.0);
                        counts[1] += 1;
                    }
                    2 if rfc.cwnd >= rfc.ssthresh => {
                        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Timeout, now, flight));
                        window.cwnd = 1.0;
                        rfc.reduce(f64::from(flight));
                        rfc.cwnd = 1.0;
                        rfc.K_is_zero = true;
                        first = false;
                        counts[2] += 1;
                    }
                    3 => {
                        // A loss that turns out to be spurious a round trip later.
                        let before = window;
                        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, now, flight));
                        rfc.reduce(f64::from(flight));
                        now += srtt;
                        window = before;
                        control.on_spurious(&mut window, Time::ZERO);
                        rfc = *rfc.saved.take().unwrap();
                        counts[3] += 1;
                    }
                    _ => {}
                }
            }
            let advanced = rng.between(1, 2) as u32;
            control.on_ack(&mut window, &acked(now, advanced, srtt));
            // The slow start after a timeout counts one segment per acknowledgement (RFC 3465).
            rfc.ack(now.as_secs(), srtt.as_secs(), f64::from(advanced), first);
            first |= rfc.cwnd >= rfc.ssthresh;
            if rfc.cwnd_prior == 60.0 && rfc.t_epoch.is_some() && rfc.saved.is_none() {
                rfc.cwnd_prior = rfc.W_max;
            }
            let deviation = (window.cwnd - rfc.cwnd).abs() / rfc.cwnd;
            assert!(deviation < 1e-9, "seed {seed}, acknowledgement {i}: {} instead of {}", window.cwnd, rfc.cwnd);
        }
    }
    assert!(counts.iter().all(|n| *n > 100), "{counts:?}");
}

// RFC 9438 section 4.2: the target is at most 1.5 cwnd.
#[test]
fn far_below_the_curve_an_acknowledgement_grows_the_window_by_half_a_segment() {
    let mut control = without_hystart();
    let mut window = Window { cwnd: 1_000.0, ssthresh: 1_000.0 };
    control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 1_000));
    window.cwnd = 10.0;
    window.ssthresh = 10.0;
    control.on_ack(&mut window, &acked(at(1), 1, MS(100)));
    // A minute later the curve is thousands of segments above the window.
    let before = window.cwnd;
    control.on_ack(&mut window, &acked(at(60_000), 1, MS(100)));
    assert!((window.cwnd - before - 0.5).abs() < 1e-9, "{before} to {}", window.cwnd);
}

// RFC 9438 section 4.2.
#[test]
fn cubics_curve_stops_while_the_application_limits_the_sender() {
    // Returns the window after 2 s of growth with a pause of `idle` ms in the middle.
    let grow = |idle: u64| {
        let mut control = without_hystart();
        let mut window = Window { cwnd: 100.0, ssthresh: 100.0 };
        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 100));
        window.cwnd = window.ssthresh;
        for i in 0..2_000 {
            if i == 1_000 {
                let limited = Acked { window_limited: false, ..acked(at(1_000 + idle), 1, MS(100)) };
                control.on_ack(&mut window, &limited);
            }
            let shift = if i < 1_000 { 0 } else { idle };
            control.on_ack(&mut window, &acked(at(i + shift + 1), 1, MS(100)));
        }
        window.cwnd
    };
    assert_eq!(grow(0), grow(5_000));
}

// RFC 9438 section 4.2.
#[test]
fn cubics_curve_stops_while_the_sender_is_idle() {
    // Returns the window after 2 s of growth with a pause of `idle` ms in the middle.
    let grow = |idle: u64| {
        let mut control = without_hystart();
        let mut window = Window { cwnd: 100.0, ssthresh: 100.0 };
        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 100));
        window.cwnd = window.ssthresh;
        for i in 0..2_000 {
            let shift = if i < 1_000 { 0 } else { idle };
            if i == 1_000 {
                control
                    .on_sent(&mut window, &Sent { now: at(1_000 + idle), idle: true, in_flight: 1, ..Sent::default() });
            }
            control.on_ack(&mut window, &acked(at(i + shift + 1), 1, MS(100)));
        }
        window.cwnd
    };
    assert_eq!(grow(0), grow(5_000));
}

// RFC 9438 section 5.2.
#[test]
fn the_mean_window_under_periodic_loss_is_that_of_rfc_9438_section_5_2() {
    // p = 10⁻⁵ and 100 ms: far above the Reno-friendly region.
    let (period, rtt) = (100_000u64, 0.1);
    let mut count = 0u64;
    let fate = move |_: Time, s: &Segment| {
        count += u64::from(!s.retransmission);
        Fate { lost: !s.retransmission && count.is_multiple_of(period), ..Fate::default() }
    };
    let parameters = json!({
        "congestion-control": { "kind": "cubic" }, "delayed-ack": { "every": 1 }, "handshake": false,
        "initial-ssthresh": 800,
    });
    let mut net = Net::new(tcp(parameters), MS(50), fate, answer);
    net.keep_log = false;
    net.offer(u64::MAX);
    net.run_until(at(60_000));
    let first = net.receiver.next();
    net.run_until(at(360_000));
    let mean = f64::from(net.receiver.next() - first) / (300.0 / rtt);
    let formula = maths::pow(0.4 * 3.7 / (4.0 * 0.3), 0.25) * maths::pow(rtt * period as f64, 0.75);
    println!("mean window {mean:.1}, formula {formula:.1}, ratio {:.4}", mean / formula);
    assert!((mean / formula - 1.0).abs() < 0.05, "{mean} instead of {formula}");
}

// RFC 9438 section 4.3.
#[test]
fn at_small_windows_cubic_is_about_as_fast_as_reno() {
    let throughput = |kind: &str| {
        let mut count = 0u64;
        let fate = move |_: Time, s: &Segment| {
            count += u64::from(!s.retransmission);
            Fate { lost: !s.retransmission && count.is_multiple_of(400), ..Fate::default() }
        };
        let parameters = json!({
            "congestion-control": { "kind": kind }, "delayed-ack": { "every": 1 }, "handshake": false,
        });
        let mut net = Net::new(tcp(parameters), MS(5), fate, answer);
        net.keep_log = false;
        net.offer(u64::MAX);
        net.run_until(at(60_000));
        f64::from(net.receiver.next())
    };
    let ratio = throughput("cubic") / throughput("reno");
    println!("cubic/reno {ratio:.3}");
    assert!((0.85..1.25).contains(&ratio), "{ratio}");
}

/// Returns the window, segments, and the time at the end of slow start on a link that takes `per_segment` for a
/// segment, with a round-trip time of 100 ms and an unlimited queue. `None`: slow start does not end while 60000
/// segments are sent.
fn slow_start_end(hystart: bool, per_segment: Dur) -> Option<(f64, Time)> {
    let control = json!({ "kind": "cubic", "hystart": hystart });
    let mut net = Net::new(tcp(json!({ "congestion-control": control })), MS(50), deliver, answer);
    net.per_segment = per_segment;
    net.offer(60_000 * 1460);
    for ms in 0..6_000 {
        net.run_until(at(ms));
        if net.sender.ssthresh().is_finite() {
            assert_eq!(net.sender.statistics().retransmissions, 0);
            assert_eq!(net.sender.state(), State::Open);
            return Some((net.sender.cwnd(), net.now));
        }
    }
    None
}

#[test]
fn hystart_leaves_slow_start_before_loss_when_round_trips_lengthen() {
    let (cwnd, when) = slow_start_end(true, Dur::from_us(100)).expect("it leaves slow start");
    println!("slow start left at {cwnd:.0} segments after {when:?}");
    // 1000 segments fill the link. The round in which the window grows from 1280 to 2560 still begins with segments
    // that found no queue. The next round measures longer round-trip times, and each of the five rounds of conservative
    // slow start then adds a quarter.
    let expected = 2_560.0 * maths::pow(1.25, 5.0);
    assert!((cwnd / expected - 1.0).abs() < 0.05, "{cwnd} instead of {expected}");
    assert_eq!(slow_start_end(false, Dur::from_us(100)), None);
}

#[test]
fn hystart_stays_in_slow_start_while_round_trips_do_not_lengthen() {
    assert_eq!(slow_start_end(true, Dur::ZERO), None);
}

// RFC 9438 section 4.4 adds (target - cwnd) / cwnd for each acknowledgement, which is 0.5 if the target is 1.5 windows.
// Linux adds it for each segment, so an acknowledgement of two segments adds 1.
#[test]
fn growth_per_segment_is_twice_that_per_acknowledgement_of_two_segments() {
    for (growth_per, step) in [(cubic::GrowthPer::Acknowledgement, 0.5), (cubic::GrowthPer::Segment, 1.0)] {
        let params = cubic::Params { hystart: false, growth_per, ..Default::default() };
        let mut control = params.build(&Tcp::default().setup(), Rng::named(1, "cc"));
        let mut window = Window { cwnd: 1_000.0, ssthresh: 1_000.0 };
        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 1_000));
        window = Window { cwnd: 100.0, ssthresh: 100.0 };
        control.on_ack(&mut window, &acked(at(1), 2, MS(100)));
        let before = window.cwnd;
        control.on_ack(&mut window, &acked(at(60_000), 2, MS(100)));
        assert!((window.cwnd - before - step).abs() < 1e-9, "{growth_per:?}: {before} to {}", window.cwnd);
        // An acknowledgement of many segments does not raise the window above the target.
        let before = window.cwnd;
        control.on_ack(&mut window, &acked(at(60_001), 1_000, MS(100)));
        assert!(window.cwnd <= 1.5 * before, "{growth_per:?}: {before} to {}", window.cwnd);
    }
}
