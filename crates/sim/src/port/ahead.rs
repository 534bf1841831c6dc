//! Queues whose packets go onto the line when they are enqueued, their departure being known: one event per hop.
//!
//! The packets that wait are the last ones on the line. Nobody is told when one's transmission begins; whoever
//! wants to know how many wait looks at the line ([`Fifo::expire`]).

use super::{Port, Queue};
use crate::ledger::Count;
use crate::ring::Ring;
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Admission, Fate, Packet, Rule, Watch};
use tailback_random::Rng;
use tailback_units::{Dur, Time, TxClock};

/// One drop-tail class that nothing can stop.
#[derive(Debug)]
pub(crate) struct Fifo {
    pub limit: u64,
    /// Buffer bytes of the packets at the end of the line whose transmission has not begun (as of
    /// the last look).
    backlog: u64,
    /// How many these are.
    waiting: u32,
    _form: Form,
}

/// Says nothing, but has values to spare by which [`Queue`] tells its forms apart, so that it needs
/// no more room than a [`Fifo`].
#[derive(Debug)]
#[repr(u8)]
enum Form {
    Fifo,
}

const _: () = assert!(size_of::<Queue>() == 24);

/// One class into which a rule lets packets.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(super) fifo: Fifo,
    /// What the rule watches for.
    watch: Watch,
    /// When that begins, if nothing arrives before.
    idle_from: Time,
}

/// One class that nothing can stop, into which a rule lets packets.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(super) ahead: Ahead,
    pub rule: Rule,
    rng: Rng,
}

impl Fifo {
    pub fn new(limit: u64) -> Fifo {
        Fifo { limit, waiting: 0, backlog: 0, _form: Form::Fifo }
    }

    /// What waits, as of the last look.
    #[inline]
    pub fn waiting(&self) -> Count {
        Count { packets: u64::from(self.waiting), bytes: self.backlog }
    }

    /// The oldest frame on a line of so many arrives, and its transmission has begun even if nobody has looked.
    #[inline(always)]
    pub fn arrives(&mut self, oldest: &Packet, frames: usize) {
        if self.waiting as usize == frames {
            self.waiting -= 1;
            self.backlog -= u64::from(oldest.size);
        }
    }

    /// Takes those whose transmission has begun by `now` out of the backlog.
    #[inline]
    pub fn expire(&mut self, line: &Ring, delay: Dur, now: Time) {
        while self.waiting > 0 {
            let first = line.len() - self.waiting as usize;
            let Some(oldest) = line.get(first) else { break };
            // Its transmission begins as that of the one before it ends; that one has arrived if it is not there.
            if line.get(first.wrapping_sub(1)).is_some_and(|before| before.at.0 - delay.0 > now.0) {
                break;
            }
            self.waiting -= 1;
            self.backlog -= u64::from(oldest.size);
        }
    }
}

impl Ahead {
    /// For a rule that watches for so much.
    pub fn new(watch: Watch) -> Ahead {
        Ahead { fifo: Fifo::new(u64::MAX), watch, idle_from: Time::NEVER }
    }

    /// Tells the rule that what it watches for has begun, if it has by `now`.
    #[inline]
    fn tell(&mut self, now: Time, rule: &mut (impl Admission + ?Sized)) {
        if self.idle_from <= now {
            rule.idle(self.idle_from);
            self.idle_from = Time::NEVER;
        }
    }

    /// Asks the rule about a packet that comes to a port whose transmitter falls (or fell) free at `free`, and whose
    /// backlog is as of now.
    #[inline]
    fn ask(
        &mut self,
        now: Time,
        free: Time,
        packet: &Packet,
        rule: &mut (impl Admission + ?Sized),
        rng: &mut Rng,
    ) -> Fate {
        self.tell(now, rule);
        let queue = Backlog { packets: u64::from(self.fifo.waiting), bytes: self.fifo.backlog };
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

impl Judged {
    /// `rng` is the port's stream.
    pub fn new(rule: Rule, rng: Rng) -> Judged {
        Judged { ahead: Ahead::new(rule.watches()), rule, rng }
    }
}

impl Port {
    /// The start of the transmission of a packet on the line of a port that sends ahead.
    #[inline]
    fn start_of(clock: TxClock, delay: Dur, packet: &Packet) -> Time {
        Time(packet.at.0 - delay.0 - clock.tx_time(u32::from(packet.wire())).0)
    }

    /// What the integral of the backlog already holds of the time after `now`.
    pub(super) fn promised(&self, now: Time, fifo: &Fifo) -> u128 {
        let waiting = self.line.iter().skip(self.line.len() - fifo.waiting as usize);
        let future = waiting.map(|p| {
            let start = Self::start_of(self.clock, self.delay, p);
            u128::from(p.size) * u128::from(start.0 - now.0)
        });
        future.sum()
    }

    /// How many packets wait, as of the last look at a port that sends ahead.
    #[inline]
    pub fn waiting_ahead(&self) -> usize {
        self.queue.fifo().map_or(0, |fifo| fifo.waiting as usize)
    }

    /// When the transmission of the oldest packet that waits begins, as of the last look at a port that sends ahead.
    pub fn next_start(&self) -> Option<Time> {
        let oldest = self.line.get(self.line.len().checked_sub(self.waiting_ahead())?)?;
        Some(Self::start_of(self.clock, self.delay, oldest))
    }

    /// Whether a [`Fifo`] has room for a packet of `size` buffer bytes; counts the arrival, and the
    /// drop if it has not.
    #[inline(always)]
    pub fn fifo_admits(&mut self, now: Time, size: u64) -> bool {
        let Queue::Fifo(fifo) = &mut self.queue else { unreachable!("only plain FIFO ports come here") };
        let account = &mut self.classes[0];
        account.arrived.add(size);
        if fifo.waiting > 0 {
            fifo.expire(&self.line, self.delay, now);
        }
        let admits = fifo.backlog + size <= fifo.limit;
        if !admits {
            account.dropped.add(size);
        }
        admits
    }

    /// Asks the rule of a port that sends ahead about a packet; counts the arrival, and the mark or drop if there is
    /// one.
    pub fn judge(&mut self, now: Time, packet: &Packet) -> Fate {
        let Port { queue, line, delay, free, classes, .. } = self;
        let (size, account) = (u64::from(packet.size), &mut classes[0]);
        account.arrived.add(size);
        let fate = match queue {
            Queue::Judged(judged) => {
                let Judged { ahead, rule, rng } = &mut **judged;
                ahead.fifo.expire(line, *delay, now);
                ahead.ask(now, *free, packet, rule, rng)
            }
            Queue::Managed(m) => {
                m.ahead.fifo.expire(line, *delay, now);
                let Some(rule) = m.queues[0].waiting.rule() else { unreachable!("only a rule sends ahead") };
                m.ahead.ask(now, *free, packet, rule, &mut m.rng)
            }
            Queue::Fifo(_) => unreachable!("only ports with a rule come here"),
        };
        match fate {
            Fate::Joins => {}
            Fate::Marked => account.marked += 1,
            Fate::Dropped(_) => account.dropped.add(size),
        }
        fate
    }

    /// Puts a packet that has been admitted onto the line; returns its arrival if the line was
    /// empty, since it must then go on the agenda.
    #[inline(always)]
    pub fn fifo_push(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let Some(fifo) = self.queue.fifo_mut() else { unreachable!("only ports that send ahead come here") };
        let tx = self.clock.tx_time(u32::from(packet.wire()));
        let start = self.free.max(now);
        self.free = start + tx;
        // Not `tx`: a queue of more than 213 days ends at the end of time.
        self.busy += self.free.0 - start.0;
        let at = self.free + self.delay;
        if start > now {
            let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
            fifo.waiting += 1;
            fifo.backlog += size;
            account.max = account.max.max(fifo.backlog);
            // `start_of` in fewer steps: not `start`, from which it differs at the end of time.
            let start = at.0 - self.delay.0 - tx.0;
            account.area += u128::from(size) * u128::from(start - now.0);
        }
        if let Some(ahead) = self.queue.ahead_mut()
            && ahead.watch == Watch::Idle
        {
            ahead.idle_from = self.free;
        }
        let first = self.line.is_empty();
        // In its place on the line: a packet in hand, of which a part has just been written, cannot be moved
        // at once.
        self.line.push_back(packet).at = at;
        first.then_some(at)
    }

    /// From now on a managed port sends ahead. Nothing waits in it.
    pub fn begin_ahead(&mut self, now: Time) {
        let Queue::Managed(m) = &mut self.queue else { unreachable!("the other forms always do") };
        m.queues[0].settle(now, &mut self.classes[0]);
        m.sends_ahead = true;
    }

    /// From now on a managed port sends no more ahead: what waits goes back from the line into the discipline's
    /// queue, as if it had never left it.
    pub fn end_ahead(&mut self, now: Time) {
        let Port { free, clock, delay, line, queue, busy, classes, .. } = self;
        let Queue::Managed(m) = queue else { unreachable!("the other forms always do") };
        let account = &mut classes[0];
        m.ahead.fifo.expire(line, *delay, now);
        let waiting = m.ahead.fifo.waiting();
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
        if let Some(rule) = queue.waiting.rule() {
            m.ahead.tell(now, rule);
        }
        m.ahead = Ahead::new(m.ahead.watch);
        m.sends_ahead = false;
    }
}
