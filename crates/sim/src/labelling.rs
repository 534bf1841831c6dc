//! MPLS label stacks: where they are pushed and popped, and their traffic class field.
//!
//! A port is labelled if it sends packets with labels; a label-switched path is a chain of labelled ports. The label
//! operation at a node depends on the neighbour's port that sent the packet and on the port by which it leaves. If only
//! the port of departure is labelled, the stack is pushed; if both are, labels are swapped; if only the port of arrival
//! is, the stack is popped.

use crate::plan::{LabelPlan, Plan, Tunnel};
use tailback_qdisc::Packet;

/// The labelled ports of a world.
#[derive(Debug, Default)]
pub(crate) struct Labelling {
    /// Labels by port; empty if no port is labelled.
    ports: Vec<Option<LabelPlan>>,
}

impl Labelling {
    pub fn new(plan: &Plan) -> Labelling {
        let mut labelling = Labelling::default();
        for label in &plan.labels {
            labelling.ports.resize(2 * plan.links.len(), None);
            labelling.ports[label.port as usize] = Some(label.clone());
        }
        labelling
    }

    /// Returns `true` if labels may change packets that are queued at a port: the port or any port that leads to its
    /// node is labelled.
    pub fn concern(plan: &Plan, port: u32) -> bool {
        let sender = |port: u32| plan.links[port as usize / 2].ends[port as usize % 2];
        plan.labels.iter().any(|label| label.port == port || sender(label.port ^ 1) == sender(port))
    }

    /// Returns `true` if any port is labelled.
    #[inline]
    pub fn any(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Applies the label operation to a packet that is about to be queued at `port`. `via` is the neighbour's port that sent
    /// the packet; `None`: the packet was generated at this node.
    pub fn switch(&self, via: Option<u32>, port: u32, packet: &mut Packet) {
        let label = |port: u32| self.ports[port as usize].as_ref();
        match (via.and_then(label), label(port)) {
            // After a pop in pipe mode the packet keeps the labels' traffic class at one port only. From the next port on
            // it is the precedence again.
            (None, None) => packet.set_exp(packet.code >> 3 & 0b111),
            (None, Some(pushed)) => {
                packet.relabel(0, pushed.labels);
                packet.set_exp(pushed.exp[usize::from(packet.code & 0x3f)]);
            }
            (Some(before), Some(after)) => packet.relabel(before.labels, after.labels),
            (Some(popped), None) => {
                packet.relabel(popped.labels, 0);
                pop(popped.tunnel, packet);
            }
        }
    }
}

/// Sets code point and traffic class of a packet whose label stack is popped (RFC 3270 section 2.6).
fn pop(tunnel: Tunnel, packet: &mut Packet) {
    let (exp, precedence) = (packet.exp(), packet.code >> 3 & 0b111);
    match tunnel {
        Tunnel::Pipe => {}
        Tunnel::ShortPipe => packet.set_exp(precedence),
        // The three bits of the traffic class have no drop precedence: if they are unchanged, the code point is kept.
        Tunnel::Uniform if exp == precedence => {}
        Tunnel::Uniform => packet.code = exp << 3,
    }
    if tunnel == Tunnel::Uniform {
        packet.set_exp(exp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_qdisc::Traits;
    use tailback_units::Time;

    const AF31: u8 = 26;
    const EF: u8 = 46;

    /// Returns a path over ports 0 (not labelled), 2 and 4 (with 2 labels and 1 label), 6 and 8 (not labelled).
    fn path(tunnel: Tunnel, exp: [u8; 64]) -> Labelling {
        let mut labelling = Labelling { ports: vec![None; 10] };
        for (port, labels) in [(2, 2), (4, 1)] {
            labelling.ports[port] = Some(LabelPlan { port: port as u32, labels, tunnel, exp: Box::new(exp) });
        }
        labelling
    }

    /// Returns a traffic class for each code point, which equals the upper three bits of the code point.
    fn copied() -> [u8; 64] {
        std::array::from_fn(|code| code as u8 >> 3)
    }

    /// Returns a packet of 1538 wire bytes with a code point.
    fn packet(code: u8) -> Packet {
        let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, 1);
        packet.code = code;
        packet.set_lengths(1500, 1538);
        packet
    }

    /// Returns code point, traffic class and wire bytes at each port. The second labelled port sets the traffic class
    /// to `remark`; `None`: it leaves the traffic class as it is.
    fn walk(labelling: &Labelling, mut packet: Packet, remark: Option<u8>) -> Vec<(u8, u8, u16)> {
        let mut seen = Vec::new();
        for port in [0, 2, 4, 6, 8] {
            labelling.switch((port > 0).then(|| port - 2), port, &mut packet);
            if let (4, Some(exp)) = (port, remark) {
                packet.set_exp(exp);
            }
            seen.push((packet.code & 0x3f, packet.exp(), packet.wire()));
        }
        seen
    }

    #[test]
    fn a_push_copies_the_precedence_and_each_label_takes_four_bytes() {
        let seen = walk(&path(Tunnel::ShortPipe, copied()), packet(AF31), None);
        assert_eq!(seen, [(AF31, 3, 1538), (AF31, 3, 1546), (AF31, 3, 1542), (AF31, 3, 1538), (AF31, 3, 1538)]);
    }

    #[test]
    fn in_uniform_mode_a_changed_traffic_class_becomes_the_precedence() {
        let uniform = path(Tunnel::Uniform, copied());
        let classes = |remark| {
            walk(&uniform, packet(AF31), remark).iter().map(|(code, exp, _)| (*code, *exp)).collect::<Vec<_>>()
        };
        // Class selector 1 is code point 8. With an unchanged traffic class, the code point keeps its drop precedence.
        assert_eq!(classes(Some(1)), [(AF31, 3), (AF31, 3), (AF31, 1), (8, 1), (8, 1)]);
        assert_eq!(classes(None)[3..], [(AF31, 3), (AF31, 3)]);
    }

    #[test]
    fn in_pipe_mode_the_port_after_the_pop_sees_the_traffic_class_of_the_labels_and_the_code_point_is_kept() {
        let seen = walk(&path(Tunnel::Pipe, copied()), packet(EF), Some(1));
        let classes: Vec<_> = seen.iter().map(|(code, exp, _)| (*code, *exp)).collect();
        assert_eq!(classes, [(EF, 5), (EF, 5), (EF, 1), (EF, 1), (EF, 5)]);
    }

    #[test]
    fn in_short_pipe_mode_the_port_after_the_pop_sees_the_precedence_of_the_packet() {
        let seen = walk(&path(Tunnel::ShortPipe, copied()), packet(EF), Some(1));
        let classes: Vec<_> = seen.iter().map(|(code, exp, _)| (*code, *exp)).collect();
        assert_eq!(classes, [(EF, 5), (EF, 5), (EF, 1), (EF, 5), (EF, 5)]);
    }

    #[test]
    fn the_traffic_class_of_a_push_may_be_configured_for_each_code_point() {
        let mut exp = copied();
        exp[usize::from(EF)] = 7;
        let classes = |code| {
            walk(&path(Tunnel::Pipe, exp), packet(code), None).iter().map(|(_, exp, _)| *exp).collect::<Vec<_>>()
        };
        assert_eq!(classes(EF), [5, 7, 7, 7, 5]);
        assert_eq!(classes(AF31), [3; 5]);
    }
}
