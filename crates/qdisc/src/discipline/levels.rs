//! List of named queues, each with a match, a limit and an inner discipline, of disciplines that treat all queues alike.

use super::classes::{
    Classes, DEFAULT_LIMIT, Identity, Inside, Part, check_class, check_classes_retune, check_names, site_within,
};
use crate::classify::{Classifier, Match};
use crate::retune::fixed;
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::{Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, listed, suggest};
use tailback_units::Amount;

/// A level of priority, or a queue of a user-defined scheduler.
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

/// The levels of a discipline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels<'a> {
    /// Key of the list in a document.
    pub list: &'static str,
    pub entries: &'a [Level],
    /// Name of the level for packets that match no level. `None`: "normal" if there is such a level, else the last level.
    pub default: Option<&'a str>,
}

/// Reason why `default` is fixed during a run.
pub(super) const DEFAULT_FIXED: &str = "it decides which packets wait in the level";

impl<'a> Levels<'a> {
    /// Returns empty queues; the limits of `site` hold for all levels together.
    pub fn classes(self, site: &Site) -> Classes {
        let matches = self.entries.iter().enumerate().filter_map(|(i, level)| Some((level.matches.as_ref()?, i as u8)));
        let classifier = Classifier::new(matches, self.default_level().unwrap_or_default() as u8);
        let inside = self.entries.iter().map(|level| {
            let site = site_within(site, level.limit, DEFAULT_LIMIT);
            Inside::new(level.discipline.as_deref(), &site)
        });
        Classes::new(classifier, inside.collect(), site)
    }

    /// Returns the index of the level for packets that match no level. `None`: there is no level of that name.
    fn default_level(self) -> Option<usize> {
        let named = |name: &str| self.entries.iter().position(|level| level.name.as_deref() == Some(name));
        match self.default {
            Some(name) => named(name),
            None => named("normal").or(self.entries.len().checked_sub(1)),
        }
    }

    /// Refuses an empty list, invalid levels, and a default level that does not exist.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(self) -> Result<(), Invalid> {
        let list = self.list;
        if self.entries.is_empty() {
            return Err(Invalid::new(list, format!("there are no {list}; write at least one")));
        }
        check_names(list, self.entries.iter().map(|level| level.name.as_ref()))?;
        for (i, level) in self.entries.iter().enumerate() {
            let every = Match::every();
            let matches = level.matches.as_ref().unwrap_or(&every);
            check_class(&format!("{list}[{i}]"), matches, level.limit, level.discipline.as_deref())?;
        }
        match (self.default, self.default_level()) {
            (Some(name), None) => {
                let names = || self.entries.iter().filter_map(|level| level.name.as_deref());
                let advice = suggest(name, names()).map_or_else(
                    || format!("the {list} are {}", listed(names())),
                    |near| format!("did you mean `{near}`?"),
                );
                let one = list.trim_end_matches('s');
                Err(Invalid::new("default", format!("no {one} is named `{name}`; {advice}")))
            }
            _ => Ok(()),
        }
    }

    /// Passes the path, the match and the inner discipline of each level to `f`.
    pub fn each_part(list: &str, levels: &mut [Level], f: &mut Part<'_>) {
        for (i, level) in levels.iter_mut().enumerate() {
            f(format!("{list}[{i}]"), level.matches.as_mut(), level.discipline.as_deref_mut());
        }
    }

    /// Refuses another number of levels, and another name, match, default level or inner discipline that the present one
    /// cannot become.
    ///
    /// # Errors
    /// If a change is refused; the error names the key.
    pub fn check_retune(self, to: Levels<'_>) -> Result<(), Invalid> {
        check_classes_retune(self.list, self.identities(), to.identities())?;
        fixed("default", self.default_level(), to.default_level(), DEFAULT_FIXED)
    }

    fn identities(self) -> impl ExactSizeIterator<Item = Identity<'a>> {
        self.entries.iter().map(|level| Identity {
            name: level.name.as_ref(),
            parent: None,
            matches: level.matches.as_ref(),
            discipline: level.discipline.as_deref(),
        })
    }
}

impl Signals for Levels<'_> {
    fn marks(&self) -> bool {
        any_marks(self.entries.iter().map(|level| &level.discipline))
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        for (i, level) in self.entries.iter().enumerate() {
            if let Some(spec) = &level.discipline {
                let site = site_within(site, level.limit, DEFAULT_LIMIT);
                inside(&format!("{}[{i}].discipline", self.list), &**spec, &site, f);
            }
        }
    }
}
