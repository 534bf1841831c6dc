//! Quantities with two notations: a rate, absolute or as a percentage of another; a burst, in bytes or as a duration.

use crate::check;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tailback_document::{DecodeError, Invalid, Path, decode};
use tailback_units::{Dur, Fraction, Rate, Size};

/// A rate, `"2Mbit/s"`, or a percentage of the rate of the link or of the shaper around it,
/// `"20%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Rate in bit/s.
    Rate(Rate),
    /// Fraction of the whole, above 0 and at most 1.
    Part(Fraction),
}

impl Share {
    /// Returns the rate at a link or shaper of rate `whole`; a fraction is rounded down to whole bit/s, at least 1.
    pub fn of(self, whole: Rate) -> Rate {
        match self {
            Share::Rate(rate) => rate,
            Share::Part(Fraction(part)) => Rate(((whole.0 as f64 * part) as u64).max(1)),
        }
    }
    /// Refuses a rate of 0, and a fraction that is not above 0 and at most 1.
    ///
    /// # Errors
    /// If the share is refused: the error names `field` and says what to write.
    pub fn check(self, field: &str) -> Result<(), Invalid> {
        match self {
            Share::Rate(Rate(0)) => Err(Invalid::new(field, "the rate is zero; write a rate above 0bit/s")),
            Share::Rate(_) => Ok(()),
            Share::Part(part) => check::positive_fraction(field, part),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Share::Rate(rate) => rate.serialize(s),
            Share::Part(part) => part.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(text) if !text.trim_end().ends_with('%') => decode(Value::String(text)).map(Share::Rate),
            part @ (Value::String(_) | Value::Number(_)) => decode(part).map(Share::Part),
            other => {
                let help =
                    "write a percentage above 0% and at most 100%, such as \"20%\", or a rate such as \"2Mbit/s\""
                        .to_owned();
                Err(DecodeError::value(Path::root(), format!("{other} is not a share"), Some(help)))
            }
        }
        .map_err(DecodeError::carry)
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, part) = (generator.subschema_for::<Rate>(), generator.subschema_for::<Fraction>());
        json_schema!({ "anyOf": [rate, part], "format": "rate or percentage", "examples": ["20%", "2Mbit/s"] })
    }
}

/// Burst size of a token bucket: bytes, `"12kB"`, or a duration at the bucket's rate, `"4ms"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// Number of bytes.
    Bytes(Size),
    /// Duration at the rate of the bucket.
    Time(Dur),
}

impl Burst {
    /// Returns the burst in bytes at a rate, 1 to 10^12; a duration gives a number of bytes that is rounded down.
    pub fn at(self, rate: Rate) -> u64 {
        match self {
            Burst::Bytes(size) => size.0.max(1),
            Burst::Time(time) => {
                let bytes = u128::from(rate.0) * u128::from(time.0) / 8_000_000_000_000;
                u64::try_from(bytes).unwrap_or(u64::MAX).clamp(1, MAX_BURST)
            }
        }
    }
    /// Refuses a burst of 0 or above 1000 GB, and a duration of 0 or above 24 h.
    ///
    /// # Errors
    /// If the burst is refused: the error names `field` and says what to write.
    pub fn check(self, field: &str) -> Result<(), Invalid> {
        match self {
            Burst::Bytes(size) if !(1..=MAX_BURST).contains(&size.0) => {
                Err(Invalid::new(field, format!("{size} is out of range; write 1B to 1000GB, such as \"15kB\"")))
            }
            Burst::Bytes(_) => Ok(()),
            Burst::Time(time) => check::duration(field, time),
        }
    }
}

/// Upper bound of a burst, bytes.
const MAX_BURST: u64 = 1_000_000_000_000;

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Burst::Bytes(size) => size.fmt(f),
            Burst::Time(time) => time.fmt(f),
        }
    }
}

impl Serialize for Burst {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Burst::Bytes(size) => size.serialize(s),
            Burst::Time(time) => time.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Burst {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        let text = value.as_str().unwrap_or("").trim();
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_')).trim();
        if unit.ends_with('B') { decode(value).map(Burst::Bytes) } else { decode(value).map(Burst::Time) }
            .map_err(DecodeError::carry)
    }
}

impl JsonSchema for Burst {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Burst".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (size, time) = (generator.subschema_for::<Size>(), generator.subschema_for::<Dur>());
        json_schema!({ "anyOf": [size, time], "format": "size, or time at the rate", "examples": ["15kB", "4ms"] })
    }
}
