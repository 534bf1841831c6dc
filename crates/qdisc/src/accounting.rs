//! Overhead accounting of token buckets: the bytes that they count for a packet.

use crate::Packet;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tailback_document::{DecodeError, Invalid, Path};
use tailback_units::parse_bytes;

/// Bytes counted for each packet in addition to its buffer bytes, negative to count less: `"18B"` for Ethernet's header
/// and check sequence, `"-8B"` to leave out two MPLS labels. A table also sets the minimum length that is counted, and
/// the segmentation into ATM cells: `{ bytes = "44B", least = "64B", cells = true }`.
///
/// The order of the steps is that of Linux (`psched_l2t_ns` in `include/net/sch_generic.h`): first the bytes are added,
/// then a sum below `least` is raised to `least`, then each 48 bytes begun count as a cell of 53 bytes (ITU-T I.361,
/// AAL5 of I.363.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Bytes added to each packet, -255 to 1000; negative: subtracted.
    more: i32,
    /// Minimum counted length, bytes, 0 to 65535.
    least: i32,
    /// `true` if whole ATM cells are counted.
    cells: bool,
}

/// Length of an ATM cell, bytes.
const CELL: u32 = 53;
/// Payload of an ATM cell, bytes.
const CELL_PAYLOAD: u32 = 48;

/// Upper bound of the overhead, bytes: more than any lower layer adds.
const MAX_ADDED: i32 = 1_000;
/// Lower bound of the overhead, bytes: no label stack or header that may be left out is longer than 255 B.
const MIN_ADDED: i32 = -255;

impl Accounting {
    /// Returns an accounting that adds `more` bytes per packet, or subtracts them if negative.
    pub fn new(more: i32) -> Accounting {
        Accounting { more, least: 0, cells: false }
    }
    /// Returns this accounting with a minimum counted length of `least` bytes.
    #[must_use]
    pub fn at_least(self, least: u16) -> Accounting {
        Accounting { least: i32::from(least), ..self }
    }
    /// Returns this accounting in whole ATM cells.
    #[must_use]
    pub fn in_cells(self) -> Accounting {
        Accounting { cells: true, ..self }
    }
    /// Returns the bytes counted for a packet, at least 1.
    #[inline]
    pub fn bytes(self, packet: &Packet) -> u32 {
        self.of(packet.size)
    }
    /// Returns the bytes counted for `bytes` buffer bytes, at least 1.
    #[inline]
    pub fn of(self, bytes: u16) -> u32 {
        let long = i32::from(bytes).saturating_add(self.more).max(self.least).max(1).unsigned_abs();
        if self.cells { long.div_ceil(CELL_PAYLOAD) * CELL } else { long }
    }
    /// Returns `true` if fewer bytes than the buffer bytes may be counted.
    pub fn takes_away(self) -> bool {
        self.more < 0
    }
    /// Refuses an overhead outside −255 B to 1000 B; the minimum length is not checked.
    ///
    /// # Errors
    /// If the overhead is out of range: the error names `field` and says what to write.
    pub fn check(self, field: &str) -> Result<(), Invalid> {
        if (MIN_ADDED..=MAX_ADDED).contains(&self.more) {
            return Ok(());
        }
        let much = if self.more > MAX_ADDED { "much" } else { "little" };
        let advice = "write what lower layers add to each packet: 0B, 18B (Ethernet), 38B (with preamble and gap), -8B \
                      (without two labels)";
        Err(Invalid::new(field, format!("{self} per packet is too {much}; {advice}")))
    }
}

impl fmt::Display for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.more)
    }
}
impl Serialize for Accounting {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        // A table only if the text form cannot express it, so that documents without a minimum or
        // cells keep the text form.
        if self.least == 0 && !self.cells {
            return s.collect_str(self);
        }
        let mut table = s.serialize_map(None)?;
        table.serialize_entry("bytes", &self.to_string())?;
        if self.least > 0 {
            table.serialize_entry("least", &format!("{}B", self.least))?;
        }
        if self.cells {
            table.serialize_entry("cells", &true)?;
        }
        table.end()
    }
}

/// Table form of an accounting in a document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(default)]
    bytes: Option<Value>,
    #[serde(default)]
    least: Option<Value>,
    #[serde(default)]
    cells: bool,
}

/// Returns the bytes that a text such as "18B" or "-8B" states. `None`: the value has another form.
fn signed(value: &Value) -> Option<i32> {
    let written = value.as_str()?.trim();
    let (sign, size) = written.strip_prefix('-').map_or((1, written), |size| (-1, size));
    parse_bytes(size).ok().and_then(|bytes| i32::try_from(bytes).ok()).map(|bytes| sign * bytes)
}

/// Returns the accounting that a document's value states. `None`: the value is not one.
fn read(value: &Value) -> Option<Accounting> {
    if !value.is_object() {
        return signed(value).map(Accounting::new);
    }
    let Written { bytes, least, cells } = serde_json::from_value(value.clone()).ok()?;
    let more = bytes.as_ref().map_or(Some(0), signed)?;
    let least = least.as_ref().map_or(Some(0), signed).filter(|least| (0..=0xffff).contains(least))?;
    Some(Accounting { more, least, cells })
}

impl<'de> Deserialize<'de> for Accounting {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        read(&value).ok_or_else(|| {
            let help = "write the bytes to add or subtract, such as \"18B\" or \"-8B\", or a table such as \
                        { bytes = \"44B\", least = \"64B\", cells = true }";
            DecodeError::value(Path::root(), format!("{value} is not a number of bytes"), Some(help.to_owned())).carry()
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
        json_schema!({
            "anyOf": [
                { "type": "string", "format": "bytes, negative for less", "examples": ["18B", "-8B"] },
                {
                    "type": "object",
                    "description": "Bytes that a token bucket counts for a packet: overhead is added, then the minimum length applies, then whole cells.",
                    "additionalProperties": false,
                    "properties": {
                        "bytes": { "type": "string", "description": "Overhead added to each packet, negative to subtract. Default \"0B\"." },
                        "least": { "type": "string", "description": "Minimum counted length. Default \"0B\"." },
                        "cells": { "type": "boolean", "description": "`true` if whole ATM cells are counted: 53 B for each 48 B begun. Default false." }
                    }
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    fn packet(size: u32) -> Packet {
        let mut packet = Packet::new(0, crate::Traits::default(), tailback_units::Time::ZERO, 0, 0);
        packet.set_lengths(size, size);
        packet
    }

    #[test]
    fn bytes_are_added_or_subtracted_and_at_least_one_is_counted() {
        let bytes = |text: &str, size| from_value::<Accounting>(json!(text)).expect("bytes").bytes(&packet(size));
        assert_eq!((bytes("0B", 1508), bytes("38B", 1508), bytes("-8B", 1508)), (1508, 1546, 1500));
        assert_eq!(bytes("-8B", 4), 1);
    }

    #[test]
    fn atm_counts_53_bytes_for_each_48_begun_after_overhead_and_minimum_length() {
        // psched_l2t_ns: 200 + 44 = 244 B are 6 cells; 244 + 44 = 288 B are just 6; one byte more is a seventh.
        let count = |value: Value, size| from_value::<Accounting>(value).expect("a table").bytes(&packet(size));
        let atm = || json!({ "bytes": "44B", "cells": true });
        assert_eq!([count(atm(), 200), count(atm(), 244), count(atm(), 245)], [318, 318, 371]);
        assert_eq!(count(json!({ "least": "64B" }), 40), 64);
        assert_eq!(count(json!({ "bytes": "44B", "least": "64B" }), 10), 64);
        assert_eq!(count(json!({ "bytes": "10B", "least": "64B", "cells": true }), 10), 106);
    }

    #[test]
    fn overheads_out_of_range_are_refused_and_written_forms_read_back_equal() {
        for text in ["2kB", "-300B"] {
            let accounting: Accounting = from_value(json!(text)).expect("bytes");
            assert!(accounting.check("accounting").is_err(), "{text}");
            assert_eq!(from_value::<Accounting>(json!(accounting.to_string())).expect("bytes"), accounting);
        }
        assert!(from_value::<Accounting>(json!("8ms")).is_err() && from_value::<Accounting>(json!(8)).is_err());
        assert!(from_value::<Accounting>(json!({ "least": "-1B" })).is_err());
        assert!(from_value::<Accounting>(json!({ "byte": "1B" })).is_err());
        for written in [json!("18B"), json!({ "bytes": "44B", "least": "64B", "cells": true })] {
            let accounting: Accounting = from_value(written.clone()).expect("an accounting");
            assert_eq!(serde_json::to_value(accounting).expect("JSON"), written);
        }
    }
}
