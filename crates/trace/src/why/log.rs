//! Access to the rows of a trace by packet, by port and by kind.

use crate::Network;
use std::collections::BTreeMap;
use tailback_sim::plan::{EventKind, FrameKind, NodeId};
use tailback_sim::trace::{Cause, Detail, Row};
use tailback_units::Time;

/// Rows of a trace, with lists of their indices by packet, by port and by kind.
#[derive(Debug)]
pub struct Log<'a> {
    /// The network of the trace.
    pub network: &'a Network,
    /// Last instant of which all rows are known.
    pub until: Time,
    rows: Vec<Row>,
    /// For each packet, its rows, in the order of the trace.
    packets: BTreeMap<u64, Vec<usize>>,
    /// For each port, the arrivals, departures and drops at its queue, in causal order.
    queues: Vec<Vec<usize>>,
    /// For each port, the starts of transmissions, control frames included, in order of time.
    starts: Vec<Vec<usize>>,
    /// For each port, the effects of notifications, in order of time.
    effects: Vec<Vec<usize>>,
    /// For each port, the decisions to stop the neighbour behind it and their withdrawals, in order of time.
    notices: Vec<Vec<usize>>,
    /// For each port, the control frames received at the other end of its link, in order of time.
    frames: Vec<Vec<usize>>,
    /// For each port, the packets received at the other end of its link by a node that forwards them, in order of time.
    received: Vec<Vec<usize>>,
    /// Transitions of queues to congested and to relieved, in order of time.
    transitions: Vec<usize>,
}

impl<'a> Log<'a> {
    /// Returns the log of `rows`, which are in the order of the trace and complete up to `until`.
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

    /// Adds a row to the lists.
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

    /// Returns the row with this index.
    pub fn row(&self, index: usize) -> &Row {
        &self.rows[index]
    }
    /// Returns the rows of a packet in the order of the trace.
    pub fn of_packet(&self, packet: u64) -> impl DoubleEndedIterator<Item = &Row> {
        self.packets.get(&packet).into_iter().flatten().map(|index| &self.rows[*index])
    }
    /// Returns the rows of a port's queue in causal order, with their indices.
    pub fn queue(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.queues[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the starts of transmissions at a port, in order of time.
    pub fn starts(&self, port: u32) -> impl Iterator<Item = &Row> {
        self.starts[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the effects of notifications at a port, in order of time, with their indices.
    pub fn effects(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.effects[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the decisions to stop the neighbour behind a port and their withdrawals, in order of time.
    pub fn notices(&self, port: u32) -> impl Iterator<Item = &Row> {
        self.notices[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the control frames received at the other end of a port's link, in order of time.
    pub fn frames(&self, port: u32) -> impl DoubleEndedIterator<Item = &Row> {
        self.frames[port as usize].iter().map(|index| &self.rows[*index])
    }
    /// Returns the packets received at the other end of a port's link by a node that forwards them, in order of time,
    /// with the indices of their rows.
    pub fn received(&self, port: u32) -> impl Iterator<Item = (usize, &Row)> {
        self.received[port as usize].iter().map(|index| (*index, &self.rows[*index]))
    }
    /// Returns the transitions of queues to congested and to relieved, in order of time.
    pub fn transitions(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.transitions.iter().map(|index| &self.rows[*index])
    }

    /// Returns the host to which a packet goes.
    pub fn destination(&self, row: &Row) -> NodeId {
        let flow = &self.network.flows[row.flow as usize];
        if is_ack(row) { flow.from } else { flow.to }
    }
    /// Returns the indices of the ports of a node, in ascending order.
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
    /// Returns the latest arrival of a packet at a node over a link, up to `time`; `None`: the packet was sent by that
    /// node.
    pub fn arrival(&self, packet: u64, node: NodeId, time: Time) -> Option<&Row> {
        let enters = |row: &&Row| {
            row.event == EventKind::Receive && row.time <= time && self.network.ports[row.port as usize].to == node
        };
        self.of_packet(packet).rev().find(enters)
    }
}

/// Returns `true` for acknowledgements and SYN-ACKs, which go against the direction of the flow's data.
pub(super) fn is_ack(row: &Row) -> bool {
    matches!(row.frame, FrameKind::Ack | FrameKind::SynAck)
}

/// Returns the congested queue that a row names; `None`: it names none.
pub(super) fn cause(row: &Row) -> Option<Cause> {
    match row.detail.as_deref()? {
        Detail::Congestion { cause, .. } | Detail::Notice { cause, .. } => Some(*cause),
        _ => None,
    }
}

/// Returns `true` if `a` and `b` name the same queue.
pub(super) fn same_queue(a: Cause, b: Cause) -> bool {
    (a.port, a.class, a.destination) == (b.port, b.class, b.destination)
}
