//! Filters, which assign frames to rate limiters.

use crate::Packet;
use crate::discipline::fair::mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Header fields of a frame that the packet record does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Index of the host that sent the frame.
    pub source: u16,
    /// `true` if the frame belongs to a responsive transport (TCP, its acknowledgements included).
    pub tcp: bool,
}

/// Origin of the packets of each flow, by flow number; a flow beyond the end has the default origin.
pub type Origins = Arc<[Origin]>;

/// Fields that filters read, of a waiting frame or of the sampled frame in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Index of the frame's flow.
    pub flow: u32,
    /// Index of the destination host.
    pub destination: u16,
    /// Priority class of the frame, 0 (highest) to 7.
    pub class: u8,
}

impl Frame {
    /// Returns the fields of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Frame {
        Frame { flow: packet.flow(), destination: packet.dst, class: packet.class() }
    }
}

/// Fields that all frames of one limiter have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// The destination address.
    #[default]
    Destination,
    /// The pair of source and destination address.
    Pair,
    /// The flow.
    Flow,
}

impl Filter {
    /// Returns the key of a frame's limiter: frames with equal keys have the same limiter.
    #[inline]
    pub(super) fn key(self, frame: Frame, origin: Origin) -> u64 {
        match self {
            Filter::Destination => u64::from(frame.destination),
            Filter::Pair => u64::from(origin.source) << 16 | u64::from(frame.destination),
            Filter::Flow => u64::from(frame.flow),
        }
    }
}

/// Returns the hash bucket of a key, 0 to `queues` − 1.
pub(super) fn hashed(key: u64, queues: u32) -> u64 {
    ((u128::from(mix(key)) * u128::from(queues)) >> 64) as u64
}
