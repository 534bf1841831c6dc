//! What a sender does when echoes of congestion reach it at a window of one segment.

use crate::cc::BackOff;
use core::fmt;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// The answer to an echo of congestion at a window of one segment, which cannot be halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum EcnFloor {
    /// The retransmission timer is started again, and the next segment is sent when it expires; its length
    /// stays as it is (RFC 3168 section 6.1.2). The least is one segment per timeout.
    #[default]
    #[serde(rename = "rfc3168")]
    Rfc3168,
    /// The same, and each echo in a row doubles the timeout, as expiries do, up to `max-rto`. The section
    /// does not say so; it can be read into its neighbourhood (RFC 6298 section 5.5).
    #[serde(rename = "backoff")]
    Backoff,
    /// ns-2.35's: halving may take the window below one segment, of which nothing can be sent until the
    /// timer expires, so that a window of less than two waits like one of one; echoes in a row at one double the
    /// timeout.
    #[serde(rename = "ns-2")]
    Ns2,
    /// The next segment goes out at once: one per round trip is the least.
    #[serde(rename = "none")]
    None,
}

impl EcnFloor {
    /// What happens below a window of one segment, where the congestion control leaves it open.
    pub(crate) fn back_off(self) -> BackOff {
        match self {
            EcnFloor::Rfc3168 => BackOff::Rfc3168,
            EcnFloor::Backoff => BackOff::Backoff,
            EcnFloor::Ns2 => BackOff::Ns2,
            EcnFloor::None => BackOff::None,
        }
    }
}

struct FloorVisitor;

impl Visitor<'_> for FloorVisitor {
    type Value = EcnFloor;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"rfc3168\", \"backoff\", \"ns-2\" or \"none\"")
    }
    /// Two of the rules were once booleans.
    fn visit_bool<E: de::Error>(self, waits: bool) -> Result<EcnFloor, E> {
        let cure = if waits {
            "write \"rfc3168\" (wait for the timer) or \"backoff\" (which `true` meant: each echo in a row doubles it, too)"
        } else {
            "write \"none\", which `false` meant"
        };
        Err(E::custom(format!("{waits} is no rule any more; {cure}; the fourth rule is \"ns-2\"")))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<EcnFloor, E> {
        match text {
            "rfc3168" => Ok(EcnFloor::Rfc3168),
            "backoff" => Ok(EcnFloor::Backoff),
            "ns-2" => Ok(EcnFloor::Ns2),
            "none" => Ok(EcnFloor::None),
            _ => Err(E::custom(format!("\"{text}\" is no rule; write \"rfc3168\", \"backoff\", \"ns-2\" or \"none\""))),
        }
    }
}

impl<'de> Deserialize<'de> for EcnFloor {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(FloorVisitor)
    }
}
