//! Congestion points (CP, IEEE 802.1Qau): each watches one output queue and returns feedback for the source of an
//! arriving frame.

pub mod bcn;
pub mod ecm;
mod occupancy;
pub mod qcn;
mod watch;

use crate::retune::{Fixed, Retune, other_kind};
use crate::signals::Length;
pub use occupancy::Occupancy;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Time;
pub use watch::{Answer, Arrival, Watch};

/// Generates the enum of parameters ([`Spec`]) and the enum of states ([`Point`]) from one list.
macro_rules! points {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A congestion point's law and its parameters.
            pub enum Spec { $($name => $variant($params)),+ }
        }

        /// State of a congestion point.
        #[derive(Debug)]
        pub enum Point {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Spec {
            /// Returns the congestion point in its initial state. The parameters must have passed `check`.
            pub fn build(&self) -> Point {
                match self { $(Spec::$variant(params) => Point::$variant(params.build()),)+ }
            }
            /// Refuses parameters `to` that a congestion point built from `self` cannot take while it runs: those of
            /// another kind, or with another unit of the queue length. `self` and `to` must have passed `check`.
            ///
            /// # Errors
            /// If such a parameter differs: the error names it and says why it is fixed.
            pub fn check_retune(&self, to: &Spec) -> Result<(), Invalid> {
                match (self, to) {
                    $((Spec::$variant(params), Spec::$variant(to)) => params.check_retune(to),)+
                    _ => Err(other_kind(self.kind(), to.kind())),
                }
            }
            /// Returns the thresholds of the queue length, ascending, each with the name of its parameter. Those in
            /// BCN's lists `above` and `below` are left out.
            pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
                match self { $(Spec::$variant(params) => params.thresholds(),)+ }
            }
        }

        impl Spec {
            /// Returns `true` if the law reads the congestion point's number in the tags of frames.
            pub fn reads_tags(&self) -> bool {
                !matches!(self, Spec::Qcn(_))
            }
        }

        impl Retune for Point {
            fn adopt(&mut self, now: Time, fresh: Point) {
                match (self, fresh) {
                    $((Point::$variant(point), Point::$variant(fresh)) => point.adopt(now, fresh),)+
                    _ => debug_assert!(false, "the kinds differ"),
                }
            }
        }

        impl Watch for Point {
            #[inline]
            fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer {
                match self { $(Point::$variant(point) => point.judge(arrival, rng),)+ }
            }
        }
    };
}

impl Point {
    /// Replaces the parameters and keeps the state. [`Spec::check_retune`] must have accepted the parameters.
    pub fn retune(&mut self, now: Time, spec: &Spec) {
        self.adopt(now, spec.build());
    }
}

points! {
    "bcn" => Bcn(bcn::Params => bcn::Bcn),
    "ecm" => Ecm(ecm::Params => ecm::Ecm),
    "qcn" => Qcn(qcn::Params => qcn::Qcn),
}
