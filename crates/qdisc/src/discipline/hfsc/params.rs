//! The parameters of hierarchical fair service curves.

use super::Curve;
use crate::classify::Match;
use crate::discipline::classes::{Identity, Part, check_class, check_classes_retune, check_names, site_within};
use crate::retune::{Fixed, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::{Accounting, Site, Spec, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, listed, suggest};
use tailback_units::Amount;

/// Hierarchical fair service curves (Stoica, Zhang and Ng, SIGCOMM 1997), as in Linux. Leaves with a real-time curve
/// are served by deadlines, whatever their place in the hierarchy. The remaining capacity is shared along the hierarchy
/// in proportion to link-sharing curves, by virtual times; an upper-limit curve bounds the service of a class by link
/// sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Classes, at most 250; a parent must precede its children.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Name of the leaf for packets that match no class. Default: such packets are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub default: Option<String>,
    /// Overhead: bytes that curves count for a packet in addition to its buffer bytes. Default
    /// "0B".
    #[serde(default)]
    pub accounting: Accounting,
}

/// A class, with `rt`, `ls` or both; a class with children needs `ls`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Name, unique among the classes.
    #[schemars(extend("x-fixed" = Identity::NAME_FIXED))]
    pub name: String,
    /// Name of the parent class. Default: the root, which is the whole link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::PARENT_FIXED))]
    pub parent: Option<String>,
    /// Leaf only: packets that belong to the class, unless they match an earlier class. Default: no packets, except in
    /// the default class.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub matches: Option<Match>,
    /// Leaf only: real-time curve, the guaranteed service. Default: no guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rt: Option<Curve>,
    /// Link-sharing curve: weight in sharing the service of its parent that guarantees leave.
    /// Default: none, so that the class gets its guaranteed service only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ls: Option<Curve>,
    /// Upper-limit curve of the service by link sharing; requires `ls`. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ul: Option<Curve>,
    /// Leaf only: limit in packets or bytes. Default "1000packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Leaf only: discipline within the class. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Default limit of a leaf, packets: that of an Ethernet device's queue in Linux.
pub(super) const LIMIT: u64 = 1_000;
/// Upper bound on the depth of the hierarchy, levels.
const MAX_DEPTH: usize = 16;

impl Params {
    /// Returns the index of a class by name. `None`: there is no such class.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }
    /// Returns `true` if a class has no children.
    pub(super) fn is_leaf(&self, place: usize) -> bool {
        let name = self.classes.get(place).map(|class| &class.name);
        !self.classes.iter().any(|class| class.parent.as_ref() == name)
    }
    /// Returns the number of ancestors of a class.
    fn depth(&self, mut place: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.classes[place].parent.as_ref().and_then(|name| self.place(name)) {
            (place, depth) = (parent, depth + 1);
        }
        depth
    }
    /// Refuses a parent that does not precede its child, classes without a curve, curves with a long-term rate of 0
    /// (except a real-time curve with a first piece), and parameters that have no effect on their class.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
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
            if self.depth(i) >= MAX_DEPTH {
                return invalid("parent", format!("classes are more than {MAX_DEPTH} deep; flatten them"));
            }
            if class.rt.is_none() && class.ls.is_none() {
                return Err(Invalid::new(field, "the class has no curve; write `rt`, `ls` or both"));
            }
            if class.ul.is_some() && class.ls.is_none() {
                return invalid("ul", "it limits the service by link sharing; write `ls`, too".to_owned());
            }
            for (key, curve) in [("rt", class.rt), ("ls", class.ls), ("ul", class.ul)] {
                let Some(curve) = curve else { continue };
                check::at_most_a_day(&format!("{field}.{key}.d"), curve.d)?;
                if curve.m2.0 == 0 && (curve.m1.0 == 0 || curve.d.0 == 0 || key != "rt") {
                    return invalid(
                        &format!("{key}.m2"),
                        "the long-term rate is zero; write a rate above 0bit/s".to_owned(),
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
    /// Passes the path, the match and the inner discipline of each class to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        for (i, class) in self.classes.iter_mut().enumerate() {
            f(format!("classes[{i}]"), class.matches.as_mut(), class.discipline.as_deref_mut());
        }
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fn classes(params: &Params) -> impl ExactSizeIterator<Item = Identity<'_>> {
            params.classes.iter().map(|class| Identity {
                name: Some(&class.name),
                parent: class.parent.as_ref(),
                matches: class.matches.as_ref(),
                discipline: class.discipline.as_deref(),
            })
        }
        check_classes_retune("classes", classes(self), classes(to))?;
        for (i, (from, to)) in self.classes.iter().zip(&to.classes).enumerate() {
            let why = "a class without this curve is served differently";
            fixed(&format!("classes[{i}].rt"), from.rt.is_some(), to.rt.is_some(), why)?;
            fixed(&format!("classes[{i}].ls"), from.ls.is_some(), to.ls.is_some(), why)?;
        }
        fixed("default", &self.default, &to.default, Identity::MATCH_FIXED)
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
