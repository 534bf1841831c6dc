//! The scoreboard: state of each outstanding segment with selective acknowledgements.
//! Loss detection is in `mark`.

use super::prr::Prr;
use super::rack::Rack;
use super::sampler::Sampler;
use crate::seq::{before, later};
use crate::wire::{Ack, Block};
use std::collections::VecDeque;
use tailback_units::Time;

/// Flag of a segment that is selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// Flag of a segment that is considered lost.
pub(super) const LOST: u8 = 2;
/// Flag of a segment that was retransmitted, and is not considered lost since.
pub(super) const RETRANSMITTED: u8 = 4;
/// Flag of a segment that was ever retransmitted.
pub(super) const EVER: u8 = 8;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Time of its last transmission.
    pub sent: Time,
    /// Flags [`SACKED`], [`LOST`], [`RETRANSMITTED`] and [`EVER`].
    pub flags: u8,
}

impl Slot {
    /// Returns `true` if any of the given flags is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Returns `true` if it is lost and not retransmitted since.
    pub fn due(self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }
}

/// Segments that an acknowledgement delivered, cumulatively or selectively.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Number of segments delivered.
    pub delivered: u32,
    /// Transmission time of the delivered segment that was sent last. `None`: no segment was delivered, or that segment
    /// was retransmitted.
    pub newest: Option<Time>,
    /// `true` if a delivered segment below the recovery point was never retransmitted (RFC 5682).
    pub original: bool,
    /// `true` if a delivered segment is at or above the recovery point.
    pub beyond: bool,
    /// Duplicate that the acknowledgement reports (RFC 2883).
    pub duplicate: Option<Block>,
}

/// Timer of a sender with a scoreboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Expiry; [`Time::NEVER`]: the timer is stopped.
    pub at: Time,
    pub awaits: Awaits,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { at: Time::NEVER, awaits: Awaits::Nothing }
    }
}

/// Purpose of a [`Probe`] timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// The timer is stopped.
    Nothing,
    /// A tail loss probe is due at its expiry.
    Tail,
    /// Reordered segments are lost at its expiry (RACK).
    Reordering,
}

/// The scoreboard.
///
/// Losses are detected either by count (RFC 6675: `thresh` segments above are SACKed) or by time ([`Rack`]).
#[derive(Debug)]
pub(super) struct Board {
    /// Segment of the first slot.
    pub base: u32,
    pub slots: VecDeque<Slot>,
    /// Number of SACKed segments.
    pub sacked: u32,
    /// Number of lost segments.
    pub lost: u32,
    /// Number of segments retransmitted, and not considered lost since.
    pub retransmitted: u32,
    /// Number of lost segments that are not retransmitted since.
    pub due: u32,
    /// Lower bound of the first segment that is due.
    pub hint: u32,
    /// Segment after the highest SACKed one.
    pub highest: u32,
    /// First segment with fewer than `thresh` SACKed ones above it; it only moves up.
    pub edge: u32,
    /// SACKed segments at or above `edge`.
    pub above: u32,
    /// Number of SACKed segments above a segment at which it is lost.
    pub thresh: u32,
    /// Segment after the highest one retransmitted in this recovery.
    pub high_rxt: u32,
    /// `true` if rule 4 of NextSeg was used in this recovery.
    pub rescued: bool,
    /// Number of segments newly lost since the last report.
    pub newly_lost: u32,
    /// Blocks of the last acknowledgement, whose segments are SACKed already.
    pub seen: [Block; 3],
    /// Blocks of the last duplicate acknowledgement after a timeout that contained new information.
    pub last_blocks: [Block; 3],
    /// Estimate of the segments in the network by Fall and Floyd's count. `None` outside a recovery with that estimate.
    pub counted: Option<i32>,
    /// State of RACK. `None`: detection by count.
    pub rack: Option<Box<Rack>>,
    /// Timer of a tail loss probe or of reordering.
    pub probe: Probe,
    pub prr: Prr,
}

impl Board {
    pub fn new(thresh: u32, rack: Option<Rack>) -> Board {
        Board {
            base: 0,
            slots: VecDeque::new(),
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            due: 0,
            hint: 0,
            highest: 0,
            edge: 0,
            above: 0,
            thresh,
            high_rxt: 0,
            rescued: false,
            newly_lost: 0,
            seen: [Block::default(); 3],
            last_blocks: [Block::default(); 3],
            counted: None,
            rack: rack.map(Box::new),
            probe: Probe::default(),
            prr: Prr::default(),
        }
    }

    /// Numbers the segments from `seq` on; no segment may be outstanding.
    pub fn start_at(&mut self, seq: u32) {
        for mark in [&mut self.base, &mut self.hint, &mut self.highest, &mut self.edge, &mut self.high_rxt] {
            *mark = seq;
        }
    }

    /// Returns the segment after the last slot.
    pub(super) fn end(&self) -> u32 {
        self.base.wrapping_add(self.slots.len() as u32)
    }

    /// Returns the slot of a segment; `None`: the segment is not outstanding.
    fn slot(&mut self, seq: u32) -> Option<&mut Slot> {
        self.slots.get_mut(seq.wrapping_sub(self.base) as usize)
    }

    /// Returns the number of segments in the network (`pipe` of RFC 6675).
    #[inline]
    pub fn pipe(&self) -> u32 {
        self.slots.len() as u32 + self.retransmitted - self.sacked - self.lost
    }
    /// Counts a transmission.
    #[inline]
    pub fn count(&mut self) {
        self.prr.out += 1;
        if let Some(counted) = &mut self.counted {
            *counted += 1;
        }
    }
    /// Counts an acknowledgement: one segment less in the network, and with a partial one its repair, too.
    pub fn uncount(&mut self, partial: bool) {
        if let Some(counted) = &mut self.counted {
            *counted -= 1 + i32::from(partial);
        }
    }
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Adds the next new segment, transmitted now.
    pub fn push(&mut self, now: Time) {
        let seq = self.end();
        self.slots.push_back(Slot { sent: now, flags: 0 });
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((now, seq));
        }
    }

    /// Records a retransmission of an outstanding segment.
    pub fn retransmit(&mut self, seq: u32, now: Time) {
        let Some(slot) = self.slot(seq) else { return };
        slot.sent = now;
        let was = slot.flags;
        slot.flags |= RETRANSMITTED | EVER;
        if was & RETRANSMITTED == 0 {
            self.retransmitted += 1;
            self.due -= u32::from(was & LOST != 0);
        }
        self.high_rxt = later(self.high_rxt, seq.wrapping_add(1));
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((now, seq));
        }
    }

    /// Processes an acknowledgement; `recover` is the recovery point.
    pub fn take(&mut self, now: Time, ack: &Ack, recover: u32, mut sampler: Option<&mut Sampler>) -> Taken {
        let mut taken = Taken { duplicate: duplicate(ack), ..Taken::default() };
        let skip = usize::from(taken.duplicate.is_some());
        let newest = Newest { sent: Time::ZERO, retransmitted: true };
        let mut news = News { now, echo: ack.echo, recover, newest };
        while self.base != ack.next {
            let Some(slot) = self.slots.pop_front() else { break };
            let seq = self.base;
            self.base = seq.wrapping_add(1);
            if slot.has(SACKED) {
                self.sacked -= 1;
                self.above -= u32::from(!before(seq, self.edge));
            } else {
                self.deliver(slot, seq, &mut news, &mut taken, &mut sampler);
            }
        }
        for pointer in [&mut self.hint, &mut self.highest, &mut self.edge, &mut self.high_rxt] {
            *pointer = later(*pointer, self.base);
        }
        for block in &ack.sack[skip..] {
            if block.start != block.end {
                self.sack_block(*block, &mut news, &mut taken, &mut sampler);
            }
        }
        if skip < ack.sack.len() && ack.has_sack() {
            self.seen = ack.sack;
            self.seen[..skip].fill(Block::default());
        }
        taken.newest = (taken.delivered > 0 && !news.newest.retransmitted).then_some(news.newest.sent);
        taken
    }

    /// Processes a block of an acknowledgement; segments of a block that the last acknowledgement contained are
    /// skipped.
    fn sack_block(&mut self, block: Block, news: &mut News, taken: &mut Taken, sampler: &mut Option<&mut Sampler>) {
        let start = later(block.start, self.base);
        let end = if before(self.end(), block.end) { self.end() } else { block.end };
        let known = self.seen.iter().copied().find(|k| before(k.start, end) && before(start, k.end));
        let known = known.unwrap_or(Block { start: end, end });
        let mut seq = start;
        while before(seq, end) {
            if seq == later(known.start, start) && known.start != known.end {
                seq = known.end;
                continue;
            }
            let i = seq.wrapping_sub(self.base) as usize;
            let slot = self.slots[i];
            if !slot.has(SACKED) {
                self.slots[i].flags = (slot.flags | SACKED) & !(LOST | RETRANSMITTED);
                self.sacked += 1;
                self.above += u32::from(!before(seq, self.edge));
                self.deliver(slot, seq, news, taken, sampler);
                self.highest = later(self.highest, seq.wrapping_add(1));
            }
            seq = seq.wrapping_add(1);
        }
    }

    /// Processes the first delivery of a segment.
    fn deliver(
        &mut self,
        slot: Slot,
        seq: u32,
        news: &mut News,
        taken: &mut Taken,
        sampler: &mut Option<&mut Sampler>,
    ) {
        taken.delivered += 1;
        self.lost -= u32::from(slot.has(LOST));
        self.due -= u32::from(slot.due());
        self.retransmitted -= u32::from(slot.has(RETRANSMITTED));
        if before(seq, news.recover) {
            taken.original |= !slot.has(EVER);
        } else {
            taken.beyond = true;
        }
        if slot.sent >= news.newest.sent {
            news.newest = Newest { sent: slot.sent, retransmitted: slot.has(EVER) };
        }
        if let Some(rack) = &mut self.rack {
            rack.delivered(seq, slot.sent, slot.has(EVER), news.now, news.echo);
        }
        if let Some(sampler) = sampler {
            sampler.delivered(seq, news.now);
        }
    }

    /// Returns `true` if the acknowledgement has a block that is not within a block of `last_blocks`, and then stores
    /// its blocks there. The report of a duplicate does not count.
    pub fn adds_information(&mut self, ack: &Ack) -> bool {
        let skip = usize::from(duplicate(ack).is_some());
        let within = |block: &Block, known: &Block| !before(block.start, known.start) && !before(known.end, block.end);
        let is_known =
            |block: &Block| block.start == block.end || self.last_blocks.iter().any(|known| within(block, known));
        let more = !ack.sack[skip..].iter().all(is_known);
        if more {
            self.last_blocks = ack.sack;
            self.last_blocks[..skip].fill(Block::default());
        }
        more
    }

    /// Begins a recovery.
    pub fn begin(&mut self) {
        self.high_rxt = self.base;
        self.rescued = false;
    }

    /// Returns the first segment that is due (NextSeg of RFC 6675 section 4, rule 1); `None`: no segment is due.
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.due == 0 {
            return None;
        }
        while !self.slots[self.hint.wrapping_sub(self.base) as usize].due() {
            self.hint = self.hint.wrapping_add(1);
        }
        Some(self.hint)
    }

    /// Returns the first hole below the highest SACKed segment that has not been repaired in this recovery.
    pub fn next_hole(&mut self) -> Option<u32> {
        let mut seq = self.high_rxt;
        while before(seq, self.highest) {
            if !self.slots[seq.wrapping_sub(self.base) as usize].has(SACKED | RETRANSMITTED) {
                return Some(seq);
            }
            seq = seq.wrapping_add(1);
            self.high_rxt = seq;
        }
        None
    }

    /// Returns the first segment with SACKed ones above it that has not been retransmitted (NextSeg rule 3),
    /// or, once per recovery, the last outstanding one (rule 4).
    pub fn next_doubtful(&mut self) -> Option<u32> {
        if let Some(hole) = self.next_hole() {
            return Some(hole);
        }
        if self.rescued {
            return None;
        }
        let last = self.slots.iter().rposition(|slot| !slot.has(SACKED))?;
        self.rescued = true;
        Some(self.base.wrapping_add(last as u32))
    }

    /// Checks that the counts are those of the slots.
    pub fn audit(&self) {
        let count = |f: &dyn Fn(&Slot) -> bool| self.slots.iter().filter(|slot| f(slot)).count() as u32;
        assert_eq!(self.sacked, count(&|s| s.has(SACKED)), "sacked");
        assert_eq!(self.lost, count(&|s| s.has(LOST)), "lost");
        assert_eq!(self.retransmitted, count(&|s| s.has(RETRANSMITTED)), "retransmitted");
        assert_eq!(self.due, count(&|s| s.due()), "due");
    }
}

/// Last transmission among the delivered segments.
struct Newest {
    /// Time of the transmission.
    sent: Time,
    /// `true` if its segment was ever retransmitted.
    retransmitted: bool,
}

/// Results of a walk over the delivered segments.
struct News {
    /// Arrival of the acknowledgement.
    now: Time,
    /// Echoed timestamp of the acknowledgement; [`Time::NEVER`] without timestamps.
    echo: Time,
    /// Recovery point.
    recover: u32,
    newest: Newest,
}

/// Returns the first block, if it reports a duplicate (RFC 2883 section 4).
fn duplicate(ack: &Ack) -> Option<Block> {
    let [first, second, _] = ack.sack;
    if first.start == first.end {
        return None;
    }
    let below = !before(ack.next, first.end);
    let inside = second.start != second.end && !before(first.start, second.start) && !before(second.end, first.end);
    (below || inside).then_some(first)
}
