//! Upper bound of a heavy-tailed size.

use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use tailback_units::{Size, parse_bytes};

/// Upper bound to which larger sizes are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// No bound other than [`crate::MAX_BURST`].
    None,
    /// At most this many bytes.
    At(Size),
}

impl Truncation {
    /// Returns the bound in bytes, at most [`crate::MAX_BURST`].
    pub fn bytes(self) -> u64 {
        match self {
            Truncation::None => crate::MAX_BURST,
            Truncation::At(size) => size.0.min(crate::MAX_BURST),
        }
    }
}

struct TruncationVisitor;

impl Visitor<'_> for TruncationVisitor {
    type Value = Truncation;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"none\" or a size such as \"5MB\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Truncation, E> {
        match text {
            "none" => Ok(Truncation::None),
            word if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Err(E::custom(format!("`{word}` is not an upper bound; write \"none\" or a size such as \"5MB\"")))
            }
            text => parse_bytes(text).map(|bytes| Truncation::At(Size(bytes))).map_err(E::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Truncation {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Truncation, D::Error> {
        d.deserialize_any(TruncationVisitor)
    }
}
impl Serialize for Truncation {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Truncation::None => s.serialize_str("none"),
            Truncation::At(size) => size.serialize(s),
        }
    }
}
impl JsonSchema for Truncation {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Truncation".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "none" }, Size::json_schema(generator)] })
    }
}
