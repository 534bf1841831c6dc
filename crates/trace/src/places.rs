//! Numbers of nodes, devices, flows and packets in the text formats of ns-2 and ns-3.

use crate::network::Network;
use std::collections::BTreeMap;
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Ends of ports and flows, as numbers of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// For each port, the node whose port it is, and the node at the other end of the link.
    pub ports: Vec<(u16, u16)>,
    /// Ends of each flow.
    pub flows: Vec<Ends>,
}

/// Ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Number of the sending host.
    pub from: u16,
    /// Number of the receiving host.
    pub to: u16,
    /// `true` if the flow has a transport.
    pub has_transport: bool,
}

impl Places {
    /// Returns the ends of the ports and flows of a network.
    pub fn of(network: &Network) -> Places {
        let ends =
            |flow: &crate::network::Flow| Ends { from: flow.from, to: flow.to, has_transport: flow.has_transport };
        Places {
            ports: network.ports.iter().map(|port| (port.from, port.to)).collect(),
            flows: network.flows.iter().map(ends).collect(),
        }
    }

    /// Returns for each port its number among the ports of its node, from 0.
    pub(crate) fn devices(&self) -> Vec<u32> {
        let mut next = BTreeMap::<u16, u32>::new();
        let number = |(from, _): &(u16, u16)| {
            let next = next.entry(*from).or_default();
            *next += 1;
            *next - 1
        };
        self.ports.iter().map(number).collect()
    }

    /// Returns the ends of a row's flow, then the source and the destination of the packet, which for an
    /// acknowledgement are the flow's receiving and sending host. `None`: the row has no flow, or its port or flow is
    /// unknown.
    pub(crate) fn ends(&self, row: &Row, is_ack: bool) -> Option<(Ends, u16, u16)> {
        self.ports.get(row.port as usize)?;
        let ends = *self.flows.get(row.flow as usize)?;
        Some(if is_ack { (ends, ends.to, ends.from) } else { (ends, ends.from, ends.to) })
    }
}

/// Numbers of packets by their identity, from 0, in the order of their first rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering(BTreeMap<u64, u64>);

impl Numbering {
    /// Returns the number of a packet; a new packet gets the next number.
    pub fn of(&mut self, packet: u64) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(packet).or_insert(next)
    }
}

/// Returns a time in seconds as an exact decimal number without trailing zeros.
pub(crate) fn seconds(time: Time) -> String {
    const PS: u64 = 1_000_000_000_000;
    let text = format!("{}.{:012}", time.0 / PS, time.0 % PS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_decimal_seconds() {
        let texts = [0, 1, 1_500_000_000_000, 12_000_000_000_000, 100_000_000].map(|ps| seconds(Time(ps)));
        assert_eq!(texts, ["0", "0.000000000001", "1.5", "12", "0.0001"]);
    }

    #[test]
    fn devices_count_the_ports_of_each_node() {
        let places = Places { ports: vec![(0, 1), (1, 0), (1, 2), (2, 1)], flows: Vec::new() };
        assert_eq!(places.devices(), [0, 0, 1, 0]);
    }
}
