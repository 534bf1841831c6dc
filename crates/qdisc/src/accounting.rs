//! What token buckets count of a packet: what buffers count, and so many bytes more or less.

use crate::Packet;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tailback_document::{DecodeError, Invalid, Path};
use tailback_units::parse_bytes;

/// Bytes that are counted of each packet beyond what buffers count, negative where less counts:
/// `"18B"` for Ethernet's header and check sequence, `"-8B"` to leave out two MPLS labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting(i32);

/// More is no layer's.
const MOST: i32 = 1_000;
/// Less is no stack of labels or header.
const LEAST: i32 = -255;

impl Accounting {
    /// So many bytes more, or less.
    pub fn new(more: i32) -> Accounting {
        Accounting(more)
    }
    /// Bytes that count for a packet, at least 1.
    #[inline]
    pub fn bytes(self, packet: &Packet) -> u32 {
        i32::from(packet.size).saturating_add(self.0).max(1).unsigned_abs()
    }
    /// Refuses what no layer adds or takes away.
    pub fn check(self, field: &str) -> Result<(), Invalid> {
        if (LEAST..=MOST).contains(&self.0) {
            return Ok(());
        }
        let much = if self.0 > MOST { "much" } else { "little" };
        let advice = "write what lower layers add to each packet: 0B, 18B (Ethernet), 38B (with preamble and gap), -8B \
                      (without two labels)";
        Err(Invalid::new(field, format!("{self} per packet is too {much}; {advice}")))
    }
}

impl fmt::Display for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}
impl Serialize for Accounting {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Accounting {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        let written = value.as_str().unwrap_or_default().trim();
        let (sign, size) = written.strip_prefix('-').map_or((1, written), |size| (-1, size));
        let found = parse_bytes(size).ok().and_then(|bytes| i32::try_from(bytes).ok());
        found.map(|bytes| Accounting(sign * bytes)).ok_or_else(|| {
            let help = Some("write bytes more or less, such as \"18B\" or \"-8B\"".to_owned());
            DecodeError::value(Path::root(), format!("{value} is no number of bytes"), help).carry()
        })
    }
}
impl JsonSchema for Accounting {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Accounting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "bytes, negative for less", "examples": ["18B", "-8B"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn bytes_are_added_or_taken_away_and_never_all_of_them() {
        let mut packet = Packet::new(0, crate::Traits::default(), tailback_units::Time::ZERO, 0, 0);
        packet.set_lengths(1508, 1508);
        let bytes = |text: &str| from_value::<Accounting>(json!(text)).expect("bytes").bytes(&packet);
        assert_eq!((bytes("0B"), bytes("38B"), bytes("-8B")), (1508, 1546, 1500));
        packet.set_lengths(4, 4);
        assert_eq!(from_value::<Accounting>(json!("-8B")).expect("bytes").bytes(&packet), 1);
    }

    #[test]
    fn what_no_layer_adds_is_refused() {
        for text in ["2kB", "-300B"] {
            let accounting: Accounting = from_value(json!(text)).expect("bytes");
            assert!(accounting.check("accounting").is_err(), "{text}");
            assert_eq!(from_value::<Accounting>(json!(accounting.to_string())).expect("bytes"), accounting);
        }
        assert!(from_value::<Accounting>(json!("8ms")).is_err() && from_value::<Accounting>(json!(8)).is_err());
    }
}
