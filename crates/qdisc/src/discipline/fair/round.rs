//! Service in rounds: deficit round robin, or one packet per turn.

use crate::state::{INDEX, bytes_of};
use std::collections::VecDeque;

/// The queues that take turns, and their deficits.
///
/// With a quantum this is deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), O(1) per packet if the quantum is
/// no smaller than the largest packet. Without a quantum each turn is one packet.
#[derive(Debug)]
pub struct Round {
    /// Queues in the order of their turns.
    turns: VecDeque<u32>,
    /// State of each queue, by its index.
    seats: Vec<Seat>,
    /// `true` if the queue in front has not yet received its quantum for this turn.
    fresh: bool,
}

/// State of a queue in the round.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Wire bytes that the queue may still send.
    deficit: u64,
    /// `true` if the queue is in `turns`.
    listed: bool,
}

impl Default for Round {
    fn default() -> Round {
        Round { turns: VecDeque::new(), seats: Vec::new(), fresh: true }
    }
}

impl Round {
    /// Notes that the queue `slot` has a packet: appends the queue to the round unless the round contains it.
    #[inline]
    pub fn join(&mut self, slot: usize) {
        if slot >= self.seats.len() {
            self.seats.resize(slot + 1, Seat::default());
        }
        if !self.seats[slot].listed {
            self.seats[slot] = Seat { deficit: 0, listed: true };
            self.turns.push_back(slot as u32);
        }
    }
    /// Returns the queue that sends next. `None`: all queues are empty. `head` returns the wire bytes of a queue's
    /// oldest packet (`None`: drops have emptied the queue), `quantum` its quantum in wire bytes (`None`: one packet
    /// per turn).
    #[inline]
    pub fn next(
        &mut self,
        head: impl Fn(usize) -> Option<u16>,
        quantum: impl Fn(usize) -> Option<u64>,
    ) -> Option<usize> {
        while let Some(&front) = self.turns.front() {
            let slot = front as usize;
            let Some(size) = head(slot) else {
                self.leave();
                continue;
            };
            // With a quantum of zero bytes the queue would never send.
            let Some(quantum) = quantum(slot).map(|q| q.max(1)) else { return Some(slot) };
            let seat = &mut self.seats[slot];
            if self.fresh {
                seat.deficit += quantum;
                self.fresh = false;
            }
            if seat.deficit >= u64::from(size) {
                return Some(slot);
            }
            self.pass();
        }
        None
    }
    /// Notes that the queue returned by [`Round::next`] has sent `size` wire bytes. `more`: the queue has another
    /// packet; `by_packet`: a turn is one packet.
    #[inline]
    pub fn sent(&mut self, size: u16, more: bool, by_packet: bool) {
        if !more {
            self.leave();
        } else if by_packet {
            self.pass();
        } else if let Some(front) = self.turns.front() {
            self.seats[*front as usize].deficit -= u64::from(size);
        }
    }
    /// Notes that quanta have changed: limits each deficit to the new quantum plus the largest packet, a bound that
    /// holds with constant quanta. `quantum` as in [`Round::next`].
    pub fn limit_deficits(&mut self, quantum: impl Fn(usize) -> Option<u64>) {
        for (slot, seat) in self.seats.iter_mut().enumerate() {
            let most = quantum(slot).map_or(u64::MAX, |quantum| quantum.saturating_add(u64::from(u16::MAX)));
            seat.deficit = seat.deficit.min(most);
        }
    }
    /// Moves the queue in front to the end.
    fn pass(&mut self) {
        self.turns.rotate_left(1);
        self.fresh = true;
    }
    /// Removes the queue in front, which is empty; it keeps no deficit.
    fn leave(&mut self) {
        if let Some(front) = self.turns.pop_front() {
            self.seats[front as usize] = Seat::default();
        }
        self.fresh = true;
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let seat = bytes_of!(Seat::default(); deficit, listed);
        self.seats.len() * seat + self.turns.len() * INDEX + bytes_of!(self; fresh)
    }
}
