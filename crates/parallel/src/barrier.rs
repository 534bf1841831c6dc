//! Barrier and mailboxes of the threads that run partitions.
//!
//! Mailboxes and reduced values exist twice, for even and for odd windows. A thread that has passed the barrier of a
//! window may post messages for the next window while other threads still take the messages of this window. It cannot
//! pass the next barrier before the other threads have taken those messages, so two copies suffice.

use crate::sync::{
    AtomicBool, AtomicU32, AtomicU64, MAX_SPINS, MIN_SPINS, Mutex, OnceLock, Ordering, PoisonError, Thread, current,
    park, spin_loop,
};
use tailback_units::Time;

/// Barrier of all threads, and a mailbox with messages `M` from each thread to each.
pub struct Barrier<M> {
    participants: Vec<Participant>,
    /// Mailboxes by parity of the window; that from thread `s` to thread `r` of `n` has the index `s * n + r`. The
    /// locks are never contended: the barrier separates sender and receiver in time.
    mailboxes: [Vec<Mutex<M>>; 2],
    /// `true` if a thread has panicked.
    abandoned: AtomicBool,
}

/// State of one thread, in cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Participant {
    /// Number of windows that the thread has finished.
    ended: AtomicU64,
    /// `true` if the thread is parked, or about to park.
    parked: AtomicBool,
    /// [`MAX_SPINS`] minus the number of spins after which this thread parks.
    backoff: AtomicU32,
    /// Handle by which other threads unpark this one.
    thread: OnceLock<Thread>,
    /// By parity of the window: time of the thread's next event, or of the first arrival in the messages that the
    /// thread has posted, whichever is earlier; picoseconds.
    next: [AtomicU64; 2],
    /// By parity of the window: `true` if the thread requests the end of the run.
    stops: [AtomicBool; 2],
}

/// Values reduced over all threads at the barrier.
pub struct Reduced {
    /// Time of the earliest event; [`Time::NEVER`]: there is none.
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

    /// Posts messages of thread `from` to thread `to` at the end of a window. `messages` is exchanged with the content
    /// of the mailbox, which is empty if the messages posted before have been taken.
    pub fn post(&self, window: u64, from: usize, to: usize, messages: &mut M) {
        self.at(window, from, to, |posted| std::mem::swap(posted, messages));
    }

    /// Calls `take`, which empties the mailbox, with the messages that thread `from` posted to thread `to` in a window.
    pub fn take(&self, window: u64, from: usize, to: usize, take: impl FnOnce(&mut M)) {
        self.at(window, from, to, take);
    }

    /// Calls `access` with the content of the mailbox from one thread to another.
    fn at(&self, window: u64, from: usize, to: usize, access: impl FnOnce(&mut M)) {
        let messages = &self.mailboxes[window as usize % 2][from * self.participants.len() + to];
        access(&mut messages.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until all threads have finished a window, and returns the values reduced over them; `None`: a thread has
    /// panicked. `me` is the number of the calling thread. `next` is the time of its next event or of the first arrival
    /// that it has posted, whichever is earlier. `stops` is `true` if it requests the end of the run.
    pub fn wait(&self, window: u64, me: usize, next: Time, stops: bool) -> Option<Reduced> {
        let parity = window as usize % 2;
        let participant = &self.participants[me];
        participant.next[parity].store(next.0, Ordering::Relaxed);
        participant.stops[parity].store(stops, Ordering::Relaxed);
        // Publishes the stores above. In `park`, a thread stores `parked` before it loads `ended`; here, `ended` is
        // stored before `parked` is loaded. Since these accesses are sequentially consistent, either the parking thread
        // sees the new `ended` and does not park, or this thread sees `parked` and unparks it.
        participant.ended.store(window + 1, Ordering::SeqCst);
        self.unpark_all();
        let limit = MAX_SPINS - participant.backoff.load(Ordering::Relaxed);
        let mut spins = 0;
        for other in &self.participants {
            while other.ended.load(Ordering::Acquire) <= window {
                if self.abandoned.load(Ordering::Relaxed) {
                    return None;
                }
                spins += 1;
                if spins < limit {
                    spin_loop();
                } else {
                    self.park(participant, other, window);
                }
            }
        }
        let next_limit = if spins < limit { (2 * limit).min(MAX_SPINS) } else { (limit / 2).max(MIN_SPINS) };
        participant.backoff.store(MAX_SPINS - next_limit, Ordering::Relaxed);
        let next = self.participants.iter().map(|participant| participant.next[parity].load(Ordering::Relaxed)).min();
        let stops = self.participants.iter().any(|participant| participant.stops[parity].load(Ordering::Relaxed));
        Some(Reduced { next: Time(next.unwrap_or(u64::MAX)), stops })
    }

    /// Parks the calling thread until it is unparked, unless the other thread has finished the window or a thread has
    /// panicked. A thread that continued to spin could keep the other one from running.
    #[cold]
    fn park(&self, participant: &Participant, other: &Participant, window: u64) {
        participant.thread.get_or_init(current);
        participant.parked.store(true, Ordering::SeqCst);
        if other.ended.load(Ordering::SeqCst) <= window && !self.abandoned.load(Ordering::SeqCst) {
            park();
        }
        participant.parked.store(false, Ordering::SeqCst);
    }

    /// Unparks the threads that are parked or about to park.
    fn unpark_all(&self) {
        for participant in self.participants.iter().filter(|participant| participant.parked.load(Ordering::SeqCst)) {
            if let Some(thread) = participant.thread.get() {
                thread.unpark();
            }
        }
    }

    /// Releases all threads that wait, now or later: the calling thread has panicked and will not finish a window
    /// again.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        self.unpark_all();
    }
}
