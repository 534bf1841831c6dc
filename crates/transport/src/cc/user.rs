//! A congestion control that the user has written.

use super::{
    Acked, Build, Congestion, CongestionControl, EchoResponse, Pacing, Profile, RecoveryWindow, Sent, SentCalls, Setup,
    Timer, Window,
};
use tailback_random::Rng;
use tailback_units::{Dur, Time};
use tailback_user::{
    Code, CongestionAnswer, CongestionCall, CongestionEvent, CongestionLaw, CongestionOptions, Factories, Faults,
    Installed,
};

pub use tailback_user::Code as Params;

impl Build for Code {
    type Control = User;
    fn build(&self, setup: &Setup, rng: Rng) -> User {
        let events = self.loaded.as_ref().map_or(0, |loaded| loaded.events);
        let options = self.loaded.as_ref().map_or(0, |loaded| loaded.options);
        let payload = setup.payload.into();
        User {
            law: None,
            events,
            options,
            payload,
            rng,
            rate: 0.0,
            wake: Time::NEVER,
            path: Path::default(),
            used: false,
        }
    }
}

/// State of a user's congestion control in one sender.
#[derive(Debug)]
pub struct User {
    /// The control; `None` before it is installed and after a fault, when the window stays as it is.
    law: Option<Installed<dyn CongestionLaw>>,
    /// Events for which the control is called, a bit each.
    events: u32,
    /// Properties that the control has declared ([`CongestionOptions`]).
    options: u32,
    /// Payload of a full segment, bytes.
    payload: u32,
    rng: Rng,
    /// Pacing rate, segments per second; 0: none.
    rate: f64,
    /// Time of the next wake-up; [`Time::NEVER`]: none.
    wake: Time,
    path: Path,
    /// `true` if the control has been called for an earlier connection.
    used: bool,
}

/// Round-trip times at the last acknowledgement that was reported.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    srtt: Dur,
    min_rtt: Dur,
}

impl User {
    /// Makes the control of `code` for the sender called `place`; a failure is recorded in `faults`.
    pub fn install(&mut self, code: &Code, factories: &dyn Factories, place: &str, faults: &Faults) {
        self.law = Installed::new(factories.congestion_control(code), CongestionLaw::placed, code, place, faults);
    }

    /// Takes the control of `old`, whose connection has ended, for a new connection.
    pub(crate) fn take_over(&mut self, old: &mut User) {
        self.law = old.law.take();
        self.used = true;
    }

    /// Returns the arguments of a call at `now` that has no other content than the state of the sender.
    fn arguments(&self, event: CongestionEvent, now: Time, window: &Window) -> CongestionCall {
        CongestionCall {
            now_ps: now.0,
            rtt_ps: u64::MAX,
            srtt_ps: self.path.srtt.0,
            min_rtt_ps: self.path.min_rtt.0,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            delivery_rate: 0.0,
            event: event as u32,
            delivered: 0,
            advanced: 0,
            in_flight_before: 0,
            in_flight: 0,
            lost: 0,
            payload: self.payload,
            window_limited: 0,
            ece: 0,
            recovering: 0,
            round: 0,
            app_limited: 0,
            idle: 0,
            reserved: [0; 6],
        }
    }

    /// Calls the control if it wants calls for this event, and takes its window, rate and wake-up.
    fn call(&mut self, event: CongestionEvent, window: &mut Window, call: &CongestionCall) {
        if self.events & event.bit() == 0 {
            return;
        }
        let Some(installed) = &mut self.law else { return };
        installed.called = Time(call.now_ps);
        let last =
            CongestionAnswer { cwnd: window.cwnd, ssthresh: window.ssthresh, rate: self.rate, wake_ps: self.wake.0 };
        let answer = installed.law.answer(call, &last, &mut self.rng);
        match answer.and_then(|answer| Ok((answer, self.checked(&answer, call)?))) {
            Ok((answer, wake)) => {
                *window = Window { cwnd: answer.cwnd, ssthresh: answer.ssthresh };
                (self.rate, self.wake) = (answer.rate, wake);
            }
            Err(message) => self.fail(event.name(), message),
        }
    }

    /// Checks an answer; returns the time of the next wake-up.
    fn checked(&self, answer: &CongestionAnswer, call: &CongestionCall) -> Result<Time, String> {
        let wake = answer.checked(call)?;
        if answer.rate != 0.0 && self.options & CongestionOptions::PACES == 0 {
            return Err(
                "a rate is set, but the control does not declare that it paces; declare it, or leave 0".to_owned()
            );
        }
        Ok(wake)
    }

    /// Records a failure and removes the control.
    #[cold]
    fn fail(&mut self, call: &'static str, message: String) {
        if let Some(installed) = self.law.take() {
            installed.fail(call, message);
        }
        self.wake = Time::NEVER;
    }
}

impl CongestionControl for User {
    fn profile(&self) -> Profile {
        let has = |option: u32| self.options & option != 0;
        let owns = has(CongestionOptions::OWNS_RECOVERY);
        Profile {
            recovery: if owns { RecoveryWindow::Control } else { RecoveryWindow::Sender },
            echo: if has(CongestionOptions::HANDLES_ECHOES) {
                EchoResponse::Control
            } else {
                EchoResponse::OncePerWindow
            },
            sent: if self.events & CongestionEvent::Sent.bit() == 0 { SentCalls::Never } else { SentCalls::Each },
            paces: has(CongestionOptions::PACES),
            samples_rate: has(CongestionOptions::SAMPLES_RATE),
            wakes: self.events & CongestionEvent::Timer.bit() != 0,
            ..Profile::default()
        }
    }

    fn on_open(&mut self, window: &mut Window, now: Time) {
        if self.used
            && let Some(installed) = &mut self.law
            && let Err(message) = installed.law.renew()
        {
            installed.called = now;
            return self.fail("start", message);
        }
        self.used = true;
        let call = self.arguments(CongestionEvent::Start, now, window);
        self.call(CongestionEvent::Start, window, &call);
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.path = Path { srtt: acked.srtt, min_rtt: acked.min_rtt };
        let sample = acked.rate;
        let call = CongestionCall {
            rtt_ps: acked.rtt.map_or(u64::MAX, |rtt| rtt.0),
            delivery_rate: sample.map_or(0.0, |rate| f64::from(rate.delivered) / rate.interval.as_secs()),
            delivered: acked.delivered,
            advanced: acked.advanced,
            in_flight_before: acked.in_flight_before,
            in_flight: acked.in_flight,
            lost: acked.lost,
            window_limited: acked.window_limited.into(),
            ece: acked.ece.into(),
            recovering: acked.recovering.into(),
            round: acked.round.into(),
            app_limited: sample.is_some_and(|rate| rate.app_limited).into(),
            ..self.arguments(CongestionEvent::Acknowledged, acked.now, window)
        };
        self.call(CongestionEvent::Acknowledged, window, &call);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &super::CongestionEvent) {
        let kind = match event.sign {
            Congestion::Loss => CongestionEvent::Lost,
            Congestion::Ecn => CongestionEvent::Marked,
            Congestion::Timeout => CongestionEvent::Timeout,
        };
        let call = CongestionCall { in_flight: event.in_flight, ..self.arguments(kind, event.now, window) };
        self.call(kind, window, &call);
        // The sender sets the window to the threshold.
        let owns = self.options & CongestionOptions::OWNS_RECOVERY != 0;
        if event.sign == Congestion::Loss && !owns && window.ssthresh == f64::INFINITY {
            window.ssthresh = window.cwnd;
            let message =
                "the threshold is infinite after a loss; set it at a loss, or declare that the control owns recovery";
            if let Some(installed) = &mut self.law {
                installed.called = event.now;
            }
            self.fail(kind.name(), message.to_owned());
        }
    }

    fn on_spurious(&mut self, window: &mut Window, now: Time) {
        let call = self.arguments(CongestionEvent::Spurious, now, window);
        self.call(CongestionEvent::Spurious, window, &call);
    }

    fn on_sent(&mut self, window: &mut Window, sent: &Sent) -> bool {
        let call = CongestionCall { idle: sent.idle.into(), ..self.arguments(CongestionEvent::Sent, sent.now, window) };
        self.call(CongestionEvent::Sent, window, &call);
        false
    }

    fn on_timer(&mut self, window: &mut Window, now: Time, timer: Timer) {
        if timer == Timer::Control && self.wake <= now {
            self.wake = Time::NEVER;
            let call = self.arguments(CongestionEvent::Timer, now, window);
            self.call(CongestionEvent::Timer, window, &call);
        }
    }

    fn wake(&self) -> Time {
        self.wake
    }

    fn pacing(&self) -> Pacing {
        if self.rate == 0.0 { Pacing::default() } else { Pacing::at(self.rate) }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        let Some(installed) = &self.law else { return };
        if let Err(message) = installed.law.probe(f) {
            installed.fail("probes", message);
        }
    }
}
