//! Parameter `limited-transmit`.

use core::fmt;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

/// Use of limited transmit: `true`, `false` or "always".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LimitedTransmit {
    /// `true`: a new segment is sent on each of the first two duplicate acknowledgements before a loss is detected (RFC
    /// 3042). `false`: no use.
    Sends(bool),
    /// Use beyond RFC 3042.
    When(WhenLimited),
}

/// Use of limited transmit beyond RFC 3042.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeriveDeserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenLimited {
    /// Also during recovery from a timeout, where the next segment is a retransmission (ns-2's `singledup_`).
    Always,
}

impl LimitedTransmit {
    /// Returns `true` if limited transmit is used before a loss is detected.
    pub(crate) fn when_open(self) -> bool {
        self != LimitedTransmit::Sends(false)
    }
    /// Returns `true` if limited transmit is used after a timeout.
    pub(crate) fn after_timeout(self) -> bool {
        matches!(self, LimitedTransmit::When(WhenLimited::Always))
    }
}

struct LimitedVisitor;

impl Visitor<'_> for LimitedVisitor {
    type Value = LimitedTransmit;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or \"always\"")
    }
    fn visit_bool<E: de::Error>(self, sends: bool) -> Result<LimitedTransmit, E> {
        Ok(LimitedTransmit::Sends(sends))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<LimitedTransmit, E> {
        match text {
            "always" => Ok(LimitedTransmit::When(WhenLimited::Always)),
            _ => Err(E::custom(format!("unknown value \"{text}\"; write true, false or \"always\""))),
        }
    }
}

impl<'de> Deserialize<'de> for LimitedTransmit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(LimitedVisitor)
    }
}
