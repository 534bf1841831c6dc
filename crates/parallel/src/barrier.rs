//! Barrier and mailboxes of the threads.
//!
//! Everything exists twice, for even and odd windows: a thread that has passed the barrier of one window may post for
//! the next while others still take what was posted for this one, but it cannot pass the next barrier before they have.

use crate::sync::{
    AtomicBool, AtomicU32, AtomicU64, LEAST_SPINS, MOST_SPINS, Mutex, OnceLock, Ordering, PoisonError, Thread, current,
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

/// State of one thread, in cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Participant {
    /// Number of windows that it has finished.
    ended: AtomicU64,
    /// `true` if it is parked, or about to park.
    parked: AtomicBool,
    /// Reduction of its spins from the upper bound.
    backoff: AtomicU32,
    /// Handle by which others unpark it.
    thread: OnceLock<Thread>,
    /// By parity: time of its next event, or of the first arrival that it has posted.
    next: [AtomicU64; 2],
    /// By parity: `true` if it requests the end of the run.
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

    /// Posts messages to another thread, and takes back empty ones.
    pub fn post(&self, window: u64, from: usize, to: usize, messages: &mut M) {
        self.at(window, from, to, |there| std::mem::swap(there, messages));
    }

    /// Calls `take` with the messages of another thread.
    pub fn take(&self, window: u64, from: usize, to: usize, take: impl FnOnce(&mut M)) {
        self.at(window, from, to, take);
    }

    fn at(&self, window: u64, from: usize, to: usize, f: impl FnOnce(&mut M)) {
        let messages = &self.mailboxes[window as usize % 2][from * self.participants.len() + to];
        f(&mut messages.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until all threads have finished a window; `None`: one has panicked.
    pub fn wait(&self, window: u64, me: usize, next: Time, stops: bool) -> Option<Reduced> {
        let parity = window as usize % 2;
        let participant = &self.participants[me];
        participant.next[parity].store(next.0, Ordering::Relaxed);
        participant.stops[parity].store(stops, Ordering::Relaxed);
        // Publishes the stores before it. The stores and loads of `ended` and `parked` are sequentially consistent:
        // either a thread that parks sees this store, or this thread sees that it is about to park.
        participant.ended.store(window + 1, Ordering::SeqCst);
        self.unpark_all();
        let most = MOST_SPINS - participant.backoff.load(Ordering::Relaxed);
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
        let next_most = if spins < most { (2 * most).min(MOST_SPINS) } else { (most / 2).max(LEAST_SPINS) };
        participant.backoff.store(MOST_SPINS - next_most, Ordering::Relaxed);
        let next = self.participants.iter().map(|participant| participant.next[parity].load(Ordering::Relaxed)).min();
        let stops = self.participants.iter().any(|participant| participant.stops[parity].load(Ordering::Relaxed));
        Some(Reduced { next: Time(next.unwrap_or(u64::MAX)), stops })
    }

    /// Parks, unless the other thread has arrived or has panicked: spinning would keep the processor from it.
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
