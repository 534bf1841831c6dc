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
                    // The segment is at or after `hint`, since all that were due before are below the edge.
                    self.due += 1;
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

#[cfg(test)]
mod tests {
    use super::super::rack::Rack;
    use super::*;
    use crate::wire::{Ack, Block};

    const MS: fn(u64) -> Dur = Dur::from_ms;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Returns a scoreboard with a DupThresh of 3 and `n` outstanding segments, of which segment i was sent at i ms.
    fn board(n: u64, rack: Option<Rack>) -> Board {
        let mut board = Board::new(3, rack);
        (0..n).for_each(|i| board.push(at(i)));
        board
    }

    /// Processes an acknowledgement at `ms` with blocks from a first segment to the one after the last; the recovery point
    /// is segment 5.
    fn acknowledge(board: &mut Board, ms: u64, next: u32, blocks: &[(u32, u32)]) -> super::super::board::BoardUpdate {
        let mut sack = [Block::default(); 3];
        for (place, (start, end)) in sack.iter_mut().zip(blocks) {
            *place = Block { start: *start, end: *end };
        }
        let ack = Ack { next, ece: false, syn: false, echo: at(ms), delay: Dur::ZERO, window: Ack::UNLIMITED, sack };
        let update = board.on_ack(at(ms), &ack, 5, None);
        board.audit();
        update
    }

    /// Returns the numbers of SACKed, lost, newly lost and due segments, and of those in the network.
    fn counts(board: &Board) -> [u32; 5] {
        board.audit();
        [board.sacked, board.lost, board.newly_lost, board.due, board.pipe()]
    }

    /// RFC 8985 section 6.2: the segments of one acknowledgement are processed in ascending order, so that its second
    /// block, which is lower, is no reordering; a lower segment in the next one is.
    #[test]
    fn a_lower_block_of_the_same_acknowledgement_is_no_reordering() {
        let mut board = board(10, Some(Rack::new(false)));
        let window = |board: &Board| board.rack.as_ref().unwrap().window(MS(100), true, true);
        acknowledge(&mut board, 100, 0, &[(5, 6), (2, 3)]);
        assert_eq!(window(&board), Dur::ZERO);
        acknowledge(&mut board, 101, 0, &[(1, 3), (5, 6)]);
        assert!(window(&board) > Dur::ZERO);
    }

    /// RFC 6675 section 4: a segment is lost once three segments above it are SACKed (IsLost), and is no longer in the
    /// network (pipe) until it is retransmitted.
    #[test]
    fn a_segment_is_lost_by_count_once_three_above_it_are_sacked() {
        let mut board = board(10, None);
        assert_eq!((board.next_lost(), board.next_hole()), (None, None));
        acknowledge(&mut board, 100, 0, &[(1, 3)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [2, 0, 0, 0, 8]);
        acknowledge(&mut board, 101, 0, &[(1, 4)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [3, 1, 1, 1, 6]);
        assert_eq!(board.next_lost(), Some(0));
        acknowledge(&mut board, 102, 0, &[(5, 8), (1, 4)]);
        board.mark_by_count();
        // Segment 4 has three SACKed segments above it as well, segment 8 has none.
        assert_eq!(counts(&board), [6, 2, 2, 2, 2]);
        board.retransmit(0, at(103));
        assert_eq!(counts(&board), [6, 2, 2, 1, 3]);
        assert_eq!((board.next_lost(), board.next_hole()), (Some(4), Some(4)));
        board.retransmit(4, at(104));
        assert_eq!((board.next_lost(), board.next_hole()), (None, None));
        // The rescue retransmission is that of the last segment, once in a recovery.
        assert_eq!((board.next_doubtful(), board.next_doubtful()), (Some(9), None));
        board.begin();
        assert_eq!(board.next_doubtful(), Some(9));
        // The retransmission of segment 0 arrives: it was sent twice, so that it gives no round-trip time, and it is below
        // the recovery point.
        let update = acknowledge(&mut board, 200, 4, &[(5, 8)]);
        assert_eq!((update.delivered, update.newest, update.original, update.beyond), (1, None, false, false));
        let update = acknowledge(&mut board, 201, 9, &[]);
        assert_eq!((update.delivered, update.newest, update.original, update.beyond), (2, None, false, true));
    }

    /// RFC 6675: a hole that was retransmitted in this recovery is passed over, and only that one.
    #[test]
    fn holes_are_retransmitted_one_after_the_other() {
        let mut board = board(6, None);
        acknowledge(&mut board, 100, 0, &[(3, 5)]);
        assert_eq!(board.next_hole(), Some(0));
        board.begin();
        for hole in 0..3 {
            assert_eq!(board.next_hole(), Some(hole));
            board.retransmit(hole, at(101));
        }
        assert_eq!(board.next_hole(), None);
        // A segment that was retransmitted before it was lost is not due.
        acknowledge(&mut board, 102, 0, &[(3, 6)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [3, 3, 3, 0, 3]);
    }

    /// Without RACK all segments that are not SACKed are lost at an expiry, also retransmissions. SACKed segments do not
    /// count for segments that are sent later.
    #[test]
    fn at_an_expiry_all_segments_are_lost_that_are_not_sacked() {
        let mut board = board(10, None);
        board.counted = Some(4);
        acknowledge(&mut board, 100, 0, &[(1, 4), (5, 8)]);
        board.mark_by_count();
        board.retransmit(0, at(101));
        assert_eq!((board.next_lost(), board.newly_lost), (Some(4), 2));
        board.mark_by_timeout(at(300), MS(100));
        assert_eq!(counts(&board), [6, 4, 5, 4, 0]);
        assert_eq!((board.next_lost(), board.counted), (Some(0), None));
        (10..13).for_each(|i| board.push(at(i)));
        acknowledge(&mut board, 400, 0, &[(11, 13)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [8, 4, 5, 4, 1]);
    }

    /// RFC 2018 section 8: after an expiry the blocks may be discarded. The same blocks then count as new.
    #[test]
    fn forgotten_blocks_count_again() {
        let mut board = board(6, None);
        acknowledge(&mut board, 100, 0, &[(2, 4)]);
        board.forget();
        assert_eq!((counts(&board), board.next_hole()), ([0, 0, 0, 0, 6], None));
        board.mark_by_count();
        assert_eq!(acknowledge(&mut board, 200, 0, &[(2, 4)]).delivered, 2);
        acknowledge(&mut board, 201, 0, &[(2, 4)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [2, 0, 0, 0, 4]);
        acknowledge(&mut board, 202, 0, &[(2, 5)]);
        board.mark_by_count();
        assert_eq!(counts(&board), [3, 2, 2, 2, 1]);
    }

    /// RFC 2883 section 4: the first block is a duplicate if it is acknowledged already or within the second block.
    #[test]
    fn the_first_block_is_a_duplicate_below_the_acknowledgement_or_within_the_second_block() {
        for (next, blocks, is_duplicate) in [
            (4, vec![(3, 4)], true),
            (4, vec![(3, 5)], false),
            (1, vec![(3, 4), (2, 6)], true),
            (1, vec![(2, 6), (2, 6)], true),
            (1, vec![(2, 7), (2, 6)], false),
            (1, vec![(3, 4), (4, 6)], false),
            (1, vec![(3, 4)], false),
            (1, vec![], false),
        ] {
            let mut board = board(10, None);
            let update = acknowledge(&mut board, 100, next, &blocks);
            let expected = is_duplicate.then(|| Block { start: blocks[0].0, end: blocks[0].1 });
            assert_eq!(update.duplicate, expected, "{next} {blocks:?}");
        }
    }

    /// RFC 8985 section 6.2 step 5: segments sent before the delivered one are lost a round-trip time and the reordering
    /// window after their transmission. The window is a quarter of the minimum round-trip time of 98 ms.
    #[test]
    fn rack_waits_for_the_last_of_the_segments_sent_before_the_delivered_one() {
        let window = MS(98) / 4;
        // Segment 2 arrives 98 ms after its transmission at 2 ms; segments 0 and 1 were sent before.
        let mut first = board(6, Some(Rack::new(false)));
        acknowledge(&mut first, 100, 0, &[(2, 3)]);
        let due = |sent: u64| (at(sent) + MS(98) + window).since(at(100));
        assert_eq!(first.mark_by_time(at(100), MS(100), false), due(1));
        // Segments 1 and 2 arrive; only segment 0 is missing.
        let mut second = board(6, Some(Rack::new(false)));
        acknowledge(&mut second, 100, 0, &[(1, 3)]);
        assert_eq!(second.mark_by_time(at(100), MS(100), false), due(0));
        // Segment 1 and segment 3, which took 97 ms, arrive; segments 0 and 2 are missing.
        let mut third = board(6, Some(Rack::new(false)));
        acknowledge(&mut third, 100, 0, &[(1, 2), (3, 4)]);
        let wait = (at(2) + MS(97) + MS(97) / 4).since(at(100));
        assert_eq!(third.mark_by_time(at(100), MS(100), false), wait);
        assert_eq!(counts(&third), [2, 0, 0, 0, 4]);
        // At that time both are lost.
        assert_eq!(third.mark_by_time(at(100) + wait, MS(100), false), Dur::ZERO);
        assert_eq!(counts(&third), [2, 2, 2, 2, 2]);
        assert_eq!(third.next_lost(), Some(0));
        third.retransmit(0, at(130));
        assert_eq!(third.next_lost(), Some(2));
        third.retransmit(2, at(131));
        assert_eq!(counts(&third), [2, 2, 2, 0, 4]);
        // The retransmission of segment 2 arrives and that of segment 0 is lost: it is due again, although the search has
        // passed it.
        acknowledge(&mut third, 231, 0, &[(1, 4)]);
        assert_eq!(third.mark_by_time(at(231), MS(100), true), Dur::ZERO);
        // Segments 4 and 5 were sent before that retransmission, too.
        assert_eq!(counts(&third), [3, 3, 5, 3, 0]);
        assert_eq!(third.next_lost(), Some(0));
    }

    /// RFC 8985 section 6.3: at an expiry the first segment is lost, and those that were sent a round-trip time and the
    /// reordering window before.
    #[test]
    fn at_an_expiry_rack_spares_segments_sent_recently() {
        let mut board = board(8, Some(Rack::new(false)));
        acknowledge(&mut board, 100, 2, &[(5, 6)]);
        // Segment 3 arrives after segment 5, which is reordering. Its round trip is longer than the minimum, 95 ms.
        acknowledge(&mut board, 101, 2, &[(3, 4), (5, 6)]);
        assert_eq!(counts(&board), [2, 0, 0, 0, 4]);
        // The first is lost, although the time of 2 + 118.75 ms has not come.
        board.mark_by_timeout(at(115), MS(100));
        assert_eq!((counts(&board), board.next_lost()), ([2, 1, 1, 1, 3], Some(2)));
        // Segment 4 was sent 95 + 23.75 ms before 122.75 ms.
        board.mark_by_timeout(at(122) + Dur::from_us(749), MS(100));
        assert_eq!(counts(&board), [2, 1, 1, 1, 3]);
        assert_eq!(board.next_lost(), Some(2));
        board.mark_by_timeout(at(122) + Dur::from_us(750), MS(100));
        assert_eq!(counts(&board), [2, 2, 2, 2, 2]);
    }

    /// After a spurious reduction the lost segments that were not retransmitted are in the network again. RACK orders all
    /// segments by the times of their transmissions.
    #[test]
    fn segments_that_were_not_lost_are_in_the_network_again_in_the_order_of_their_transmissions() {
        let mut board = board(6, Some(Rack::new(false)));
        acknowledge(&mut board, 100, 0, &[(3, 4)]);
        board.mark_by_timeout(at(200), MS(100));
        assert_eq!(counts(&board), [1, 5, 5, 5, 0]);
        board.retransmit(0, at(201));
        board.unmark();
        assert_eq!(counts(&board), [1, 1, 0, 0, 5]);
        // Segment 5, which was sent at 5 ms, arrives. Segments 1, 2 and 4 were sent before it; segment 0 was sent later.
        acknowledge(&mut board, 210, 0, &[(5, 6), (3, 4)]);
        assert_eq!(board.mark_by_time(at(210), MS(100), true), Dur::ZERO);
        assert_eq!(counts(&board), [2, 4, 3, 3, 1]);
        assert_eq!(board.next_lost(), Some(1));
    }
}
