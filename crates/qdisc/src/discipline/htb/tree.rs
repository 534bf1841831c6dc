//! State of the classes of a hierarchical token bucket.

use super::params::{LIMIT, Params};
use crate::classify::Classifier;
use crate::discipline::classes::{Classes, Inside, site_within};
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

/// The hierarchy: leaves are served in the order of the level of their lender, then of priority.
/// O(classes) per packet.
///
/// Differs from Linux: all leaves of one priority that borrow from classes of one level take turns
/// together, whichever class lends to them; buckets are exact, not in clock ticks.
#[derive(Debug)]
pub struct Htb {
    nodes: Vec<Node>,
    /// Index in `nodes` of each of `classes`, except the last class, that of packets that are not shaped.
    leaves: Vec<usize>,
    classes: Classes,
    /// Class whose turn it is, for each level of the lender and each priority.
    turns: [[u8; 8]; TOP + 1],
    /// For each of `leaves` `true` if its discipline holds back its packets in this dequeue.
    withholding: Vec<bool>,
    /// Time at which a class may send next, computed at the last dequeue without a packet. `None`: no timer is set.
    wake_at: Option<Time>,
}

/// A class of the hierarchy.
#[derive(Debug)]
struct Node {
    /// Index of the parent. `None`: the class has no parent.
    parent: Option<usize>,
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
    fn mode(&self) -> Mode {
        if self.ceil.is_in_debt() {
            Mode::Wait
        } else if self.rate.is_in_debt() {
            Mode::Borrow
        } else {
            Mode::Send
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
            Node {
                parent: class.parent.as_ref().and_then(|name| params.place(name)),
                level: if params.is_leaf(i) { 0 } else { TOP - params.depth(i) },
                prio: usize::from(class.prio),
                quantum: quantum as i64,
                deficit: [0; TOP + 1],
                rate: bucket(class.rate, class.burst),
                ceil: bucket(ceil, class.cburst),
                accounting: class.accounting.unwrap_or(params.accounting),
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
        Htb {
            nodes,
            withholding: vec![false; leaves.len()],
            classes: Classes::new(classifier, inside, site),
            leaves,
            turns: [[0; 8]; TOP + 1],
            wake_at: None,
        }
    }

    /// Returns the level of the class whose rate the leaf may use, its own or an ancestor's. `None`: the leaf must
    /// wait.
    fn lender(&self, leaf: usize) -> Option<usize> {
        let mut place = leaf;
        loop {
            match self.nodes[place].mode() {
                Mode::Send => return Some(self.nodes[place].level),
                Mode::Borrow => place = self.nodes[place].parent?,
                Mode::Wait => return None,
            }
        }
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
    /// ceiling buckets of the leaf and all ancestors.
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
        }
    }

    /// Returns the class whose turn it is, among the classes with packets that may send, and the level of its lender.
    /// `None`: no class may send.
    fn choose(&mut self) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for class in 0..self.leaves.len() {
            if self.withholding[class] || self.classes.backlog_of(class).packets == 0 {
                continue;
            }
            let Some(level) = self.lender(self.leaves[class]) else { continue };
            let rank = (level, self.nodes[self.leaves[class]].prio);
            best = Some(best.map_or(rank, |best| best.min(rank)));
        }
        let (level, prio) = best?;
        // In circular order from the class whose turn it is.
        let count = self.leaves.len();
        let fits = |class: &usize| {
            let leaf = self.leaves[*class];
            !self.withholding[*class]
                && self.classes.backlog_of(*class).packets > 0
                && self.nodes[leaf].prio == prio
                && self.lender(leaf) == Some(level)
        };
        let first = usize::from(self.turns[level][prio]);
        let class = (0..count).map(|k| (first + k) % count).find(fits)?;
        self.turns[level][prio] = class as u8;
        Some((class, level))
    }
}

/// As `htb_change_class` in Linux, which keeps the tokens; here they are limited to the new burst at once, not at the
/// next packet.
impl Retune for Htb {
    fn adopt(&mut self, now: Time, fresh: Htb) {
        self.classes.adopt(now, fresh.classes);
        let mut changes = false;
        for (node, fresh) in self.nodes.iter_mut().zip(fresh.nodes) {
            changes |= node.rate.adopt(now, &fresh.rate);
            changes |= node.ceil.adopt(now, &fresh.ceil);
            (node.prio, node.quantum, node.accounting) = (fresh.prio, fresh.quantum, fresh.accounting);
            node.deficit = node.deficit.map(|deficit| deficit.min(node.quantum));
        }
        if changes && self.wake_at.is_some() {
            self.wake_at = Some(now);
        }
    }
}

impl Qdisc for Htb {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.class(&packet);
        self.classes.enqueue(class, now, packet, cx);
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
        self.withholding.fill(false);
        while let Some((class, level)) = self.choose() {
            let Some(packet) = self.classes.dequeue(class, now, gate, cx) else {
                self.withholding[class] = true;
                continue;
            };
            let leaf = self.leaves[class];
            let node = &mut self.nodes[leaf];
            node.deficit[level] -= i64::from(packet.wire());
            if node.deficit[level] < 0 {
                node.deficit[level] += node.quantum;
                self.turns[level][node.prio] = ((class + 1) % self.leaves.len()) as u8;
            }
            self.charge(leaf, level, &packet);
            return Some(packet);
        }
        let waiting = (0..self.leaves.len())
            .filter(|class| !self.withholding[*class] && self.classes.backlog_of(*class).packets > 0);
        self.wake_at = waiting.filter_map(|class| self.next_change(self.leaves[class])).min();
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
    fn set_rate(&mut self, rate: Rate) {
        self.classes.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.classes.probe(f);
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        self.classes.each_user(f);
    }
    fn state_bytes(&self) -> usize {
        let node = |node: &Node| bytes_of!(node; deficit) + node.rate.state_bytes() + node.ceil.state_bytes();
        let nodes: usize = self.nodes.iter().map(node).sum();
        self.classes.state_bytes() + nodes + size_of_val(self.withholding.as_slice()) + bytes_of!(self; turns, wake_at)
    }
}
