//! Congestion controls step by step, each window computed by hand from the paper or the RFC.

use tailback_random::Rng;
use tailback_transport::Line;
use tailback_transport::cc::packet_marking::{PacketMarking, Params as Marking};
use tailback_transport::cc::reno::{Params as Reno, Reduction};
use tailback_transport::cc::subtcp::Params as SubTcp;
use tailback_transport::cc::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, Feedback, RateSample, Sent, Setup, Timer,
    Window, bbr,
};
use tailback_units::{Dur, Fraction, Rate, Time};

/// Returns the time `ms` milliseconds after the start.
fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns a connection with segments of 1000 B, header included, an initial window of four segments and an initial
/// threshold `ssthresh`.
fn setup(ssthresh: Option<u32>) -> Setup {
    Setup {
        payload: 960,
        header: 40,
        initial_window: 4,
        initial_ssthresh: ssthresh,
        max_rto: Dur::from_secs(60),
        pacing: false,
        selective: true,
        line: Line::default(),
    }
}

/// Returns an acknowledgement of `advanced` segments, 0 for a duplicate, to a sender that is limited by its window.
fn acked(now: Time, advanced: u32) -> Acked {
    Acked {
        now,
        delivered: advanced.max(1),
        advanced,
        rtt: None,
        srtt: Dur::from_ms(100),
        min_rtt: Dur::from_ms(100),
        in_flight_before: 4,
        in_flight: 3,
        window_limited: true,
        ece: false,
        recovering: false,
        round: false,
        lost: 0,
        rate: None,
    }
}

/// Checks that `got` equals `expected` up to rounding.
#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} instead of {expected}");
}

/// The marking engine of Feng, Kandlur, Saha and Shin (1999) with a target of 1 MB/s, 1000 segments per second.
struct Engine {
    control: PacketMarking,
    window: Window,
}

impl Engine {
    fn new(ssthresh: Option<u32>) -> Engine {
        let params = Marking {
            target: Rate::mbit(8),
            window: Dur::from_ms(300),
            patience: Dur::from_secs(5),
            strikes: 3,
            rest: Dur::from_secs(60),
        };
        let window = Window { cwnd: 4.0, ssthresh: ssthresh.map_or(f64::INFINITY, f64::from) };
        Engine { control: params.build(&setup(ssthresh), Rng::named(1, "marks")), window }
    }
    fn ack(&mut self, now: Time, advanced: u32) {
        self.control.on_ack(&mut self.window, &acked(now, advanced));
    }
    fn feedback(&mut self, advanced: u32) {
        let feedback = Feedback { advanced, ece: false, una: 0, next: 0, hops: None };
        self.control.on_feedback(&mut self.window, &feedback);
    }
    fn congestion(&mut self, sign: Congestion, in_flight: u32, marked: bool) {
        let event = CongestionEvent { marked, ..CongestionEvent::new(sign, at(1), in_flight) };
        self.control.on_congestion(&mut self.window, &event);
    }
    fn sent(&mut self, now: Time, was_marked: Option<bool>) -> bool {
        self.control.on_sent(&mut self.window, &Sent { now, idle: false, was_marked })
    }
    /// Returns a variable of the control; NaN if there is none of this name.
    fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.control.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    fn assert_windows(&self, marked: f64, best_effort: f64) {
        near(self.state("marked_window_segments"), marked);
        near(self.state("best_effort_window_segments"), best_effort);
    }
}

#[test]
fn a_marking_sender_accepts_any_target_above_zero() {
    let with = |target: Rate| Marking {
        target,
        window: Dur::from_ms(300),
        patience: Dur::from_secs(5),
        strikes: 3,
        rest: Dur::from_secs(60),
    };
    assert_eq!(with(Rate(1)).check(), Ok(()));
    assert_eq!(with(Rate(0)).check().expect_err("no target").path, "target");
}

#[test]
fn both_windows_of_a_marking_sender_grow_by_their_shares_in_slow_start_and_by_one_a_round_trip_after_it() {
    let mut engine = Engine::new(None);
    engine.assert_windows(2.0, 2.0);
    // Each window has half of the sum. The first acknowledgement adds half a segment to each window; the second, of
    // three segments, adds at most two segments in total.
    engine.ack(at(1), 1);
    engine.assert_windows(2.5, 2.5);
    engine.ack(at(2), 3);
    engine.assert_windows(3.5, 3.5);
    near(engine.window.cwnd, 7.0);
    // A duplicate adds nothing, nor does an acknowledgement while the window is not the limit.
    engine.ack(at(3), 0);
    engine.control.on_ack(&mut engine.window, &Acked { window_limited: false, ..acked(at(3), 1) });
    engine.assert_windows(3.5, 3.5);
    // At its threshold each window grows by a segment per round trip.
    let mut engine = Engine::new(Some(4));
    engine.ack(at(1), 2);
    engine.assert_windows(2.0 + 2.0 / 4.0, 2.0 + 2.0 / 4.0);
    engine.ack(at(2), 1);
    engine.assert_windows(2.5 + 1.0 / 5.0, 2.5 + 1.0 / 5.0);
}

#[test]
fn above_the_target_the_marked_window_shrinks_by_one_a_round_trip_and_then_no_longer_grows_exponentially() {
    let mut engine = Engine::new(None);
    // 600 segments of 1000 B arrive in 300 ms. The time-sliding window of 300 ms gives 600 kB / (300 ms + 300 ms) = 1
    // MB/s, exactly the target.
    engine.feedback(600);
    engine.ack(at(300), 1);
    near(engine.state("observed_bit_s"), 8e6);
    engine.assert_windows(2.0 - 0.25, 2.0 + 0.5);
    // 150 ms later the rate has fallen to 2/3, below the target: the marked window grows again, by 1/cwnd.
    engine.ack(at(450), 1);
    let cwnd = 4.25;
    engine.assert_windows(1.75 + 1.0 / cwnd, 2.5 + 2.5 / cwnd);
    // The marked window does not fall below 0.
    engine.feedback(1_000_000);
    for n in 0..200 {
        engine.ack(at(451 + n), 1);
    }
    near(engine.state("marked_window_segments"), 0.0);
}

#[test]
fn an_unmarked_loss_halves_the_best_effort_window_in_flight_and_a_marked_loss_both_windows_in_flight() {
    // The whole window of eight is in flight: seven segments, and the one that was lost.
    let mut engine = Engine::new(None);
    engine.ack(at(1), 2);
    engine.ack(at(1), 2);
    engine.assert_windows(4.0, 4.0);
    engine.congestion(Congestion::Loss, 7, false);
    engine.assert_windows(4.0, 2.0);
    near(engine.window.ssthresh, 6.0);
    near(engine.window.cwnd, 8.0);
    // In recovery the sender sets the window. Both parts keep their shares of it, and the best-effort window is at its
    // threshold.
    engine.window.cwnd = 6.0;
    engine.ack(at(2), 1);
    engine.assert_windows(4.0 + 4.0 / 6.0, 2.0 + 1.0 / 6.0);

    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Loss, 3, true);
    engine.assert_windows(1.0, 1.0);
    near(engine.window.ssthresh, 2.0);
    // A quarter of the window was in flight.
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Timeout, 0, true);
    engine.assert_windows(0.25, 0.25);
    near(engine.window.ssthresh, 2.0);
    // An echo also sets the window, to at least one segment.
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Ecn, 3, false);
    near(engine.window.cwnd, 3.0);
    engine.congestion(Congestion::Ecn, 2, true);
    engine.congestion(Congestion::Ecn, 0, true);
    near(engine.window.cwnd, 1.0);
}

#[test]
fn the_parts_keep_their_shares_when_the_sender_sets_the_window() {
    let mut engine = Engine::new(Some(2));
    engine.congestion(Congestion::Loss, 3, false);
    engine.assert_windows(2.0, 1.0);
    // The sender sets the window of three segments to one after a timeout: each part is divided by three.
    engine.window.cwnd = 1.0;
    engine.control.on_ack(&mut engine.window, &Acked { window_limited: false, ..acked(at(1), 1) });
    engine.assert_windows(2.0 / 3.0, 1.0 / 3.0);
    near(engine.window.cwnd, 1.0);
}

#[test]
fn a_spurious_reduction_is_undone_in_both_windows_once() {
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Loss, 3, true);
    engine.control.on_spurious(&mut engine.window, Time::ZERO);
    engine.assert_windows(2.0, 2.0);
    // The thresholds are restored, too: slow start continues.
    engine.window.cwnd = 4.0;
    engine.ack(at(1), 1);
    engine.assert_windows(2.5, 2.5);
    engine.control.on_spurious(&mut engine.window, Time::ZERO);
    engine.assert_windows(2.5, 2.5);
}

#[test]
fn a_marked_segment_repaired_after_an_unmarked_loss_halves_the_marked_window_once_at_the_end_of_recovery() {
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Loss, 3, false);
    engine.sent(at(1), Some(false));
    engine.sent(at(1), Some(true));
    engine.assert_windows(2.0, 1.0);
    engine.window.cwnd = 3.0;
    engine.ack(at(2), 0);
    engine.assert_windows(1.0, 1.0);
    near(engine.window.cwnd, 2.0);
    engine.ack(at(3), 0);
    engine.assert_windows(1.0, 1.0);
    // If the lost segment itself was marked, the marked window has been halved already.
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Loss, 3, true);
    engine.sent(at(1), Some(true));
    engine.window.cwnd = 2.0;
    engine.ack(at(2), 0);
    engine.assert_windows(1.0, 1.0);
    // The next recovery halves the window again.
    engine.sent(at(3), Some(true));
    engine.ack(at(4), 0);
    engine.assert_windows(0.5, 1.0);
}

/// Returns an engine whose marked window is at least the fraction `share` of the whole window.
fn engine_with(share: f64) -> Engine {
    let mut engine = Engine::new(Some(2));
    while engine.state("marked_window_segments") < share * engine.window.cwnd - 1e-9 {
        engine.congestion(Congestion::Ecn, 1_000, false);
    }
    engine
}

#[test]
fn marking_ends_for_a_minute_after_three_intervals_in_which_the_target_was_missed_and_marked_segments_were_lost() {
    let is_off = |engine: &mut Engine, now: Time| (0..2_000).all(|_| !engine.sent(now, None));
    let mut engine = engine_with(0.5);
    // A marked loss in each of three intervals, which end at the first acknowledgement at or after 5, 10 and 15 s.
    for (ms, off) in [(4_999, false), (5_000, false), (9_999, false), (10_000, false), (14_999, false), (15_000, true)]
    {
        engine.sent(at(ms), Some(true));
        engine.ack(at(ms), 0);
        assert_eq!(is_off(&mut engine, at(ms)), off, "at {ms} ms");
    }
    // While marking is off, the whole window is best effort and the marked window 0.
    near(engine.state("marked_window_segments"), 0.0);
    let before = engine.window.cwnd;
    engine.ack(at(74_999), 1);
    engine.assert_windows(0.0, before + 1.0 / before);
    assert!(is_off(&mut engine, at(74_999)));
    engine.ack(at(75_000), 1);
    assert!(engine.state("marked_window_segments") > 0.0);
    assert!(!is_off(&mut engine, at(75_000)));

    // An interval without such a loss restarts the count.
    let mut engine = engine_with(0.5);
    for (second, lost) in [(5, true), (10, true), (15, false), (20, true), (25, true), (30, false)] {
        if lost {
            engine.sent(at(second * 1_000), Some(true));
        }
        engine.ack(at(second * 1_000), 0);
        assert!(!is_off(&mut engine, at(second * 1_000)), "at {second} s");
    }
    // Marking stays on while the target is reached.
    let mut engine = engine_with(0.5);
    for second in [5, 10, 15, 20] {
        engine.feedback(3_000_000);
        engine.sent(at(second * 1_000), Some(true));
        engine.ack(at(second * 1_000), 0);
        assert!(!is_off(&mut engine, at(second * 1_000)), "at {second} s");
    }
    // A marked window of nine tenths of the whole counts like a marked loss.
    let mut engine = engine_with(0.9);
    for (second, off) in [(5, false), (10, false), (15, true)] {
        engine.ack(at(second * 1_000), 0);
        assert_eq!(is_off(&mut engine, at(second * 1_000)), off, "at {second} s");
    }
}

/// Returns an engine whose initial window has `initial` segments, half of them in each part.
fn engine_of(initial: u32) -> Engine {
    let mut engine = Engine::new(None);
    let params = Marking {
        target: Rate::mbit(8),
        window: Dur::from_ms(300),
        patience: Dur::from_secs(5),
        strikes: 3,
        rest: Dur::from_secs(60),
    };
    engine.control = params.build(&Setup { initial_window: initial, ..setup(None) }, Rng::named(1, "marks"));
    engine.window.cwnd = initial.into();
    engine
}

#[test]
fn each_part_of_a_marking_sender_s_window_has_half_of_the_threshold_and_no_slow_start_below_one_segment() {
    // Thresholds of 4: both parts of 3 are below it, and both of 4 at it.
    let mut engine = Engine::new(Some(8));
    engine.ack(at(1), 2);
    engine.assert_windows(3.0, 3.0);
    engine.ack(at(1), 2);
    engine.assert_windows(4.0, 4.0);
    engine.ack(at(1), 1);
    engine.assert_windows(4.125, 4.125);
    // A part of exactly one segment grows in slow start by its share of two segments at most, one of half a segment by
    // 3/cwnd.
    for (initial, grown) in [(2, 1.0 + 0.5 * 2.0), (1, 0.5 + 3.0)] {
        let mut engine = engine_of(initial);
        engine.ack(at(1), 3);
        engine.assert_windows(grown, grown);
    }
}

#[test]
fn the_parts_of_a_marking_sender_s_window_follow_any_change_of_the_window() {
    // The sender has set the window of 4 to 4.5 and that of half a segment to 1.
    let mut engine = Engine::new(None);
    engine.window.cwnd = 4.5;
    engine.ack(at(1), 0);
    engine.assert_windows(2.25, 2.25);
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Timeout, 0, true);
    engine.assert_windows(0.25, 0.25);
    engine.window.cwnd = 1.0;
    engine.ack(at(1), 0);
    engine.assert_windows(0.5, 0.5);
    // So do they before a reduction; a flight of more than the window is a full window.
    let mut engine = Engine::new(None);
    engine.window.cwnd = 2.0;
    engine.congestion(Congestion::Loss, 9, false);
    engine.assert_windows(1.0, 0.5);
    // The marked window that is halved after recovery leaves a window of 2: an acknowledgement adds 1/2 to each part.
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Loss, 3, false);
    engine.sent(at(1), Some(true));
    engine.window.cwnd = 3.0;
    engine.ack(at(2), 1);
    engine.assert_windows(1.5, 1.5);
    // The window is at least one segment, which the acknowledgement is divided by: both parts were 1/4.
    let mut engine = Engine::new(None);
    engine.congestion(Congestion::Timeout, 0, false);
    engine.assert_windows(0.5, 0.25);
    engine.sent(at(1), Some(true));
    engine.window.cwnd = 0.75;
    engine.ack(at(2), 1);
    engine.assert_windows(1.25, 1.25);
}

#[test]
fn a_marking_sender_estimates_its_rate_at_each_transmission_and_acknowledgement() {
    let mut engine = Engine::new(None);
    // One segment of 1000 B in 300 ms, averaged over 600 ms.
    engine.feedback(1);
    engine.sent(at(300), None);
    near(engine.state("observed_bit_s"), 8.0 * 1_000.0 / 0.6);
    // A transmission without acknowledgements before it does not change the estimate, which decays by itself.
    engine.sent(at(600), None);
    near(engine.state("observed_bit_s"), 8.0 * 1_000.0 / 0.6);
    // At 0.95 of the target of 1000 segments per second both parts grow. A duplicate does not end the slow start, even if
    // the target is reached at that time.
    let mut engine = Engine::new(None);
    engine.feedback(570);
    engine.ack(at(300), 1);
    engine.assert_windows(2.5, 2.5);
    let mut engine = Engine::new(None);
    engine.feedback(600);
    engine.ack(at(300), 0);
    engine.ack(at(600), 1);
    engine.assert_windows(2.5, 2.5);
}

#[test]
fn a_marking_sender_marks_segments_with_the_probability_of_the_share_of_the_marked_window() {
    // Shares of 1/2, 2/3 and, at a sum of half a segment, 1/2.
    let mut plain_loss = Engine::new(None);
    plain_loss.congestion(Congestion::Ecn, 3, false);
    let mut small = Engine::new(None);
    small.congestion(Congestion::Timeout, 0, true);
    for (mut engine, share) in [(Engine::new(None), 0.5), (plain_loss, 2.0 / 3.0), (small, 0.5)] {
        let marked = (0..10_000).filter(|_| engine.sent(at(1), None)).count();
        // Four standard deviations of a share of 10,000 segments are at most 2 %.
        assert!((marked as f64 / 10_000.0 - share).abs() < 0.02, "{marked} of 10000 instead of {share}");
    }
}

#[test]
fn marking_stays_on_while_the_rate_is_the_target_and_restarts_with_a_marked_window_of_zero() {
    let is_off = |engine: &mut Engine, now: Time| (0..2_000).all(|_| !engine.sent(now, None));
    // 5300 segments in 5 s, averaged over 5.3 s, and then 5000 per 5 s: the target.
    let mut engine = engine_with(0.5);
    for (second, segments) in [(5, 5_300), (10, 5_000), (15, 5_000), (20, 5_000)] {
        engine.feedback(segments);
        engine.sent(at(second * 1_000), Some(true));
        engine.ack(at(second * 1_000), 0);
        near(engine.state("observed_bit_s"), 8e6);
        assert!(!is_off(&mut engine, at(second * 1_000)), "at {second} s");
    }
    // When marking ends, the best-effort window takes over the marked one.
    let mut engine = engine_with(0.5);
    let sum = engine.window.cwnd;
    for second in [5, 10, 15] {
        engine.sent(at(second * 1_000), Some(true));
        engine.ack(at(second * 1_000), 0);
    }
    assert!(is_off(&mut engine, at(15_000)));
    engine.assert_windows(0.0, engine.window.cwnd);
    assert!(engine.window.cwnd > sum / 2.0);
    // A marked segment is lost meanwhile, and the first interval after the rest ends: it is one of three.
    engine.sent(at(16_000), Some(true));
    engine.ack(at(76_000), 1);
    assert!(engine.state("marked_window_segments") > 0.0);
    for second in [81, 86] {
        engine.sent(at(second * 1_000 - 1), Some(true));
        assert!(!is_off(&mut engine, at(second * 1_000 - 1)), "before {second} s");
        engine.ack(at(second * 1_000), 0);
    }
    assert!(is_off(&mut engine, at(86_000)));
    // The marked window grows by a segment per round trip from the start: it has no slow start again.
    let mut engine = Engine::new(None);
    for second in [5, 10, 15] {
        engine.sent(at(second * 1_000), Some(true));
        engine.ack(at(second * 1_000), 0);
    }
    for n in 0..20 {
        let (cwnd, marked) = (engine.window.cwnd, engine.state("marked_window_segments"));
        engine.ack(at(75_000 + n), 1);
        near(engine.state("marked_window_segments"), marked + 1.0 / cwnd);
    }
    assert!(engine.state("marked_window_segments") > 2.0);
}

/// A loss before marking ended proves spurious afterwards, which restores the marked window until the next
/// acknowledgement.
#[test]
fn an_undone_reduction_does_not_end_the_rest_without_marks() {
    let mut engine = engine_with(0.5);
    engine.congestion(Congestion::Loss, 1_000, false);
    for second in [5, 10, 15] {
        engine.sent(at(second * 1_000), Some(true));
        engine.ack(at(second * 1_000), 0);
    }
    engine.control.on_spurious(&mut engine.window, Time::ZERO);
    assert!(engine.state("marked_window_segments") > 0.0);
    assert!((0..2_000).all(|_| !engine.sent(at(15_100), None)));
    engine.ack(at(15_200), 1);
    near(engine.state("marked_window_segments"), 0.0);
}

/// Returns the window after an acknowledgement at window `cwnd` and threshold `ssthresh`.
fn after(control: &mut impl CongestionControl, cwnd: f64, ssthresh: f64, acked: &Acked) -> f64 {
    let mut window = Window { cwnd, ssthresh };
    control.on_ack(&mut window, acked);
    window.cwnd
}

#[test]
fn renos_window_grows_by_the_segments_acknowledged_up_to_the_limit_and_then_by_one_a_round_trip() {
    for (limit, avoidance) in [(1, 1.0), (2, 3.0), (1000, 3.0)] {
        let mut reno = Reno { byte_counting: limit, ..Reno::default() }.build(&setup(None), Rng::named(1, "reno"));
        near(after(&mut reno, 10.0, 20.0, &acked(at(1), 3)), 10.0 + f64::from(limit.min(3)));
        near(after(&mut reno, 20.0, 20.0, &acked(at(1), 3)), 20.0 + avoidance / 20.0);
        near(after(&mut reno, 10.0, 20.0, &acked(at(1), 0)), 10.0);
        near(after(&mut reno, 10.0, 20.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 10.0);
        // RFC 3465, section 2.3: one segment per acknowledgement in the slow start after a timeout.
        let mut window = Window { cwnd: 10.0, ssthresh: 20.0 };
        reno.on_congestion(&mut window, &CongestionEvent::new(Congestion::Timeout, at(2), 10));
        near(window.ssthresh, 5.0);
        near(after(&mut reno, 1.0, 5.0, &acked(at(3), 3)), 2.0);
        near(after(&mut reno, 4.0, 5.0, &acked(at(3), 3)), 5.0);
        near(after(&mut reno, 1.0, 5.0, &acked(at(3), 3)), 1.0 + f64::from(limit.min(3)));
    }
}

#[test]
fn reno_reduces_to_half_the_flight_at_a_loss_and_half_the_window_at_an_echo() {
    let setup = setup(None);
    let reduced = |params: &Reno, sign: Congestion, cwnd: f64, in_flight: u32| {
        let mut window = Window { cwnd, ssthresh: 99.0 };
        params
            .build(&setup, Rng::named(1, "reno"))
            .on_congestion(&mut window, &CongestionEvent::new(sign, at(1), in_flight));
        (window.cwnd, window.ssthresh)
    };
    let plain = Reno::default();
    assert_eq!(reduced(&plain, Congestion::Loss, 20.0, 11), (20.0, 5.5));
    assert_eq!(reduced(&plain, Congestion::Timeout, 20.0, 3), (20.0, 2.0));
    assert_eq!(reduced(&plain, Congestion::Ecn, 21.0, 11), (10.5, 10.5));
    assert_eq!(reduced(&plain, Congestion::Ecn, 3.0, 3), (1.5, 2.0));
    assert_eq!(reduced(&plain, Congestion::Ecn, 1.5, 1), (1.0, 2.0));
    // RFC 8511: its own factor at an echo.
    let abe = Reno { ecn_beta: Fraction(0.8), ..Reno::default() };
    assert_eq!(reduced(&abe, Congestion::Ecn, 20.0, 11), (16.0, 16.0));
    assert_eq!(reduced(&abe, Congestion::Loss, 20.0, 11), (20.0, 5.5));
    let beta = Reno { beta: Fraction(0.75), ..Reno::default() };
    assert_eq!(reduced(&beta, Congestion::Loss, 20.0, 8), (20.0, 6.0));
    assert_eq!(reduced(&beta, Congestion::Ecn, 20.0, 8), (10.0, 10.0));
    // ns-2: half the window, in whole segments for the threshold.
    let ns2 = Reno { reduction: Reduction::Window, ..Reno::default() };
    assert_eq!(reduced(&ns2, Congestion::Loss, 21.0, 3), (10.5, 10.0));
    assert_eq!(reduced(&ns2, Congestion::Timeout, 3.0, 3), (1.5, 2.0));
    assert_eq!(reduced(&ns2, Congestion::Ecn, 21.0, 3), (10.5, 10.0));
    assert_eq!(reduced(&ns2, Congestion::Loss, 1.0, 3), (1.0, 2.0));
}

#[test]
fn subtcp_grows_by_a_tenth_or_by_a_segment_a_round_trip_and_paces_below_one_segment_a_round_trip() {
    let build = |least_ssthresh, back_off| {
        SubTcp { least_ssthresh, back_off, ..SubTcp::default() }.build(&setup(None), Rng::named(1, "subtcp"))
    };
    let mut subtcp = build(1, BackOff::Interval);
    // With x = 10 % the growth is limited by x below ten segments, and is one segment per round trip, as in Reno,
    // above. Slow start is that of Reno with a byte counting limit of 1.
    near(after(&mut subtcp, 5.0, 5.0, &acked(at(1), 1)), 5.1);
    near(after(&mut subtcp, 20.0, 5.0, &acked(at(1), 1)), 20.05);
    near(after(&mut subtcp, 20.0, 5.0, &acked(at(1), 3)), 20.05);
    near(after(&mut subtcp, 2.0, 5.0, &acked(at(1), 3)), 3.0);
    near(after(&mut subtcp, 5.0, 5.0, &acked(at(1), 0)), 5.0);
    near(after(&mut subtcp, 5.0, 5.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 5.0);
    near(after(&mut subtcp, 2.0, 5.0, &Acked { window_limited: false, ..acked(at(1), 1) }), 2.0);
    let echo = |subtcp: &mut _, cwnd| {
        let mut window = Window { cwnd, ssthresh: 9.0 };
        CongestionControl::on_congestion(subtcp, &mut window, &CongestionEvent::new(Congestion::Ecn, at(2), 1));
        (window.cwnd, window.ssthresh)
    };
    assert_eq!(echo(&mut subtcp, 5.0), (2.5, 2.5));
    assert_eq!(echo(&mut subtcp, 1.5), (1.0, 1.0));
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    // At one segment per round trip of 100 ms an echo doubles the time between segments, and another one again.
    assert_eq!(echo(&mut subtcp, 1.0), (1.0, 1.0));
    assert_eq!(subtcp.pacing().interval, Dur::from_ms(200));
    echo(&mut subtcp, 1.0);
    assert_eq!(subtcp.pacing().interval, Dur::from_ms(400));
    // Each acknowledgement divides the interval by 1 + x, until it is shorter than a round trip.
    let mut seen = 0.0;
    subtcp.probe(&mut |_, value| seen = value);
    near(seen, 0.4);
    let mut interval = 0.4;
    for _ in 0..14 {
        near(after(&mut subtcp, 1.0, 9.0, &acked(at(3), 1)), 1.0);
        interval /= 1.1;
        near(subtcp.pacing().interval.as_secs(), interval);
    }
    near(after(&mut subtcp, 1.0, 9.0, &acked(at(3), 1)), 1.0);
    assert!(interval / 1.1 < 0.1);
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    // Each expiry doubles the interval, from the timeout of 1 s up to the maximum RTO of 60 s.
    for seconds in [2, 4, 8, 16, 32, 60, 60] {
        subtcp.on_timer(&mut window, at(4), Timer::Retransmission(Dur::from_secs(1)));
        assert_eq!(subtcp.pacing().interval, Dur::from_secs(seconds));
    }
    // The control's own timer does not change the interval; with other back-offs the rate stays at one segment per round trip.
    let mut subtcp = build(1, BackOff::Interval);
    subtcp.on_timer(&mut window, at(4), Timer::Control);
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    let mut subtcp = build(2, BackOff::Rfc3168);
    assert_eq!(subtcp.profile().below_one, Some(BackOff::Rfc3168));
    after(&mut subtcp, 5.0, 5.0, &acked(at(1), 1));
    assert_eq!(echo(&mut subtcp, 1.0), (1.0, 2.0));
    subtcp.on_timer(&mut window, at(4), Timer::Retransmission(Dur::from_secs(1)));
    assert_eq!(subtcp.pacing().interval, Dur::ZERO);
    for (sign, least) in [(Congestion::Loss, 1), (Congestion::Timeout, 2)] {
        let mut window = Window { cwnd: 9.0, ssthresh: 9.0 };
        build(least, BackOff::Interval).on_congestion(&mut window, &CongestionEvent::new(sign, at(2), 1));
        assert_eq!((window.cwnd, window.ssthresh), (9.0, f64::from(least)));
        build(least, BackOff::Interval).on_congestion(&mut window, &CongestionEvent::new(sign, at(2), 7));
        assert_eq!((window.cwnd, window.ssthresh), (9.0, 3.5));
    }
}

/// A document cannot contain a fraction above 1, but parameters that a program sets can.
#[test]
fn fractions_above_one_are_refused_and_one_itself_is_not() {
    use tailback_transport::cc::{dcqcn, dctcp};
    for (value, fits) in [(0.0, false), (1e-9, true), (0.5, true), (1.0, true), (1.0 + 1e-9, false), (1.9, false)] {
        let fraction = Fraction(value);
        assert_eq!(SubTcp { x: fraction, ..SubTcp::default() }.check().is_ok(), fits, "x {value}");
        assert_eq!(dctcp::Params { g: fraction, ..Default::default() }.check().is_ok(), fits, "g {value}");
        assert_eq!(dcqcn::Params { g: fraction, ..Default::default() }.check().is_ok(), fits, "g {value}");
        // An initial estimate of 0 is valid, too.
        let initial = dctcp::Params { initial_alpha: fraction, ..Default::default() };
        assert_eq!(initial.check().is_ok(), fits || value == 0.0, "initial-alpha {value}");
    }
}

/// Returns variable `name` of a control; NaN if there is none of this name.
fn variable(control: &impl CongestionControl, name: &str) -> f64 {
    let mut found = f64::NAN;
    control.probe(&mut |n, value| {
        if n == name {
            found = value;
        }
    });
    found
}

#[test]
fn swift_at_one_segment_grows_only_if_the_window_limits_it() {
    let one = Setup { initial_window: 1, ..setup(None) };
    for (limited, grown) in [(false, 1.0), (true, 2.0)] {
        let mut swift = tailback_transport::cc::swift::Params::default().build(&one, Rng::named(1, "swift"));
        let rtt = Some(Dur::from_us(1));
        after(&mut swift, 1.0, 9.0, &Acked { window_limited: limited, rtt, ..acked(at(1), 1) });
        near(variable(&swift, "fraction"), grown);
    }
}

#[test]
fn the_byte_counter_of_dcqcn_restarts_at_a_reduction() {
    // A segment of 960 B does not reach 961 B, a second one does.
    let params =
        tailback_transport::cc::dcqcn::Params { increase_bytes: tailback_units::Size(961), ..Default::default() };
    let mut dcqcn = params.build(&setup(None), Rng::named(1, "dcqcn"));
    let line = variable(&dcqcn, "rate");
    after(&mut dcqcn, 1.0, 9.0, &Acked { ece: true, ..acked(at(1), 1) });
    near(variable(&dcqcn, "rate"), line / 2.0);
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    let sent = Sent { now: at(1), idle: false, was_marked: None };
    dcqcn.on_sent(&mut window, &sent);
    near(variable(&dcqcn, "rate"), line / 2.0);
    dcqcn.on_sent(&mut window, &sent);
    near(variable(&dcqcn, "rate"), 0.75 * line);
}

/// RFC 9406, section 4.3: HyStart++ applies to the first slow start only, which ends when the window reaches the
/// threshold; from there on the window grows by one segment per round trip.
#[test]
fn hystart_ends_when_the_window_reaches_the_threshold() {
    let mut reno =
        Reno { hystart: true, byte_counting: 1, ..Reno::default() }.build(&setup(None), Rng::named(1, "reno"));
    // HyStart++ counts up to eight segments per acknowledgement; standard slow start with `byte_counting` of 1 counts
    // one.
    near(after(&mut reno, 10.0, 20.0, &acked(at(1), 3)), 13.0);
    near(after(&mut reno, 20.0, 20.0, &acked(at(2), 3)), 20.05);
    near(after(&mut reno, 10.0, 20.0, &acked(at(3), 3)), 11.0);
}

/// Returns BBR in ProbeBW in the first phase with pacing gain `gain`, its window and the last acknowledgement. The path
/// has 150 segments of 1000 B per second and a round-trip time of 500 ms, a bandwidth-delay product of 75 segments.
fn bbr_with_gain(gain: f64) -> (bbr::Bbr, Window, Acked) {
    let setup = Setup { payload: 1000, ..setup(None) };
    let mut control = bbr::Params::default().build(&setup, Rng::named(1, "bbr"));
    let mut window = Window { cwnd: 75.0, ssthresh: f64::INFINITY };
    let rtt = Dur::from_ms(500);
    let mut delivered = 0;
    for round in 1..100 {
        // One acknowledgement of 75 segments a round, which empties the pipe, so that Drain ends.
        let sample = RateSample {
            delivered: 75,
            interval: rtt,
            prior_delivered: delivered,
            total_delivered: delivered + 75,
            sent_in_flight: 75,
            lost: 0,
            app_limited: false,
        };
        delivered += 75;
        let ack = Acked { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, rate: Some(sample), ..acked(at(501 * round), 75) };
        let last = Acked { in_flight_before: 200, in_flight: 10, ..ack };
        control.on_ack(&mut window, &last);
        if variable(&control, "mode") == 2.0 && variable(&control, "pacing-gain") == gain {
            return (control, window, last);
        }
    }
    panic!("no phase of gain {gain}");
}

/// Section 4.3.4.3 of the draft: a phase of gain 0.75 ends when at most BBRInflight(1.0) segments are in flight, even
/// if a round-trip time has not passed. At 0.75 · 150 segments per second, 0.9 Mbit/s, the send quantum is one segment.
#[test]
fn bbr_drains_down_to_the_bandwidth_delay_product_and_three_quanta() {
    for (in_flight_before, gain) in [(79, 0.75), (78, 1.0)] {
        let (mut control, mut window, last) = bbr_with_gain(0.75);
        control.on_ack(&mut window, &Acked { now: last.now + Dur::from_ms(100), in_flight_before, ..last });
        assert_eq!(variable(&control, "pacing-gain"), gain, "{in_flight_before} segments in flight");
    }
}

/// Section 4.2.2 of the draft: the send quantum is one segment below 1.2 Mbit/s, and two segments at 1.2 Mbit/s.
#[test]
fn bbr_has_a_send_quantum_of_two_segments_from_1_2_mbit_s_on() {
    let (mut control, mut window, last) = bbr_with_gain(1.0);
    assert_eq!(control.pacing().rate, Some(150.0));
    // The window is filled up to twice the bandwidth-delay product and three quanta.
    let ack = Acked { now: last.now + Dur::from_ms(100), delivered: 1000, ..last };
    control.on_ack(&mut window, &ack);
    assert_eq!(window.cwnd, 2.0 * 75.0 + 3.0 * 2.0);
}

/// An acknowledgement with a delivery-rate sample of `rate` segments in an interval, which begins a round: the newest segment
/// was sent when one fewer than `total` segments had been delivered.
fn sampled(now: Time, rtt: Dur, total: u64, rate: (u32, Dur)) -> Acked {
    let sample = RateSample {
        delivered: rate.0,
        interval: rate.1,
        prior_delivered: total - 1,
        total_delivered: total,
        sent_in_flight: 4,
        lost: 0,
        app_limited: false,
    };
    Acked { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, rate: Some(sample), ..acked(now, 100) }
}

/// Both drafts: ProbeRTT ends after a round trip and once the time is past 200 ms, not at 200 ms. `window`: the time without
/// a smaller round-trip time after which it begins; `mode`: number of ProbeRTT.
fn assert_probe_rtt_ends_after_200_ms(mut control: impl CongestionControl, window_s: u64, mode: f64) {
    let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
    let rate = (10, Dur::from_ms(125));
    let mut ack = |total: u64, now: Time, rtt: u64| {
        control.on_ack(&mut window, &sampled(now, Dur::from_ms(rtt), total, rate));
        variable(&control, "mode")
    };
    let begin = at(1_000) + Dur::from_secs(window_s);
    assert_ne!(ack(1, at(1_000), 100), mode);
    assert_ne!(ack(2, begin, 150), mode, "the minimum has not expired at the end of its window");
    let begin = begin + Dur(1);
    let end = begin + Dur::from_ms(200);
    assert_eq!(ack(3, begin, 150), mode);
    assert_eq!(ack(4, begin + Dur::from_ms(150), 150), mode);
    assert_eq!(ack(5, end, 150), mode);
    assert_ne!(ack(6, end + Dur(1), 150), mode);
}

#[test]
fn probe_rtt_of_bbr_begins_after_10_s_and_that_of_version_3_after_5_s_and_ends_after_200_ms() {
    let rng = || Rng::named(1, "cc");
    assert_probe_rtt_ends_after_200_ms(bbr::Params::default().build(&setup(None), rng()), 10, 3.0);
    let version_3 = tailback_transport::cc::bbr3::Params {}.build(&setup(None), rng());
    assert_probe_rtt_ends_after_200_ms(version_3, 5, 6.0);
}

/// draft-cardwell-iccrg-bbr-congestion-control-00, sections 4.2.2 and 4.2.3.2: below 1.2 Mbit/s a quantum is one segment, from
/// there to below 24 Mbit/s two, and then what is sent in 1 ms, at most 64 KiB. The target is twice the bandwidth-delay product
/// and three quanta.
#[test]
fn the_window_of_bbr_is_twice_the_bandwidth_delay_product_and_three_quanta() {
    // Segments of 960 B: 156.25 of them per second are 1.2 Mbit/s, and 3125 are 24 Mbit/s.
    for (delivered, interval, quantum) in [
        (624, 4, 1.0),
        (625, 4, 2.0),
        (3_124, 1, 2.0),
        (3_125, 1, 3.125),
        (50_000, 1, 50.0),
        (100_000, 1, 65_536.0 / 960.0),
    ] {
        let mut control = bbr::Params::default().build(&setup(None), Rng::named(1, "cc"));
        let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        // A round-trip time of 1/8 s, and a round that lasts longer, so that the gain changes with each acknowledgement.
        let rtt = Dur::from_ms(125);
        let mut seen = 0;
        for i in 1..40 {
            let acked = sampled(at(200 * i), rtt, i, (delivered, Dur::from_secs(interval)));
            control.on_ack(&mut window, &Acked { delivered: 100_000, ..acked });
            if variable(&control, "mode") == 2.0 && variable(&control, "pacing-gain") == 1.0 {
                near(window.cwnd, 2.0 * f64::from(delivered) / interval as f64 / 8.0 + 3.0 * quantum);
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }
}

#[test]
fn the_byte_counter_of_dcqcn_begins_anew_at_each_increase() {
    // Two segments of 960 B do not fill 1921 B, a third one does, and so again.
    let params =
        tailback_transport::cc::dcqcn::Params { increase_bytes: tailback_units::Size(1_921), ..Default::default() };
    let mut dcqcn = params.build(&setup(None), Rng::named(1, "dcqcn"));
    let line = variable(&dcqcn, "rate");
    after(&mut dcqcn, 1.0, 9.0, &Acked { ece: true, ..acked(at(1), 1) });
    let mut window = Window { cwnd: 1.0, ssthresh: 9.0 };
    let sent = Sent { now: at(1), idle: false, was_marked: None };
    for share in [0.5, 0.5, 0.75, 0.75, 0.75, 0.875] {
        dcqcn.on_sent(&mut window, &sent);
        near(variable(&dcqcn, "rate"), share * line);
    }
}

/// draft-ietf-ccwg-bbr-05 section 5.3.1.3: Startup ends if a round of recovery has six losses of more than 2 %.
#[test]
fn startup_of_version_3_ends_with_the_sixth_acknowledgement_of_loss_in_a_round() {
    for (losses, mode) in [(5, 0.0), (6, 1.0)] {
        let mut control = tailback_transport::cc::bbr3::Params {}.build(&setup(None), Rng::named(1, "cc"));
        let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        let mut ack = |total: u64, prior_delivered: u64, lost: u32| {
            let first = sampled(at(1_000 + total), Dur::from_ms(100), total, (10, Dur::from_ms(125)));
            let rate = first.rate.map(|sample| RateSample { prior_delivered, lost: 1, ..sample });
            control.on_ack(&mut window, &Acked { rate, lost, recovering: true, in_flight: 100, ..first });
            variable(&control, "mode")
        };
        for i in 1..=losses {
            assert_eq!(ack(i, 0, 1), 0.0);
        }
        assert_eq!(ack(losses + 1, losses, 0), mode, "{losses} acknowledgements of loss");
    }
}
