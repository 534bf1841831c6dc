//! Congested queues tell the neighbours (Tobagi, Fraleigh and Noureddine: detection, notification).

use super::World;
use crate::control_frame::{CongestionSource, ControlFrame, MAX_ADDRESSES, Notification};
use crate::detector::{Episode, Transition};
use crate::event_queue::Kind;
use crate::plan::{Addresses, BackPressure, Notify, Scope, Signal};
use crate::port::{ClassQueue, Queue, Waiting};
use crate::responder::quanta_time;
use std::sync::Arc;

/// Refreshes of a standing PAUSE take at most one in so many parts of a link; a PAUSE that is too
/// short for that (below 21 quanta on a link of equal rates) lapses in between.
const REFRESH_SHARE: u32 = 8;

pub(super) fn has_addresses(scope: Scope) -> bool {
    matches!(scope, Scope::Destination | Scope::ClassDestination)
}

/// What a detector is fed: the bytes that share a limit with a packet to `destination`; of a reaction point those in the
/// memory of its rate limiters.
fn level(queue: &ClassQueue, destination: u16) -> (u64, Option<u16>) {
    match &queue.waiting {
        Waiting::ByDestination(q) if q.is_partitioned() => (q.bytes_to(destination), Some(destination)),
        Waiting::Limited(q) => (q.pool_bytes(), None),
        _ => (queue.backlog.bytes, None),
    }
}

impl World {
    fn class_queue(&mut self, port: u32, class: usize) -> &mut ClassQueue {
        match &mut self.ports[port as usize].queue {
            Queue::General(m) => &mut m.queues[class],
            Queue::Fifo { .. } | Queue::Admission(_) => unreachable!("only managed ports detect congestion"),
        }
    }

    /// Judges a class queue after an enqueue (`via` is where the packet came from) or a dequeue.
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
        let Some(law) = self.nodes[usize::from(self.ports[port as usize].from)].backpressure.clone() else { return };
        match transition {
            Transition::Congested => self.begin_episode(port, class, congested_destination, &law),
            Transition::Relieved => self.end_episode(port, class, congested_destination, &law),
            Transition::Unchanged => self.extend_episode(port, class, congested_destination, destination, via, &law),
        }
    }

    fn begin_episode(&mut self, port: u32, class: usize, destination: Option<u16>, law: &Arc<BackPressure>) {
        let addresses =
            if has_addresses(law.scope) { self.addresses(port, class, destination, law) } else { Vec::new() };
        let node = usize::from(self.ports[port as usize].from);
        let candidates = self.nodes[node].ports.clone();
        let detector = self.class_queue(port, class).detector.as_ref();
        let feeders = detector.map_or_else(Vec::new, |d| d.feeders.clone());
        let targets: Vec<u32> = (candidates.into_iter())
            .filter(|out| *out != port && self.may_notify(*out, law))
            .filter(|out| law.notify == Notify::All || feeders.contains(&(*out ^ 1)))
            .collect();
        let source = CongestionSource { port, class: class as u8, destination };
        for target in &targets {
            self.assert_congestion(*target, source, &addresses, law, true);
        }
        if let Some(detector) = &mut self.class_queue(port, class).detector {
            detector.episodes.push(Episode { destination, targets, addresses });
        }
    }

    fn end_episode(&mut self, port: u32, class: usize, destination: Option<u16>, law: &Arc<BackPressure>) {
        let Some(detector) = &mut self.class_queue(port, class).detector else { return };
        let Some(at) = detector.episodes.iter().position(|e| e.destination == destination) else { return };
        let episode = detector.episodes.swap_remove(at);
        let source = CongestionSource { port, class: class as u8, destination };
        for target in episode.targets {
            self.assert_congestion(target, source, &episode.addresses, law, false);
        }
    }

    /// During an episode: a new address in the buffer and a new feeding neighbour must be told too.
    fn extend_episode(
        &mut self,
        port: u32,
        class: usize,
        congested: Option<u16>,
        destination: u16,
        via: Option<u32>,
        law: &Arc<BackPressure>,
    ) {
        let Some(via) = via else { return };
        let back = via ^ 1;
        let may_notify = back != port && self.may_notify(back, law);
        let Some(detector) = &mut self.class_queue(port, class).detector else { return };
        let Some(episode) = detector.episode(congested) else { return };
        let source = CongestionSource { port, class: class as u8, destination: congested };
        let is_new =
            has_addresses(law.scope) && law.addresses == Addresses::Buffer && !episode.addresses.contains(&destination);
        let joins = law.notify == Notify::Feeding && may_notify && !episode.targets.contains(&back);
        if is_new {
            episode.addresses.push(destination);
        }
        let told = if is_new { episode.targets.clone() } else { Vec::new() };
        if joins {
            episode.targets.push(back);
        }
        let whole = if joins { episode.addresses.clone() } else { Vec::new() };
        for target in told {
            self.send_addresses(target, source, &[destination], law, true);
        }
        if joins {
            self.assert_congestion(back, source, &whole, law, true);
        }
    }

    /// Whether the neighbour behind `out` is told at all.
    pub(super) fn may_notify(&self, out: u32, law: &BackPressure) -> bool {
        !self.nodes[usize::from(self.ports[out as usize].to)].is_host || law.end_stations
    }

    fn addresses(&mut self, port: u32, class: usize, destination: Option<u16>, law: &BackPressure) -> Vec<u16> {
        match (destination, law.addresses) {
            (Some(destination), Addresses::Buffer) => vec![destination],
            (_, Addresses::FilteringDatabase) => self.reached_through(port),
            (None, Addresses::Buffer) => match &self.class_queue(port, class).waiting {
                Waiting::ByDestination(q) => q.destinations().collect(),
                Waiting::Discipline(_) | Waiting::Limited(_) => Vec::new(),
            },
        }
    }

    /// The hosts that a switch reaches through one of its ports.
    pub(super) fn reached_through(&self, port: u32) -> Vec<u16> {
        let node = self.ports[port as usize].from;
        let reached = |d: &u16| self.nodes[usize::from(*d)].is_host && self.routes.ports(node, *d).contains(&port);
        (0..self.nodes.len() as u16).filter(reached).collect()
    }

    /// Says (or takes back) to the neighbour behind `target` that `source` is congested.
    pub(super) fn assert_congestion(
        &mut self,
        target: u32,
        source: CongestionSource,
        addresses: &[u16],
        law: &Arc<BackPressure>,
        on: bool,
    ) {
        match law.signal {
            Signal::OnOff => self.send_addresses(target, source, addresses, law, on),
            Signal::Mac { .. } => {
                let class = if law.scope == Scope::Class { usize::from(source.class) } else { 0 };
                let Queue::General(m) = &mut self.ports[target as usize].queue else { return };
                let asserted = &mut m.asserted[class];
                let before = *asserted;
                *asserted = if on { before + 1 } else { before - 1 };
                // A PAUSE of zero releases everything: it goes out only when no queue asks any more.
                if before == 0 || *asserted == 0 {
                    self.send_pause(target, law, Some(class));
                }
            }
        }
    }

    /// Idealised notifications, the addresses split over as many frames as they need.
    fn send_addresses(
        &mut self,
        target: u32,
        source: CongestionSource,
        addresses: &[u16],
        law: &BackPressure,
        off: bool,
    ) {
        let notification =
            |destinations: &[u16]| Notification { source, scope: law.scope, destinations: destinations.to_vec() };
        let control = |notification| if off { ControlFrame::Off(notification) } else { ControlFrame::On(notification) };
        if has_addresses(law.scope) {
            for part in addresses.chunks(MAX_ADDRESSES) {
                self.send_control(target, control(notification(part)));
            }
        } else {
            self.send_control(target, control(notification(&[])));
        }
    }

    /// A PAUSE or priority PAUSE with the state of `changed` (or, in a refresh, of all that ask).
    fn send_pause(&mut self, target: u32, law: &BackPressure, changed: Option<usize>) {
        let Signal::Mac { quanta } = law.signal else { return };
        // The receiver counts quanta at the rate at which it sends.
        let rate = self.ports[target as usize ^ 1].rate;
        let Queue::General(m) = &mut self.ports[target as usize].queue else { return };
        if !m.up {
            return;
        }
        let asks = |class: usize| m.asserted[class] > 0;
        let time = |class: usize| if asks(class) { quanta } else { 0 };
        let control = if law.scope == Scope::Class {
            let named = |class: usize| changed == Some(class) || asks(class);
            let enabled = (0..8).filter(|c| named(*c)).fold(0, |mask, c| mask | 1 << c);
            ControlFrame::PriorityPause { enabled, quanta: core::array::from_fn(time) }
        } else {
            ControlFrame::Pause(time(0))
        };
        if !m.refreshing && (0..8).any(asks) {
            m.refreshing = true;
            // Half of the time leaves room for the frame in transmission on the way. Two queues that
            // kept each other's transmitters busy with PAUSE frames alone would never drain.
            let apart = self.ports[target as usize].clock.tx_time(REFRESH_SHARE * u32::from(control.wire()));
            let at = self.now + (quanta_time(quanta, rate) / 2).max(apart);
            self.schedule(at, Kind::Refresh, target);
        }
        self.send_control(target, control);
    }

    /// A standing PAUSE is repeated before it expires.
    pub(super) fn refresh(&mut self, port: u32) {
        let Some(law) = self.nodes[usize::from(self.ports[port as usize].from)].backpressure.clone() else { return };
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        m.refreshing = false;
        if m.asserted.iter().any(|a| *a > 0) {
            self.send_pause(port, &law, None);
        }
    }

    /// The link of `port` has come up: its neighbour is told what it has missed.
    pub(super) fn renotify(&mut self, port: u32) {
        let node = usize::from(self.ports[port as usize].from);
        let Some(law) = self.nodes[node].backpressure.clone() else { return };
        let mut standing = Vec::new();
        for &congested in &self.nodes[node].ports {
            let p = &self.ports[congested as usize];
            let Queue::General(m) = &p.queue else { continue };
            for (class, detector) in m.queues.iter().enumerate().filter_map(|(c, q)| Some((c, q.detector.as_ref()?))) {
                for episode in detector.episodes.iter().filter(|e| e.targets.contains(&port)) {
                    let source =
                        CongestionSource { port: congested, class: class as u8, destination: episode.destination };
                    standing.push((source, episode.addresses.clone()));
                }
            }
        }
        standing.extend(self.standing_at_input(port));
        standing.extend(self.standing_stops(port).into_iter().map(|source| (source, Vec::new())));
        match law.signal {
            Signal::OnOff => {
                for (source, addresses) in standing {
                    self.send_addresses(port, source, &addresses, &law, true);
                }
            }
            Signal::Mac { .. } if !standing.is_empty() => self.send_pause(port, &law, None),
            Signal::Mac { .. } => (),
        }
    }

    /// Hands a control to the transmitter. Over a link that is down nothing is said: what still holds
    /// when it comes up is said then.
    pub(super) fn send_control(&mut self, port: u32, control: ControlFrame) {
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        if !m.up || m.control.back_mut().is_some_and(|waiting| waiting.overtaken_by(&control)) {
            return;
        }
        self.end_early(port);
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        m.notifications_sent += 1;
        m.control.push_back(control);
        self.kick(port);
    }
}
