//! Priority queueing: a packet leaves only if no packet waits at a higher level.

use super::classes::{Classes, Part};
use super::levels::{DEFAULT_FIXED, Levels};
use crate::retune::{Fixed, Retune};
use crate::signals::{Signals, Threshold};
use crate::{Cx, Gate, Packet, Qdisc, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Time};

pub use super::levels::Level;

/// Priority queueing (PQ): levels in strict order, each with a limit and a discipline of its own. A
/// packet in transmission is not interrupted. A level that is never empty starves those below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Levels, the highest first, at most 250. Default: "high", "medium", "normal" and "low" with
    /// limits of 20, 40, 60 and 80 packets and without matches, so that all packets belong to
    /// "normal".
    #[serde(default = "four_levels")]
    pub levels: Vec<Level>,
    /// Name of the level for packets that match no level. Default: "normal" if there is such a
    /// level, else the last level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = DEFAULT_FIXED))]
    pub default: Option<String>,
}

fn four_levels() -> Vec<Level> {
    [("high", 20), ("medium", 40), ("normal", 60), ("low", 80)]
        .map(|(name, packets)| Level {
            name: Some(name.to_owned()),
            matches: None,
            limit: Some(Amount::packets(packets)),
            discipline: None,
        })
        .into()
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Priority {
        Priority { classes: self.list().classes(site) }
    }
    /// Refuses an empty list of levels, invalid levels, and a default level that does not exist.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.levels.is_empty() {
            return Err(Invalid::new(LIST, "there are no levels; write at least one, or leave `levels` out"));
        }
        self.list().check()
    }
    fn list(&self) -> Levels<'_> {
        Levels { list: LIST, entries: &self.levels, default: self.default.as_deref() }
    }
    /// Passes the path, the match and the inner discipline of each level to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        Levels::each_part(LIST, &mut self.levels, f);
    }
}

/// Key of the list of levels.
const LIST: &str = "levels";

impl Signals for Params {
    fn marks(&self) -> bool {
        self.list().marks()
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        self.list().each_threshold(site, f);
    }
}

/// Queues in strict order.
#[derive(Debug)]
pub struct Priority {
    classes: Classes,
}

impl Retune for Priority {
    fn adopt(&mut self, now: Time, fresh: Priority) {
        self.classes.adopt(now, fresh.classes);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.list().check_retune(to.list())
    }
}

impl Qdisc for Priority {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let level = self.classes.class(&packet);
        self.classes.enqueue(level, now, packet, cx);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.classes.transmitted(now, cx);
        (0..self.classes.len()).find_map(|level| self.classes.dequeue(level, now, gate, cx))
    }
    fn head(&self) -> Option<&Packet> {
        let first = (0..self.classes.len()).find(|level| self.classes.backlog_of(*level).packets > 0)?;
        self.classes.head(first)
    }
    super::classes::as_classes!(all);
    fn state_bytes(&self) -> usize {
        self.classes.state_bytes()
    }
}
