//! HyStart++: end of the first slow start at a rise of the round-trip time, before losses (RFC 9406).

use super::{Acked, Setup, Window};
use tailback_units::Dur;

/// MIN_RTT_THRESH of RFC 9406 section 4.3: smaller increases of the round-trip time are noise.
const MIN_RTT_THRESH: Dur = Dur::from_ms(4);
/// MAX_RTT_THRESH.
const MAX_RTT_THRESH: Dur = Dur::from_ms(16);
/// MIN_RTT_DIVISOR.
const MIN_RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: number of samples in a round before the minimum of the round is compared with that of the last round.
const N_RTT_SAMPLE: u32 = 8;
/// CSS_GROWTH_DIVISOR: divisor of the growth in conservative slow start.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS: rounds of conservative slow start before congestion avoidance.
const CSS_ROUNDS: u32 = 5;
/// L: upper bound of the growth per acknowledgement, segments, if the sender does not pace.
const L: u32 = 8;

/// Round-trip time without a sample ("infinity" of the RFC).
const NONE: Dur = Dur(u64::MAX);

/// Slow start of a control whose window grows by acknowledgements. HyStart++ applies only to the first slow start, as
/// RFC 9406 section 4.3 advises: at the first congestion the control calls [`HyStart::stop`] or drops this state.
#[derive(Debug)]
pub(crate) struct HyStart {
    /// Upper bound of the growth per acknowledgement, segments.
    limit: u32,
    /// Minimum round-trip time of the last round (lastRoundMinRTT), or [`NONE`].
    last_min: Dur,
    /// Minimum round-trip time of this round (currentRoundMinRTT), or [`NONE`].
    current_min: Dur,
    /// Number of samples in this round.
    samples: u32,
    /// Minimum round-trip time at the start of conservative slow start, and the number of rounds since that start.
    /// `None`: standard slow start.
    conservative: Option<(Dur, u32)>,
    /// `true` until the first congestion, or the end of the first slow start.
    active: bool,
}

impl HyStart {
    /// Returns the state for a sender; HyStart++ is active if `active`.
    pub(crate) fn new(setup: &Setup, active: bool) -> HyStart {
        HyStart {
            limit: if setup.pacing { u32::MAX } else { L },
            last_min: NONE,
            current_min: NONE,
            samples: 0,
            conservative: None,
            active,
        }
    }

    /// Returns `true` while HyStart++ governs slow start.
    #[inline]
    pub(crate) fn active(&self) -> bool {
        self.active
    }

    /// Ends HyStart++, so that later slow starts are standard; to be called at the first congestion.
    pub(crate) fn stop(&mut self) {
        self.active = false;
    }

    /// Processes an acknowledgement in slow start: grows the window, or ends slow start by setting the threshold.
    pub(crate) fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if acked.round && self.end_round() {
            window.ssthresh = window.cwnd;
            self.active = false;
            return;
        }
        if acked.window_limited {
            let segments = f64::from(acked.advanced.min(self.limit));
            window.cwnd += if self.conservative.is_some() { segments / CSS_GROWTH_DIVISOR } else { segments };
        }
        if let Some(rtt) = acked.rtt {
            self.current_min = self.current_min.min(rtt);
            self.samples += 1;
            self.compare_minima();
        }
    }

    /// Ends a round and starts the next; returns `true` at the end of conservative slow start.
    fn end_round(&mut self) -> bool {
        self.last_min = self.current_min;
        self.current_min = NONE;
        self.samples = 0;
        // The round in which conservative slow start began counts as a whole round.
        let Some((_, rounds)) = &mut self.conservative else { return false };
        *rounds += 1;
        *rounds >= CSS_ROUNDS
    }

    /// Enters conservative slow start if the minimum round-trip time has risen by the threshold since the last round,
    /// and returns to standard slow start if it falls below the minimum at the start of conservative slow start.
    fn compare_minima(&mut self) {
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.conservative {
            None if self.last_min != NONE => {
                let threshold = Dur(self.last_min.0 / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if self.current_min >= self.last_min + threshold {
                    self.conservative = Some((self.current_min, 0));
                }
            }
            Some((baseline, _)) if self.current_min < baseline => self.conservative = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_units::Time;

    /// Processes a round of ten acknowledgements of one segment each, all with a round-trip time of `ms` milliseconds.
    fn round(hystart: &mut HyStart, window: &mut Window, ms: u64) {
        for i in 0..10 {
            let rtt = Dur::from_ms(ms);
            let acked = Acked {
                now: Time::ZERO,
                delivered: 1,
                advanced: 1,
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                in_flight_before: 10,
                in_flight: 10,
                window_limited: true,
                ece: false,
                recovering: false,
                round: i == 0,
                lost: 0,
                rate: None,
            };
            hystart.on_ack(window, &acked);
        }
    }

    /// Returns active HyStart++ at a window of 10 segments.
    fn initial() -> (HyStart, Window) {
        let setup = Setup {
            payload: 1460,
            header: 40,
            initial_window: 10,
            initial_ssthresh: None,
            max_rto: Dur::from_secs(60),
            tick: None,
            pacing: false,
            selective: true,
            line: crate::Line::default(),
        };
        (HyStart::new(&setup, true), Window { cwnd: 10.0, ssthresh: f64::INFINITY })
    }

    #[test]
    fn conservative_slow_start_begins_at_a_rise_of_an_eighth_bounded_by_4_ms_and_16_ms() {
        // An eighth of 80 ms is 10 ms; of 8 ms 1 ms, raised to 4 ms; of 400 ms 50 ms, reduced to 16 ms.
        for (before, after, begins) in
            [(80, 89, false), (80, 90, true), (8, 11, false), (8, 12, true), (400, 415, false), (400, 416, true)]
        {
            let (mut hystart, mut window) = initial();
            round(&mut hystart, &mut window, before);
            round(&mut hystart, &mut window, after);
            assert_eq!(hystart.conservative.is_some(), begins, "{before} ms to {after} ms");
        }
    }

    #[test]
    fn conservative_slow_start_grows_by_a_quarter_and_ends_after_five_rounds() {
        let (mut hystart, mut window) = initial();
        round(&mut hystart, &mut window, 80);
        // Conservative slow start begins at the eighth sample of the round, so the last two acknowledgements count a
        // quarter each.
        round(&mut hystart, &mut window, 100);
        assert_eq!(window.cwnd, 10.0 + 10.0 + 8.0 + 0.5);
        for _ in 0..4 {
            round(&mut hystart, &mut window, 100);
            assert!(hystart.active());
        }
        let cwnd = window.cwnd;
        // Four rounds of 10 acknowledgements, a quarter of a segment each.
        assert_eq!(cwnd, 28.5 + 4.0 * 2.5);
        round(&mut hystart, &mut window, 100);
        assert!(!hystart.active());
        assert_eq!(window.ssthresh, cwnd);
    }

    #[test]
    fn standard_slow_start_resumes_when_the_round_trip_time_falls_below_that_at_the_start_of_the_conservative() {
        let (mut hystart, mut window) = initial();
        for ms in [80, 100] {
            round(&mut hystart, &mut window, ms);
        }
        assert!(hystart.conservative.is_some());
        round(&mut hystart, &mut window, 99);
        assert!(hystart.conservative.is_none() && hystart.active());
    }
}
