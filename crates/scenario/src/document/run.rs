//! `[run]`: duration, replications, and recording.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use tailback_document::{DecodeError, decode};
use tailback_units::{Dur, Fraction};

/// Duration of the run, its replications, and what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// Simulated time at which the run ends, warm-up included; above 0.
    pub duration: Dur,
    /// Warm-up: packets generated before this time are forwarded but not measured; below `duration`. "auto" determines
    /// the time by MSER-5 on a pilot run.
    #[serde(default)]
    pub warmup: Warmup,
    /// Seed of all random streams, 0 to 2^63 - 1. Replication k, counted from 0, uses this seed plus k.
    #[serde(default = "default_seed")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Number of independent replications, 1 to 100000.
    #[serde(default = "default_replications")]
    #[schemars(range(min = 1, max = 100_000))]
    pub replications: u32,
    /// Confidence level of the intervals over replications, 0.5 to 0.999999.
    #[serde(default = "default_confidence")]
    pub confidence: Fraction,
    /// Sampling interval of the time series of queues, pauses and throughput, above 0s; a run has at most 1000000
    /// samples. Absent: no series is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Dur>,
    /// Records besides the statistics, such as ["transfers"]; each adds a table or columns to the results and changes
    /// no other result: "transfers", "transport-changes", "throughput-by-flow", "queue-by-flow", "queue-extremes" and
    /// "delay-distribution".
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[expect(clippy::doc_link_with_quotes, reason = "a list as a document has it")]
    pub record: BTreeSet<RecordName>,
    /// Maximum number of rows in each of the tables `transfers`, `transport_changes`, `queue_by_flow` and `delays` of a
    /// replication, 1 to 100000000. Default 1000000. The rows kept are the first ones; the results state how many are
    /// left out.
    #[serde(default = "default_record_limit", skip_serializing_if = "is_default_record_limit")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub record_limit: u32,
    /// `true` if each flow has a delay histogram of its own, for quantiles per flow; each class always has one.
    #[serde(default)]
    pub per_flow_delay: bool,
    /// `true` if the variation of delay is measured for each group of flows: jitter (RFC 3550), packet delay variation
    /// (RFC 5481) and the burstiness of losses; with `per-flow-delay` also for each flow, and with `sample` also as
    /// time series.
    #[serde(default, skip_serializing_if = "is_false")]
    pub delay_variation: bool,
    /// "merged" handles a plain FIFO port with one event per packet, "plain" every port with two; the results are
    /// identical bit for bit.
    #[serde(default)]
    pub engine: Engine,
    /// Sequential stopping: replications are added until a confidence interval is narrow enough. Absent: exactly
    /// `replications`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Keys that may be changed while the run is stepped through (`tailback.Simulation`), by path as for `--set`, such
    /// as `links[0].rate` or `flows[*].state`. The ports concerned are simulated with two events per packet, with the
    /// same results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunable: Vec<Tunable>,
    /// Names of warnings that are intended in this scenario and not shown, such as ["overload"].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[expect(clippy::doc_link_with_quotes, reason = "a list as a document has it")]
    pub accept: BTreeSet<WarningName>,
}

/// A key that may be changed while a run is stepped through.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// Path of the key, as for `--set`.
    pub key: String,
    /// Smallest value, in the notation of the key; `None`: the lower bound of the key itself.
    pub min: Option<Value>,
    /// Largest value, in the notation of the key; `None`: the upper bound of the key itself.
    pub max: Option<Value>,
}

/// The form of a tunable key with bounds.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bounded {
    /// Path of the key, as for `--set`.
    key: String,
    /// Smallest value, in the notation of the key; required for a delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<Value>,
    /// Largest value, in the notation of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<Value>,
}

impl Serialize for Tunable {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Tunable { key, min: None, max: None } => s.serialize_str(key),
            Tunable { key, min, max } => Bounded { key: key.clone(), min: min.clone(), max: max.clone() }.serialize(s),
        }
    }
}
impl<'de> Deserialize<'de> for Tunable {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(key) => Ok(Tunable { key, min: None, max: None }),
            value => {
                let Bounded { key, min, max } = decode(value).map_err(DecodeError::carry)?;
                Ok(Tunable { key, min, max })
            }
        }
    }
}
impl JsonSchema for Tunable {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Tunable".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = Bounded::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "string" }, table], "examples": ["links[0].rate"] })
    }
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordName {
    /// Table `transfers`: start, size, completion time and retransmissions of each transfer, which is a write with an
    /// end to a transport, or a message of an application without one. A row takes 60 bytes of memory.
    Transfers,
    /// Table `transport_changes`: congestion window, slow-start threshold, round-trip time, segments outstanding and
    /// state of each transport whenever one of them changes; flows with `probe` have the state also in the time series, as
    /// a number. A row takes 64 bytes of memory.
    TransportChanges,
    /// Bytes delivered by flow in the time series; needs `sample`. A value takes 16 bytes of memory.
    ThroughputByFlow,
    /// Table `queue_by_flow`: packets and bytes of each flow that wait at each port at each sample; needs `sample`. A
    /// row takes 40 bytes of memory.
    QueueByFlow,
    /// Minimum and maximum of each port's queue between samples in the time series; needs `sample`. All ports are
    /// simulated with two events per packet, with the same results. A pair takes 16 bytes of memory.
    QueueExtremes,
    /// Table `delays`: number of packets by delay, in buckets of 1/128 of the delay, of each class and, with
    /// `per-flow-delay`, of each group of flows. A row takes 24 bytes of memory.
    DelayDistribution,
}

impl RecordName {
    /// Returns the name as it is written in documents.
    pub const fn text(self) -> &'static str {
        match self {
            RecordName::Transfers => "transfers",
            RecordName::TransportChanges => "transport-changes",
            RecordName::ThroughputByFlow => "throughput-by-flow",
            RecordName::QueueByFlow => "queue-by-flow",
            RecordName::QueueExtremes => "queue-extremes",
            RecordName::DelayDistribution => "delay-distribution",
        }
    }
    /// Returns `true` if the record is made at samples, and so needs `run.sample`.
    pub const fn is_sampled(self) -> bool {
        matches!(self, RecordName::ThroughputByFlow | RecordName::QueueByFlow | RecordName::QueueExtremes)
    }
}

/// Name of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarningName {
    /// The offered load of sources with known rates exceeds the capacity of a link or shaper over the measured time.
    Overload,
    /// A threshold or target of a discipline or congestion point is above what its queue can reach.
    Unreachable,
    /// A transport responds to ECN marks, or uses L4S, but no queue on its path marks.
    NoMarks,
    /// A go-back-N transport, which discards packets that arrive out of order, runs over sprayed paths.
    Reordering,
    /// The sampling interval is longer than the time between changes of the timeline, or than the measured time.
    CoarseSample,
    /// The measured time is too short for a packet generated in it to arrive.
    ShortMeasurement,
    /// A setting, or an axis of a sweep, has no effect on the result.
    NoEffect,
    /// A confidence interval is wider than the value that it belongs to.
    WideInterval,
    /// The replications are too short for an interval that contains the true value as often as its level states.
    DoubtfulInterval,
}

impl WarningName {
    /// All warnings, in the order of their documentation.
    pub const ALL: [WarningName; 9] = [
        WarningName::Overload,
        WarningName::Unreachable,
        WarningName::NoMarks,
        WarningName::Reordering,
        WarningName::CoarseSample,
        WarningName::ShortMeasurement,
        WarningName::NoEffect,
        WarningName::WideInterval,
        WarningName::DoubtfulInterval,
    ];
    /// Returns the name as it is written in documents.
    pub const fn text(self) -> &'static str {
        match self {
            WarningName::Overload => "overload",
            WarningName::Unreachable => "unreachable",
            WarningName::NoMarks => "no-marks",
            WarningName::Reordering => "reordering",
            WarningName::CoarseSample => "coarse-sample",
            WarningName::ShortMeasurement => "short-measurement",
            WarningName::NoEffect => "no-effect",
            WarningName::WideInterval => "wide-interval",
            WarningName::DoubtfulInterval => "doubtful-interval",
        }
    }
}

/// `true` for the default, which the canonical form omits, so that the hashes of earlier documents are kept.
fn is_false(value: &bool) -> bool {
    !value
}
fn default_record_limit() -> u32 {
    1_000_000
}
fn is_default_record_limit(rows: &u32) -> bool {
    *rows == default_record_limit()
}
fn default_seed() -> u64 {
    1
}
fn default_replications() -> u32 {
    5
}
fn default_confidence() -> Fraction {
    Fraction(0.95)
}

/// End of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// The truncation point of MSER-5 on a pilot run.
    Auto,
    /// A given time.
    At(Dur),
}

impl Default for Warmup {
    fn default() -> Warmup {
        Warmup::At(Dur::ZERO)
    }
}
impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Warmup::Auto => s.serialize_str("auto"),
            Warmup::At(at) => at.serialize(s),
        }
    }
}
impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(text) if text == "auto" => Ok(Warmup::Auto),
            value => decode(value).map(Warmup::At).map_err(|e| {
                let message = format!("{}, or \"auto\" to find the end of the transient by a pilot run", e.message);
                DecodeError { message, ..e }.carry()
            }),
        }
    }
}
impl JsonSchema for Warmup {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Warmup".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let duration = generator.subschema_for::<Dur>();
        json_schema!({ "anyOf": [duration, { "const": "auto" }], "format": "duration or \"auto\"", "examples": ["20s", "auto"] })
    }
}

/// Event scheme of FIFO ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// One event per packet at plain FIFO ports that cannot be stopped.
    #[default]
    Merged,
    /// Two events per packet at every port: slower and simpler, the reference.
    Plain,
}

/// Stopping rule of sequential replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Precision {
    /// Metric whose confidence interval decides.
    pub metric: Metric,
    /// Target for the half-width of the interval relative to the mean, above 0 and at most 1.
    #[serde(default = "default_relative")]
    pub relative: Fraction,
    /// Target for the half-width itself, 0 or more, in the metric's unit (loss: a fraction, delay: seconds, throughput:
    /// bit/s); reaching either target is enough.
    #[serde(default = "default_absolute")]
    #[schemars(range(min = 0))]
    pub absolute: f64,
    /// Upper bound on the number of replications; at least `replications`, at most 100000.
    #[serde(default = "default_max_replications")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_replications: u32,
}

fn default_relative() -> Fraction {
    Fraction(0.1)
}
fn default_absolute() -> f64 {
    0.001
}
fn default_max_replications() -> u32 {
    100
}

/// A metric of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Packets lost as a fraction of packets offered.
    Loss,
    /// Mean one-way delay of delivered packets, seconds.
    Delay,
    /// Payload delivered, bit/s.
    Throughput,
}
