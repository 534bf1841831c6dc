//! Peak rate of one source of an aggregate.

use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use tailback_units::{Rate, parse_rate};

/// Rate of a source while it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Unbounded: a burst is emitted at one instant.
    Batch,
    /// Payload rate at which a burst is sent during an on period.
    At(Rate),
}

struct PeakVisitor;

impl Visitor<'_> for PeakVisitor {
    type Value = Peak;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"batch\" or a rate such as \"2Mbit/s\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Peak, E> {
        match text {
            "batch" => Ok(Peak::Batch),
            word if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Err(E::custom(format!("`{word}` is not a peak rate; write \"batch\" or a rate such as \"2Mbit/s\"")))
            }
            text => parse_rate(text).map(Peak::At).map_err(E::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Peak {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Peak, D::Error> {
        d.deserialize_any(PeakVisitor)
    }
}
impl Serialize for Peak {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Peak::Batch => s.serialize_str("batch"),
            Peak::At(rate) => rate.serialize(s),
        }
    }
}
impl JsonSchema for Peak {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Peak".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "batch" }, Rate::json_schema(generator)] })
    }
}
