//! Parameter `ecn-floor`: response of a sender to an echo of congestion at a window of one segment.

use crate::cc::BackOff;
use core::fmt;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Response to an echo of congestion at a window of one segment, which cannot be halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum EcnFloor {
    /// The retransmission timer is restarted, and the next segment is sent when it expires; the timeout
    /// does not change (RFC 3168 section 6.1.2). The lower bound is one segment per timeout.
    #[default]
    #[serde(rename = "rfc3168")]
    Rfc3168,
    /// As "rfc3168", and each consecutive echo doubles the timeout, as an expiry does, up to `max-rto`. RFC 3168
    /// does not require this; RFC 6298 section 5.5 has it for expiries.
    #[serde(rename = "backoff")]
    Backoff,
    /// As in ns-2.35: halving may take the window below one segment, and then no segment is sent until the
    /// timer expires, so that a sender with a window below two segments waits as one with a window of one;
    /// consecutive echoes at a window of one double the timeout.
    #[serde(rename = "ns-2")]
    Ns2,
    /// The next segment is sent at once: the lower bound is one segment per round trip.
    #[serde(rename = "none")]
    None,
}

impl EcnFloor {
    /// Returns the sender's response, which congestion controls without a response of their own use.
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
    /// Refuses the booleans of earlier versions.
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<EcnFloor, E> {
        let cure = if value {
            "write \"rfc3168\" (wait for the timer) or \"backoff\" (which `true` meant: each consecutive echo doubles it, too)"
        } else {
            "write \"none\", which `false` meant"
        };
        Err(E::custom(format!("{value} is no longer a value; {cure}; the fourth value is \"ns-2\"")))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<EcnFloor, E> {
        match text {
            "rfc3168" => Ok(EcnFloor::Rfc3168),
            "backoff" => Ok(EcnFloor::Backoff),
            "ns-2" => Ok(EcnFloor::Ns2),
            "none" => Ok(EcnFloor::None),
            _ => Err(E::custom(format!(
                "unknown value \"{text}\"; write \"rfc3168\", \"backoff\", \"ns-2\" or \"none\""
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for EcnFloor {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(FloorVisitor)
    }
}
