//! What the fair disciplines share: which queue a packet belongs to ([`Key`]), the queues
//! themselves ([`Fifos`]), service in rounds ([`Round`]) and service by tags ([`Tagged`]).
//!
//! Service is counted in wire bytes, which is what the link spends; limits in buffer bytes.

mod buckets;
mod fifos;
mod key;
mod round;
mod tagged;

pub use buckets::Buckets;
pub use fifos::{Fifos, Item};
pub use key::{ByFlow, Key, Weights, check_weights};
pub use round::Round;
pub use tagged::{Clock, Order, Tagged, Work};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which packet of the longest queue makes room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The newest.
    #[default]
    Tail,
    /// The oldest: its sender learns of it sooner.
    Head,
}
