//! Stepping: a run is handled in steps, between which the network can be observed ([`crate::View`]) and changed.
//!
//! The instants between steps have no influence on results: every event is handled at its own time, and a view changes
//! no state of the simulation.

use super::World;
use super::status::{Status, Untimely};
use crate::event_queue::Kind;
use crate::plan::{Change, ChangeKind, NodeId, Plan};
use crate::port::{Delivered, Port};
use std::ops::ControlFlow;
use tailback_units::{Dur, Time};

/// Number of events that [`World::run_until`] handles in each call of [`World::advance`].
const EVENTS_PER_ROUND: u64 = 1 << 20;

impl World {
    /// Handles at most `budget` events at and before the end of the run; see [`World::advance`].
    pub fn run(&mut self, budget: u64) -> Status {
        self.advance(self.plan.end, budget)
    }

    /// Runs to the end.
    pub fn run_to_end(&mut self) {
        self.run_until(self.plan.end);
    }

    /// Handles all events at and before `until`, or at and before the end of the run if that is earlier. [`World::now`]
    /// is then the earlier of the two; if `until` is in the past, nothing happens.
    pub fn run_until(&mut self, until: Time) {
        while self.advance(until, EVENTS_PER_ROUND) == Status::Running {}
    }

    /// Does the work of [`World::run_until`], but handles at most `budget` events. [`Status::Done`]: all events at and
    /// before `until` have been handled, or a user-defined component has failed ([`World::fault`]); [`Status::Running`]:
    /// the budget is used up, and events may remain.
    pub fn advance(&mut self, until: Time, budget: u64) -> Status {
        let until = until.min(self.plan.end);
        if self.fault().is_some() {
            // The run ends: its results are meaningless.
            self.done = true;
            return Status::Done;
        }
        let status =
            if self.trace.is_some() { self.handle_traced(until, budget) } else { self.handle_events(until, budget) };
        if status == Status::Done {
            self.now = self.now.max(until);
            self.done |= until == self.plan.end;
        }
        status
    }

    /// Handles all events at and before `until`, as [`World::run_until`], and calls `observe` after all events of each
    /// instant that is a multiple of `every` after the current one, at most `until`. An observer that breaks ends the step
    /// at its instant.
    ///
    /// # Panics
    /// If `every` is zero.
    pub fn run_observed(
        &mut self,
        until: Time,
        every: Dur,
        mut observe: impl FnMut(&mut World) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        assert!(every > Dur::ZERO, "an observer needs an interval");
        let last = until.min(self.plan.end);
        let after = |time: Time| Time(time.0.saturating_add(every.0));
        let mut next = after(self.now);
        while next <= last && !self.done {
            self.run_until(next);
            observe(self)?;
            next = after(next);
        }
        self.run_until(until);
        ControlFlow::Continue(())
    }

    /// Handles all events at and before `until`, but ends after the first instant at which rows of the packet trace wait
    /// for [`World::take_trace`]. `instants`: maximum number of instants with events. [`Status::Done`]: there are rows, or
    /// `until` or the end of the run is reached.
    pub fn advance_to_rows(&mut self, until: Time, instants: u64) -> Status {
        let until = until.min(self.plan.end);
        for _ in 0..instants {
            let next = self.next_event();
            if next > until {
                return self.advance(until, 1);
            }
            self.run_until(next);
            if self.trace.as_ref().is_some_and(|tracer| tracer.written() > 0) {
                return Status::Done;
            }
        }
        Status::Running
    }

    /// Schedules a change at `at`, after those that are already scheduled for that instant. A change takes effect when
    /// its time has come, not at the call.
    ///
    /// # Errors
    /// [`Untimely::Past`] if `at` is not after the current time or the run has ended; [`Untimely::AfterTheEnd`] if `at`
    /// is after the end of the run. The change is then not scheduled.
    pub fn change(&mut self, at: Time, what: ChangeKind) -> Result<(), Untimely> {
        if at <= self.now || self.done {
            return Err(Untimely::Past);
        }
        if at > self.plan.end {
            return Err(Untimely::AfterTheEnd);
        }
        self.touched = true;
        let index = self.plan.timeline.partition_point(|change| change.at <= at);
        self.plan.timeline.insert(index, Change { at, what });
        self.schedule(at, Kind::Change, 0);
        Ok(())
    }

    /// Records the data packets that arrive at `host` from now on, for [`World::take_delivered`].
    pub fn record_delivered(&mut self, host: NodeId) {
        for port in self.ports.iter_mut().filter(|port| port.to == host) {
            port.record();
        }
    }

    /// Removes and returns the data packets that have arrived at recorded hosts since the last call, in order of time,
    /// then of the port; acknowledgements are left out.
    pub fn take_delivered(&mut self) -> Vec<Delivered> {
        let take = |port: &mut Port| {
            let end = port.end.as_deref_mut();
            end.and_then(|end| end.delivered.as_mut()).map_or_else(Vec::new, std::mem::take)
        };
        let mut arrived: Vec<Delivered> = self.ports.iter_mut().flat_map(take).collect();
        arrived.retain(|delivered| (delivered.flow as usize) < self.plan.flows.len());
        arrived.sort_by_key(|delivered| delivered.at);
        arrived
    }

    /// Returns the time up to which all events have been handled; after [`Status::Running`], the time of the last event
    /// handled.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the plan, in which random hosts and start times have been drawn, and which contains the changes made
    /// between steps.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the last instant of the run.
    pub fn end(&self) -> Time {
        self.plan.end
    }

    /// Returns the end of the warm-up.
    pub fn warmup(&self) -> Time {
        self.plan.warmup
    }

    /// Returns `true` if the end of the run has been reached.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns the time of the next event; [`Time::NEVER`]: there is none. The event may be stale, such as that of a
    /// timer that has been moved; a stale event changes nothing.
    pub fn next_event(&self) -> Time {
        self.event_queue.next_time().unwrap_or(Time::NEVER)
    }

    /// Returns the fraction of simulated time that has passed, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.done { 1.0 } else { self.now.0 as f64 / self.plan.end.0.max(1) as f64 }
    }
}
