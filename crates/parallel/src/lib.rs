//! Parallel simulation of one run on several threads, with results that are identical bit for bit to those on one
//! thread.
//!
//! The method is conservative parallel discrete-event simulation. [`tailback_sim::Parts`] divides the network into
//! partitions; this crate runs each partition in a thread. A thread handles its events up to a limit, posts the packets
//! that leave for other partitions, waits at a barrier, and takes the packets posted for it. All threads compute the
//! next limit from the values reduced at the barrier, so that no coordinator is needed, and one barrier per window
//! suffices.
//!
//! A window is a few microseconds of work, so a waiting thread spins before it parks. With more threads than idle
//! processors, a run can be slower than on one thread.

mod barrier;
mod sync;

use barrier::{Barrier, Reduced};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use tailback_sim::plan::Plan;
use tailback_sim::trace::{Merge, Row};
use tailback_sim::{Messages, Part, Parts, Status, World};
use tailback_units::Time;
use tailback_user::{Factories, Fault, NoFactories};

/// Number of events of a thread between two calls of `watch`: about 5 ms of work.
const EVENTS_PER_WATCH: u64 = 50_000;
/// Maximum number of windows between two calls of `watch`.
const WINDOWS_PER_WATCH: u64 = 1_000;

/// Runs a plan to its end in at most `most` partitions, each on its own thread, one of them on the caller's, and
/// returns the world at the end. With `most` below 2, or if the network cannot be divided, the network is run as a
/// whole on the caller's thread. The plan has no user-defined components.
///
/// `watch` is called regularly in the caller's thread with the fraction of the simulated time that has passed, 0 to 1.
///
/// # Errors
/// If `watch` returns an error: the run ends early with that error.
///
/// # Panics
/// If the plan is inconsistent, which the caller must have checked, or if a partition panics, which is an error of the
/// program.
pub fn run<E>(plan: Plan, most: usize, mut watch: impl FnMut(f64) -> Result<(), E>) -> Result<World, E> {
    run_traced(plan, most, &NoFactories, |done, _| watch(done)).map_err(|ended| match ended {
        Ended::Watch(error) => error,
        Ended::Fault(fault) => panic!("the plan has a user-defined component: {fault}"),
    })
}

/// Reason for which a run has ended early.
#[derive(Debug)]
pub enum Ended<E> {
    /// `watch` has returned this error.
    Watch(E),
    /// A user-defined component has failed.
    Fault(Fault),
}

/// Runs a plan as [`run`] does, with a packet trace if the plan has one. `watch` also receives the rows of the trace
/// since its last call, in the order of the undivided run; for a plan with a trace, it is called once more at the end.
/// `factories` makes the user-defined components of the plan.
///
/// # Errors
/// If `watch` returns an error, or a user-defined component fails: the run ends early.
///
/// # Panics
/// As [`run`].
pub fn run_traced<E>(
    plan: Plan,
    most: usize,
    factories: &dyn Factories,
    mut watch: impl FnMut(f64, Vec<Row>) -> Result<(), E>,
) -> Result<World, Ended<E>> {
    if most < 2 {
        return run_whole(World::with_factories(plan, factories), watch);
    }
    let traces = plan.trace.is_some();
    let parts = Parts::new(plan, most);
    let count = parts.partition().parts();
    if count == 1 {
        return run_whole(parts.whole(factories), watch);
    }
    let barrier = Barrier::new(count);
    let merge = traces.then(|| Mutex::new(Merge::new(count)));
    let merge = merge.as_ref();
    let mut watch_error = None;
    let ends: Vec<Result<Option<Part>, Box<dyn Any + Send>>> = std::thread::scope(|scope| {
        let spawn = |me: usize| {
            let (parts, barrier) = (&parts, &barrier);
            scope.spawn(move || guarded(barrier, || run_part(parts, me, barrier, merge, factories, |_| true)))
        };
        let threads: Vec<_> = (1..count).map(spawn).collect();
        let keep_running = |part: &Part| {
            let progress = part.now().0 as f64 / parts.end().0.max(1) as f64;
            watch_error = watch(progress, merged(merge)).err();
            watch_error.is_none() && parts.fault().is_none()
        };
        let own = guarded(&barrier, || run_part(&parts, 0, &barrier, merge, factories, keep_running));
        let others = threads.into_iter().map(|thread| thread.join().and_then(|end| end));
        std::iter::once(own).chain(others).collect()
    });
    let mut finished = Vec::new();
    for end in ends {
        match end {
            Ok(part) => finished.extend(part),
            Err(panic) => resume_unwind(panic),
        }
    }
    if let Some(error) = watch_error {
        return Err(Ended::Watch(error));
    }
    if let Some(fault) = parts.fault() {
        return Err(Ended::Fault(fault.clone()));
    }
    if traces {
        watch(1.0, merged(merge)).map_err(Ended::Watch)?;
    }
    Ok(parts.gather(finished))
}

/// Runs an undivided network on the caller's thread, with the calls of `watch` that [`run_traced`] describes.
fn run_whole<E>(mut world: World, mut watch: impl FnMut(f64, Vec<Row>) -> Result<(), E>) -> Result<World, Ended<E>> {
    while world.run(EVENTS_PER_WATCH) == Status::Running {
        let rows = world.take_trace();
        watch(world.progress(), rows).map_err(Ended::Watch)?;
    }
    if let Some(fault) = world.fault() {
        return Err(Ended::Fault(fault.clone()));
    }
    if world.trace_summary().is_some() {
        let rows = world.take_trace();
        watch(1.0, rows).map_err(Ended::Watch)?;
    }
    Ok(world)
}

/// Removes and returns the rows of all partitions that precede all rows still to come; empty without a trace.
fn merged(merge: Option<&Mutex<Merge>>) -> Vec<Row> {
    merge.map_or_else(Vec::new, |merge| merge.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Returns the result of `work`. If `work` panics, releases the other threads from the barrier and returns the panic as
/// an error.
fn guarded(
    barrier: &Barrier<Messages>,
    work: impl FnOnce() -> Option<Part>,
) -> Result<Option<Part>, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|_| barrier.abandon())
}

/// Runs partition `me` and returns it at the end of the run; `None`: the run was ended early. `keep_running` is called
/// regularly and ends the run by returning `false`.
fn run_part(
    parts: &Parts,
    me: usize,
    barrier: &Barrier<Messages>,
    merge: Option<&Mutex<Merge>>,
    factories: &dyn Factories,
    mut keep_running: impl FnMut(&Part) -> bool,
) -> Option<Part> {
    let mut part = parts.part_with(me, factories);
    let (mut window, mut stops) = (0, false);
    // Numbers of events and windows at the last call of `keep_running`.
    let (mut watched_events, mut watched_window) = (0, 0);
    // No event is before time zero: the first round only determines the first limit.
    let mut limit = Time::ZERO;
    loop {
        part.run_before(limit);
        if let Some(merge) = merge {
            let rows = part.take_trace();
            merge.lock().unwrap_or_else(PoisonError::into_inner).add(me, rows, limit);
        }
        let mut next = part.next_time();
        for (to, messages) in part.outbox().iter_mut().enumerate() {
            if !messages.is_empty() {
                next = next.min(messages.first());
                barrier.post(window, me, to, messages);
            }
        }
        if part.events() - watched_events > EVENTS_PER_WATCH || window - watched_window > WINDOWS_PER_WATCH {
            (watched_events, watched_window) = (part.events(), window);
            stops |= !keep_running(&part);
        }
        let Reduced { next, stops: ended } = barrier.wait(window, me, next, stops)?;
        if ended {
            return None;
        }
        for from in (0..parts.partition().parts()).filter(|from| *from != me) {
            barrier.take(window, from, me, |messages| part.accept(messages));
        }
        let Some(next_limit) = parts.limit(next) else {
            if let Some(merge) = merge {
                let rows = part.take_trace();
                merge.lock().unwrap_or_else(PoisonError::into_inner).add(me, rows, Time::NEVER);
            }
            return Some(part);
        };
        (limit, window) = (next_limit, window + 1);
    }
}
