//! The barrier in all interleavings of its threads, and with all values that the memory model permits a load to return.

use loom::model::Builder;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailback_loom::barrier::Barrier;
use tailback_loom::sync::{Fences, fences};
use tailback_units::Time;

/// Runs `f` in every execution with at most `preemptions` preemptions (`None`: in every execution), with each place of
/// fences.
fn model(preemptions: Option<usize>, f: impl Fn() + Copy + Sync + Send + 'static) {
    for at in [Fences::AfterStores, Fences::BeforeLoads] {
        fences(at);
        let mut builder = Builder::new();
        builder.preemption_bound = preemptions;
        builder.max_branches = 100_000;
        let executions = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&executions);
        builder.check(move || {
            seen.fetch_add(1, Ordering::Relaxed);
            f();
        });
        println!("{at:?}: {} executions", executions.load(Ordering::Relaxed));
    }
}

/// Returns the time of the next event of thread `me` after a window.
fn next(window: u64, me: usize) -> u64 {
    100 * window + [7, 3, 5][me] + 10 * ((window + me as u64) % 2)
}

/// Passes `windows` windows as thread `me` of `count` threads, with the calls of `work` in `crates/parallel`. Messages
/// are numbers. Thread 0 requests to stop in the last window.
fn windows(barrier: &Barrier<Vec<u64>>, count: usize, me: usize, windows: u64) {
    for window in 0..windows {
        for to in (0..count).filter(|to| *to != me) {
            barrier.post(window, me, to, &mut vec![1_000 * window + me as u64]);
        }
        let stops = window + 1 == windows && me == 0;
        let reduced = barrier.wait(window, me, Time(next(window, me)), stops).expect("no thread abandons the barrier");
        let expected = (0..count).map(|thread| next(window, thread)).min().expect("a thread");
        assert_eq!(reduced.next, Time(expected), "the earliest event of all threads in window {window}");
        assert_eq!(reduced.stops, window + 1 == windows, "the request to stop, in window {window}");
        for from in (0..count).filter(|from| *from != me) {
            barrier.take(window, from, me, |messages| {
                assert_eq!(
                    *messages,
                    [1_000 * window + from as u64],
                    "the messages of thread {from} in window {window}"
                );
                messages.clear();
            });
        }
    }
}

/// Checks that `count` threads pass `number` windows.
fn all_pass(count: usize, number: u64, preemptions: Option<usize>) {
    model(preemptions, move || {
        let barrier = Arc::new(Barrier::new(count));
        let others: Vec<_> = (1..count)
            .map(|me| {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || windows(&barrier, count, me, number))
            })
            .collect();
        windows(&barrier, count, 0, number);
        others.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    });
}

#[test]
fn two_threads_pass_one_window_with_the_values_of_both_in_every_interleaving() {
    all_pass(2, 1, None);
}

#[test]
fn two_threads_pass_three_windows_with_up_to_three_preemptions() {
    all_pass(2, 3, Some(3));
}

#[test]
fn three_threads_pass_two_windows_with_up_to_two_preemptions() {
    all_pass(3, 2, Some(2));
}

#[test]
fn a_thread_that_abandons_the_barrier_releases_those_that_wait_in_every_interleaving() {
    model(None, || {
        let barrier = Arc::new(Barrier::<Vec<u64>>::new(2));
        let other = Arc::clone(&barrier);
        let waiting = thread::spawn(move || other.wait(0, 1, Time(1), false).is_none());
        barrier.abandon();
        assert!(
            waiting.join().expect("the thread does not panic"),
            "the wait reports that another thread has panicked"
        );
    });
}
