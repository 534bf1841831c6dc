//! What BBR's versions share in measuring the path: rounds, a windowed maximum, when to distrust a
//! sample of the delivery rate.

use super::{Acked, RateSample, Window};
use crate::params::Tcp;
use crate::seq::before;

/// MinPipeCwnd: segments that keep a connection with delayed acknowledgements going.
pub(crate) const MIN_PIPE: f64 = 4.0;

/// The greatest value within a window of time: Kathleen Nichols's estimator, which keeps the best
/// three samples and looks at nothing until the next comes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax {
    best: [(u64, f64); 3],
}

impl WindowedMax {
    pub(crate) fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes in `value`, measured at `time`; samples older than `window` are forgotten.
    pub(crate) fn update(&mut self, window: u64, time: u64, value: f64) {
        let new = (time, value);
        let best = &mut self.best;
        if value >= best[0].1 || time - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = time - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if time - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

/// Round trips, told by segments: one ends when a segment is delivered that was sent after its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Segments delivered since the start.
    pub delivered: u64,
    /// Rounds since the start.
    pub count: u64,
    /// Whether this acknowledgement has ended one.
    pub start: bool,
    next: u64,
}

impl Rounds {
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
    /// A round begins now.
    pub(crate) fn restart(&mut self) {
        self.next = self.delivered;
    }
}

/// The delivery rate of a sample, segments per second.
pub(crate) fn rate(sample: &RateSample) -> f64 {
    f64::from(sample.delivered) / sample.interval.as_secs()
}

/// Segments that the control itself has held back (ProbeRTT): their rate says nothing of the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldBack {
    from: u64,
    to: Option<u64>,
}

impl HeldBack {
    /// Holding back begins when `delivered` have been delivered.
    pub(crate) fn begin(&mut self, delivered: u64) {
        *self = HeldBack { from: delivered, to: Some(delivered) };
    }
    /// It goes on, `in_flight` being outstanding.
    pub(crate) fn extend(&mut self, delivered: u64, in_flight: u32) {
        self.to = Some(delivered + u64::from(in_flight));
    }
    /// Whether the sample is limited by the application or by this.
    pub(crate) fn limits(&self, sample: &RateSample) -> bool {
        let held = self.to.is_some_and(|to| (self.from..=to).contains(&sample.prior_delivered));
        sample.app_limited || held
    }
}

/// The sender's loss recovery, as far as a control that sets the window in it must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repair {
    /// None.
    #[default]
    None,
    /// Fast recovery.
    Fast,
    /// A timeout, and nothing acknowledged since.
    TimedOut,
    /// The repair after a timeout, which ends when this segment is reached.
    Until(u32),
}

/// Saves the window before a repair or ProbeRTT, and puts it back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saved {
    pub repair: Repair,
    cwnd: f64,
}

impl Saved {
    /// `disturbed` if the window is not one of normal operation.
    pub(crate) fn save(&mut self, window: &Window, disturbed: bool) {
        let disturbed = disturbed || self.repair != Repair::None;
        self.cwnd = if disturbed { self.cwnd.max(window.cwnd) } else { window.cwnd };
    }
    pub(crate) fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
    }
    /// Follows the repair of a timeout by what is acknowledged up to `una`, of `next` sent.
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
    /// Follows fast recovery; true if it begins with this acknowledgement.
    pub(crate) fn follow_fast(&mut self, window: &mut Window, acked: &Acked, disturbed: bool) -> bool {
        match (self.repair, acked.recovering) {
            (Repair::Fast, false) => {
                self.repair = Repair::None;
                self.restore(window);
            }
            (Repair::None, true) => {
                self.save(window, disturbed);
                self.repair = Repair::Fast;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Payload of `tcp` in bits.
pub(crate) fn segment_bits(tcp: &Tcp) -> f64 {
    tcp.segment.0 as f64 * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windowed_maximum_forgets_what_is_older_than_the_window_and_nothing_greater_that_is_not() {
        let mut max = WindowedMax::default();
        let values = [5.0, 9.0, 3.0, 4.0, 7.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        for (time, value) in values.into_iter().enumerate() {
            max.update(8, time as u64, value);
            let recent = &values[time.saturating_sub(8)..=time];
            let exact = recent.iter().copied().fold(0.0, f64::max);
            // Three samples are kept: the estimate is a value of the window, the greatest one at first.
            assert!(max.get() <= exact, "at {time}");
            assert!(time > 9 || max.get() == exact, "at {time}: {}", max.get());
        }
        assert_eq!(max.get(), 1.0);
    }

    #[test]
    fn segments_sent_while_holding_back_are_limited_and_those_before_and_after_are_not() {
        let mut held = HeldBack::default();
        let sample = |prior_delivered| RateSample {
            delivered: 1,
            interval: tailback_units::Dur::from_ms(1),
            prior_delivered,
            total_delivered: 1_000,
            sent_in_flight: 1,
            lost: 0,
            app_limited: false,
        };
        assert!(!held.limits(&sample(0)));
        held.begin(100);
        held.extend(120, 4);
        let limited: Vec<u64> = (95..130).filter(|n| held.limits(&sample(*n))).collect();
        assert_eq!(limited, (100..=124).collect::<Vec<_>>());
    }
}
