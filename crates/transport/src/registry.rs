//! All congestion controls, one line each.

use crate::cc::{
    Acked, BackOff, Build, Congestion, CongestionControl, Window, bbr, bbr3, cubic, dcqcn, dctcp, fixed, hpcc,
    packet_marking, reno, subtcp, swift, timely,
};
use crate::line::Hop;
use crate::params::{EcnEcho, Tcp};
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Makes the scenario's enum ([`Cc`]) and the run-time enum ([`Control`]) from one list.
///
/// The state is what every sender carries: one that is larger than 16 bytes is boxed, so that the
/// senders of small controls stay small.
macro_rules! controls {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A congestion control and its parameters.
            pub enum Cc { $($name => $variant($params)),+ }
        }

        /// A congestion control at work; dispatched by one `match`.
        #[derive(Debug)]
        pub enum Control {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Cc {
            /// The control at work in a connection of `tcp`. The parameters have passed `check`.
            pub(crate) fn build(&self, tcp: &Tcp, rng: Rng) -> Control {
                match self { $(Cc::$variant(params) => Control::$variant(params.build(tcp, rng).into()),)+ }
            }
            /// The echo that it needs from the receiver.
            pub fn echo(&self) -> EcnEcho {
                match self { $(Cc::$variant(params) => params.echo(),)+ }
            }
            /// Least time between notifications of congestion, if it wants those in place of echoes.
            pub fn notification(&self) -> Option<Dur> {
                match self { $(Cc::$variant(params) => params.notification(),)+ }
            }
            /// Whether switches write into its packets.
            pub fn telemetry(&self) -> bool {
                match self { $(Cc::$variant(params) => params.telemetry(),)+ }
            }
            /// Whether marks are what it goes by, so that it can do its work only over queues that mark.
            pub fn needs_marks(&self) -> bool {
                match self { $(Cc::$variant(params) => params.needs_marks(),)+ }
            }
            /// Whether it needs to know the host's line.
            pub fn needs_line(&self) -> bool {
                match self { $(Cc::$variant(params) => params.needs_line(),)+ }
            }
            /// Whether [`Tcp::line`] should have the longest round trip of its group's ways.
            pub fn shares_base_rtt(&self) -> bool {
                match self { $(Cc::$variant(params) => params.shares_base_rtt(),)+ }
            }
        }

        impl CongestionControl for Control {
            fn begin(&mut self, window: &mut Window) {
                match self { $(Control::$variant(c) => c.begin(window),)+ }
            }
            fn on_telemetry(&mut self, hops: &[Hop]) {
                match self { $(Control::$variant(c) => c.on_telemetry(hops),)+ }
            }
            fn next_change(&self) -> Time {
                match self { $(Control::$variant(c) => c.next_change(),)+ }
            }
            fn pass(&mut self, now: Time) {
                match self { $(Control::$variant(c) => c.pass(now),)+ }
            }
            #[inline]
            fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
                match self { $(Control::$variant(c) => c.on_ack(window, acked),)+ }
            }
            fn on_congestion(&mut self, window: &mut Window, why: Congestion, now: Time, in_flight: u32) {
                match self { $(Control::$variant(c) => c.on_congestion(window, why, now, in_flight),)+ }
            }
            #[inline]
            fn on_echo(&mut self, window: &mut Window, acked: u32, ece: bool, una: u32, next: u32) {
                match self { $(Control::$variant(c) => c.on_echo(window, acked, ece, una, next),)+ }
            }
            fn on_spurious(&mut self, window: &mut Window) {
                match self { $(Control::$variant(c) => c.on_spurious(window),)+ }
            }
            #[inline]
            fn on_sent(&mut self, now: Time, idle: bool) {
                match self { $(Control::$variant(c) => c.on_sent(now, idle),)+ }
            }
            #[inline]
            fn pacing_rate(&self) -> Option<f64> {
                match self { $(Control::$variant(c) => c.pacing_rate(),)+ }
            }
            fn samples_rate(&self) -> bool {
                match self { $(Control::$variant(c) => c.samples_rate(),)+ }
            }
            fn controls_recovery(&self) -> bool {
                match self { $(Control::$variant(c) => c.controls_recovery(),)+ }
            }
            fn hears_each_expiry(&self) -> bool {
                match self { $(Control::$variant(c) => c.hears_each_expiry(),)+ }
            }
            fn halves_window(&self) -> bool {
                match self { $(Control::$variant(c) => c.halves_window(),)+ }
            }
            fn handles_ecn(&self) -> bool {
                match self { $(Control::$variant(c) => c.handles_ecn(),)+ }
            }
            fn loss_counts_after_echo(&self) -> bool {
                match self { $(Control::$variant(c) => c.loss_counts_after_echo(),)+ }
            }
            fn back_off(&self) -> Option<BackOff> {
                match self { $(Control::$variant(c) => c.back_off(),)+ }
            }
            #[inline]
            fn interval(&self) -> Dur {
                match self { $(Control::$variant(c) => c.interval(),)+ }
            }
            fn on_expiry(&mut self, rto: Dur) {
                match self { $(Control::$variant(c) => c.on_expiry(rto),)+ }
            }
            fn marks(&self) -> bool {
                match self { $(Control::$variant(c) => c.marks(),)+ }
            }
            fn mark(&mut self, now: Time, again: Option<bool>) -> bool {
                match self { $(Control::$variant(c) => c.mark(now, again),)+ }
            }
            fn on_loss_of(&mut self, marked: bool) {
                match self { $(Control::$variant(c) => c.on_loss_of(marked),)+ }
            }
            fn is_plain(&self) -> bool {
                match self { $(Control::$variant(c) => c.is_plain(),)+ }
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
    "fixed" => Fixed(fixed::Params => fixed::Fixed),
}

impl Default for Cc {
    fn default() -> Cc {
        Cc::Reno(reno::Params::default())
    }
}
