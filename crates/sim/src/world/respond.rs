//! Effect of notifications on ports.

use super::{FabricState, World};
use crate::control_frame::ControlFrame;
use crate::event_queue::Kind;
use crate::hints::unlikely;
use crate::port::{Queue, total};
use tailback_qdisc::{Cx, Gate, Packet};
use tailback_units::{Dur, Time};

impl World {
    /// Handles a control frame that was sent at `port` and is received at the other end of the link. A message of a
    /// congestion point is handled at once. A notification of back-pressure takes effect at the reverse port after the
    /// response time; a node that does not obey ignores it.
    pub(super) fn receive_control(&mut self, port: u32, frame: Packet) {
        let control = self.control_frames.take(frame.seq);
        let (sender, receiver) = (self.ports[port as usize].from, self.ports[port as usize].to);
        if let ControlFrame::Feedback(message) = control {
            return self.receive_feedback(receiver, message);
        }
        if !self.nodes[usize::from(receiver)].obeys {
            return;
        }
        let delay = self.nodes[usize::from(sender)].backpressure.as_ref().map_or(Dur::ZERO, |b| b.response_time);
        let back = port ^ 1;
        let Queue::General(general) = &mut self.ports[back as usize].queue else { return };
        general.notifications_received += 1;
        let at = self.now + delay;
        let was_empty = general.effects.is_empty();
        general.effects.push_back((at, control));
        if delay == Dur::ZERO && was_empty {
            self.respond(back);
        } else if was_empty {
            self.schedule(at, Kind::Respond, back);
        }
    }

    /// Applies the notifications at `port` that take effect now.
    pub(super) fn respond(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let rate = p.rate;
        let Queue::General(general) = &mut p.queue else { return };
        if general.effects.front().is_none_or(|(at, _)| *at > now) {
            // The event is stale: the link has gone down in the meantime, which cleared the notifications.
            return;
        }
        if unlikely(self.trace.is_some()) {
            self.trace_effects(port);
        }
        self.end_early(port);
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        let classes =
            (0..general.queues.len() as u8).filter(|class| general.queues[usize::from(*class)].backlog.packets > 0);
        let busy = classes.fold(0u8, |mask, class| mask | 1 << class);
        let open =
            |gate: &Gate| (0..8).filter(|class| gate.admits_class(*class)).fold(0u8, |mask, class| mask | 1 << class);
        let before = general.responder.as_mut().map_or(0, |r| open(r.gate(now)));
        while general.effects.front().is_some_and(|(at, _)| *at <= now) {
            if let (Some((_, control)), Some(responder)) = (general.effects.pop_front(), &mut general.responder) {
                responder.apply(now, control, rate);
            }
        }
        let after = general.responder.as_mut().map_or(0, |r| open(r.gate(now)));
        let later = general.effects.front().map(|(at, _)| *at);
        let change = general.responder.as_ref().map_or(Time::NEVER, |r| r.next_change(now));
        if let Some(at) = later {
            self.schedule(at, Kind::Respond, port);
        }
        if unlikely(self.trace.is_some()) {
            self.note_pauses(port);
        }
        self.wake_at(port, change);
        let stopped = before & !after & busy;
        if stopped != 0 && self.accounts_by_input(port) {
            self.count_held_up(port, stopped);
        }
        self.kick(port);
        self.cross_to(port);
    }

    /// Returns `true` if the neighbour behind `port` accounts its memory by input.
    fn accounts_by_input(&self, port: u32) -> bool {
        matches!(self.nodes[usize::from(self.ports[port as usize].to)].fabric, FabricState::Buffer(_))
    }

    /// Schedules a `Wake` of `port` at `at` (now, if `at` is in the past), unless one is pending at or before that
    /// time.
    pub(super) fn wake_at(&mut self, port: u32, at: Time) {
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        let at = at.max(self.now);
        if at < general.wake_at {
            general.wake_at = at;
            self.schedule(at, Kind::Wake, port);
        }
    }

    /// Handles a `Wake` of `port`: a pause has expired, a limiter permits another frame or has changed its rate, or a
    /// discipline requested the event. The port then tries to transmit.
    pub(super) fn wake(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        if general.wake_at != now {
            return;
        }
        general.wake_at = Time::NEVER;
        let mut change = Time::NEVER;
        for (queue, account) in general.queues.iter_mut().zip(p.classes.iter_mut()) {
            if queue.waiting.next_wakeup().is_some_and(|at| at <= now) {
                let cx = &mut Cx { rng: &mut general.rng, dropped: &mut self.dropped, marked: &mut account.marked };
                queue.waiting.wake(now, cx);
            }
            // A time that is not in the future is left out, so that the port is not woken again at this instant.
            change = change.min(queue.waiting.next_wakeup().filter(|at| *at > now).unwrap_or(Time::NEVER));
        }
        if let Some(responder) = &mut general.responder {
            responder.refresh(now);
            change = change.min(responder.next_change(now));
        }
        if !self.dropped.is_empty()
            && let Some(egress) = &mut general.egress
        {
            egress.changes(now, || total(&general.queues));
        }
        if unlikely(self.trace.is_some()) {
            self.trace_pauses(port);
        }
        self.count_dropped(port);
        self.wake_at(port, change);
        self.kick(port);
        self.cross_to(port);
    }
}
