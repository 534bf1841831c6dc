//! Early transmission: a packet whose time of departure is known at its enqueueing is put onto the link at once, so
//! that the packet costs one event per hop.
//!
//! The waiting packets are those at the tail of the link's list. The start of a transmission is not an event: the
//! backlog is updated when its value is needed ([`Port::expire`]).

use super::{AdmissionQueue, General, PendingIdle, Port, Queue};
use crate::hints::unlikely;
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Fate, Packet, Watch};
use tailback_units::{Dur, Time, TxClock};

impl Port {
    /// Returns the start of transmission of a packet on the link of a port that transmits early; `clock` and `delay`
    /// are those of the port.
    #[inline]
    fn start_of(clock: TxClock, delay: Dur, packet: &Packet) -> Time {
        Time(packet.at.0 - delay.0 - clock.tx_time(u32::from(packet.wire())).0)
    }

    /// Returns the part of the backlog's integral that lies after `now`, byte · picosecond.
    pub(super) fn future_area(&self, now: Time) -> u128 {
        let waiting = self.line.iter().skip(self.line.len() - self.waiting as usize);
        let future = waiting.map(|p| {
            let start = Self::start_of(self.clock, self.delay, p);
            u128::from(p.size) * u128::from(start.0 - now.0)
        });
        future.sum()
    }

    /// Removes packets whose transmission has begun by `now` from the backlog of a port that transmits early.
    #[inline(always)]
    pub fn expire(&mut self, now: Time) {
        if self.waiting == 0 {
            return;
        }
        let mut first = self.line.len() - self.waiting as usize;
        // The transmission of a waiting packet begins when that of the packet before it ends. If there is no packet
        // before it on the link, its transmission has begun.
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

    /// Returns the start of transmission of the oldest waiting packet, as of the last update; `None`: no packet waits.
    pub fn next_start(&self) -> Option<Time> {
        let oldest = self.line.get(self.line.len().checked_sub(self.waiting as usize)?)?;
        Some(Self::start_of(self.clock, self.delay, oldest))
    }

    /// Returns `true` if a plain FIFO has room for a packet of `size` buffer bytes. Counts the arrival, and the drop if
    /// there is no room.
    #[inline(always)]
    pub fn fifo_admits(&mut self, now: Time, size: u64) -> bool {
        let Queue::Fifo { limit } = self.queue else { unreachable!("the port is not a plain FIFO") };
        self.classes[0].arrived.add(size);
        self.expire(now);
        let admits = self.backlog + size <= limit;
        if unlikely(!admits) {
            self.classes[0].dropped.add(size);
        }
        admits
    }

    /// Passes a packet to the admission policy of a port that transmits early. Counts the arrival, and the mark or
    /// drop.
    #[inline(always)]
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
            Queue::General(general) => {
                let General { queues, idle, rng, .. } = &mut **general;
                let Some(mut rule) = queues[0].waiting.rule() else { unreachable!("the port has an admission policy") };
                idle.admit(now, self.free, packet, waiting, &mut rule, rng)
            }
            Queue::Fifo { .. } => unreachable!("a plain FIFO has no admission policy"),
        };
        match fate {
            Fate::Joins => {}
            Fate::Marked => account.marked += 1,
            Fate::Dropped(_) => account.dropped.add(size),
        }
        fate
    }

    /// Puts a packet that the policy has admitted onto the link, as [`Port::fifo_push`] does, and marks the packet if
    /// `fate` says so.
    #[inline(always)]
    pub fn push_admitted(&mut self, now: Time, packet: Packet, fate: Fate) -> Option<Time> {
        let first = self.fifo_push(now, packet);
        // The packet is marked in its place on the link, so that it is copied only once.
        if fate == Fate::Marked
            && let Some(packet) = self.line.back_mut()
        {
            packet.set_ce();
        }
        first
    }

    /// Puts an admitted packet onto the link. Returns the packet's arrival time if the link was empty: the caller must
    /// then schedule the arrival. `None`: an arrival is already scheduled.
    #[inline(always)]
    pub fn fifo_push(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let tx = self.clock.tx_time(u32::from(packet.wire()));
        let start = self.free.max(now);
        self.free = start + tx;
        // This is `tx`, unless the sum was clamped to the end of time after 213 days.
        self.busy += self.free.0 - start.0;
        let at = self.free + self.delay;
        if start > now {
            let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
            self.waiting += 1;
            self.backlog += size;
            account.max = account.max.max(self.backlog);
            // The value of `start_of`, in fewer steps; it differs from the outer `start` only at the end of time.
            let start = at.0 - self.delay.0 - tx.0;
            account.area += u128::from(size) * u128::from(start - now.0);
        }
        if let Some(idle) = self.queue.idle_mut()
            && idle.watch == Watch::Idle
        {
            idle.idle_from = self.free;
        }
        let was_empty = self.line.is_empty();
        // The arrival time is written after the push, in the packet's place on the link: to copy a packet that has just
        // been written would stall the processor.
        self.line.push_back(packet).at = at;
        was_empty.then_some(at)
    }

    /// Begins early transmission at a general port with an empty queue.
    pub fn begin_early(&mut self, now: Time) {
        let Queue::General(general) = &mut self.queue else { unreachable!("the port has the general form") };
        general.queues[0].settle(now, &mut self.classes[0]);
        general.transmits_early = true;
    }

    /// Ends early transmission at a general port: waiting packets return from the link to the discipline's queue, as if
    /// they had never left it.
    pub fn end_early(&mut self, now: Time) {
        self.expire(now);
        let waiting = self.waiting_early();
        (self.waiting, self.backlog) = (0, 0);
        let Port { free, clock, delay, line, queue, busy, classes, .. } = self;
        let Queue::General(general) = queue else { unreachable!("the port has the general form") };
        let account = &mut classes[0];
        let queue = &mut general.queues[0];
        queue.settle(now, account);
        account.started = account.arrived.minus(account.dropped).minus(waiting);
        queue.backlog = waiting;
        let mut returned: Vec<Packet> = (0..waiting.packets).filter_map(|_| line.pop_back()).collect();
        if let Some(oldest) = returned.last() {
            let start = Self::start_of(*clock, *delay, oldest);
            *busy -= free.since(start).0;
            *free = start;
        }
        while let Some(mut packet) = returned.pop() {
            let start = Self::start_of(*clock, *delay, &packet);
            account.area -= u128::from(packet.size) * u128::from(start.0 - now.0);
            packet.at = now;
            queue.waiting.restore(packet);
        }
        if let Some(mut rule) = queue.waiting.rule() {
            general.idle.report_idle(now, &mut rule);
        }
        general.idle = PendingIdle::new(general.idle.watch);
        general.transmits_early = false;
    }
}
