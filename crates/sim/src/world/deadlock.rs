//! Deadlocks: ports that can never send again, since their buffers wait for each other in a cycle.
//!
//! A port is *stuck* if its neighbour has stopped it and every frame that holds the neighbour's memory for it waits at
//! stuck ports. The largest set of such ports can make no progress; each of its ports waits for another one in it, so
//! that following them leads to a cycle (Dally and Towles, *Principles and Practices of Interconnection Networks*,
//! chapter 14).

use super::{FabricState, World};
use crate::port::Queue;
use std::collections::{BTreeMap, BTreeSet};
use tailback_units::Time;

/// A cycle of ports that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deadlock {
    pub class: u8,
    /// The ports in order: each waits for memory that frames at the next one occupy, and the last for the first.
    pub ports: Vec<u32>,
    /// Instant since which all ports of the cycle have waited.
    pub since: Time,
}

impl World {
    /// Returns the cycles of stuck ports: one for each class and each connected part of the graph in which each stuck
    /// port points to the first port for which it waits.
    pub(crate) fn deadlocks(&self) -> Vec<Deadlock> {
        (0..self.plan.classes).flat_map(|class| self.deadlocks_of(class)).collect()
    }

    /// Returns the cycles of stuck ports in a class.
    fn deadlocks_of(&self, class: u8) -> Vec<Deadlock> {
        let mut waits: BTreeMap<u32, Vec<u32>> = (0..self.ports.len() as u32)
            .filter(|port| self.blocked_since(*port).is_some())
            .filter_map(|port| Some((port, self.waits_for(port, class)?)))
            .collect();
        // Removes ports that may make progress, until no more can be removed.
        loop {
            let moves = |next: &Vec<u32>| next.is_empty() || next.iter().any(|port| !waits.contains_key(port));
            let free: Vec<u32> = waits.iter().filter(|(_, next)| moves(next)).map(|(port, _)| *port).collect();
            if free.is_empty() {
                break;
            }
            for port in &free {
                drop(waits.remove(port));
            }
        }
        let mut cycles = Vec::new();
        let mut seen = BTreeSet::new();
        for &start in waits.keys() {
            let (mut path, mut at) = (Vec::new(), start);
            while seen.insert(at) {
                path.push(at);
                at = waits[&at][0];
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
            Queue::General(m) => m.queues[usize::from(class)].origins.iter().any(|origin| origin.slot == slot),
            Queue::Fifo { .. } | Queue::Admission(_) => false,
        };
        Some(node.ports.iter().filter(holds).copied().collect())
    }
}
