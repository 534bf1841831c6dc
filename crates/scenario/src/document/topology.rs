//! `[hosts]`, `[switches]` and `[[links]]`.

use super::{BackPressure, Delays, Directions, Length, Limit, Limits, Mpls, Per, RateLimiters};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tailback_diffserv::{Colour, Dscp, Meter};
use tailback_document::{DecodeError, Invalid, Path, decode, kinds};
use tailback_qdisc::classify::Match;
use tailback_qdisc::congestion_notification::cp;
use tailback_qdisc::{Accounting, Burst, Spec};
use tailback_units::{Dur, Fraction, Rate, Size};

/// An end station, or several with the same parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// Number of hosts, 1 to 60000; they are named NAME1, NAME2, …. Absent: one host, NAME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60_000))]
    pub count: Option<u32>,
    /// Buffer limit of the transmit queue of each class.
    #[serde(default = "default_host_buffer")]
    pub buffer: Limit,
    /// `true` if the host obeys back-pressure notifications; switches notify hosts only with `end-stations = true`.
    #[serde(default = "default_obeys")]
    pub obeys: bool,
    /// Rate limiters at the host's ports, which react to the congestion points of switches. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
}

fn default_host_buffer() -> Limit {
    Limit::Unlimited
}
fn default_obeys() -> bool {
    true
}

/// A switch, or several with the same parameters. Absent parameters are those of `[network]` and `[backpressure]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Number of switches, 1 to 60000; they are named NAME1, NAME2, …. Absent: one switch, NAME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60_000))]
    pub count: Option<u32>,
    /// Buffer limit of each class at each output port, in place of `network.buffer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Limits>,
    /// Queue discipline, in place of `network.discipline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Spec>,
    /// Forwarding latency: time from the end of a frame's reception to its enqueueing at the output.
    #[serde(default)]
    pub latency: Dur,
    /// Architecture of the switch: where frames wait, and how they cross the fabric.
    #[serde(default)]
    pub model: SwitchModel,
    /// Back-pressure, in place of `[backpressure]` as a whole; `{ scope = "none" }` disables it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<BackPressure>,
    /// Makes each class of each output port a congestion point, which notifies the sources of sampled frames to slow
    /// down, speed up or stop. Ports with rate limiters are excluded. A network has at most 511 congestion points, or
    /// 65535 if all are of kind "qcn".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_notification: Option<cp::Spec>,
    /// Rate limiters at the switch's ports towards other switches, which react to the congestion points of those
    /// switches. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
    /// Protection against pause storms from neighbours. Absent: every PAUSE frame is obeyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
    /// Settings of the output ports towards given neighbours, by name or pattern; a name takes precedence over a
    /// pattern.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, Port>,
}

/// Settings of one output port of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Port {
    /// Buffer limit of each class, in place of the switch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Limits>,
    /// Queue discipline, in place of the switch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Spec>,
    /// Meters, markers and policers of the packets to or from the neighbour. In each direction only the first
    /// conditioner that matches a packet is applied to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditioners: Vec<Conditioner>,
    /// MPLS labels of the packets that leave towards the neighbour. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpls: Option<Mpls>,
    /// Token bucket between queue and link, in the order scheduler, ring, shaper, link. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// Length of the transmit ring in packets, 1 to 10000: a FIFO behind the scheduler, in which no packet overtakes
    /// another. Absent: no ring; the scheduler selects a packet when the link, or the shaper, is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub ring: Option<u32>,
}

/// A token bucket before a link: in any interval of length t at most burst + rate · t leave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shaper {
    /// Token rate; percentages in the discipline refer to it.
    pub rate: Rate,
    /// Bucket size; a larger packet leaves when the bucket is full. Default: the bytes of 4 ms at `rate`, at
    /// least 1600 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Bytes that the shaper counts for each packet in addition to its length in buffers (`network.framing`).
    #[serde(default)]
    pub accounting: Accounting,
}

/// A meter, marker and optional policer at a port of a switch (RFC 2475).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditioner {
    /// "egress": before the queue towards the neighbour; "ingress": after the link from it. Default "egress".
    #[serde(default)]
    pub direction: Direction,
    /// Groups of flows to which the conditioner applies, by name or pattern. Absent: all, including acknowledgements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<String>,
    /// Class map or conditions on the packets to which the conditioner applies. Absent: all packets of `flows`.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Match>,
    /// Meter that colours the packets. It counts the length of packets in buffers (`network.framing`). Absent: every
    /// packet conforms.
    #[serde(default = "default_meter")]
    pub meter: Meter,
    /// Bytes that the meter counts for each packet in addition to its length in buffers. Default "0B".
    #[serde(default, skip_serializing_if = "is_plain")]
    pub accounting: Accounting,
    /// "group": one meter for all packets to which the conditioner applies; "flow": each flow has a meter of its own.
    /// Default "group".
    #[serde(default = "default_per")]
    pub per: Per,
    /// Drops packets of this colour and of worse ones: "yellow" or "red". Absent: no packet is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<Colour>,
    /// Action on packets that conform (green).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub conform: Action,
    /// Action on packets that exceed (yellow).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub exceed: Action,
    /// Action on packets that violate (red).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub violate: Action,
}

/// Action of a conditioner on a packet, in addition to colouring it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Action {
    /// `true` if the packet is dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop: bool,
    /// Sets the DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// Sets the precedence, 0 to 7: the upper three bits of the DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub precedence: Option<u8>,
    /// Sets the traffic class from this port on, 0 (highest priority) to below `network.classes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u8>,
}

impl Action {
    /// `true` if the action changes nothing.
    fn is_none(&self) -> bool {
        *self == Action::default()
    }
}

/// Direction of the packets to which a conditioner applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Out of the switch, before the queue.
    #[default]
    Egress,
    /// Into the switch, after the link.
    Ingress,
}

fn is_plain(accounting: &Accounting) -> bool {
    *accounting == Accounting::default()
}

fn default_meter() -> Meter {
    decode(serde_json::json!({ "kind": "fixed", "colour": "green" })).expect("the fixed meter has no other parameters")
}

fn default_per() -> Per {
    Per::Group
}

kinds! {
    /// Architecture of a switch: where frames wait, and how they cross the fabric.
    pub enum SwitchModel {
        "output-queued" => OutputQueued(OutputQueued),
        "shared-memory" => SharedMemory(SharedMemory),
        "shared-buffer" => SharedBuffer(SharedBuffer),
        "input-fifo" => InputFifo(InputFifo),
        "virtual-output-queues" => VirtualOutputQueues(VirtualOutputQueues),
        "cut-through" => CutThrough(CutThrough),
    }
}

impl Default for SwitchModel {
    fn default() -> SwitchModel {
        SwitchModel::OutputQueued(OutputQueued {})
    }
}

/// Reason why `reserve` and `headroom` are fixed during a run.
const ACCOUNTED: &str = "packets in it are already accounted to their inputs";
/// Reason why the parameters of a model other than its memory are fixed during a run.
const ONLY_MEMORY: &str = "only the memory of a model can change";

/// A non-blocking fabric; frames wait only at their output port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutputQueued {}

impl OutputQueued {
    /// Always `Ok`: there are no parameters.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Output queues in one memory with dynamic thresholds (Choudhury and Hahne 1998): the limit of each queue is `alpha`
/// times the free memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SharedMemory {
    /// Size of the memory.
    pub memory: Size,
    /// Factor alpha, above 0 and at most 1024: the limit of a queue divided by the free memory.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1024))]
    pub alpha: f64,
}

fn one() -> f64 {
    1.0
}

impl SharedMemory {
    /// Checks the range of `alpha`.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.alpha > 0.0 && self.alpha <= 1024.0 {
            return Ok(());
        }
        Err(Invalid::new(
            "alpha",
            format!("`alpha` = {:?} is not above 0 and at most 1024; the usual values are 0.5 to 8", self.alpha),
        ))
    }
}

/// Output queues in one memory that is accounted by ingress port and class, as in switches with priority-based flow
/// control (802.1Qbb). Each class of an ingress port may occupy its reserve and, beyond that, 1/2^`shift` of the free
/// shared memory. Above this threshold the neighbour is stopped, and frames that are still in flight go into the
/// headroom. Supported are back-pressure of scope "class" or "plain", whose `detection` is not used, and the
/// disciplines "drop-tail" and "red". Without back-pressure, frames above the threshold are dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SharedBuffer {
    /// Size of the memory, including reserves and headroom.
    pub memory: Size,
    /// Shift of the dynamic threshold, 0 to 16: alpha is 1/2^`shift`. Default 3.
    #[serde(default = "default_shift")]
    #[schemars(range(min = 0, max = 16))]
    pub shift: u8,
    /// Memory reserved for each ingress port and class. Default 4kB.
    #[serde(default = "default_reserve")]
    #[schemars(extend("x-fixed" = ACCOUNTED))]
    pub reserve: Size,
    /// Hysteresis in bytes: a stopped ingress class is resumed once it is this far below its threshold. Default 3kB.
    #[serde(default = "default_resume")]
    pub resume: Size,
    /// Memory of each ingress port and class for frames that arrive after its neighbour was stopped. Absent: the worst
    /// case of its link, which is the bytes that arrive during the transmission of a frame and the PAUSE, the
    /// round-trip propagation delay, the response time and the switch's latency, plus two frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = ACCOUNTED))]
    pub headroom: Option<Size>,
}

fn default_shift() -> u8 {
    3
}
fn default_reserve() -> Size {
    Size(4_000)
}
fn default_resume() -> Size {
    Size(3_000)
}

impl SharedBuffer {
    /// Checks the range of `shift`.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.shift <= 16 {
            return Ok(());
        }
        Err(Invalid::new(
            "shift",
            format!("{} is out of range; write 0 to 16, such as 3 for an alpha of 1/8", self.shift),
        ))
    }
}

/// Watchdog against pause storms: a neighbour's PAUSE frames are ignored once a pause lasts too long, so that the
/// frames queued for a faulty adapter leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watchdog {
    /// Duration of an uninterrupted pause that counts as a storm; above 0s.
    pub after: Dur,
    /// Time without PAUSE frames after which PAUSE frames are obeyed again; above 0s.
    pub restore: Dur,
}

/// A crossbar with one FIFO per input port, subject to head-of-line blocking (Karol, Hluchyj and Morgan 1987).
/// Back-pressure must have scope "plain", since a FIFO cannot be stopped by class or destination; it watches each
/// input's FIFO and notifies the neighbour behind that input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InputFifo {
    /// Buffer limit of each input's FIFO.
    pub buffer: Size,
}

impl InputFifo {
    /// Always `Ok`: the limit is checked against the framing in `build`.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A crossbar with virtual output queues: one queue per input, output and class, without head-of-line blocking.
/// Back-pressure watches each input's memory, or with `output-buffer` each queue, and notifies the neighbour behind the
/// input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VirtualOutputQueues {
    /// Memory limit of each input, shared by all its queues. Without `output-buffer` the backlog of one output can fill
    /// this memory; frames to idle outputs are then dropped.
    pub buffer: Size,
    /// Limit of each queue (output and class) within that memory. Absent: only `buffer` limits the queue. Required by
    /// back-pressure with scope "class" or "class-destination", and with scope "destination" if `addresses` is
    /// "filtering-database".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = ONLY_MEMORY))]
    pub output_buffer: Option<Size>,
    /// Speed-up of the crossbar: rate at which a frame crosses it divided by the rate of the output's link, 1 to 1000.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("x-fixed" = ONLY_MEMORY))]
    pub speedup: f64,
}

impl VirtualOutputQueues {
    /// Checks the range of `speedup`.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if (1.0..=1000.0).contains(&self.speedup) {
            return Ok(());
        }
        Err(Invalid::new(
            "speedup",
            format!(
                "`speedup` = {:?} is out of range; write a number from 1 (as fast as the output) to 1000",
                self.speedup
            ),
        ))
    }
}

/// Output queues with cut-through forwarding: a frame may leave while its tail is still arriving.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CutThrough {
    /// Bytes of the frame that must have arrived before the forwarding decision; 1 B to 64 kB.
    #[serde(default = "default_header")]
    #[schemars(extend("x-fixed" = ONLY_MEMORY))]
    pub header: Size,
}

fn default_header() -> Size {
    Size(64)
}

impl CutThrough {
    /// Checks the range of `header`.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if (1..=64_000).contains(&self.header.0) {
            return Ok(());
        }
        Err(Invalid::new(
            "header",
            format!(
                "`header` = \"{}\" is not from \"1B\" to \"64kB\"; write one such as \"64B\", or \"14B\" for an Ethernet header",
                self.header
            ),
        ))
    }
}

/// A full-duplex link, or several: one for each node that a pattern matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// The two ends, by name or pattern (`*`, `?`, `[12]`, `[1-3]`). One pattern: a link for each match. Two patterns
    /// with the same number of matches: a link for each pair, in order.
    pub between: Ends,
    /// Rate of both directions, or [forward, backward]; forward is from the first end of `between`. At most 10Tbit/s.
    pub rate: Directions<Rate>,
    /// Propagation delay, or [first, last]: the delays of a pattern's links, evenly spaced in the order of their nodes.
    /// Default "1us", if `length` is absent too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delays>,
    /// Cable length, 5 ns of delay per metre; in place of `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// Probability of random loss of a frame on the link, 0 to 1.
    #[serde(default)]
    pub loss: Fraction,
    /// Upper bound of the random additional delay of each frame (uniform from 0s); frames stay in order. One value for
    /// both directions, or [forward, backward].
    #[serde(default)]
    pub jitter: Directions<Dur>,
    /// Bytes of each frame on the link in addition to its wire length (`network.framing`), and segmentation into ATM
    /// cells, such as { bytes = "4B", cells = true }. Not allowed at a cut-through switch. Absent: the wire length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
}

/// Names or patterns of the two ends of a link, the forward direction starting at the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ends(pub [String; 2]);

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        match value.as_array().map(Vec::len) {
            Some(2) => decode(value).map(Ends),
            found => {
                let found = found.map_or_else(|| value.to_string(), |n| format!("a list of {n}"));
                let help = Some("write the names of two nodes, such as [\"h1\", \"sw1\"]".to_owned());
                Err(DecodeError::value(Path::root(), format!("a link has two ends; found {found}"), help))
            }
        }
        .map_err(DecodeError::carry)
    }
}
impl JsonSchema for Ends {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Ends".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": { "type": "string" },
            "minItems": 2,
            "maxItems": 2,
            "format": "two names or patterns",
            "examples": [["h1", "sw1"]],
        })
    }
}
