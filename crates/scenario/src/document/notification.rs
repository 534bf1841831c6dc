//! Congestion points and rate limiters of hosts and switches.
//!
//! Terms and defaults are those of D. Bergamasco, "Updates on Backward Congestion Notification", IEEE 802 Plenary, July
//! 2005, and of IEEE 802.1Qau.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_qdisc::Spec;
use tailback_qdisc::congestion_notification::{Aqm, Filter, LimitersSpec, Memory, rp};
use tailback_units::Size;

/// Rate limiters at an output port. Frames of sources that a congestion point has slowed down wait in per-limiter
/// queues, each with a rate of its own, and leave with a tag; all other frames take the default path with the port's
/// discipline and buffer. The queues are served round robin, frame by frame. Back-pressure of the switch also watches
/// the limiters' memory (`buffer`), and notifies the neighbours whose frames fill it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RateLimiters {
    /// Law by which congestion notification messages change a limiter's rate.
    pub law: rp::Spec,
    /// Key that assigns frames of a class to a limiter: the "destination" address, the "pair" of source and destination
    /// address, or the "flow". Default "destination".
    #[serde(default)]
    #[schemars(extend("x-fixed" = LimitersSpec::KEY_FIXED))]
    pub filter: Filter,
    /// Number of rate limiters, 1 to 65536; frames are hashed to them by `filter`. Absent: one limiter per key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    #[schemars(extend("x-fixed" = LimitersSpec::KEY_FIXED))]
    pub queues: Option<u32>,
    /// Memory shared by the queues of all limiters at a port, per class.
    pub buffer: Size,
    /// Memory that `buffer` limits: the limiters' "own", or "shared" with the default path of the port. If limited
    /// frames fill shared memory, frames of the default path are dropped. Default "own".
    #[serde(default)]
    #[schemars(extend("x-fixed" = LimitersSpec::MEMORY_FIXED))]
    pub memory: Memory,
    /// Bytes that a tag adds to each frame from its limiter on, 0 to 64: 8 for BCN's tag, 4 for that of 802.1Qau.
    /// Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 64))]
    #[schemars(extend("x-fixed" = LimitersSpec::TAG_FIXED))]
    pub tag_bytes: u16,
    /// Active queue management before each limiter's queue. Absent: only that of `discipline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// Queue discipline of each limiter; its limits apply in addition to `buffer`. Default drop-tail.
    #[serde(default)]
    pub discipline: Spec,
}

fn is_zero(bytes: &u16) -> bool {
    *bytes == 0
}

impl RateLimiters {
    /// Checks the ranges of `queues` and `tag-bytes`.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
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
