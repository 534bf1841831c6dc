//! Packets that wait at a port or at an input, and their shares by flow.

use super::log::{Log, is_ack};
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_sim::plan::EventKind;
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Packets of one flow in one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Name of the flow; for acknowledgements, `acks of` and the name of the flow whose data they acknowledge.
    pub flow: String,
    /// Class, 0 is the highest.
    pub class: u8,
    /// Number of packets.
    pub packets: u64,
    /// Buffer bytes of the packets.
    pub bytes: u64,
}

/// Returns the name of the flow of a packet, as in [`Share::flow`].
pub(super) fn label(log: &Log<'_>, row: &Row) -> String {
    flow_label(&log.network.flows[row.flow as usize].name, is_ack(row))
}

/// Returns the name of a flow's data, or of its acknowledgements.
pub(super) fn flow_label(name: &str, acks: bool) -> String {
    if acks { format!("acks of {name}") } else { name.to_owned() }
}

/// Returns the shares of packets by flow and class, that with the most bytes first. `rows`: one row of each packet.
pub(super) fn shares<'r>(log: &Log<'_>, rows: impl IntoIterator<Item = &'r Row>) -> Vec<Share> {
    let mut sums: BTreeMap<(u32, bool, u8), (u64, u64)> = BTreeMap::new();
    for row in rows {
        let (packets, bytes) = sums.entry((row.flow, is_ack(row), row.class)).or_default();
        *packets += 1;
        *bytes += u64::from(row.size);
    }
    let share = |((flow, acks, class), (packets, bytes)): ((u32, bool, u8), (u64, u64))| Share {
        flow: flow_label(&log.network.flows[flow as usize].name, acks),
        class,
        packets,
        bytes,
    };
    let mut found: Vec<Share> = sums.into_iter().map(share).collect();
    found.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    found
}

/// Returns the sum of the bytes of shares.
pub(super) fn total(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.bytes).sum()
}

/// Returns the packets that wait at a port after the rows of its queue for which `before` is `true`: the indices of
/// their `enqueue` rows, in order of arrival.
fn waiting(log: &Log<'_>, port: u32, before: impl Fn(&Row) -> bool) -> Vec<usize> {
    let mut places: BTreeMap<u64, u64> = BTreeMap::new();
    let mut order: BTreeMap<u64, usize> = BTreeMap::new();
    for (index, row) in log.queue(port).take_while(|(_, row)| before(row)) {
        if row.event == EventKind::Enqueue {
            places.insert(row.packet, row.turn);
            order.insert(row.turn, index);
        } else if let Some(turn) = places.remove(&row.packet) {
            order.remove(&turn);
        }
    }
    order.into_values().collect()
}

/// Returns the packets that wait at a port just before the row of its queue with this turn: the indices of their
/// `enqueue` rows, in order of arrival.
pub(super) fn waiting_before(log: &Log<'_>, port: u32, turn: u64) -> Vec<usize> {
    waiting(log, port, |row| row.turn < turn)
}

/// Returns the packets that wait at a port at the end of an instant: the indices of their `enqueue` rows, in order of
/// arrival.
pub(super) fn waiting_at(log: &Log<'_>, port: u32, time: Time) -> Vec<usize> {
    waiting(log, port, |row| row.time <= time)
}

/// Returns the packets that wait at the input behind the link of port `link` at the end of an instant: the indices of
/// their `receive` rows, in order of time, each with the port to which the packet is forwarded later. `None`: it is not
/// forwarded.
pub(super) fn at_input(log: &Log<'_>, link: u32, time: Time) -> Vec<(usize, Option<u32>)> {
    let node = log.network.ports[link as usize].to;
    let next = |row: &Row| {
        let later = |other: &&Row| {
            let here = log.network.ports[other.port as usize].from == node && other.event == EventKind::Enqueue;
            let refused = other.port == link && other.event == EventKind::Drop;
            other.time >= row.time && (here || refused)
        };
        log.of_packet(row.packet).find(later)
    };
    let mut found = Vec::new();
    for (index, row) in log.received(link).take_while(|(_, row)| row.time <= time) {
        match next(row) {
            Some(left) if left.time <= time => {}
            Some(left) if left.event == EventKind::Enqueue => found.push((index, Some(left.port))),
            _ => found.push((index, None)),
        }
    }
    found
}
