//! The parameters of the hierarchical token bucket.

use crate::classify::Match;
use crate::discipline::classes::{Identity, Part, check_class, check_classes_retune, check_names, site_within};
use crate::retune::{Fixed, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::{Accounting, Burst, Site, Spec, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, listed, suggest};
use tailback_units::{Amount, Rate, Size};

/// Hierarchical token bucket, as in Linux (Devera, HTB manual, 2002): a leaf is assured its `rate`,
/// and borrows unused rate of its ancestors up to its `ceil`. Leaves with a smaller `prio` borrow
/// first; leaves of the same priority take turns, a `quantum` each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Classes, at most 250; a parent must precede its children. Default: no classes, so that
    /// nothing is shaped.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Name of the leaf for packets that match no class. Default: such packets are not shaped and
    /// are served first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub default: Option<String>,
    /// Divisor of the rate in byte/s that gives the default of `quantum`, which is limited to 1000
    /// B to 200000 B; 1 to 1000000. Default 10.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub r2q: u32,
    /// Overhead: bytes that buckets count for a packet in addition to its buffer bytes. Default "0B".
    #[serde(default)]
    pub accounting: Accounting,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Name, unique among the classes.
    #[schemars(extend("x-fixed" = Identity::NAME_FIXED))]
    pub name: String,
    /// Name of the parent class, from which this class borrows. Default: no parent, so that the class does not borrow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::PARENT_FIXED))]
    pub parent: Option<String>,
    /// Leaf only: packets that belong to the class, unless they match an earlier class. Default: no packets,
    /// except in the default class.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub matches: Option<Match>,
    /// Assured rate, above 0.
    pub rate: Rate,
    /// Ceiling: largest rate, borrowed rate included, at least `rate`. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceil: Option<Rate>,
    /// Burst size at `rate`. Default: 1 ms at that rate plus 1600 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Burst size at `ceil`. Default: 1 ms at that rate plus 1600 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cburst: Option<Burst>,
    /// Overhead of this class's own buckets. Default: `accounting` of the discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// Priority of a leaf in borrowing, 0 (first) to 7. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub prio: u8,
    /// Leaf only: wire bytes per turn, 1 B to 1 GB. Default: `rate` in byte/s divided by `r2q`,
    /// limited to 1000 B to 200000 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Leaf only: limit in packets or bytes. Default "1000packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Leaf only: discipline within the class. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

fn ten() -> u32 {
    10
}

/// Upper bound on the levels of the hierarchy, as in Linux.
const MAX_DEPTH: usize = 8;

/// Default limit of a leaf, packets.
pub(super) const LIMIT: u64 = 1_000;

impl Params {
    /// Returns the index of a class by name. `None`: there is no such class.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }
    /// Returns `true` if a class has no children.
    pub(super) fn is_leaf(&self, place: usize) -> bool {
        let name = &self.classes[place].name;
        !self.classes.iter().any(|class| class.parent.as_ref() == Some(name))
    }
    /// Returns the number of ancestors of a class.
    pub(super) fn depth(&self, mut place: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.classes[place].parent.as_ref().and_then(|name| self.place(name)) {
            (place, depth) = (parent, depth + 1);
        }
        depth
    }
    /// Refuses a parent that does not precede its child, and parameters out of range or without effect on their class.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.accounting.check("accounting")?;
        check::within("r2q", f64::from(self.r2q), 1.0, 1e6)?;
        check_names("classes", self.classes.iter().map(|class| Some(&class.name)))?;
        let advice = |name: &str, names: &[&str]| {
            suggest(name, names.iter().copied()).map_or_else(
                || format!("the classes are {}", listed(names.iter().copied())),
                |near| format!("did you mean `{near}`?"),
            )
        };
        let mut above: Vec<&str> = Vec::new();
        for (i, class) in self.classes.iter().enumerate() {
            let field = format!("classes[{i}]");
            let invalid = |key: &str, message: String| Err(Invalid::new(format!("{field}.{key}"), message));
            if let Some(parent) = class.parent.as_deref().filter(|parent| !above.contains(parent)) {
                return invalid("parent", format!("no class above is named `{parent}`; {}", advice(parent, &above)));
            }
            above.push(&class.name);
            if self.depth(i) >= MAX_DEPTH {
                return invalid("parent", format!("classes are more than {MAX_DEPTH} deep; flatten them"));
            }
            if class.rate.0 == 0 {
                return invalid("rate", "the assured rate is zero; write a rate above 0bit/s".to_owned());
            }
            if let Some(ceil) = class.ceil.filter(|ceil| *ceil < class.rate) {
                return invalid("ceil", format!("{ceil} is below the rate; write at least {}", class.rate));
            }
            for (name, burst) in [("burst", class.burst), ("cburst", class.cburst)] {
                burst.map_or(Ok(()), |burst| burst.check(&format!("{field}.{name}")))?;
            }
            class.accounting.map_or(Ok(()), |accounting| accounting.check(&format!("{field}.accounting")))?;
            check::within(&format!("{field}.prio"), f64::from(class.prio), 0.0, 7.0)?;
            if class.quantum.is_some_and(|quantum| !(1..=1_000_000_000).contains(&quantum.0)) {
                return invalid(
                    "quantum",
                    "the quantum is out of range; write 1B to 1GB, such as \"1514B\"".to_owned(),
                );
            }
            let every = Match::every();
            let matches = class.matches.as_ref().unwrap_or(&every);
            check_class(&field, matches, class.limit, class.discipline.as_deref())?;
            if !self.is_leaf(i) && (class.matches.is_some() || class.discipline.is_some() || class.limit.is_some()) {
                let key = if class.matches.is_some() {
                    "match"
                } else if class.discipline.is_some() {
                    "discipline"
                } else {
                    "limit"
                };
                return invalid(
                    key,
                    format!("`{}` has children and holds no packets; move this to a leaf", class.name),
                );
            }
        }
        match self.default.as_deref().map(|name| (name, self.place(name))) {
            Some((name, None)) => {
                Err(Invalid::new("default", format!("no class is named `{name}`; {}", advice(name, &above))))
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
