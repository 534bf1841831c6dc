//! The types of the study document, in the order of a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tailback_units::Fraction;

/// A study: a scenario at many points, with replications at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyDocument {
    /// Version of the document format: 1.
    #[schemars(range(min = 1, max = 1), example = 1)]
    pub study: u32,
    /// Title, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description, any length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Path of the scenario, relative to the study's file.
    #[schemars(example = "scenario.toml")]
    pub scenario: String,
    /// Base seed; replication k, from 0, runs with seed + k at every point and for every mechanism (common random
    /// numbers). Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
    /// Number of replications at each point, 1 to 100000; with `until` the initial number. Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub replications: Option<u32>,
    /// Confidence level of the intervals, 0.5 to 0.999999. Default: the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Fraction>,
    /// Settings of every point, by path as in `--set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// Experimental design: selection of points from the axes.
    #[serde(default)]
    pub design: Design,
    /// Factors that are varied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<Axis>,
    /// Variants that are compared at every point with the same seeds; the first is the reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mechanisms: Vec<Mechanism>,
    /// Sequential stopping: replications are added at a point until a confidence interval is narrow enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

/// Experimental design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Design {
    /// Kind of design.
    #[serde(default)]
    pub kind: DesignKind,
    /// Number of points of a random or Latin-hypercube design, 1 to 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), example = 100)]
    pub samples: Option<u32>,
    /// Seed of a random or Latin-hypercube design, independent of those of the runs. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
}

/// Points of the axes' product that are run.
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
    /// Latin hypercube: each axis is divided into as many slices as samples, with one sample in each (McKay, Beckman
    /// and Conover, Technometrics 21, 1979).
    LatinHypercube,
}

/// A factor that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Axis {
    /// Path of the setting, as in `--set`; several paths take the same value.
    #[schemars(example = "flows[data].source.rate")]
    pub path: Paths,
    /// Name in tables and figures. Default: the first path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Values of the factor. Either `values` or `range` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Range of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// One path or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// One path.
    One(String),
    /// Several paths, which take the same value.
    Several(Vec<String>),
}

/// A range of values, both ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Range {
    /// First end: a number, or text with a unit such as "1Mbit/s". Two integers give integers.
    #[schemars(example = "1Mbit/s")]
    pub from: Value,
    /// Last end, in the same unit or another multiple of it, such as kB and MB; values between are in the unit of
    /// `from`.
    #[schemars(example = "8Mbit/s")]
    pub to: Value,
    /// Scale of the steps: "linear" (equal differences) or "log" (equal ratios).
    #[serde(default)]
    pub scale: Scale,
    /// Number of values in a grid or a list, 2 to 10000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 10_000), example = 5)]
    pub steps: Option<u32>,
    /// Significant digits of the intermediate values, 1 to 15.
    #[serde(default = "default_digits")]
    #[schemars(range(min = 1, max = 15))]
    pub digits: u32,
}

fn default_digits() -> u32 {
    4
}

/// Scale of the steps of a range.
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
    /// Name in tables and figures.
    pub name: String,
    /// Settings of the variant, by path as in `--set`, applied after those of the point.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
}

/// Stopping rule of sequential replications at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Until {
    /// Metric whose interval decides, such as "loss", or `delay_p99[data]` of a group or class.
    #[schemars(example = &"loss")]
    pub metric: String,
    /// Quantity that must be precise: "mean", or "difference" from the first mechanism.
    #[serde(default)]
    pub of: Of,
    /// Target for the half-width of the interval relative to the mean (or difference), above 0 and at most 1.
    #[serde(default = "default_relative")]
    pub relative: Fraction,
    /// Target for the half-width itself, 0 or more, in the metric's unit; reaching either target is enough.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub absolute: f64,
    /// Upper bound on the number of replications; at least `replications`, at most 100000.
    #[serde(default = "default_max_replications")]
    #[schemars(range(min = 2, max = 100_000))]
    pub max_replications: u32,
}

/// Quantity whose interval decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The metric's mean for each mechanism.
    #[default]
    Mean,
    /// Each mechanism's paired difference from the first.
    Difference,
}

fn default_relative() -> Fraction {
    Fraction(0.1)
}
fn default_max_replications() -> u32 {
    100
}
