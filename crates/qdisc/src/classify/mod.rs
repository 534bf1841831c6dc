//! Which class a packet belongs to: matches as documents write them, and the table that they are
//! compiled to.

mod classifier;
mod conditions;
mod one_or_many;

pub use classifier::Classifier;
pub use conditions::{Conditions, Match, Resolve};
pub use one_or_many::OneOrMany;
