//! Common part of the fair disciplines: the assignment of packets to queues ([`Key`]), the queues ([`Fifos`]), service
//! in rounds ([`Round`]; with new flows first, [`NewOld`]) and service by tags ([`Tagged`]).
//!
//! Service is counted in wire bytes, which determine the transmission time; limits are in buffer bytes.

mod buckets;
mod conversation;
mod fifos;
mod key;
mod new_old;
mod round;
mod tagged;
mod turns;

pub use buckets::Buckets;
pub use conversation::{ByConversation, KeyBy};
pub use fifos::{Fifos, Item};
pub(crate) use key::mix;
pub use key::{ByFlow, Key, Weights, check_weights};
pub use new_old::NewOld;
pub use round::Round;
pub use tagged::{Clock, Order, Tagged, Work};
pub use turns::Turns;
