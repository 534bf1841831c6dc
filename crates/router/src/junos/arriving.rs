//! Treatment of arriving packets: classifiers assign a forwarding class by code point, then filters may reassign,
//! police or discard packets ("Configuring Multifield Classifiers", Junos OS Class of Service User Guide: the behavior
//! aggregate classifier comes first, and the filter overrides it).
//!
//! A forwarding class is represented by the router-internal mark [`Mark::TrafficClass`], whose value is the index of
//! the class.

use super::builder::Builder;
use super::cos::{Table, part};
use super::defaults;
use super::firewall::{End, Filter, drop_all};
use super::values::Field;
use crate::ir::{Class, Mark, Match, Police, Policy, Queue, Rule};
use crate::{Place, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound on the number of `next term` actions of one filter.
const MAX_NEXT_TERMS: usize = 8;
/// Upper bound on the number of policies of one base name that a new one is compared with.
const MAX_COMPARED: usize = 50;
/// Name of the policy of ports without a classifier.
pub(super) const DEFAULT_CLASSIFIER: &str = "default classifier";

/// Treatment of arriving packets at a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Names of classifiers, and their places, by field.
    pub tables: BTreeMap<Field, (String, Place)>,
    /// Index of the forwarding class of all packets (fixed classifier); `None`: the classifiers decide.
    pub class: Option<usize>,
    /// Names of the filters for IPv4 and for IPv6, and their places; `None`: no filter.
    pub filters: [Option<(String, Place)>; 2],
    /// Name of the policer of all IPv4 packets, and its place; `None`: no policer.
    pub policer: Option<(String, Place)>,
}

impl Arrival {
    pub fn is_empty(&self) -> bool {
        *self == Arrival::default()
    }
}

impl Builder<'_> {
    /// Returns the name of the policy of arriving packets; `None`: the unit has no such statements. `port` is the
    /// port's name.
    pub(super) fn arriving(&mut self, own: &Arrival, port: &str) -> Option<String> {
        if own.is_empty() {
            return None;
        }
        self.report.enter(Scope::Port(port.to_owned()));
        let mut parts = BTreeSet::new();
        let inner = self.filters(own, port, &mut parts);
        let mut policy = self.classified(own, inner.as_deref(), &mut parts);
        policy.parts.extend(parts);
        let name = self.add_policy(policy);
        let Some((policer, at)) = &own.policer else { return Some(name) };
        let Some(found) = self.firewall.policers.get(policer).cloned() else {
            let message = format!("there is no policer `{policer}`, or it is not supported");
            self.report.unsupported(*at, message, Some("define it under `firewall policer`"));
            return Some(name);
        };
        let class = Class {
            name: "class-default".to_owned(),
            police: Some(found.police),
            queue: Queue::Policy(name),
            at: *at,
            ..Class::default()
        };
        let parts = vec![format!("policer {policer}")];
        Some(self.add_policy(Policy {
            name: format!("policer {policer} of {port}"),
            default: Some(class.name.clone()),
            classes: vec![class],
            at: *at,
            parts,
            ..Policy::default()
        }))
    }

    /// Returns the policy of the classifiers; each of its classes contains the filters' policy `inner`.
    fn classified(&mut self, own: &Arrival, inner: Option<&str>, parts: &mut BTreeSet<String>) -> Policy {
        let mut rules: Vec<(Match, usize)> = Vec::new();
        let mut names = Vec::new();
        let mut rest = self.cos.default_class(0);
        if let Some(class) = own.class {
            rest = class;
        } else {
            let mut tables = own.tables.clone();
            let ip = tables.contains_key(&Field::Dscp) || tables.contains_key(&Field::Precedence);
            for (field, why) in [(Field::Cos, "VLAN priority"), (Field::Exp, "MPLS label")] {
                if ip && let Some((name, at)) = tables.remove(&field) {
                    let message = format!(
                        "the unit has a classifier for IP, and `{name}` for the {why}: packets are classified by IP alone"
                    );
                    self.report.unsupported(at, message, None);
                }
            }
            if tables.contains_key(&Field::Dscp)
                && let Some((name, at)) = tables.remove(&Field::Precedence)
            {
                let message = format!(
                    "the unit has a classifier for the DSCP, and `{name}` for the precedence: the one for the DSCP is used"
                );
                self.report.warning(at, message, "a router accepts one of the two for IPv4");
            }
            if let Some((name, at)) = tables.get(&Field::Exp) {
                let message =
                    format!("all packets are assumed to have an MPLS label, by which `{name}` classifies them");
                self.report.warning(*at, message, "a router classifies packets without a label by their precedence");
            }
            for (field, (name, at)) in &tables {
                let Some(table) = self.cos.tables.get(&(*field, name.clone())).cloned() else {
                    let message = format!("there is no classifier `{name}` of type {}", field.name());
                    self.report.error(*at, message, "define it under `class-of-service classifiers`");
                    continue;
                };
                let _ = parts.insert(format!("classifier {name}"));
                names.push(format!("classifier {name}"));
                self.losses_of(*field, &table);
                for (class, codes) in by_class(&table) {
                    let when = match field {
                        Field::Dscp => Match::Dscp(codes),
                        Field::Dscp6 => Match::All(vec![Match::Protocol("ipv6".to_owned()), Match::Dscp(codes)]),
                        Field::Precedence => Match::Precedence(codes),
                        Field::Exp => Match::Experimental(codes),
                        Field::Cos => Match::Cos(codes),
                    };
                    // The rules for IPv6 come first, since those for IPv4 do not test the IP version.
                    let index = if *field == Field::Dscp6 { 0 } else { rules.len() };
                    rules.insert(index, (when, class));
                }
            }
            let only_v6 = tables.keys().all(|field| *field == Field::Dscp6);
            if only_v6 {
                names.push(DEFAULT_CLASSIFIER.to_owned());
                let _ = parts.insert(DEFAULT_CLASSIFIER.to_owned());
                rules.extend(self.default_rules());
                if !own.is_empty() {
                    let _ = self.losses.insert((0..64).map(|code: u8| defaults::compatible(code >> 3).1).collect());
                }
            }
        }
        let reached: BTreeSet<usize> = rules.iter().map(|(_, class)| *class).chain([rest]).collect();
        self.reached.extend(&reached);
        let name_of = |class: usize| self.cos.classes.get(class).map_or("", |class| class.name.as_str()).to_owned();
        let classes = reached.iter().map(|class| Class {
            name: name_of(*class),
            set: vec![Mark::TrafficClass(u8::try_from(*class).unwrap_or(u8::MAX))],
            queue: inner.map_or(Queue::Fifo, |inner| Queue::Policy(inner.to_owned())),
            ..Class::default()
        });
        let mut name = match (own.class, names.as_slice()) {
            (Some(class), _) => format!("class {}", name_of(class)),
            (None, names) => names.join(" and "),
        };
        if let Some(inner) = inner {
            name = format!("{name}, {inner}");
        }
        Policy {
            name,
            default: Some(name_of(rest)),
            rules: rules
                .into_iter()
                .map(|(when, class)| Rule { when, class: name_of(class), police: None, at: Place::default() })
                .collect(),
            classes: classes.collect(),
            ..Policy::default()
        }
    }

    /// Returns the rules of `ipprec-compatibility`, the classifier of ports without one.
    fn default_rules(&self) -> Vec<(Match, usize)> {
        let mut found: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for precedence in 0..8 {
            let class = self.cos.default_class(defaults::compatible(precedence).0);
            found.entry(class).or_default().push(precedence);
        }
        found.into_iter().map(|(class, all)| (Match::Precedence(all), class)).collect()
    }

    /// Returns the name of the policy of ports with neither classifier nor filter.
    pub(super) fn default_arrival(&mut self) -> String {
        self.report.enter(Scope::Part(DEFAULT_CLASSIFIER.to_owned()));
        self.report.assumed(
            Place::default(),
            "without a classifier, packets of precedence 6 and 7 are network-control and all others best-effort \
             (`ipprec-compatibility`, \"Default IP Precedence Classifier\", Junos OS Class of Service User Guide)",
            "apply a classifier to the input interfaces, or name it in the column `input`",
        );
        let made = self.classified(&Arrival::default(), None, &mut BTreeSet::new());
        let policy = Policy { name: DEFAULT_CLASSIFIER.to_owned(), parts: vec![DEFAULT_CLASSIFIER.to_owned()], ..made };
        self.add_policy(policy)
    }

    /// Returns the name of the policy of a unit's filters; `None`: it has none. The names of its parts are added to
    /// `parts`.
    fn filters(&mut self, own: &Arrival, port: &str, parts: &mut BTreeSet<String>) -> Option<String> {
        let mut found = [None, None];
        for (v6, slot) in [(false, 0usize), (true, 1)] {
            let Some((name, at)) = own.filters.get(slot).cloned().flatten() else { continue };
            let Some(filter) = self.firewall.filters.get(&(v6, name.clone())).cloned() else {
                let message = format!("there is no filter `{name}` for {}", if v6 { "inet6" } else { "inet" });
                self.report.unsupported(at, message, Some("paste `firewall`, too"));
                continue;
            };
            let _ = parts.insert(format!("filter {name}"));
            parts.extend(filter.terms.iter().filter_map(|term| Some(format!("policer {}", term.policer.as_ref()?))));
            if let Some(made) = found.get_mut(slot) {
                *made = Some(self.filter(v6, &name, &filter));
            }
        }
        let class_of = |inner: &Option<String>, name: &str| {
            inner.as_ref().map(|inner| Class {
                name: name.to_owned(),
                queue: Queue::Policy(inner.clone()),
                ..Class::default()
            })
        };
        let classes: Vec<Class> =
            found.iter().zip(["ip", "ipv6"]).filter_map(|(inner, name)| class_of(inner, name)).collect();
        let inner: Vec<&str> = found.iter().flatten().map(String::as_str).collect();
        let name = inner.join(" and ");
        if classes.is_empty() {
            return None;
        }
        let rules = classes.iter().map(|class| Rule {
            when: Match::Protocol(class.name.clone()),
            class: class.name.clone(),
            police: None,
            at: Place::default(),
        });
        let policy = Policy { name: format!("{name} by family"), rules: rules.collect(), classes, ..Policy::default() };
        let _ = port;
        Some(self.add_policy(policy))
    }

    /// Returns the name of the policy of a filter; the first call for a filter adds the policy.
    fn filter(&mut self, v6: bool, name: &str, filter: &Filter) -> String {
        let key = (v6, name.to_owned());
        if let Some(known) = self.filter_policies.get(&key) {
            return known.clone();
        }
        self.filter_notes(name, filter, true);
        let title = format!("filter {name}{}", if v6 { " of inet6" } else { "" });
        let nexts: Vec<usize> =
            filter.terms.iter().enumerate().filter(|(_, term)| term.end == End::Next).map(|(index, _)| index).collect();
        self.report.enter(part("filter", name));
        if let Some(term) = nexts.get(MAX_NEXT_TERMS).and_then(|index| filter.terms.get(*index)) {
            let message = format!(
                "filter `{name}`: more than {MAX_NEXT_TERMS} terms have `next term`; from this term on it is taken as `accept`"
            );
            self.report.unsupported(term.at, message, None);
        }
        // The terms after a `next term` become a policy of their own. The last such policy is built first.
        let mut starts: Vec<usize> = nexts.iter().take(MAX_NEXT_TERMS).map(|index| index + 1).collect();
        starts.insert(0, 0);
        let called = |start: usize| if start == 0 { title.clone() } else { format!("{title} from term {}", start + 1) };
        let mut first = title.clone();
        for start in starts.into_iter().rev() {
            let mut policy = Policy {
                name: called(start),
                default: Some("no term".to_owned()),
                at: filter.at,
                parts: vec![format!("filter {name}")],
                ..Policy::default()
            };
            for (index, term) in filter.terms.iter().enumerate().skip(start) {
                let mut class = Class { name: term.name.clone(), at: term.at, ..Class::default() };
                if let Some(own) = term.class {
                    let _ = self.reached.insert(own);
                    class.set.push(Mark::TrafficClass(u8::try_from(own).unwrap_or(u8::MAX)));
                }
                class.set.extend(term.dscp.map(Mark::Dscp));
                class.police = match term.end {
                    End::Discard => Some(drop_all()),
                    _ => self.policer_of(term.policer.as_ref()),
                };
                if term.end == End::Next && nexts.iter().take(MAX_NEXT_TERMS).any(|next| *next == index) {
                    class.queue = Queue::Policy(called(index + 1));
                }
                policy.rules.push(Rule {
                    when: term.when.clone(),
                    class: term.name.clone(),
                    police: None,
                    at: term.at,
                });
                policy.classes.push(class);
            }
            // Packets that match no term are discarded.
            let rest =
                Class { name: "no term".to_owned(), police: Some(drop_all()), at: filter.at, ..Class::default() };
            policy.classes.push(rest);
            first = self.add_policy(policy);
        }
        let _ = self.filter_policies.insert(key, first.clone());
        first
    }

    /// Returns a policer by name; `None`: no name, or not defined.
    pub(super) fn policer_of(&self, name: Option<&String>) -> Option<Police> {
        Some(self.firewall.policers.get(name?)?.police.clone())
    }

    /// Reports what is not simulated of a filter; `arriving`: the filter is for arriving packets.
    pub(super) fn filter_notes(&mut self, name: &str, filter: &Filter, arriving: bool) {
        self.report.enter(part("filter", name));
        let mut meters: BTreeMap<&str, usize> = BTreeMap::new();
        for term in &filter.terms {
            if arriving && depends_on_class(&term.when) {
                let message = format!(
                    "term `{}` of filter `{name}` matches on the forwarding class of arriving packets, which is not simulated",
                    term.name
                );
                self.report.unsupported(term.at, message, Some("match on the code point instead"));
            }
            if let Some(policer) = &term.policer {
                *meters.entry(policer).or_default() += 1;
            }
        }
        for (policer, terms) in meters {
            if terms > 1 && self.firewall.policers.get(policer).is_some_and(|own| own.filter_specific) {
                let message = format!(
                    "filter `{name}`: {terms} terms share the policer `{policer}` (`filter-specific`); here each term has a policer of its own"
                );
                self.report.unsupported(filter.at, message, None);
            }
        }
    }

    /// Adds a policy unless there is an equal one; returns its name, with a number appended if the name is taken.
    pub(super) fn add_policy(&mut self, mut policy: Policy) -> String {
        policy.parts.sort();
        policy.parts.dedup();
        let base = policy.name.clone();
        for index in self.names.get(&base).into_iter().flatten().take(MAX_COMPARED) {
            let Some(known) = self.config.policies.get(*index) else { continue };
            policy.name.clone_from(&known.name);
            if *known == policy {
                return policy.name;
            }
        }
        let known = self.names.entry(base.clone()).or_default();
        known.push(self.config.policies.len());
        policy.name = if known.len() == 1 { base } else { format!("{base} ({})", known.len()) };
        let name = policy.name.clone();
        self.config.policies.push(policy);
        name
    }

    /// Records the loss priorities that a classifier assigns to code points.
    fn losses_of(&mut self, field: Field, table: &Table) {
        let losses = |code: u8| -> u8 {
            let index = match field {
                Field::Dscp | Field::Dscp6 => code,
                Field::Precedence => code >> 3,
                Field::Exp | Field::Cos => return u8::MAX,
            };
            table.of.get(usize::from(index)).map_or(0, |(_, loss)| *loss)
        };
        let _ = self.losses.insert((0..64).map(losses).collect());
    }
}

/// Returns the code points of each class, by the index of the class.
fn by_class(table: &Table) -> BTreeMap<usize, Vec<u8>> {
    let mut found: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for (code, (class, _)) in table.of.iter().enumerate() {
        found.entry(*class).or_default().push(u8::try_from(code).unwrap_or(u8::MAX));
    }
    found
}

/// `true` if a condition depends on the forwarding class.
fn depends_on_class(when: &Match) -> bool {
    match when {
        Match::TrafficClass(_) => true,
        Match::Not(inner) => depends_on_class(inner),
        Match::All(all) | Match::AnyOf(all) => all.iter().any(depends_on_class),
        _ => false,
    }
}
