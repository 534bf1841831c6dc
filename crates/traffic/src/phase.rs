//! Start phase of a periodic source.

use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use tailback_random::Rng;
use tailback_units::{Dur, parse_duration};

/// Time from a periodic source's start to its first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Uniform over one period, drawn once, so that sources of equal rate are not synchronised.
    #[default]
    Random,
    /// Zero: at the start.
    Zero,
    /// This time after the start.
    After(Dur),
}

impl Phase {
    /// Returns the time to the first packet for a period in picoseconds, above 0.
    pub(crate) fn draw(self, period: u64, rng: &mut Rng) -> Dur {
        match self {
            Phase::Random => Dur(rng.below(period)),
            Phase::Zero => Dur::ZERO,
            Phase::After(delay) => delay,
        }
    }
}

struct PhaseVisitor;

impl Visitor<'_> for PhaseVisitor {
    type Value = Phase;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"random\", \"zero\" or a duration such as \"5ms\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Phase, E> {
        match text {
            "random" => Ok(Phase::Random),
            "zero" => Ok(Phase::Zero),
            // A word is refused with the accepted words, a malformed number with the message on durations.
            word if word.starts_with(|c: char| c.is_ascii_alphabetic()) => Err(E::custom(format!(
                "`{word}` is not a phase; write \"random\", \"zero\" or a duration such as \"5ms\""
            ))),
            text => parse_duration(text).map(Phase::After).map_err(E::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Phase, D::Error> {
        d.deserialize_any(PhaseVisitor)
    }
}
impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Phase::Random => s.serialize_str("random"),
            Phase::Zero => s.serialize_str("zero"),
            Phase::After(delay) => delay.serialize(s),
        }
    }
}
impl JsonSchema for Phase {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Phase".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "enum": ["random", "zero"] }, Dur::json_schema(generator)] })
    }
}
