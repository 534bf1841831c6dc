//! Barrier and mailboxes of the threads that run partitions.
//!
//! All state exists twice, for even and for odd windows. A thread that has passed the barrier of one window may post
//! messages for the next window while other threads still take the messages of this window, but it cannot pass the next
//! barrier before they have taken them.

use crate::sync::{
    AtomicBool, AtomicU32, AtomicU64, MAX_SPINS, MIN_SPINS, Mutex, OnceLock, Ordering, PoisonError, Thread, current,
    park, spin_loop,
};
use tailback_units::Time;

/// Barrier and mailboxes, which hold messages `M`.
pub struct Barrier<M> {
    participants: Vec<Participant>,
    /// Mailboxes by parity of the window, sender and receiver. Their locks are never contended: the barrier separates
    /// sender and receiver in time.
    mailboxes: [Vec<Mutex<M>>; 2],
    abandoned: AtomicBool,
}

/// State of one thread, in separate cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Participant {
    /// Number of windows that the thread has finished.
    ended: AtomicU64,
    /// `true` if the thread is parked, or about to park.
    parked: AtomicBool,
    /// Difference between the maximum number of spins and that of this thread.
    backoff: AtomicU32,
    /// Handle by which other threads unpark this one.
    thread: OnceLock<Thread>,
    /// By parity of the window: time of the thread's next event, or of the first arrival that it has posted, whichever
    /// is earlier.
    next: [AtomicU64; 2],
    /// By parity of the window: `true` if the thread requests the end of the run.
    stops: [AtomicBool; 2],
}

/// Values reduced over all threads at the barrier.
pub struct Reduced {
    /// Time of the earliest event.
    pub next: Time,
    /// `true` if a thread requests the end of the run.
    pub stops: bool,
}

impl<M: Default> Barrier<M> {
    /// Returns a barrier for `count` threads.
    pub fn new(count: usize) -> Barrier<M> {
        let mailboxes = || (0..count * count).map(|_| Mutex::default()).collect();
        Barrier {
            participants: (0..count).map(|_| Participant::default()).collect(),
            mailboxes: [mailboxes(), mailboxes()],
            abandoned: AtomicBool::new(false),
        }
    }

    /// Posts messages of thread `from` to thread `to` for the end of a window; `messages` is then the empty value that
    /// the mailbox held.
    pub fn post(&self, window: u64, from: usize, to: usize, messages: &mut M) {
        self.at(window, from, to, |there| std::mem::swap(there, messages));
    }

    /// Calls `take` with the messages that thread `from` posted to thread `to` in a window.
    pub fn take(&self, window: u64, from: usize, to: usize, take: impl FnOnce(&mut M)) {
        self.at(window, from, to, take);
    }

    /// Calls `f` with the mailbox from one thread to another.
    fn at(&self, window: u64, from: usize, to: usize, f: impl FnOnce(&mut M)) {
        let messages = &self.mailboxes[window as usize % 2][from * self.participants.len() + to];
        f(&mut messages.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until all threads have finished a window; `None`: a thread has panicked. `me` is the number of the calling
    /// thread, `next` the time of its next event or posted arrival, `stops` is `true` if it requests the end of the
    /// run.
    pub fn wait(&self, window: u64, me: usize, next: Time, stops: bool) -> Option<Reduced> {
        let parity = window as usize % 2;
        let participant = &self.participants[me];
        participant.next[parity].store(next.0, Ordering::Relaxed);
        participant.stops[parity].store(stops, Ordering::Relaxed);
        // Publishes the stores before this one. The stores and loads of `ended` and `parked` are sequentially
        // consistent: either a thread that parks reads this store, or this thread reads that the other one is about to
        // park.
        participant.ended.store(window + 1, Ordering::SeqCst);
        self.unpark_all();
        let most = MAX_SPINS - participant.backoff.load(Ordering::Relaxed);
        let mut spins = 0;
        for other in &self.participants {
            while other.ended.load(Ordering::Acquire) <= window {
                if self.abandoned.load(Ordering::Relaxed) {
                    return None;
                }
                spins += 1;
                if spins < most {
                    spin_loop();
                } else {
                    self.park(participant, other, window);
                }
            }
        }
        let next_most = if spins < most { (2 * most).min(MAX_SPINS) } else { (most / 2).max(MIN_SPINS) };
        participant.backoff.store(MAX_SPINS - next_most, Ordering::Relaxed);
        let next = self.participants.iter().map(|participant| participant.next[parity].load(Ordering::Relaxed)).min();
        let stops = self.participants.iter().any(|participant| participant.stops[parity].load(Ordering::Relaxed));
        Some(Reduced { next: Time(next.unwrap_or(u64::MAX)), stops })
    }

    /// Parks, unless the other thread has arrived or has panicked: spinning would take the processor away from it.
    #[cold]
    fn park(&self, participant: &Participant, other: &Participant, window: u64) {
        participant.thread.get_or_init(current);
        participant.parked.store(true, Ordering::SeqCst);
        if other.ended.load(Ordering::SeqCst) <= window && !self.abandoned.load(Ordering::SeqCst) {
            park();
        }
        participant.parked.store(false, Ordering::SeqCst);
    }

    /// Unparks the parked threads.
    fn unpark_all(&self) {
        for participant in self.participants.iter().filter(|participant| participant.parked.load(Ordering::SeqCst)) {
            if let Some(thread) = participant.thread.get() {
                thread.unpark();
            }
        }
    }

    /// Releases all threads: the caller will not arrive at another barrier.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        self.unpark_all();
    }
}
