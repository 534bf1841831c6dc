//! Flows: checks of each group, its pairs of sender and receiver, and a plan for each flow.

use super::builder::{Builder, entry};
use super::lines::Transports;
use super::links::LinkOf;
use super::nodes::{Node, Nodes};
use crate::document::{FlowGroup, Pair, Transport};
use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::sync::Arc;
use tailback_document::{Checked, Path};
use tailback_sim::plan::{Among, Draw, FlowKind, FlowName, FlowPlan, NO_ROUTE, NodeId, Routes};
use tailback_traffic::{Bulk, Model};
use tailback_transport::Line;
use tailback_units::{Dur, Size, Time};

/// Upper bound on the number of flows; a larger number indicates a wrong pattern.
pub(super) const MAX_FLOWS: usize = 200_000;
/// Upper bound on the bytes that a source without a transport may enqueue at its host at once, about 700,000 packets.
const MAX_AT_ONCE: Size = Size(1_000_000_000);
/// Upper bound on the length of a group's name in characters.
const MAX_NAME_LENGTH: usize = 64;

impl<'a> Builder<'a> {
    /// Returns all flows. `routes` is `None` if the links are already refused.
    pub(super) fn flows(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>], routes: Option<&Routes>) -> Vec<FlowPlan> {
        if self.document.flows.is_empty() {
            self.complaints.value(
                Path::root().join("flows"),
                "there are no flows, so nothing would be sent",
                "add a table [[flows]] with `name`, `from`, `to` and `source`",
            );
        }
        let mut plans = Vec::new();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, group) in self.document.flows.iter().enumerate() {
            let path = entry("flows", i);
            self.check_flow_name(&path, group, names.insert(&group.name, i));
            self.check_flow_settings(&path, group);
            let (mut pairs, among) = self.flow_pairs(&path, group, nodes);
            if let Some(count) = group.count.filter(|n| (1..=MAX_FLOWS as u32).contains(n)) {
                pairs = pairs.iter().flat_map(|pair| iter::repeat_n(*pair, count as usize)).collect();
            }
            if plans.len() + pairs.len() > MAX_FLOWS {
                let message = format!("`{}` has {} flows", group.name, pairs.len());
                self.complaints.value(
                    path.join("from"),
                    message,
                    format!("the limit is {MAX_FLOWS} flows; narrow the patterns or use `pair = \"zip\"`"),
                );
                continue;
            }
            if let Some(routes) = routes {
                let all = among.as_deref().map(|a| a.from.iter().flat_map(|from| a.to.iter().map(|to| [*from, *to])));
                let all: Vec<_> = all.map_or_else(|| pairs.clone(), |all| all.filter(|[a, b]| a != b).collect());
                let both_ways = group.transport.is_some() || group.application.is_some();
                self.check_reachable(&path, &all, nodes, links, routes, both_ways);
            }
            let tcp = group.transport.as_ref().map(Transport::connection);
            let mut transports = Transports::new(tcp, among.as_deref(), links, routes, nodes, self.document);
            transports.set_group_rtt(pairs.iter().map(|[from, to]| (*from, *to)));
            let source = group.source.clone().unwrap_or(Model::Bulk(Bulk { size: None }));
            let single = pairs.len() == 1;
            // Flows with equal transport parameters share all but their names and ends.
            let mut kinds: BTreeMap<Option<Line>, Arc<FlowKind>> = BTreeMap::new();
            plans.reserve_exact(pairs.len());
            plans.extend((1..).zip(&pairs).map(|(n, [from, to])| {
                let transport = transports.connection(*from, *to);
                let line = transport.as_ref().and_then(|tcp| tcp.line);
                let kind = || FlowKind {
                    group: group.name.clone(),
                    class: group.class,
                    code: group.dscp.codepoint(),
                    start_spread: group.start_spread,
                    stop: group.stop.map_or(Time::NEVER, |Dur(ps)| Time(ps)),
                    // For an application this is a placeholder; `applications` follows when all flows are known.
                    model: source.clone(),
                    among: among.clone(),
                    transport,
                    probe: group.probe,
                };
                FlowPlan {
                    name: if single { FlowName::Group } else { FlowName::Numbered(n) },
                    from: *from,
                    to: *to,
                    start: Time(group.start.0),
                    kind: kinds.entry(line).or_insert_with(|| Arc::new(kind())).clone(),
                }
            }));
        }
        plans
    }

    /// Checks the name of a group; `before` is the index of an earlier group with this name.
    fn check_flow_name(&mut self, path: &Path, group: &FlowGroup, before: Option<usize>) {
        let name = &group.name;
        let path = path.join("name");
        if let Some(before) = before {
            self.complaints.value(
                path.clone(),
                format!("flows[{before}] is already named `{name}`"),
                "results are reported by name; give each group its own",
            );
        }
        if name.trim().is_empty()
            || name.chars().count() > MAX_NAME_LENGTH
            || name.contains(|c: char| c.is_control() || "[]*?".contains(c))
        {
            self.complaints.value(
                path,
                format!("`{}` is not a name of a flow", name.escape_debug()),
                format!("write 1 to {MAX_NAME_LENGTH} characters without []*? and control characters"),
            );
        }
    }

    /// Checks class, times, source or application, number of flows and transport of a group.
    fn check_flow_settings(&mut self, path: &Path, group: &FlowGroup) {
        let classes = self.document.network.classes;
        if group.class >= classes && (1..=8).contains(&classes) {
            let there_are = if classes == 1 {
                "the only class is 0".to_owned()
            } else {
                format!("the classes are 0 to {}", classes - 1)
            };
            self.complaints.value(
                path.join("class"),
                format!("there is no class {}", group.class),
                format!("{there_are}, as `network.classes` is {classes}; raise it, or choose another class"),
            );
        }
        let end = self.document.run.duration;
        if group.start >= end && end > Dur::ZERO {
            self.complaints.value(
                path.join("start"),
                format!("the source starts at {}, but the run ends at {end}", group.start),
                "start it earlier, or lengthen `run.duration`",
            );
        }
        if let Some(stop) = group.stop
            && stop <= group.start
        {
            self.complaints.value(
                path.join("stop"),
                format!("the source stops at {stop}, before it starts at {}", group.start),
                "stop it later, or remove `stop`",
            );
        }
        match (&group.source, &group.application) {
            (Some(source), None) => self.complaints.invalid(&path.join("source"), source.check()),
            (None, Some(_)) => self.check_application(path, group),
            (None, None) => self.complaints.value(
                path.clone(),
                "the flow has neither a source nor an application",
                "add `source = { kind = \"cbr\", packet = \"1000B\", rate = \"1Mbit/s\" }`, or an `application`",
            ),
            (Some(_), Some(_)) => self.complaints.key(
                path.join("application"),
                "a flow has a source or an application, not both",
                "remove one of them",
            ),
        }
        if group.count.is_some_and(|n| !(1..=MAX_FLOWS as u32).contains(&n)) {
            self.complaints.value(
                path.join("count"),
                format!("{} flows per pair is out of range", group.count.unwrap_or(0)),
                format!("write a number from 1 to {MAX_FLOWS}"),
            );
        }
        if group.pair == Some(Pair::Random) && group.count.is_none() {
            self.complaints.value(
                path.join("pair"),
                "the number of flows between random hosts is missing",
                "write `count`, such as `count = 100`",
            );
        }
        self.check_flow_transport(path, group);
    }

    /// Checks the transport of a group; without a transport, checks that its source does not enqueue too much at once.
    fn check_flow_transport(&mut self, path: &Path, group: &FlowGroup) {
        let Some(transport) = &group.transport else {
            if let Some(Model::Bulk(Bulk { size: None })) = &group.source {
                self.complaints.value(
                    path.join("source"),
                    "without a transport, an unlimited transfer would enter the host's queue all at once",
                    "give it a `size`, or a `transport` with congestion control",
                );
            }
            if let Some(Model::Bulk(Bulk { size: Some(size) })) = &group.source
                && *size > MAX_AT_ONCE
            {
                self.complaints.value(
                    path.join("source").join("size"),
                    format!("without a transport, all {size} would enter the host's queue at once"),
                    format!(
                        "give the flow a `transport` with congestion control, a source with a rate, or at most \"{MAX_AT_ONCE}\""
                    ),
                );
            }
            return;
        };
        let path = path.join("transport");
        self.complaints.invalid(&path, Checked::check(transport));
        let tcp = &transport.connection();
        let (packet, mtu) = (tcp.segment.0.saturating_add(tcp.header.0), self.document.network.framing.table().mtu.0);
        if packet > mtu {
            self.complaints.value(
                path.join("segment"),
                format!(
                    "a segment of {} and its header of {} do not fit into a packet of {}",
                    tcp.segment,
                    tcp.header,
                    Size(mtu)
                ),
                format!("write \"{}\" or less", Size(mtu.saturating_sub(tcp.header.0))),
            );
        }
    }

    /// Returns the pairs of sender and receiver of a group; empty if they are refused. For pairs that are drawn at
    /// random, also returns the hosts to draw from, and the pairs are placeholders.
    fn flow_pairs(
        &mut self,
        path: &Path,
        group: &FlowGroup,
        nodes: &Nodes<'a>,
    ) -> (Vec<[NodeId; 2]>, Option<Arc<Among>>) {
        let mut find = |key: &str, text: &str| match nodes.find(text, Node::is_host, "host") {
            Ok(found) => {
                if found.iter().all(|id| nodes.get(*id).is_host()) {
                    Some(found)
                } else {
                    self.complaints.value(
                        path.join(key),
                        format!("`{text}` is a switch; only hosts send and receive"),
                        "name a host",
                    );
                    None
                }
            }
            Err((message, help)) => {
                self.complaints.value(path.join(key), message, help);
                None
            }
        };
        let (Some(from), Some(to)) = (find("from", &group.from), find("to", &group.to)) else {
            return (Vec::new(), None);
        };
        if group.pair == Some(Pair::Random) {
            let pair = from.iter().flat_map(|a| to.iter().map(|b| [*a, *b])).find(|[a, b]| a != b);
            let Some(pair) = pair else {
                let message = format!("`{}` would be both sender and receiver", nodes.name(from[0]));
                self.complaints.value(path.join("to"), message, "random pairs require two or more hosts");
                return (Vec::new(), None);
            };
            return (vec![pair], Some(Arc::new(Among { from, to, draw: Draw::Independent })));
        }
        if matches!(group.pair, Some(Pair::Permutation | Pair::Ring)) {
            let apart = !from.iter().any(|id| to.contains(id));
            if from.len() != to.len() || from.len() < 2 || !(apart || from == to) {
                let message = format!(
                    "`{}` matches {} hosts and `{}` {}, but a permutation or ring needs two or more hosts, and as many receivers as senders",
                    group.from,
                    from.len(),
                    group.to,
                    to.len()
                );
                let help = "let both match the same two or more hosts, or disjoint sets of equal size";
                self.complaints.value(path.join("to"), message, help);
                return (Vec::new(), None);
            }
            let next = to.iter().cycle().skip(1);
            let pairs = from.iter().zip(next).map(|(a, b)| [*a, *b]).collect();
            let drawn = group.pair == Some(Pair::Permutation);
            return (pairs, drawn.then(|| Arc::new(Among { from, to, draw: Draw::Permutation })));
        }
        let all_pairs = || -> Vec<[NodeId; 2]> {
            from.iter().flat_map(|a| to.iter().map(|b| [*a, *b])).filter(|[a, b]| a != b).collect()
        };
        let zip = || -> Vec<[NodeId; 2]> { from.iter().zip(&to).map(|(a, b)| [*a, *b]).collect() };
        let pairs = match group.pair {
            Some(Pair::All) => all_pairs(),
            Some(Pair::Zip) if from.len() == to.len() => zip(),
            None if from.len() == 1 || to.len() == 1 => all_pairs(),
            None if from.len() == to.len() => zip(),
            pair => {
                let place = if pair.is_some() { path.join("pair") } else { path.join("to") };
                self.complaints.value(
                    place,
                    format!(
                        "`{}` matches {} hosts but `{}` matches {}, so they cannot be paired one to one",
                        group.from,
                        from.len(),
                        group.to,
                        to.len()
                    ),
                    "write `pair = \"all\"` for every combination, or patterns with the same number of matches",
                );
                return (Vec::new(), None);
            }
        };
        if let Some([a, _]) = pairs.iter().find(|[a, b]| a == b) {
            let help = if nodes.is_several(&group.to) {
                "write `pair = \"all\"` for every combination of two different hosts"
            } else {
                "name another receiver"
            };
            self.complaints.value(path.join("to"), format!("`{}` would send to itself", nodes.name(*a)), help);
            return (Vec::new(), None);
        }
        if pairs.is_empty() {
            let message = format!("`{}` would send to itself", nodes.name(from[0]));
            self.complaints.value(path.join("to"), message, "name another receiver");
        }
        (pairs, None)
    }

    /// Reports the first pair of a group without a path from sender to receiver or, with `both_ways`, back.
    fn check_reachable(
        &mut self,
        path: &Path,
        pairs: &[[NodeId; 2]],
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        routes: &Routes,
        both_ways: bool,
    ) {
        let no_route = |from: NodeId, to: NodeId| routes.link(from, to) == NO_ROUTE;
        let Some([from, to]) =
            pairs.iter().find(|[from, to]| no_route(*from, *to) || (both_ways && no_route(*to, *from)))
        else {
            return;
        };
        let (a, b) = (nodes.name(*from), nodes.name(*to));
        let message = format!("there is no path from `{a}` to `{b}`");
        let help = match host_between(nodes, links, *from, *to) {
            Some(host) => format!(
                "the only paths lead through the host `{host}`, and hosts do not forward: make `{host}` a switch, or add a link around it"
            ),
            None => {
                format!("no links connect them; add one between the part of the network with `{a}` and that with `{b}`")
            }
        };
        self.complaints.value(path.join("to"), message, help);
    }
}

/// Returns the host nearest to `to` that would have to forward on a path with the fewest links; `None`: the links do
/// not connect the two nodes, or no host is between them.
fn host_between(nodes: &Nodes<'_>, links: &[LinkOf<'_>], from: NodeId, to: NodeId) -> Option<String> {
    // Each node reached by a breadth-first search, with the node before it on the path from `from`.
    let mut before: BTreeMap<NodeId, NodeId> = BTreeMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for link in links.iter().filter(|link| link.ends.contains(&node)) {
            let next = link.other(node);
            before.entry(next).or_insert_with(|| {
                queue.push_back(next);
                node
            });
        }
    }
    let mut node = *before.get(&to)?;
    while node != from {
        if nodes.get(node).is_host() {
            return Some(nodes.name(node).to_owned());
        }
        node = before[&node];
    }
    None
}
