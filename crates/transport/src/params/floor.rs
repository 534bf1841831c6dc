//! What a sender does when echoes of congestion reach it at a window of one segment.

use crate::cc::BackOff;
use core::fmt;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

/// The answer to an echo at a window of one segment: true, false or "ns-2".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EcnFloor {
    /// Whether the next segment waits until the retransmission timer expires (RFC 3168 section
    /// 6.1.2); each echo in a row doubles the timeout.
    Waits(bool),
    /// Another rule.
    Rule(FloorRule),
}

/// A rule between waiting and not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeriveDeserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FloorRule {
    /// ns-2.35's: halving may take the window below one segment, of which nothing can be sent until
    /// the timer expires, so that a window of less than two waits like one of one.
    #[serde(rename = "ns-2")]
    Ns2,
}

impl EcnFloor {
    /// What happens below a window of one segment, where the congestion control leaves it open.
    pub(crate) fn back_off(self) -> BackOff {
        match self {
            EcnFloor::Waits(true) => BackOff::Floor,
            EcnFloor::Waits(false) => BackOff::None,
            EcnFloor::Rule(FloorRule::Ns2) => BackOff::Ns2,
        }
    }
}

struct FloorVisitor;

impl Visitor<'_> for FloorVisitor {
    type Value = EcnFloor;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or \"ns-2\"")
    }
    fn visit_bool<E: de::Error>(self, waits: bool) -> Result<EcnFloor, E> {
        Ok(EcnFloor::Waits(waits))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<EcnFloor, E> {
        match text {
            "ns-2" => Ok(EcnFloor::Rule(FloorRule::Ns2)),
            _ => Err(E::custom(format!("\"{text}\" is no rule; write true, false or \"ns-2\""))),
        }
    }
}

impl<'de> Deserialize<'de> for EcnFloor {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(FloorVisitor)
    }
}
