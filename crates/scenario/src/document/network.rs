//! `[network]`: settings of the whole network, and defaults of switches.

use super::{Limit, Limits};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use tailback_document::{DecodeError, Path, decode, suggest};
use tailback_qdisc::Spec;
use tailback_sim::plan;
use tailback_units::Size;

/// Traffic classes, routing and framing of the network; buffers and discipline of switches that do not set their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// Number of traffic classes, 1 to 8. Class 0 has the highest priority; priority is strict and non-preemptive.
    #[serde(default = "default_classes")]
    #[schemars(range(min = 1, max = 8))]
    pub classes: u8,
    /// Computation of paths. "tree": links that form a cycle are refused (with a `fabric`: the same as "ecmp").
    /// "shortest-path": the path with the fewest hops, ties broken by the order of `links`. "ecmp": flows are hashed
    /// over all paths with the fewest hops; "spray": packets are. "up-down": links towards the first switch (in natural
    /// order of names), then links away from it, which rules out cyclic buffer dependencies.
    #[serde(default)]
    pub routing: Routing,
    /// Packet lengths in buffers and on the wire: "ethernet", "none", or a table.
    #[serde(default)]
    pub framing: Framing,
    /// Buffer limit of each class at each output port of a switch; a frame that does not fit is dropped whole.
    #[serde(default = "default_buffer")]
    pub buffer: Limits,
    /// Queue discipline of each class at each output port of a switch.
    #[serde(default = "default_discipline")]
    pub discipline: Spec,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            classes: default_classes(),
            routing: Routing::default(),
            framing: Framing::default(),
            buffer: default_buffer(),
            discipline: default_discipline(),
        }
    }
}

fn default_classes() -> u8 {
    1
}
fn default_buffer() -> Limits {
    Limits::Each(Limit::Bytes(Size(50_000)))
}
/// Returns the discipline of a queue for which a document sets none: drop-tail.
///
/// # Panics
/// If drop-tail is not registered, which is an error of the program.
pub fn default_discipline() -> Spec {
    decode(json!({ "kind": "drop-tail" })).expect("drop-tail is registered and has a default for every parameter")
}

/// Computation of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// The only path between two nodes; a cycle is refused and named.
    #[default]
    Tree,
    /// Fewest hops; ties are broken by the order of `links`.
    ShortestPath,
    /// Fewest hops; of several such paths each flow takes one by a hash (RFC 2992).
    Ecmp,
    /// Fewest hops; of several such paths each packet takes one by a hash.
    Spray,
    /// Links towards the first switch (in natural order of names), then links away from it (Autonet's up*/down*;
    /// Schroeder and others, IEEE JSAC 1991); ties are broken by the order of `links`.
    UpDown,
}

/// Packet lengths in buffers and on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// IEEE 802.3: payloads up to 1500 B, 18 B of header and frame check sequence, frames of at least 64 B, 20 B of
    /// preamble and inter-frame gap on the wire; buffers count frames.
    #[default]
    Ethernet,
    /// No framing: a packet is its payload, up to 65535 B, in buffers and on the wire.
    None,
    /// Lengths by a table.
    Table(FramingTable),
}

/// Framing parameters; absent ones are those of Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FramingTable {
    /// Largest payload of a packet, 1 B to 65535 B; a burst is cut into packets of this payload and a shorter last one.
    #[serde(default = "default_mtu")]
    pub mtu: Size,
    /// Header and trailer added to the payload, 0 B to 65535 B.
    #[serde(default = "default_header")]
    pub header: Size,
    /// Minimum frame length, 0 B to 65535 B; shorter frames are padded.
    #[serde(default = "default_min_frame")]
    pub min_frame: Size,
    /// Overhead of a frame on the wire (preamble, inter-frame gap), 0 B to 65535 B. The longest frame must not take
    /// more than 65535 B on the wire, and no packet may take more than 255 B more on the wire than in buffers.
    #[serde(default = "default_overhead")]
    pub overhead: Size,
    /// Length of a packet that is counted by buffer limits: "frame", "payload" or "wire".
    #[serde(default)]
    pub buffer: FrameLength,
}

fn default_mtu() -> Size {
    Size(1500)
}
fn default_header() -> Size {
    Size(18)
}
fn default_min_frame() -> Size {
    Size(64)
}
fn default_overhead() -> Size {
    Size(20)
}

/// Length of a packet at one of three layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameLength {
    /// Frame: payload and header, padded to the minimum.
    #[default]
    Frame,
    /// Payload of the source or transport.
    Payload,
    /// Frame, preamble and gap.
    Wire,
}

impl Framing {
    /// Presets with their names in documents.
    const PRESETS: [(&'static str, Framing); 2] = [("ethernet", Framing::Ethernet), ("none", Framing::None)];

    /// Returns the parameters of the preset, or the table itself.
    pub fn table(self) -> FramingTable {
        match self {
            Framing::Ethernet => FramingTable {
                mtu: default_mtu(),
                header: default_header(),
                min_frame: default_min_frame(),
                overhead: default_overhead(),
                buffer: FrameLength::Frame,
            },
            Framing::None => FramingTable {
                mtu: Size(65_535),
                header: Size(0),
                min_frame: Size(0),
                overhead: Size(0),
                buffer: FrameLength::Payload,
            },
            Framing::Table(table) => table,
        }
    }
}

impl FramingTable {
    /// Returns the framing of the engine's plan; lengths above 4 GB, which the checks refuse, saturate.
    pub fn plan(&self) -> plan::Framing {
        let bytes = |size: Size| u32::try_from(size.0).unwrap_or(u32::MAX);
        plan::Framing {
            mtu: bytes(self.mtu),
            header: bytes(self.header),
            min_frame: bytes(self.min_frame),
            overhead: bytes(self.overhead),
            buffer: match self.buffer {
                FrameLength::Payload => plan::Length::Payload,
                FrameLength::Frame => plan::Length::Frame,
                FrameLength::Wire => plan::Length::Wire,
            },
        }
    }
    /// Returns the bytes that a packet with `payload` bytes takes in a buffer.
    pub fn in_buffer(&self, payload: u64) -> u64 {
        let frame = payload.saturating_add(self.header.0).max(self.min_frame.0);
        match self.buffer {
            FrameLength::Payload => payload,
            FrameLength::Frame => frame,
            FrameLength::Wire => frame.saturating_add(self.overhead.0),
        }
    }
}

impl Serialize for Framing {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Framing::Ethernet => s.serialize_str("ethernet"),
            Framing::None => s.serialize_str("none"),
            Framing::Table(table) => table.serialize(s),
        }
    }
}
impl<'de> Deserialize<'de> for Framing {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        let Some(text) = value.as_str() else { return decode(value).map(Framing::Table).map_err(DecodeError::carry) };
        Framing::PRESETS.iter().find(|(name, _)| *name == text).map(|(_, framing)| *framing).ok_or_else(|| {
            let help = suggest(text, Framing::PRESETS.iter().map(|(name, _)| *name)).map_or_else(
                || "write \"ethernet\", \"none\", or a table such as { mtu = \"9000B\" }".to_owned(),
                |near| format!("did you mean \"{near}\"?"),
            );
            DecodeError::value(Path::root(), format!("`{text}` is not a framing"), Some(help)).carry()
        })
    }
}
impl JsonSchema for Framing {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Framing".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<FramingTable>();
        json_schema!({ "anyOf": [{ "enum": ["ethernet", "none"] }, table], "format": "\"ethernet\", \"none\" or a table", "examples": ["ethernet"] })
    }
}
