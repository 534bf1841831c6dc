//! Changes of parameters during the run: of the rates and losses of links, of queues, memory, laws of congestion
//! notification and sources.
//!
//! Waiting packets are kept, and so is all state that is not computed from the parameters alone.

use super::change::sides;
use super::{FabricState, World};
use crate::plan::{Fabric, NodeId, QueuePlan, port_names};
use crate::port::{Queue, Waiting};
use tailback_qdisc::Site;
use tailback_qdisc::congestion_notification::{LimitersSpec, cp};
use tailback_random::Rng;
use tailback_traffic::Model;
use tailback_units::Rate;

impl World {
    /// Sets the rate of a port's link, from the next frame on.
    pub(super) fn set_rate(&mut self, port: u32, rate: Rate) {
        let p = &mut self.ports[port as usize];
        p.rate = rate;
        p.clock = rate.clock();
        let Queue::General(general) = &mut p.queue else { return };
        let rate = general.egress.as_ref().map_or(rate, |egress| egress.rate(rate));
        for queue in general.queues.iter_mut() {
            queue.waiting.set_rate(rate);
        }
    }

    /// Sets the probability of loss of both directions of a link, 0 to 1.
    pub(super) fn set_loss(&mut self, link: u32, probability: f64) {
        // The names of parallel links depend on all links, so all names are computed; changes of the loss are rare.
        let names = port_names(&self.plan.nodes, &self.plan.links);
        let seed = self.plan.seed;
        for port in sides(link) {
            let stream = || Rng::named(seed, &format!("loss {}", names[port as usize]));
            self.ports[port as usize].set_loss(probability, stream);
        }
    }

    /// Replaces the parameters of a port's discipline, limits and shaper.
    pub(super) fn retune_queue(&mut self, port: u32, plan: &QueuePlan) {
        let now = self.now;
        self.plan.links[port as usize / 2].queue[port as usize % 2] = plan.clone();
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else {
            unreachable!("ports with such changes take the general form")
        };
        if let (Some(egress), Some(shaper)) = (&mut general.egress, &plan.shaper) {
            egress.retune(now, shaper);
        }
        let rate = general.egress.as_ref().map_or(p.rate, |egress| egress.rate(p.rate));
        for (class, queue) in general.queues.iter_mut().enumerate() {
            let site = Site { bytes: plan.limits[class], packets: plan.places[class], rate };
            queue.waiting.retune(now, &plan.discipline, &site);
            // Rate limiters have a limit of their own, which is not that of the plan's queue.
            if !matches!(queue.waiting, Waiting::Limited(_)) {
                queue.limit = site.bytes;
                if let Some(detector) = &mut queue.detector {
                    detector.set_limit(site.bytes);
                }
            }
        }
        self.resume_at(port);
    }

    /// Makes a port act on new parameters: wake-ups are scheduled anew, and a packet that may leave now leaves.
    fn resume_at(&mut self, port: u32) {
        if !self.owns(self.ports[port as usize].from) {
            return;
        }
        let Queue::General(general) = &self.ports[port as usize].queue else { return };
        let wakeup = general.queues.iter().filter_map(|queue| queue.waiting.next_wakeup()).min();
        if let Some(at) = wakeup {
            self.wake_at(port, at);
        }
        self.kick(port);
    }

    /// Replaces the size and the threshold of a switch's memory.
    pub(super) fn retune_memory(&mut self, node: NodeId, fabric: &Fabric) {
        match (&mut self.nodes[usize::from(node)].fabric, fabric) {
            (FabricState::Shared(own), Fabric::SharedMemory { memory, alpha }) => {
                (own.memory, own.alpha) = (*memory, *alpha);
            }
            (FabricState::Buffer(own), Fabric::SharedBuffer(plan)) => own.retune(*plan),
            (FabricState::Crossbar(own), Fabric::InputFifo { buffer } | Fabric::VirtualOutputQueues { buffer, .. }) => {
                own.set_memory(*buffer);
            }
            _ => unreachable!("the model of a switch does not change"),
        }
    }

    /// Replaces the parameters of a switch's congestion points.
    pub(super) fn retune_congestion_points(&mut self, node: NodeId, law: &cp::Spec) {
        let now = self.now;
        for port in self.nodes[usize::from(node)].ports.clone() {
            let Queue::General(general) = &mut self.ports[port as usize].queue else { continue };
            for point in general.queues.iter_mut().filter_map(|queue| queue.point.as_mut()) {
                point.retune(now, law);
            }
        }
    }

    /// Replaces the parameters of a node's rate limiters.
    pub(super) fn retune_limiters(&mut self, node: NodeId, limiters: &LimitersSpec) {
        let now = self.now;
        for port in self.nodes[usize::from(node)].ports.clone() {
            let plan = &self.plan.links[port as usize / 2].queue[port as usize % 2];
            let p = &mut self.ports[port as usize];
            let Queue::General(general) = &mut p.queue else { continue };
            let rate = general.egress.as_ref().map_or(p.rate, |egress| egress.rate(p.rate));
            for (class, queue) in general.queues.iter_mut().enumerate() {
                let Waiting::Limited(own) = &mut queue.waiting else { continue };
                let site = Site { bytes: plan.limits[class], packets: plan.places[class], rate };
                own.retune(now, limiters, &plan.discipline, &site);
                queue.limit = limiters.buffer;
                if let Some(detector) = &mut queue.detector {
                    detector.set_limit(limiters.buffer);
                }
            }
            self.resume_at(port);
        }
    }

    /// Replaces the model of a flow's source. A source that sends restarts now. A source that has not started yet
    /// starts at its configured time. A source that was stopped stays stopped, and uses the new model when it is
    /// started.
    pub(super) fn retune_source(&mut self, flow: u32, model: &Model) {
        self.plan.flows[flow as usize].model = model.clone();
        if self.source_runs(flow) {
            let start = self.plan.flows[flow as usize].start;
            self.start_flow(flow, self.now.max(start));
        }
    }

    /// Sends `bytes` of a flow now, in addition to its source.
    pub(super) fn inject_now(&mut self, flow: u32, bytes: u64) {
        match self.transports.of(flow) {
            Some(connection) => self.write(connection, bytes),
            None => self.send_packets(flow, bytes),
        }
    }
}
