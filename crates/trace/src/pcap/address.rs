//! Addresses and ports, derived from the indices of nodes, flows and congestion points.

use tailback_qdisc::congestion_notification::wire::Mac;
use tailback_sim::plan::NodeId;

/// An IPv4 address.
pub(super) type Ip = [u8; 4];

/// Port of RoCEv2 (InfiniBand Architecture Specification 1.4, annex A17).
pub(super) const ROCE: u16 = 4791;
/// First port of receivers. The ports used here are not registered with IANA for any protocol, so that no analyser takes
/// the payload for one.
const RECEIVERS: u16 = 50_000;
/// First port of senders.
const SENDERS: u16 = 37_100;
/// Number of ports of either kind.
const PORTS: u32 = 4000;

/// Returns the MAC address of a node: locally administered, with the index plus one in the last four bytes.
pub(super) fn mac(node: NodeId) -> Mac {
    let [a, b, c, d] = (u32::from(node) + 1).to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// Returns the MAC address of a congestion point: locally administered, with its number in the last two bytes.
pub(super) fn point_mac(point: u16) -> Mac {
    let [a, b] = point.to_be_bytes();
    [0x06, 0x00, 0x00, 0x00, a, b]
}

/// Returns the IP address of a node: 10.0.0.0 plus the index plus one.
pub(super) fn ip(node: NodeId) -> Ip {
    let [_, a, b, c] = (u32::from(node) + 1).to_be_bytes();
    [10, a, b, c]
}

/// Returns the port of a flow's receiver, 50000 to 53999: the flow's index modulo 4000.
pub(super) fn receiver_port(flow: u32) -> u16 {
    RECEIVERS + (flow % PORTS) as u16
}

/// Returns the port of a flow's sender in its connection with the number `opening` from 0, 37100 to 41099. Flows whose
/// receivers have the same port differ in the sender's.
pub(super) fn sender_port(flow: u32, opening: u32) -> u16 {
    let turn = u64::from(flow / PORTS) * 641 + u64::from(opening);
    SENDERS + (turn % u64::from(PORTS)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_the_index_plus_one() {
        assert_eq!((mac(0), ip(0)), ([2, 0, 0, 0, 0, 1], [10, 0, 0, 1]));
        assert_eq!((mac(u16::MAX), ip(u16::MAX)), ([2, 0, 0, 1, 0, 0], [10, 1, 0, 0]));
        assert_eq!(point_mac(258), [6, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn each_opening_of_a_flow_has_a_port_of_its_own() {
        assert_eq!((receiver_port(3), receiver_port(4003)), (50_003, 50_003));
        assert_eq!((sender_port(3, 0), sender_port(3, 1), sender_port(4003, 0)), (37_100, 37_101, 37_741));
    }
}
