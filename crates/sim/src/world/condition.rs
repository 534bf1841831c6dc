//! Where the conditioners meet the packets.

use super::World;
use crate::conditioning::NONE;
use tailback_qdisc::{Colour, Packet, Reason};

impl World {
    /// Hands a packet of a flow whose packets are coloured to the network: `marked` is what its
    /// sender says, `rule` the conditioner at its entry, if any, which may drop it.
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

    /// A packet is about to be queued at `port`. None if it is dropped.
    pub(super) fn condition_egress(&mut self, port: u32, mut packet: Packet) -> Option<Packet> {
        let passes = self.conditioning.egress(port, self.now, &mut packet);
        self.pass(passes, port, packet)
    }

    /// A packet has come over the line of `port` and is about to be forwarded. None if it is dropped.
    pub(super) fn condition_ingress(&mut self, port: u32, mut packet: Packet) -> Option<Packet> {
        let passes = self.conditioning.ingress(port, self.now, &mut packet);
        self.pass(passes, port, packet)
    }

    fn pass(&mut self, passes: bool, port: u32, packet: Packet) -> Option<Packet> {
        if passes {
            return Some(packet);
        }
        self.lose(packet, port, Reason::Policed);
        None
    }
}
