//! Notification of neighbours by congested inputs of crossbars.
//!
//! An input is filled only by its link, so only the neighbour at the other end of the link is notified, with either
//! value of [`BackPressure::notify`]. In all other respects, inputs notify as output queues do (`world/notify.rs`).

use super::notify::{has_addresses, threshold};
use super::trace::cause;
use super::{FabricState, World};
use crate::control_frame::CongestionSource;
use crate::crossbar::{Crossbar, Place};
use crate::detector::{Episode, Transition};
use crate::hints::unlikely;
use crate::plan::{Addresses, BackPressure};
use std::sync::Arc;

impl World {
    /// Returns the crossbar of a node; `None`: the node has no crossbar.
    fn crossbar(&mut self, node: usize) -> Option<&mut Crossbar> {
        match &mut self.nodes[node].fabric {
            FabricState::Crossbar(crossbar) => Some(crossbar),
            _ => None,
        }
    }

    /// Evaluates the occupancy of an input of `node` after a frame was added there (`added`) or removed. `place` is the
    /// place of the frame.
    pub(super) fn detect_at_input(&mut self, node: usize, place: Place, added: bool) {
        let Some(policy) = self.nodes[node].backpressure.clone() else { return };
        let now = self.now;
        let Some((transition, congested)) = self.crossbar(node).and_then(|crossbar| crossbar.observe(now, place))
        else {
            return;
        };
        let towards_neighbour = self.nodes[node].ports[place.input];
        match transition {
            Transition::Congested => {
                let addresses = self.addresses_at_input(node, place, congested, &policy);
                let may_notify = self.may_notify(towards_neighbour, &policy);
                let targets = if may_notify { vec![towards_neighbour] } else { Vec::new() };
                let source = self.source_at_input(node, place, congested);
                if unlikely(self.trace.is_some()) {
                    self.trace_place(true, node, place, source);
                }
                for target in &targets {
                    self.assert_congestion(*target, source, &addresses, &policy, true);
                }
                if let Some(detector) = self.crossbar(node).and_then(|crossbar| crossbar.detector(place)) {
                    detector.episodes.push(Episode { destination: congested, targets, addresses });
                }
            }
            Transition::Relieved => {
                let source = self.source_at_input(node, place, congested);
                let Some(detector) = self.crossbar(node).and_then(|crossbar| crossbar.detector(place)) else { return };
                let Some(at) = detector.episodes.iter().position(|e| e.destination == congested) else { return };
                let episode = detector.episodes.swap_remove(at);
                if unlikely(self.trace.is_some()) {
                    self.trace_place(false, node, place, source);
                }
                for target in episode.targets {
                    self.assert_congestion(target, source, &episode.addresses, &policy, false);
                }
            }
            Transition::Unchanged if added && has_addresses(policy.scope) && policy.addresses == Addresses::Buffer => {
                let source = self.source_at_input(node, place, congested);
                let Some(detector) = self.crossbar(node).and_then(|crossbar| crossbar.detector(place)) else { return };
                let Some(episode) = detector.episode(congested) else { return };
                if episode.addresses.contains(&place.destination) {
                    return;
                }
                episode.addresses.push(place.destination);
                for target in episode.targets.clone() {
                    self.assert_congestion(target, source, &[place.destination], &policy, true);
                }
            }
            Transition::Unchanged => {}
        }
    }

    /// Traces an input of a crossbar, or a queue there, that becomes congested (`on`) or is relieved (`!on`).
    fn trace_place(&mut self, on: bool, node: usize, place: Place, source: CongestionSource) {
        let Some(crossbar) = self.crossbar(node) else { return };
        let bytes = crossbar.level(place);
        let threshold = crossbar.detector(place).map(|detector| threshold(detector, on));
        let back = self.nodes[node].ports[place.input];
        self.trace_congestion(on, back, cause(source, true), bytes, threshold);
    }

    /// Returns the congested queue at an input, which is identified by its output; or the whole memory of the input,
    /// which is identified by the port towards the neighbour.
    fn source_at_input(&self, node: usize, place: Place, destination: Option<u16>) -> CongestionSource {
        let ports = &self.nodes[node].ports;
        match &self.nodes[node].fabric {
            FabricState::Crossbar(crossbar) if crossbar.watches_queues() => {
                CongestionSource { port: ports[place.output], class: place.class, destination }
            }
            _ => CongestionSource { port: ports[place.input], class: 0, destination: None },
        }
    }

    /// Returns the destination addresses that a notification names; `congested` is the congested destination, `None` if
    /// destinations have no limits of their own.
    fn addresses_at_input(
        &self,
        node: usize,
        place: Place,
        congested: Option<u16>,
        policy: &Arc<BackPressure>,
    ) -> Vec<u16> {
        let FabricState::Crossbar(crossbar) = &self.nodes[node].fabric else { return Vec::new() };
        match (congested, policy.addresses) {
            _ if !has_addresses(policy.scope) => Vec::new(),
            (_, Addresses::FilteringDatabase) => self.reached_through(self.nodes[node].ports[place.output]),
            (Some(destination), Addresses::Buffer) => vec![destination],
            (None, Addresses::Buffer) => crossbar.destinations(place),
        }
    }

    /// Returns the congestion in progress of which the input at the link of `port` has notified the neighbour: each
    /// congested queue with the destination addresses that were named.
    pub(super) fn active_at_input(&self, port: u32) -> Vec<(CongestionSource, Vec<u16>)> {
        let node = &self.nodes[usize::from(self.ports[port as usize].from)];
        let FabricState::Crossbar(crossbar) = &node.fabric else { return Vec::new() };
        let notified = crossbar.episodes(self.slots[port as usize] as usize).filter(|(_, e)| e.targets.contains(&port));
        let source = |queue: Option<(usize, u8)>, destination| match queue {
            Some((output, class)) => CongestionSource { port: node.ports[output], class, destination },
            None => CongestionSource { port, class: 0, destination: None },
        };
        notified.map(|(queue, episode)| (source(queue, episode.destination), episode.addresses.clone())).collect()
    }
}
