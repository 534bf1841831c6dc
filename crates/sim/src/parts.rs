//! A run in parts, each of which is a world of its own that handles events by itself for a window of time.
//!
//! ```text
//! for each part:    run_before(limit) ─▶ leaving(): what goes to each other part
//! all together:     limit = the next event of all, or arrival of what leaves, and the look-ahead of the parts
//! for each part:    accept() what has left the others for it
//! at the end:       gather() ─▶ one world, and its report
//! ```
//!
//! No thread is in here: whoever has some moves the parts to them ([`Part`] is `Send`). [`Parts::run_in_turn`] does
//! the same with one.

use crate::partition::Partition;
use crate::plan::Plan;
use crate::world::{Parcels, World, draw};
use std::sync::Arc;
use tailback_units::Time;

/// At least so many windows make a run, so that whoever runs one can look up now and then.
const WINDOWS: u64 = 1_000;

/// A run that is divided into parts, before its first event.
#[derive(Clone, Debug)]
pub struct Parts {
    /// It draws nothing any more.
    plan: Plan,
    partition: Arc<Partition>,
}

/// One part of a run under way.
#[derive(Debug)]
pub struct Part {
    world: World,
}

impl Parts {
    /// Divides a run into at most so many parts: fewer where the network does not fall into as many, and one where it
    /// cannot be divided at all. The plan has been checked; an inconsistent one panics.
    pub fn new(mut plan: Plan, most: usize) -> Parts {
        draw(&mut plan);
        let partition = Arc::new(Partition::of(&plan, most));
        Parts { plan, partition }
    }

    /// Which part each node is in, and the look-ahead between them.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// A part at time zero, by its number.
    pub fn part(&self, number: usize) -> Part {
        Part { world: World::part(self.plan.clone(), &self.partition, number) }
    }

    /// The world as a whole at time zero.
    pub fn whole(self) -> World {
        World::drawn(self.plan, None)
    }

    /// Before which all parts may handle events by themselves, if the next event of all is at `next`; none when that
    /// is after the end of the run.
    pub fn limit(&self, next: Time) -> Option<Time> {
        let end = self.plan.end.0.saturating_add(1);
        let window = self.partition.look_ahead().0.min(end.div_ceil(WINDOWS));
        (next <= self.plan.end).then(|| Time(next.0.saturating_add(window).min(end)))
    }

    /// The last instant of the run.
    pub fn end(&self) -> Time {
        self.plan.end
    }

    /// The world of all parts, in the order of their numbers, when there is nothing before the end that any of them
    /// has not handled.
    pub fn gather(&self, parts: Vec<Part>) -> World {
        let worlds = parts.into_iter().map(|mut part| {
            part.world.end();
            part.world
        });
        World::gather(worlds.collect(), &self.partition).expect("there is at least one part")
    }

    /// Runs all parts to the end, one after the other in each window.
    pub fn run_in_turn(&self) -> World {
        let mut parts: Vec<Part> = (0..self.partition.parts()).map(|number| self.part(number)).collect();
        loop {
            let next = parts.iter().map(Part::next_time).min().unwrap_or(Time::NEVER);
            let Some(limit) = self.limit(next) else { return self.gather(parts) };
            parts.iter_mut().for_each(|part| part.run_before(limit));
            for from in 0..parts.len() {
                for to in 0..parts.len() {
                    let mut parcels = std::mem::take(&mut parts[from].leaving()[to]);
                    parts[to].accept(&mut parcels);
                }
            }
        }
    }
}

impl Part {
    /// When its next event is; never if there is none.
    pub fn next_time(&self) -> Time {
        self.world.next_time()
    }
    /// Handles all events before `limit`, and none after the end.
    pub fn run_before(&mut self, limit: Time) {
        self.world.run_before(limit);
    }
    /// By part what leaves for it, to be taken away before the next window.
    pub fn leaving(&mut self) -> &mut [Parcels] {
        self.world.leaving()
    }
    /// Takes in what has left another part for this one, and leaves it empty.
    pub fn accept(&mut self, parcels: &mut Parcels) {
        self.world.accept(parcels);
    }
    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.world.events
    }
    /// The instant of the last event.
    pub fn now(&self) -> Time {
        self.world.now
    }
}
