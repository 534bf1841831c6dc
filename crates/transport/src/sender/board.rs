//! The scoreboard: what is known of each outstanding segment when acknowledgements are selective.
//! When one of them is taken for lost is in `mark`.

use super::rack::Rack;
use super::sampler::Sampler;
use super::state::Probe;
use crate::seq::{before, later};
use crate::wire::{Ack, Block};
use std::collections::VecDeque;
use tailback_units::Time;

/// Selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// Taken for lost.
pub(super) const LOST: u8 = 2;
/// Retransmitted, and not taken for lost since.
pub(super) const RETRANSMITTED: u8 = 4;
/// Retransmitted at some time.
pub(super) const EVER: u8 = 8;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Its last transmission.
    pub sent: Time,
    pub flags: u8,
}

impl Slot {
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Lost and not retransmitted since.
    pub fn due(self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }
}

/// What an acknowledgement delivered, cumulatively or selectively.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Segments.
    pub delivered: u32,
    /// When the one that was sent last was sent, if it was never retransmitted.
    pub newest: Option<Time>,
    /// Whether one below the recovery point was never retransmitted (RFC 5682).
    pub original: bool,
    /// Whether one at or above the recovery point is among them.
    pub beyond: bool,
    /// Whether it reports a duplicate (RFC 2883).
    pub duplicate: Option<Block>,
}

/// The scoreboard.
///
/// Loss is known either by count (RFC 6675: `thresh` segments above are SACKed; `edge` is the first
/// segment of which that is not yet so, and only moves up) or by time ([`Rack`]).
#[derive(Debug)]
pub(super) struct Board {
    pub base: u32,
    pub slots: VecDeque<Slot>,
    pub sacked: u32,
    pub lost: u32,
    pub retransmitted: u32,
    /// Of the lost, not retransmitted since.
    pub due: u32,
    /// No segment before it is due.
    pub hint: u32,
    /// One past the highest SACKed segment.
    pub highest: u32,
    pub edge: u32,
    /// SACKed segments at or above `edge`.
    pub above: u32,
    pub thresh: u32,
    /// One past the highest segment retransmitted in this recovery.
    pub high_rxt: u32,
    pub rescued: bool,
    /// Newly lost since asked.
    pub newly_lost: u32,
    /// Blocks of the last acknowledgement: their segments need no second look.
    pub seen: [Block; 3],
    /// Blocks of the last duplicate acknowledgement after a timeout that told something new.
    pub told: [Block; 3],
    /// Segments in the network by Fall and Floyd's count, during a recovery that goes by it.
    pub counted: Option<i32>,
    pub rack: Option<Box<Rack>>,
    /// The deadline of a tail loss probe or of RACK's patience.
    pub probe: Probe,
    pub prr: super::prr::Prr,
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
            told: [Block::default(); 3],
            counted: None,
            rack: rack.map(Box::new),
            probe: Probe::default(),
            prr: Default::default(),
        }
    }

    /// Numbers the segments from `seq` on; none must be outstanding.
    pub fn start_at(&mut self, seq: u32) {
        for mark in [&mut self.base, &mut self.hint, &mut self.highest, &mut self.edge, &mut self.high_rxt] {
            *mark = seq;
        }
    }

    pub(super) fn end(&self) -> u32 {
        self.base.wrapping_add(self.slots.len() as u32)
    }

    fn slot(&mut self, seq: u32) -> Option<&mut Slot> {
        self.slots.get_mut(seq.wrapping_sub(self.base) as usize)
    }

    /// Segments in the network (`pipe` of RFC 6675).
    #[inline]
    pub fn pipe(&self) -> u32 {
        self.slots.len() as u32 + self.retransmitted - self.sacked - self.lost
    }
    /// An acknowledgement has come: one segment less by count, and with a partial one its repair, too.
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

    /// The next new segment is transmitted.
    pub fn push(&mut self, now: Time) {
        let seq = self.end();
        self.slots.push_back(Slot { sent: now, flags: 0 });
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((now, seq));
        }
    }

    /// An outstanding segment is transmitted again.
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

    /// Takes in an acknowledgement; `recover` is the recovery point.
    pub fn take(&mut self, now: Time, ack: &Ack, recover: u32, mut sampler: Option<&mut Sampler>) -> Taken {
        let mut taken = Taken { duplicate: duplicate(ack), ..Taken::default() };
        let skip = usize::from(taken.duplicate.is_some());
        let mut news = News { now, echo: ack.echo, recover, newest: (Time::ZERO, 0, true) };
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
        taken.newest = (taken.delivered > 0 && !news.newest.2).then_some(news.newest.0);
        taken
    }

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

    /// Accounts for a segment that has not been delivered before.
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
        if slot.sent >= news.newest.0 {
            news.newest = (slot.sent, seq, slot.has(EVER));
        }
        if let Some(rack) = &mut self.rack {
            rack.delivered(seq, slot.sent, slot.has(EVER), news.now, news.echo);
        }
        if let Some(sampler) = sampler {
            sampler.delivered(seq, news.now);
        }
    }

    /// Whether the acknowledgement has a block that tells of segments of which the blocks in `told` do not; if so
    /// its own take their place. The report of a duplicate tells nothing.
    pub fn tells_more(&mut self, ack: &Ack) -> bool {
        let skip = usize::from(duplicate(ack).is_some());
        let within = |block: &Block, known: &Block| !before(block.start, known.start) && !before(known.end, block.end);
        let is_known = |block: &Block| block.start == block.end || self.told.iter().any(|known| within(block, known));
        let more = !ack.sack[skip..].iter().all(is_known);
        if more {
            self.told = ack.sack;
            self.told[..skip].fill(Block::default());
        }
        more
    }

    /// Recovery begins.
    pub fn begin(&mut self) {
        self.high_rxt = self.base;
        self.rescued = false;
    }

    /// NextSeg of RFC 6675 section 4, rule 1: the first lost segment that is due.
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.due == 0 {
            return None;
        }
        while !self.slots[self.hint.wrapping_sub(self.base) as usize].due() {
            self.hint = self.hint.wrapping_add(1);
        }
        Some(self.hint)
    }

    /// The first hole below the highest SACKed segment that has not been repaired in this recovery.
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

    /// NextSeg rule 3: the first segment with SACKed ones above it that has not been retransmitted;
    /// and rule 4, once a recovery: the last outstanding one.
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

    /// Panics if the counts are not those of the slots.
    pub fn audit(&self) {
        let count = |f: &dyn Fn(&Slot) -> bool| self.slots.iter().filter(|slot| f(slot)).count() as u32;
        assert_eq!(self.sacked, count(&|s| s.has(SACKED)), "sacked");
        assert_eq!(self.lost, count(&|s| s.has(LOST)), "lost");
        assert_eq!(self.retransmitted, count(&|s| s.has(RETRANSMITTED)), "retransmitted");
        assert_eq!(self.due, count(&|s| s.due()), "due");
    }
}

/// What a walk over the delivered segments gathers.
struct News {
    now: Time,
    echo: Time,
    recover: u32,
    /// Last transmission among them: when, of which, and whether it was ever retransmitted.
    newest: (Time, u32, bool),
}

/// The block that reports a duplicate (RFC 2883 section 4), if the first does.
fn duplicate(ack: &Ack) -> Option<Block> {
    let [first, second, _] = ack.sack;
    if first.start == first.end {
        return None;
    }
    let below = !before(ack.next, first.end);
    let inside = second.start != second.end && !before(first.start, second.start) && !before(second.end, first.end);
    (below || inside).then_some(first)
}
