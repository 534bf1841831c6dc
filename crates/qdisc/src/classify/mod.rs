//! Classification of packets: matches as documents write them, and the table into which they are
//! compiled.

mod classifier;
mod conditions;
mod one_or_many;

pub use classifier::Classifier;
pub use conditions::{Conditions, Match, Resolve};
pub use one_or_many::OneOrMany;
