//! Merging the worlds of all partitions into one, for the report.
//!
//! The state of a node, its ports and its links is taken from the partition in which the node acted; counters that
//! exist in several partitions are added.

use super::recorder::{Quality, Recorder};
use super::{Applications, Group, World};
use crate::conditioning::Conditioning;
use crate::partition::Partition;
use std::mem::swap;

impl World {
    /// Merges the worlds of all partitions, in the order of their numbers, at the end of the run; `None`: `parts` is
    /// empty.
    pub(crate) fn gather(parts: Vec<World>, partition: &Partition) -> Option<World> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for (part, other) in (1..).zip(parts) {
            whole.take_in(other, |node| partition.part_of(node) == part);
        }
        whole.share = None;
        Some(whole)
    }

    /// Merges the state of a partition; `owns` returns `true` for the nodes that acted in that partition.
    fn take_in(&mut self, mut other: World, owns: impl Fn(u16) -> bool) {
        for (mine, theirs) in self.ports.iter_mut().zip(&mut other.ports) {
            if owns(mine.from) {
                swap(mine, theirs);
            }
            // The partition of the receiver counts the random losses on a link, that of the sender the losses when the
            // link goes down.
            mine.lost = mine.lost.plus(theirs.lost);
            mine.refused = mine.refused.plus(theirs.refused);
            mine.base.lost = mine.base.lost.plus(theirs.base.lost);
            mine.base.refused = mine.base.refused.plus(theirs.base.refused);
        }
        for ((node, mine), theirs) in (0..).zip(&mut self.nodes).zip(&mut other.nodes) {
            if owns(node) {
                swap(mine, theirs);
            }
        }
        let plan = &self.plan;
        for ((mine, theirs), out) in
            self.transports.bases.iter_mut().zip(&other.transports.bases).zip(&self.transports.outgoing)
        {
            let flow = &plan.flows[out.flow as usize];
            if owns(flow.from) {
                mine.sent = theirs.sent;
            }
            if owns(flow.to) {
                mine.delivered = theirs.delivered;
            }
        }
        for (mine, theirs) in self.transports.outgoing.iter_mut().zip(&mut other.transports.outgoing) {
            if owns(plan.flows[mine.flow as usize].from) {
                swap(mine, theirs);
            }
        }
        let incoming = self.transports.incoming.iter_mut().zip(&mut other.transports.incoming);
        for ((mine, theirs), out) in incoming.zip(&self.transports.outgoing) {
            if owns(plan.flows[out.flow as usize].to) {
                swap(mine, theirs);
            }
        }
        for (mine, theirs) in self.transports.completions.iter_mut().zip(&other.transports.completions) {
            mine.merge(theirs);
        }
        self.ledger.merge(other.ledger, |flow| owns(plan.flows[flow].to));
        self.applications.merge(&other.applications);
        self.conditioning.merge(&other.conditioning);
        if let (Some(mine), Some(theirs)) = (&mut self.recorder, other.recorder) {
            mine.merge(theirs, |port| owns(self.ports[port].from));
        }
        if let (Some(mine), Some(theirs)) = (&mut self.records, other.records) {
            mine.merge(*theirs);
        }
        self.undelivered_messages += other.undelivered_messages;
        self.events += other.events;
    }
}

impl Conditioning {
    fn merge(&mut self, other: &Conditioning) {
        for (mine, theirs) in self.rules.iter_mut().zip(&other.rules) {
            for (mine, theirs) in mine.metered.iter_mut().zip(theirs.metered) {
                *mine = mine.plus(theirs);
            }
            mine.dropped = mine.dropped.plus(theirs.dropped);
        }
    }
}

impl Applications {
    fn merge(&mut self, other: &Applications) {
        for (mine, theirs) in self.groups_mut().iter_mut().zip(other.groups()) {
            mine.add(theirs);
        }
    }
}

impl Group {
    /// Adds the counts of a partition.
    fn add(&mut self, other: &Group) {
        // The pattern names every field, so that a new field cannot be forgotten.
        let Group { name: _, begun, failed, refused, times, exchanges, slowdowns, sizes, completed, completed_time } =
            self;
        *begun += other.begun;
        *failed += other.failed;
        *refused += other.refused;
        times.merge(&other.times);
        exchanges.merge(&other.exchanges);
        slowdowns.merge(&other.slowdowns);
        for (mine, theirs) in sizes.iter_mut().zip(&other.sizes) {
            mine.begun += theirs.begun;
            mine.slowdowns.merge(&theirs.slowdowns);
        }
        *completed += other.completed;
        *completed_time += other.completed_time;
    }
}

impl Recorder {
    /// Merges the series of a partition; `owns` returns `true` for the ports whose series that partition recorded.
    fn merge(&mut self, mut other: Recorder, owns: impl Fn(usize) -> bool) {
        for port in (0..self.queue.len()).filter(|port| owns(*port)) {
            swap(&mut self.queue[port], &mut other.queue[port]);
            swap(&mut self.extremes[port], &mut other.extremes[port]);
            swap(&mut self.stopped[port], &mut other.stopped[port]);
            swap(&mut self.stopped_time[port], &mut other.stopped_time[port]);
            swap(&mut self.held[port], &mut other.held[port]);
            swap(&mut self.held_time[port], &mut other.held_time[port]);
            swap(&mut self.sent[port], &mut other.sent[port]);
            swap(&mut self.dropped[port], &mut other.dropped[port]);
            swap(&mut self.marked[port], &mut other.marked[port]);
            swap(&mut self.state[port], &mut other.state[port]);
        }
        // Each series of a transport or meter is recorded by one partition only.
        self.transports.append(&mut other.transports);
        self.meters.append(&mut other.meters);
        if let (Some(mine), Some(theirs)) = (&mut self.queues, other.queues) {
            mine.merge(theirs);
        }
        let delivered = self.delivered.iter_mut().zip(&other.delivered);
        for (mine, theirs) in delivered.chain(self.in_order.iter_mut().zip(&other.in_order)) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        for (mine, theirs) in self.in_network.iter_mut().zip(&other.in_network) {
            *mine = mine.wrapping_add(*theirs);
        }
        for (group, theirs) in other.quality {
            let mine = self.quality.entry(group).or_default();
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.add(theirs));
        }
    }
}

impl Quality {
    fn add(&mut self, other: Quality) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.delay += other.delay;
        self.jitter += other.jitter;
    }
}
