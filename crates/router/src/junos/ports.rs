//! Readers of the sections `interfaces` and `class-of-service interfaces`, and builders of the ports.

use super::arriving::Arrival;
use super::builder::Builder;
use super::cos::{Transmit, shaping};
use super::firewall::{End, drop_all};
use super::groups::wildcard;
use super::queues::Departure;
use super::tree::{Id, OPAQUE, ROOT, Tree};
use super::values::{Field, rate};
use super::{conditions, defaults};
use crate::ir::{Class, Match, Medium, Net, Police, Policy, Port, Queue, Rule};
use crate::{Place, Report, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound on the number of terms of an output filter: the condition of a term also has the negated conditions of
/// all terms before it.
const MAX_TERMS: usize = 100;
/// Upper bound on the number of conditions of all output filters; a filter of n terms counts as n².
pub(super) const MAX_CONDITIONS: usize = 100_000;

/// A unit: a logical interface.
#[derive(Clone, Debug, Default)]
struct Unit {
    arrival: Arrival,
    /// Networks of its addresses.
    networks: Vec<Net>,
    /// Names of the output filters for IPv4 and for IPv6, and their places; `None`: no filter.
    filters: [Option<(String, Place)>; 2],
    /// Name of the output policer, and its place; `None`: no policer.
    policer: Option<(String, Place)>,
    scheduling: Scheduling,
    /// Name of the policy of arriving packets; `None`: the default one.
    input: Option<String>,
    at: Place,
}

/// Scheduling at an interface or a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scheduling {
    /// Name of the scheduler map, and its place; `None`: the default schedulers.
    map: Option<(String, Place)>,
    /// Shaping rate, and burst in bytes (`None`: not stated); `None`: no shaper.
    shaping: Option<(Transmit, Option<u64>)>,
    /// Name of the traffic control profile, and its place; `None`: no profile. Its map and rate override the two above.
    profile: Option<(String, Place)>,
}

/// A physical interface.
#[derive(Clone, Debug, Default)]
struct Interface {
    /// Rate of the link in bit/s; `None`: neither the name nor `speed` determines it.
    rate: Option<u64>,
    /// `true` if frames have a VLAN tag.
    tagged: bool,
    /// Link-layer protocol, as written; `None`: not stated.
    encapsulation: Option<String>,
    scheduling: Scheduling,
    /// Units by number.
    units: BTreeMap<String, Unit>,
    at: Place,
}

/// Reads all interfaces and builds ports.
pub(super) fn read(tree: &mut Tree, builder: &mut Builder<'_>) {
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    let mut order = Vec::new();
    // In place of a missing section: an index of no node, which has no children.
    let section = tree.child(ROOT, "interfaces").unwrap_or(usize::MAX);
    for node in tree.children(section) {
        let name = tree.word(node).to_owned();
        if name == "interface-range" || name == "traceoptions" {
            continue;
        }
        order.push(name.clone());
        let made = interface(tree, node, &name, &mut builder.report);
        let _ = found.insert(name, made);
    }
    let section = tree.path(ROOT, &["class-of-service", "interfaces"]).unwrap_or(usize::MAX);
    let all = tree.children(section);
    for node in &all {
        let name = tree.word(*node).to_owned();
        if !name.contains('*')
            && !matches!(name.as_str(), "interface-set" | "all" | "unit")
            && !found.contains_key(&name)
        {
            let at = tree.at(*node);
            order.push(name.clone());
            let made = Interface { rate: rate_of(&name), at, ..Interface::default() };
            let _ = found.insert(name, made);
        }
    }
    // Statements about one interface override those about several, so they are read last.
    let (many, single): (Vec<Id>, Vec<Id>) =
        all.into_iter().partition(|id| tree.word(*id).contains('*') || tree.word(*id) == "all");
    for node in many.into_iter().chain(single) {
        let pattern = if tree.word(node) == "all" { "*".to_owned() } else { tree.word(node).to_owned() };
        if pattern == "interface-set" {
            continue;
        }
        // A statement about several interfaces is read once for each; its remarks are reported for the first only.
        let (mut first, mut quiet) = (true, Report::default());
        for (name, interface) in found.iter_mut().filter(|(name, _)| wildcard(&pattern, name)) {
            let report = if first { &mut builder.report } else { &mut quiet };
            report.enter(if pattern == *name { Scope::Port(name.clone()) } else { Scope::Everything });
            class_of_service(tree, node, interface, builder.cos, report);
            first = false;
        }
    }
    // All input policies are built before the ports: they determine the classes that packets may have.
    for name in &order {
        let Some(interface) = found.get_mut(name) else { continue };
        let several = interface.units.len() > 1;
        if is_internal(name) {
            continue;
        }
        for (number, unit) in &mut interface.units {
            let title = if several { format!("{name}.{number}") } else { name.clone() };
            unit.input = builder.arriving(&unit.arrival, &title);
        }
    }
    builder.config.arrival = Some(builder.default_arrival());
    if builder.losses.is_empty() {
        let usual = (0..64).map(|code: u8| defaults::compatible(code >> 3).1);
        let _ = builder.losses.insert(usual.collect());
    }
    for name in order {
        if let Some(interface) = found.remove(&name) {
            builder.interface(&name, &interface);
        }
    }
}

/// `true` for internal interfaces, which receive no forwarded packets.
fn is_internal(name: &str) -> bool {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(kind, "lo" | "fxp" | "em" | "me" | "vme" | "re0:mgmt-" | "mgmt_junos")
}

/// Returns the rate in bit/s that follows from an interface's name; `None`: the name does not determine it.
fn rate_of(name: &str) -> Option<u64> {
    let (kind, _) = name.split_once('-')?;
    defaults::RATES.iter().find(|(known, _)| *known == kind).map(|(_, rate)| *rate)
}

/// Returns the type of link that follows from an interface's name and VLAN tagging.
fn medium(name: &str, interface: &Interface) -> Medium {
    let kind = name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match kind {
        "fe" | "ge" | "xe" | "et" | "ae" | "reth" | "irb" if interface.tagged => Medium::Dot1q,
        "fe" | "ge" | "xe" | "et" | "ae" | "reth" | "irb" => Medium::Ethernet,
        "t" | "e" | "so" | "se" | "ds" | "ml" | "lsq" => Medium::Serial,
        "pp" => Medium::Pppoe,
        "at" => Medium::Atm,
        "gr" | "ip" | "st" | "lt" => Medium::Tunnel,
        _ => Medium::Unknown,
    }
}

/// Reads the section `interfaces NAME` at `node`.
fn interface(tree: &mut Tree, node: Id, name: &str, report: &mut Report) -> Interface {
    const KNOWN: [(&str, usize); 11] = [
        ("speed", 1),
        ("vlan-tagging", 0),
        ("flexible-vlan-tagging", 0),
        ("stacked-vlan-tagging", 0),
        ("encapsulation", 1),
        ("unit", OPAQUE),
        ("ether-options", 0),
        ("gigether-options", 0),
        ("fastether-options", 0),
        ("sonet-options", OPAQUE),
        ("per-unit-scheduler", 0),
    ];
    report.enter(Scope::Port(name.to_owned()));
    let mut made = Interface { rate: rate_of(name), at: tree.at(node), ..Interface::default() };
    for clause in tree.clauses(node, &KNOWN) {
        let word = clause.words.last().map_or_else(String::new, |id| tree.word(*id).to_owned());
        match tree.word(clause.key) {
            "speed" => match speed(&word) {
                Some(rate) => made.rate = Some(rate),
                None if word == "auto" || word.starts_with("auto") => {}
                None => report.unsupported(tree.at(clause.key), format!("`speed {word}` is not a rate"), None),
            },
            "vlan-tagging" | "flexible-vlan-tagging" | "stacked-vlan-tagging" => made.tagged = true,
            "encapsulation" => made.encapsulation = Some(word),
            _ => {}
        }
    }
    for unit_node in tree.child(node, "unit").map(|id| tree.children(id)).unwrap_or_default() {
        let number = tree.word(unit_node).to_owned();
        let unit = unit(tree, unit_node, report);
        let _ = made.units.insert(number, unit);
    }
    made
}

/// Parses a speed such as `100m`, `1g` or `oc3` into bit/s (ITU-T G.707: STM-1, which is OC-3, has 155.52 Mbit/s).
/// `None`: no rate, such as `auto`.
fn speed(word: &str) -> Option<u64> {
    match word.strip_prefix("oc").and_then(|level| level.parse::<u64>().ok()) {
        Some(level) if matches!(level, 1 | 3 | 12 | 48 | 192 | 768) => Some(level * 51_840_000),
        _ => rate(word),
    }
}

/// Reads addresses, filters and policers of the unit at `node`.
fn unit(tree: &mut Tree, node: Id, report: &mut Report) -> Unit {
    let mut made = Unit { at: tree.at(node), ..Unit::default() };
    for (slot, family) in ["inet", "inet6"].into_iter().enumerate() {
        let Some(family) = tree.path(node, &["family", family]) else { continue };
        let keywords = [("filter", 0), ("policer", 0), ("input", 1), ("output", 1), ("arp", 1), ("address", OPAQUE)];
        for clause in tree.clauses(family, &keywords) {
            if tree.word(clause.key) == "address" {
                let all = tree.children(clause.key);
                made.networks.extend(all.into_iter().filter_map(|id| conditions::network(tree.word(id))));
                continue;
            }
            let Some(name) = clause.words.last().map(|id| (tree.word(*id).to_owned(), tree.at(*id))) else { continue };
            let policer = tree.word(tree.node(clause.key).parent) == "policer";
            match (tree.word(clause.key), policer) {
                ("input", false) => {
                    if let Some(filter) = made.arrival.filters.get_mut(slot) {
                        *filter = Some(name);
                    }
                }
                ("output", false) => {
                    if let Some(filter) = made.filters.get_mut(slot) {
                        *filter = Some(name);
                    }
                }
                ("input", true) if slot == 0 => made.arrival.policer = Some(name),
                ("output", true) if slot == 0 => made.policer = Some(name),
                ("input" | "output", true) => {
                    report.unsupported(
                        name.1,
                        "a policer of all IPv6 packets is not simulated",
                        Some("police them in a filter"),
                    );
                }
                _ => {}
            }
        }
        for list in ["input-list", "output-list"] {
            if let Some(list) = tree.path(family, &["filter", list]) {
                tree.mark_all(list);
                report.unsupported(
                    tree.at(list),
                    "a list of filters is not simulated",
                    Some("write one filter with all terms"),
                );
            }
        }
    }
    made
}

/// Reads the statements at `node` of `class-of-service interfaces` into an interface and its units. A statement about
/// the interface sets its scheduling and the treatment of packets that arrive at all its units; one about a unit
/// overrides the latter.
fn class_of_service(tree: &mut Tree, node: Id, interface: &mut Interface, cos: &super::cos::Cos, report: &mut Report) {
    const KNOWN: [(&str, usize); 6] = [
        ("scheduler-map", 1),
        ("shaping-rate", 1),
        ("output-traffic-control-profile", 1),
        ("forwarding-class", 1),
        ("classifiers", OPAQUE),
        ("unit", OPAQUE),
    ];
    let mut arrival = Arrival::default();
    statements(tree, node, &KNOWN, &mut interface.scheduling, &mut arrival, cos, report);
    if !arrival.is_empty() {
        for unit in interface.units.values_mut() {
            apply(&arrival, &mut unit.arrival);
        }
        if interface.units.is_empty() {
            let _ = interface.units.insert("0".to_owned(), Unit { arrival, at: interface.at, ..Unit::default() });
        }
    }
    for unit_node in tree.child(node, "unit").map(|id| tree.children(id)).unwrap_or_default() {
        let pattern = tree.word(unit_node).to_owned();
        if !pattern.contains('*') && !interface.units.contains_key(&pattern) {
            let _ = interface.units.insert(pattern.clone(), Unit { at: tree.at(unit_node), ..Unit::default() });
        }
        for (_, unit) in interface.units.iter_mut().filter(|(number, _)| wildcard(&pattern, number)) {
            let mut arrival = Arrival::default();
            statements(tree, unit_node, &KNOWN, &mut unit.scheduling, &mut arrival, cos, report);
            apply(&arrival, &mut unit.arrival);
        }
    }
}

/// Overrides the classifiers and the fixed class of `arrival` by those that `new` has.
fn apply(new: &Arrival, arrival: &mut Arrival) {
    arrival.tables.extend(new.tables.iter().map(|(field, name)| (*field, name.clone())));
    arrival.class = new.class.or(arrival.class);
}

/// Reads the statements at `node` about one interface or unit, with the keywords `known`, into `scheduling` and
/// `arrival`.
fn statements(
    tree: &mut Tree,
    node: Id,
    known: &[(&str, usize)],
    scheduling: &mut Scheduling,
    arrival: &mut Arrival,
    cos: &super::cos::Cos,
    report: &mut Report,
) {
    for clause in tree.clauses(node, known) {
        let words: Vec<String> = clause.words.iter().map(|id| tree.word(*id).to_owned()).collect();
        let last = clause.words.last().map(|id| (tree.word(*id).to_owned(), tree.at(*id)));
        match tree.word(clause.key) {
            "scheduler-map" => scheduling.map = last,
            "output-traffic-control-profile" => scheduling.profile = last,
            "shaping-rate" => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let (rate, burst) = shaping(&words, tree.at(clause.key), report);
                scheduling.shaping = rate.map(|rate| (rate, burst));
            }
            "forwarding-class" => {
                if let Some(class) = last.as_ref().and_then(|(name, _)| cos.class(name)) {
                    arrival.class = Some(class);
                } else {
                    let message = "the forwarding class that is assigned to all packets is not defined";
                    report.error(tree.at(clause.key), message, "define it under `forwarding-classes`");
                }
            }
            _ => {}
        }
    }
    let Some(classifiers) = tree.child(node, "classifiers") else { return };
    for kind in tree.children(classifiers) {
        let Some(field) = Field::named(tree.word(kind)) else { continue };
        let names = tree.children(kind);
        if let Some(name) = names.last() {
            tree.mark_all(kind);
            let _ = arrival.tables.insert(field, (tree.word(*name).to_owned(), tree.at(*name)));
        }
    }
}

impl Builder<'_> {
    /// Adds the ports of an interface: one for each unit; one for the whole interface if it has no unit, or a scheduler
    /// and several units.
    fn interface(&mut self, name: &str, interface: &Interface) {
        let medium = medium(name, interface);
        let scheduled: Vec<&String> = interface
            .units
            .iter()
            .filter(|(_, unit)| unit.scheduling != Scheduling::default())
            .map(|(number, _)| number)
            .collect();
        let is_scheduled = interface.scheduling != Scheduling::default();
        self.report.enter(Scope::Port(name.to_owned()));
        if is_scheduled && !scheduled.is_empty() {
            let message = format!(
                "`{name}` has a scheduler or shaper, and so have its units: the two levels are not simulated together"
            );
            self.report.unsupported(interface.at, message, Some("simulate the unit that is shaped"));
        }
        // The port of a unit, or with "" of the whole interface.
        let base = |unit: &str| Port {
            name: if interface.units.len() > 1 && !unit.is_empty() {
                format!("{name}.{unit}")
            } else {
                name.to_owned()
            },
            medium,
            rate: interface.rate,
            encapsulation: interface.encapsulation.clone(),
            at: interface.at,
            ..Port::default()
        };
        if interface.units.len() != 1 && (is_scheduled || interface.units.is_empty()) {
            let mut port = base("");
            if is_scheduled {
                self.schedule(&mut port, &interface.scheduling, &Unit { at: interface.at, ..Unit::default() });
                let has_output = |unit: &Unit| unit.filters.iter().any(Option::is_some) || unit.policer.is_some();
                if interface.units.values().any(has_output) {
                    let message = format!(
                        "the port `{name}` of all units is simulated without their output filters and policers"
                    );
                    self.report.unsupported(interface.at, message, None);
                }
            }
            self.config.ports.push(port);
        }
        for (number, unit) in &interface.units {
            let mut port = base(number);
            port.at = unit.at;
            port.networks.clone_from(&unit.networks);
            let title = port.name.clone();
            port.input.clone_from(&unit.input);
            let scheduling = if unit.scheduling == Scheduling::default() && interface.units.len() == 1 {
                &interface.scheduling
            } else {
                &unit.scheduling
            };
            if *scheduling != Scheduling::default() {
                if scheduled.len() > 1 {
                    self.report.enter(Scope::Port(title.clone()));
                    let message = format!(
                        "the other units of `{name}` share its link, and are not simulated together with `{title}`"
                    );
                    self.report.warning(
                        unit.at,
                        message,
                        "simulate each unit separately; the link must have capacity for all of them",
                    );
                }
                self.schedule(&mut port, scheduling, unit);
            } else if unit.filters.iter().any(Option::is_some) || unit.policer.is_some() {
                // Output filters and policers apply without a scheduler, too.
                self.schedule(&mut port, scheduling, unit);
            }
            self.config.ports.push(port);
        }
    }

    /// Builds queues, output filters and policers of a port; the filters and the policer are those of `unit`.
    fn schedule(&mut self, port: &mut Port, scheduling: &Scheduling, unit: &Unit) {
        let scope = Scope::Port(port.name.clone());
        self.report.enter(scope.clone());
        let mut departure = Departure {
            map: scheduling.map.clone(),
            shaping: scheduling.shaping,
            line: port.rate,
            at: port.at,
            ..Departure::default()
        };
        if let Some((name, at)) = &scheduling.profile {
            let _ = departure.parts.insert(format!("traffic control profile {name}"));
            if let Some(profile) = self.cos.profiles.get(name).cloned() {
                departure.map = profile.map.or(departure.map);
                departure.shaping = profile.shaping.map(|rate| (rate, profile.burst)).or(departure.shaping);
            } else {
                let message = format!("there is no traffic control profile `{name}`");
                self.report.error(*at, message, "define it under `traffic-control-profiles`");
            }
        }
        let enclosing = self.output(unit, &mut departure, &port.name);
        self.report.enter(scope);
        let title = port.name.clone();
        port.root = self.departing(&departure, &title);
        // The first policy encloses the queues, and each further one the policy before.
        for mut policy in enclosing {
            for class in &mut policy.classes {
                class.queue.clone_from(&port.root.queue);
            }
            port.root.queue = Queue::Policy(self.add_policy(policy));
        }
    }

    /// Builds the output filters and the output policer of a unit. The rules by which filters assign classes are added
    /// to `departure`. The returned policies enclose its queues, in order from the innermost to the outermost: one with
    /// the policer, and one with the rules by which filters police or discard packets (Junos: the output filter precedes
    /// the output policer); a policy that would have no effect is left out. `port` is the port's name.
    fn output(&mut self, unit: &Unit, departure: &mut Departure, port: &str) -> Vec<Policy> {
        let enclosing = |rules: Vec<Rule>, police: Option<Police>, name: String, parts: BTreeSet<String>| Policy {
            name,
            default: Some("class-default".to_owned()),
            rules,
            classes: vec![Class { name: "class-default".to_owned(), police, at: unit.at, ..Class::default() }],
            at: unit.at,
            parts: parts.into_iter().collect(),
            ..Policy::default()
        };
        let mut made = Vec::new();
        let (mut rules, mut parts) = (Vec::new(), BTreeSet::new());
        for (slot, v6) in [(0usize, false), (1, true)] {
            let Some((name, at)) = unit.filters.get(slot).cloned().flatten() else { continue };
            let Some(filter) = self.firewall.filters.get(&(v6, name.clone())).cloned() else {
                let message = format!("there is no filter `{name}`");
                self.report.unsupported(at, message, Some("paste `firewall`, too"));
                continue;
            };
            let terms = filter.terms.len().min(MAX_TERMS);
            let Some(left) = self.conditions.checked_sub(terms * terms) else {
                let message = format!(
                    "the output filter `{name}` is left out: all output filters together are too long to be simulated"
                );
                self.report.unsupported(at, message, Some("paste only the filters of the simulated interface"));
                continue;
            };
            self.conditions = left;
            self.filter_notes(&name, &filter, false);
            let _ = parts.insert(format!("filter {name}"));
            // Conditions of the terms before the present one that decide about a packet.
            let mut before = Vec::new();
            let family = Match::Protocol(if v6 { "ipv6" } else { "ip" }.to_owned());
            if let Some(term) = filter.terms.get(MAX_TERMS) {
                let message = format!(
                    "the output filter `{name}` has more than {MAX_TERMS} terms: this one and those after it are left \
                     out, and packets that match only them are discarded"
                );
                self.report.unsupported(term.at, message, None);
            }
            for term in filter.terms.iter().take(MAX_TERMS) {
                let mut when = vec![family.clone(), term.when.clone()];
                if !before.is_empty() {
                    when.push(Match::Not(Box::new(Match::AnyOf(before.clone()))));
                }
                let when = Match::All(when);
                let police = match term.end {
                    End::Discard => Some(drop_all()),
                    _ => self.policer_of(term.policer.as_ref()),
                };
                if let Some(policer) = &term.policer {
                    let _ = parts.insert(format!("policer {policer}"));
                }
                if police.is_some() {
                    let class = "class-default".to_owned();
                    rules.push(Rule { when: when.clone(), class, police, at: term.at });
                }
                if let Some(class) = term.class {
                    let _ = self.reached.insert(class);
                    departure.rules.push((when, class, term.at));
                }
                if term.dscp.is_some() {
                    let message = format!(
                        "term `{}` of filter `{name}` sets code points, which has no effect on the queues of this port",
                        term.name
                    );
                    self.report.ignored(term.at, message);
                }
                match term.end {
                    End::Next if term.class.is_some() || term.policer.is_some() => {
                        let message = format!(
                            "term `{}` of the output filter `{name}` has `next term`, which is not simulated with a class or policer",
                            term.name
                        );
                        self.report.unsupported(
                            term.at,
                            message,
                            Some("its packets are not matched against further terms"),
                        );
                        before.push(term.when.clone());
                    }
                    End::Next => {}
                    _ => before.push(term.when.clone()),
                }
            }
            if !before.contains(&Match::Any) {
                // Junos discards packets that match no term.
                let unmatched = Match::All(vec![family, Match::Not(Box::new(Match::AnyOf(before)))]);
                rules.push(Rule {
                    when: unmatched,
                    class: "class-default".to_owned(),
                    police: Some(drop_all()),
                    at: filter.at,
                });
            }
        }
        departure.parts.extend(parts.iter().cloned());
        // Packets leave through the filter first, then through the policer, so the policer is nearer to the queues.
        let polices = |rule: &Rule| rule.police.as_ref().is_some_and(|police| *police != drop_all());
        if let Some((name, at)) = &unit.policer {
            if let Some(police) = self.policer_of(Some(name)) {
                if let Some(rule) = rules.iter().find(|rule| polices(rule)) {
                    let message = format!(
                        "the output policer `{name}` is not applied to packets that a term of the output filter polices"
                    );
                    self.report.unsupported(rule.at, message, Some("use one of the two policers"));
                }
                let parts = BTreeSet::from([format!("policer {name}")]);
                made.push(enclosing(Vec::new(), Some(police), format!("policer {name} of {port}"), parts));
            } else {
                let message = format!("there is no policer `{name}`, or it is not supported");
                self.report.unsupported(*at, message, Some("define it under `firewall policer`"));
            }
        }
        if !rules.is_empty() {
            made.push(enclosing(rules, None, format!("output filter of {port}"), parts));
        }
        made
    }
}
