//! What the fair disciplines share: which queue a packet belongs to ([`Key`]), the queues
//! themselves ([`Fifos`]), service in rounds ([`Round`]) and service by tags ([`Tagged`]).
//!
//! Service is counted in wire bytes, which is what the link spends; limits in buffer bytes.

mod buckets;
mod conversation;
mod fifos;
mod key;
mod new_old;
mod round;
mod tagged;

pub use buckets::Buckets;
pub use conversation::{ByConversation, KeyBy};
pub use fifos::{Fifos, Item};
pub(crate) use key::mix;
pub use key::{ByFlow, Key, Weights, check_weights};
pub use new_old::NewOld;
pub use round::Round;
pub use tagged::{Clock, Order, Tagged, Work};
