//! The list of models. A new model is a file under `model/` and a line in the call of `models!`.

use crate::Burst;
use crate::model::user::Start as _;
use crate::model::{
    bernoulli, bulk, cbr, on_off, poisson, self_similar, trace, uniform_fixed, uniform_uniform, user, video,
};
use tailback_random::Rng;
use tailback_units::Time;

/// Declares [`Model`] and [`Source`] from one list. The source is an enum rather than a trait object, since `next` is
/// called for every burst and is to be inlined into its caller.
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

            /// Returns the next burst of a source of any kind, as [`Source::next_or_none`].
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
    /// Returns the next burst; [`Burst::NONE`]: there is no further burst. Unlike an `Option`, a plain burst is returned
    /// in registers.
    #[inline(never)]
    pub fn next_or_none(&mut self, rng: &mut Rng) -> Burst {
        // The two most frequent kinds first: a comparison costs less than the jump table.
        match self {
            Source::Poisson(source) => source.next(rng).unwrap_or(Burst::NONE),
            Source::Cbr(source) => source.next(rng).unwrap_or(Burst::NONE),
            _ => self.next_of_any(rng),
        }
    }

    /// Restores the random stream to its state after the last burst emitted, since a source may have drawn ahead. The
    /// source must then be dropped.
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
    "user" => User in user,
}
