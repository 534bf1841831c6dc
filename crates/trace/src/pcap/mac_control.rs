//! Control frames between neighbours: PAUSE (IEEE 802.3 annex 31B), PFC (annex 31D, IEEE 802.1Qbb), and the idealised
//! XOFF and XON, which no standard describes.

use super::address::mac;
use super::frame::Synthetic;
use tailback_qdisc::congestion_notification::wire::Mac;
use tailback_sim::plan::NodeId;

/// Group address of PAUSE and PFC; bridges do not forward it.
const NEIGHBOUR: Mac = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// EtherType of MAC control.
const MAC_CONTROL: u16 = 0x8808;
/// EtherType of XOFF and XON: the second of IEEE 802's for local experiments; the first one is that of BCN's messages.
const EXPERIMENT: u16 = 0x88b6;

/// Returns a PAUSE frame of a node.
pub(super) fn pause(from: NodeId, quanta: u16) -> Synthetic {
    frame(from, MAC_CONTROL, &[0x0001, quanta])
}

/// Returns a PFC frame of a node: bit k of `priorities` sets the time of priority k.
pub(super) fn pfc(from: NodeId, priorities: u8, quanta: [u16; 8]) -> Synthetic {
    let mut words = vec![0x0101, u16::from(priorities)];
    words.extend_from_slice(&quanta);
    frame(from, MAC_CONTROL, &words)
}

/// Returns an idealised XOFF (`stops`) or XON of a node on behalf of a port, for a priority and these destinations: an
/// octet with 1 or 2, an octet with the priority, two with the port's index modulo 2^16, and the destinations' addresses.
pub(super) fn notice(from: NodeId, stops: bool, priority: u8, port: u32, destinations: &[NodeId]) -> Synthetic {
    let operation = u16::from(if stops { 1u8 } else { 2 }) << 8 | u16::from(priority);
    let mut made = frame(from, EXPERIMENT, &[operation, port as u16]);
    for node in destinations {
        made.head.extend_from_slice(&mac(*node));
    }
    made
}

fn frame(from: NodeId, kind: u16, words: &[u16]) -> Synthetic {
    let mut head = NEIGHBOUR.to_vec();
    head.extend_from_slice(&mac(from));
    head.extend_from_slice(&kind.to_be_bytes());
    for word in words {
        head.extend_from_slice(&word.to_be_bytes());
    }
    Synthetic { head, ..Synthetic::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_has_the_fields_of_annex_31b() {
        let expected = [0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0x08, 0x00, 0x01, 0xff, 0xff];
        assert_eq!(pause(0, 0xffff).head, expected);
        assert_eq!(pause(0, 0).length(), 60);
    }

    #[test]
    fn a_pfc_frame_has_a_vector_of_priorities_and_eight_times() {
        let expected = [0x01, 0x01, 0x00, 0x81, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(pfc(0, 0x81, [5, 0, 0, 0, 0, 0, 0, 0x0102]).head[14..], expected);
    }

    #[test]
    fn an_idealised_stop_lists_the_destinations() {
        assert_eq!(notice(3, true, 2, 0x1_0005, &[9]).head[12..], [0x88, 0xb6, 1, 2, 0, 5, 2, 0, 0, 0, 0, 10]);
    }
}
