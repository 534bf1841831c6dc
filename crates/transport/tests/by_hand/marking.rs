//! The sender that marks its packets, step by step.

use super::{acked, at, near, setup};
use tailback_random::Rng;
use tailback_transport::cc::packet_marking::{PacketMarking, Params as Marking};
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Sent, Setup, Window,
};
use tailback_units::{Dur, Rate, Time};

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
        self.control.on_sent(&mut self.window, &Sent { now, idle: false, was_marked, in_flight: 1, ..Sent::default() })
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
