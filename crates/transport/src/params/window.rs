//! Parameter `initial-window`: a number of segments, or a rule of an RFC.

use crate::check::number;
use core::fmt;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Size;

/// Window before the first acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InitialWindow {
    /// Number of segments, 1 to 1000000.
    Segments(u32),
    /// Rule of an RFC.
    Rule(WindowRule),
}

/// Rule that computes the initial window in bytes from the segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeriveDeserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// min(4·segment, max(2·segment, 4380 B)).
    Rfc3390,
    /// min(10·segment, max(2·segment, 14600 B)).
    Rfc6928,
}

impl InitialWindow {
    /// Checks the range of a number of segments.
    pub(super) fn check(self) -> Result<(), Invalid> {
        match self {
            InitialWindow::Segments(n) => number("", n, 1, 1_000_000),
            InitialWindow::Rule(_) => Ok(()),
        }
    }

    /// Returns the window in whole segments of `segment` bytes.
    pub(super) fn segments(self, segment: Size) -> u32 {
        let rule =
            |segments: u64, bytes: u64| ((segments * segment.0).min(bytes.max(2 * segment.0)) / segment.0) as u32;
        match self {
            InitialWindow::Segments(n) => n,
            InitialWindow::Rule(WindowRule::Rfc3390) => rule(4, 4_380),
            InitialWindow::Rule(WindowRule::Rfc6928) => rule(10, 14_600),
        }
    }
}

struct WindowVisitor;

impl Visitor<'_> for WindowVisitor {
    type Value = InitialWindow;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of segments, \"rfc3390\" or \"rfc6928\"")
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<InitialWindow, E> {
        u32::try_from(n).map(InitialWindow::Segments).map_err(|_| E::custom(format!("{n} segments are too many")))
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<InitialWindow, E> {
        u64::try_from(n).map_err(|_| E::custom(format!("{n} is negative"))).and_then(|n| self.visit_u64(n))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<InitialWindow, E> {
        match text {
            "rfc3390" => Ok(InitialWindow::Rule(WindowRule::Rfc3390)),
            "rfc6928" => Ok(InitialWindow::Rule(WindowRule::Rfc6928)),
            _ => Err(E::custom(format!(
                "unknown rule \"{text}\"; write a number of segments, \"rfc3390\" or \"rfc6928\""
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for InitialWindow {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(WindowVisitor)
    }
}
