//! Deadlocks: ports that can never send again, since their buffers wait for each other in a cycle.
//!
//! A port is *stuck* if its neighbour has stopped it for lack of memory, and all frames that arrived from the port and
//! occupy the neighbour's memory wait at stuck ports. No port of the largest set of stuck ports can make progress. Each
//! of its ports waits for another port of the set, so that following the ports leads to a cycle (Dally and Towles,
//! *Principles and Practices of Interconnection Networks*, chapter 14).

use super::{FabricState, World};
use crate::port::Queue;
use std::collections::{BTreeMap, BTreeSet};
use tailback_units::Time;

/// A cycle of ports that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deadlock {
    pub class: u8,
    /// Ports of the cycle, in order: each waits for memory that frames at the next port occupy, the last for the first.
    pub ports: Vec<u32>,
    /// Instant since which all ports of the cycle have waited.
    pub since: Time,
}

impl World {
    /// Returns the cycles of stuck ports in each class. In the graph in which each stuck port points to the first port
    /// for which it waits, each connected part has one cycle.
    pub(crate) fn deadlocks(&self) -> Vec<Deadlock> {
        (0..self.plan.classes).flat_map(|class| self.deadlocks_of(class)).collect()
    }

    /// Returns the cycles of stuck ports in a class.
    fn deadlocks_of(&self, class: u8) -> Vec<Deadlock> {
        let mut waits_for: BTreeMap<u32, Vec<u32>> = (0..self.ports.len() as u32)
            .filter(|port| self.blocked_since(*port).is_some())
            .filter_map(|port| Some((port, self.waits_for(port, class)?)))
            .collect();
        // Removes ports that may make progress, until no more can be removed.
        loop {
            let may_move = |next: &Vec<u32>| next.is_empty() || next.iter().any(|port| !waits_for.contains_key(port));
            let free: Vec<u32> = waits_for.iter().filter(|(_, next)| may_move(next)).map(|(port, _)| *port).collect();
            if free.is_empty() {
                break;
            }
            for port in &free {
                drop(waits_for.remove(port));
            }
        }
        let mut cycles = Vec::new();
        let mut seen = BTreeSet::new();
        for &start in waits_for.keys() {
            let (mut path, mut at) = (Vec::new(), start);
            while seen.insert(at) {
                path.push(at);
                at = waits_for[&at][0];
            }
            if let Some(first) = path.iter().position(|port| *port == at) {
                let ports = path.split_off(first);
                let since = ports.iter().filter_map(|port| self.blocked_since(*port)).max().unwrap_or(self.now);
                cycles.push(Deadlock { class, ports, since });
            }
        }
        cycles
    }

    /// Returns the ports of the neighbour behind `port` at which frames wait that arrived from `port`; `None`: the
    /// neighbour has not stopped `port` for lack of memory.
    fn waits_for(&self, port: u32, class: u8) -> Option<Vec<u32>> {
        let node = &self.nodes[usize::from(self.ports[port as usize].to)];
        let FabricState::Buffer(buffer) = &node.fabric else { return None };
        let slot = self.slots[port as usize ^ 1];
        if !buffer.stops(slot as usize, usize::from(class)) {
            return None;
        }
        let holds = |next: &&u32| match &self.ports[**next as usize].queue {
            Queue::General(general) => {
                general.queues[usize::from(class)].origins.iter().any(|origin| origin.slot == slot)
            }
            Queue::Fifo { .. } | Queue::Admission(_) => false,
        };
        Some(node.ports.iter().filter(holds).copied().collect())
    }
}
