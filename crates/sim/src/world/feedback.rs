//! Congestion notification (IEEE 802.1Qau): messages of congestion points travel hop by hop towards the hosts that sent
//! the sampled frames, and rate limiters respond.
//!
//! In IEEE 802.1Qau, only end stations are reaction points. Here, a switch may have rate limiters, too: it processes
//! the messages about frames that pass its limiters, and does not forward them.

use super::World;
use crate::control_frame::{ControlFrame, Message};
use crate::plan::NO_ROUTE;
use crate::port::{Queue, Waiting};
use tailback_qdisc::congestion_notification::{Frame, Heard};
use tailback_qdisc::{Packet, Qdisc};
use tailback_units::Time;

impl World {
    /// Passes a packet that is about to be queued at `port` to the congestion point of its queue, if there is one. The
    /// congestion point may sample the packet; if a message results, it is sent.
    pub(super) fn sample_arrival(&mut self, port: u32, packet: &Packet) {
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        let queue = &mut general.queues[usize::from(packet.class())];
        let Some(point) = &mut queue.point else { return };
        let Some(feedback) = point.judge(queue.backlog, packet.size, packet.tag()) else { return };
        let length = point.format.length(packet.size, packet.tag().is_some());
        let (point, frame) = (point.number, Frame::of(packet));
        let source = self.origins[frame.flow as usize].source;
        let node = self.ports[port as usize].from;
        self.pass_back(node, Message { point, feedback, frame, source, length });
    }

    /// Forwards a message from a node towards the source of the sampled frame.
    fn pass_back(&mut self, node: u16, message: Message) {
        let out = self.routes.port(node, message.source, message.frame.flow, 0);
        self.send_control(out, ControlFrame::Feedback(message));
    }

    /// Handles a message at a node. If the sampled frame left the node through rate limiters, these process the
    /// message. Otherwise a switch forwards the message, and a host, which is the source of the frame, discards it.
    pub(super) fn receive_feedback(&mut self, node: u16, message: Message) {
        let frame = message.frame;
        let is_host = self.nodes[usize::from(node)].is_host;
        let out = if is_host {
            self.first_port(frame.flow)
        } else {
            self.routes.port(node, frame.destination, frame.flow, 0)
        };
        if out != NO_ROUTE
            && let Queue::General(general) = &mut self.ports[out as usize].queue
            && let Waiting::Limited(limiters) = &mut general.queues[usize::from(frame.class)].waiting
        {
            if limiters.hear(self.now, frame, message.point, message.feedback) == Heard::Obeyed {
                let wakeup = limiters.next_wakeup();
                self.wake_at(out, wakeup.unwrap_or(Time::NEVER));
                self.kick(out);
            }
        } else if is_host {
            self.undelivered_messages += 1;
        } else {
            self.pass_back(node, message);
        }
    }

    /// Returns the port by which packets with this flow number leave their host. Flows have the first numbers, in the
    /// order of the plan; those of acknowledgements follow, in the order of the connections.
    fn first_port(&self, flow: u32) -> u32 {
        let flows = self.plan.flows.len() as u32;
        match flow.checked_sub(flows) {
            None => self.flow_port(flow),
            Some(connection) => self.transports.ack_port(connection),
        }
    }
}
