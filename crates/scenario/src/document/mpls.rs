//! MPLS labels at a port: `mpls = { labels = 2, mode = "short-pipe" }`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tailback_diffserv::Dscp;
use tailback_document::{DecodeError, Path};

/// MPLS label stack (RFC 3032) pushed onto the packets that leave by a port. At the next node the stack is popped if
/// the packets leave by a port without labels, and swapped if they leave by a port with labels; a swap keeps the
/// traffic class field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mpls {
    /// Number of entries of the stack, 4 bytes each in buffers and on the wire; 1 to 8. Default 2: transport label and
    /// VPN label.
    #[serde(default = "default_labels")]
    #[schemars(range(min = 1, max = 8))]
    pub labels: u8,
    /// Tunnelling model: the relation between the labels' traffic class and the packet's DSCP (RFC 3270 section 2.6).
    /// Default "short-pipe".
    #[serde(default)]
    pub mode: Tunnel,
    /// Traffic class field (EXP) of new labels: "precedence" copies the upper three bits of the DSCP; a number from 0
    /// to 7 is used for all packets; a table, such as `{ ef = 5, af41 = 3 }`, has the numbers for some DSCPs, and the
    /// precedence is used for the others. Default "precedence".
    #[serde(default)]
    pub exp: Imposition,
}

fn default_labels() -> u8 {
    2
}

/// Tunnelling models of differentiated services over MPLS (RFC 3270).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tunnel {
    /// At the pop, a traffic class that was changed inside the tunnel becomes the packet's precedence.
    Uniform,
    /// The packet keeps its DSCP; the egress port of the tunnel classifies by the labels' traffic class.
    Pipe,
    /// The packet keeps its DSCP; the egress port of the tunnel classifies by the DSCP.
    #[default]
    ShortPipe,
}

/// Traffic class field of a new label, by DSCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Imposition {
    /// The precedence: the upper three bits of the DSCP.
    #[default]
    Precedence,
    /// One value for all packets, 0 to 7.
    Fixed(u8),
    /// Values for some DSCPs; the precedence for the others.
    Table(BTreeMap<Dscp, u8>),
}

impl Imposition {
    /// Returns the traffic class for each of the 64 DSCPs, by DSCP.
    pub fn table(&self) -> [u8; 64] {
        std::array::from_fn(|code| match self {
            Imposition::Precedence => code as u8 >> 3,
            Imposition::Fixed(exp) => *exp,
            Imposition::Table(table) => {
                Dscp::new(code as u8).and_then(|dscp| table.get(&dscp).copied()).unwrap_or(code as u8 >> 3)
            }
        })
    }
}

/// Advice on the values of a traffic class.
const HELP: &str = "write \"precedence\", a number from 0 to 7, or a table such as { ef = 5, af41 = 3 }";

/// Returns a traffic class, 0 to 7; an error at `path` if the value is not one.
fn traffic_class(value: &Value, path: Path) -> Result<u8, DecodeError> {
    let found = value.as_u64().filter(|exp| *exp < 8);
    found.map(|exp| exp as u8).ok_or_else(|| {
        let help = Some("a traffic class has three bits: write a number from 0 to 7".to_owned());
        DecodeError::value(path, format!("{value} is not a traffic class"), help)
    })
}

impl<'de> Deserialize<'de> for Imposition {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let read = |value: Value| match value {
            Value::String(text) if text == "precedence" => Ok(Imposition::Precedence),
            Value::Number(_) => traffic_class(&value, Path::root()).map(Imposition::Fixed),
            Value::Object(table) => {
                let entry = |(key, value): (String, Value)| {
                    let path = Path::root().join(key.as_str());
                    let dscp =
                        key.parse::<Dscp>().map_err(|message| DecodeError::value(path.clone(), message, None))?;
                    Ok((dscp, traffic_class(&value, path)?))
                };
                table.into_iter().map(entry).collect::<Result<_, DecodeError>>().map(Imposition::Table)
            }
            other => {
                Err(DecodeError::value(Path::root(), format!("{other} is not a traffic class"), Some(HELP.to_owned())))
            }
        };
        read(Value::deserialize(d)?).map_err(DecodeError::carry)
    }
}
impl Serialize for Imposition {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Imposition::Precedence => s.serialize_str("precedence"),
            Imposition::Fixed(exp) => s.serialize_u8(*exp),
            Imposition::Table(table) => s.collect_map(table.iter().map(|(dscp, exp)| (dscp.to_string(), exp))),
        }
    }
}
impl JsonSchema for Imposition {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Imposition".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let exp = || json_schema!({ "type": "integer", "minimum": 0, "maximum": 7 });
        json_schema!({
            "anyOf": [{ "const": "precedence" }, exp(), { "type": "object", "additionalProperties": exp() }],
            "format": "\"precedence\", a number from 0 to 7, or a table by DSCP",
            "examples": ["precedence", 3],
        })
    }
}
