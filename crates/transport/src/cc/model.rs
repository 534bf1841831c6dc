//! Path model shared by the versions of BBR: rounds, a windowed maximum filter, validity of delivery-rate
//! samples, and the window saved during recovery.

use super::{Acked, RateSample, Setup, Window};
use crate::seq::before;

/// Minimum window (MinPipeCwnd), segments: a connection with delayed acknowledgements does not stall with it.
pub(crate) const MIN_PIPE: f64 = 4.0;

/// A value of a [`WindowedMax`] and its time, in the time unit of the caller (rounds, for example).
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: u64,
    value: f64,
}

/// Windowed maximum filter (Kathleen Nichols's estimator). It keeps the best three samples, so that its value may be
/// below the exact maximum, and changes only when a sample is added.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax {
    /// Samples, in descending order of values and ascending order of times.
    best: [Sample; 3],
}

impl WindowedMax {
    /// Returns the maximum; 0 before the first sample.
    pub(crate) fn get(&self) -> f64 {
        self.best[0].value
    }

    /// Adds `value`, measured at `time`, and removes samples older than `window`. Times must not decrease.
    pub(crate) fn update(&mut self, window: u64, time: u64, value: f64) {
        let new = Sample { time, value };
        let best = &mut self.best;
        if value >= best[0].value || time - best[2].time > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        let age = time - best[0].time;
        if age > window {
            *best = [best[1], best[2], new];
            if time - best[0].time > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].time == best[0].time && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].time == best[1].time && age > window / 2 {
            best[2] = new;
        }
    }
}

/// Counter of round trips. A round trip ends at the delivery of a segment that was sent after the start of the round
/// trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Number of segments delivered since the start of the connection.
    pub delivered: u64,
    /// Number of rounds since the start of the connection.
    pub count: u64,
    /// `true` if this acknowledgement has started a round.
    pub start: bool,
    /// Value of `delivered` at the start of the round.
    next: u64,
}

impl Rounds {
    /// Processes an acknowledgement with its delivery-rate sample; `None`: it has no sample.
    pub(crate) fn update(&mut self, sample: Option<&RateSample>) {
        self.start = false;
        let Some(sample) = sample else { return };
        self.delivered = sample.total_delivered;
        if sample.prior_delivered >= self.next {
            self.restart();
            self.count += 1;
            self.start = true;
        }
    }
    /// Starts a round now, without counting it.
    pub(crate) fn restart(&mut self) {
        self.next = self.delivered;
    }
}

/// Returns the delivery rate of a sample, segments per second.
pub(crate) fn rate(sample: &RateSample) -> f64 {
    f64::from(sample.delivered) / sample.interval.as_secs()
}

/// Range of deliveries that the control itself limited (ProbeRTT), so that their rate is not that of the path.
/// Deliveries are numbered by the count of segments delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldBack {
    /// First delivery of the range.
    from: u64,
    /// Last delivery of the range. `None`: there was no ProbeRTT.
    to: Option<u64>,
}

impl HeldBack {
    /// Starts a range after `delivered` segments.
    pub(crate) fn begin(&mut self, delivered: u64) {
        *self = HeldBack { from: delivered, to: Some(delivered) };
    }
    /// Extends the range to the `in_flight` segments that are outstanding after `delivered` ones.
    pub(crate) fn extend(&mut self, delivered: u64, in_flight: u32) {
        self.to = Some(delivered + u64::from(in_flight));
    }
    /// Returns `true` after `delivered` segments if those sent now are in the range.
    pub(crate) fn lasts(&self, delivered: u64) -> bool {
        self.to.is_some_and(|to| delivered <= to)
    }
    /// Returns `true` if the sample is limited by the application or by the control.
    pub(crate) fn limits(&self, sample: &RateSample) -> bool {
        let in_range = self.to.is_some_and(|to| (self.from..=to).contains(&sample.prior_delivered));
        sample.app_limited || in_range
    }
}

/// State of the sender's loss recovery, kept by a control that sets the window in loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repair {
    /// No recovery.
    #[default]
    None,
    /// Fast recovery.
    Fast,
    /// A timeout has occurred, and no acknowledgement has arrived since.
    TimedOut,
    /// Recovery after a timeout, until this segment is acknowledged.
    Until(u32),
}

/// Window before recovery or ProbeRTT, restored after it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saved {
    /// State of the loss recovery.
    pub repair: Repair,
    /// Saved window, segments.
    cwnd: f64,
}

impl Saved {
    /// Saves the window. If the window is not one of normal operation (`disturbed`, or in recovery), a larger window
    /// saved before is kept.
    pub(crate) fn save(&mut self, window: &Window, disturbed: bool) {
        let disturbed = disturbed || self.repair != Repair::None;
        self.cwnd = if disturbed { self.cwnd.max(window.cwnd) } else { window.cwnd };
    }
    /// Restores the saved window if the current one is smaller.
    pub(crate) fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
    }
    /// Updates the state of the recovery after a timeout: all segments before `una` are acknowledged, all before `next`
    /// have been sent. Restores the window at the end of the recovery.
    pub(crate) fn follow(&mut self, window: &mut Window, una: u32, next: u32) {
        if self.repair == Repair::TimedOut {
            self.repair = Repair::Until(next);
        }
        if let Repair::Until(end) = self.repair
            && !before(una, end)
        {
            self.repair = Repair::None;
            self.restore(window);
        }
    }
    /// Updates the state of fast recovery: saves the window at its start and restores it at its end. Returns `true` if
    /// fast recovery starts with this acknowledgement.
    pub(crate) fn follow_fast(&mut self, window: &mut Window, acked: &Acked, disturbed: bool) -> bool {
        match (self.repair, acked.recovering) {
            (Repair::Fast, false) => {
                self.repair = Repair::None;
                self.restore(window);
            }
            // A retransmission after a timeout is lost; only with Linux's rules (`bbr_set_cwnd_to_recover_or_restore`).
            (Repair::None | Repair::TimedOut | Repair::Until(_), true) => {
                self.save(window, disturbed);
                self.repair = Repair::Fast;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Returns the payload of a full segment in bits.
pub(crate) fn segment_bits(setup: &Setup) -> f64 {
    f64::from(setup.payload) * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windowed_maximum_never_exceeds_the_maximum_in_the_window_and_at_first_equals_it() {
        let mut max = WindowedMax::default();
        let values = [5.0, 9.0, 3.0, 4.0, 7.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        for (time, value) in values.into_iter().enumerate() {
            max.update(8, time as u64, value);
            let recent = &values[time.saturating_sub(8)..=time];
            let exact = recent.iter().copied().fold(0.0, f64::max);
            // Since only three samples are kept, the estimate may be below the maximum after time 9, when the 9.0 of
            // time 1 is older than the window of 8.
            assert!(max.get() <= exact, "at {time}");
            assert!(time > 9 || max.get() == exact, "at {time}: {}", max.get());
        }
        assert_eq!(max.get(), 1.0);
    }

    /// The steps are those of Linux's `lib/win_minmax.c`, for a window of 8: after a quarter of it without a better
    /// sample the second best is replaced, after half of it the third best, and an expired best one by the next.
    #[test]
    fn the_windowed_maximum_replaces_its_samples_when_linux_does() {
        for steps in [
            // 2 is more than a quarter after 10, so it becomes the second best; 3 is not, and is lost.
            [(0, 10.0, 10.0), (2, 3.0, 10.0), (3, 2.0, 10.0), (5, 1.0, 10.0), (9, 0.5, 2.0), (9, 0.25, 2.0)],
            // At time 12 the best and the second best have expired.
            [(0, 10.0, 10.0), (3, 2.0, 10.0), (5, 1.0, 10.0), (8, 0.75, 10.0), (12, 0.5, 1.0), (13, 0.25, 1.0)],
            // At time 9 the 2 becomes best and second best. At time 10 it is older than a quarter, so that 0.5 replaces
            // it as the second best.
            [(0, 10.0, 10.0), (3, 2.0, 10.0), (4, 1.0, 10.0), (9, 1.0, 2.0), (10, 0.5, 2.0), (12, 0.25, 0.5)],
        ] {
            let mut max = WindowedMax::default();
            for (time, value, expected) in steps {
                max.update(8, time, value);
                assert_eq!(max.get(), expected, "{value} at {time}");
            }
        }
    }

    #[test]
    fn samples_of_segments_sent_in_probe_rtt_are_limited_and_those_before_and_after_are_not() {
        let mut range = HeldBack::default();
        let sample = |prior_delivered| RateSample {
            delivered: 1,
            interval: tailback_units::Dur::from_ms(1),
            prior_delivered,
            total_delivered: 1_000,
            sent_in_flight: 1,
            lost: 0,
            app_limited: false,
        };
        assert!(!range.limits(&sample(0)));
        range.begin(100);
        range.extend(120, 4);
        let limited: Vec<u64> = (95..130).filter(|n| range.limits(&sample(*n))).collect();
        assert_eq!(limited, (100..=124).collect::<Vec<_>>());
    }
}
