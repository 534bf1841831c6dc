//! One run on several threads, with the results of one, bit for bit.
//!
//! What can be simulated apart, and why that changes no result, is the engine's affair (`tailback_sim::Parts`); here
//! each part gets a thread. A thread handles its events up to a limit, posts what leaves for the other parts, waits
//! until all have come so far, and takes in what they have posted. The limit is the same for all, found from what all
//! have posted, so nobody decides anything and there is one meeting for each window.
//!
//! A window is short, some microseconds of work, so that a thread waits for the others awake for a while, and only
//! then sleeps. More threads than idle processors are slower than one.

mod board;

use board::{Board, Found};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tailback_sim::plan::Plan;
use tailback_sim::{Part, Parts, Status, World};
use tailback_units::Time;

/// Events between two looks at whether to go on: some 5 ms of work.
const LOOK: u64 = 50_000;
/// Windows after which there is such a look in any case.
const WINDOWS: u64 = 1_000;

/// Runs a plan to its end, in at most so many parts with a thread each, of which the caller's is one; a network that
/// cannot be divided, or is not to be, is run whole.
///
/// `watch` is called now and then in the caller's thread with how much of the simulated time has passed, 0 to 1; what
/// it returns as an error ends the run.
///
/// # Panics
/// When a part does, which is an error of the program; so does a plan that has not been checked.
pub fn run<E>(plan: Plan, most: usize, mut watch: impl FnMut(f64) -> Result<(), E>) -> Result<World, E> {
    if most < 2 {
        return run_whole(World::new(plan), watch);
    }
    let parts = Parts::new(plan, most);
    let count = parts.partition().parts();
    if count == 1 {
        return run_whole(parts.whole(), watch);
    }
    let board = Board::new(count);
    let mut refused = None;
    let ends: Vec<Result<Option<Part>, Box<dyn Any + Send>>> = std::thread::scope(|scope| {
        let other = |me: usize| {
            let (parts, board) = (&parts, &board);
            scope.spawn(move || guarded(board, || work(parts, me, board, |_| true)))
        };
        let others: Vec<_> = (1..count).map(other).collect();
        let goes_on = |part: &Part| {
            let progress = part.now().0 as f64 / parts.end().0.max(1) as f64;
            refused = watch(progress).err();
            refused.is_none()
        };
        let mine = guarded(&board, || work(&parts, 0, &board, goes_on));
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
    match refused {
        Some(error) => Err(error),
        None => Ok(parts.gather(ended)),
    }
}

fn run_whole<E>(mut world: World, mut watch: impl FnMut(f64) -> Result<(), E>) -> Result<World, E> {
    while world.run(LOOK) == Status::Running {
        watch(world.progress())?;
    }
    Ok(world)
}

/// Sees to it that the others do not wait for a thread that has panicked.
fn guarded(board: &Board, work: impl FnOnce() -> Option<Part>) -> Result<Option<Part>, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|_| board.give_up())
}

/// The life of one part; none if the run ends before its time. `goes_on` is asked now and then.
fn work(parts: &Parts, me: usize, board: &Board, mut goes_on: impl FnMut(&Part) -> bool) -> Option<Part> {
    let mut part = parts.part(me);
    let (mut window, mut looked, mut stops) = (0, (0, 0), false);
    // The first meeting is before the first event.
    let mut limit = Time::ZERO;
    loop {
        part.run_before(limit);
        let mut next = part.next_time();
        for (to, parcels) in part.leaving().iter_mut().enumerate() {
            if !parcels.is_empty() {
                next = next.min(parcels.first());
                board.post(window, me, to, parcels);
            }
        }
        if part.events() - looked.0 > LOOK || window - looked.1 > WINDOWS {
            looked = (part.events(), window);
            stops |= !goes_on(&part);
        }
        let Found { next, stops: ended } = board.meet(window, me, next, stops)?;
        if ended {
            return None;
        }
        for from in (0..parts.partition().parts()).filter(|from| *from != me) {
            board.take(window, from, me, |parcels| part.accept(parcels));
        }
        let Some(found) = parts.limit(next) else { return Some(part) };
        (limit, window) = (found, window + 1);
    }
}
