//! Effect of notifications on ports.

use super::{FabricState, World};
use crate::control_frame::ControlFrame;
use crate::event_queue::Kind;
use crate::hints::unlikely;
use crate::port::{Queue, total};
use tailback_qdisc::{Cx, Gate, Packet};
use tailback_units::{Dur, Time};

impl World {
    /// Handles a control frame that left by `port` and was received at the other end. A message of a congestion point
    /// is handled at once, a notification of back-pressure takes effect in the reverse direction after the response
    /// time; a node that does not obey ignores notifications.
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
        let Queue::General(m) = &mut self.ports[back as usize].queue else { return };
        m.notifications_received += 1;
        let at = self.now + delay;
        let first = m.effects.is_empty();
        m.effects.push_back((at, control));
        if delay == Dur::ZERO && first {
            self.respond(back);
        } else if first {
            self.schedule(at, Kind::Respond, back);
        }
    }

    /// Applies the notifications at `port` that take effect now.
    pub(super) fn respond(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let rate = p.rate;
        let Queue::General(m) = &mut p.queue else { return };
        if m.effects.front().is_none_or(|(at, _)| *at > now) {
            // The link has gone down in the meantime, which cleared the notification.
            return;
        }
        if unlikely(self.trace.is_some()) {
            self.trace_effects(port);
        }
        self.end_early(port);
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        let classes = (0..m.queues.len() as u8).filter(|class| m.queues[usize::from(*class)].backlog.packets > 0);
        let busy = classes.fold(0u8, |mask, class| mask | 1 << class);
        let open =
            |gate: &Gate| (0..8).filter(|class| gate.admits_class(*class)).fold(0u8, |mask, class| mask | 1 << class);
        let before = m.responder.as_mut().map_or(0, |r| open(r.gate(now)));
        while m.effects.front().is_some_and(|(at, _)| *at <= now) {
            if let (Some((_, control)), Some(responder)) = (m.effects.pop_front(), &mut m.responder) {
                responder.apply(now, control, rate);
            }
        }
        let after = m.responder.as_mut().map_or(0, |r| open(r.gate(now)));
        let later = m.effects.front().map(|(at, _)| *at);
        let change = m.responder.as_ref().map_or(Time::NEVER, |r| r.next_change(now));
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

    /// Schedules a `Wake` of `port` at `at`, unless an earlier one is pending.
    pub(super) fn wake_at(&mut self, port: u32, at: Time) {
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        let at = at.max(self.now);
        if at < m.wake_at {
            m.wake_at = at;
            self.schedule(at, Kind::Wake, port);
        }
    }

    /// Tries to transmit again: a pause has expired, a limiter permits another frame or has changed its rate, or a
    /// discipline requested it.
    pub(super) fn wake(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(m) = &mut p.queue else { return };
        if m.wake_at != now {
            return;
        }
        m.wake_at = Time::NEVER;
        let mut change = Time::NEVER;
        for (queue, account) in m.queues.iter_mut().zip(p.classes.iter_mut()) {
            if queue.waiting.next_wakeup().is_some_and(|at| at <= now) {
                let cx = &mut Cx { rng: &mut m.rng, dropped: &mut self.dropped, marked: &mut account.marked };
                queue.waiting.wake(now, cx);
            }
            // Not again at this instant: wake-ups that are due now have just been called.
            change = change.min(queue.waiting.next_wakeup().filter(|at| *at > now).unwrap_or(Time::NEVER));
        }
        if let Some(responder) = &mut m.responder {
            responder.refresh(now);
            change = change.min(responder.next_change(now));
        }
        if !self.dropped.is_empty()
            && let Some(egress) = &mut m.egress
        {
            egress.changes(now, || total(&m.queues));
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
