//! Congestion points (CP, IEEE 802.1Qau): each watches one output queue and returns the feedback to the source of an arriving
//! frame.

pub mod bcn;
pub mod ecm;
mod occupancy;
pub mod qcn;

use super::Feedback;
use crate::law::Backlog;
use crate::signals::Length;
pub use occupancy::Occupancy;
use tailback_random::Rng;

/// An arriving frame as a congestion point sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The waiting frames, without this one.
    pub queued: Backlog,
    /// Its buffer bytes.
    pub size: u16,
    /// Solicit bit of its tag. `None`: it has no tag, or that of another congestion point.
    pub limited: Option<bool>,
}

/// The answer of a congestion point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// `true` if the frame was sampled.
    pub sampled: bool,
    /// Feedback to its source. `None`: no message.
    pub feedback: Option<Feedback>,
}

/// A law of a congestion point.
pub trait Watch {
    /// A frame arrives, whether or not there will be room for it.
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer;
}

/// Makes the document's enum ([`Spec`]) and the run-time enum ([`Point`]) from one list.
macro_rules! points {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A congestion point's law and its parameters.
            pub enum Spec { $($name => $variant($params)),+ }
        }

        /// A congestion point at work.
        #[derive(Debug)]
        pub enum Point {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Spec {
            /// The point at work. The parameters have passed `check`.
            pub fn build(&self) -> Point {
                match self { $(Spec::$variant(params) => Point::$variant(params.build()),)+ }
            }
            /// The queues at which it changes what it says, by parameter, smaller ones first.
            pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
                match self { $(Spec::$variant(params) => params.thresholds(),)+ }
            }
        }

        impl Spec {
            /// Returns `true` if it looks at the congestion point's number in the tags of frames.
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
