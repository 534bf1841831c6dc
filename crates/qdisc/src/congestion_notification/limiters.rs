//! The queues of a reaction point: rate limiters, a default path, and round robin between them.

use super::aqm::Verdict;
use super::filter::hashed;
use super::rp::{self, React, Reaction};
use super::{Aqm, Feedback, Filter, Frame, Origin, Origins, Tag};
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Discipline, Gate, Packet, Qdisc, Reason, Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Parameters of a reaction point.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitersSpec {
    /// Fields that frames of one limiter have in common.
    pub filter: Filter,
    /// Number of hash buckets; `None`: one limiter per key.
    pub queues: Option<u32>,
    /// The law of each limiter's rate.
    pub law: rp::Spec,
    /// Queue management before each limiter's queue, if any.
    pub aqm: Option<Aqm>,
    /// The queue of each limiter.
    pub discipline: Spec,
    /// Memory that all limiters' queues share, buffer bytes; `u64::MAX` is unbounded.
    pub buffer: u64,
    /// Owner of that memory.
    pub memory: Memory,
    /// Bytes that a frame's tag adds to it.
    pub tag_bytes: u16,
}

/// Owner of a reaction point's buffer memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The limiters': the default path has the port's own buffer.
    #[default]
    Own,
    /// That of the limiters and the default path together, so that limited frames can take the room of all others. The
    /// port's own limits hold for the default path besides.
    Shared,
}

/// Counters of a reaction point since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Limiters set up.
    pub created: u64,
    /// Limiters that were done with.
    pub removed: u64,
    /// Messages obeyed: to stop, to slow down, to speed up.
    pub obeyed: [u64; 3],
    /// Messages ignored: to speed up from another congestion point or for no limiter, or during a stop.
    pub ignored: u64,
    /// Frames of TCP that arrived while more than the threshold were waiting, and of these the ones
    /// that were marked or dropped.
    pub tcp_above: u64,
    /// See `tcp_above`.
    pub tcp_signalled: u64,
    /// Frames of UDP that arrived while more than the threshold were waiting: all were dropped.
    pub udp_refused: u64,
    /// Most frames of UDP in one limiter's queue.
    pub most_udp: u64,
    /// Most buffer bytes in all limiters' queues.
    pub most_bytes: u64,
    /// Integral over time of the buffer bytes in the limiters' queues, byte · picosecond.
    pub area: u128,
    /// Integral of the number of limiters, limiter · picosecond.
    pub active_area: u128,
}

/// The effect of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A limiter has been set up or its rate changed.
    Obeyed,
    /// The message has no effect.
    Ignored,
}

/// A reaction point: a default path with the port's limits, and rate limiters with a pool of memory of their own or with one
/// that the default path shares.
#[derive(Debug)]
pub struct Limiters {
    spec: LimitersSpec,
    /// The port's.
    site: Site,
    origins: Origins,
    rng: Rng,
    default: Discipline,
    /// Frames that the default path has taken.
    entered: u64,
    slots: Vec<Slot>,
    /// By key its slot.
    index: BTreeMap<u64, usize>,
    /// Slots with a limiter, in the order of their turns.
    active: Vec<usize>,
    /// Queue whose turn it is: 0 the default path, k the k-th active slot.
    turn: usize,
    /// Packets in all queues, and buffer bytes in those of limiters.
    packets: u64,
    limited: u64,
    /// Buffer bytes in the default path's queue.
    unlimited: u64,
    /// While the line idles although something waits: when the next limiter may send.
    idle_until: Option<Time>,
    counters: Counters,
    touched: Time,
}

/// A key's limiter, or its place between two.
#[derive(Debug)]
struct Slot {
    key: u64,
    law: Option<Reaction>,
    queue: Discipline,
    /// When the next frame may go.
    next: Time,
    /// Frames that must have left the default path before: what came before the limiter goes first.
    after: u64,
    /// Frames of TCP and of others in the queue.
    tcp: u64,
    udp: u64,
}

impl Slot {
    fn counter(&mut self, tcp: bool) -> &mut u64 {
        if tcp { &mut self.tcp } else { &mut self.udp }
    }
}

impl Limiters {
    /// A reaction point without limiters. `default` is the discipline of the default path, `rng` its own stream.
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
    /// Starts counting anew.
    pub fn reset(&mut self, now: Time) {
        self.settle(now);
        self.counters = Counters { most_bytes: self.limited, ..Counters::default() };
    }
    /// Limiters at work.
    pub fn active(&self) -> usize {
        self.active.len()
    }
    /// Buffer bytes in the limiters' queues.
    #[inline]
    pub fn limited_bytes(&self) -> u64 {
        self.limited
    }
    /// Buffer bytes in the memory that `buffer` bounds: what back-pressure of the switch watches.
    #[inline]
    pub fn pool_bytes(&self) -> u64 {
        self.limited + if self.spec.memory == Memory::Shared { self.unlimited } else { 0 }
    }
    fn has_room(&self, size: u64) -> bool {
        self.pool_bytes() + size <= self.spec.buffer
    }
    /// Adds the length of a tag to a packet that is about to be queued, if it will get a tag and has no tag yet.
    pub fn lengthen(&mut self, now: Time, packet: &mut Packet) {
        if self.spec.tag_bytes > 0 && packet.tag().is_none() && self.limiter_of(now, packet).is_some() {
            packet.grow(self.spec.tag_bytes);
        }
    }
    /// The limiter of a packet that is about to be queued, if it has one by then.
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
    /// Rate of the line, bit/s.
    pub fn line(&self) -> f64 {
        self.site.rate.0 as f64
    }
    /// Keys and rates in bit/s of all limiters that there have been; one that is over has the line's.
    pub fn rates(&self) -> impl Iterator<Item = (u64, f64)> {
        self.slots.iter().map(|slot| (slot.key, slot.law.as_ref().map_or(self.line(), React::rate)))
    }

    /// A message of congestion point `point` about a frame.
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
        let Some(law) = &mut slot.law else { unreachable!("it has just been given one") };
        let before = law.rate();
        let obeyed = law.hear(now, point, feedback, &mut self.rng);
        let after = law.rate();
        if after != before {
            // What is still to be waited for passes at the new rate.
            slot.next = now + Dur((slot.next.since(now).0 as f64 * (before / after)) as u64);
            slot.queue.set_rate(Rate(after as u64));
        }
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

    fn origin(&self, flow: u32) -> Origin {
        self.origins.get(flow as usize).copied().unwrap_or_default()
    }
    fn key(&self, frame: Frame) -> u64 {
        let key = self.spec.filter.key(frame, self.origin(frame.flow));
        self.spec.queues.map_or(key, |queues| hashed(key, queues))
    }

    /// Sets up a limiter for a key without one.
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

    /// Removes a limiter that limits nothing and holds nothing.
    fn retire(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if slot.queue.packets() > 0 || !slot.law.as_ref().is_some_and(React::is_over) {
            return;
        }
        slot.law = None;
        self.counters.removed += 1;
        if let Some(place) = self.active.iter().position(|a| *a == at) {
            self.active.remove(place);
            // Whose turn it is stays so.
            if self.turn > place + 1 {
                self.turn -= 1;
            }
        }
    }

    /// Brings the integrals up to `now`.
    fn settle(&mut self, now: Time) {
        let past = u128::from(now.since(self.touched).0);
        self.counters.area += u128::from(self.limited) * past;
        self.counters.active_area += self.active.len() as u128 * past;
        self.touched = now;
    }

    /// Subtracts the drops of inner disciplines from the accounts, from index `before` of the list on; `from` is their slot.
    /// `None`: the default path.
    fn forget(&mut self, before: usize, from: Option<usize>, cx: &Cx<'_>) {
        for dropped in &cx.dropped[before..] {
            let (size, tcp) = (u64::from(dropped.packet.size), self.origin(dropped.packet.flow()).tcp);
            self.packets -= 1;
            match from {
                Some(at) => {
                    self.limited -= size;
                    *self.slots[at].counter(tcp) -= 1;
                }
                None => self.unlimited -= size,
            }
        }
    }

    /// Queues a packet at a limiter, unless its queue management is against it.
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

    /// When the k-th limiter may send, if it has something to send.
    fn due(&mut self, now: Time, at: usize) -> Option<Time> {
        let left = self.entered - self.default.packets();
        let slot = &mut self.slots[at];
        if slot.queue.packets() == 0 || left < slot.after {
            return None;
        }
        let law = slot.law.as_mut()?;
        law.advance(now, &mut self.rng);
        Some(slot.next.max(law.stopped_until()))
    }

    /// The next packet of the default path.
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

    /// The next packet of a limiter that may send.
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
            // A frame that has waited for the line is made up for, by one frame's time at most.
            let apart = Dur((f64::from(packet.wire()) * 8e12 / law.rate()) as u64);
            slot.next = slot.next.max(Time(now.0.saturating_sub(apart.0))) + apart;
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
                // A limiter that ends with this frame has moved those behind it up.
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
        // The port dequeues next.
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
    fn state_bytes(&self) -> usize {
        // A law is counted with its parameters: what a limiter has of its own is more than those.
        let slot = |slot: &Slot| slot.queue.state_bytes() + bytes_of!(slot; key, law, next, after, tcp, udp);
        let slots: usize = self.slots.iter().map(slot).sum();
        let tables = (2 * self.index.len() + self.active.len()) * INDEX;
        let own = bytes_of!(self; entered, packets, limited, unlimited, idle_until, touched) + INDEX;
        self.default.state_bytes() + slots + tables + own
    }
}

impl LimitersSpec {
    /// The name of the limiter of `key`, given a host's name: what time series call it.
    pub fn label(&self, key: u64, host: impl Fn(u16) -> String) -> String {
        match (self.queues, self.filter) {
            (Some(_), _) => format!("queue {key}"),
            (None, Filter::Destination) => host(key as u16),
            (None, Filter::Pair) => format!("{}->{}", host((key >> 16) as u16), host(key as u16)),
            (None, Filter::Flow) => format!("flow {key}"),
        }
    }
}
