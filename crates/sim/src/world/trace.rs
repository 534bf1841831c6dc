//! Rows of the packet trace. Everything here runs only if the plan has a trace; writing rows changes no state of the
//! network.

use super::{FabricState, World};
use crate::control_frame::{CongestionSource, ControlFrame};
use crate::event_queue::{Key, Kind, Upcoming};
use crate::plan::{EventKind, FrameKind};
use crate::port::{General, Queue, Waiting, total};
use crate::trace::{Cause, Detail, Order, Row, Tracer};
use crate::world::status::Status;
use tailback_qdisc::congestion_notification::Feedback;
use tailback_qdisc::{Colour, Ecn, Packet, Reason};
use tailback_units::Time;

/// Initial capacity of the list of a discipline's state variables.
const STATE: usize = 8;

impl World {
    /// Marks the traced ports.
    pub(super) fn mark_traced_ports(&mut self) {
        let Some(trace) = &self.plan.trace else { return };
        for (number, port) in (0..).zip(&mut self.ports) {
            if trace.has_port(number) {
                port.trace();
            }
        }
    }

    /// Handles events as `handle_events`, and notes for each the position of its rows.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_traced(&mut self, last: Time, budget: u64) -> Status {
        for _ in 0..budget {
            // The event is put back, so that events are handled in one place and runs without a trace pay nothing.
            let Some((time, key)) = self.event_queue.pop_until(last, None::<fn(Upcoming, Key)>) else {
                return Status::Done;
            };
            self.begin_rows(key);
            self.event_queue.push(time, key);
            // Rows have the time of the event that is about to be handled.
            self.now = time;
            if key.kind() == Kind::Arrive {
                self.handle_arrival(last, key.component());
            } else {
                self.handle_events(last, 1);
            }
        }
        Status::Running
    }

    /// Handles the arrival of the oldest frame on the link of `port`, and writes its row unless it is lost there. The
    /// arrival itself has no code for the trace, since each frame of every run passes it.
    fn handle_arrival(&mut self, last: Time, port: u32) {
        let (row, lost) = (self.arrival_row(port), self.ports[port as usize].lost);
        let at = self.trace.as_ref().map_or(0, |tracer| tracer.written());
        self.handle_events(last, 1);
        if let (Some(tracer), Some(row)) = (&mut self.trace, row)
            && self.ports[port as usize].lost == lost
        {
            tracer.write_before(at, row);
        }
    }

    /// Notes that the event with `key` is about to be handled.
    fn begin_rows(&mut self, key: Key) {
        if let Some(tracer) = &mut self.trace {
            tracer.order = Order { kind: key.kind() as u8, component: key.component(), port: 0 };
            tracer.in_change = false;
        }
    }

    /// Notes that the change with this index in the timeline is about to be applied.
    pub(super) fn begin_change_rows(&mut self, index: usize) {
        if let Some(tracer) = &mut self.trace {
            tracer.order = Order { kind: Kind::Change as u8, component: index as u32, port: 0 };
            tracer.in_change = true;
        }
    }

    /// Returns the rows written since the last call that no later row can precede, in order. Without a trace, there are
    /// none.
    pub fn take_trace(&mut self) -> Vec<Row> {
        let complete = self.event_queue.next_time().is_none_or(|time| time > self.now);
        let until = if self.done || complete { Time(self.now.0.saturating_add(1)) } else { self.now };
        self.trace.as_mut().map_or_else(Vec::new, |tracer| tracer.take(until))
    }

    /// Returns the number and hash of the rows handed over so far; `None`: the run writes no trace.
    pub fn trace_summary(&self) -> Option<&crate::trace::Summary> {
        self.trace.as_ref().map(|tracer| tracer.summary())
    }

    /// Returns the names of the state variables in the rows of a class at a port ([`Row::state`]), as in time series.
    pub fn trace_state_names(&self, port: u32, class: usize) -> Vec<&'static str> {
        let mut names = Vec::new();
        if let Queue::General(m) = &self.ports[port as usize].queue
            && let Waiting::Discipline(discipline) = &m.queues[class].waiting
        {
            tailback_qdisc::Qdisc::probe(discipline, &mut |name, _| names.push(name));
        }
        names
    }

    /// Returns a number that distinguishes an acknowledgement from equal ones. It is stored in the field of the payload's
    /// length, which acknowledgements do not use.
    #[cold]
    #[inline(never)]
    pub(super) fn ack_number(&mut self, connection: u32) -> u16 {
        self.trace.as_mut().map_or(0, |tracer| tracer.next_ack(connection))
    }

    /// Observes a packet that enters the queue of an observed port, before the queue changes.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_arrival(&mut self, port: u32, packet: &Packet) {
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        let General { queues, egress, traced, .. } = &mut **m;
        if let Some(egress) = egress {
            egress.changes(self.now, || total(queues));
        }
        if *traced {
            self.trace_enqueue(port, packet);
        }
    }

    /// Observes the marks that the packet which has just entered the queue of an observed port has caused.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_marks(&mut self, port: u32, class: usize) {
        if matches!(&self.ports[port as usize].queue, Queue::General(m) if m.traced) {
            self.trace_marks(port, class, None);
        }
    }

    /// Writes the row of a packet that arrives at a queue.
    fn trace_enqueue(&mut self, port: u32, packet: &Packet) {
        let row = self.queue_row(EventKind::Enqueue, port, packet);
        if let Some(tracer) = &mut self.trace {
            tracer.entered.clone_from(&row);
        }
        self.write_row(row);
    }

    /// Writes the rows of the marks of a queue since the last call, as marks of `packet`; `None`: of the packet that entered
    /// a queue last. At a port with a transmit ring, a mark belongs to an earlier packet if several were moved at once.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_marks(&mut self, port: u32, class: usize, packet: Option<&Packet>) {
        let total = self.ports[port as usize].classes[class].marked;
        let Some(tracer) = &mut self.trace else { return };
        let seen = tracer.marks.entry((port, class)).or_default();
        let marks = total - std::mem::replace(seen, total);
        if marks == 0 {
            return;
        }
        let entered = tracer.entered.clone();
        let row = match packet {
            Some(packet) => self.packet_row(EventKind::Mark, port, packet),
            None => entered.map(|entered| Row {
                event: EventKind::Mark,
                turn: 0,
                ecn: Ecn::Ce,
                state: self.law_state(port, class),
                ..entered
            }),
        };
        for _ in 0..marks {
            self.write_row(row.clone());
        }
    }

    /// Writes the row of the packet whose transmission begins: the last on the link. It has left the backlog.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_dequeue(&mut self, port: u32) {
        let Some(packet) = self.ports[port as usize].line.back().map(Packet::as_seen_from_the_other_end) else {
            return;
        };
        let packet = &packet;
        self.trace_marks(port, usize::from(packet.class()), Some(packet));
        let row = self.queue_row(EventKind::Dequeue, port, packet);
        // The queue before the event, as in all rows.
        self.write_row(row.map(|row| Row {
            queue_packets: row.queue_packets + 1,
            queue_bytes: row.queue_bytes + u64::from(row.size),
            ..row
        }));
    }

    /// Writes the row of a packet that is dropped at the queue of `port`.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_drop(&mut self, port: u32, packet: &Packet, why: Reason) {
        let row = self.queue_row(EventKind::Drop, port, packet).map(|row| Row { reason: Some(why), ..row });
        self.write_row(row);
    }

    /// Writes the row of a packet that is dropped by a conditioner at `port`, on the link behind the port, or at the end
    /// of that link. The queue of the port has no part in it.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_drop_apart(&mut self, port: u32, packet: &Packet, why: Reason) {
        let row = self.packet_row(EventKind::Drop, port, packet).map(|row| Row { reason: Some(why), ..row });
        self.write_row(row.map(without_queue));
    }

    /// Returns the row of the frame that reaches the end of the link of `port` now, in case that it is not lost there.
    /// `None`: no frame arrives in this partition, or the row is not selected.
    fn arrival_row(&self, port: u32) -> Option<Row> {
        let p = &self.ports[port as usize];
        let packet = p.line.front().filter(|front| front.at == self.now)?;
        if p.end.as_ref().is_some_and(|end| end.announced.is_some()) {
            return None;
        }
        if packet.is_control() {
            self.control_row(EventKind::Receive, port, packet)
        } else {
            let event = if packet.dst == p.to { EventKind::Deliver } else { EventKind::Receive };
            self.packet_row(event, port, packet).map(without_queue)
        }
    }

    /// Writes the row of the control frame whose transmission begins: the last on the link.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_control(&mut self, port: u32) {
        let Some(frame) = self.ports[port as usize].line.back() else { return };
        let row = self.control_row(EventKind::Dequeue, port, frame);
        self.write_row(row);
    }

    /// Writes the row of a control frame that is lost with its link.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_control_drop(&mut self, port: u32, frame: &Packet) {
        let row = self.control_row(EventKind::Drop, port, frame);
        self.write_row(row.map(|row| Row { reason: Some(Reason::LinkDown), ..row }));
    }

    /// Writes the row of a control frame that waited for its transmission when the link went down.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_waiting_control_drop(&mut self, port: u32, control: &ControlFrame) {
        let row = self.blank_row(EventKind::Drop, frame_kind(control), port);
        self.write_row(row.map(|row| Row {
            reason: Some(Reason::LinkDown),
            wire: control.wire(),
            size: control.wire(),
            detail: self.control_detail(control, port),
            ..row
        }));
    }

    /// Writes the row of a queue that becomes congested, or is relieved. `port` is that of the queue, or, at an input, the
    /// one towards the neighbour behind it; `level` is the occupancy and `threshold` the limit that it has passed, buffer
    /// bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_congestion(&mut self, on: bool, port: u32, cause: Cause, level: u64, threshold: Option<u64>) {
        let event = if on { EventKind::Congested } else { EventKind::Relieved };
        let row = self.blank_row(event, FrameKind::Queue, port);
        self.write_row(row.map(|row| Row {
            class: cause.class,
            queue_bytes: level,
            detail: Some(Box::new(Detail::Congestion { cause, threshold })),
            ..row
        }));
    }

    /// Writes the row of a decision to stop the neighbour behind `target` because of `source`, or to withdraw that.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_notice(&mut self, on: bool, target: u32, source: CongestionSource) {
        let event = if on { EventKind::Notify } else { EventKind::Withdraw };
        let cause = cause(source, source.port == target);
        let row = self.blank_row(event, FrameKind::Queue, target);
        self.write_row(row.map(|row| Row {
            class: cause.class,
            detail: Some(Box::new(Detail::Congestion { cause, threshold: None })),
            ..row
        }));
    }

    /// Writes the rows of the notifications that are about to take effect at `port`.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_effects(&mut self, port: u32) {
        let Queue::General(m) = &self.ports[port as usize].queue else { return };
        let due: Vec<ControlFrame> =
            m.effects.iter().take_while(|(at, _)| *at <= self.now).map(|(_, control)| control.clone()).collect();
        for control in &due {
            self.trace_effect(port, control);
        }
    }

    /// Writes the row of a notification that takes effect at `port`.
    fn trace_effect(&mut self, port: u32, control: &ControlFrame) {
        let row = self.blank_row(EventKind::Effect, frame_kind(control), port);
        self.write_row(row.map(|row| Row { detail: self.control_detail(control, port ^ 1), ..row }));
    }

    /// Notes which classes of `port` are paused; returns those that were paused at the last call and are not any more, and
    /// the number of pauses that the watchdog has ended so far. `None`: the port cannot be paused.
    fn observe_pauses(&mut self, port: u32) -> Option<(u8, u64)> {
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return None };
        let responder = m.responder.as_mut()?;
        responder.gate(self.now);
        let paused = all_if_whole(responder.paused(self.now));
        let before = self.trace.as_mut()?.paused.insert(port, paused).unwrap_or(0);
        Some((before & !paused, responder.storms))
    }

    /// Notes which classes of `port` are paused, after notifications have been applied; writes no row.
    #[cold]
    #[inline(never)]
    pub(super) fn note_pauses(&mut self, port: u32) {
        self.observe_pauses(port);
    }

    /// Writes the rows of pauses of a port that have expired, or that its watchdog has ended, since the last call.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_pauses(&mut self, port: u32) {
        let Some((opened, storms)) = self.observe_pauses(port) else { return };
        let Some(tracer) = &mut self.trace else { return };
        let ignored = storms - tracer.ignored.insert(port, storms).unwrap_or(0);
        if ignored == 0 && opened == 0 {
            return;
        }
        let event = if ignored > 0 { EventKind::Ignore } else { EventKind::Expire };
        let row = self.blank_row(event, FrameKind::Queue, port);
        let pause = Detail::Pause { classes: opened, quanta: [0; 8] };
        self.write_row(row.map(|row| Row { detail: Some(Box::new(pause)), ..row }));
    }

    fn write_row(&mut self, row: Option<Row>) {
        if let (Some(tracer), Some(row)) = (&mut self.trace, row) {
            tracer.write(row);
        }
    }

    /// Returns the tracer if rows of this kind at `port` are selected; `flow`: the index of the flow in the plan.
    fn selected(&self, event: EventKind, frame: FrameKind, port: u32, flow: Option<u32>) -> Option<&Tracer> {
        let tracer = self.trace.as_deref()?;
        (tracer.plan.has_port(port) && tracer.plan.selects(self.now, event, frame, flow)).then_some(tracer)
    }

    /// Returns a row without a packet; `None`: it is not selected.
    fn blank_row(&self, event: EventKind, frame: FrameKind, port: u32) -> Option<Row> {
        self.selected(event, frame, port, None)?;
        Some(Row {
            time: self.now,
            order: Order::default(),
            turn: 0,
            event,
            frame,
            port,
            class: 0,
            flow: Row::NO_FLOW,
            sequence: 0,
            packet: 0,
            stamp: self.now,
            payload: 0,
            size: 0,
            wire: 0,
            ecn: Ecn::NotEct,
            echo: false,
            colour: Colour::Green,
            dscp: 0,
            exp: 0,
            tag: None,
            measured: self.now >= self.plan.warmup,
            queue_packets: 0,
            queue_bytes: 0,
            reason: None,
            state: Box::default(),
            detail: None,
        })
    }

    /// Returns the row of a control frame on the link of `port`; `None`: it is not selected.
    fn control_row(&self, event: EventKind, port: u32, frame: &Packet) -> Option<Row> {
        let control = self.control_frames.get(frame.seq)?;
        let row = self.blank_row(event, frame_kind(control), port)?;
        Some(Row {
            packet: identity(u32::MAX, port, frame.born.0),
            stamp: frame.born,
            size: frame.size,
            wire: frame.wire(),
            detail: self.control_detail(control, port),
            ..row
        })
    }

    /// Returns the row of a packet that arrives at the queue of a port, leaves it or is dropped there; `None`: it is not
    /// selected, but counts.
    fn queue_row(&mut self, event: EventKind, port: u32, packet: &Packet) -> Option<Row> {
        let turn = self.trace.as_mut().map_or(0, |tracer| tracer.next_turn(port));
        self.packet_row(event, port, packet).map(|row| Row { turn, ..row })
    }

    /// Returns the row of a data packet or an acknowledgement; `None`: it is not selected.
    fn packet_row(&self, event: EventKind, port: u32, packet: &Packet) -> Option<Row> {
        let flows = self.plan.flows.len() as u32;
        let connection = packet.flow().checked_sub(flows);
        let flow = connection.map_or(packet.flow(), |c| self.transports.outgoing[c as usize].flow);
        let ack = connection.and_then(|_| self.transports.long_ack(packet));
        let frame = match connection {
            None if packet.payload == 0 && self.transports.of(flow).is_some() => FrameKind::Syn,
            None => FrameKind::Data,
            Some(_) if ack.is_some_and(|ack| ack.syn) => FrameKind::SynAck,
            Some(_) => FrameKind::Ack,
        };
        let row = self.blank_row(event, frame, port)?;
        let has_tags = self.selected(event, frame, port, Some(flow))?.has_tags;
        let class = usize::from(packet.class());
        let stamp = match (connection, ack) {
            (Some(_), Some(ack)) => ack.echo,
            _ => packet.born,
        };
        let word = if connection.is_some() { u64::from(packet.payload) } else { packet.born.0 };
        let backlog = match &self.ports[port as usize].queue {
            Queue::General(m) => m.queues[class].backlog,
            Queue::Fifo { .. } | Queue::Admission(_) => unreachable!("traced ports have the general form"),
        };
        let decides = matches!(event, EventKind::Enqueue | EventKind::Dequeue | EventKind::Drop | EventKind::Mark);
        Some(Row {
            class: packet.class(),
            flow,
            sequence: packet.seq,
            packet: identity(packet.flow(), packet.seq, word),
            stamp,
            payload: if connection.is_some() { 0 } else { packet.payload },
            size: packet.size,
            wire: packet.wire(),
            ecn: packet.ecn(),
            echo: packet.echo(),
            colour: packet.colour(),
            dscp: if has_tags { 0 } else { packet.dscp() },
            exp: if has_tags { 0 } else { packet.exp() },
            tag: if has_tags { packet.tag() } else { None },
            measured: packet.measured(),
            queue_packets: backlog.packets,
            queue_bytes: backlog.bytes,
            state: if decides { self.law_state(port, class) } else { Box::default() },
            // An acknowledgement with a one-way delay and no blocks has the row of one that fits into the packet.
            detail: (ack.filter(|ack| ack.syn || ack.has_sack())).map(|ack| Box::new(Detail::Ack { sack: ack.sack })),
            ..row
        })
    }

    /// Returns the state of the discipline of a class.
    fn law_state(&self, port: u32, class: usize) -> Box<[f64]> {
        let mut state = Vec::with_capacity(STATE);
        if let Queue::General(m) = &self.ports[port as usize].queue
            && let Waiting::Discipline(discipline) = &m.queues[class].waiting
        {
            tailback_qdisc::Qdisc::probe(discipline, &mut |_, value| state.push(value));
        }
        state.into_boxed_slice()
    }

    /// Returns the memory that a class occupies at an input of `node`, and the threshold at which the neighbour is
    /// stopped, buffer bytes; `None`: the node does not account memory by input.
    pub(super) fn input_level(&self, node: usize, slot: usize, class: usize) -> Option<(u64, u64)> {
        match &self.nodes[node].fabric {
            FabricState::Buffer(buffer) => Some(buffer.level(slot, class)),
            _ => None,
        }
    }

    /// Returns the content of a control frame that leaves by `port`.
    #[expect(clippy::unnecessary_wraps, reason = "the type of a row's field")]
    fn control_detail(&self, control: &ControlFrame, port: u32) -> Option<Box<Detail>> {
        let detail = match control {
            ControlFrame::Off(notification) | ControlFrame::On(notification) => Detail::Notice {
                cause: cause(notification.source, notification.source.port == port),
                destinations: notification.destinations.clone(),
            },
            ControlFrame::Pause(quanta) => Detail::Pause { classes: 0, quanta: [*quanta, 0, 0, 0, 0, 0, 0, 0] },
            ControlFrame::PriorityPause { enabled, quanta } => Detail::Pause { classes: *enabled, quanta: *quanta },
            ControlFrame::Feedback(message) => Detail::Feedback {
                point: message.point,
                flow: self.flow_of(message.frame.flow),
                source: message.source,
                change: match message.feedback {
                    Feedback::Stop => None,
                    Feedback::Change(change) => Some(change),
                },
            },
        };
        Some(Box::new(detail))
    }

    /// Returns the index in the plan of the flow with this flow number, for acknowledgements that of the data.
    fn flow_of(&self, number: u32) -> u32 {
        let connection = number.checked_sub(self.plan.flows.len() as u32);
        connection.map_or(number, |connection| self.transports.outgoing[connection as usize].flow)
    }
}

/// Returns the paused classes: bit k for class k, all if the whole port is paused.
fn all_if_whole((port, classes): (bool, u8)) -> u8 {
    if port { u8::MAX } else { classes }
}

/// Returns the row without the state of the port's queue.
fn without_queue(row: Row) -> Row {
    Row { queue_packets: 0, queue_bytes: 0, state: Box::default(), ..row }
}

/// Returns the hash that identifies a packet (the finaliser of SplitMix64, Steele, Lea and Flood 2014, applied twice).
fn identity(flow: u32, sequence: u32, word: u64) -> u64 {
    let mix = |value: u64| {
        let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    };
    // The lowest bit keeps it from being 0.
    mix(mix(u64::from(flow) << 32 | u64::from(sequence)).wrapping_add(word)) | 1
}

fn frame_kind(control: &ControlFrame) -> FrameKind {
    match control {
        ControlFrame::Off(_) => FrameKind::Xoff,
        ControlFrame::On(_) => FrameKind::Xon,
        ControlFrame::Pause(_) => FrameKind::Pause,
        ControlFrame::PriorityPause { .. } => FrameKind::Pfc,
        ControlFrame::Feedback(_) => FrameKind::Feedback,
    }
}

/// Returns the source of a notification as a cause; `input`: it is an input of the switch.
pub(super) fn cause(source: CongestionSource, input: bool) -> Cause {
    Cause { port: source.port, class: source.class, input, destination: source.destination }
}
