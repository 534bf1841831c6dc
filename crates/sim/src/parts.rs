//! Conservative parallel simulation: a run in partitions. Each partition is a world that handles the events of a window
//! of time independently of the others.
//!
//! ```text
//! each partition:  run_before(limit) ─▶ outbox(): messages to each other partition
//! barrier:         limit = earliest next event or arrival of a message + lookahead
//! each partition:  accept() the messages of the others
//! at the end:      gather() ─▶ one world, and its report
//! ```
//!
//! This module starts no threads: the caller moves the partitions to its threads ([`Part`] is `Send`).
//! [`Parts::run_in_turn`] runs all partitions on one thread.

use crate::partition::Partition;
use crate::plan::Plan;
use crate::trace::Row;
use crate::world::new::draw;
use crate::world::{Messages, World};
use std::sync::Arc;
use tailback_units::Time;
use tailback_user::{Factories, Fault, Faults, NoFactories};

/// Duration of the run divided by the maximum length of a window, so that the caller can check for an interruption.
const WINDOWS: u64 = 1_000;

/// A run that is divided into partitions, before its first event.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The plan, whose random choices have all been drawn.
    plan: Plan,
    partition: Arc<Partition>,
    /// Faults of user-defined components in any partition.
    faults: Faults,
}

/// One partition of a run in progress.
#[derive(Debug)]
pub struct Part {
    world: World,
}

impl Parts {
    /// Divides a run into at most `most` partitions: fewer if the network does not allow `most`, one if it cannot be
    /// divided.
    ///
    /// # Panics
    /// If the plan is inconsistent: the caller must have checked it.
    pub fn new(mut plan: Plan, most: usize) -> Parts {
        draw(&mut plan);
        let partition = Arc::new(Partition::of(&plan, most));
        Parts { plan, partition, faults: Faults::default() }
    }

    /// Returns the partition of each node and the lookahead.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Returns a partition, by its number, before its first event; the plan has no user-defined components.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn part(&self, number: usize) -> Part {
        self.part_with(number, &NoFactories)
    }

    /// Returns a partition, by its number, before its first event; `factories` makes its user-defined components.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn part_with(&self, number: usize, factories: &dyn Factories) -> Part {
        let faults = self.faults.clone();
        Part { world: World::part(self.plan.clone(), &self.partition, number, factories, faults) }
    }

    /// Returns the undivided world before its first event; `factories` makes its user-defined components.
    pub fn whole(self, factories: &dyn Factories) -> World {
        World::drawn(self.plan, None, factories, self.faults)
    }

    /// Returns the first fault of a user-defined component, in any partition. `None`: there has been no fault.
    pub fn fault(&self) -> Option<&Fault> {
        self.faults.first()
    }

    /// Returns the exclusive end of the next window, if the earliest next event is at `next`; `None`: `next` is after
    /// the end of the run.
    pub fn limit(&self, next: Time) -> Option<Time> {
        let end = self.plan.end.0.saturating_add(1);
        let window = self.partition.look_ahead().0.min(end.div_ceil(WINDOWS));
        (next <= self.plan.end).then(|| Time(next.0.saturating_add(window).min(end)))
    }

    /// Returns the last instant of the run.
    pub fn end(&self) -> Time {
        self.plan.end
    }

    /// Merges the worlds of all partitions into one. `parts` has all of them in the order of their numbers, after all
    /// events of the run.
    ///
    /// # Panics
    /// If `parts` is empty.
    pub fn gather(&self, parts: Vec<Part>) -> World {
        let worlds = parts.into_iter().map(|mut part| {
            part.world.end_run();
            part.world
        });
        World::gather(worlds.collect(), &self.partition).expect("there is at least one partition")
    }

    /// Runs all partitions to the end on one thread; the plan has no user-defined components.
    pub fn run_in_turn(&self) -> World {
        let mut parts: Vec<Part> = (0..self.partition.parts()).map(|number| self.part(number)).collect();
        loop {
            let next = parts.iter().map(Part::next_time).min().unwrap_or(Time::NEVER);
            let Some(limit) = self.limit(next) else { return self.gather(parts) };
            for part in &mut parts {
                part.run_before(limit);
            }
            for from in 0..parts.len() {
                for to in 0..parts.len() {
                    let mut messages = std::mem::take(&mut parts[from].outbox()[to]);
                    parts[to].accept(&mut messages);
                }
            }
        }
    }
}

impl Part {
    /// Returns the time of the next event; [`Time::NEVER`]: there is none.
    pub fn next_time(&self) -> Time {
        self.world.next_event()
    }
    /// Handles all events before `limit`, but none after the end of the run.
    pub fn run_before(&mut self, limit: Time) {
        self.world.run_before(limit);
    }
    /// Returns the messages to each partition, by its number; they must be taken before the next window.
    pub fn outbox(&mut self) -> &mut [Messages] {
        self.world.outbox()
    }
    /// Takes over the messages of another partition; `messages` is then empty.
    pub fn accept(&mut self, messages: &mut Messages) {
        self.world.accept(messages);
    }
    /// Removes and returns the rows of the packet trace that precede all rows still to come from this partition, in
    /// order; empty without a trace.
    pub fn take_trace(&mut self) -> Vec<Row> {
        self.world.take_trace()
    }
    /// Returns the number of events handled.
    pub fn events(&self) -> u64 {
        self.world.events
    }
    /// Returns the time of the last event handled.
    pub fn now(&self) -> Time {
        self.world.now
    }
}
