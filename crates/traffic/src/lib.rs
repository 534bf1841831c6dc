//! Traffic models: when a source sends and how much.
//!
//! A [`Model`] is a scenario's parameters, one file per model under `model/` and one line in
//! `registry.rs`. Started at an instant with a random stream of its own, it gives a [`Source`],
//! which answers [`Source::next`] with one [`Burst`] after another. A burst is handed over whole;
//! cutting it into packets is the host's work.

mod application;
mod check;
mod exponential;
mod frames;
mod model;
mod peak;
mod phase;
mod registry;
mod renewal;
mod spacing;
mod trace_format;
mod truncation;

use tailback_units::Time;

pub use application::{Application, Connections, CountLaw, Pages, RequestResponse, SizeLaw, TimeLaw, Transfers, Web};
pub use model::{
    bernoulli::Bernoulli, bulk::Bulk, cbr::Cbr, on_off::OnOff, poisson::Poisson, poisson::Sizes,
    self_similar::SelfSimilar, trace::Trace, uniform_fixed::UniformFixed, uniform_uniform::UniformUniform,
    video::Video,
};
pub use peak::Peak;
pub use phase::Phase;
pub use registry::{Model, Source};
pub use renewal::Distribution;
pub use trace_format::{Format, TraceError, parse_trace};
pub use truncation::Truncation;

/// The largest burst that any source hands over, in bytes (2^40). A Pareto size without truncation
/// has no largest value; this keeps byte counters far from overflow.
pub const LARGEST_BURST: u64 = 1 << 40;

/// What a source hands to its host at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When, never earlier than the burst before.
    pub at: Time,
    /// How many payload bytes, 1 to [`LARGEST_BURST`], or [`Burst::ENDLESS`].
    pub bytes: u64,
}

impl Burst {
    /// As many bytes as a transport can carry, without end.
    pub const ENDLESS: u64 = u64::MAX;
    /// What a source gives that is silent from now on: nothing, never.
    pub const NONE: Burst = Burst { at: Time::NEVER, bytes: 0 };
}

/// A burst, unless its time has run past what [`Time`] can hold: then the source is silent.
#[inline]
fn burst(at: Time, bytes: u64) -> Option<Burst> {
    (at < Time::NEVER).then_some(Burst { at, bytes })
}
