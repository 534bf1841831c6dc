//! Service in rounds in which new flows go first: the scheduler of FQ-CoDel (RFC 8290 section 4.2).

use crate::law::Form;
use crate::retune::Retune;
use crate::state::{INDEX, bytes_of};
use std::collections::VecDeque;
use tailback_units::Time;

/// Queues in two lists, each served by deficit round robin, the new before the old.
///
/// A queue that becomes busy is in the new list until it has used up its first quantum or has run
/// empty. An empty queue then passes once through the old list, so that it cannot return to the new
/// list at once and starve the others.
#[derive(Debug)]
pub struct NewOld {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// State of each queue, by its index.
    seats: Vec<Seat>,
    /// Wire bytes per queue and round.
    quantum: i64,
}

/// State of a queue in the lists.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Deficit in wire bytes; at 0 or below the queue waits for the next round.
    deficit: i64,
    /// `true` if the queue is in one of the lists.
    listed: bool,
}

/// Limits each deficit to the new quantum.
impl Retune for NewOld {
    fn adopt(&mut self, _now: Time, fresh: NewOld) {
        self.quantum = fresh.quantum;
        for seat in &mut self.seats {
            seat.deficit = seat.deficit.min(self.quantum);
        }
    }
}

impl NewOld {
    /// Returns a scheduler without queues; each queue may send `quantum` wire bytes per round.
    pub fn new(quantum: u64) -> NewOld {
        NewOld { new: VecDeque::new(), old: VecDeque::new(), seats: Vec::new(), quantum: quantum as i64 }
    }
    /// Notes a packet in the queue `slot`: appends the queue to the new list unless it is in a
    /// list.
    #[inline]
    pub fn join(&mut self, slot: usize) {
        if slot >= self.seats.len() {
            self.seats.resize(slot + 1, Seat::default());
        }
        if !self.seats[slot].listed {
            self.seats[slot] = Seat { deficit: self.quantum, listed: true };
            self.new.push_back(slot as u32);
        }
    }
    /// Returns the queue whose turn it is, which may be empty. `None`: both lists are empty.
    #[inline]
    pub fn current(&mut self) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let front = *self.front(is_new).front()?;
            let seat = &mut self.seats[front as usize];
            if seat.deficit > 0 {
                return Some(front as usize);
            }
            seat.deficit += self.quantum;
            self.front(is_new).pop_front();
            self.old.push_back(front);
        }
    }
    /// Notes that the queue `slot`, whose turn it is, has sent `bytes` wire bytes.
    #[inline]
    pub fn sent(&mut self, slot: usize, bytes: u16) {
        self.seats[slot].deficit -= i64::from(bytes);
    }
    /// Notes that the queue whose turn it is was empty. In form "linux" a queue of the new list leaves the lists at once
    /// if the old list is empty (`fq_codel_dequeue`).
    pub fn empty(&mut self, form: Form) {
        if let Some(slot) = self.new.pop_front() {
            if form == Form::Linux && self.old.is_empty() {
                self.seats[slot as usize].listed = false;
            } else {
                self.old.push_back(slot);
            }
        } else if let Some(slot) = self.old.pop_front() {
            self.seats[slot as usize].listed = false;
        }
    }
    /// Returns the new list or, if `is_new` is `false`, the old one.
    fn front(&mut self, is_new: bool) -> &mut VecDeque<u32> {
        if is_new { &mut self.new } else { &mut self.old }
    }
    /// Returns the number of queues in the new list.
    pub fn new_flows(&self) -> usize {
        self.new.len()
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let seat = bytes_of!(Seat::default(); deficit, listed);
        self.seats.len() * seat + (self.new.len() + self.old.len()) * INDEX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8290 section 4.2: a new queue that runs empty passes through the old list. `fq_codel_dequeue` of Linux: only if
    /// there are old queues; otherwise it is new again at its next packet, with a full quantum.
    #[test]
    fn a_new_queue_that_runs_empty_passes_through_the_old_list_in_linux_only_if_there_are_old_queues() {
        for (form, again_new, with_old) in [(Form::Published, 0, 0), (Form::Linux, 1, 0)] {
            let mut lists = NewOld::new(1_000);
            lists.join(0);
            assert_eq!(lists.current(), Some(0));
            lists.sent(0, 600);
            lists.empty(form);
            lists.join(0);
            assert_eq!((lists.new_flows(), lists.seats[0].listed), (again_new, true), "{form:?}");
            assert_eq!(lists.seats[0].deficit, if again_new == 1 { 1_000 } else { 400 }, "{form:?}");
            // Queue 1 has used its quantum and is old; queue 2 is new and runs empty.
            let mut lists = NewOld::new(1_000);
            lists.join(1);
            lists.sent(1, 1_500);
            assert_eq!((lists.current(), lists.new_flows()), (Some(1), 0));
            lists.join(2);
            assert_eq!(lists.current(), Some(2));
            lists.empty(form);
            lists.join(2);
            assert_eq!((lists.new_flows(), lists.old.iter().copied().collect::<Vec<_>>()), (with_old, vec![1, 2]));
        }
    }
}
