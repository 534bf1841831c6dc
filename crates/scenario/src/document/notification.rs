//! Congestion points and rate limiters of hosts and switches.
//!
//! Vocabulary and defaults of D. Bergamasco, "Updates on Backward Congestion Notification", IEEE 802
//! Plenary, July 2005, and of IEEE 802.1Qau.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_qdisc::Spec;
use tailback_qdisc::congestion_notification::{Aqm, Filter, Memory, rp};
use tailback_units::Size;

/// Rate limiters at an output port: frames of the sources that a congestion point has slowed wait there, each kind in a
/// queue of its own with a rate of its own, and leave with a tag. All others take the default path, which has the port's
/// discipline and buffer. The queues take turns, frame by frame. Back-pressure of the switch watches `buffer`, and notifies of
/// those that are fed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RateLimiters {
    /// How messages change a limiter's rate.
    pub law: rp::Spec,
    /// What frames of a class have in common that share a limiter: the "destination" address, the "pair" of source and
    /// destination address, or the "flow". Default "destination".
    #[serde(default)]
    pub filter: Filter,
    /// Makes so many limiters, to which frames are hashed by what `filter` says; 1 to 65536. Absent, there are as many as
    /// needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub queues: Option<u32>,
    /// Memory that the queues of all limiters at a port share, class by class.
    pub buffer: Size,
    /// Whose memory `buffer` is: the limiters' "own", or "shared" with the default path of the port, whose frames then
    /// find no room when limited ones have taken it all. Default "own".
    #[serde(default)]
    pub memory: Memory,
    /// Bytes that a tag adds to each frame from its limiter on, 0 to 64: 8 are BCN's tag, 4 the one of 802.1Qau. Default 0.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(range(max = 64))]
    pub tag_bytes: u16,
    /// Queue management before each limiter's queue. Absent, there is none but that of `discipline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// The discipline of each limiter's queue; limits in it count besides those of the pool. Default drop-tail.
    #[serde(default)]
    pub discipline: Spec,
}

fn is_none(bytes: &u16) -> bool {
    *bytes == 0
}

impl RateLimiters {
    /// What has no check of its own.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.queues.is_some_and(|n| !(1..=65_536).contains(&n)) {
            return Err(Invalid::new(
                "queues",
                "the number of limiters is out of range; write a number from 1 to 65536",
            ));
        }
        if self.tag_bytes > 64 {
            return Err(Invalid::new("tag-bytes", format!("{} is out of range; write 0 to 64", self.tag_bytes)));
        }
        Ok(())
    }
}
