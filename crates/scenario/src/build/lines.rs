//! Path parameters of connections (link rate and round-trip time), for the transports that depend on them.

use super::links::LinkOf;
use super::nodes::Nodes;
use crate::document::Document;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tailback_sim::plan::{Among, NO_ROUTE, NodeId, Routes};
use tailback_transport::{Line, Tcp};
use tailback_units::Dur;

/// The connections of a group of flows: one description for all, or one for each distinct path.
pub(super) struct Transports<'a> {
    /// Parameters in the document; `None`: the group has no transport.
    tcp: Option<Tcp>,
    /// Description that all connections share; `None`: it depends on path parameters.
    common: Option<Arc<Tcp>>,
    /// Descriptions created so far, by path parameters.
    made: BTreeMap<Line, Arc<Tcp>>,
    /// Path parameters of the longest path, which all connections use if their hosts are drawn at random.
    longest: Option<Line>,
    /// `true` if connections use the round-trip time of the longest path of their group.
    shares: bool,
    /// Longest round-trip time of the group; `None`: each connection uses that of its own path.
    base_rtt: Option<Dur>,
    network: Network<'a>,
}

/// The network, for the computation of path parameters.
struct Network<'a> {
    links: &'a [LinkOf<'a>],
    routes: Option<&'a Routes>,
    nodes: &'a Nodes<'a>,
    document: &'a Document,
}

impl<'a> Transports<'a> {
    /// Returns the connections of a group with the transport `tcp`; `None`: the group has no transport. `among`: hosts
    /// from which the ends of flows are drawn at random.
    pub fn new(
        tcp: Option<Tcp>,
        among: Option<&Among>,
        links: &'a [LinkOf<'a>],
        routes: Option<&'a Routes>,
        nodes: &'a Nodes<'a>,
        document: &'a Document,
    ) -> Transports<'a> {
        let network = Network { links, routes, nodes, document };
        let needs_line = tcp.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().line);
        let common = tcp.as_ref().filter(|_| !needs_line).map(|tcp| Arc::new(tcp.clone()));
        let longest = tcp.as_ref().filter(|_| needs_line).zip(among).and_then(|(tcp, among)| {
            let pairs = among.from.iter().flat_map(|from| among.to.iter().map(|to| (*from, *to)));
            let lines = pairs.filter(|(from, to)| from != to).filter_map(|(from, to)| network.line(tcp, from, to));
            lines.max_by_key(|line| line.base_rtt)
        });
        let shares = tcp.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().shares_base_rtt);
        Transports { tcp, common, made: BTreeMap::new(), longest, shares, base_rtt: None, network }
    }

    /// Determines the longest round-trip time of the group, if its connections share one.
    pub fn set_group_rtt(&mut self, ends: impl Iterator<Item = (NodeId, NodeId)>) {
        let Some(tcp) = self.tcp.as_ref().filter(|_| self.shares && self.longest.is_none()) else { return };
        let pairs: BTreeSet<(NodeId, NodeId)> = ends.collect();
        self.base_rtt =
            pairs.into_iter().filter_map(|(from, to)| Some(self.network.line(tcp, from, to)?.base_rtt)).max();
    }

    /// Returns the connection of a flow between two hosts; `None`: the group has no transport.
    pub fn connection(&mut self, from: NodeId, to: NodeId) -> Option<Arc<Tcp>> {
        if self.common.is_some() {
            return self.common.clone();
        }
        let tcp = self.tcp.as_ref()?;
        let line = self.longest.or_else(|| self.network.line(tcp, from, to)).unwrap_or_default();
        let line = Line { base_rtt: self.base_rtt.unwrap_or(line.base_rtt), ..line };
        let made = || Arc::new(Tcp { line: Some(line), ..tcp.clone() });
        Some(self.made.entry(line).or_insert_with(made).clone())
    }
}

impl Network<'_> {
    /// Returns the path parameters from `from` to `to`: rate of the first link, number of links, and round-trip time of
    /// a full segment and an empty acknowledgement. `None`: there is no path.
    fn line(&self, tcp: &Tcp, from: NodeId, to: NodeId) -> Option<Line> {
        let framing = self.document.network.framing.table();
        let wire_bytes = |payload: u64| {
            // Saturating, since values out of range are reported elsewhere.
            let frame = payload.saturating_add(tcp.header.0).saturating_add(framing.header.0).max(framing.min_frame.0);
            u32::try_from(frame.saturating_add(framing.overhead.0)).unwrap_or(u32::MAX)
        };
        let segment = wire_bytes(tcp.segment.0);
        let (there, hops) = self.path_delay(from, to, segment)?;
        let (back, _) = self.path_delay(to, from, wire_bytes(0))?;
        let first = &self.links[self.routes?.link(from, to) as usize];
        let rate = first.link.rate.0[usize::from(first.ends[0] != from)];
        Some(Line { rate, wire: segment, hops, base_rtt: there + back })
    }

    /// Returns the delay of a packet of `wire` bytes on an idle path, and the number of links of the path; `None`: there
    /// is no path.
    fn path_delay(&self, from: NodeId, to: NodeId, wire: u32) -> Option<(Dur, u32)> {
        let (mut at, mut time, mut hops) = (from, Dur::ZERO, 0);
        while at != to {
            let link = self.routes?.link(at, to);
            if link == NO_ROUTE {
                return None;
            }
            let link = &self.links[link as usize];
            time += link.delay + link.link.rate.0[usize::from(link.ends[0] != at)].clock().tx_time(wire);
            hops += 1;
            at = link.other(at);
            time += self.nodes.get(at).switch().map_or(Dur::ZERO, |switch| switch.latency);
        }
        Some((time, hops))
    }
}
