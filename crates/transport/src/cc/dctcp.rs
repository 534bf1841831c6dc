//! DCTCP: reduction of the window in proportion to the fraction of marked segments (RFC 8257).

use super::reno::Growth;
use super::whole::{Whole, reduced};
use super::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, EchoResponse, Feedback, Needs, Profile,
    Setup, Timer, Window,
};
use crate::check::number;
use crate::params::Form;
use crate::seq::before;
use crate::wire::EcnEcho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Time};

/// DCTCP (RFC 8257): an echo multiplies the window by 1 − alpha/2, where alpha estimates the fraction of marked
/// segments. Made for queues that mark above a threshold. Requires `ecn`; by default the receiver echoes each mark
/// (`ecn-echo = "accurate"`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Weight g of the last window in the estimate of the marked fraction, above 0 and at most 1.
    /// Default 1/16.
    pub g: Fraction,
    /// Initial estimate of the marked fraction, 0 to 1; with 1 the first mark halves the window, as in Reno.
    /// Default 1.
    pub initial_alpha: Fraction,
    /// Upper bound of the growth per acknowledgement in slow start, segments, 1 to 1000. Default 2.
    pub byte_counting: u32,
    /// Minimum window after an echo, segments, 1 or 2. With 2, as in Linux, a sender whose segments are all marked
    /// sends two per round trip, and `ecn-floor` has no effect. With 1, as in RFC 3168, `ecn-floor` applies. Default 2.
    pub least_window: u32,
    /// "rfc": RFC 8257; "linux": the integers of Linux 6.1, with windows of whole segments, for which the other
    /// parameters must have their defaults. Default "rfc".
    pub form: Form,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            g: Fraction(1.0 / 16.0),
            initial_alpha: Fraction(1.0),
            byte_counting: 2,
            least_window: 2,
            form: Form::Rfc,
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.g.0 > 0.0 && self.g.0 <= 1.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 1", self.g);
            return Err(Invalid::new("g", message));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha.0) {
            let message = format!("{} is out of range; write a number from 0 to 1", self.initial_alpha);
            return Err(Invalid::new("initial-alpha", message));
        }
        number("byte-counting", self.byte_counting, 1, 1000)?;
        number("least-window", self.least_window, 1, 2)?;
        if self.form == Form::Linux && *self != (Params { form: self.form, ..Params::default() }) {
            return Err(Invalid::new("form", "\"linux\" has no parameters; remove them, or write `form = \"rfc\"`"));
        }
        Ok(())
    }
}

impl Build for Params {
    type Control = Dctcp;
    fn build(&self, _: &Setup, _: Rng) -> Dctcp {
        Dctcp {
            g: self.g.0,
            alpha: self.initial_alpha.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            least: self.least_window as u8,
            growth: Growth::new(self.byte_counting),
            linux: (self.form == Form::Linux).then(Linux::default),
        }
    }
    fn needs(&self) -> Needs {
        Needs { echo: EcnEcho::Accurate, marks: true, ..Needs::default() }
    }
}

/// State of DCTCP in one sender.
///
/// RFC 8257 section 3.3 leaves open at which point of a window of data the reduction is made. Here, as in Linux, it is
/// made at the first echo, with the estimate from the previous windows, and not again until all segments outstanding at
/// that time are acknowledged. Growth and the response to loss are those of Reno.
#[derive(Debug)]
pub struct Dctcp {
    /// Weight g of the last window in the estimate.
    g: f64,
    /// Estimate of the marked fraction, 0 to 1.
    alpha: f64,
    /// Number of segments acknowledged in this observation window.
    acked: u32,
    /// Number of segments acknowledged with an echo in this observation window.
    marked: u32,
    /// Segment whose acknowledgement ends the observation window (DCTCP.WindowEnd).
    window_end: u32,
    /// Minimum window after an echo, segments, 1 or 2.
    least: u8,
    growth: Growth,
    /// State of Linux's form, in place of the estimate and of `growth`; `None`: that of RFC 8257.
    linux: Option<Linux>,
}

/// State of the form of Linux 6.1 (`net/ipv4/tcp_dctcp.c`).
#[derive(Clone, Copy, Debug)]
struct Linux {
    whole: Whole,
    /// Estimate of the marked fraction, units of 1/1024 (`dctcp_alpha`).
    alpha: u32,
}

impl Default for Linux {
    fn default() -> Linux {
        Linux { whole: Whole::default(), alpha: 1024 }
    }
}

impl Linux {
    /// Updates the estimate with `marked` of `acked` segments (`dctcp_update_alpha`).
    fn update(&mut self, marked: u32, acked: u32) {
        let decrease = self.alpha >> 4;
        // An estimate below 16/1024 becomes zero.
        self.alpha -= if decrease == 0 { self.alpha } else { decrease };
        if marked > 0 {
            let share = (u64::from(marked) << 6) / u64::from(acked.max(1));
            self.alpha = (self.alpha + share as u32).min(1024);
        }
    }
}

impl CongestionControl for Dctcp {
    fn profile(&self) -> Profile {
        Profile {
            // RFC 8257 section 3.5: the response to loss is that of conventional TCP, even after a reduction for
            // marks.
            echo: EchoResponse::ThenLoss,
            // With a minimum window of 2, as in Linux, only a timeout leads to a window of one segment, and an echo
            // then has no further response.
            below_one: (self.least > 1).then_some(BackOff::None),
            ..Profile::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !acked.window_limited || acked.advanced == 0 {
            return;
        }
        if let Some(linux) = &mut self.linux {
            return linux.whole.reno(window, acked.delivered);
        }
        if window.cwnd < window.ssthresh {
            self.growth.slow_start(window, acked.advanced);
        } else {
            window.cwnd += self.growth.counted(acked.advanced) / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        if let Some(linux) = &mut self.linux {
            let ssthresh = if event.sign == Congestion::Ecn {
                // `dctcp_ssthresh`.
                let cwnd = window.cwnd as u64;
                (cwnd - ((cwnd * u64::from(linux.alpha)) >> 11)).max(2) as f64
            } else {
                // `dctcp_react_to_loss`.
                reduced(window.cwnd, 0.5)
            };
            return linux.whole.reduce(window, ssthresh, event.sign);
        }
        match event.sign {
            Congestion::Ecn => {
                let reduced = window.cwnd * (1.0 - self.alpha / 2.0);
                window.ssthresh = reduced.max(2.0);
                // After a timeout the window may be below the minimum; an echo must not raise it.
                window.cwnd = reduced.max(f64::from(self.least)).min(window.cwnd);
            }
            Congestion::Loss | Congestion::Timeout => {
                window.ssthresh = (f64::from(event.in_flight) / 2.0).max(2.0);
                if event.sign == Congestion::Timeout {
                    self.growth.timed_out();
                }
            }
        }
    }

    #[inline]
    fn on_feedback(&mut self, _: &mut Window, feedback: &Feedback<'_>) {
        self.acked += feedback.advanced;
        if feedback.ece {
            self.marked += feedback.advanced;
        }
        if let Some(linux) = &mut self.linux
            && !before(feedback.una, self.window_end)
        {
            // `tcp_in_ack_event` follows `tcp_clean_rtx_queue`: the segments of this acknowledgement are counted.
            linux.update(self.marked, self.acked);
            self.window_end = feedback.next;
            self.acked = 0;
            self.marked = 0;
        }
        if self.linux.is_none() && before(self.window_end, feedback.una) && self.acked > 0 {
            let fraction = f64::from(self.marked) / f64::from(self.acked);
            self.alpha = self.alpha * (1.0 - self.g) + self.g * fraction;
            self.window_end = feedback.next;
            self.acked = 0;
            self.marked = 0;
        }
    }

    fn on_timer(&mut self, _: &mut Window, _: Time, _: Timer) {
        if let Some(linux) = &mut self.linux {
            linux.whole.restart();
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("alpha", self.linux.map_or(self.alpha, |linux| f64::from(linux.alpha) / 1024.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `dctcp_update_alpha`: 1024 − 64 = 960; 960 − 60 + 64·5/10 = 932; below 16 the estimate becomes zero.
    #[test]
    fn the_estimate_of_linux_is_an_integer() {
        let mut linux = Linux::default();
        linux.update(0, 10);
        assert_eq!(linux.alpha, 960);
        linux.update(5, 10);
        assert_eq!(linux.alpha, 932);
        linux.alpha = 15;
        linux.update(0, 10);
        assert_eq!(linux.alpha, 0);
        linux.update(10, 10);
        assert_eq!(linux.alpha, 64);
        linux.alpha = 1024;
        linux.update(10, 0);
        assert_eq!(linux.alpha, 1024);
    }

    /// `dctcp_ssthresh` and `dctcp_react_to_loss`: with an estimate of 512/1024 a window of 9 segments loses
    /// ⌊9·512/2048⌋ = 2 at an echo, and 5 at a loss.
    #[test]
    fn reductions_of_linux_are_of_whole_segments() {
        let params = Params { form: Form::Linux, ..Params::default() };
        let mut control = params.build(&crate::params::Tcp::default().setup(), Rng::named(1, "control"));
        let mut window = Window { cwnd: 9.0, ssthresh: f64::INFINITY };
        control.linux.as_mut().unwrap().alpha = 512;
        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Ecn, Time::ZERO, 9));
        assert_eq!((window.cwnd, window.ssthresh), (7.0, 7.0));
        window.cwnd = 9.0;
        control.on_congestion(&mut window, &CongestionEvent::new(Congestion::Loss, Time::ZERO, 9));
        assert_eq!((window.cwnd, window.ssthresh), (9.0, 4.0));
    }

    /// `dctcp_update_alpha`, which `tcp_ack` calls after it has counted the segments: a window of data ends with the
    /// acknowledgement that reaches the segments sent after it, whose own segments count: 960 + ⌊64·8/12⌋ = 1002.
    #[test]
    fn a_window_of_data_of_linux_ends_with_the_acknowledgement_that_passes_it() {
        let params = Params { form: Form::Linux, ..Params::default() };
        let mut control = params.build(&crate::params::Tcp::default().setup(), Rng::named(1, "control"));
        let mut window = Window { cwnd: 9.0, ssthresh: f64::INFINITY };
        control.window_end = 10;
        let mut feed = |una, advanced, ece| {
            control.on_feedback(&mut window, &Feedback { advanced, ece, una, next: 20, hops: None });
            (control.linux.unwrap().alpha, control.acked, control.marked)
        };
        assert_eq!(feed(8, 8, true), (1024, 8, 8));
        assert_eq!(feed(12, 4, false), (1024 - 64 + 42, 0, 0));
    }
}
