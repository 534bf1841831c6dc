//! Switches with memory accounted by input: stops of neighbours, storms of PAUSE frames, and head-of-line blocking.

use super::{FabricState, World};
use crate::control_frame::CongestionSource;
use crate::hints::unlikely;
use crate::port::{Origin, Queue};
use crate::shared_buffer::FlowControl;
use crate::trace::Cause;
use tailback_units::Time;

impl World {
    /// Releases the memory of a frame; `origin` is the input by which the frame arrived, `None` if it occupies no
    /// memory.
    pub(super) fn release(&mut self, node: usize, origin: Option<Origin>, class: usize, size: u64) {
        let Some(Origin { slot, .. }) = origin else { return };
        let FabricState::Buffer(buffer) = &mut self.nodes[node].fabric else { return };
        let action = buffer.release(slot as usize, class, size);
        if action != FlowControl::Unchanged {
            let port = self.nodes[node].ports[slot as usize];
            self.stop_or_resume(port, class, action);
        }
    }

    /// Notifies the neighbour behind `port` to stop or to resume a class, as far as back-pressure permits.
    pub(super) fn stop_or_resume(&mut self, port: u32, class: usize, action: FlowControl) {
        let node = usize::from(self.ports[port as usize].from);
        if unlikely(self.trace.is_some()) {
            self.trace_input(action == FlowControl::Stop, node, port, class);
        }
        let Some(policy) = self.nodes[node].backpressure.clone() else { return };
        if self.may_notify(port, &policy) {
            let source = CongestionSource { port, class: class as u8, destination: None };
            self.assert_congestion(port, source, &[], &policy, action == FlowControl::Stop);
        }
    }

    /// Traces an input that has used up its share of the memory (`on`) or has memory again (`!on`).
    fn trace_input(&mut self, on: bool, node: usize, port: u32, class: usize) {
        let level = self.input_level(node, self.slots[port as usize] as usize, class);
        if let Some((bytes, threshold)) = level {
            let cause = Cause { port, class: class as u8, input: true, destination: None };
            self.trace_congestion(on, port, cause, bytes, Some(threshold));
        }
    }

    /// Returns the classes in which the neighbour behind `port` is stopped, as congestion sources.
    pub(super) fn active_stops(&self, port: u32) -> Vec<CongestionSource> {
        let p = &self.ports[port as usize];
        let FabricState::Buffer(buffer) = &self.nodes[usize::from(p.from)].fabric else { return Vec::new() };
        let classes = (0..self.plan.classes)
            .filter(|class| buffer.stops(self.slots[port as usize] as usize, usize::from(*class)));
        classes.map(|class| CongestionSource { port, class, destination: None }).collect()
    }

    /// Starts (`on`) or ends (`!on`) a storm of PAUSE frames at a host.
    pub(super) fn storm(&mut self, node: u16, on: bool) {
        for port in self.nodes[usize::from(node)].ports.clone() {
            let neighbour = usize::from(self.ports[port as usize].to);
            let Some(policy) = self.nodes[neighbour].backpressure.clone() else { continue };
            self.nodes[usize::from(node)].backpressure = Some(policy.clone());
            if !self.owns(node) {
                continue;
            }
            for class in 0..self.plan.classes {
                // A repeated start or end of a storm has no effect.
                let Queue::General(general) = &self.ports[port as usize].queue else {
                    unreachable!("the ports of hosts with storms have the general form")
                };
                if (general.asserted[usize::from(class)] > 0) == on {
                    continue;
                }
                let source = CongestionSource { port, class, destination: None };
                self.assert_congestion(port, source, &[], &policy, on);
            }
        }
    }

    /// Counts head-of-line blocking when the neighbour behind `port` has stopped classes (bit k of `stopped`: class k).
    /// Counts the packets of these classes that wait at `port`, and how many of them are bound for a port of the
    /// neighbour other than its fullest one in the class.
    pub(super) fn count_held_up(&mut self, port: u32, stopped: u8) {
        let towards = self.ports[port as usize].to;
        if self.nodes[usize::from(towards)].is_host {
            return;
        }
        let (mut all, mut others) = (0, 0);
        for class in (0..usize::from(self.plan.classes)).filter(|class| stopped & 1 << class != 0) {
            let (now, outputs) = (self.now, self.nodes[usize::from(towards)].ports.iter().copied());
            let fullest = outputs.max_by_key(|port| self.ports[*port as usize].backlog_at(now, class));
            let Queue::General(general) = &self.ports[port as usize].queue else { return };
            general.queues[class].waiting.visit(&mut |packet| {
                all += 1;
                let next = self.routes.port(towards, packet.dst, packet.flow(), packet.seq);
                others += u64::from(Some(next) != fullest);
            });
        }
        if let Queue::General(general) = &mut self.ports[port as usize].queue {
            general.held_up += all;
            general.held_up_for_others += others;
        }
    }

    /// Returns the time since which data waits at a port with an idle transmitter; `None`: no data waits, or the
    /// transmitter is busy.
    pub(super) fn blocked_since(&self, port: u32) -> Option<Time> {
        match &self.ports[port as usize].queue {
            Queue::General(general) => general.blocked_since,
            Queue::Fifo { .. } | Queue::Admission(_) => None,
        }
    }
}
