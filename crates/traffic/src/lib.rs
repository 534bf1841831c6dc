//! Traffic models: times and sizes of a source's bursts.
//!
//! A [`Model`] has the parameters of a source from a scenario; each model has a file under `model/` and a line in
//! `registry.rs`. [`Model::start`] returns a [`Source`], whose [`Source::next`] returns one [`Burst`] after another. A
//! burst is emitted whole; the host cuts it into packets. An [`Application`] has the parameters of closed-loop traffic.

mod application;
mod burst;
mod check;
mod exponential;
mod frames;
#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the registry calls the same methods of every model")]
mod model;
mod peak;
mod phase;
mod registry;
mod renewal;
mod spacing;
mod trace_format;
mod truncation;

pub use application::{
    Application, Connections, CountDistribution, Pages, RequestResponse, SizeDistribution, TimeDistribution, Transfers,
    Web,
};
use burst::burst;
pub use burst::{Burst, MAX_BURST};
pub use model::{
    bernoulli::Bernoulli, bulk::Bulk, cbr::Cbr, on_off::OnOff, poisson::Poisson, poisson::Sizes,
    self_similar::SelfSimilar, trace::Trace, uniform_fixed::UniformFixed, uniform_uniform::UniformUniform, user,
    video::Video,
};
pub use peak::Peak;
pub use phase::Phase;
pub use registry::{Model, Source};
pub use renewal::Distribution;
pub use trace_format::{Format, TraceError, parse_trace};
pub use truncation::Truncation;
