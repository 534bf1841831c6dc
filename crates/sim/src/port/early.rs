//! Queues whose packets go onto the line when they are enqueued, their departure being known: one event per hop.
//!
//! The packets that wait are the last ones on the line. Nobody is told when one's transmission begins; whoever
//! wants to know how many wait looks at the line ([`Port::expire`]).

use super::{General, Port, Queue};
use crate::hints::unlikely;
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Admission, Fate, Packet, Rule, Watch};
use tailback_random::Rng;
use tailback_units::{Dur, Time, TxClock};

/// What a rule has to be told late.
#[derive(Debug)]
pub(crate) struct PendingIdle {
    /// What the rule watches for.
    watch: Watch,
    /// When that begins, if nothing arrives before.
    idle_from: Time,
}

/// One class that nothing can stop, into which a rule lets packets.
#[derive(Debug)]
pub(crate) struct AdmissionQueue {
    pub(super) idle: PendingIdle,
    pub rule: Rule,
    rng: Rng,
}

impl PendingIdle {
    /// For a rule that watches for so much.
    pub fn new(watch: Watch) -> PendingIdle {
        PendingIdle { watch, idle_from: Time::NEVER }
    }

    /// Tells the rule that what it watches for has begun, if it has by `now`.
    #[inline]
    fn report_idle(&mut self, now: Time, rule: &mut impl Admission) {
        if self.idle_from <= now {
            rule.idle(self.idle_from);
            self.idle_from = Time::NEVER;
        }
    }

    /// Asks the rule about a packet that finds `queue` waiting at a port whose transmitter falls (or fell) free at
    /// `free`.
    #[inline]
    fn admit(
        &mut self,
        now: Time,
        free: Time,
        packet: &Packet,
        queue: Backlog,
        rule: &mut impl Admission,
        rng: &mut Rng,
    ) -> Fate {
        self.report_idle(now, rule);
        let fate = rule.admit(now, packet, queue, rng);
        let joins = !matches!(fate, Fate::Dropped(_));
        match self.watch {
            Watch::Empty if joins => self.idle_from = free.max(now),
            // The end of its transmission, which is about to be known.
            Watch::Idle if joins => self.idle_from = Time::NEVER,
            Watch::Idle if free <= now => self.idle_from = now,
            _ => {}
        }
        fate
    }
}

impl AdmissionQueue {
    /// `rng` is the port's stream.
    pub fn new(rule: Rule, rng: Rng) -> AdmissionQueue {
        AdmissionQueue { idle: PendingIdle::new(rule.watches()), rule, rng }
    }
}

impl Port {
    /// The start of the transmission of a packet on the line of a port that sends idle.
    #[inline]
    fn start_of(clock: TxClock, delay: Dur, packet: &Packet) -> Time {
        Time(packet.at.0 - delay.0 - clock.tx_time(u32::from(packet.wire())).0)
    }

    /// What the integral of the backlog already holds of the time after `now`.
    pub(super) fn future_area(&self, now: Time) -> u128 {
        let waiting = self.line.iter().skip(self.line.len() - self.waiting as usize);
        let future = waiting.map(|p| {
            let start = Self::start_of(self.clock, self.delay, p);
            u128::from(p.size) * u128::from(start.0 - now.0)
        });
        future.sum()
    }

    /// Takes those whose transmission has begun by `now` out of the backlog of a port that sends idle.
    #[inline(always)]
    pub fn expire(&mut self, now: Time) {
        if self.waiting == 0 {
            return;
        }
        let mut first = self.line.len() - self.waiting as usize;
        // Its transmission begins as that of the one before it ends; that one has arrived if it is not there.
        let before = first.checked_sub(1).and_then(|before| self.line.get(before));
        let mut start = before.map_or(0, |before| before.at.0 - self.delay.0);
        while start <= now.0
            && self.waiting > 0
            && let Some(oldest) = self.line.get(first)
        {
            self.backlog -= u64::from(oldest.size);
            self.waiting -= 1;
            first += 1;
            start = oldest.at.0 - self.delay.0;
        }
    }

    /// When the transmission of the oldest packet that waits begins, as of the last look at a port that sends idle.
    pub fn next_start(&self) -> Option<Time> {
        let oldest = self.line.get(self.line.len().checked_sub(self.waiting as usize)?)?;
        Some(Self::start_of(self.clock, self.delay, oldest))
    }

    /// Whether a plain FIFO has room for a packet of `size` buffer bytes; counts the arrival, and the
    /// drop if it has not.
    #[inline(always)]
    pub fn fifo_admits(&mut self, now: Time, size: u64) -> bool {
        let Queue::Fifo { limit } = self.queue else { unreachable!("only plain FIFO ports come here") };
        self.classes[0].arrived.add(size);
        self.expire(now);
        let admits = self.backlog + size <= limit;
        if unlikely(!admits) {
            self.classes[0].dropped.add(size);
        }
        admits
    }

    /// Asks the rule of a port that sends idle about a packet; counts the arrival, and the mark or drop if there is
    /// one.
    pub fn admit(&mut self, now: Time, packet: &Packet) -> Fate {
        self.expire(now);
        let waiting = Backlog { packets: u64::from(self.waiting), bytes: self.backlog };
        let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
        account.arrived.add(size);
        let fate = match &mut self.queue {
            Queue::Admission(admission) => {
                let AdmissionQueue { idle, rule, rng } = &mut **admission;
                idle.admit(now, self.free, packet, waiting, rule, rng)
            }
            Queue::General(m) => {
                let General { queues, idle, rng, .. } = &mut **m;
                let Some(mut rule) = queues[0].waiting.rule() else { unreachable!("only a rule sends idle") };
                idle.admit(now, self.free, packet, waiting, &mut rule, rng)
            }
            Queue::Fifo { .. } => unreachable!("only ports with a rule come here"),
        };
        match fate {
            Fate::Joins => {}
            Fate::Marked => account.marked += 1,
            Fate::Dropped(_) => account.dropped.add(size),
        }
        fate
    }

    /// Puts a packet that a rule has let in onto the line, as [`Port::fifo_push`], and marks it if it says so.
    #[inline(always)]
    pub fn push_admitted(&mut self, now: Time, packet: Packet, fate: Fate) -> Option<Time> {
        let first = self.fifo_push(now, packet);
        // In its place: it is copied once.
        if fate == Fate::Marked
            && let Some(packet) = self.line.back_mut()
        {
            packet.set_ce();
        }
        first
    }

    /// Puts a packet that has been admitted onto the line; returns its arrival if the line was
    /// empty, since it must then go on the event_queue.
    #[inline(always)]
    pub fn fifo_push(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let tx = self.clock.tx_time(u32::from(packet.wire()));
        let start = self.free.max(now);
        self.free = start + tx;
        // Not `tx`: a queue of more than 213 days ends at the end of time.
        self.busy += self.free.0 - start.0;
        let at = self.free + self.delay;
        if start > now {
            let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
            self.waiting += 1;
            self.backlog += size;
            account.max = account.max.max(self.backlog);
            // `start_of` in fewer steps: not `start`, from which it differs at the end of time.
            let start = at.0 - self.delay.0 - tx.0;
            account.area += u128::from(size) * u128::from(start - now.0);
        }
        if let Some(idle) = self.queue.idle_mut()
            && idle.watch == Watch::Idle
        {
            idle.idle_from = self.free;
        }
        let first = self.line.is_empty();
        // In its place on the line: a packet in hand, of which a part has just been written, cannot be moved
        // at once.
        self.line.push_back(packet).at = at;
        first.then_some(at)
    }

    /// From now on a managed port sends idle. Nothing waits in it.
    pub fn begin_early(&mut self, now: Time) {
        let Queue::General(m) = &mut self.queue else { unreachable!("the other forms always do") };
        m.queues[0].settle(now, &mut self.classes[0]);
        m.transmits_early = true;
    }

    /// From now on a managed port sends no more idle: what waits goes back from the line into the discipline's
    /// queue, as if it had never left it.
    pub fn end_early(&mut self, now: Time) {
        self.expire(now);
        let waiting = self.waiting_early();
        (self.waiting, self.backlog) = (0, 0);
        let Port { free, clock, delay, line, queue, busy, classes, .. } = self;
        let Queue::General(m) = queue else { unreachable!("the other forms always do") };
        let account = &mut classes[0];
        let queue = &mut m.queues[0];
        queue.settle(now, account);
        account.started = account.arrived.minus(account.dropped).minus(waiting);
        queue.backlog = waiting;
        let mut back: Vec<Packet> = (0..waiting.packets).filter_map(|_| line.pop_back()).collect();
        if let Some(oldest) = back.last() {
            let start = Self::start_of(*clock, *delay, oldest);
            *busy -= free.since(start).0;
            *free = start;
        }
        while let Some(mut packet) = back.pop() {
            let start = Self::start_of(*clock, *delay, &packet);
            account.area -= u128::from(packet.size) * u128::from(start.0 - now.0);
            packet.at = now;
            queue.waiting.restore(packet);
        }
        if let Some(mut rule) = queue.waiting.rule() {
            m.idle.report_idle(now, &mut rule);
        }
        m.idle = PendingIdle::new(m.idle.watch);
        m.transmits_early = false;
    }
}
