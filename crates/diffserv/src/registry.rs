//! All meters, one line each.

use crate::Colour;
use crate::meter::*;
use tailback_random::Rng;
use tailback_units::Time;

/// What shows its state for time series.
pub trait Shows {
    /// Names and values; the names never change.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
}

/// Makes the enum of parameters ([`Meter`]) and the run-time enum ([`Marker`]) from one list.
macro_rules! meters {
    ($($name:literal => $Variant:ident in $module:ident),+ $(,)?) => {
        tailback_document::kinds! {
            /// By what a stream is judged, and its packets coloured.
            pub enum Meter { $($name => $Variant($module::Params)),+ }
        }

        /// A meter at work on one stream.
        #[derive(Clone, Debug)]
        pub enum Marker {
            $(
                #[doc = concat!("`", $name, "`")]
                $Variant($module::$Variant),
            )+
        }

        impl Meter {
            /// The meter at work. The parameters have passed `check`.
            pub fn build(&self) -> Marker {
                match self { $(Meter::$Variant(params) => Marker::$Variant($module::$Variant::new(params)),)+ }
            }
        }

        impl Shows for Marker {
            fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Marker::$Variant(meter) => meter.probe(f),)+ }
            }
        }

        impl Marker {
            /// The colour of a packet of `bytes` that arrives with the colour `incoming`. Instants
            /// do not go back.
            pub fn mark(&mut self, now: Time, bytes: u32, incoming: Colour, rng: &mut Rng) -> Colour {
                match self { $(Marker::$Variant(meter) => meter.mark(now, bytes, incoming, rng),)+ }
            }
        }
    };
}

meters! {
    "fixed" => Fixed in fixed,
    "token-bucket" => Profile in profile,
    "sr-tcm" => SrTcm in sr_tcm,
    "tr-tcm" => TrTcm in tr_tcm,
    "tsw2cm" => Tsw2cm in tsw2cm,
    "tsw3cm" => Tsw3cm in tsw3cm,
    "adaptive" => Adaptive in adaptive,
}
