//! Application of the conditioners to packets.

use super::World;
use crate::conditioning::NONE;
use tailback_qdisc::{Colour, Packet, Reason};

impl World {
    /// Hands a packet of a flow whose packets are coloured to the network. `marked` is `true` if the sender marks the
    /// packet green, `false` if yellow; `None`: the sender does not colour packets. `rule` is the conditioner at the
    /// flow's entry, which may drop the packet, or [`NONE`].
    #[inline(never)]
    pub(super) fn enter(&mut self, port: u32, rule: u32, marked: Option<bool>, mut packet: Packet) {
        if let Some(marked) = marked {
            packet.set_colour(if marked { Colour::Green } else { Colour::Yellow });
        }
        let passes = rule == NONE || self.conditioning.enter(rule, self.now, &mut packet);
        self.ledger.offer(&packet);
        self.ledger.offer_coloured(&packet);
        if let Some(packet) = self.pass(passes, port, packet) {
            self.enqueue(port, packet, None);
        }
    }

    /// Conditions a packet that arrived over the link of `port`, before it is forwarded; `None`: it was dropped.
    pub(super) fn condition_ingress(&mut self, port: u32, mut packet: Packet) -> Option<Packet> {
        let passes = self.conditioning.ingress(port, self.now, &mut packet);
        self.pass(passes, port, packet)
    }

    /// Returns the packet if it passes; otherwise counts it as policed at `port`.
    fn pass(&mut self, passes: bool, port: u32, packet: Packet) -> Option<Packet> {
        if passes {
            return Some(packet);
        }
        self.lose_apart(packet, port, Reason::Policed);
        None
    }
}
