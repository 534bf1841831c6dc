//! Turns and lengths of queues as in Linux's stochastic fairness queueing.

use super::Fifos;
use crate::Packet;
use crate::state::{INDEX, bytes_of};
use std::collections::VecDeque;

/// The queues in the order of their turns, with their allotments and the order in which they reached their lengths:
/// Linux 6.1, `net/sched/sch_sfq.c`.
///
/// A queue sends while its allotment is positive and is charged for the excess, except for its last packet.
#[derive(Debug, Default)]
pub struct Turns {
    /// Queues with packets; the queue in front has its turn.
    order: VecDeque<u32>,
    /// State of each queue, by its index.
    seats: Vec<Seat>,
    /// Number of changes of length so far.
    changes: u64,
}

/// State of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Bytes that the queue may still send in its turn; negative: excess of the last packet.
    allotment: i64,
    /// Value of `changes` at the last change of the queue's length.
    changed: u64,
}

impl Turns {
    /// Notes that the queue `slot` has received a packet (`sfq_enqueue`); `first`: it was empty, so that it joins the end
    /// of the order with a whole `quantum` of wire bytes.
    pub fn grew(&mut self, slot: usize, first: bool, quantum: i64) {
        if slot >= self.seats.len() {
            self.seats.resize(slot + 1, Seat::default());
        }
        if first {
            self.order.push_back(slot as u32);
            self.seats[slot].allotment = quantum;
        }
        self.note(slot);
    }
    /// Notes that the queue `slot` has lost a packet to a drop; `last`: it is empty.
    pub fn shrank(&mut self, slot: usize, last: bool) {
        self.note(slot);
        if last {
            self.order.retain(|listed| *listed as usize != slot);
        }
    }
    fn note(&mut self, slot: usize) {
        self.changes += 1;
        self.seats[slot].changed = self.changes;
    }
    /// Returns the queue that sends next (`sfq_dequeue`). `None`: all queues are empty.
    pub fn next(&mut self, quantum: i64) -> Option<usize> {
        loop {
            let slot = *self.order.front()? as usize;
            let seat = &mut self.seats[slot];
            if seat.allotment > 0 {
                return Some(slot);
            }
            seat.allotment += quantum.max(1);
            self.order.rotate_left(1);
        }
    }
    /// Notes that the queue returned by [`Turns::next`] has sent `wire` bytes; `more`: it has another packet.
    pub fn sent(&mut self, wire: u16, more: bool) {
        let Some(slot) = self.order.front().map(|front| *front as usize) else { return };
        self.note(slot);
        if more {
            self.seats[slot].allotment -= i64::from(wire);
        } else {
            self.order.pop_front();
        }
    }
    /// Returns the queue from which a packet is dropped (`sfq_drop`): that with the most packets, of equal ones the last
    /// that reached this length; if all have one packet, the queue that has its turn. `None`: all queues are empty.
    pub fn longest(&self, fifos: &Fifos<Packet>) -> Option<usize> {
        let longest = fifos.occupied().max_by_key(|slot| (fifos.packets_of(*slot), self.seats[*slot].changed))?;
        if fifos.packets_of(longest) > 1 { Some(longest) } else { self.order.front().map(|front| *front as usize) }
    }
    /// Limits the allotments to a new quantum.
    pub fn limit(&mut self, quantum: i64) {
        for seat in &mut self.seats {
            seat.allotment = seat.allotment.min(quantum);
        }
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let seat = bytes_of!(Seat::default(); allotment, changed);
        self.seats.len() * seat + self.order.len() * INDEX + bytes_of!(self; changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_is_charged_except_that_of_the_last_packet() {
        let mut turns = Turns::default();
        for slot in [0, 1] {
            turns.grew(slot, true, 1000);
            turns.grew(slot, false, 1000);
        }
        // 1500 of 1000 bytes: queue 0 owes 500, which a turn of 1000 pays, so that it has 500 left.
        assert_eq!(turns.next(1000), Some(0));
        turns.sent(1500, true);
        assert_eq!(turns.next(1000), Some(1));
        turns.sent(1500, false);
        assert_eq!((turns.next(1000), turns.seats[0].allotment), (Some(0), 500));
        // A queue that becomes busy again has a whole quantum, whatever it owed.
        turns.grew(1, true, 1000);
        assert_eq!((turns.seats[1].allotment, turns.order.back()), (1000, Some(&1)));
    }
}
