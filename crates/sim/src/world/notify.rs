//! Notification of neighbours by congested queues, with idealised messages (Tobagi, Fraleigh and Noureddine) or PAUSE
//! or PFC frames; and the queueing of all control frames for transmission.

use super::World;
use crate::control_frame::{CongestionSource, ControlFrame, MAX_ADDRESSES, Notification};
use crate::detector::{Detector, Episode, Transition};
use crate::event_queue::Kind;
use crate::hints::unlikely;
use crate::plan::{Addresses, BackPressure, Notify, Scope, Signal};
use crate::port::{ClassQueue, Queue, Waiting};
use crate::responder::quanta_time;
use crate::trace::Cause;
use std::sync::Arc;

/// Minimum interval between repetitions of a PAUSE in force, in transmission times of the PAUSE frame: repetitions take
/// at most 1/8 of a link's time. The interval, 8 · 84 B, is 10.5 quanta on a link with equal rates in both directions,
/// so that a PAUSE of at most 10 quanta expires before it is repeated.
const REFRESH_SHARE: u32 = 8;

/// Returns `true` if notifications of this scope name destination addresses.
pub(super) fn has_addresses(scope: Scope) -> bool {
    matches!(scope, Scope::Destination | Scope::ClassDestination)
}

/// Returns the occupancy that the detector of a queue observes, buffer bytes: that of the packets that share a limit
/// with a packet to `destination`, or of the memory of a reaction point. Also returns `destination` if each destination
/// has a limit of its own.
fn level(queue: &ClassQueue, destination: u16) -> (u64, Option<u16>) {
    match &queue.waiting {
        Waiting::ByDestination(q) if q.is_partitioned() => (q.bytes_to(destination), Some(destination)),
        Waiting::Limited(q) => (q.pool_bytes(), None),
        _ => (queue.backlog.bytes, None),
    }
}

/// Returns the threshold that a queue passes when it becomes congested (`on`) or is relieved (`!on`), buffer bytes.
pub(super) fn threshold(detector: &Detector, on: bool) -> u64 {
    let (high, low) = detector.thresholds();
    if on { high } else { low }
}

impl World {
    /// Returns the queue of a class at a port of the general form.
    fn class_queue(&mut self, port: u32, class: usize) -> &mut ClassQueue {
        match &mut self.ports[port as usize].queue {
            Queue::General(general) => &mut general.queues[class],
            Queue::Fifo { .. } | Queue::Admission(_) => unreachable!("only general ports detect congestion"),
        }
    }

    /// Evaluates the queue of a class after a packet to `destination` was enqueued or dequeued. `via` is the port over
    /// whose link an enqueued packet arrived; `None`: the packet was dequeued or generated at this node.
    pub(super) fn detect(&mut self, port: u32, class: usize, destination: u16, via: Option<u32>) {
        let now = self.now;
        let queue = self.class_queue(port, class);
        let (bytes, congested_destination) = level(queue, destination);
        let empty = queue.backlog.packets == 0 || bytes == 0 && matches!(queue.waiting, Waiting::Limited(_));
        let Some(detector) = &mut queue.detector else { return };
        let transition = detector.observe(now, bytes, congested_destination);
        if empty && via.is_none() {
            detector.feeders.clear();
        }
        if transition == Transition::Unchanged && (via.is_none() || detector.episodes.is_empty()) {
            return;
        }
        let Some(policy) = self.nodes[usize::from(self.ports[port as usize].from)].backpressure.clone() else { return };
        match transition {
            Transition::Congested => self.begin_episode(port, class, congested_destination, &policy),
            Transition::Relieved => self.end_episode(port, class, congested_destination, &policy),
            Transition::Unchanged => self.extend_episode(port, class, congested_destination, destination, via, &policy),
        }
    }

    /// Traces a queue that becomes congested (`on`) or is relieved (`!on`).
    fn trace_transition(&mut self, on: bool, port: u32, class: usize, destination: Option<u16>) {
        let queue = self.class_queue(port, class);
        let (bytes, _) = level(queue, destination.unwrap_or(0));
        let threshold = queue.detector.as_ref().map(|detector| threshold(detector, on));
        let cause = Cause { port, class: class as u8, input: false, destination };
        self.trace_congestion(on, port, cause, bytes, threshold);
    }

    /// Begins a congestion episode of a queue, or of a destination in it, and notifies the neighbours that the policy
    /// selects.
    fn begin_episode(&mut self, port: u32, class: usize, destination: Option<u16>, policy: &Arc<BackPressure>) {
        if unlikely(self.trace.is_some()) {
            self.trace_transition(true, port, class, destination);
        }
        let addresses =
            if has_addresses(policy.scope) { self.addresses(port, class, destination, policy) } else { Vec::new() };
        let node = usize::from(self.ports[port as usize].from);
        let candidates = self.nodes[node].ports.clone();
        let detector = self.class_queue(port, class).detector.as_ref();
        let feeders = detector.map_or_else(Vec::new, |d| d.feeders.clone());
        let targets: Vec<u32> = (candidates.into_iter())
            .filter(|out| *out != port && self.may_notify(*out, policy))
            .filter(|out| policy.notify == Notify::All || feeders.contains(&(*out ^ 1)))
            .collect();
        let source = CongestionSource { port, class: class as u8, destination };
        for target in &targets {
            self.assert_congestion(*target, source, &addresses, policy, true);
        }
        if let Some(detector) = &mut self.class_queue(port, class).detector {
            detector.episodes.push(Episode { destination, targets, addresses });
        }
    }

    /// Ends a congestion episode, and notifies the neighbours that were notified during it.
    fn end_episode(&mut self, port: u32, class: usize, destination: Option<u16>, policy: &Arc<BackPressure>) {
        let Some(detector) = &mut self.class_queue(port, class).detector else { return };
        let Some(at) = detector.episodes.iter().position(|e| e.destination == destination) else { return };
        let episode = detector.episodes.swap_remove(at);
        if unlikely(self.trace.is_some()) {
            self.trace_transition(false, port, class, destination);
        }
        let source = CongestionSource { port, class: class as u8, destination };
        for target in episode.targets {
            self.assert_congestion(target, source, &episode.addresses, policy, false);
        }
    }

    /// Extends an episode by the packet that was enqueued: notifies neighbours of the packet's destination if it is a
    /// new address, and notifies the neighbour from which it came if that is a new feeding neighbour. `congested` is
    /// the congested destination of the episode.
    fn extend_episode(
        &mut self,
        port: u32,
        class: usize,
        congested: Option<u16>,
        destination: u16,
        via: Option<u32>,
        policy: &Arc<BackPressure>,
    ) {
        let Some(via) = via else { return };
        let back = via ^ 1;
        let may_notify = back != port && self.may_notify(back, policy);
        let Some(detector) = &mut self.class_queue(port, class).detector else { return };
        let Some(episode) = detector.episode(congested) else { return };
        let source = CongestionSource { port, class: class as u8, destination: congested };
        let is_new_address = has_addresses(policy.scope)
            && policy.addresses == Addresses::Buffer
            && !episode.addresses.contains(&destination);
        let joins = policy.notify == Notify::Feeding && may_notify && !episode.targets.contains(&back);
        if is_new_address {
            episode.addresses.push(destination);
        }
        let notified = if is_new_address { episode.targets.clone() } else { Vec::new() };
        if joins {
            episode.targets.push(back);
        }
        let all_addresses = if joins { episode.addresses.clone() } else { Vec::new() };
        for target in notified {
            self.send_addresses(target, source, &[destination], policy, true);
        }
        if joins {
            self.assert_congestion(back, source, &all_addresses, policy, true);
        }
    }

    /// Returns `true` if the policy permits notifications to the neighbour behind `out`.
    pub(super) fn may_notify(&self, out: u32, policy: &BackPressure) -> bool {
        !self.nodes[usize::from(self.ports[out as usize].to)].is_host || policy.end_stations
    }

    /// Returns the destination addresses that a notification of a congested queue names; `destination` is the congested
    /// destination, `None` if destinations have no limits of their own.
    fn addresses(&mut self, port: u32, class: usize, destination: Option<u16>, policy: &BackPressure) -> Vec<u16> {
        match (destination, policy.addresses) {
            (Some(destination), Addresses::Buffer) => vec![destination],
            (_, Addresses::FilteringDatabase) => self.reached_through(port),
            (None, Addresses::Buffer) => match &self.class_queue(port, class).waiting {
                Waiting::ByDestination(q) => q.destinations().collect(),
                Waiting::Discipline(_) | Waiting::Limited(_) => Vec::new(),
            },
        }
    }

    /// Returns the hosts that a switch reaches through one of its ports.
    pub(super) fn reached_through(&self, port: u32) -> Vec<u16> {
        let node = self.ports[port as usize].from;
        let reached = |d: &u16| self.nodes[usize::from(*d)].is_host && self.routes.ports(node, *d).contains(&port);
        (0..self.nodes.len() as u16).filter(reached).collect()
    }

    /// Notifies the neighbour behind `target` that `source` is congested (`on`) or no longer congested (`!on`).
    pub(super) fn assert_congestion(
        &mut self,
        target: u32,
        source: CongestionSource,
        addresses: &[u16],
        policy: &Arc<BackPressure>,
        on: bool,
    ) {
        if unlikely(self.trace.is_some()) {
            self.trace_notice(on, target, source);
        }
        match policy.signal {
            Signal::OnOff => self.send_addresses(target, source, addresses, policy, on),
            Signal::Mac { .. } => {
                let class = if policy.scope == Scope::Class { usize::from(source.class) } else { 0 };
                let Queue::General(general) = &mut self.ports[target as usize].queue else { return };
                let asserted = &mut general.asserted[class];
                let before = *asserted;
                *asserted = if on { before + 1 } else { before - 1 };
                // A PAUSE is sent at the first congested queue. A PAUSE of zero quanta resumes all traffic, so it is
                // sent only when no queue is congested any more.
                if before == 0 || *asserted == 0 {
                    self.send_pause(target, policy, Some(class));
                }
            }
        }
    }

    /// Sends idealised notifications, XOFF (`off`) or XON (`!off`), with the addresses in as many frames as needed.
    fn send_addresses(
        &mut self,
        target: u32,
        source: CongestionSource,
        addresses: &[u16],
        policy: &BackPressure,
        off: bool,
    ) {
        let notification =
            |destinations: &[u16]| Notification { source, scope: policy.scope, destinations: destinations.to_vec() };
        let control = |notification| if off { ControlFrame::Off(notification) } else { ControlFrame::On(notification) };
        if has_addresses(policy.scope) {
            for chunk in addresses.chunks(MAX_ADDRESSES) {
                self.send_control(target, control(notification(chunk)));
            }
        } else {
            self.send_control(target, control(notification(&[])));
        }
    }

    /// Sends a PAUSE or PFC frame with the new state of class `changed`; `None`: the frame only repeats the states in
    /// force.
    fn send_pause(&mut self, target: u32, policy: &BackPressure, changed: Option<usize>) {
        let Signal::Mac { quanta } = policy.signal else { return };
        // The receiver converts quanta at the rate at which it sends.
        let rate = self.ports[target as usize ^ 1].rate;
        let Queue::General(general) = &mut self.ports[target as usize].queue else { return };
        if !general.up {
            return;
        }
        let asserts = |class: usize| general.asserted[class] > 0;
        let time = |class: usize| if asserts(class) { quanta } else { 0 };
        let control = if policy.scope == Scope::Class {
            let named = |class: usize| changed == Some(class) || asserts(class);
            let enabled = (0..8).filter(|c| named(*c)).fold(0, |mask, c| mask | 1 << c);
            ControlFrame::PriorityPause { enabled, quanta: core::array::from_fn(time) }
        } else {
            ControlFrame::Pause(time(0))
        };
        if !general.refreshing && (0..8).any(asserts) {
            general.refreshing = true;
            // A repetition after half of the pause leaves time for the frame in transmission. The interval has a lower
            // bound, since two queues that kept each other's transmitters busy with PAUSE frames would never drain.
            let min_interval = self.ports[target as usize].clock.tx_time(REFRESH_SHARE * u32::from(control.wire()));
            let at = self.now + (quanta_time(quanta, rate) / 2).max(min_interval);
            self.schedule(at, Kind::Refresh, target);
        }
        self.send_control(target, control);
    }

    /// Repeats the PAUSE of a port if a queue is still congested.
    pub(super) fn refresh(&mut self, port: u32) {
        let Some(policy) = self.nodes[usize::from(self.ports[port as usize].from)].backpressure.clone() else { return };
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        general.refreshing = false;
        if general.asserted.iter().any(|a| *a > 0) {
            self.send_pause(port, &policy, None);
        }
    }

    /// Notifies the neighbour, over a link that has come up, of all congestion in progress of which it was notified
    /// before.
    pub(super) fn renotify(&mut self, port: u32) {
        let node = usize::from(self.ports[port as usize].from);
        let Some(policy) = self.nodes[node].backpressure.clone() else { return };
        let mut active = Vec::new();
        for &congested in &self.nodes[node].ports {
            let p = &self.ports[congested as usize];
            let Queue::General(general) = &p.queue else { continue };
            for (class, detector) in
                general.queues.iter().enumerate().filter_map(|(c, q)| Some((c, q.detector.as_ref()?)))
            {
                for episode in detector.episodes.iter().filter(|e| e.targets.contains(&port)) {
                    let source =
                        CongestionSource { port: congested, class: class as u8, destination: episode.destination };
                    active.push((source, episode.addresses.clone()));
                }
            }
        }
        active.extend(self.active_at_input(port));
        active.extend(self.active_stops(port).into_iter().map(|source| (source, Vec::new())));
        match policy.signal {
            Signal::OnOff => {
                for (source, addresses) in active {
                    self.send_addresses(port, source, &addresses, &policy, true);
                }
            }
            Signal::Mac { .. } if !active.is_empty() => self.send_pause(port, &policy, None),
            Signal::Mac { .. } => (),
        }
    }

    /// Queues a control frame for transmission, or merges it into the last one that waits. If the link is down, the
    /// frame is discarded; `renotify` sends the state when the link comes up.
    pub(super) fn send_control(&mut self, port: u32, control: ControlFrame) {
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        if !general.up || general.control.back_mut().is_some_and(|waiting| waiting.overtaken_by(&control)) {
            return;
        }
        self.end_early(port);
        let Queue::General(general) = &mut self.ports[port as usize].queue else { return };
        general.notifications_sent += 1;
        general.control.push_back(control);
        self.kick(port);
    }
}
