//! Where the threads meet, and leave what is for the others.
//!
//! All is there twice, for even and for odd windows: a thread that has met the others at the end of one window may
//! post for the next while others still take what was posted for this one, but it cannot end the next before they have.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use tailback_sim::Parcels;
use tailback_units::Time;

/// How often a thread looks whether the others have come before it sleeps until one does, at most (some 10 µs) and at
/// least. It is less often while looking has been in vain, since there are not as many processors as threads then.
const MOST_LOOKS: u32 = 1_000;
const LEAST_LOOKS: u32 = 4;

/// What threads leave for each other.
pub struct Board {
    places: Vec<Place>,
    /// By parity of the window, sender and receiver. Nobody ever waits for one of these: its sender and its receiver
    /// come at different times, which the meetings keep apart.
    mail: [Vec<Mutex<Parcels>>; 2],
    broken: AtomicBool,
}

/// One thread's place. Not in the cache lines of others.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    /// Windows that it has ended.
    ended: AtomicU64,
    /// Whether it sleeps, or is about to.
    sleeps: AtomicBool,
    /// How often it looks less than at most.
    doubts: AtomicU32,
    /// Who it is, for those who wake it.
    thread: OnceLock<Thread>,
    /// By parity: when its next event is, or the arrival of what it has posted.
    next: [AtomicU64; 2],
    /// By parity: whether it wants the run to end.
    stops: [AtomicBool; 2],
}

/// What all threads have found, when they have met.
pub struct Found {
    /// When the next event of all is.
    pub next: Time,
    /// Whether anyone wants the run to end.
    pub stops: bool,
}

impl Board {
    /// For so many threads.
    pub fn new(count: usize) -> Board {
        let mail = || (0..count * count).map(|_| Mutex::default()).collect();
        Board {
            places: (0..count).map(|_| Place::default()).collect(),
            mail: [mail(), mail()],
            broken: AtomicBool::new(false),
        }
    }

    /// Leaves parcels for another thread, and takes empty ones instead.
    pub fn post(&self, window: u64, from: usize, to: usize, parcels: &mut Parcels) {
        self.at(window, from, to, |there| std::mem::swap(there, parcels));
    }

    /// Shows what another thread has left.
    pub fn take(&self, window: u64, from: usize, to: usize, take: impl FnOnce(&mut Parcels)) {
        self.at(window, from, to, take);
    }

    fn at(&self, window: u64, from: usize, to: usize, f: impl FnOnce(&mut Parcels)) {
        let parcels = &self.mail[window as usize % 2][from * self.places.len() + to];
        f(&mut parcels.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until all threads have ended a window; none if one never will.
    pub fn meet(&self, window: u64, me: usize, next: Time, stops: bool) -> Option<Found> {
        let parity = window as usize % 2;
        let place = &self.places[me];
        place.next[parity].store(next.0, Ordering::Relaxed);
        place.stops[parity].store(stops, Ordering::Relaxed);
        // Whoever sees this sees what was stored before. Either a sleeper sees it before it sleeps, or it is seen
        // that it is about to: both are in the one order of such stores and looks.
        place.ended.store(window + 1, Ordering::SeqCst);
        self.wake();
        let most = MOST_LOOKS - place.doubts.load(Ordering::Relaxed);
        let mut looks = 0;
        for other in &self.places {
            while other.ended.load(Ordering::Acquire) <= window {
                if self.broken.load(Ordering::Relaxed) {
                    return None;
                }
                looks += 1;
                if looks < most {
                    std::hint::spin_loop();
                } else {
                    self.sleep(place, other, window);
                }
            }
        }
        let next_time = if looks < most { (2 * most).min(MOST_LOOKS) } else { (most / 2).max(LEAST_LOOKS) };
        place.doubts.store(MOST_LOOKS - next_time, Ordering::Relaxed);
        let next = self.places.iter().map(|place| place.next[parity].load(Ordering::Relaxed)).min();
        let stops = self.places.iter().any(|place| place.stops[parity].load(Ordering::Relaxed));
        Some(Found { next: Time(next.unwrap_or(u64::MAX)), stops })
    }

    /// Sleeps, unless another has come or given up: somebody else has its processor, and will sooner let go of it if
    /// nobody takes this one's time by looking.
    #[cold]
    fn sleep(&self, place: &Place, other: &Place, window: u64) {
        place.thread.get_or_init(std::thread::current);
        place.sleeps.store(true, Ordering::SeqCst);
        if other.ended.load(Ordering::SeqCst) <= window && !self.broken.load(Ordering::SeqCst) {
            std::thread::park();
        }
        place.sleeps.store(false, Ordering::SeqCst);
    }

    /// Wakes those that sleep.
    fn wake(&self) {
        for place in self.places.iter().filter(|place| place.sleeps.load(Ordering::SeqCst)) {
            if let Some(thread) = place.thread.get() {
                thread.unpark();
            }
        }
    }

    /// A thread will come to no more meetings.
    pub fn give_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake();
    }
}
