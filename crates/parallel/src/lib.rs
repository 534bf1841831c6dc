//! Parallel simulation of one run on several threads, with results that are identical bit for bit to those on one
//! thread.
//!
//! Conservative parallel discrete-event simulation. `tailback_sim::Parts` divides the network into partitions; this
//! crate runs each in a thread. A thread handles its events up to a limit, posts the packets that leave for
//! other partitions, waits at a barrier, and takes the packets posted for it. All threads compute the same limit from
//! the values reduced at the barrier, so that there is no coordinator and one barrier per window.
//!
//! A window is a few microseconds of work, so a waiting thread spins first and parks later. With more threads than idle
//! processors, a run is slower than on one thread.

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

/// Events between two calls of `watch`: about 5 ms of work.
const EVENTS_PER_WATCH: u64 = 50_000;
/// Maximum number of windows between two calls of `watch`.
const WINDOWS_PER_WATCH: u64 = 1_000;

/// Runs a plan to its end in at most `most` partitions, each on its own thread, one of them on the caller's. With
/// `most` below 2, or if the network cannot be divided, the network is run as a whole.
///
/// `watch` is called regularly in the caller's thread with the fraction of the simulated time that has passed, 0 to 1;
/// an error that it returns ends the run.
///
/// # Panics
///
/// If a partition panics, which is an error of the program, or if the plan has not been checked.
///
/// # Errors
/// The error of `watch`, which ends the run.
pub fn run<E>(plan: Plan, most: usize, mut watch: impl FnMut(f64) -> Result<(), E>) -> Result<World, E> {
    run_traced(plan, most, |done, _| watch(done))
}

/// Runs a plan as [`run`] does. `watch` also gets the rows of the packet trace since its last call, in the order of the
/// undivided run; it is called once more at the end.
///
/// # Panics
/// As [`run`].
///
/// # Errors
/// The error of `watch`, which ends the run.
pub fn run_traced<E>(
    plan: Plan,
    most: usize,
    mut watch: impl FnMut(f64, Vec<Row>) -> Result<(), E>,
) -> Result<World, E> {
    if most < 2 {
        return run_whole(World::new(plan), watch);
    }
    let traces = plan.trace.is_some();
    let parts = Parts::new(plan, most);
    let count = parts.partition().parts();
    if count == 1 {
        return run_whole(parts.whole(), watch);
    }
    let barrier = Barrier::new(count);
    let merge = traces.then(|| Mutex::new(Merge::new(count)));
    let merge = merge.as_ref();
    let mut refused = None;
    let ends: Vec<Result<Option<Part>, Box<dyn Any + Send>>> = std::thread::scope(|scope| {
        let other = |me: usize| {
            let (parts, barrier) = (&parts, &barrier);
            scope.spawn(move || guarded(barrier, || work(parts, me, barrier, merge, |_| true)))
        };
        let others: Vec<_> = (1..count).map(other).collect();
        let keep_running = |part: &Part| {
            let progress = part.now().0 as f64 / parts.end().0.max(1) as f64;
            refused = watch(progress, merged(merge)).err();
            refused.is_none()
        };
        let mine = guarded(&barrier, || work(&parts, 0, &barrier, merge, keep_running));
        let theirs = others.into_iter().map(|thread| thread.join().and_then(|end| end));
        std::iter::once(mine).chain(theirs).collect()
    });
    let mut ended = Vec::new();
    for end in ends {
        match end {
            Ok(part) => ended.extend(part),
            Err(panic) => resume_unwind(panic),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    if traces {
        watch(1.0, merged(merge))?;
    }
    Ok(parts.gather(ended))
}

/// Runs a network on the caller's thread, with the calls of `watch` that [`run`] describes.
fn run_whole<E>(mut world: World, mut watch: impl FnMut(f64, Vec<Row>) -> Result<(), E>) -> Result<World, E> {
    while world.run(EVENTS_PER_WATCH) == Status::Running {
        let rows = world.take_trace();
        watch(world.progress(), rows)?;
    }
    if world.trace_summary().is_some() {
        let rows = world.take_trace();
        watch(1.0, rows)?;
    }
    Ok(world)
}

/// Returns the rows of all partitions that no later row precedes.
fn merged(merge: Option<&Mutex<Merge>>) -> Vec<Row> {
    merge.map_or_else(Vec::new, |merge| merge.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Returns the result of `work`; if it panics, releases the other threads from the barrier and returns the panic.
fn guarded(
    barrier: &Barrier<Messages>,
    work: impl FnOnce() -> Option<Part>,
) -> Result<Option<Part>, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|_| barrier.abandon())
}

/// Runs one partition; `None`: the run was ended early. `keep_running` is called regularly and ends the run by
/// returning `false`.
fn work(
    parts: &Parts,
    me: usize,
    barrier: &Barrier<Messages>,
    merge: Option<&Mutex<Merge>>,
    mut keep_running: impl FnMut(&Part) -> bool,
) -> Option<Part> {
    let mut part = parts.part(me);
    let (mut window, mut stops) = (0, false);
    // Numbers of events and windows at the last call of `keep_running`.
    let (mut watched_events, mut watched_window) = (0, 0);
    // The first barrier precedes the first event.
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
        let Some(found) = parts.limit(next) else {
            if let Some(merge) = merge {
                let rows = part.take_trace();
                merge.lock().unwrap_or_else(PoisonError::into_inner).add(me, rows, Time::NEVER);
            }
            return Some(part);
        };
        (limit, window) = (found, window + 1);
    }
}
