//! The list of models: a new model is a file under `model/` and one line here.

use crate::Burst;
use crate::model::{bernoulli, bulk, cbr, on_off, poisson, self_similar, trace, uniform_fixed, uniform_uniform, video};
use tailback_random::Rng;
use tailback_units::Time;

/// Declares [`Model`] and [`Source`] and joins each model to its source. Enum dispatch rather than a trait object:
/// `next` is called for every burst and is inlined into its caller.
macro_rules! models {
    ($($kind:literal => $Variant:ident in $module:ident),+ $(,)?) => {
        tailback_document::kinds! {
            /// Traffic model: times and sizes of a source's bursts.
            pub enum Model {
                $($kind => $Variant($module::$Variant)),+
            }
        }

        /// A running model: precomputed parameters and the state of one source.
        #[derive(Clone, Debug)]
        pub enum Source {
            $(
                #[doc = concat!("Source of a model of kind `", $kind, "`.")]
                $Variant($module::Source),
            )+
        }

        impl Model {
            /// Returns a source that starts at `at`, in the stationary state if the model has one. The model must have
            /// passed `check`; otherwise the call may panic.
            pub fn start(&self, at: Time, rng: &mut Rng) -> Source {
                match self {
                    $(Model::$Variant(model) => Source::$Variant(model.start(at, rng)),)+
                }
            }

            /// Returns the long-run mean payload rate in bit/s; `None`: a bulk transfer, or a trace that was not
            /// loaded.
            pub fn mean_rate_bps(&self) -> Option<f64> {
                match self {
                    $(Model::$Variant(model) => model.mean_rate_bps(),)+
                }
            }

            /// Returns the payload bytes of each burst; `None`: they vary, or are unlimited.
            pub fn burst_bytes(&self) -> Option<u64> {
                match self {
                    $(Model::$Variant(model) => model.burst_bytes(),)+
                }
            }
        }

        impl Source {
            /// Returns the next burst, no earlier than the one before; `None`: there is no further burst.
            #[inline]
            pub fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
                match self {
                    $(Source::$Variant(source) => source.next(rng),)+
                }
            }

            #[inline(never)]
            fn next_of_any(&mut self, rng: &mut Rng) -> Burst {
                match self {
                    $(Source::$Variant(source) => source.next(rng).unwrap_or(Burst::NONE),)+
                }
            }
        }
    };
}

impl Source {
    /// Returns the next burst, with [`Burst::NONE`] in place of `None`, since a plain burst is returned in registers.
    #[inline(never)]
    pub fn next_or_none(&mut self, rng: &mut Rng) -> Burst {
        // The two most frequent kinds first: a comparison costs less than the jump table.
        match self {
            Source::Poisson(source) => source.next(rng).unwrap_or(Burst::NONE),
            Source::Cbr(source) => source.next(rng).unwrap_or(Burst::NONE),
            _ => self.next_of_any(rng),
        }
    }

    /// Restores the random stream of a source that is dropped to its state after the last burst emitted; sources may
    /// draw ahead.
    pub fn give_back(&self, rng: &mut Rng) {
        if let Source::Poisson(source) = self {
            source.give_back(rng);
        }
    }
}

models! {
    "cbr" => Cbr in cbr,
    "poisson" => Poisson in poisson,
    "uniform-fixed" => UniformFixed in uniform_fixed,
    "uniform-uniform" => UniformUniform in uniform_uniform,
    "on-off" => OnOff in on_off,
    "self-similar" => SelfSimilar in self_similar,
    "video" => Video in video,
    "trace" => Trace in trace,
    "bernoulli" => Bernoulli in bernoulli,
    "bulk" => Bulk in bulk,
}
