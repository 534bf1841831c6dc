//! The types of the study document, in the order in which one is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tailback_units::Fraction;

/// A study: a scenario at many points, and how often it runs at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyDocument {
    /// Version of the document's format: 1.
    #[schemars(range(min = 1, max = 1), example = 1)]
    pub study: u32,
    /// One line that says what is studied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// As much more as is worth saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The scenario's file, relative to the study's.
    #[schemars(example = "scenario.toml")]
    pub scenario: String,
    /// Base seed; replication k, from 0, runs with seed + k at every point and for every mechanism (common random
    /// numbers). Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
    /// Replications at each point, 1 to 100000; with `until` the first ones. Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub replications: Option<u32>,
    /// Confidence of the intervals, 0.5 to 0.999999. Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Fraction>,
    /// Values that every point has, by path as in `--set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// How points are chosen from the axes.
    #[serde(default)]
    pub design: Design,
    /// What is varied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<Axis>,
    /// Variants that are compared at every point under the same seeds; the first is what the others are compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mechanisms: Vec<Mechanism>,
    /// Adds replications at a point until an interval is narrow enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

/// How points are chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Design {
    /// Which points.
    #[serde(default)]
    pub kind: DesignKind,
    /// Number of points of a random or Latin-hypercube design, 1 to 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), example = 100)]
    pub samples: Option<u32>,
    /// Seed of a random or Latin-hypercube design; it has nothing to do with those of the runs. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
}

/// Which points of the axes' product are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DesignKind {
    /// Every combination of the axes' values.
    #[default]
    Grid,
    /// The first value of every axis, then the second of each, and so on.
    List,
    /// Independent draws, uniform along every axis.
    Random,
    /// As many slices along each axis as samples, one sample in each (McKay, Beckman and Conover, Technometrics 21, 1979).
    LatinHypercube,
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Axis {
    /// What is set, by path as in `--set`; several paths take the same value.
    #[schemars(example = "flows[data].source.rate")]
    pub path: Paths,
    /// Its name in tables and figures. Default: the (first) path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The values to try. Either `values` or `range` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Values between two ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// One path or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// One.
    One(String),
    /// Several, which take the same value.
    Several(Vec<String>),
}

/// Values between two ends, both included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Range {
    /// One end: a number, or text with a unit such as "1Mbit/s". Two whole numbers give whole numbers.
    #[schemars(example = "1Mbit/s")]
    pub from: Value,
    /// The other end, in the same unit or another multiple of it, such as kB and MB; values between are in that of `from`.
    #[schemars(example = "8Mbit/s")]
    pub to: Value,
    /// Whether equal steps are equal differences or equal ratios.
    #[serde(default)]
    pub scale: Scale,
    /// Number of values in a grid or a list, 2 to 10000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 10_000), example = 5)]
    pub steps: Option<u32>,
    /// Significant digits of the values between, 1 to 15.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 15))]
    pub digits: u32,
}

fn four() -> u32 {
    4
}

/// What equal steps along a range are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// A variant of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mechanism {
    /// Its name in tables and figures.
    pub name: String,
    /// What it changes, by path as in `--set`; after what the point sets.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
}

/// Replications are added at a point until the interval of a metric is narrow enough there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Until {
    /// The metric that decides, such as "loss", or `delay_p99[data]` of a group or class.
    #[schemars(example = &"loss")]
    pub metric: String,
    /// Whether the metric's mean must be precise, or its difference from the first mechanism.
    #[serde(default)]
    pub of: Of,
    /// Half-width of the interval relative to the mean (or difference) that is narrow enough, above 0 and at most 1.
    #[serde(default = "tenth")]
    pub relative: Fraction,
    /// Half-width that is narrow enough whatever the mean, 0 or more; in the metric's unit.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub absolute: f64,
    /// Stop here even if the interval is still wide; at least `replications`, at most 100000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 2, max = 100_000))]
    pub max_replications: u32,
}

/// Whose interval decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The metric's mean for each mechanism.
    #[default]
    Mean,
    /// Each mechanism's paired difference from the first.
    Difference,
}

fn tenth() -> Fraction {
    Fraction(0.1)
}
fn hundred() -> u32 {
    100
}
