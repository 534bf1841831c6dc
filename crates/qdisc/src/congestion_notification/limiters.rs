//! The queues of a reaction point: rate limiters, a default path, and round robin between them.

use super::aqm::Verdict;
use super::filter::hashed;
use super::rp::{self, React, Reaction};
use super::{Aqm, Feedback, Filter, Frame, Origin, Origins, Tag};
use crate::retune::fixed;
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Discipline, Gate, Packet, Qdisc, Reason, Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Parameters of a reaction point.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitersSpec {
    /// Fields that all frames of one limiter have in common: its key.
    pub filter: Filter,
    /// Number of hash buckets to which keys are assigned, one limiter each. `None`: one limiter per key.
    pub queues: Option<u32>,
    /// The law of each limiter's rate.
    pub law: rp::Spec,
    /// Queue management in front of each limiter's queue. `None`: no queue management.
    pub aqm: Option<Aqm>,
    /// Discipline of each limiter's queue.
    pub discipline: Spec,
    /// Size of the memory that the queues of all limiters share, buffer bytes; `u64::MAX`: unbounded.
    pub buffer: u64,
    /// Owner of that memory.
    pub memory: Memory,
    /// Bytes that a tag adds to a frame.
    pub tag_bytes: u16,
}

/// Owner of a reaction point's buffer memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Only the limiters use it; the default path has the port's own buffer.
    #[default]
    Own,
    /// The limiters and the default path share it, so that limited frames can take the memory of all others. The
    /// limits of the port hold for the default path in addition.
    Shared,
}

/// Counters of a reaction point since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of limiters set up.
    pub created: u64,
    /// Number of limiters removed because they no longer limited.
    pub removed: u64,
    /// Numbers of messages obeyed, in this order: stops, decreases, increases.
    pub obeyed: [u64; 3],
    /// Number of messages ignored: increases from another congestion point or without a limiter, messages during a
    /// stop, and messages that the law does not have (QCN: stops and increases).
    pub ignored: u64,
    /// Number of TCP frames that arrived while more TCP frames than the threshold of [`Aqm`] were waiting.
    pub tcp_above: u64,
    /// Number of the frames in `tcp_above` that were marked or dropped.
    pub tcp_signalled: u64,
    /// Number of UDP frames that were dropped because more UDP frames than the threshold were waiting.
    pub udp_refused: u64,
    /// Maximum number of UDP frames in one limiter's queue.
    pub most_udp: u64,
    /// Maximum of the buffer bytes in all limiters' queues together.
    pub most_bytes: u64,
    /// Time integral of the buffer bytes in all limiters' queues, byte · picosecond.
    pub area: u128,
    /// Time integral of the number of limiters, limiter · picosecond.
    pub active_area: u128,
}

/// The effect of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A limiter has been set up, or its rate has changed.
    Obeyed,
    /// The message has no effect.
    Ignored,
}

/// A reaction point: a default path with the port's limits, and rate limiters with a memory of their own or one shared
/// with the default path.
#[derive(Debug)]
pub struct Limiters {
    spec: LimitersSpec,
    /// Limits and link rate of the port.
    site: Site,
    origins: Origins,
    rng: Rng,
    default: Discipline,
    /// Number of frames accepted by the default path.
    entered: u64,
    slots: Vec<Slot>,
    /// Index in `slots` of each key.
    index: BTreeMap<u64, usize>,
    /// Indices of the slots with a limiter, in the order of their turns.
    active: Vec<usize>,
    /// Queue whose turn it is: 0 for the default path, k for the k-th entry of `active`, counted from 1.
    turn: usize,
    /// Number of packets in all queues.
    packets: u64,
    /// Buffer bytes in the limiters' queues.
    limited: u64,
    /// Buffer bytes in the default path's queue.
    unlimited: u64,
    /// Time at which the next limiter may send, while the link idles although packets wait. `None`: the
    /// link does not wait for a limiter.
    idle_until: Option<Time>,
    counters: Counters,
    /// Time up to which the integrals in `counters` are computed.
    touched: Time,
}

/// State of the limiter of a key.
#[derive(Debug)]
struct Slot {
    key: u64,
    /// `None`: the key has no limiter at present.
    law: Option<Reaction>,
    queue: Discipline,
    /// Earliest time at which the limiter may send the next frame.
    next: Time,
    /// Number of frames that must have left the default path before the limiter sends, so that
    /// frames queued before the limiter was set up are sent first.
    after: u64,
    /// Number of TCP frames in the queue.
    tcp: u64,
    /// Number of other frames in the queue.
    udp: u64,
}

impl Slot {
    /// Adapts the queue's rate and the time of the next frame if the law's rate differs from `before`.
    fn paced(&mut self, now: Time, before: f64) {
        let after = self.law.as_ref().map_or(before, React::rate);
        if after != before {
            // The remaining wait is scaled to the new rate.
            self.next = now + Dur((self.next.since(now).0 as f64 * (before / after)) as u64);
            self.queue.set_rate(Rate(after as u64));
        }
    }
    /// Returns the counter of the TCP frames in the queue, or, if `tcp` is `false`, of the others.
    fn counter(&mut self, tcp: bool) -> &mut u64 {
        if tcp { &mut self.tcp } else { &mut self.udp }
    }
}

impl Limiters {
    /// Returns a reaction point without limiters. `default` is the discipline of the default path; `rng` is a
    /// random stream that only the reaction point uses.
    pub fn new(spec: LimitersSpec, default: &Spec, site: &Site, origins: Origins, rng: Rng) -> Limiters {
        Limiters {
            default: default.build(site),
            spec,
            site: *site,
            origins,
            rng,
            entered: 0,
            slots: Vec::new(),
            index: BTreeMap::new(),
            active: Vec::new(),
            turn: 0,
            packets: 0,
            limited: 0,
            unlimited: 0,
            idle_until: None,
            counters: Counters::default(),
            touched: Time::ZERO,
        }
    }

    /// Returns the counters since the last [`Limiters::reset`].
    pub fn counters(&mut self, now: Time) -> Counters {
        self.settle(now);
        self.counters
    }
    /// Resets the counters; the maximum of bytes starts at the present value.
    pub fn reset(&mut self, now: Time) {
        self.settle(now);
        self.counters = Counters { most_bytes: self.limited, ..Counters::default() };
    }
    /// Returns the number of active limiters.
    pub fn active(&self) -> usize {
        self.active.len()
    }
    /// Returns the buffer bytes in the limiters' queues.
    #[inline]
    pub fn limited_bytes(&self) -> u64 {
        self.limited
    }
    /// Returns the buffer bytes in the memory that [`LimitersSpec::buffer`] bounds. By them the switch decides about
    /// back-pressure.
    #[inline]
    pub fn pool_bytes(&self) -> u64 {
        self.limited + if self.spec.memory == Memory::Shared { self.unlimited } else { 0 }
    }
    /// Returns `true` if the memory has room for a packet of `size` buffer bytes.
    fn has_room(&self, size: u64) -> bool {
        self.pool_bytes() + size <= self.spec.buffer
    }
    /// Adds the length of a tag to a packet about to be queued if the packet will get a tag and has none yet.
    pub fn lengthen(&mut self, now: Time, packet: &mut Packet) {
        if self.spec.tag_bytes > 0 && packet.tag().is_none() && self.limiter_of(now, packet).is_some() {
            packet.grow(self.spec.tag_bytes);
        }
    }
    /// Returns the slot of the limiter of a packet about to be queued. `None`: the packet has no
    /// limiter at `now`.
    fn limiter_of(&mut self, now: Time, packet: &Packet) -> Option<usize> {
        if self.active.is_empty() {
            return None;
        }
        let at = self.index.get(&self.key(Frame::of(packet))).copied()?;
        if let Some(law) = &mut self.slots[at].law {
            law.advance(now, &mut self.rng);
        }
        self.retire(at);
        self.slots[at].law.is_some().then_some(at)
    }
    /// Returns the parameters.
    pub fn spec(&self) -> &LimitersSpec {
        &self.spec
    }
    /// Returns the rate of the link, bit/s.
    pub fn line(&self) -> f64 {
        self.site.rate.0 as f64
    }
    /// Returns the keys and rates in bit/s of all limiters so far, in the order in which their keys first had a
    /// limiter; for a removed limiter the rate of the link.
    pub fn rates(&self) -> impl Iterator<Item = (u64, f64)> {
        self.slots.iter().map(|slot| (slot.key, slot.law.as_ref().map_or(self.line(), React::rate)))
    }

    /// Replaces the parameters of the limiters by `spec`, those of the default path's discipline by `default`, and the
    /// site; keeps limiters, queues and counters, and moves rates into their new bounds. [`LimitersSpec::check_retune`]
    /// and [`Spec::check_retune`] must have accepted the parameters. The rules are those of [`Discipline::retune`].
    pub fn retune(&mut self, now: Time, spec: &LimitersSpec, default: &Spec, site: &Site) {
        self.settle(now);
        self.default.retune(now, default, site);
        let inner = Site { bytes: spec.buffer, packets: u64::MAX, rate: site.rate };
        // Retuning a queue sets its rate to that of the link, so it is done only if necessary, and the rate of the
        // limiter is set again afterwards.
        let requeued =
            (&self.spec.discipline, self.spec.buffer, self.site.rate) != (&spec.discipline, spec.buffer, site.rate);
        let mut paced = false;
        for slot in &mut self.slots {
            if requeued {
                slot.queue.retune(now, &spec.discipline, &inner);
            }
            if let Some(law) = &mut slot.law {
                let before = law.rate();
                law.retune(now, &spec.law, site.rate);
                if requeued {
                    slot.queue.set_rate(Rate(law.rate() as u64));
                }
                paced |= law.rate() != before;
                slot.paced(now, before);
            }
        }
        if paced && self.idle_until.is_some() {
            self.idle_until = Some(now);
        }
        (self.spec, self.site) = (spec.clone(), *site);
    }

    /// Processes a message of congestion point `point`, 1 to [`Tag::MAX_POINTS`], about `frame`. Sets up a limiter if
    /// the frame's key has none and the message is not an increase.
    pub fn hear(&mut self, now: Time, frame: Frame, point: u16, feedback: Feedback) -> Heard {
        self.settle(now);
        let key = self.key(frame);
        let at = match self.index.get(&key) {
            Some(at) if self.slots[*at].law.is_some() => *at,
            _ if matches!(feedback, Feedback::Change(amount) if amount > 0.0) => {
                self.counters.ignored += 1;
                return Heard::Ignored;
            }
            _ => self.limit(now, key),
        };
        let slot = &mut self.slots[at];
        let Some(law) = &mut slot.law else { unreachable!("the slot has a limiter") };
        let before = law.rate();
        let obeyed = law.hear(now, point, feedback, &mut self.rng);
        slot.paced(now, before);
        self.retire(at);
        if !obeyed {
            self.counters.ignored += 1;
            return Heard::Ignored;
        }
        self.counters.obeyed[match feedback {
            Feedback::Stop => 0,
            Feedback::Change(amount) if amount < 0.0 => 1,
            Feedback::Change(_) => 2,
        }] += 1;
        Heard::Obeyed
    }

    /// Returns the origin of the packets of a flow.
    fn origin(&self, flow: u32) -> Origin {
        self.origins.get(flow as usize).copied().unwrap_or_default()
    }
    /// Returns the key of a frame's limiter, or the hash bucket of the key.
    fn key(&self, frame: Frame) -> u64 {
        let key = self.spec.filter.key(frame, self.origin(frame.flow));
        self.spec.queues.map_or(key, |queues| hashed(key, queues))
    }

    /// Sets up a limiter for a key without one, and returns its slot.
    fn limit(&mut self, now: Time, key: u64) -> usize {
        let (slots, spec) = (&mut self.slots, &self.spec);
        let site = Site { bytes: spec.buffer, packets: u64::MAX, rate: self.site.rate };
        let at = *self.index.entry(key).or_insert_with(|| {
            slots.push(Slot {
                key,
                law: None,
                queue: spec.discipline.build(&site),
                next: Time::ZERO,
                after: 0,
                tcp: 0,
                udp: 0,
            });
            slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.law = Some(self.spec.law.build(self.site.rate, now));
        slot.next = now;
        slot.after = self.entered;
        self.active.push(at);
        self.counters.created += 1;
        at
    }

    /// Removes the limiter of slot `at` if its rate is that of the link and its queue is empty.
    fn retire(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if slot.queue.packets() > 0 || !slot.law.as_ref().is_some_and(React::is_over) {
            return;
        }
        slot.law = None;
        self.counters.removed += 1;
        if let Some(place) = self.active.iter().position(|a| *a == at) {
            self.active.remove(place);
            // The queue whose turn it is keeps its turn.
            if self.turn > place + 1 {
                self.turn -= 1;
            }
        }
    }

    /// Updates the integrals to `now`.
    fn settle(&mut self, now: Time) {
        let elapsed = u128::from(now.since(self.touched).0);
        self.counters.area += u128::from(self.limited) * elapsed;
        self.counters.active_area += self.active.len() as u128 * elapsed;
        self.touched = now;
    }

    /// Subtracts the packets that an inner discipline has dropped, `cx.dropped[before..]`, from the counts. `slot` is
    /// the slot of the discipline; `None`: the default path.
    fn forget(&mut self, before: usize, slot: Option<usize>, cx: &Cx<'_>) {
        for dropped in &cx.dropped[before..] {
            let (size, tcp) = (u64::from(dropped.packet.size), self.origin(dropped.packet.flow()).tcp);
            self.packets -= 1;
            match slot {
                Some(at) => {
                    self.limited -= size;
                    *self.slots[at].counter(tcp) -= 1;
                }
                None => self.unlimited -= size,
            }
        }
    }

    /// Queues a packet at a limiter, unless the queue management drops it.
    fn enqueue_limited(&mut self, now: Time, at: usize, mut packet: Packet, cx: &mut Cx<'_>) {
        let (size, tcp) = (u64::from(packet.size), self.origin(packet.flow()).tcp);
        if !self.has_room(size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        if let Some(Aqm::Simple(aqm)) = &self.spec.aqm {
            let waiting = *self.slots[at].counter(tcp);
            let above = waiting > aqm.threshold;
            self.counters.tcp_above += u64::from(above && tcp);
            match aqm.judge(tcp, waiting, cx.rng) {
                Verdict::Pass => {}
                Verdict::Signal => {
                    self.counters.tcp_signalled += 1;
                    let Some(marked) = cx.signal(packet, aqm.ecn, Reason::Early) else { return };
                    packet = marked;
                }
                Verdict::Refuse => {
                    self.counters.udp_refused += 1;
                    return cx.drop(packet, Reason::Unresponsive);
                }
            }
        }
        let before = cx.dropped.len();
        let slot = &mut self.slots[at];
        *slot.counter(tcp) += 1;
        self.packets += 1;
        self.limited += size;
        slot.queue.enqueue(now, packet, cx);
        self.forget(before, Some(at), cx);
        self.counters.most_udp = self.counters.most_udp.max(self.slots[at].udp);
        self.counters.most_bytes = self.counters.most_bytes.max(self.limited);
    }

    /// Returns the earliest time at which the limiter of slot `at` may send. `None`: its queue is empty, or packets
    /// that arrived before the limiter was set up are still in the default path.
    fn due(&mut self, now: Time, at: usize) -> Option<Time> {
        let departed = self.entered - self.default.packets();
        let slot = &mut self.slots[at];
        if slot.queue.packets() == 0 || departed < slot.after {
            return None;
        }
        let law = slot.law.as_mut()?;
        law.advance(now, &mut self.rng);
        Some(slot.next.max(law.stopped_until()))
    }

    /// Removes and returns the next packet of the default path. `None`: no packet may leave.
    fn dequeue_default(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        let before = cx.dropped.len();
        let taken = self.default.dequeue(now, gate, cx);
        self.forget(before, None, cx);
        if let Some(packet) = &taken {
            self.packets -= 1;
            self.unlimited -= u64::from(packet.size);
        }
        taken
    }

    /// Removes and returns the next packet of a limiter that may send, with a tag. `None`: no packet may leave.
    fn dequeue_limited(&mut self, now: Time, at: usize, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        let before = cx.dropped.len();
        let taken = self.slots[at].queue.dequeue(now, gate, cx);
        self.forget(before, Some(at), cx);
        let mut packet = taken?;
        let (size, tcp) = (u64::from(packet.size), self.origin(packet.flow()).tcp);
        self.packets -= 1;
        self.limited -= size;
        let slot = &mut self.slots[at];
        *slot.counter(tcp) -= 1;
        if let Some(law) = &mut slot.law {
            packet.set_tag(Tag { point: law.point(), solicit: law.solicits() });
            // A limiter that had to wait for the link catches up by at most the time of one frame.
            let gap = Dur((f64::from(packet.wire()) * 8e12 / law.rate()) as u64);
            slot.next = slot.next.max(Time(now.0.saturating_sub(gap.0))) + gap;
            law.sent(now, packet.wire(), &mut self.rng);
        }
        self.retire(at);
        Some(packet)
    }
}

impl Qdisc for Limiters {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.settle(now);
        if let Some(at) = self.limiter_of(now, &packet) {
            return self.enqueue_limited(now, at, packet, cx);
        }
        let size = u64::from(packet.size);
        if self.spec.memory == Memory::Shared && !self.has_room(size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        self.packets += 1;
        self.unlimited += size;
        self.entered += 1;
        let before = cx.dropped.len();
        self.default.enqueue(now, packet, cx);
        self.forget(before, None, cx);
    }

    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.settle(now);
        let (first, queues) = (self.turn, self.active.len() + 1);
        let mut idle_until: Option<Time> = None;
        for turn in (0..queues).map(|k| (first + k) % queues) {
            self.turn = turn;
            let taken = match turn.checked_sub(1).map(|k| self.active[k]) {
                None => self.dequeue_default(now, gate, cx),
                Some(at) => match self.due(now, at) {
                    Some(due) if due <= now => self.dequeue_limited(now, at, gate, cx),
                    Some(due) => {
                        idle_until = Some(idle_until.map_or(due, |at| at.min(due)));
                        None
                    }
                    None => None,
                },
            };
            if taken.is_some() {
                // If this frame has ended a limiter, the limiters behind it have moved up by one.
                let ended = self.active.len() + 1 < queues;
                self.turn = (turn + usize::from(!ended)) % (self.active.len() + 1);
                self.idle_until = None;
                return taken;
            }
        }
        self.turn = first;
        self.idle_until = idle_until;
        None
    }

    fn packets(&self) -> u64 {
        self.packets
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.default.visit(f);
        self.slots.iter().for_each(|slot| slot.queue.visit(f));
    }
    fn next_wakeup(&self) -> Option<Time> {
        let inner = self.slots.iter().map(|slot| &slot.queue).chain([&self.default]).filter_map(Qdisc::next_wakeup);
        inner.chain(self.idle_until).min()
    }
    fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        for at in (0..self.slots.len()).map(Some).chain([None]) {
            let before = cx.dropped.len();
            let queue = at.map_or(&mut self.default, |at| &mut self.slots[at].queue);
            if queue.next_wakeup().is_some_and(|at| at <= now) {
                queue.wake(now, cx);
                self.forget(before, at, cx);
            }
        }
        // An expired time is removed, since the port dequeues next.
        self.idle_until = self.idle_until.filter(|at| *at > now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.site.rate = rate;
        self.default.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("limiters", self.active.len() as f64);
        f("limited_bytes", self.limited as f64);
        self.default.probe(f);
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        self.default.each_user(f);
    }
    fn state_bytes(&self) -> usize {
        // A law is counted with its parameters, which are the smaller part of a limiter's state.
        let slot = |slot: &Slot| slot.queue.state_bytes() + bytes_of!(slot; key, law, next, after, tcp, udp);
        let slots: usize = self.slots.iter().map(slot).sum();
        let tables = (2 * self.index.len() + self.active.len()) * INDEX;
        let own = bytes_of!(self; entered, packets, limited, unlimited, idle_until, touched) + INDEX;
        self.default.state_bytes() + slots + tables + own
    }
}

impl LimitersSpec {
    /// Reason why `filter` and `queues` are fixed during a run.
    pub const KEY_FIXED: &'static str = "frames wait in the limiters that it selects";
    /// Reason why `memory` is fixed during a run.
    pub const MEMORY_FIXED: &'static str = "it decides which frames the switch counts for back-pressure";
    /// Reason why `tag_bytes` is fixed during a run.
    pub const TAG_FIXED: &'static str = "waiting frames have this length";

    /// Refuses parameters `to` that a reaction point of `self` cannot take while it runs. `self` and `to` must have
    /// passed their checks.
    ///
    /// # Errors
    /// If a fixed parameter differs: the error names it and says why it is fixed.
    pub fn check_retune(&self, to: &LimitersSpec) -> Result<(), Invalid> {
        fixed("filter", self.filter, to.filter, Self::KEY_FIXED)?;
        fixed("queues", self.queues, to.queues, Self::KEY_FIXED)?;
        fixed("memory", self.memory, to.memory, Self::MEMORY_FIXED)?;
        fixed("tag-bytes", self.tag_bytes, to.tag_bytes, Self::TAG_FIXED)?;
        self.law.check_retune(&to.law).map_err(|e| e.within("law"))?;
        self.discipline.check_retune(&to.discipline).map_err(|e| e.within("discipline"))
    }
    /// Returns the name of the limiter of `key` in time series; `host` returns the name of a host by its index.
    pub fn label(&self, key: u64, host: impl Fn(u16) -> String) -> String {
        match (self.queues, self.filter) {
            (Some(_), _) => format!("queue {key}"),
            (None, Filter::Destination) => host(key as u16),
            (None, Filter::Pair) => format!("{}->{}", host((key >> 16) as u16), host(key as u16)),
            (None, Filter::Flow) => format!("flow {key}"),
        }
    }
}
