//! LEDBAT, low extra delay background transport: window control by the one-way delay of the data (RFC 6817).

use super::{Acked, Build, Congestion, CongestionControl, CongestionEvent, Needs, Setup, Window};
use crate::check::{number, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Time};

/// LEDBAT (RFC 6817), for background traffic: the window grows while the queueing delay on the way to the receiver is
/// below a target, by up to `gain` segments per round trip, and shrinks while it is above. The queueing delay is the
/// current one-way delay minus the base delay, the minimum of the last minutes. A loss or an echo of congestion halves
/// the window. LEDBAT yields to flows that keep the queueing delay above the target. There is no slow start, so
/// `initial-ssthresh` has no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Queueing delay at which the window is constant (TARGET), 1 us to 100 ms, the maximum of RFC 6817. Default 100 ms.
    pub target: Dur,
    /// Growth of the window per round trip while there is no queueing delay, segments (GAIN), above 0 and at most 1.
    /// Default 1.
    pub gain: Fraction,
    /// Maximum excess of the window over the segments outstanding at an acknowledgement, segments (ALLOWED_INCREASE), 1
    /// to 1000. Default 1.
    pub allowed_increase: u32,
    /// Number of minutes with segments whose minimum is the base delay (BASE_HISTORY), 1 to 1000. Default 10.
    pub base_history: u32,
    /// Maximum number of samples whose minimum is the current delay (CURRENT_FILTER), 1 to 1000; samples older than a
    /// smoothed round-trip time do not count. Default 4.
    pub current_filter: u32,
    /// Window before the first acknowledgement, instead of the connection's `initial-window`, segments (INIT_CWND), 1
    /// to 4. Default 2.
    pub init_cwnd: u32,
    /// Minimum window, segments, except after an expiry of the retransmission timer, which sets the window to one
    /// segment (MIN_CWND), 1 to 2. Default 2.
    pub min_cwnd: u32,
}

/// Length of the periods of which the base delays are minima (RFC 6817 section 2.4.2).
const MINUTE: Dur = Dur::from_secs(60);

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_ms(100),
            gain: Fraction(1.0),
            allowed_increase: 1,
            base_history: 10,
            current_filter: 4,
            init_cwnd: 2,
            min_cwnd: 2,
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        time("target", self.target, Dur::from_us(1), Dur::from_ms(100))?;
        if self.gain.0 <= 0.0 {
            let message = format!("{} is out of range; write a number above 0 and at most 1", self.gain);
            return Err(Invalid::new("gain", message));
        }
        number("allowed-increase", self.allowed_increase, 1, 1000)?;
        number("base-history", self.base_history, 1, 1000)?;
        number("current-filter", self.current_filter, 1, 1000)?;
        number("init-cwnd", self.init_cwnd, 1, 4)?;
        number("min-cwnd", self.min_cwnd, 1, 2)
    }
}

impl Build for Params {
    type Control = Ledbat;
    fn build(&self, _: &Setup, _: Rng) -> Ledbat {
        Ledbat {
            target: self.target.as_secs(),
            gain: self.gain.0,
            allowed_increase: self.allowed_increase,
            min_cwnd: self.min_cwnd.into(),
            base_history: self.base_history as usize,
            current_filter: self.current_filter as usize,
            base_delays: VecDeque::new(),
            current_delays: VecDeque::new(),
            minute: None,
            reduced_at: None,
            srtt: Dur::ZERO,
        }
    }
    fn initial_window(&self, _: &Setup) -> f64 {
        self.init_cwnd.into()
    }
    fn needs(&self) -> Needs {
        Needs { delay: true, ..Needs::default() }
    }
}

/// State of LEDBAT in one sender.
#[derive(Debug)]
pub struct Ledbat {
    /// Target of the queueing delay, seconds.
    target: f64,
    gain: f64,
    allowed_increase: u32,
    /// Minimum window, segments.
    min_cwnd: f64,
    /// Maximum length of `base_delays`.
    base_history: usize,
    /// Maximum length of `current_delays`.
    current_filter: usize,
    /// Minimum of the one-way delays of each minute with samples, the oldest first. RFC 6817 fills the list with
    /// infinite delays, which do not change its minimum.
    base_delays: VecDeque<Dur>,
    /// Last one-way delays, each with the time of its acknowledgement, the oldest first.
    current_delays: VecDeque<(Time, Dur)>,
    /// Number of the minute of the last element of `base_delays`, since the start of the run. `None`: there was no
    /// sample.
    minute: Option<u64>,
    /// Time of the last reduction after a loss or an echo of congestion. `None`: there was none.
    reduced_at: Option<Time>,
    /// Smoothed round-trip time at the last acknowledgement that changed the window.
    srtt: Dur,
}

impl Ledbat {
    /// Adds a sample to the minimum of the current minute (`update_base_delay`).
    fn update_base_delay(&mut self, now: Time, delay: Dur) {
        let minute = now.since(Time::ZERO).0 / MINUTE.0;
        match self.base_delays.back_mut() {
            Some(last) if self.minute == Some(minute) => *last = delay.min(*last),
            _ => push(&mut self.base_delays, self.base_history, delay),
        }
        self.minute = Some(minute);
    }

    /// Adds a sample to the filter (`update_current_delay`), and removes those older than a round trip (RFC 6817 section
    /// 2.5: "samples in the list are not older than an RTT in the past").
    fn update_current_delay(&mut self, now: Time, delay: Dur) {
        while self.current_delays.front().is_some_and(|(at, _)| now.since(*at) > self.srtt) {
            self.current_delays.pop_front();
        }
        push(&mut self.current_delays, self.current_filter, (now, delay));
    }

    /// Returns the queueing delay in seconds: the filtered current delay minus the base delay. It is negative if the
    /// base delay is newer than a sample of the filter. `None`: there was no sample.
    fn queueing_delay(&self) -> Option<f64> {
        let current = self.current_delays.iter().map(|(_, delay)| delay).min()?;
        Some(current.as_secs() - self.base_delay()?.as_secs())
    }

    /// Returns the minimum of the last minutes. `None`: there was no sample.
    fn base_delay(&self) -> Option<Dur> {
        self.base_delays.iter().min().copied()
    }
}

/// Appends an element to a list of at most `length` elements, from which the oldest is removed.
fn push<T>(list: &mut VecDeque<T>, length: usize, element: T) {
    if list.len() == length {
        list.pop_front();
    }
    list.push_back(element);
}

impl CongestionControl for Ledbat {
    /// Takes the delay sample, also in recovery and from duplicates.
    fn on_delay(&mut self, now: Time, delay: Dur) {
        self.update_base_delay(now, delay);
        self.update_current_delay(now, delay);
    }

    /// Sets the window (RFC 6817 section 2.4.2, "on acknowledgment").
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.srtt = acked.srtt;
        let Some(queueing_delay) = self.queueing_delay() else { return };
        let off_target = (self.target - queueing_delay) / self.target;
        let cwnd = window.cwnd + self.gain * off_target * f64::from(acked.delivered) / window.cwnd;
        let max_allowed = f64::from(acked.in_flight_before) + f64::from(self.allowed_increase);
        window.cwnd = cwnd.min(max_allowed).max(self.min_cwnd);
        // There is no slow start: below the threshold the sender would take its window for one of slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// Halves the window at a loss or an echo of congestion, at most once per round trip (RFC 6817 section 2.4.2, "on
    /// data loss"). After an expiry of the retransmission timer the sender sets it to one segment.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let again = self.reduced_at.is_some_and(|at| event.now.since(at) < self.srtt);
        let reduced = if again { window.cwnd } else { window.cwnd.min((window.cwnd / 2.0).max(self.min_cwnd)) };
        if !again {
            self.reduced_at = Some(event.now);
        }
        window.ssthresh = reduced.max(1.0);
        if event.sign == Congestion::Ecn {
            window.cwnd = reduced;
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        if let (Some(queueing_delay), Some(base_delay)) = (self.queueing_delay(), self.base_delay()) {
            f("queueing-delay", queueing_delay);
            f("base-delay", base_delay.as_secs());
        }
    }
}
