//! Traffic models: times and sizes of a source's bursts.
//!
//! A [`Model`] is the parameters of a scenario, one file per model under `model/` and one line in `registry.rs`.
//! Started with a random stream of its own, it becomes a [`Source`], whose [`Source::next`] returns one [`Burst`] after
//! another. A burst is emitted whole; the host cuts it into packets.

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

/// Upper bound of a burst, bytes (2^40). A Pareto size without truncation is unbounded; this keeps byte counters far
/// from overflow.
pub const LARGEST_BURST: u64 = 1 << 40;

/// Payload that a source passes to its host at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Time, never earlier than that of the burst before.
    pub at: Time,
    /// Payload in bytes, 1 to [`LARGEST_BURST`], or [`Burst::ENDLESS`].
    pub bytes: u64,
}

impl Burst {
    /// Unlimited payload: the transport always has data to send.
    pub const ENDLESS: u64 = u64::MAX;
    /// Sentinel of a source that is silent from now on.
    pub const NONE: Burst = Burst { at: Time::NEVER, bytes: 0 };
}

/// Returns a burst; `None`: its time is beyond the range of [`Time`], and the source is silent.
#[inline]
fn burst(at: Time, bytes: u64) -> Option<Burst> {
    (at < Time::NEVER).then_some(Burst { at, bytes })
}
