//! The assignment of flows to queues, as written in documents.

use crate::retune::fixed;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use tailback_document::Invalid;

/// Number of queues to which flows are assigned by a salted hash, or `"per-flow"`: one queue per
/// flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buckets {
    /// Each flow has its own queue.
    #[default]
    PerFlow,
    /// Number of hash buckets, 1 to 2^20; flows with the same hash share a queue.
    Hashed(u32),
}

/// Upper bound on the number of buckets.
const MAX_BUCKETS: u32 = 1 << 20;

impl Buckets {
    /// Checks that the number of buckets is 1 to 2^20.
    ///
    /// # Errors
    /// If the number is out of range: the error names `field` and says what to write.
    pub fn check(self, field: &str) -> Result<(), Invalid> {
        match self {
            Buckets::Hashed(n) if !(1..=MAX_BUCKETS).contains(&n) => Err(Invalid::new(
                field,
                format!("{n} buckets are out of range; write a number from 1 to {MAX_BUCKETS}, or \"per-flow\""),
            )),
            _ => Ok(()),
        }
    }
}

impl Buckets {
    /// Reason why the assignment is fixed during a run.
    pub(crate) const FIXED: &str = "packets wait in these queues";

    /// Refuses another assignment during a run.
    pub(crate) fn check_retune(self, field: &str, to: Buckets) -> Result<(), Invalid> {
        fixed(field, self, to, Buckets::FIXED)
    }
}

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Buckets::PerFlow => s.serialize_str("per-flow"),
            Buckets::Hashed(n) => s.serialize_u32(*n),
        }
    }
}

struct Read;

impl Visitor<'_> for Read {
    type Value = Buckets;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of buckets, or \"per-flow\"")
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Buckets, E> {
        // Numbers above 32 bits are refused by `check`, with the range.
        Ok(Buckets::Hashed(u32::try_from(n).unwrap_or(u32::MAX)))
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Buckets, E> {
        u64::try_from(n)
            .map_err(|_| {
                E::custom(format!(
                    "{n} buckets are out of range; write a number from 1 to {MAX_BUCKETS}, or \"per-flow\""
                ))
            })
            .and_then(|n| self.visit_u64(n))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Buckets, E> {
        match text {
            "per-flow" => Ok(Buckets::PerFlow),
            _ => Err(E::custom(format!("`{text}` is not a number of buckets; write a number, or \"per-flow\""))),
        }
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Buckets, D::Error> {
        d.deserialize_any(Read)
    }
}

impl JsonSchema for Buckets {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Buckets".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": MAX_BUCKETS }, { "const": "per-flow" }],
        })
    }
}
