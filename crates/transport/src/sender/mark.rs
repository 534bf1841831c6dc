//! Loss detection on the scoreboard: by count, by time, or by an expiry of the retransmission timer.

use super::board::{Board, LOST, RETRANSMITTED, SACKED};
use crate::seq::before;
use tailback_units::{Dur, Time};

impl Board {
    /// Marks segment `seq` as lost, unless it is SACKed or already lost and due.
    fn mark_lost(&mut self, seq: u32) {
        let i = seq.wrapping_sub(self.base) as usize;
        let slot = &mut self.slots[i];
        if slot.has(SACKED) || slot.due() {
            return;
        }
        self.retransmitted -= u32::from(slot.has(RETRANSMITTED));
        self.lost += u32::from(!slot.has(LOST));
        slot.flags = (slot.flags | LOST) & !RETRANSMITTED;
        self.due += 1;
        self.newly_lost += 1;
        if before(seq, self.hint) {
            self.hint = seq;
        }
    }

    /// Marks the segments with `thresh` SACKed segments above them as lost (IsLost of RFC 6675).
    pub fn mark_by_count(&mut self) {
        while before(self.edge, self.highest) {
            let i = self.edge.wrapping_sub(self.base) as usize;
            let slot = self.slots[i];
            let sacked = u32::from(slot.has(SACKED));
            if self.above - sacked < self.thresh {
                break;
            }
            if !slot.has(SACKED | LOST) {
                // A segment that was retransmitted before it was considered lost (rules 3 and 4 of NextSeg) is not due
                // again.
                self.slots[i].flags |= LOST;
                self.lost += 1;
                self.newly_lost += 1;
                if !slot.has(RETRANSMITTED) {
                    self.due += 1;
                    if before(self.edge, self.hint) {
                        self.hint = self.edge;
                    }
                }
            }
            self.above -= sacked;
            self.edge = self.edge.wrapping_add(1);
        }
    }

    /// Marks the lost segments (RACK_detect_loss of RFC 8985 section 6.2 step 5). Returns the time from `now` until all
    /// other segments that were sent before a delivered one will be considered lost; zero: there are no others.
    pub fn mark_by_time(&mut self, now: Time, srtt: Dur, recovering: bool) -> Dur {
        let Some(mut rack) = self.rack.take() else { return Dur::ZERO };
        let window = rack.window(srtt, recovering, self.sacked >= self.thresh);
        let mut wait = Dur::ZERO;
        let mut i = 0;
        while let Some(&(sent, seq)) = rack.order.get(i) {
            let slot = self.slots.get(seq.wrapping_sub(self.base) as usize);
            let stale = slot.is_none_or(|slot| slot.sent != sent || slot.has(SACKED) || slot.due());
            if !stale && !rack.is_after(sent, seq) {
                break;
            }
            let deadline = sent + rack.rtt + window;
            if stale || deadline <= now {
                if !stale {
                    self.mark_lost(seq);
                }
                // Only an entry at the front is removed. Others are skipped at the next call again, which is cheap.
                if i == 0 {
                    rack.order.pop_front();
                } else {
                    i += 1;
                }
            } else {
                wait = wait.max(deadline.since(now));
                i += 1;
            }
        }
        self.rack = Some(rack);
        wait
    }

    /// Marks the lost segments at an expiry of the retransmission timer: without RACK all outstanding ones; with RACK
    /// the first one and those not sent recently (RFC 8985 section 6.3).
    pub fn mark_by_timeout(&mut self, now: Time, srtt: Dur) {
        self.counted = None;
        let window = self.rack.as_ref().map(|rack| rack.rtt + rack.window(srtt, true, true));
        self.hint = self.base;
        for i in 0..self.slots.len() {
            let lost = window.is_none_or(|window| i == 0 || self.slots[i].sent + window <= now);
            if lost {
                self.mark_lost(self.base.wrapping_add(i as u32));
            }
        }
        self.edge = self.end();
        self.above = 0;
    }

    /// Discards the selective acknowledgements (RFC 2018 section 8).
    pub fn forget(&mut self) {
        for slot in &mut self.slots {
            slot.flags &= !SACKED;
        }
        self.sacked = 0;
        self.above = 0;
        self.highest = self.base;
        self.seen = Default::default();
    }

    /// Unmarks the lost segments that were not retransmitted, after a spurious reduction.
    pub fn unmark(&mut self) {
        for slot in &mut self.slots {
            if slot.due() {
                slot.flags &= !LOST;
                self.lost -= 1;
                self.due -= 1;
            }
        }
        self.newly_lost = 0;
        let Some(rack) = &mut self.rack else { return };
        rack.order.clear();
        for (i, slot) in self.slots.iter().enumerate().filter(|(_, slot)| !slot.has(SACKED)) {
            rack.order.push_back((slot.sent, self.base.wrapping_add(i as u32)));
        }
        rack.order.make_contiguous().sort_by_key(|(sent, _)| *sent);
    }
}
