//! The parameters of hierarchical fair service curves.

use super::Curve;
use crate::classify::Match;
use crate::discipline::classes::{Part, check_class, check_names, site_within};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::{Accounting, Site, Spec, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, listed, suggest};
use tailback_units::Amount;

/// Hierarchical fair service curves (Stoica, Zhang and Ng, SIGCOMM 1997), as Linux has them: each leaf with a real-time curve is
/// served by its deadlines, whatever its place in the hierarchy; what is left is shared by link-sharing curves in virtual time,
/// and a class with an upper-limit curve takes no more than that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// The classes, at most 250, a parent before its children.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Name of the leaf for packets without a match. Default: these are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Bytes that curves count of a packet beyond what buffers count. Default "0B".
    #[serde(default)]
    pub accounting: Accounting,
}

/// A class. It has `rt`, `ls` or both; one with children has `ls`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Its name, unique.
    pub name: String,
    /// Name of the class that it is a part of; absent, of the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Of a leaf: packets that belong to it, unless an earlier class takes them. Default: no packets, except in the default
    /// class.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Match>,
    /// Of a leaf: real-time curve, what it is guaranteed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rt: Option<Curve>,
    /// Link-sharing curve, its share of what its parent has beside guarantees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ls: Option<Curve>,
    /// Upper-limit curve of what link-sharing gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ul: Option<Curve>,
    /// Of a leaf: limit in packets or bytes. Default "1000packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within a leaf. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Limit of a leaf that says nothing, packets: the length of an Ethernet device's queue in Linux.
pub(super) const LIMIT: u64 = 1_000;
/// Deepest nesting.
const DEEPEST: usize = 16;

impl Params {
    /// The place of a class by name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }
    /// Returns `true` if a class has no children.
    pub(super) fn is_leaf(&self, place: usize) -> bool {
        let name = self.classes.get(place).map(|class| &class.name);
        !self.classes.iter().any(|class| class.parent.as_ref() == name)
    }
    fn depth(&self, mut place: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.classes[place].parent.as_ref().and_then(|name| self.place(name)) {
            (place, depth) = (parent, depth + 1);
        }
        depth
    }
    /// The classes form trees, each has a curve, and each curve gives something.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.accounting.check("accounting")?;
        check_names("classes", self.classes.iter().map(|class| Some(&class.name)))?;
        let mut above: Vec<&str> = Vec::new();
        for (i, class) in self.classes.iter().enumerate() {
            let field = format!("classes[{i}]");
            let invalid = |key: &str, message: String| Err(Invalid::new(format!("{field}.{key}"), message));
            if let Some(parent) = class.parent.as_deref().filter(|parent| !above.contains(parent)) {
                let hint = suggest(parent, above.iter().copied()).map_or_else(
                    || format!("the classes above are {}", listed(above.clone())),
                    |near| format!("did you mean `{near}`?"),
                );
                return invalid("parent", format!("no class above is named `{parent}`; {hint}"));
            }
            above.push(&class.name);
            if self.depth(i) >= DEEPEST {
                return invalid("parent", format!("classes are more than {DEEPEST} deep; flatten them"));
            }
            if class.rt.is_none() && class.ls.is_none() {
                return Err(Invalid::new(field, "what the class gets is not said; write `rt`, `ls` or both"));
            }
            if class.ul.is_some() && class.ls.is_none() {
                return invalid("ul", "it limits what link-sharing gives; write `ls`, too".to_owned());
            }
            for (key, curve) in [("rt", class.rt), ("ls", class.ls), ("ul", class.ul)] {
                let Some(curve) = curve else { continue };
                check::pause(&format!("{field}.{key}.d"), curve.d)?;
                if curve.m2.0 == 0 && (curve.m1.0 == 0 || curve.d.0 == 0 || key != "rt") {
                    return invalid(
                        &format!("{key}.m2"),
                        "it gives nothing in the long run; write a rate above 0bit/s".to_owned(),
                    );
                }
            }
            let every = Match::every();
            let matches = class.matches.as_ref().unwrap_or(&every);
            check_class(&field, matches, class.limit, class.discipline.as_deref())?;
            if !self.is_leaf(i) {
                let own = [
                    ("match", class.matches.is_some()),
                    ("discipline", class.discipline.is_some()),
                    ("limit", class.limit.is_some()),
                    ("rt", class.rt.is_some()),
                ];
                if let Some((key, _)) = own.iter().find(|(_, given)| *given) {
                    return invalid(
                        key,
                        format!("`{}` has children and holds no packets; move this to a leaf", class.name),
                    );
                }
            }
        }
        match self.default.as_deref().map(|name| (name, self.place(name))) {
            Some((name, None)) => {
                let message = format!("no class is named `{name}`; the classes are {}", listed(above.clone()));
                Err(Invalid::new("default", message))
            }
            Some((name, Some(place))) if !self.is_leaf(place) => {
                Err(Invalid::new("default", format!("`{name}` has children and holds no packets; name a leaf")))
            }
            _ => Ok(()),
        }
    }
    /// Visits the matches and disciplines of the classes, each with its path.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        for (i, class) in self.classes.iter_mut().enumerate() {
            f(format!("classes[{i}]"), class.matches.as_mut(), class.discipline.as_deref_mut());
        }
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        any_marks(self.classes.iter().map(|class| &class.discipline))
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        for (i, class) in self.classes.iter().enumerate() {
            if let Some(spec) = &class.discipline {
                let site = site_within(site, class.limit, LIMIT);
                inside(&format!("classes[{i}].discipline"), &**spec, &site, f);
            }
        }
    }
}
