//! The packets of the classes, and the choice of the next one.

use super::params::{LIMIT, Params};
use super::tree::Tree;
use crate::classify::Classifier;
use crate::discipline::classes::{Classes, Inside, site_within};
use crate::retune::Retune;
use crate::{Accounting, Cx, Gate, Packet, Qdisc, Reason, Site};
use tailback_units::{Rate, Time};

/// Leaves served by deadline, else by virtual time. O(classes · depth) per packet.
///
/// A deadline depends on the length of the next packet. Therefore a leaf with a real-time curve takes its next packet
/// from its queue in advance, as Linux does for leaves other than a FIFO (`qdisc_peek_dequeued`).
#[derive(Debug)]
pub struct Hfsc {
    tree: Tree,
    /// Index in the tree of each of `classes`. The classifier assigns packets without a match to a further class, which
    /// has no index: they are dropped.
    leaves: Vec<usize>,
    /// For each index in the tree, the index of the class in `classes`; `usize::MAX` for a class with children.
    numbers: Vec<usize>,
    classes: Classes,
    /// The packet of each class that is taken in advance.
    ready: Vec<Option<Packet>>,
    /// Limits of each class.
    sites: Vec<Site>,
    /// Limits of all classes together.
    site: Site,
    /// For each index in the tree `true` if the leaf's discipline holds back its packets in this dequeue.
    withholding: Vec<bool>,
    /// Class of the packet in transmission. `None`: there is no such packet.
    served: Option<usize>,
    accounting: Accounting,
    /// Time at which a leaf may be served next, computed at the last dequeue without a packet. `None`: no timer is set.
    wake_at: Option<Time>,
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Hfsc {
        Hfsc::new(self, site)
    }
}

impl Hfsc {
    /// Returns the discipline with empty queues. The parameters must have passed `check`.
    pub(super) fn new(params: &Params, site: &Site) -> Hfsc {
        let leaves: Vec<usize> = (0..params.classes.len()).filter(|place| params.is_leaf(*place)).collect();
        let numbered = || leaves.iter().enumerate().map(|(class, place)| (class, &params.classes[*place]));
        let default = numbered().find(|(_, class)| params.default.as_ref() == Some(&class.name));
        let default = default.map_or(leaves.len(), |(class, _)| class);
        let matches = numbered().filter_map(|(class, leaf)| Some((leaf.matches.as_ref()?, class as u8)));
        let classifier = Classifier::new(matches, default as u8);
        let sites: Vec<Site> = numbered().map(|(_, leaf)| site_within(site, leaf.limit, LIMIT)).collect();
        let inside = numbered().zip(&sites).map(|((_, leaf), own)| Inside::new(leaf.discipline.as_deref(), own));
        let mut numbers = vec![usize::MAX; params.classes.len()];
        for (class, place) in leaves.iter().enumerate() {
            numbers[*place] = class;
        }
        Hfsc {
            tree: Tree::new(params),
            withholding: vec![false; params.classes.len()],
            classes: Classes::new(classifier, inside.collect(), site),
            ready: leaves.iter().map(|_| None).collect(),
            leaves,
            numbers,
            sites,
            site: *site,
            served: None,
            accounting: params.accounting,
            wake_at: None,
        }
    }

    /// Returns the numbers of packets and buffer bytes that wait in a class, with the packet taken in advance.
    fn waiting(&self, class: usize) -> (u64, u64) {
        let (inside, ready) = (self.classes.backlog_of(class), self.ready[class].as_ref());
        (inside.packets + u64::from(ready.is_some()), inside.bytes + ready.map_or(0, |packet| u64::from(packet.size)))
    }
    /// Returns the buffer bytes of the packets taken in advance.
    fn ready_bytes(&self) -> u64 {
        self.ready.iter().flatten().map(|packet| u64::from(packet.size)).sum()
    }

    /// Activates a class that has packets and is not active; with a real-time curve only if its
    /// discipline releases a packet.
    fn start(&mut self, class: usize, now: Time, cx: &mut Cx<'_>) {
        let leaf = self.leaves[class];
        if self.tree.is_active(leaf) {
            return;
        }
        let next = if self.tree.has_deadlines(leaf) {
            if self.ready[class].is_none() {
                self.ready[class] = self.classes.dequeue(class, now, &Gate::default(), cx);
            }
            let Some(packet) = &self.ready[class] else { return };
            self.accounting.bytes(packet)
        } else if self.classes.backlog_of(class).packets > 0 {
            0
        } else {
            return;
        };
        self.tree.activate(leaf, next, u128::from(now.0));
    }

    /// Removes and returns the next packet of a class. `None`: no packet may leave now.
    fn take(&mut self, class: usize, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.tree.has_deadlines(self.leaves[class]) {
            return self.classes.dequeue(class, now, gate, cx);
        }
        let head = self.ready[class].as_ref()?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = self.ready[class].take();
        self.ready[class] = self.classes.dequeue(class, now, &Gate::default(), cx);
        packet
    }

    /// Notes that the transmitter is free: reports to the class of the last packet that it is idle, if it is empty.
    fn report_idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        if let Some(class) = self.served.take()
            && self.waiting(class).0 == 0
        {
            self.classes.class_idle(class, now, cx);
        }
    }
}

impl Retune for Hfsc {
    fn adopt(&mut self, now: Time, fresh: Hfsc) {
        self.classes.adopt(now, fresh.classes);
        (self.sites, self.site, self.accounting) = (fresh.sites, fresh.site, fresh.accounting);
        let next = |leaf: usize| {
            let class = self.numbers.get(leaf).copied().unwrap_or(usize::MAX);
            let ready = self.ready.get(class).and_then(Option::as_ref);
            ready.map_or(0, |packet| self.accounting.bytes(packet))
        };
        if self.tree.adopt(fresh.tree, u128::from(now.0), next) && self.wake_at.is_some() {
            self.wake_at = Some(now);
        }
    }
}

impl Qdisc for Hfsc {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.class(&packet);
        let Some(own) = self.sites.get(class) else { return cx.drop(packet, Reason::Policed) };
        let (packets, bytes) = self.waiting(class);
        let all = self.classes.bytes() + self.ready_bytes();
        if own.is_full(packets, bytes, packet.size) || self.site.is_full(self.packets(), all, packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        self.classes.enqueue(class, now, packet, cx);
        self.start(class, now, cx);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.report_idle(now, cx);
        if self.packets() == 0 {
            return None;
        }
        for class in 0..self.leaves.len() {
            self.start(class, now, cx);
        }
        self.withholding.fill(false);
        let time = u128::from(now.0);
        while let Some((leaf, by)) = self.tree.choose(time, &self.withholding) {
            let class = self.numbers[leaf];
            let Some(packet) = self.take(class, now, gate, cx) else {
                if self.waiting(class).0 == 0 {
                    // The leaf's discipline has dropped all remaining packets.
                    self.tree.emptied(leaf);
                } else {
                    self.withholding[leaf] = true;
                }
                continue;
            };
            let has_deadlines = self.tree.has_deadlines(leaf);
            let more =
                if has_deadlines { self.ready[class].is_some() } else { self.classes.backlog_of(class).packets > 0 };
            let next = self.ready[class].as_ref().map_or(0, |packet| self.accounting.bytes(packet));
            self.tree.served(leaf, self.accounting.bytes(&packet), by, more, next);
            self.served = Some(class);
            return Some(packet);
        }
        let change = self.tree.next_change(time).and_then(|at| u64::try_from(at).ok());
        self.wake_at = change.map(Time);
        None
    }
    fn packets(&self) -> u64 {
        self.classes.packets() + self.ready.iter().flatten().count() as u64
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.ready.iter().flatten().for_each(&mut *f);
        self.classes.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        [self.wake_at, self.classes.next_wakeup()].into_iter().flatten().min()
    }
    fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.wake_at = self.wake_at.filter(|at| *at > now);
        self.classes.wake(now, cx);
    }
    fn watches_idle(&self) -> bool {
        self.classes.watches_idle()
    }
    fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.served = None;
        self.classes.idle(now, cx);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.site.rate = rate;
        self.classes.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("virtual_time", self.tree.virtual_time() as f64 * 1e-12);
        self.classes.probe(f);
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        self.classes.each_user(f);
    }
    fn state_bytes(&self) -> usize {
        let flags = size_of_val(self.withholding.as_slice()) + size_of_val(&self.served) + size_of_val(&self.wake_at);
        self.tree.state_bytes() + self.classes.state_bytes() + flags
    }
}
