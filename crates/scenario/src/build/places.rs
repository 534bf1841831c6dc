//! Paths into the document for the parts of a plan, as places of warnings.

use super::builder::{Builder, entry};
use super::fabric;
use super::links::LinkOf;
use super::nodes::{Node, Nodes};
use super::queues::Settings;
use crate::complaint::Complaints;
use crate::document::{Document, Fabric};
use std::borrow::Cow;
use tailback_document::Path;
use tailback_sim::plan::NodeId;

/// A checked document with its fabric expanded.
pub(crate) struct ExpandedDocument<'a> {
    written: &'a Document,
    expanded: Cow<'a, Document>,
}

impl<'a> ExpandedDocument<'a> {
    pub fn new(document: &'a Document) -> ExpandedDocument<'a> {
        ExpandedDocument { written: document, expanded: fabric::expand(document, &mut Complaints::default()) }
    }
    /// Returns the paths of all parts of the document's plan.
    pub fn places(&self) -> Places<'_> {
        let mut builder = Builder { document: &self.expanded, complaints: Complaints::default() };
        let nodes = builder.nodes();
        let links = builder.links(&nodes);
        Places { written: self.written, expanded: &self.expanded, nodes, links }
    }
}

/// Paths into a document. The number of a port is twice the number of its link, plus the side that sends (0 or 1).
pub(crate) struct Places<'a> {
    written: &'a Document,
    expanded: &'a Document,
    nodes: Nodes<'a>,
    links: Vec<LinkOf<'a>>,
}

impl<'a> Places<'a> {
    /// Returns the document as it was written.
    pub fn document(&self) -> &'a Document {
        self.written
    }
    /// Returns the ends of a port's link, the sending one first.
    fn ends(&self, port: u32) -> [NodeId; 2] {
        let [a, b] = self.links[port as usize / 2].ends;
        if port.is_multiple_of(2) { [a, b] } else { [b, a] }
    }
    fn node(&self, id: NodeId) -> &Node<'a> {
        self.nodes.get(id)
    }
    /// Returns the name of a port by its ends, such as `sw->d`.
    pub fn port(&self, port: u32) -> String {
        let [from, to] = self.ends(port).map(|id| self.nodes.name(id));
        format!("{from}->{to}")
    }
    /// Returns a key that two ports share if they are described by the same entries for their link and its ends.
    pub fn kind(&self, port: u32) -> (usize, &'a str, &'a str) {
        let [from, to] = self.ends(port).map(|id| self.node(id).entry);
        // All links of a fabric come from one table.
        (self.links[port as usize / 2].entry.min(self.written.links.len()), from, to)
    }
    /// Returns the path of the rate of a port's link.
    pub fn rate(&self, port: u32) -> Path {
        let number = self.links[port as usize / 2].entry;
        if number < self.written.links.len() {
            return entry("links", number).join("rate");
        }
        let between_switches = self.ends(port).iter().all(|id| !self.node(*id).is_host());
        let uplink = between_switches
            && matches!(&self.written.fabric, Some(Fabric::LeafSpine(fabric)) if fabric.uplink_rate.is_some());
        Path::root().join("fabric").join(if uplink { "uplink-rate" } else { "rate" })
    }
    /// Returns the path of the shaper of a switch's port, or of the table to which it belongs.
    pub fn shaper(&self, port: u32) -> Path {
        let [from, to] = self.ends(port);
        self.node(from).path().join("ports").join(self.nodes.name(to)).join("shaper")
    }
    /// Returns the paths of the discipline and the buffer of a switch's port; `None`: a host's port.
    pub fn queue(&self, port: u32) -> Option<[Path; 2]> {
        let [from, to] = self.ends(port);
        let node = self.node(from);
        let found = Settings::find(self.expanded, &self.nodes, node, node.switch()?, self.nodes.get(to));
        Some([found.discipline.path, found.buffer.path])
    }
    /// Returns the path of a node's table.
    pub fn table(&self, node: NodeId) -> Path {
        self.node(node).path()
    }
    /// Returns the path of a group of flows, by name; for a group of responses, that of its requests.
    pub fn flow(&self, group: &str) -> Path {
        let named = |name: &str| self.written.flows.iter().position(|flow| flow.name == name);
        let found = named(group).or_else(|| named(group.strip_suffix(" response")?));
        found.map_or_else(|| Path::root().join("flows"), |index| entry("flows", index))
    }
}
