//! The list of models. A new model is a file under `model/` and one line here.

use crate::Burst;
use crate::model::*;
use tailback_random::Rng;
use tailback_units::Time;

/// Declares [`Model`] and [`Source`] and joins each model to its source. An enum dispatches rather
/// than a trait object: `next` is called for every burst and is inlined into its caller.
macro_rules! models {
    ($($kind:literal => $Variant:ident in $module:ident),+ $(,)?) => {
        tailback_document::kinds! {
            /// What a source sends: when, and how many bytes.
            pub enum Model {
                $($kind => $Variant($module::$Variant)),+
            }
        }

        /// A model at work: parameters in the form that drawing needs, and the state of one source.
        #[derive(Clone, Debug)]
        pub enum Source {
            $(
                #[doc = concat!("From a model of kind `", $kind, "`.")]
                $Variant($module::Source),
            )+
        }

        impl Model {
            /// A source that starts at `at`, stationary from there on where the model has a
            /// stationary form. The model must have passed `check`.
            pub fn start(&self, at: Time, rng: &mut Rng) -> Source {
                match self {
                    $(Model::$Variant(model) => Source::$Variant(model.start(at, rng)),)+
                }
            }

            /// Expected payload rate in bit/s over a long time; none where it has no meaning.
            pub fn mean_rate_bps(&self) -> Option<f64> {
                match self {
                    $(Model::$Variant(model) => model.mean_rate_bps(),)+
                }
            }

            /// Payload bytes of each burst where all are alike; none where they vary.
            pub fn burst_bytes(&self) -> Option<u64> {
                match self {
                    $(Model::$Variant(model) => model.burst_bytes(),)+
                }
            }
        }

        impl Source {
            /// The next burst, no earlier than the one before; none when there will be no more.
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
    /// The next burst as [`Source::next`] gives it, with [`Burst::NONE`] in place of none: that fits into registers.
    #[inline(never)]
    pub fn next_or_none(&mut self, rng: &mut Rng) -> Burst {
        // The two that most runs have: to ask for them costs less than to choose among all.
        match self {
            Source::Poisson(source) => source.next(rng).unwrap_or(Burst::NONE),
            Source::Cbr(source) => source.next(rng).unwrap_or(Burst::NONE),
            _ => self.next_of_any(rng),
        }
    }

    /// Whoever has no more use for the source calls this with its stream, which a source may have drawn from ahead of
    /// what it has given: then it goes back.
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
