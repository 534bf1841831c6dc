//! MPLS label stacks: where they are pushed and popped, and the traffic class field.
//!
//! A port is labelled or not, and a label-switched path is a chain of labelled ports. The label operation at a node
//! depends on the port by which a packet arrives and the port by which it leaves: if neither is labelled, there is
//! none; if only the port of departure is, the stack is pushed; if both are, labels are swapped; if only the port of
//! arrival is, the stack is popped.

use crate::plan::{LabelPlan, Plan, Tunnel};
use tailback_qdisc::Packet;

/// The labelled ports of a world.
#[derive(Debug, Default)]
pub(crate) struct Labelling {
    /// By port; empty if no port is labelled.
    ports: Vec<Option<LabelPlan>>,
}

impl Labelling {
    pub fn new(plan: &Plan) -> Labelling {
        let mut made = Labelling::default();
        for label in &plan.labels {
            made.ports.resize(2 * plan.links.len(), None);
            made.ports[label.port as usize] = Some(label.clone());
        }
        made
    }

    /// Returns `true` if labels may change packets that are queued at a port: the port or any port that leads to its
    /// node is labelled.
    pub fn concern(plan: &Plan, port: u32) -> bool {
        let sender = |port: u32| plan.links[port as usize / 2].ends[port as usize % 2];
        plan.labels.iter().any(|label| label.port == port || sender(label.port ^ 1) == sender(port))
    }

    #[inline]
    pub fn any(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Applies the label operation to a packet that is about to be queued at `port`. `via` is the port by which it
    /// arrived; `None`: it was generated at this node.
    pub fn switch(&self, via: Option<u32>, port: u32, packet: &mut Packet) {
        let label = |port: u32| self.ports[port as usize].as_ref();
        match (via.and_then(label), label(port)) {
            // In pipe mode, the labels' traffic class was kept for scheduling at the previous port only.
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

/// Sets the code point and traffic class when the label stack is popped (RFC 3270 section 2.6).
fn pop(tunnel: Tunnel, packet: &mut Packet) {
    let (exp, precedence) = (packet.exp(), packet.code >> 3 & 0b111);
    match tunnel {
        Tunnel::Pipe => {}
        Tunnel::ShortPipe => packet.set_exp(precedence),
        // Three bits cannot encode a drop precedence, so an unchanged class leaves the code point as it is.
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

    /// A path over ports 0 (customer), 2 and 4 (labelled, 2 and then 1 entries), 6 and 8 (customer).
    fn path(tunnel: Tunnel, exp: [u8; 64]) -> Labelling {
        let mut made = Labelling { ports: vec![None; 10] };
        for (port, labels) in [(2, 2), (4, 1)] {
            made.ports[port] = Some(LabelPlan { port: port as u32, labels, tunnel, exp: Box::new(exp) });
        }
        made
    }

    fn copied() -> [u8; 64] {
        std::array::from_fn(|code| code as u8 >> 3)
    }

    fn packet(code: u8) -> Packet {
        let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, 1);
        packet.code = code;
        packet.set_lengths(1500, 1538);
        packet
    }

    /// Returns code point, traffic class and length on the wire at each port; the second labelled port sets the traffic
    /// class to `remark`.
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
    fn imposition_copies_the_precedence_and_each_label_takes_four_bytes() {
        let seen = walk(&path(Tunnel::ShortPipe, copied()), packet(AF31), None);
        assert_eq!(seen, [(AF31, 3, 1538), (AF31, 3, 1546), (AF31, 3, 1542), (AF31, 3, 1538), (AF31, 3, 1538)]);
    }

    #[test]
    fn in_uniform_mode_a_changed_traffic_class_becomes_the_precedence() {
        let uniform = path(Tunnel::Uniform, copied());
        let classes = |remark| {
            walk(&uniform, packet(AF31), remark).iter().map(|(code, exp, _)| (*code, *exp)).collect::<Vec<_>>()
        };
        // Class selector 1 is code point 8; a class that has not changed keeps its drop precedence.
        assert_eq!(classes(Some(1)), [(AF31, 3), (AF31, 3), (AF31, 1), (8, 1), (8, 1)]);
        assert_eq!(classes(None)[3..], [(AF31, 3), (AF31, 3)]);
    }

    #[test]
    fn in_pipe_mode_the_last_port_schedules_by_the_labels_and_the_packet_keeps_its_code_point() {
        let seen = walk(&path(Tunnel::Pipe, copied()), packet(EF), Some(1));
        let classes: Vec<_> = seen.iter().map(|(code, exp, _)| (*code, *exp)).collect();
        assert_eq!(classes, [(EF, 5), (EF, 5), (EF, 1), (EF, 1), (EF, 5)]);
    }

    #[test]
    fn in_short_pipe_mode_the_last_port_schedules_by_the_packets_code_point() {
        let seen = walk(&path(Tunnel::ShortPipe, copied()), packet(EF), Some(1));
        let classes: Vec<_> = seen.iter().map(|(code, exp, _)| (*code, *exp)).collect();
        assert_eq!(classes, [(EF, 5), (EF, 5), (EF, 1), (EF, 5), (EF, 5)]);
    }

    #[test]
    fn a_provider_may_give_a_class_of_its_own_to_each_code_point() {
        let mut exp = copied();
        exp[usize::from(EF)] = 7;
        let classes = |code| {
            walk(&path(Tunnel::Pipe, exp), packet(code), None).iter().map(|(_, exp, _)| *exp).collect::<Vec<_>>()
        };
        assert_eq!(classes(EF), [5, 7, 7, 7, 5]);
        assert_eq!(classes(AF31), [3; 5]);
    }
}
