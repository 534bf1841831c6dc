//! State of the classes of a hierarchical token bucket.

use super::feed::Feed;
use super::params::{LIMIT, Params};
use crate::classify::Classifier;
use crate::discipline::classes::{Classes, Inside, as_classes, site_within};
use crate::retune::Retune;
use crate::state::bytes_of;
use crate::{Accounting, Burst, Cx, Gate, Packet, Qdisc, Site};
use tailback_diffserv::TokenBucket;
use tailback_units::{Dur, Rate, Time};

/// Level of classes without a parent, as in Linux; leaves have level 0.
const TOP: usize = 7;
/// First part of the default burst: a timer tick of 1 ms at the rate.
const TICK: Burst = Burst::Time(Dur::from_ms(1));
/// Second part of the default burst: a full packet, bytes.
const FULL_PACKET: u64 = 1_600;

/// Priorities of leaves.
const PRIORITIES: usize = 8;

/// The hierarchy: leaves are served in the order of the level of their lender, then of priority, and take turns as in
/// `sch_htb.c` of Linux. O(classes) per packet.
///
/// Differs from Linux: buckets are exact, not in clock ticks.
#[derive(Debug)]
pub struct Htb {
    nodes: Vec<Node>,
    /// Index in `nodes` of each of `classes`, except the last class, that of packets that are not shaped.
    leaves: Vec<usize>,
    classes: Classes,
    /// Classes that may send, by level and by the priority of leaves below them with packets.
    rows: Box<[[Feed; PRIORITIES]; TOP + 1]>,
    /// Time at which a class may send next, computed at the last dequeue without a packet. `None`: no timer is set.
    wake_at: Option<Time>,
}

/// A class of the hierarchy.
#[derive(Debug)]
struct Node {
    /// Index of the parent. `None`: the class has no parent.
    parent: Option<usize>,
    /// Leaf only: its index in `classes`.
    class: usize,
    /// 0 for a leaf, else [`TOP`] minus the number of ancestors.
    level: usize,
    /// Priority in borrowing, 0 (first) to 7.
    prio: usize,
    /// Wire bytes per turn.
    quantum: i64,
    /// Wire bytes that the class may still send in its turn, for each level of the lender.
    deficit: [i64; TOP + 1],
    /// Bucket of the assured rate.
    rate: TokenBucket,
    /// Bucket of the ceiling.
    ceil: TokenBucket,
    /// Overhead that the class's buckets count for a packet.
    accounting: Accounting,
    /// Mode since the last packet or the last event.
    mode: Mode,
    /// Time of the next event, at which the mode may change. `None`: the class may send.
    due: Option<Time>,
    /// Bit k: a leaf of priority k with packets is this class, or borrows from it.
    active: u8,
    /// Not of leaves: children that borrow from this class, by priority of the leaves with packets.
    feeds: Vec<Feed>,
}

/// Mode of a class, as in Linux (`HTB_CAN_SEND`, `HTB_MAY_BORROW`, `HTB_CANT_SEND`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The class may send within its own rate.
    Send,
    /// The class may send at the rate that its parent lends.
    Borrow,
    /// The class has reached its ceiling and must wait.
    Wait,
}

impl Node {
    fn fill(&mut self, now: Time) {
        self.rate.fill(now);
        self.ceil.fill(now);
    }
    /// Returns the mode as of the last `fill`, and the time at which it may change (`htb_class_mode`).
    fn computed(&self) -> (Mode, Option<Time>) {
        if self.ceil.is_in_debt() {
            (Mode::Wait, self.ceil.ready_at(0))
        } else if self.rate.is_in_debt() {
            (Mode::Borrow, self.rate.ready_at(0))
        } else {
            (Mode::Send, None)
        }
    }
}

/// Returns the token bucket of a rate, with the default burst if `burst` is `None`.
fn bucket(rate: Rate, burst: Option<Burst>) -> TokenBucket {
    TokenBucket::new(rate, burst.map_or_else(|| TICK.at(rate) + FULL_PACKET, |burst| burst.at(rate)))
}

impl Params {
    /// Returns the discipline with empty queues; the limits of `site` hold for all classes together.
    pub fn build(&self, site: &Site) -> Htb {
        Htb::new(self, site)
    }
}

impl Htb {
    /// Returns the discipline with empty queues. The parameters must have passed `check`.
    pub(super) fn new(params: &Params, site: &Site) -> Htb {
        let nodes = params.classes.iter().enumerate().map(|(i, class)| {
            let quantum = class
                .quantum
                .map_or_else(|| (class.rate.0 / 8 / u64::from(params.r2q)).clamp(1_000, 200_000), |quantum| quantum.0);
            let ceil = class.ceil.unwrap_or(class.rate);
            let level = if params.is_leaf(i) { 0 } else { TOP - params.depth(i) };
            Node {
                parent: class.parent.as_ref().and_then(|name| params.place(name)),
                class: (0..i).filter(|place| params.is_leaf(*place)).count(),
                level,
                prio: usize::from(class.prio),
                quantum: quantum as i64,
                deficit: [0; TOP + 1],
                rate: bucket(class.rate, class.burst),
                ceil: bucket(ceil, class.cburst),
                accounting: class.accounting.unwrap_or(params.accounting),
                mode: Mode::Send,
                due: None,
                active: 0,
                feeds: if level == 0 { Vec::new() } else { vec![Feed::default(); PRIORITIES] },
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let leaves: Vec<usize> = (0..nodes.len()).filter(|place| params.is_leaf(*place)).collect();
        let numbered = || leaves.iter().enumerate().map(|(class, place)| (class, &params.classes[*place]));
        let default = numbered().find(|(_, class)| params.default.as_ref() == Some(&class.name));
        let default = default.map_or(leaves.len(), |(class, _)| class);
        let matches = numbered().filter_map(|(class, leaf)| Some((leaf.matches.as_ref()?, class as u8)));
        let classifier = Classifier::new(matches, default as u8);
        let mut inside: Vec<Inside> = numbered()
            .map(|(_, leaf)| Inside::new(leaf.discipline.as_deref(), &site_within(site, leaf.limit, LIMIT)))
            .collect();
        inside.push(Inside::new(None, &site_within(site, None, LIMIT)));
        Htb { nodes, classes: Classes::new(classifier, inside, site), leaves, rows: Box::default(), wake_at: None }
    }

    /// Returns the first time at which a bucket of the leaf or of an ancestor is no longer in debt. `None`: no bucket
    /// is in debt.
    fn next_change(&self, leaf: usize) -> Option<Time> {
        let mut soonest: Option<Time> = None;
        let mut place = Some(leaf);
        while let Some(at) = place {
            let node = &self.nodes[at];
            for bucket in [&node.rate, &node.ceil] {
                if bucket.is_in_debt() {
                    soonest = [soonest, bucket.ready_at(0)].into_iter().flatten().min();
                }
            }
            place = node.parent;
        }
        soonest
    }

    /// Charges a packet of the leaf to the rate buckets of the classes from the lender's level (`level`) up, and to the
    /// ceiling buckets of the leaf and all ancestors (`htb_charge_class`).
    fn charge(&mut self, leaf: usize, level: usize, packet: &Packet) {
        let mut place = Some(leaf);
        while let Some(at) = place {
            let node = &mut self.nodes[at];
            let bytes = node.accounting.bytes(packet);
            if node.level >= level {
                node.rate.charge(bytes);
            }
            node.ceil.charge(bytes);
            place = node.parent;
            self.change(at);
        }
    }

    /// Computes the mode of a class anew, and the time of its next event if the mode has changed
    /// (`htb_change_class_mode`).
    fn change(&mut self, at: usize) {
        let (mode, due) = self.nodes[at].computed();
        if mode == self.nodes[at].mode {
            return;
        }
        let active = self.nodes[at].active;
        self.leave(at, active);
        (self.nodes[at].mode, self.nodes[at].due) = (mode, due);
        self.join(at, active);
    }

    /// Adds a class to the feeds of its ancestors and to a row, for the priorities in `mask` (`htb_activate_prios`).
    fn join(&mut self, mut at: usize, mut mask: u8) {
        while let (Mode::Borrow, Some(parent)) = (self.nodes[at].mode, self.nodes[at].parent) {
            for prio in priorities(mask) {
                let feed = &mut self.nodes[parent].feeds[prio];
                if !feed.is_empty() {
                    // The parent is already in its own feeds or row.
                    mask &= !(1 << prio);
                }
                feed.insert(at as u8);
            }
            self.nodes[parent].active |= mask;
            at = parent;
        }
        if self.nodes[at].mode == Mode::Send {
            let level = self.nodes[at].level;
            priorities(mask).for_each(|prio| self.rows[level][prio].insert(at as u8));
        }
    }

    /// Removes a class from the feeds of its ancestors and from its row, for the priorities in `mask`
    /// (`htb_deactivate_prios`).
    fn leave(&mut self, mut at: usize, mut mask: u8) {
        while let (Mode::Borrow, Some(parent)) = (self.nodes[at].mode, self.nodes[at].parent) {
            for prio in priorities(mask) {
                let feed = &mut self.nodes[parent].feeds[prio];
                feed.suspend(at as u8);
                if !feed.is_empty() {
                    mask &= !(1 << prio);
                }
            }
            self.nodes[parent].active &= !mask;
            at = parent;
        }
        if self.nodes[at].mode == Mode::Send {
            let level = self.nodes[at].level;
            priorities(mask).for_each(|prio| self.rows[level][prio].remove(at as u8));
        }
    }

    /// Notes that a leaf has packets.
    fn activate(&mut self, leaf: usize) {
        if self.nodes[leaf].active == 0 {
            let mask = 1 << self.nodes[leaf].prio;
            self.nodes[leaf].active = mask;
            self.join(leaf, mask);
        }
    }

    /// Notes that a leaf has no packets.
    fn deactivate(&mut self, leaf: usize) {
        let mask = self.nodes[leaf].active;
        self.leave(leaf, mask);
        self.nodes[leaf].active = 0;
    }

    /// Handles the events of the classes of a level, in the order of their times (`htb_do_events`).
    fn events(&mut self, level: usize, now: Time) {
        let due = |node: &Node| node.due.filter(|due| node.level == level && *due <= now);
        while let Some((_, at)) = self.nodes.iter().enumerate().filter_map(|(i, node)| Some((due(node)?, i))).min() {
            let (mode, next) = self.nodes[at].computed();
            if mode == self.nodes[at].mode {
                self.nodes[at].due = next;
            } else {
                self.change(at);
            }
        }
    }

    /// Returns the leaf whose turn it is in a row, which is not empty (`htb_lookup_leaf`).
    fn lookup(&mut self, level: usize, prio: usize) -> usize {
        // Classes above the feed that is looked at; none: the row.
        let (mut above, mut depth) = ([0; TOP + 1], 0);
        loop {
            let found = self.feed(level, prio, &above[..depth]).current().map(usize::from);
            match found {
                Some(leaf) if self.nodes[leaf].level == 0 => return leaf,
                Some(class) => {
                    above[depth] = class;
                    depth += 1;
                }
                None => {
                    self.feed(level, prio, &above[..depth]).rewind();
                    if depth > 0 {
                        depth -= 1;
                        self.feed(level, prio, &above[..depth]).pass();
                    }
                }
            }
        }
    }

    /// Returns the feed of the last class of a path, or the row if the path is empty.
    fn feed(&mut self, level: usize, prio: usize, path: &[usize]) -> &mut Feed {
        match path.last() {
            Some(class) => &mut self.nodes[*class].feeds[prio],
            None => &mut self.rows[level][prio],
        }
    }

    /// Passes the turn from a leaf to the next one that borrows from the same class, or to the next one in its row.
    fn pass(&mut self, leaf: usize, level: usize, prio: usize) {
        match self.nodes[leaf].parent.filter(|_| level > 0) {
            Some(parent) => self.nodes[parent].feeds[prio].pass(),
            None => self.rows[level][prio].pass(),
        }
    }

    /// Takes a packet from the leaf whose turn it is, or from the next one that releases a packet (`htb_dequeue_tree`).
    fn serve(&mut self, level: usize, prio: usize, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        // First leaf that has withheld its packets since a leaf without packets was found.
        let mut first = None;
        while !self.rows[level][prio].is_empty() {
            let leaf = self.lookup(level, prio);
            let class = self.nodes[leaf].class;
            if self.classes.backlog_of(class).packets == 0 {
                self.deactivate(leaf);
                first = first.filter(|first| *first != leaf);
                continue;
            }
            if first == Some(leaf) {
                return None;
            }
            let Some(packet) = self.classes.dequeue(class, now, gate, cx) else {
                first = first.or(Some(leaf));
                self.pass(leaf, level, prio);
                continue;
            };
            let node = &mut self.nodes[leaf];
            node.deficit[level] -= i64::from(packet.wire());
            if node.deficit[level] < 0 {
                node.deficit[level] += node.quantum;
                self.pass(leaf, level, prio);
            }
            if self.classes.backlog_of(class).packets == 0 {
                self.deactivate(leaf);
            }
            self.charge(leaf, level, &packet);
            return Some(packet);
        }
        None
    }
}

/// Returns the priorities in a mask.
fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |prio| mask >> prio & 1 == 1)
}

/// As `htb_change_class` in Linux, which keeps the tokens; here they are limited to the new burst at once, not at the
/// next packet.
impl Retune for Htb {
    fn adopt(&mut self, now: Time, fresh: Htb) {
        self.classes.adopt(now, fresh.classes);
        let mut changes = false;
        for (at, fresh) in fresh.nodes.into_iter().enumerate() {
            let active = self.nodes[at].active;
            if fresh.prio != self.nodes[at].prio && active != 0 && fresh.level == 0 {
                self.deactivate(at);
                self.nodes[at].prio = fresh.prio;
                self.activate(at);
            }
            let node = &mut self.nodes[at];
            changes |= node.rate.adopt(now, &fresh.rate);
            changes |= node.ceil.adopt(now, &fresh.ceil);
            (node.prio, node.quantum, node.accounting) = (fresh.prio, fresh.quantum, fresh.accounting);
            node.deficit = node.deficit.map(|deficit| deficit.min(node.quantum));
        }
        if changes {
            // The mode and the next event depend on rates and bursts.
            self.nodes.iter_mut().for_each(|node| node.due = Some(now));
            self.wake_at = self.wake_at.map(|_| now);
        }
    }
}

impl Qdisc for Htb {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.class(&packet);
        self.classes.enqueue(class, now, packet, cx);
        if let Some(leaf) = self.leaves.get(class).copied()
            && self.classes.backlog_of(class).packets > 0
        {
            self.activate(leaf);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.classes.transmitted(now, cx);
        if let Some(packet) = self.classes.dequeue(self.leaves.len(), now, gate, cx) {
            return Some(packet);
        }
        if self.classes.packets() == 0 {
            return None;
        }
        self.nodes.iter_mut().for_each(|node| node.fill(now));
        for level in 0..=TOP {
            self.events(level, now);
            for prio in 0..PRIORITIES {
                if let Some(packet) = self.serve(level, prio, now, gate, cx) {
                    return Some(packet);
                }
            }
        }
        let waiting = (0..self.leaves.len()).filter(|class| self.classes.backlog_of(*class).packets > 0);
        self.wake_at = waiting.filter_map(|class| self.next_change(self.leaves[class])).filter(|at| *at > now).min();
        None
    }
    fn packets(&self) -> u64 {
        self.classes.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
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
        self.classes.idle(now, cx);
    }
    as_classes!(inner);
    fn state_bytes(&self) -> usize {
        let node = |node: &Node| {
            let feeds: usize = node.feeds.iter().map(Feed::state_bytes).sum();
            let buckets = node.rate.state_bytes() + node.ceil.state_bytes();
            buckets + feeds + bytes_of!(node; deficit, mode, due, active)
        };
        let nodes: usize = self.nodes.iter().map(node).sum();
        let rows: usize = self.rows.iter().flatten().map(Feed::state_bytes).sum();
        self.classes.state_bytes() + nodes + rows + bytes_of!(self; wake_at)
    }
}
