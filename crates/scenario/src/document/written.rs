//! Values with several notations: limits of buffers, delays, values for one or both directions of a link, cable
//! lengths.

use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tailback_document::{DecodeError, Path, decode};
use tailback_units::{Amount, Dur, Rate, Size, parse_duration};

/// A limit in bytes or packets, or "unlimited": `"50kB"`, `"100packets"` or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this size.
    Bytes(Size),
    /// At most this number of packets.
    Packets(u64),
    /// No limit.
    Unlimited,
}

impl Limit {
    /// Returns the limit in bytes; `None`: no limit in bytes.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Limit::Bytes(size) => Some(size.0),
            Limit::Packets(_) | Limit::Unlimited => None,
        }
    }
    /// Returns the limit in packets; `None`: no limit in packets.
    pub fn packets(self) -> Option<u64> {
        match self {
            Limit::Packets(packets) => Some(packets),
            Limit::Bytes(_) | Limit::Unlimited => None,
        }
    }
}
impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Limit::Bytes(size) => size.serialize(s),
            Limit::Packets(packets) => Amount::packets(*packets).serialize(s),
            Limit::Unlimited => s.serialize_str("unlimited"),
        }
    }
}
impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(text) if text == "unlimited" => Ok(Limit::Unlimited),
            Value::String(text) if matches!(text.as_str(), "infinite" | "infinity" | "inf" | "none" | "unbounded") => {
                Err(D::Error::custom(format!(
                    "`{text}` is not a size; write \"unlimited\" for a buffer without a limit"
                )))
            }
            value => match decode(value).map_err(DecodeError::carry)? {
                Amount::Bytes(bytes) => Ok(Limit::Bytes(Size(bytes))),
                Amount::Millipackets(0) => {
                    Err(D::Error::custom("a queue of 0 packets drops everything; write \"1packet\" or more"))
                }
                Amount::Millipackets(n) if n % 1_000 == 0 => Ok(Limit::Packets(n / 1_000)),
                amount @ Amount::Millipackets(_) => Err(D::Error::custom(format!(
                    "`{amount}` is not a whole number of packets; write \"1packet\" or more"
                ))),
            },
        }
    }
}
impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let amount = generator.subschema_for::<Amount>();
        json_schema!({ "anyOf": [amount, { "const": "unlimited" }], "format": "size, packets or \"unlimited\"", "examples": ["50kB", "100packets", "unlimited"] })
    }
}

/// One limit for every class, or a list with one per class: `"50kB"`, `"100packets"` or `["50kB", "20kB"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limits {
    /// The limit of every class.
    Each(Limit),
    /// The limits by class, class 0 first.
    PerClass(Vec<Limit>),
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Limits::Each(limit) => limit.serialize(s),
            Limits::PerClass(limits) => limits.serialize(s),
        }
    }
}
impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            list @ Value::Array(_) => decode(list).map(Limits::PerClass),
            one => decode(one).map(Limits::Each),
        }
        .map_err(DecodeError::carry)
    }
}
impl JsonSchema for Limits {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let limit = generator.subschema_for::<Limit>();
        json_schema!({
            "anyOf": [limit.clone(), { "type": "array", "items": limit, "minItems": 1, "maxItems": 8 }],
            "format": "size, packets, \"unlimited\", or a list with one per class",
            "examples": ["50kB", ["50kB", "20kB"]],
        })
    }
}

/// One delay for all links of an entry, or [first, last]: `["9ms", "29ms"]` spreads the delays evenly over the links,
/// in the order of their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays(pub [Dur; 2]);

impl Delays {
    /// Returns the delay of link `index`, counted from 0, of `count` links.
    pub fn at(self, index: usize, count: usize) -> Dur {
        let Delays([first, last]) = self;
        let share = |a: Dur, b: Dur| Dur((u128::from(b.0 - a.0) * index as u128 / (count.max(2) as u128 - 1)) as u64);
        if first <= last { first + share(first, last) } else { first - share(last, first) }
    }
    /// Returns the longer of the first and the last delay.
    pub fn longest(self) -> Dur {
        self.0[0].max(self.0[1])
    }
}
impl Serialize for Delays {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0[0] == self.0[1] { self.0[0].serialize(s) } else { self.0.serialize(s) }
    }
}
impl<'de> Deserialize<'de> for Delays {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::Array(list) if list.len() != 2 => {
                let message =
                    format!("a list of {} is not a delay; write one delay, or two: [first, last]", list.len());
                Err(DecodeError::value(Path::root(), message, None))
            }
            list @ Value::Array(_) => decode(list).map(Delays),
            one => decode(one).map(|delay| Delays([delay, delay])),
        }
        .map_err(DecodeError::carry)
    }
}
impl JsonSchema for Delays {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Delays".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let delay = generator.subschema_for::<Dur>();
        json_schema!({
            "anyOf": [delay.clone(), { "type": "array", "items": delay, "minItems": 2, "maxItems": 2 }],
            "format": "duration, or [first, last]",
            "examples": ["10ms", ["9ms", "29ms"]],
        })
    }
}

/// One value for both directions of a link, or `[forward, backward]`; forward is from the first end of `between`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions<T>(pub [T; 2]);

/// A value that may differ between the two directions of a link.
pub trait Directed {
    /// Name in messages, such as "rate".
    const NAME: &str;
    /// Format in the schema, such as "rate" or "duration".
    const FORMAT: &str;
    /// Examples: the value of both directions, and that of the backward direction.
    const EXAMPLES: [&str; 2];
}

impl Directed for Rate {
    const NAME: &str = "rate";
    const FORMAT: &str = "rate";
    const EXAMPLES: [&str; 2] = ["10Mbit/s", "1Mbit/s"];
}
impl Directed for Dur {
    const NAME: &str = "jitter";
    const FORMAT: &str = "duration";
    const EXAMPLES: [&str; 2] = ["100us", "0s"];
}

impl<T: Serialize + PartialEq> Serialize for Directions<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0[0] == self.0[1] { self.0[0].serialize(s) } else { self.0.serialize(s) }
    }
}
impl<'de, T: Directed + DeserializeOwned + Copy> Deserialize<'de> for Directions<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::Array(list) if list.len() != 2 => {
                let name = T::NAME;
                let message =
                    format!("a list of {} is not a {name}; write one {name}, or two: [forward, backward]", list.len());
                Err(DecodeError::value(Path::root(), message, None))
            }
            list @ Value::Array(_) => decode(list).map(Directions),
            one => decode(one).map(|value| Directions([value, value])),
        }
        .map_err(DecodeError::carry)
    }
}
impl<T: Directed + JsonSchema> JsonSchema for Directions<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Directions of {}", T::NAME).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        let [a, b] = T::EXAMPLES;
        json_schema!({
            "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 2, "maxItems": 2 }],
            "format": format!("{}, or [forward, backward]", T::FORMAT),
            "examples": [a, [a, b]],
        })
    }
}

/// A length of cable: `"200m"` or `"2km"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    millimetres: u64,
}

impl Length {
    /// Returns the propagation delay over this length at 5 ns/m, two thirds of the speed of light, as in copper and
    /// fibre.
    pub fn delay(self) -> Dur {
        Dur(self.millimetres.saturating_mul(5))
    }
    /// Parses a number and a unit (mm, m or km), exact to the millimetre.
    ///
    /// # Errors
    /// If the text is not a length: a message with the accepted form.
    pub fn parse(text: &str) -> Result<Length, String> {
        let refuse = || format!("`{text}` is not a length; write a number and mm, m or km, such as \"200m\"");
        // mm, m and km have the ratios of ps, ns and us, so that the exact decimal parser of durations also reads
        // lengths.
        let (number, duration_unit) = [("mm", "ps"), ("km", "us"), ("m", "ns")]
            .iter()
            .find_map(|(unit, duration_unit)| Some((text.trim().strip_suffix(unit)?.trim_end(), *duration_unit)))
            .ok_or_else(refuse)?;
        let plain = number.starts_with(|c: char| c.is_ascii_digit()) && number.ends_with(|c: char| c.is_ascii_digit());
        let Dur(millimetres) = if plain {
            parse_duration(&format!("{number}{duration_unit}")).map_err(|_| refuse())?
        } else {
            return Err(refuse());
        };
        Ok(Length { millimetres })
    }
}
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, n) in [("km", 1_000_000), ("m", 1_000)] {
            if self.millimetres >= n && self.millimetres.is_multiple_of(n) {
                return write!(f, "{}{unit}", self.millimetres / n);
            }
        }
        write!(f, "{}mm", self.millimetres)
    }
}
impl Serialize for Length {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(text) => Length::parse(&text).map_err(D::Error::custom),
            Value::Number(n) => {
                Err(D::Error::custom(format!("`{n}` has no unit; write a length in mm, m or km, such as \"200m\"")))
            }
            other => Err(D::Error::custom(format!("expected a length such as \"200m\", found {other}"))),
        }
    }
}
impl JsonSchema for Length {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "length",
            "pattern": "^\\s*[0-9][0-9_]*(\\.[0-9_]+)?\\s*(mm|m|km)\\s*$",
            "examples": ["200m", "2km"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_hundred_metres_take_a_microsecond() {
        assert_eq!(Length::parse("200m").unwrap().delay(), Dur::from_us(1));
        assert_eq!(Length::parse("1.5 km").unwrap().delay(), Dur::from_ns(7_500));
        assert_eq!(Length::parse("1500m").unwrap().to_string(), "1500m");
    }

    #[test]
    fn invalid_lengths_are_refused() {
        for text in ["200", "m", "-5m", "5 miles", "1..5m", "99999999999999999999km", "1e3m", "0.0001mm", ""] {
            assert!(Length::parse(text).unwrap_err().contains("200m"), "{text}");
        }
    }

    #[test]
    fn single_values_and_lists_are_serialised_as_they_were_written() {
        for value in [json!("50kB"), json!("unlimited"), json!(["50kB", "unlimited"])] {
            assert_eq!(serde_json::to_value(decode::<Limits>(value.clone()).unwrap()).unwrap(), value);
        }
        for value in [json!("10Mbit/s"), json!(["10Mbit/s", "1Mbit/s"])] {
            assert_eq!(serde_json::to_value(decode::<Directions<Rate>>(value.clone()).unwrap()).unwrap(), value);
        }
        for value in [json!("2us"), json!(["2us", "0s"])] {
            assert_eq!(serde_json::to_value(decode::<Directions<Dur>>(value.clone()).unwrap()).unwrap(), value);
        }
        let e = decode::<Limits>(json!(["50kB", 20])).unwrap_err();
        assert_eq!((e.path.to_string().as_str(), e.message.contains("has no unit")), ("[1]", true));
    }
}
