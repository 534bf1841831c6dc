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

/// An end station, or several alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// Makes so many hosts, the name followed by 1, 2, …; 1 to 60000. Absent, the name is one host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60_000))]
    pub count: Option<u32>,
    /// Limit of the transmit queue of each class.
    #[serde(default = "unlimited")]
    pub buffer: Limit,
    /// Whether it obeys back-pressure notifications, where hosts get any (`end-stations`).
    #[serde(default = "yes")]
    pub obeys: bool,
    /// Rate limiters in its ports, that obey the congestion points of switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
}

fn unlimited() -> Limit {
    Limit::Unlimited
}
fn yes() -> bool {
    true
}

/// A switch, or several alike. What is left out is as `[network]` and `[backpressure]` say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Makes so many switches, the name followed by 1, 2, …; 1 to 60000. Absent, the name is one switch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60_000))]
    pub count: Option<u32>,
    /// Limit of each class at each output port, in place of that of `[network]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Limits>,
    /// Queue discipline, in place of that of `[network]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Spec>,
    /// Time from the end of a frame's reception to its place in the output queue.
    #[serde(default)]
    pub latency: Dur,
    /// Where frames wait and how they get across.
    #[serde(default)]
    pub model: SwitchModel,
    /// In place of `[backpressure]` as a whole; `{ scope = "none" }` switches it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<BackPressure>,
    /// Makes each class of each output port a congestion point: it tells the sources of some frames to send slower or faster,
    /// or to stop. Ports with rate limiters are none. At most 255 in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_notification: Option<cp::Spec>,
    /// Rate limiters in its ports towards other switches, that obey the congestion points of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
    /// What it does about neighbours that send PAUSE frames without end; absent, it obeys them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
    /// Overrides for the output ports towards given neighbours, by name or pattern; a name goes before a pattern.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, Port>,
}

/// An output port that differs from the others of its switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Port {
    /// Limit of each class, in place of the switch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Limits>,
    /// Queue discipline, in place of the switch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Spec>,
    /// Meters and policers of what leaves towards the neighbour or comes from it; the first that is for a packet's flow in a
    /// direction takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditioners: Vec<Conditioner>,
    /// Labels of the packets that leave towards the neighbour; absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpls: Option<Mpls>,
    /// Delays what leaves until it conforms to a token bucket: scheduler, ring, shaper, line. Absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// Packets in the transmit ring, a FIFO behind the scheduler that nothing can overtake in, 1 to 10000. Absent, the
    /// scheduler is asked when the line, or the shaper, is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub ring: Option<u32>,
}

/// A token bucket in front of a line: what leaves in any interval of length t is at most burst + rate · t.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shaper {
    /// Rate after shaping, of which percentages in the discipline are parts.
    pub rate: Rate,
    /// Most that leaves at once; a larger packet leaves when the bucket is full. Default: what the rate gives in 4 ms, at
    /// least 1600 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Bytes counted of a packet beyond what buffers count (`network.framing`).
    #[serde(default)]
    pub accounting: Accounting,
}

/// A meter, a marker and perhaps a policer, at a port of a switch (RFC 2475).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditioner {
    /// "egress", before the queue towards the neighbour, or "ingress", behind the line from it. Default "egress".
    #[serde(default)]
    pub direction: Direction,
    /// Groups of flows that it is for, by name or pattern; absent, all, their acknowledgements included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<String>,
    /// Of these, the packets that it is for, by class map or conditions; absent, all.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Match>,
    /// By what the stream is judged; sizes are those that buffers count. Absent, every packet conforms.
    #[serde(default = "all_conform")]
    pub meter: Meter,
    /// Bytes that the meter counts of a packet beyond what buffers count. Default "0B".
    #[serde(default, skip_serializing_if = "is_plain")]
    pub accounting: Accounting,
    /// Whether the "group" of all these flows has one meter, or each "flow" has its own. Default "group".
    #[serde(default = "aggregate")]
    pub per: Per,
    /// Drops packets of this colour and of worse ones: "yellow" or "red". Absent, all pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<Colour>,
    /// What is done with packets that conform (green).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub conform: Action,
    /// What is done with packets that exceed (yellow).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub exceed: Action,
    /// What is done with packets that violate (red).
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub violate: Action,
}

/// What a conditioner does with a packet besides giving it a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Action {
    /// Drops it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop: bool,
    /// Writes this code point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// Writes this precedence, 0 to 7, into the upper three bits of the code point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub precedence: Option<u8>,
    /// Moves it into this traffic class, 0 (highest) to below `network.classes`, here and from here on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u8>,
}

impl Action {
    fn is_none(&self) -> bool {
        *self == Action::default()
    }
}

/// Which way packets go that a conditioner at a port is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Out of the switch.
    #[default]
    Egress,
    /// Into it.
    Ingress,
}

fn is_plain(accounting: &Accounting) -> bool {
    *accounting == Accounting::default()
}

fn all_conform() -> Meter {
    decode(serde_json::json!({ "kind": "fixed", "colour": "green" })).expect("a meter without parameters in doubt")
}

fn aggregate() -> Per {
    Per::Group
}

kinds! {
    /// Where frames wait in a switch and how they get across.
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

/// A non-blocking fabric; frames wait at their output port only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutputQueued {}

impl OutputQueued {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Output queues in one memory under dynamic thresholds (Choudhury and Hahne 1998): a queue may hold at most `alpha` times
/// the memory that is free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SharedMemory {
    /// The whole memory.
    pub memory: Size,
    /// Share of the free memory that one queue may take, above 0 and at most 1024.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1024))]
    pub alpha: f64,
}

fn one() -> f64 {
    1.0
}

impl SharedMemory {
    /// Queues can grow.
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

/// Output queues in one memory that is accounted by the input that frames came by, as switches with priority-based flow
/// control have it (802.1Qbb). An input's class may take its reserve and then 1/2^`shift` of what is free of the shared part;
/// there its neighbour is stopped, and what still comes goes into headroom. Takes back-pressure of scope "class" or "plain",
/// whose detection is not asked, and the disciplines "drop-tail" and "red". Without back-pressure it only drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SharedBuffer {
    /// The whole memory, reserves and headroom included.
    pub memory: Size,
    /// 0 to 16: alpha of the dynamic threshold is 1/2^`shift`. Default 3.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 16))]
    pub shift: u8,
    /// What each input and class has to itself. Default 4kB.
    #[serde(default = "four_kilobytes")]
    pub reserve: Size,
    /// How far an input's class must fall below its threshold before its neighbour goes on. Default 3kB.
    #[serde(default = "three_kilobytes")]
    pub resume: Size,
    /// What each input and class has for frames that come after its neighbour was told to stop. Absent, what its link needs:
    /// a frame and the PAUSE, the way there and back, the response time, the switch's latency and two frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Size>,
}

fn three() -> u8 {
    3
}
fn four_kilobytes() -> Size {
    Size(4_000)
}
fn three_kilobytes() -> Size {
    Size(3_000)
}

impl SharedBuffer {
    /// The shift is one of a sensible alpha.
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

/// A watchdog against pause storms: a PAUSE that lasts too long is ignored, so that what waits for a broken adapter leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watchdog {
    /// A pause without a break that lasts so long is a storm; above 0s.
    pub after: Dur,
    /// PAUSE frames are obeyed again when none has come for so long; above 0s.
    pub restore: Dur,
}

/// A crossbar with one FIFO per input port, whose head blocks what is behind it (Karol, Hluchyj and Morgan 1987). Takes
/// back-pressure of scope "plain", which watches each input's FIFO and tells the neighbour behind it: what waits in one FIFO
/// cannot be stopped by class or destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InputFifo {
    /// Limit of each input's FIFO.
    pub buffer: Size,
}

impl InputFifo {
    /// Whether it holds a frame is checked where framing is known.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A crossbar with one queue per input, output and class, so that no head blocks another output's frames. Back-pressure
/// watches each input's memory, or with `output-buffer` each of its queues, and tells the neighbour behind the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VirtualOutputQueues {
    /// Limit of each input's memory, which all its queues share: without `output-buffer` the backlog of one output may take
    /// all of it, and frames to idle outputs are lost.
    pub buffer: Size,
    /// Limit of each queue, of an output and class, within that memory. Absent: none but the memory. The scopes of
    /// back-pressure that name classes need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_buffer: Option<Size>,
    /// Crossing speed relative to the output's rate, 1 to 1000.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub speedup: f64,
}

impl VirtualOutputQueues {
    /// The crossbar is at least as fast as the output.
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

/// Output queues, where a frame may leave while its tail still arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CutThrough {
    /// Bytes of the frame that must have arrived before the decision; 1 B to 64 kB.
    #[serde(default = "first_bytes")]
    pub header: Size,
}

fn first_bytes() -> Size {
    Size(64)
}

impl CutThrough {
    /// There is something to decide by.
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

/// A full-duplex link, or one for each node that a pattern matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// The two ends, by name or pattern (`*`, `?`, `[12]`, `[1-3]`). One pattern: a link for each match. Two patterns with
    /// equally many matches: a link for each pair, in order.
    pub between: Ends,
    /// Rate of both directions, or [forward, backward], where forward is from the first end; up to 10Tbit/s.
    pub rate: Directions<Rate>,
    /// Propagation delay, or [first, last] spread evenly over the links that patterns make; "1us" when neither `delay` nor
    /// `length` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delays>,
    /// In place of `delay`: length of the cable, at 5 ns per metre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// Probability that a frame is lost on the link, whatever else happens.
    #[serde(default)]
    pub loss: Fraction,
    /// Largest extra delay of a frame, drawn uniformly; frames keep their order. For both directions, or [forward,
    /// backward].
    #[serde(default)]
    pub jitter: Directions<Dur>,
    /// What the line carries of a frame beyond the bytes of the wire (`network.framing`): bytes more, and whole ATM cells,
    /// such as { bytes = "4B", cells = true }. Not at a cut-through switch. Absent, the bytes of the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
}

/// The two ends of a link.
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
                Err(DecodeError::value(Path::root(), format!("a link has two ends, found {found}"), help))
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
