//! Reader of the section `firewall`: policers and filters.

use super::conditions;
use super::cos::{Cos, LOSS, part};
use super::defaults;
use super::tree::{Clause, Id, ROOT, Tree};
use super::values::{filter_dscp, number, percent, rate};
use crate::ir::{Act, Counting, Mark, Match, Police, Share};
use crate::{Place, Report, Scope};
use std::collections::BTreeMap;

/// A policer.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    pub police: Police,
    /// `true` if all terms of a filter that use the policer share one meter (`filter-specific`).
    pub filter_specific: bool,
}

/// Final action of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// The packet passes the filter.
    #[default]
    Accept,
    /// The packet is dropped.
    Discard,
    /// The next term is evaluated.
    Next,
}

/// A term of a filter; `None`: it does not have that action.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub name: String,
    pub when: Match,
    /// Index of the forwarding class that it assigns.
    pub class: Option<usize>,
    /// DSCP that it sets.
    pub dscp: Option<u8>,
    /// Name of its policer.
    pub policer: Option<String>,
    pub end: End,
    pub at: Place,
}

/// A filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub terms: Vec<Term>,
    /// `true` if each interface has policers of its own.
    pub interface_specific: bool,
    pub at: Place,
}

/// The section `firewall`.
#[derive(Debug, Default)]
pub(super) struct Firewall {
    pub policers: BTreeMap<String, Policer>,
    /// Filters. Key: `true` for IPv6, name.
    pub filters: BTreeMap<(bool, String), Filter>,
    /// Places at which filters or policers set a loss priority.
    pub losses: Vec<Place>,
}

/// Bytes that policers count: from the IP header on, without link-layer headers ("Understanding the Frame Length for
/// Policing Packets", Junos OS Routing Policies, Firewall Filters, and Traffic Policers User Guide).
const LAYER_3: Counting = Counting { overhead: 0, least: 0, cells: false, network: true };

/// Returns a policer that drops all packets.
pub(super) fn drop_all() -> Police {
    Police {
        rate: Share::Rate(8_000),
        burst: Some(1_500),
        peak: None,
        excess: None,
        conform: vec![Act::Drop],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: LAYER_3,
    }
}

impl Firewall {
    pub fn read(tree: &mut Tree, cos: &Cos, report: &mut Report) -> Firewall {
        let mut made = Firewall::default();
        let Some(section) = tree.child(ROOT, "firewall") else { return made };
        for own in tree.child(section, "policer").map(|id| tree.children(id)).unwrap_or_default() {
            made.policer(tree, own, cos, report);
        }
        for own in tree.child(section, "three-color-policer").map(|id| tree.children(id)).unwrap_or_default() {
            made.three_color(tree, own, report);
        }
        // Filters outside a family are for IPv4.
        made.read_filters(tree, section, false, cos, report);
        for (family, v6) in [("inet", false), ("inet6", true)] {
            if let Some(family) = tree.path(section, &["family", family]) {
                made.read_filters(tree, family, v6, cos, report);
            }
        }
        report.enter(Scope::Everything);
        made
    }

    fn policer(&mut self, tree: &mut Tree, own: Id, cos: &Cos, report: &mut Report) {
        const KNOWN: [(&str, usize); 10] = [
            ("if-exceeding", 0),
            ("bandwidth-limit", 1),
            ("bandwidth-percent", 1),
            ("burst-size-limit", 1),
            ("then", 0),
            ("discard", 0),
            ("loss-priority", 1),
            ("forwarding-class", 1),
            ("filter-specific", 0),
            ("logical-interface-policer", 0),
        ];
        let name = tree.word(own).to_owned();
        report.enter(part("policer", &name));
        let (mut share, mut burst, mut specific, mut exceed) = (None, None, false, Vec::new());
        for clause in tree.clauses(own, &KNOWN) {
            let (word, at) = (last(tree, &clause), tree.at(clause.key));
            let mut wrong = false;
            match tree.word(clause.key) {
                "bandwidth-limit" => {
                    share = rate(&word).map(Share::Rate);
                    wrong = share.is_none();
                }
                "bandwidth-percent" => {
                    share = percent(&word).filter(|percent| *percent > 0).map(Share::Percent);
                    wrong = share.is_none();
                }
                "burst-size-limit" => {
                    burst = number(&word);
                    wrong = burst.is_none();
                }
                "discard" => exceed.push(Act::Drop),
                "loss-priority" => {
                    wrong = !LOSS.contains(&word.as_str());
                    self.losses.push(at);
                }
                "forwarding-class" => match cos.class(&word).and_then(|index| u8::try_from(index).ok()) {
                    Some(index) => exceed.push(Act::Set(Mark::TrafficClass(index))),
                    None => wrong = true,
                },
                "filter-specific" => specific = true,
                _ => {}
            }
            if wrong {
                let message = format!("policer `{name}`: `{} {word}` is not valid", tree.word(clause.key));
                report.error(
                    at,
                    message,
                    "write a rate or size such as 1.5m (k, m, g: 10^3, 10^6, 10^9), a percentage from 1 to 100, or a name that is defined",
                );
            }
        }
        let Some(share) = share else {
            let message = format!("policer `{name}` has no rate");
            report.unsupported(
                tree.at(own),
                message,
                Some("write `if-exceeding bandwidth-limit` with `burst-size-limit`"),
            );
            return;
        };
        if burst.is_none() {
            let message = format!("policer `{name}` has no burst size: 5 ms at its rate are assumed");
            report.assumed(tree.at(own), message, "write `burst-size-limit`");
        }
        let burst = burst.or_else(|| share.of(0).filter(|rate| *rate > 0).map(default_burst));
        if exceed.is_empty() {
            exceed.push(Act::Transmit);
        }
        let police = Police {
            rate: share,
            burst,
            peak: None,
            excess: None,
            conform: vec![Act::Transmit],
            exceed,
            violate: Vec::new(),
            counts: LAYER_3,
        };
        let _ = self.policers.insert(name, Policer { police, filter_specific: specific });
    }

    /// Reads a `three-color-policer`. It colours packets, and drops red ones if its `action` is `discard`.
    fn three_color(&mut self, tree: &mut Tree, own: Id, report: &mut Report) {
        const KNOWN: [(&str, usize); 15] = [
            ("action", 0),
            ("loss-priority", 1),
            ("then", 0),
            ("discard", 0),
            ("two-rate", 0),
            ("single-rate", 0),
            ("color-blind", 0),
            ("color-aware", 0),
            ("committed-information-rate", 1),
            ("committed-burst-size", 1),
            ("peak-information-rate", 1),
            ("peak-burst-size", 1),
            ("excess-burst-size", 1),
            ("filter-specific", 0),
            ("logical-interface-policer", 0),
        ];
        let name = tree.word(own).to_owned();
        report.enter(part("policer", &name));
        let (mut rate_of, mut burst, mut peak, mut excess) = (None, None, None, None);
        let (mut specific, mut discards) = (false, false);
        for clause in tree.clauses(own, &KNOWN) {
            let word = last(tree, &clause);
            match tree.word(clause.key) {
                "committed-information-rate" => rate_of = rate(&word),
                "peak-information-rate" => peak = rate(&word),
                "committed-burst-size" => burst = number(&word),
                "peak-burst-size" | "excess-burst-size" => excess = number(&word),
                "discard" => discards = true,
                "filter-specific" => specific = true,
                "color-aware" => {
                    let message = format!(
                        "policer `{name}` is `color-aware`, which is not simulated: it ignores loss priorities, as with `color-blind`"
                    );
                    report.unsupported(tree.at(clause.key), message, None);
                }
                _ => {}
            }
        }
        // Yellow and red packets get a higher loss priority.
        self.losses.push(tree.at(own));
        let (Some(committed), Some(burst), Some(excess)) = (rate_of, burst, excess) else {
            let message = format!("policer `{name}` lacks a rate or a burst size");
            report.unsupported(
                tree.at(own),
                message,
                Some("write the committed rate and the committed, and the peak or excess, burst size"),
            );
            return;
        };
        let police = Police {
            rate: Share::Rate(committed),
            burst: Some(burst),
            peak: peak.map(Share::Rate),
            excess: Some(excess),
            conform: vec![Act::Transmit],
            exceed: vec![Act::Transmit],
            violate: vec![if discards { Act::Drop } else { Act::Transmit }],
            counts: LAYER_3,
        };
        let _ = self.policers.insert(name, Policer { police, filter_specific: specific });
    }

    fn read_filters(&mut self, tree: &mut Tree, family: Id, v6: bool, cos: &Cos, report: &mut Report) {
        for kind in ["filter", "simple-filter"] {
            for own in tree.child(family, kind).map(|id| tree.children(id)).unwrap_or_default() {
                let name = tree.word(own).to_owned();
                report.enter(part("filter", &name));
                let mut filter = Filter { at: tree.at(own), ..Filter::default() };
                if let Some(specific) = tree.child(own, "interface-specific") {
                    tree.mark(specific);
                    filter.interface_specific = true;
                }
                for term in tree.child(own, "term").map(|id| tree.children(id)).unwrap_or_default() {
                    if let Some(term) = self.term(tree, term, &name, cos, report) {
                        filter.terms.push(term);
                    }
                }
                // `from` and `then` without a term.
                if tree.child(own, "then").is_some()
                    && let Some(term) = self.term(tree, own, &name, cos, report)
                {
                    filter.terms.push(term);
                }
                let _ = self.filters.insert((v6, name), filter);
            }
        }
    }

    fn term(&mut self, tree: &mut Tree, own: Id, filter: &str, cos: &Cos, report: &mut Report) -> Option<Term> {
        const KNOWN: [(&str, usize); 20] = [
            ("forwarding-class", 1),
            ("loss-priority", 1),
            ("policer", 1),
            ("three-color-policer", 0),
            ("single-rate", 1),
            ("two-rate", 1),
            ("accept", 0),
            ("discard", 0),
            ("reject", 0),
            ("next", 0),
            ("term", 0),
            ("dscp", 1),
            ("traffic-class", 1),
            // Counting, logging and mirroring do not change packets.
            ("count", 1),
            ("log", 0),
            ("syslog", 0),
            ("sample", 0),
            ("port-mirror", 0),
            ("service-accounting", 0),
            ("packet-mode", 0),
        ];
        let label = format!("term `{}` of filter `{filter}`", tree.word(own));
        let when = match tree.child(own, "from") {
            Some(from) => conditions::read(tree, from, cos, &label, report),
            None => Some(Match::Any),
        };
        let mut term = Term {
            name: tree.word(own).to_owned(),
            when: when.clone().unwrap_or(Match::AnyOf(Vec::new())),
            class: None,
            dscp: None,
            policer: None,
            end: End::Accept,
            at: tree.at(own),
        };
        let then = tree.child(own, "then").unwrap_or(usize::MAX);
        for clause in tree.clauses(then, &KNOWN) {
            let (word, at) = (last(tree, &clause), tree.at(clause.key));
            match tree.word(clause.key) {
                "forwarding-class" => {
                    if let Some(index) = cos.class(&word) {
                        term.class = Some(index);
                    } else {
                        let advice = "define it under `class-of-service forwarding-classes`";
                        report.error(at, format!("{label}: there is no forwarding class `{word}`"), advice);
                    }
                }
                "loss-priority" => self.losses.push(at),
                "policer" | "single-rate" | "two-rate" => {
                    if self.policers.contains_key(&word) {
                        if term.policer.is_some() {
                            report.unsupported(at, format!("{label}: a second policer is left out"), None);
                        } else {
                            term.policer = Some(word);
                        }
                    } else {
                        let message = format!("{label}: there is no policer `{word}`, or it is not supported");
                        report.unsupported(at, message, Some("define it under `firewall policer`"));
                    }
                }
                "discard" | "reject" => term.end = End::Discard,
                "term" => term.end = End::Next,
                "dscp" | "traffic-class" => match filter_dscp(&word) {
                    Some(code) => term.dscp = Some(code),
                    None => report.unsupported(at, format!("{label}: `dscp {word}` is not a code point"), None),
                },
                _ => {}
            }
        }
        when.map(|_| term)
    }
}

/// Returns the last word of an option; empty if it has none.
fn last(tree: &Tree, clause: &Clause) -> String {
    clause.words.last().map_or_else(String::new, |id| tree.word(*id).to_owned())
}

/// Returns the burst in bytes of 5 ms at a rate in bit/s, at least 1500 bytes.
pub(super) fn default_burst(rate: u64) -> u64 {
    (rate / 8_000).saturating_mul(defaults::BURST / 1_000).max(1_500)
}
