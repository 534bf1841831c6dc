//! `[run]`: how long, how often, what is recorded.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use tailback_document::{DecodeError, decode};
use tailback_units::{Dur, Fraction};

/// How long to run, how often, and what to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// Simulated time at which the run ends, warm-up included; above 0.
    pub duration: Dur,
    /// Packets born before this instant are carried but not measured; below `duration`. "auto" finds it by MSER-5 on
    /// a pilot run.
    #[serde(default)]
    pub warmup: Warmup,
    /// Seed of all random streams, 0 to 2^63 - 1. Replication k, from 0, uses this seed plus k.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Number of independent runs, 1 to 100000.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 100_000))]
    pub replications: u32,
    /// Confidence of the intervals over replications, 0.5 to 0.999999.
    #[serde(default = "ninety_five")]
    pub confidence: Fraction,
    /// Interval of the time series of queues, pauses and throughput; absent, no series is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Dur>,
    /// Whether each flow keeps a delay histogram of its own, for quantiles per flow; each class always has one.
    #[serde(default)]
    pub per_flow_delay: bool,
    /// Whether the variation of delays is measured for each group of flows: jitter (RFC 3550), packet delay variation
    /// (RFC 5481) and the burstiness of losses; with `per-flow-delay` for each flow too, and with `sample` as time series.
    #[serde(default, skip_serializing_if = "off")]
    pub delay_variation: bool,
    /// "merged" handles a plain FIFO port with one event per packet, "plain" every port with two; the results are the
    /// same bit for bit.
    #[serde(default)]
    pub engine: Engine,
    /// Adds replications until an interval is narrow enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Warnings by name that this scenario gives on purpose, such as ["overload"]; they are not shown.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub accept: BTreeSet<WarningName>,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarningName {
    /// Sources whose rates are known offer a line or a shaper more than it carries, over the time that is measured.
    Overload,
    /// A threshold or target of a discipline or a congestion point that its queue can never reach.
    Unreachable,
    /// A transport that goes by marks, or asks for L4S, and no queue on its way that marks.
    NoMarks,
    /// Go-back-N, which throws away what comes out of order, over ways among which packets are sprayed.
    Reordering,
    /// Time series whose samples are further apart than the changes of the timeline, or the time that is measured.
    CoarseSample,
    /// A measured time in which nothing that is born in it can arrive.
    ShortMeasurement,
    /// A setting, or an axis of a sweep, that leaves everything as it is.
    NoEffect,
    /// An interval over replications that is wider than the number it is about.
    WideInterval,
}

impl WarningName {
    /// All, in the order in which they are explained.
    pub const ALL: [WarningName; 8] = [
        WarningName::Overload,
        WarningName::Unreachable,
        WarningName::NoMarks,
        WarningName::Reordering,
        WarningName::CoarseSample,
        WarningName::ShortMeasurement,
        WarningName::NoEffect,
        WarningName::WideInterval,
    ];
    /// As documents write it.
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
        }
    }
}

/// What is off is not written, so that documents keep the hash that they had before there was the choice.
fn off(choice: &bool) -> bool {
    !choice
}
fn one() -> u64 {
    1
}
fn five() -> u32 {
    5
}
fn ninety_five() -> Fraction {
    Fraction(0.95)
}

/// When measuring begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Where MSER-5 truncates the series of a pilot run.
    Auto,
    /// At a given instant.
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

/// How packets are carried over FIFO ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// One event per packet where a port is a plain FIFO that nothing can stop.
    #[default]
    Merged,
    /// Two events per packet everywhere: slower and simpler, the reference.
    Plain,
}

/// Replications are added until the interval of a metric is narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Precision {
    /// The metric that decides.
    pub metric: Metric,
    /// Half-width of the interval relative to the mean that is narrow enough, above 0 and at most 1.
    #[serde(default = "tenth")]
    pub relative: Fraction,
    /// Half-width that is narrow enough whatever the mean, 0 or more; in the metric's unit: a fraction for loss, seconds
    /// for delay, bit/s for throughput.
    #[serde(default = "thousandth")]
    #[schemars(range(min = 0))]
    pub absolute: f64,
    /// Stop here even if the interval is still wide; at least `replications`, at most 100000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_replications: u32,
}

fn tenth() -> Fraction {
    Fraction(0.1)
}
fn thousandth() -> f64 {
    0.001
}
fn hundred() -> u32 {
    100
}

/// A metric of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Packets lost as a fraction of packets offered.
    Loss,
    /// Mean one-way delay of delivered packets in seconds.
    Delay,
    /// Payload delivered in bit/s.
    Throughput,
}
