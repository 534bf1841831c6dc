//! Rows of a trace by packet, by port and by kind.

use crate::Network;
use std::collections::BTreeMap;
use tailback_sim::plan::{EventKind, FrameKind, NodeId};
use tailback_sim::trace::{Cause, Detail, Row};
use tailback_units::Time;

/// Rows of a trace with the indices by which they are found.
#[derive(Debug)]
pub struct Log<'a> {
    /// The network of the trace.
    pub network: &'a Network,
    /// Last instant of which the rows are known.
    pub until: Time,
    rows: Vec<Row>,
    /// Rows of each packet.
    packets: BTreeMap<u64, Vec<usize>>,
    /// By port: arrivals, departures and drops at the queue, in causal order.
    queues: Vec<Vec<usize>>,
    /// By port: starts of transmissions, with control frames, in order of time.
    starts: Vec<Vec<usize>>,
    /// By port: effects of notifications.
    effects: Vec<Vec<usize>>,
    /// By port: decisions to stop the neighbour behind it, and withdrawals.
    notices: Vec<Vec<usize>>,
    /// By port: control frames received over its link.
    frames: Vec<Vec<usize>>,
    /// By port: packets received over its link at a node that forwards them.
    received: Vec<Vec<usize>>,
    /// Queues that become congested, or are relieved.
    transitions: Vec<usize>,
}

impl<'a> Log<'a> {
    /// Returns the log of rows in the order of the trace, which are complete up to `until`.
    pub fn new(network: &'a Network, rows: Vec<Row>, until: Time) -> Log<'a> {
        let lists = || vec![Vec::new(); network.ports.len()];
        let mut log = Log {
            network,
            until: until.min(network.end),
            rows: Vec::new(),
            packets: BTreeMap::new(),
            queues: lists(),
            starts: lists(),
            effects: lists(),
            notices: lists(),
            frames: lists(),
            received: lists(),
            transitions: Vec::new(),
        };
        for (index, row) in rows.iter().enumerate() {
            log.enter(index, row);
        }
        for queue in &mut log.queues {
            queue.sort_by_key(|index| rows[*index].turn);
        }
        log.rows = rows;
        log
    }

    fn enter(&mut self, index: usize, row: &Row) {
        let port = row.port as usize;
        if row.frame.is_packet() {
            self.packets.entry(row.packet).or_default().push(index);
        }
        if row.turn > 0 {
            self.queues[port].push(index);
        }
        match row.event {
            EventKind::Dequeue => self.starts[port].push(index),
            EventKind::Effect => self.effects[port].push(index),
            EventKind::Notify | EventKind::Withdraw => self.notices[port].push(index),
            EventKind::Congested | EventKind::Relieved => self.transitions.push(index),
            EventKind::Receive if row.frame.is_packet() => self.received[port].push(index),
            EventKind::Receive => self.frames[port].push(index),
            _ => {}
        }
    }

    /// Returns a row.
    pub fn row(&self, index: usize) -> &Row {
        &self.rows[index]
    }
    /// Returns the rows of a packet.
    pub fn of_packet(&self, packet: u64) -> impl DoubleEndedIterator<Item = &Row> {
        self.packets.get(&packet).into_iter().flatten().map(|index| &self.rows[*index])
    }
    /// Returns the rows of a port's queue in causal order.
    pub fn queue(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.queues[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the starts of transmissions at a port.
    pub fn starts(&self, port: u32) -> impl Iterator<Item = &Row> {
        self.starts[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the effects of notifications at a port.
    pub fn effects(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.effects[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the decisions to stop the neighbour behind a port, and their withdrawals.
    pub fn notices(&self, port: u32) -> impl Iterator<Item = &Row> {
        self.notices[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the control frames received over the link of a port.
    pub fn frames(&self, port: u32) -> impl DoubleEndedIterator<Item = &Row> {
        self.frames[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the packets received over the link of a port at a node that forwards them.
    pub fn received(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.received[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the transitions of congested queues.
    pub fn transitions(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.transitions.iter().map(|index| &self.rows[*index])
    }

    /// Returns the destination of a packet.
    pub fn destination(&self, row: &Row) -> NodeId {
        let flow = &self.network.flows[row.flow as usize];
        if is_ack(row) { flow.from } else { flow.to }
    }
    /// Returns the ports of a node.
    pub fn ports_of(&self, node: NodeId) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.network.ports).filter(move |(_, port)| port.from == node).map(|(number, _)| number)
    }
    /// Returns the name of a port.
    pub fn port_name(&self, port: u32) -> String {
        self.network.ports[port as usize].name.clone()
    }
    /// Returns the name of a node.
    pub fn node_name(&self, node: NodeId) -> String {
        self.network.nodes[usize::from(node)].clone()
    }
    /// Returns the arrival of a packet at a node over a link, the latest up to `time`; `None`: it was generated there.
    pub fn arrival(&self, packet: u64, node: NodeId, time: Time) -> Option<&Row> {
        let enters = |row: &&Row| {
            row.event == EventKind::Receive && row.time <= time && self.network.ports[row.port as usize].to == node
        };
        self.of_packet(packet).rev().find(enters)
    }
}

/// Returns `true` for packets against the direction of the data.
pub(super) fn is_ack(row: &Row) -> bool {
    matches!(row.frame, FrameKind::Ack | FrameKind::SynAck)
}

/// Returns the congested queue of a row.
pub(super) fn cause(row: &Row) -> Option<Cause> {
    match row.detail.as_deref()? {
        Detail::Congestion { cause, .. } | Detail::Notice { cause, .. } => Some(*cause),
        _ => None,
    }
}

/// Returns `true` if both name one queue.
pub(super) fn same(a: Cause, b: Cause) -> bool {
    (a.port, a.class, a.destination) == (b.port, b.class, b.destination)
}
