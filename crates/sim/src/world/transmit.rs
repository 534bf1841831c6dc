//! Output ports: enqueueing, start of transmission, end of transmission.

use super::early::WayIn;
use super::{FabricState, World};
use crate::accounts::ClassAccount;
use crate::by_class::ByClass;
use crate::control_frame::ControlFrame;
use crate::event_queue::Kind;
use crate::hints::unlikely;
use crate::port::{ClassQueue, General, LineTiming, Origin, Port, Queue, Waiting, total};
use crate::shared_buffer::FlowControl;
use tailback_qdisc::{Cx, Dropped, Fate, Gate, Packet, Qdisc, Reason};
use tailback_random::Rng;
use tailback_transport::Hop;
use tailback_units::{Dur, Time};

impl World {
    /// Enqueues a packet at `port`. `via` is the port over whose link the packet arrived; `None`: the packet was
    /// generated at this node.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, port: u32, packet: Packet, via: Option<u32>) {
        let p = &mut self.ports[port as usize];
        if matches!(p.queue, Queue::Fifo { .. }) {
            if p.fifo_admits(self.now, u64::from(packet.size)) {
                if let Some(at) = p.fifo_push(self.now, packet) {
                    self.schedule(at, Kind::Arrive, port);
                }
            } else {
                self.lose(packet, port, Reason::BufferFull);
            }
        } else if matches!(p.queue, Queue::Admission(_)) {
            self.enqueue_admission(port, packet);
        } else if matches!(&p.queue, Queue::General(general) if general.transmits_early) {
            self.enqueue_early(port, packet, via);
        } else {
            match self.way_in(port) {
                WayIn::Early => self.enqueue_early(port, packet, via),
                WayIn::Waiting => self.enqueue_waiting::<false>(port, packet, via),
                WayIn::Observed => self.enqueue_waiting::<true>(port, packet, via),
            }
        }
    }

    /// Enqueues a packet at a port whose queue is behind an admission policy.
    #[inline(never)]
    fn enqueue_admission(&mut self, port: u32, packet: Packet) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let fate = p.admit(now, &packet);
        if let Fate::Dropped(why) = fate {
            return self.lose(packet, port, why);
        }
        if let Some(at) = p.push_admitted(now, packet, fate) {
            self.schedule(at, Kind::Arrive, port);
        }
    }

    /// Enqueues a packet at a port that does not transmit early. The steps are, in order: treatment of the packet,
    /// allocation of its memory, its queue, and the consequences of the longer queue. `OBSERVED`: the port is observed;
    /// other ports have code without these steps.
    #[inline(never)]
    pub(super) fn enqueue_waiting<const OBSERVED: bool>(&mut self, port: u32, mut packet: Packet, via: Option<u32>) {
        if !self.treat(port, &mut packet, via) {
            return self.lose_apart(packet, port, Reason::Policed);
        }
        let (class, destination) = (usize::from(packet.class()), packet.dst);
        if OBSERVED {
            self.observe_arrival(port, &packet);
        }
        let flow_control = match self.allocate(port, &packet, via) {
            Ok(flow_control) => flow_control,
            Err(reason) => return self.lose(packet, port, reason),
        };
        let feeds = self.put_in_queue(port, packet, via);
        if OBSERVED {
            self.observe_marks(port, class);
        }
        if let (FlowControl::Stop, Some(via)) = (flow_control, via) {
            self.stop_or_resume(via ^ 1, class, flow_control);
        }
        self.count_dropped(port);
        self.fill_ring(port);
        self.kick(port);
        self.watch(port, class, destination, via.filter(|_| feeds));
    }

    /// Applies the steps before the queue of `port` to a packet: labels, conditioners, congestion points and the tags
    /// of rate limiters. Returns `false` if a policer drops the packet.
    #[inline(always)]
    fn treat(&mut self, port: u32, packet: &mut Packet, via: Option<u32>) -> bool {
        if self.labelling.any() {
            self.labelling.switch(via, port, packet);
        }
        if self.conditioning.at_egress() && !self.conditioning.egress(port, self.now, packet) {
            return false;
        }
        if self.feeds_back {
            self.sample_arrival(port, packet);
        }
        if let Queue::General(general) = &mut self.ports[port as usize].queue
            && let Waiting::Limited(limiters) = &mut general.queues[usize::from(packet.class())].waiting
        {
            limiters.lengthen(self.now, packet);
        }
        true
    }

    /// Counts the arrival of a packet at `port`, and allocates its memory if ports share memory. Returns the
    /// notification to send to the neighbour behind the packet's input.
    ///
    /// # Errors
    /// The reason of the drop, if no memory is available.
    #[inline(always)]
    fn allocate(&mut self, port: u32, packet: &Packet, via: Option<u32>) -> Result<FlowControl, Reason> {
        let (class, size) = (usize::from(packet.class()), u64::from(packet.size));
        let slot = via.map_or(0, |via| self.slots[via as usize ^ 1]);
        let from = usize::from(self.ports[port as usize].from);
        if let FabricState::Buffer(buffer) = &self.nodes[from].fabric
            && !buffer.stops_any()
            && !buffer.admits_without_stop(slot as usize, class, size)
        {
            self.has_memory(from, slot, class, size);
        }
        let p = &mut self.ports[port as usize];
        let account = &mut p.classes[class];
        account.arrived.add(size);
        let Queue::General(general) = &mut p.queue else { unreachable!("the other forms have their own enqueue") };
        let queue = &mut general.queues[class];
        match &mut self.nodes[from].fabric {
            FabricState::Shared(shared) => {
                // After a change, the memory may be smaller than the part in use.
                let free = shared.memory.saturating_sub(shared.used);
                if size > free || (queue.backlog.bytes + size) as f64 > shared.alpha * free as f64 {
                    account.dropped.add(size);
                    return Err(Reason::SharedMemoryFull);
                }
                shared.used += size;
                Ok(FlowControl::Unchanged)
            }
            FabricState::Buffer(buffer) if via.is_some() => {
                let Some(flow_control) = buffer.admit(slot as usize, class, size) else {
                    account.dropped.add(size);
                    return Err(Reason::SharedMemoryFull);
                };
                queue.origins.push_back(Origin { slot, size: u32::from(packet.size) });
                Ok(flow_control)
            }
            _ => Ok(FlowControl::Unchanged),
        }
    }

    /// Passes a packet to the discipline of its class. Returns `true` if the packet adds to the occupancy that a
    /// detector observes: at rate limiters, only a packet that waits in their memory does; elsewhere all packets do.
    #[inline(always)]
    fn put_in_queue(&mut self, port: u32, mut packet: Packet, via: Option<u32>) -> bool {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { unreachable!("the other forms have their own enqueue") };
        let class = usize::from(packet.class());
        let (queue, account) = (&mut general.queues[class], &mut p.classes[class]);
        queue.settle(now, account);
        queue.backlog.add(u64::from(packet.size));
        // At a cut-through switch, `packet.at` is the arrival time of the frame's tail, which may be in the future.
        packet.at = packet.at.max(now);
        if let Some(egress) = &mut general.egress {
            egress.arrived(&packet);
        }
        let cx = &mut Cx { rng: &mut general.rng, dropped: &mut self.dropped, marked: &mut account.marked };
        let limited = queue.waiting.pool_bytes();
        queue.waiting.enqueue(now, packet, cx);
        let feeds = limited.is_none_or(|before| queue.waiting.pool_bytes() > Some(before));
        let wakeup = queue.waiting.next_wakeup();
        if let (Some(detector), Some(via)) = (&mut queue.detector, via)
            && feeds
            && !detector.feeders.contains(&via)
        {
            detector.feeders.push(via);
        }
        if let Some(at) = wakeup {
            self.wake_at(port, at);
        }
        feeds
    }

    /// Records the maximum of a queue that has grown, and runs its detector.
    #[inline(always)]
    fn watch(&mut self, port: u32, class: usize, destination: u16, via: Option<u32>) {
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        let backlog = general.queues[class].backlog.bytes;
        p.classes[class].max = p.classes[class].max.max(backlog);
        if general.queues[class].detector.is_some() {
            self.detect(port, class, destination, via);
        }
    }

    /// Accounts for the packets that a discipline dropped in its last call.
    pub(super) fn count_dropped(&mut self, port: u32) {
        while let Some(dropped) = self.dropped.pop() {
            let p = &mut self.ports[port as usize];
            let Queue::General(general) = &mut p.queue else { unreachable!("only general ports have a discipline") };
            let (class, size) = (usize::from(dropped.packet.class()), u64::from(dropped.packet.size));
            let queue = &mut general.queues[class];
            queue.settle(self.now, &mut p.classes[class]);
            queue.backlog.bytes -= size;
            queue.backlog.packets -= 1;
            p.classes[class].dropped.add(size);
            // Disciplines at a switch that accounts memory by input drop only the packet that has just arrived.
            let origin = queue.origins.pop_back();
            let from = usize::from(p.from);
            self.give_back(from, size);
            self.release(from, origin, class, size);
            self.lose(dropped.packet, port, dropped.why);
        }
    }

    /// Returns `size` buffer bytes to the memory that the ports of a switch share under dynamic thresholds.
    fn give_back(&mut self, node: usize, size: u64) {
        if let FabricState::Shared(shared) = &mut self.nodes[node].fabric {
            shared.used -= size;
        }
    }

    /// Handles the end of a transmission at `port`: the transmitter becomes free.
    pub(super) fn tx_done(&mut self, port: u32) {
        if let Queue::General(general) = &mut self.ports[port as usize].queue {
            general.tx_pending = false;
            if general.transmits_early {
                self.serve_turns(port);
                self.schedule_turns(port);
            } else {
                self.start(port);
            }
        }
    }

    /// Starts a transmission at a general port if its transmitter is free; otherwise schedules an event for the time at
    /// which it becomes free.
    pub(super) fn kick(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        if general.tx_pending || general.transmits_early {
            return;
        }
        if p.free > now {
            general.tx_pending = true;
            let free = p.free;
            self.schedule(free, Kind::TxDone, port);
        } else {
            self.start(port);
        }
    }

    /// Starts the next transmission at a general port whose transmitter is free: a control frame if one waits,
    /// otherwise the packet that the scheduler chooses.
    fn start(&mut self, port: u32) {
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        if !general.up {
            return self.note_blocked(port);
        }
        if let Some(control) = general.control.pop_front() {
            general.sent_control += 1;
            return self.transmit_control(port, &control);
        }
        if let Some(packet) = self.choose(port) {
            self.transmit_data(port, packet);
        } else {
            self.count_dropped(port);
            self.notify_idle(port);
            self.note_blocked(port);
        }
    }

    /// Transmits a control frame.
    fn transmit_control(&mut self, port: u32, control: &ControlFrame) {
        let handle = self.control_frames.put(control.clone());
        let to = self.ports[port as usize].to;
        let mut frame = Packet::new(0, tailback_qdisc::Traits::control(), self.now, handle, to);
        frame.set_lengths(u32::from(control.wire()), u32::from(control.wire()));
        self.transmit(port, frame);
        if unlikely(self.trace.is_some()) {
            self.trace_control(port);
        }
    }

    /// Removes and returns the packet that `port` sends next, through its transmit ring and shaper. `None`: no packet
    /// may leave now.
    #[inline(always)]
    fn choose(&mut self, port: u32) -> Option<Packet> {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return None };
        let General { queues, rng, egress, responder, .. } = &mut **general;
        let open = Gate::default();
        let gate = responder.as_mut().map_or(&open, |r| r.gate(now));
        let next = if let Some(egress) = egress {
            egress.changes(now, || total(queues));
            let mut dequeue = || highest(queues, &mut p.classes, rng, &mut self.dropped, now, gate);
            if egress.has_ring() {
                let next = egress.pop(now, gate);
                while egress.has_room() {
                    let Some(packet) = dequeue() else { break };
                    egress.push(packet);
                }
                next.or_else(|| egress.pop(now, gate))
            } else {
                egress.may_release(now).then(dequeue).flatten()
            }
        } else {
            highest(queues, &mut p.classes, rng, &mut self.dropped, now, gate)
        }?;
        if let Some(egress) = &mut general.egress {
            egress.sent(&next);
        }
        if let Some(responder) = &mut general.responder {
            responder.sent(now, &next, p.clock);
        }
        Some(next)
    }

    /// Transmits a packet that has left its queue. In order: accounts and telemetry are updated, the packet is put onto
    /// the link, and the consequences of the shorter queue are handled.
    #[inline(always)]
    fn transmit_data(&mut self, port: u32, packet: Packet) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        let (class, size, destination) = (usize::from(packet.class()), u64::from(packet.size), packet.dst);
        let queue = &mut general.queues[class];
        queue.settle(now, &mut p.classes[class]);
        queue.backlog.bytes -= size;
        queue.backlog.packets -= 1;
        p.classes[class].started.add(size);
        let (detects, wakeup) = (queue.detector.is_some(), queue.waiting.next_wakeup());
        let from = usize::from(p.from);
        if let Some(telemetry) = &mut self.telemetry
            && !self.nodes[from].is_host
        {
            let (queue, busy) = (u32::try_from(queue.backlog.bytes).unwrap_or(u32::MAX), Dur(p.busy));
            telemetry.note(packet.flow(), packet.seq, Hop { port, queue, at: now, busy, rate: p.rate });
        }
        let origin = queue.origins.pop_front();
        self.give_back(from, size);
        self.transmit(port, packet);
        if unlikely(self.trace.is_some()) {
            self.trace_dequeue(port);
        }
        self.release(from, origin, class, size);
        self.serve_turns(port);
        if let Some(at) = wakeup {
            self.wake_at(port, at);
        }
        if !self.dropped.is_empty() {
            self.count_dropped(port);
        }
        if detects {
            self.detect(port, class, destination, None);
        }
        if matches!(self.nodes[from].fabric, FabricState::Crossbar(_)) {
            self.match_output(port);
        }
    }

    /// Puts a frame onto the link; its transmission begins now.
    fn transmit(&mut self, port: u32, mut frame: Packet) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let wire = u32::from(frame.wire());
        // A frame whose tail is still arriving (cut-through) occupies the transmitter at least until the tail has
        // arrived.
        let tail = if frame.is_control() { Time::ZERO } else { frame.at };
        let Port { clock, delay, queue, .. } = &*p;
        let Queue::General(general) = queue else { unreachable!("the other forms transmit by themselves") };
        let (end, mut at) = match general.timing {
            LineTiming::Plain => {
                let end = (now + clock.tx_time(wire)).max(tail);
                (end, end + *delay)
            }
            LineTiming::CutThrough(header) => {
                let end = (now + clock.tx_time(wire)).max(tail);
                let head = if frame.is_control() { wire } else { header.min(wire) };
                (end, Time(end.0 - clock.tx_time(wire).0) + clock.tx_time(head) + *delay)
            }
            LineTiming::Counting(accounting) => {
                let end = (now + clock.tx_time(accounting.of(frame.wire()))).max(tail);
                (end, end + *delay)
            }
        };
        p.begin(now, end);
        let Port { line, queue, .. } = p;
        let Queue::General(general) = queue else { unreachable!("the other forms transmit by themselves") };
        if let Some(since) = general.blocked_since.take() {
            general.blocked += now.since(since).0;
        }
        if general.jitter.0 > 0 {
            at += tailback_units::Dur(general.rng.below(general.jitter.0 + 1));
        }
        // Frames stay in order under jitter and changes of the delay.
        at = at.max(line.back().map_or(at, |last| last.at));
        frame.at = at;
        let was_empty = line.is_empty();
        line.push_back(frame);
        let needs_tx_done = Self::needs_tx_done(general) && !general.tx_pending;
        general.tx_pending |= needs_tx_done;
        if was_empty {
            self.schedule(at, Kind::Arrive, port);
        }
        if needs_tx_done {
            self.schedule(end, Kind::TxDone, port);
        }
    }

    /// Returns `true` if an event at the end of the transmission is needed: frames wait, or a discipline watches idle
    /// periods.
    fn needs_tx_done(general: &General) -> bool {
        !general.control.is_empty() || general.queues.iter().any(|q| q.backlog.packets > 0 || q.watches_idle)
    }

    /// Notifies the disciplines that watch idle periods and whose queue is empty that the transmitter is free.
    fn notify_idle(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        let mut wakeup = Time::NEVER;
        for (queue, account) in general.queues.iter_mut().zip(p.classes.iter_mut()) {
            if let Waiting::Discipline(d) = &mut queue.waiting
                && queue.watches_idle
                && queue.backlog.packets == 0
            {
                let cx = &mut Cx { rng: &mut general.rng, dropped: &mut self.dropped, marked: &mut account.marked };
                d.idle(now, cx);
                wakeup = wakeup.min(d.next_wakeup().unwrap_or(Time::NEVER));
            }
        }
        self.wake_at(port, wakeup);
    }

    /// Records the time since which data waits while the transmitter is free, and schedules the next attempt to
    /// transmit.
    fn note_blocked(&mut self, port: u32) {
        let now = self.now;
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        if general.queues.iter().all(|q| q.backlog.packets == 0) {
            if let Some(since) = general.blocked_since.take() {
                general.blocked += now.since(since).0;
            }
            return;
        }
        general.blocked_since.get_or_insert(now);
        let wakeups = general.queues.iter().filter_map(|q| q.waiting.next_wakeup());
        let gate = general.responder.as_ref().map_or(Time::NEVER, |r| r.next_change(now));
        let release = general.egress.as_ref().map_or(Time::NEVER, |egress| egress.release(now));
        let at = wakeups.chain([gate, release]).min().unwrap_or(Time::NEVER);
        self.wake_at(port, at);
    }

    /// Moves packets from the scheduler of `port` into its transmit ring while there is room.
    #[inline(always)]
    fn fill_ring(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        let Some(egress) = general.egress.as_mut().filter(|egress| egress.has_room()) else { return };
        let open = Gate::default();
        let gate = general.responder.as_mut().map_or(&open, |r| r.gate(now));
        while egress.has_room() {
            let next = highest(&mut general.queues, &mut p.classes, &mut general.rng, &mut self.dropped, now, gate);
            let Some(packet) = next else { break };
            egress.push(packet);
        }
        self.count_dropped(port);
    }
}

/// Removes and returns the next packet of the highest class that has a packet which the gate admits; `None`: there is
/// no such class.
#[inline]
fn highest(
    queues: &mut ByClass<ClassQueue>,
    accounts: &mut ByClass<ClassAccount>,
    rng: &mut Rng,
    dropped: &mut Vec<Dropped>,
    now: Time,
    gate: &Gate,
) -> Option<Packet> {
    for (class, queue) in queues.iter_mut().enumerate() {
        if queue.backlog.packets > 0 && gate.admits_class(class as u8) {
            let cx = &mut Cx { rng: &mut *rng, dropped: &mut *dropped, marked: &mut accounts[class].marked };
            if let Some(packet) = queue.waiting.dequeue(now, gate, cx) {
                return Some(packet);
            }
        }
    }
    None
}
