//! Where the document says what the parts of a plan are like, for whoever has something to say of them afterwards.

use super::links::LinkOf;
use super::nodes::{Node, Nodes};
use super::queues::Settings;
use super::{Builder, entry, fabric};
use crate::complaint::Complaints;
use crate::document::{Document, Fabric};
use std::borrow::Cow;
use tailback_document::Path;
use tailback_sim::plan::NodeId;

/// A checked document with its fabric spelled out.
pub(crate) struct Spelled<'a> {
    written: &'a Document,
    whole: Cow<'a, Document>,
}

impl<'a> Spelled<'a> {
    pub fn new(document: &'a Document) -> Spelled<'a> {
        Spelled { written: document, whole: fabric::expand(document, &mut Complaints::default()) }
    }
    /// The places of everything in its plan.
    pub fn places(&self) -> Places<'_> {
        let mut builder = Builder { document: &self.whole, complaints: Complaints::default() };
        let nodes = builder.nodes();
        let links = builder.links(&nodes);
        Places { written: self.written, whole: &self.whole, nodes, links }
    }
}

/// Paths into a document. Ports are numbered by twice their link and the side that sends.
pub(crate) struct Places<'a> {
    written: &'a Document,
    whole: &'a Document,
    nodes: Nodes<'a>,
    links: Vec<LinkOf<'a>>,
}

impl<'a> Places<'a> {
    /// The document as it was written.
    pub fn document(&self) -> &'a Document {
        self.written
    }
    fn ends(&self, port: u32) -> [NodeId; 2] {
        let [a, b] = self.links[port as usize / 2].ends;
        if port.is_multiple_of(2) { [a, b] } else { [b, a] }
    }
    fn node(&self, id: NodeId) -> &Node<'a> {
        self.nodes.get(id)
    }
    /// The port by its ends, such as `sw->d`.
    pub fn port(&self, port: u32) -> String {
        let [from, to] = self.ends(port).map(|id| self.nodes.name(id));
        format!("{from}->{to}")
    }
    /// What ports have in common that the document describes by the same words: the entries of the link and of its ends.
    pub fn kind(&self, port: u32) -> (usize, &'a str, &'a str) {
        let [from, to] = self.ends(port).map(|id| self.node(id).entry);
        // A fabric makes its links one by one, by one table.
        (self.links[port as usize / 2].entry.min(self.written.links.len()), from, to)
    }
    /// The rate of a port's line.
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
    /// The shaper of a switch's port, or the table where it would stand.
    pub fn shaper(&self, port: u32) -> Path {
        let [from, to] = self.ends(port);
        self.node(from).path().join("ports").join(self.nodes.name(to)).join("shaper")
    }
    /// The discipline and the buffer of a switch's port; none of a host's.
    pub fn queue(&self, port: u32) -> Option<[Path; 2]> {
        let [from, to] = self.ends(port);
        let node = self.node(from);
        let found = Settings::find(self.whole, &self.nodes, node, node.switch()?, self.nodes.get(to));
        Some([found.discipline.path, found.buffer.path])
    }
    /// A node's own table.
    pub fn table(&self, node: NodeId) -> Path {
        self.node(node).path()
    }
    /// The table of a group of flows, by name; that of its requests for responses.
    pub fn flow(&self, group: &str) -> Path {
        let named = |name: &str| self.written.flows.iter().position(|flow| flow.name == name);
        let found = named(group).or_else(|| named(group.strip_suffix(" response")?));
        found.map_or_else(|| Path::root().join("flows"), |index| entry("flows", index))
    }
}
