//! The timeline: changes of links, sources, thresholds and other parameters during the run, storms of PAUSE frames, and
//! injected data.

use super::{FabricState, World};
use crate::event_queue::Kind;
use crate::hints::unlikely;
use crate::plan::ChangeKind;
use crate::port::{LineEnd, Queue};
use tailback_qdisc::Reason;

impl World {
    /// Applies all changes that are due, and schedules the event of the next change. If no change is due, the present
    /// event is stale and ignored.
    pub(super) fn apply_due_changes(&mut self) {
        if self.plan.timeline.get(self.next_change).is_none_or(|change| change.at > self.now) {
            return;
        }
        while let Some(change) = self.plan.timeline.get(self.next_change).cloned() {
            if change.at > self.now {
                self.schedule(change.at, Kind::Change, 0);
                return;
            }
            if self.trace.is_some() {
                self.begin_change_rows(self.next_change);
            }
            self.next_change += 1;
            self.apply(&change.what);
        }
    }

    /// Applies a change now.
    fn apply(&mut self, what: &ChangeKind) {
        let now = self.now;
        match *what {
            ChangeKind::LinkDown(link) => sides(link).for_each(|port| self.take_down(port)),
            ChangeKind::LinkUp(link) => sides(link).for_each(|port| self.bring_up(port)),
            ChangeKind::LinkRate(link, rate) => sides(link).for_each(|port| self.set_rate(port, rate)),
            ChangeKind::LinkRates(link, rates) => {
                sides(link).zip(rates).for_each(|(port, rate)| self.set_rate(port, rate));
            }
            ChangeKind::LinkDelay(link, delay) => {
                for port in sides(link) {
                    let p = &mut self.ports[port as usize];
                    p.delay = delay + p.latency;
                }
            }
            ChangeKind::PauseStorm { node, on } => self.storm(node, on),
            ChangeKind::FlowStart(flow)
            | ChangeKind::FlowStop(flow)
            | ChangeKind::Source { flow, .. }
            | ChangeKind::Inject { flow, .. }
                if !self.owns(self.plan.flows[flow as usize].from) => {}
            ChangeKind::FlowStart(flow) => self.start_flow(flow, now),
            ChangeKind::FlowStop(flow) => self.stop_flow(flow),
            ChangeKind::LinkLoss(link, probability) => self.set_loss(link, probability),
            ChangeKind::LinkJitter(link, bounds) => {
                for (port, bound) in sides(link).zip(bounds) {
                    if let Queue::General(general) = &mut self.ports[port as usize].queue {
                        general.jitter = bound;
                    }
                }
            }
            ChangeKind::Queue { port, ref queue } => self.retune_queue(port, queue),
            ChangeKind::Memory { node, ref fabric } => self.retune_memory(node, fabric),
            ChangeKind::CongestionPoints { node, ref law } => self.retune_congestion_points(node, law),
            ChangeKind::RateLimiters { node, ref limiters } => self.retune_limiters(node, limiters),
            ChangeKind::Source { flow, ref model } => self.retune_source(flow, model),
            ChangeKind::Inject { flow, bytes } => self.inject_now(flow, bytes),
            ChangeKind::Thresholds { node, high, low } => {
                if let FabricState::Crossbar(crossbar) = &mut self.nodes[usize::from(node)].fabric {
                    crossbar.set_thresholds(high, low);
                }
                for port in self.nodes[usize::from(node)].ports.clone() {
                    let Queue::General(general) = &mut self.ports[port as usize].queue else { continue };
                    for queue in general.queues.iter_mut() {
                        let limit = queue.limit;
                        if let Some(detector) = &mut queue.detector {
                            detector.set_thresholds(high, low, limit);
                        }
                    }
                }
            }
        }
    }

    /// Takes down one direction of a link: frames on it are lost, and the queue waits. Control frames are lost too.
    /// Therefore both ends clear the notifications that they received over the link, as an interface does at loss of
    /// carrier: otherwise the loss of an XON would stop a port for ever.
    fn take_down(&mut self, port: u32) {
        let now = self.now;
        if let Queue::General(general) = &mut self.ports[port as usize].queue {
            general.up = false;
            let waiting = std::mem::take(&mut general.control);
            general.notifications_lost += waiting.len() as u64;
            general.effects.clear();
            if let Some(responder) = &mut general.responder {
                responder.reset(now);
            }
            if unlikely(self.trace.is_some()) && self.owns(self.ports[port as usize].from) {
                for control in &waiting {
                    self.trace_waiting_control_drop(port, control);
                }
            }
        }
        let p = &mut self.ports[port as usize];
        if let Some(LineEnd { announced: Some(announced), .. }) = p.end.as_deref_mut() {
            *announced = 0;
        }
        let from = p.from;
        while let Some(packet) = self.ports[port as usize].line.pop_front() {
            if packet.is_control() || !self.owns(from) {
                // Control frames are not counted as data. A partition that did not send the frame leaves the count of
                // the loss to the partition that did.
                if unlikely(self.trace.is_some()) && self.owns(from) {
                    self.trace_control_drop(port, &packet);
                }
                if let Queue::General(general) = &mut self.ports[port as usize].queue
                    && packet.is_control()
                {
                    general.notifications_lost += 1;
                }
                self.forget(packet);
            } else {
                self.ports[port as usize].lost.add(u64::from(packet.size));
                self.lose_apart(packet, port, Reason::LinkDown);
            }
        }
    }

    /// Brings up one direction of a link: waiting packets are sent, and congested queues notify again.
    fn bring_up(&mut self, port: u32) {
        let owned = self.owns(self.ports[port as usize].from);
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        if !general.up {
            general.up = true;
            if !owned {
                return;
            }
            self.renotify(port);
            self.kick(port);
        }
    }
}

/// Returns the two ports of a link, that of side 0 first.
pub(super) fn sides(link: u32) -> impl Iterator<Item = u32> {
    [2 * link, 2 * link + 1].into_iter()
}
