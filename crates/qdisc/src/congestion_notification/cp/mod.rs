//! Congestion points (CP, IEEE 802.1Qau): each watches one output queue and returns the feedback to the source of an arriving
//! frame.

pub mod bcn;
pub mod ecm;
mod occupancy;
pub mod qcn;
mod watch;

use crate::signals::Length;
pub use occupancy::Occupancy;
use tailback_random::Rng;
pub use watch::{Answer, Arrival, Watch};

/// Makes the document's enum ([`Spec`]) and the run-time enum ([`Point`]) from one list.
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
            /// Returns the congestion point in its initial state. The parameters have passed
            /// `check`.
            pub fn build(&self) -> Point {
                match self { $(Spec::$variant(params) => Point::$variant(params.build()),)+ }
            }
            /// Returns the queue lengths at which the feedback changes, by parameter, in ascending
            /// order.
            pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
                match self { $(Spec::$variant(params) => params.thresholds(),)+ }
            }
        }

        impl Spec {
            /// Returns `true` if it reads the congestion point's number in the tags of frames.
            pub fn reads_tags(&self) -> bool {
                !matches!(self, Spec::Qcn(_))
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

points! {
    "bcn" => Bcn(bcn::Params => bcn::Bcn),
    "ecm" => Ecm(ecm::Params => ecm::Ecm),
    "qcn" => Qcn(qcn::Params => qcn::Qcn),
}
