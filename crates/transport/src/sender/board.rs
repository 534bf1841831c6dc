//! The scoreboard of a sender with SACK: the state of each outstanding segment. Loss detection is in `mark`.

use super::prr::Prr;
use super::rack::Rack;
use super::sampler::Sampler;
use crate::seq::{before, later};
use crate::tick::Timer;
use crate::wire::{Ack, Block};
use std::collections::VecDeque;
use tailback_units::{Dur, Time};

/// Flag of a segment that is selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// Flag of a segment that is considered lost.
pub(super) const LOST: u8 = 2;
/// Flag of a segment that was retransmitted, and has not been considered lost since then.
pub(super) const RETRANSMITTED: u8 = 4;
/// Flag of a segment that was ever retransmitted.
pub(super) const EVER_RETRANSMITTED: u8 = 8;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Time of its last transmission.
    pub sent: Time,
    /// Flags [`SACKED`], [`LOST`], [`RETRANSMITTED`] and [`EVER_RETRANSMITTED`].
    pub flags: u8,
}

impl Slot {
    /// Returns `true` if any of the given flags is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Returns `true` if the segment is due, that is, lost and not retransmitted since then.
    pub fn due(self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }
}

/// Result of an acknowledgement on the scoreboard: the segments that it delivered, cumulatively or selectively.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BoardUpdate {
    /// Number of segments delivered.
    pub delivered: u32,
    /// Transmission time of the delivered segment that was sent last. `None`: no segment was delivered, or that segment
    /// was retransmitted.
    pub newest: Option<Time>,
    /// Transmission times that Linux measures.
    pub spans: Spans,
    /// `true` if a segment was selectively acknowledged.
    pub selective: bool,
    /// `true` if a delivered segment below the recovery point was never retransmitted (RFC 5682).
    pub original: bool,
    /// `true` if a delivered segment is at or above the recovery point.
    pub beyond: bool,
    /// Duplicate that the acknowledgement reports (RFC 2883); `None`: it reports none.
    pub duplicate: Option<Block>,
}

/// Transmission times of the segments of an acknowledgement, of those never retransmitted (Linux 6.1,
/// `tcp_clean_rtx_queue`, `tcp_sacktag_one`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spans {
    /// Times of the first and of the last segment acknowledged cumulatively, and not selectively before. `None`: none.
    pub acked: Option<(Time, Time)>,
    /// Number and time of the first and of the last segment acknowledged selectively. `None`: none.
    pub sacked: Option<[(u32, Time); 2]>,
    /// `true` if a segment acknowledged cumulatively was ever retransmitted.
    pub retransmitted: bool,
}

impl Spans {
    /// Records a segment that is acknowledged cumulatively; `slot` was its state.
    fn acked(&mut self, slot: Slot) {
        if slot.has(EVER_RETRANSMITTED) {
            self.retransmitted = true;
        } else if !slot.has(SACKED) {
            let (first, _) = self.acked.unwrap_or((slot.sent, slot.sent));
            self.acked = Some((first, slot.sent));
        }
    }

    /// Records a segment that is acknowledged selectively; `slot` was its state.
    fn sacked(&mut self, slot: Slot, seq: u32) {
        if slot.has(EVER_RETRANSMITTED) {
            return;
        }
        let own = (seq, slot.sent);
        let [first, last] = self.sacked.unwrap_or([own; 2]);
        self.sacked =
            Some([if before(seq, first.0) { own } else { first }, if before(last.0, seq) { own } else { last }]);
    }

    /// Returns the round-trip times at `now` for the timeout and for the congestion control; `None`: there is none.
    /// `echo`: time that the acknowledgement echoes, if it advances (`tcp_ack_update_rtt`).
    pub fn round_trips(&self, now: Time, echo: Option<Time>) -> Option<(Dur, Dur)> {
        let [first, last] = match (self.acked.filter(|_| !self.retransmitted), self.sacked) {
            (Some((first, _)), Some([_, (_, last)])) | (None, Some([(_, first), (_, last)])) => [first, last],
            (Some((first, last)), None) => [first, last],
            (None, None) => {
                // A timestamp that is later than now, of a transmission that was not paced, gives no sample.
                let ms = |time: Time| time.0 / Dur::from_ms(1).0;
                let echoed = Dur::from_ms(ms(now).checked_sub(ms(echo?))?.max(1));
                return Some((echoed, echoed));
            }
        };
        // `tcp_stamp_us_delta`.
        let us = |time: Time| time.0 / Dur::from_us(1).0;
        let since = |sent: Time| Dur::from_us(us(now).saturating_sub(us(sent)).max(1));
        Some((since(first), since(last)))
    }
}

/// Timer for tail loss probes and reordering of a sender with a scoreboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Expiry; [`Time::NEVER`]: the timer is stopped.
    pub at: Time,
    /// Purpose of the timer.
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
    /// Number of segments that were retransmitted, and have not been considered lost since then.
    pub retransmitted: u32,
    /// Number of lost segments that have not been retransmitted since then.
    pub due: u32,
    /// Lower bound of the first segment that is due.
    pub hint: u32,
    /// Segment after the highest SACKed one.
    pub highest: u32,
    /// First segment with fewer than `thresh` SACKed segments above it; it never decreases.
    pub edge: u32,
    /// Number of SACKed segments at or above `edge`.
    pub above: u32,
    /// Number of SACKed segments above a segment at which the segment is considered lost (DupThresh).
    pub thresh: u32,
    /// Segment after the highest one retransmitted in this recovery, without the rescue.
    pub high_rxt: u32,
    /// `true` if rule 4 of NextSeg (a rescue retransmission) was used in this recovery.
    pub rescued: bool,
    /// `true` if the next retransmission is the rescue.
    rescuing: bool,
    /// Number of segments considered lost since the last report to the congestion control.
    pub newly_lost: u32,
    /// Blocks of the last acknowledgement, whose segments are already marked as SACKed.
    pub seen: [Block; 3],
    /// Blocks of the last duplicate acknowledgement after a timeout that contained new information.
    pub last_blocks: [Block; 3],
    /// Number of segments in the network by the count of Fall and Floyd. `None`: `pipe` is not "count", or the sender
    /// is not in recovery.
    pub counted: Option<i32>,
    /// State of RACK. `None`: detection by count.
    pub rack: Option<Box<Rack>>,
    /// Timer of a tail loss probe or of reordering.
    pub probe: Probe,
    /// With Linux's rules, number of segments that were reported as duplicates. It begins with the sender's
    /// retransmissions at that time, since that count, with which it is compared, goes on from connection to connection.
    pub duplicates: u64,
    /// The timer of the connection with Linux's rules, whatever it waits for.
    pub timer: Timer,
    /// With Linux's rules, `true` if the next transmission is a tail loss probe.
    pub probing: bool,
    /// With Linux's rules, `true` if the next transmission is that of an expired retransmission timer.
    pub expired: bool,
    /// With Linux's rules, `true` if the last dubious acknowledgement left segments that are SACKed, lost or
    /// retransmitted, outside of a recovery.
    pub disordered: bool,
    pub prr: Prr,
    /// Number of segments from the first one that is not acknowledged on that the receiver allows. `None`: acknowledgements
    /// have no window.
    pub offered: Option<u32>,
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
            rescuing: false,
            newly_lost: 0,
            seen: [Block::default(); 3],
            last_blocks: [Block::default(); 3],
            counted: None,
            rack: rack.map(Box::new),
            probe: Probe::default(),
            duplicates: 0,
            timer: Timer::default(),
            probing: false,
            expired: false,
            disordered: false,
            prr: Prr::default(),
            offered: None,
        }
    }

    /// Sets the number of the first segment. No segment may be outstanding.
    pub fn start_at(&mut self, seq: u32) {
        for position in [&mut self.base, &mut self.hint, &mut self.highest, &mut self.edge, &mut self.high_rxt] {
            *position = seq;
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
    /// Counts a transmission for proportional rate reduction and for the count of Fall and Floyd.
    #[inline]
    pub fn count(&mut self) {
        self.prr.out += 1;
        if let Some(counted) = &mut self.counted {
            *counted += 1;
        }
    }
    /// Counts an acknowledgement for the count of Fall and Floyd: one segment fewer in the network, and two fewer at a
    /// `partial` acknowledgement, because the repair has arrived, too.
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
    /// Forgets an outstanding tail loss probe (`tcp_init_cwnd_reduction`).
    pub fn forget_probe(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.probe = None;
        }
    }
    /// Returns `true` if a segment is SACKed, lost or retransmitted, or the first one was ever retransmitted
    /// (`tcp_try_keep_open`, `tcp_any_retrans_done`).
    pub fn is_disordered(&self) -> bool {
        let first = self.slots.front().is_some_and(|slot| slot.has(EVER_RETRANSMITTED));
        self.sacked + self.lost + self.retransmitted > 0 || first
    }

    /// Adds the next new segment, transmitted at `now`.
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
        slot.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        if was & RETRANSMITTED == 0 {
            self.retransmitted += 1;
            self.due -= u32::from(was & LOST != 0);
        }
        // RFC 6675 section 4, NextSeg rule 4: "HighRxt MUST NOT be updated" by the rescue, so that rule 3 still finds the
        // holes below it.
        if !std::mem::take(&mut self.rescuing) {
            self.high_rxt = later(self.high_rxt, seq.wrapping_add(1));
        }
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((now, seq));
        }
    }

    /// Processes an acknowledgement that arrives at `now`; `recover` is the recovery point. Returns what it delivered.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, recover: u32, mut sampler: Option<&mut Sampler>) -> BoardUpdate {
        let mut update = BoardUpdate { duplicate: duplicate(ack), ..BoardUpdate::default() };
        let skip = usize::from(update.duplicate.is_some());
        let newest = Newest { sent: Time::ZERO, retransmitted: true };
        let mut context = AckContext { now, echo: ack.echo, recover, newest };
        while self.base != ack.next {
            let Some(slot) = self.slots.pop_front() else { break };
            let seq = self.base;
            self.base = seq.wrapping_add(1);
            update.spans.acked(slot);
            if slot.has(SACKED) {
                self.sacked -= 1;
                self.above -= u32::from(!before(seq, self.edge));
            } else {
                self.deliver(slot, seq, &mut context, &mut update, &mut sampler);
            }
        }
        for pointer in [&mut self.hint, &mut self.highest, &mut self.edge, &mut self.high_rxt] {
            *pointer = later(*pointer, self.base);
        }
        let cumulative = self.rack.as_mut().and_then(|rack| rack.last.take());
        // In ascending order (RFC 8985 section 6.2): a lower block after a higher one would look like reordering.
        let mut blocks = ack.sack;
        let blocks = &mut blocks[skip..];
        let base = self.base;
        blocks.sort_unstable_by_key(|block| block.start.wrapping_sub(base));
        if self.rack.as_ref().is_some_and(|rack| rack.as_linux) {
            // Linux compares timestamps only of segments that are acknowledged cumulatively (`tcp_sacktag_one`).
            context.echo = Time::NEVER;
        }
        for block in blocks.iter().filter(|block| block.start != block.end) {
            self.sack_block(*block, &mut context, &mut update, &mut sampler);
        }
        if let Some(rack) = &mut self.rack {
            rack.end_acknowledgement(cumulative);
        }
        if skip < ack.sack.len() && ack.has_sack() {
            self.seen = ack.sack;
            self.seen[..skip].fill(Block::default());
        }
        update.newest = (update.delivered > 0 && !context.newest.retransmitted).then_some(context.newest.sent);
        update
    }

    /// Processes a block of an acknowledgement. Segments in a block of the last acknowledgement are skipped, since they
    /// are marked already.
    fn sack_block(
        &mut self,
        block: Block,
        context: &mut AckContext,
        update: &mut BoardUpdate,
        sampler: &mut Option<&mut Sampler>,
    ) {
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
                update.selective = true;
                self.deliver(slot, seq, context, update, sampler);
                self.highest = later(self.highest, seq.wrapping_add(1));
                update.spans.sacked(slot, seq);
            }
            seq = seq.wrapping_add(1);
        }
    }

    /// Processes the first delivery of segment `seq`, whose state was `slot`.
    fn deliver(
        &mut self,
        slot: Slot,
        seq: u32,
        context: &mut AckContext,
        update: &mut BoardUpdate,
        sampler: &mut Option<&mut Sampler>,
    ) {
        update.delivered += 1;
        self.lost -= u32::from(slot.has(LOST));
        self.due -= u32::from(slot.due());
        self.retransmitted -= u32::from(slot.has(RETRANSMITTED));
        if before(seq, context.recover) {
            update.original |= !slot.has(EVER_RETRANSMITTED);
        } else {
            update.beyond = true;
        }
        if slot.sent >= context.newest.sent {
            context.newest = Newest { sent: slot.sent, retransmitted: slot.has(EVER_RETRANSMITTED) };
        }
        if let Some(rack) = &mut self.rack {
            rack.delivered(seq, slot.sent, slot.has(EVER_RETRANSMITTED), context.now, context.echo);
        }
        if let Some(sampler) = sampler {
            sampler.delivered(seq, context.now);
        }
    }

    /// Returns `true` if the acknowledgement has a block that is not within a block of `last_blocks`; in that case its
    /// blocks replace `last_blocks`. The report of a duplicate does not count as a block.
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

    /// Resets the state of a recovery, at its start.
    pub fn begin(&mut self) {
        self.high_rxt = self.base;
        self.rescued = false;
        self.rescuing = false;
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

    /// Returns the first hole below the highest SACKed segment that has not been retransmitted in this recovery;
    /// `None`: there is none.
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

    /// Returns the first segment that has SACKed segments above it and has not been retransmitted (NextSeg rule 3) or,
    /// once per recovery, the last segment that is not SACKed (rule 4). `None`: there is no such segment.
    pub fn next_doubtful(&mut self) -> Option<u32> {
        if let Some(hole) = self.next_hole() {
            return Some(hole);
        }
        if self.rescued {
            return None;
        }
        let last = self.slots.iter().rposition(|slot| !slot.has(SACKED))?;
        self.rescued = true;
        self.rescuing = true;
        Some(self.base.wrapping_add(last as u32))
    }

    /// Checks that the counts match the flags of the slots.
    ///
    /// # Panics
    /// If a count differs.
    pub fn audit(&self) {
        let count = |f: &dyn Fn(&Slot) -> bool| self.slots.iter().filter(|slot| f(slot)).count() as u32;
        assert_eq!(self.sacked, count(&|s| s.has(SACKED)), "sacked");
        assert_eq!(self.lost, count(&|s| s.has(LOST)), "lost");
        assert_eq!(self.retransmitted, count(&|s| s.has(RETRANSMITTED)), "retransmitted");
        assert_eq!(self.due, count(&|s| s.due()), "due");
    }
}

/// Latest transmission among the delivered segments.
struct Newest {
    /// Time of the transmission.
    sent: Time,
    /// `true` if the segment was ever retransmitted.
    retransmitted: bool,
}

/// Context of the acknowledgement being processed, and the newest delivery found so far.
struct AckContext {
    /// Arrival of the acknowledgement.
    now: Time,
    /// Echoed timestamp of the acknowledgement; [`Time::NEVER`] without timestamps.
    echo: Time,
    /// Recovery point.
    recover: u32,
    newest: Newest,
}

/// Returns the first block if it reports a duplicate (RFC 2883 section 4); `None`: it does not.
fn duplicate(ack: &Ack) -> Option<Block> {
    let [first, second, _] = ack.sack;
    if first.start == first.end {
        return None;
    }
    let below = !before(ack.next, first.end);
    let inside = second.start != second.end && !before(first.start, second.start) && !before(second.end, first.end);
    (below || inside).then_some(first)
}
