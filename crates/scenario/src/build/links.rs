//! Links: the two patterns of an entry become pairs of nodes.

use super::builder::{Builder, entry};
use super::nodes::Nodes;
use crate::document::{Delays, Ends, Length, Link, SwitchModel};
use std::collections::BTreeSet;
use tailback_document::Path;
use tailback_sim::plan::{LinkPlan, NodeId, QueuePlan};
use tailback_units::Dur;

/// Default delay of a link: the propagation delay over 200 m.
const DEFAULT_DELAY: Dur = Dur::from_us(1);

/// A link with its delay and the index of its entry in `[[links]]`.
pub(super) struct LinkOf<'a> {
    /// The two nodes, in the order of `between`.
    pub ends: [NodeId; 2],
    pub entry: usize,
    pub link: &'a Link,
    pub delay: Dur,
}

/// Returns the delays of an entry's links: `delay`, otherwise that of `length`, otherwise the default.
fn delays(link: &Link) -> Delays {
    let length = || link.length.map_or(DEFAULT_DELAY, Length::delay);
    link.delay.unwrap_or_else(|| Delays([length(); 2]))
}

impl LinkOf<'_> {
    /// Returns the plan of the link, with the queue at each end.
    pub fn plan(self, queue: [QueuePlan; 2]) -> LinkPlan {
        let Link { rate, loss, jitter, accounting, .. } = self.link;
        let accounting = *accounting;
        LinkPlan { ends: self.ends, rate: rate.0, delay: self.delay, loss: loss.0, jitter: jitter.0, accounting, queue }
    }
    /// Returns the node at the other end of the link.
    pub fn other(&self, node: NodeId) -> NodeId {
        if self.ends[0] == node { self.ends[1] } else { self.ends[0] }
    }
}

impl<'a> Builder<'a> {
    /// Returns all links, in the order of the entries and, within an entry, of the nodes that its patterns match.
    pub(super) fn links(&mut self, nodes: &Nodes<'a>) -> Vec<LinkOf<'a>> {
        let mut links = Vec::new();
        for (i, link) in self.document.links.iter().enumerate() {
            let path = entry("links", i);
            self.check_link_times(&path, link);
            let (pairs, delays) = (self.pairs(&path.join("between"), &link.between, nodes), delays(link));
            self.check_link_accounting(&path.join("accounting"), link, &pairs, nodes);
            let count = pairs.len();
            let link = |(n, ends)| LinkOf { ends, entry: i, link, delay: delays.at(n, count) };
            links.extend(pairs.into_iter().enumerate().map(link));
        }
        if self.complaints.is_empty() {
            self.report_unlinked(nodes, &links);
        }
        links
    }

    /// Checks delay, length and jitter of an entry.
    fn check_link_times(&mut self, path: &Path, link: &Link) {
        if link.delay.is_some() && link.length.is_some() {
            self.complaints.key(
                path.join("length"),
                "the link has both a delay and a length",
                "remove one of the two; a length adds 5 ns of delay per metre",
            );
        }
        let end = self.document.run.duration;
        let delay = delays(link).longest();
        let jitter = link.jitter.0[0].max(link.jitter.0[1]);
        for (key, time) in [(if link.length.is_some() { "length" } else { "delay" }, delay), ("jitter", jitter)] {
            if time >= end && end > Dur::ZERO && time > DEFAULT_DELAY {
                self.complaints.value(
                    path.join(key),
                    format!("frames would take {time} over this link, but the run ends after {end}"),
                    "shorten it: the delay is \"1us\" over 200 m of cable, and \"100ms\" around half of the earth",
                );
            }
        }
    }

    /// Checks the accounting of an entry, whose links are `pairs`.
    fn check_link_accounting(&mut self, path: &Path, link: &Link, pairs: &[[NodeId; 2]], nodes: &Nodes<'a>) {
        let Some(accounting) = link.accounting else { return };
        self.complaints.invalid(path, accounting.check(""));
        if accounting.takes_away() {
            let help = "write \"0B\" or more; for fewer bytes on the wire lower `network.framing.overhead`";
            self.complaints.value(path.clone(), "the accounting makes frames shorter than their wire length", help);
        }
        let is_cut_through =
            |node: NodeId| nodes.get(node).switch().is_some_and(|own| matches!(own.model, SwitchModel::CutThrough(_)));
        if pairs.iter().flatten().any(|node| is_cut_through(*node)) {
            let help = "remove it, or give the switch another `model`";
            self.complaints.value(path.clone(), "a link of a cut-through switch cannot have an accounting", help);
        }
    }

    /// Returns the pairs of nodes that two names or patterns match; empty if they are refused.
    fn pairs(&mut self, path: &Path, between: &Ends, nodes: &Nodes<'a>) -> Vec<[NodeId; 2]> {
        let mut found = Vec::new();
        for (side, text) in between.0.iter().enumerate() {
            match nodes.find(text, |_| true, "host or switch") {
                Ok(ids) => found.push(ids),
                Err((message, help)) => self.complaints.value(path.join(side), message, help),
            }
        }
        let [first, second] = &found[..] else { return Vec::new() };
        let [a, b] = &between.0;
        let pairs: Vec<[NodeId; 2]> = match (nodes.is_several(a), nodes.is_several(b)) {
            (true, true) if first.len() != second.len() => {
                self.complaints.value(
                    path.clone(),
                    format!("`{a}` matches {} nodes, but `{b}` matches {}", first.len(), second.len()),
                    "two patterns are linked one to one and must have the same number of matches; name a single node on one side to link it to all",
                );
                return Vec::new();
            }
            (true, true) => first.iter().zip(second).map(|(a, b)| [*a, *b]).collect(),
            _ => first.iter().flat_map(|a| second.iter().map(|b| [*a, *b])).collect(),
        };
        if let Some([node, _]) = pairs.iter().find(|[a, b]| a == b) {
            let name = nodes.name(*node);
            let (message, help) = if nodes.is_several(a) || nodes.is_several(b) {
                (
                    format!("`{a}` and `{b}` would link `{name}` to itself"),
                    format!("narrow the pattern to exclude `{name}`"),
                )
            } else {
                (format!("a link from `{name}` to itself"), "name two different nodes".to_owned())
            };
            self.complaints.value(path.clone(), message, help);
            return Vec::new();
        }
        pairs
    }

    /// Reports nodes without a link, or that there are no links.
    fn report_unlinked(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>]) {
        if links.is_empty() {
            self.complaints.value(
                Path::root().join("links"),
                "there are no links",
                "add a table [[links]] with `between = [\"h1\", \"sw1\"]` and `rate = \"10Mbit/s\"`",
            );
            return;
        }
        let linked: BTreeSet<NodeId> = links.iter().flat_map(|link| link.ends).collect();
        for id in nodes.ids() {
            if !linked.contains(&id) {
                let node = nodes.get(id);
                self.complaints.key(
                    node.path(),
                    format!("`{}` has no link", node.name),
                    format!("add [[links]] with `between = [\"{}\", …]`, or remove it", node.name),
                );
            }
        }
    }
}
