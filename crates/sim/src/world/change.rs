//! The scenario's timeline: links, sources and thresholds change during the run.

use super::World;
use crate::agenda::Kind;
use crate::plan::ChangeKind;
use crate::port::Queue;
use tailback_qdisc::Reason;

impl World {
    /// Applies all changes that are due.
    pub(super) fn change(&mut self) {
        while let Some(change) = self.plan.timeline.get(self.next_change).cloned() {
            if change.at > self.now {
                self.schedule(change.at, Kind::Change, 0);
                return;
            }
            self.next_change += 1;
            self.apply(&change.what);
        }
    }

    fn apply(&mut self, what: &ChangeKind) {
        let now = self.now;
        match *what {
            ChangeKind::LinkDown(link) => self.sides(link).for_each(|port| self.cut(port)),
            ChangeKind::LinkUp(link) => {
                for port in self.sides(link) {
                    if let Queue::Managed(m) = &mut self.ports[port as usize].queue {
                        m.up = true;
                    }
                    self.kick(port);
                }
            }
            ChangeKind::LinkRate(link, rate) => {
                for port in self.sides(link) {
                    let p = &mut self.ports[port as usize];
                    p.rate = rate;
                    p.clock = rate.clock();
                }
            }
            ChangeKind::LinkDelay(link, delay) => {
                for port in self.sides(link) {
                    let p = &mut self.ports[port as usize];
                    p.delay = delay + p.latency;
                }
            }
            ChangeKind::FlowStart(flow) => self.start_flow(flow, now),
            ChangeKind::FlowStop(flow) => self.stop_flow(flow),
            ChangeKind::Thresholds { node, high, low } => {
                for port in self.nodes[usize::from(node)].ports.clone() {
                    let Queue::Managed(m) = &mut self.ports[port as usize].queue else { continue };
                    for queue in &mut m.queues {
                        let limit = queue.limit;
                        if let Some(detector) = &mut queue.detector {
                            detector.set_thresholds(high, low, limit);
                        }
                    }
                }
            }
        }
    }

    fn sides(&self, link: u32) -> impl Iterator<Item = u32> + use<> {
        [2 * link, 2 * link + 1].into_iter()
    }

    /// A link goes down: what is on it is lost, its queues wait. Control frames on it are lost too,
    /// as on a real link; the state that they would have changed stays as it is.
    fn cut(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if let Queue::Managed(m) = &mut p.queue {
            m.up = false;
        }
        while let Some(packet) = self.ports[port as usize].line.pop_front() {
            if packet.is_control() {
                self.notices.take(packet.seq);
            } else {
                self.ports[port as usize].lost.add(u64::from(packet.size));
                self.ledger.drop(packet, port, Reason::LinkDown);
            }
        }
    }
}
