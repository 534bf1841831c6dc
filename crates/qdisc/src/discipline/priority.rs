//! Priority queueing: a packet leaves only if no packet waits at a higher level.

use super::classes::{Classes, Identity, Inside, Part, check_class, check_classes_retune, check_names, site_within};
use crate::classify::{Classifier, Match};
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::{Cx, Gate, Packet, Qdisc, Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, listed, suggest};
use tailback_units::{Amount, Rate, Time};

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

/// A level of priority.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Level {
    /// Name, unique among the levels. Default: no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::NAME_FIXED))]
    pub name: Option<String>,
    /// Packets that belong to the level, unless they match an earlier level. Default: no packets other than those for
    /// which `default` selects the level.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub matches: Option<Match>,
    /// Limit of the level in packets or bytes. Default "64packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within the level. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
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
        let matches = self.levels.iter().enumerate().filter_map(|(i, level)| Some((level.matches.as_ref()?, i as u8)));
        let classifier = Classifier::new(matches, self.default_level().unwrap_or_default() as u8);
        let inside = self
            .levels
            .iter()
            .map(|level| {
                let site = site_within(site, level.limit, super::classes::DEFAULT_LIMIT);
                Inside::new(level.discipline.as_deref(), &site)
            })
            .collect();
        Priority { classes: Classes::new(classifier, inside, site) }
    }
    /// Returns the index of the level for packets that match no level. `None`: there is no level of that name.
    fn default_level(&self) -> Option<usize> {
        let named = |name: &str| self.levels.iter().position(|level| level.name.as_deref() == Some(name));
        match &self.default {
            Some(name) => named(name),
            None => named("normal").or(self.levels.len().checked_sub(1)),
        }
    }
    /// Refuses an empty list of levels, invalid levels, and a default level that does not exist.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.levels.is_empty() {
            return Err(Invalid::new("levels", "there are no levels; write at least one, or leave `levels` out"));
        }
        check_names("levels", self.levels.iter().map(|level| level.name.as_ref()))?;
        for (i, level) in self.levels.iter().enumerate() {
            let every = Match::every();
            let matches = level.matches.as_ref().unwrap_or(&every);
            check_class(&format!("levels[{i}]"), matches, level.limit, level.discipline.as_deref())?;
        }
        match (&self.default, self.default_level()) {
            (Some(name), None) => {
                let names = || self.levels.iter().filter_map(|level| level.name.as_deref());
                let advice = suggest(name, names()).map_or_else(
                    || format!("the levels are {}", listed(names())),
                    |near| format!("did you mean `{near}`?"),
                );
                Err(Invalid::new("default", format!("no level is named `{name}`; {advice}")))
            }
            _ => Ok(()),
        }
    }
    /// Passes the path, the match and the inner discipline of each level to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        for (i, level) in self.levels.iter_mut().enumerate() {
            f(format!("levels[{i}]"), level.matches.as_mut(), level.discipline.as_deref_mut());
        }
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        any_marks(self.levels.iter().map(|level| &level.discipline))
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        for (i, level) in self.levels.iter().enumerate() {
            if let Some(spec) = &level.discipline {
                let site = site_within(site, level.limit, super::classes::DEFAULT_LIMIT);
                inside(&format!("levels[{i}].discipline"), &**spec, &site, f);
            }
        }
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

/// Reason why `default` is fixed during a run.
const DEFAULT_FIXED: &str = "it decides which packets wait in the level";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fn levels(params: &Params) -> impl ExactSizeIterator<Item = Identity<'_>> {
            params.levels.iter().map(|level| Identity {
                name: level.name.as_ref(),
                parent: None,
                matches: level.matches.as_ref(),
                discipline: level.discipline.as_deref(),
            })
        }
        check_classes_retune("levels", levels(self), levels(to))?;
        fixed("default", self.default_level(), to.default_level(), DEFAULT_FIXED)
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
    super::classes::as_classes!(all);
    fn state_bytes(&self) -> usize {
        self.classes.state_bytes()
    }
}
