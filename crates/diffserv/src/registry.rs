//! The list of meters, one line each.

use crate::Colour;
use crate::meter::{adaptive, fixed, profile, sr_tcm, tr_tcm, tsw2cm, tsw3cm};
use tailback_random::Rng;
use tailback_units::Time;

/// Exposes state variables for time series.
pub trait Shows {
    /// Calls `f` with the name and the value of each variable; the names are stable. Default: there are none.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
}

/// Declares the enum of parameters ([`Meter`]) and the run-time enum ([`Marker`]) from one list.
macro_rules! meters {
    ($($name:literal => $Variant:ident in $module:ident),+ $(,)?) => {
        tailback_document::kinds! {
            /// Meter that colours the packets of a stream.
            pub enum Meter { $($name => $Variant($module::Params)),+ }
        }

        /// A meter of one stream, with its state.
        #[derive(Clone, Debug)]
        pub enum Marker {
            $(
                #[doc = concat!("`", $name, "`")]
                $Variant($module::$Variant),
            )+
        }

        impl Meter {
            /// Returns the meter with its initial state. The parameters must have passed `check`.
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
            /// Returns the colour of a packet of `bytes` that arrives with the colour `incoming`. Calls must be in
            /// non-decreasing order of `now`.
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
