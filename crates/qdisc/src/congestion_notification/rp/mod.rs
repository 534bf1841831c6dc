//! Reaction laws: each sets the rate of one rate limiter by the messages that it receives.

pub mod aimd;
pub mod bcn;
pub mod ecm;
pub mod qcn;
mod react;

use super::Feedback;
use crate::retune::{Fixed, Retune, other_kind};
pub use react::React;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// Generates the enum of parameters ([`Spec`]) and the enum of states ([`Reaction`]) from one list.
macro_rules! reactions {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A reaction law and its parameters.
            pub enum Spec { $($name => $variant($params)),+ }
        }

        /// State of a reaction law.
        #[derive(Debug)]
        pub enum Reaction {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Spec {
            /// Returns the law of a limiter that is set up at `now` on a link of rate `line`. The parameters must have
            /// passed `check`.
            pub fn build(&self, line: Rate, now: Time) -> Reaction {
                match self { $(Spec::$variant(params) => Reaction::$variant(params.build(line, now)),)+ }
            }
            /// Refuses parameters `to` that a law built from `self` cannot take while it runs: those of another kind.
            /// `self` and `to` must have passed `check`.
            ///
            /// # Errors
            /// If the kinds differ.
            pub fn check_retune(&self, to: &Spec) -> Result<(), Invalid> {
                match (self, to) {
                    $((Spec::$variant(params), Spec::$variant(to)) => params.check_retune(to),)+
                    _ => Err(other_kind(self.kind(), to.kind())),
                }
            }
        }

        impl Retune for Reaction {
            fn adopt(&mut self, now: Time, fresh: Reaction) {
                match (self, fresh) {
                    $((Reaction::$variant(law), Reaction::$variant(fresh)) => law.adopt(now, fresh),)+
                    _ => debug_assert!(false, "the kinds differ"),
                }
            }
        }

        impl React for Reaction {
            fn hear(&mut self, now: Time, point: u16, feedback: Feedback, rng: &mut Rng) -> bool {
                match self { $(Reaction::$variant(law) => law.hear(now, point, feedback, rng),)+ }
            }
            #[inline]
            fn sent(&mut self, now: Time, bytes: u16, rng: &mut Rng) {
                match self { $(Reaction::$variant(law) => law.sent(now, bytes, rng),)+ }
            }
            #[inline]
            fn advance(&mut self, now: Time, rng: &mut Rng) {
                match self { $(Reaction::$variant(law) => law.advance(now, rng),)+ }
            }
            #[inline]
            fn rate(&self) -> f64 {
                match self { $(Reaction::$variant(law) => law.rate(),)+ }
            }
            #[inline]
            fn stopped_until(&self) -> Time {
                match self { $(Reaction::$variant(law) => law.stopped_until(),)+ }
            }
            #[inline]
            fn point(&self) -> u16 {
                match self { $(Reaction::$variant(law) => law.point(),)+ }
            }
            #[inline]
            fn solicits(&self) -> bool {
                match self { $(Reaction::$variant(law) => law.solicits(),)+ }
            }
            #[inline]
            fn is_over(&self) -> bool {
                match self { $(Reaction::$variant(law) => law.is_over(),)+ }
            }
        }
    };
}

impl Reaction {
    /// Replaces the parameters and the rate of the link (`line`), and keeps the state. [`Spec::check_retune`] must have
    /// accepted the parameters.
    pub fn retune(&mut self, now: Time, spec: &Spec, line: Rate) {
        self.adopt(now, spec.build(line, now));
    }
}

impl Fixed for bcn::Params {}
impl Fixed for ecm::Params {}
impl Fixed for qcn::Params {}

reactions! {
    "bcn" => Bcn(bcn::Params => aimd::Aimd),
    "ecm" => Ecm(ecm::Params => aimd::Aimd),
    "qcn" => Qcn(qcn::Params => qcn::Qcn),
}
