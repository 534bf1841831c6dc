//! List of all congestion controls, one line each.

use crate::cc::{
    Acked, Build, CongestionControl, CongestionEvent, Expired, Feedback, Needs, Pacing, Profile, Sent, Setup, Timer,
    Window, bbr, bbr3, cubic, dcqcn, dctcp, fixed, hpcc, ledbat, packet_marking, reno, subtcp, swift, timely, user,
};
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Generates the scenario's enum ([`Cc`]) and the run-time enum ([`Control`]) from one list.
///
/// A line is `name in documents => variant(parameters => state)`. Each sender holds one state. A state larger than 16
/// bytes is boxed, so that senders whose control has a small state stay small.
macro_rules! controls {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A congestion control and its parameters.
            pub enum Cc { $($name => $variant($params)),+ }
        }

        /// State of a congestion control in one sender. Each method dispatches with one `match`.
        #[derive(Debug)]
        pub enum Control {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Cc {
            /// Returns the state for a sender. The parameters have passed `check`.
            pub(crate) fn build(&self, setup: &Setup, rng: Rng) -> Control {
                match self { $(Cc::$variant(params) => Control::$variant(params.build(setup, rng).into()),)+ }
            }
            /// Returns the window before the first acknowledgement, segments.
            pub(crate) fn initial_window(&self, setup: &Setup) -> f64 {
                match self { $(Cc::$variant(params) => params.initial_window(setup),)+ }
            }
            /// Returns the requirements on the receiver, the host and the switches.
            pub fn needs(&self) -> Needs {
                match self { $(Cc::$variant(params) => params.needs(),)+ }
            }
        }

        impl CongestionControl for Control {
            fn profile(&self) -> Profile {
                match self { $(Control::$variant(c) => c.profile(),)+ }
            }
            #[inline]
            fn on_feedback(&mut self, window: &mut Window, feedback: &Feedback<'_>) {
                match self { $(Control::$variant(c) => c.on_feedback(window, feedback),)+ }
            }
            #[cold]
            fn on_delay(&mut self, now: Time, delay: Dur) {
                match self { $(Control::$variant(c) => c.on_delay(now, delay),)+ }
            }
            fn on_round_trip(&mut self, window: &mut Window, now: Time, rtt: Dur) {
                match self { $(Control::$variant(c) => c.on_round_trip(window, now, rtt),)+ }
            }
            #[inline]
            fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
                match self { $(Control::$variant(c) => c.on_ack(window, acked),)+ }
            }
            fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
                match self { $(Control::$variant(c) => c.on_congestion(window, event),)+ }
            }
            fn on_spurious(&mut self, window: &mut Window, now: Time) {
                match self { $(Control::$variant(c) => c.on_spurious(window, now),)+ }
            }
            #[inline]
            fn on_sent(&mut self, window: &mut Window, sent: &Sent) -> bool {
                match self { $(Control::$variant(c) => c.on_sent(window, sent),)+ }
            }
            #[cold]
            fn on_open(&mut self, window: &mut Window, now: Time) {
                match self { $(Control::$variant(c) => c.on_open(window, now),)+ }
            }
            #[cold]
            fn wake(&self) -> Time {
                match self { $(Control::$variant(c) => c.wake(),)+ }
            }
            fn on_timer(&mut self, window: &mut Window, now: Time, timer: Timer) {
                match self { $(Control::$variant(c) => c.on_timer(window, now, timer),)+ }
            }
            fn on_expired(&mut self, window: &mut Window, expired: &Expired) -> bool {
                match self { $(Control::$variant(c) => c.on_expired(window, expired),)+ }
            }
            #[inline]
            fn pacing(&self) -> Pacing {
                match self { $(Control::$variant(c) => c.pacing(),)+ }
            }
            fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Control::$variant(c) => c.probe(f),)+ }
            }
        }
    };
}

controls! {
    "reno" => Reno(reno::Params => reno::Reno),
    "subtcp" => SubTcp(subtcp::Params => Box<subtcp::SubTcp>),
    "cubic" => Cubic(cubic::Params => Box<cubic::Cubic>),
    "dctcp" => Dctcp(dctcp::Params => Box<dctcp::Dctcp>),
    "bbr" => Bbr(bbr::Params => Box<bbr::Bbr>),
    "bbr3" => Bbr3(bbr3::Params => Box<bbr3::Bbr3>),
    "packet-marking" => PacketMarking(packet_marking::Params => Box<packet_marking::PacketMarking>),
    "dcqcn" => Dcqcn(dcqcn::Params => Box<dcqcn::Dcqcn>),
    "timely" => Timely(timely::Params => Box<timely::Timely>),
    "hpcc" => Hpcc(hpcc::Params => Box<hpcc::Hpcc>),
    "swift" => Swift(swift::Params => Box<swift::Swift>),
    "ledbat" => Ledbat(ledbat::Params => Box<ledbat::Ledbat>),
    "fixed" => Fixed(fixed::Params => fixed::Fixed),
    "user" => User(user::Params => Box<user::User>),
}

impl Default for Cc {
    fn default() -> Cc {
        Cc::Reno(reno::Params::default())
    }
}
