//! Times and virtual times of the classes, and the choice of the class to serve. Names are those of `sch_hfsc` in
//! Linux, of which this is a transcription: eligible time e, deadline d, virtual time vt, fit time f.

use super::curve::{NEVER, Running, service};
use super::params::Params;

/// A class with its curves; units as in `curve`.
#[derive(Clone, Debug, Default)]
struct Node {
    /// `None`: the root, which is not a class.
    parent: Option<usize>,
    is_leaf: bool,
    /// Deadline curve. `None`: the class has no real-time curve.
    deadline: Option<Running>,
    /// Eligible curve. `None`: the class has no real-time curve.
    eligible: Option<Running>,
    /// Link-sharing curve over virtual time. `None`: the class takes no part in link sharing.
    virtual_: Option<Running>,
    /// Upper-limit curve. `None`: no limit.
    limit: Option<Running>,
    /// Service by deadlines and by link sharing.
    total: u128,
    /// Service by deadlines.
    cumul: u128,
    /// Eligible time.
    e: u128,
    /// Deadline.
    d: u128,
    /// Virtual time.
    vt: u128,
    /// Time from which the class's own upper limit allows service.
    myf: u128,
    /// Fit time: the later of `myf` and `cfmin`.
    f: u128,
    /// Minimum of f over the active children; 0 without active children.
    cfmin: u128,
    /// Minimum virtual time of the children served in this busy period; 0 at first.
    cvtmin: u128,
    /// Maximum virtual time of the children that have become passive.
    cvtoff: u128,
    /// Lead of the class's virtual time over its link-sharing curve, because its upper limit prevented service at
    /// times.
    vtadj: u128,
    /// Number of the class's busy periods so far.
    vtperiod: u64,
    /// Number of the parent's busy period in which the class last became active.
    parentperiod: u64,
    /// Number of active children; for a leaf 1 if it is active.
    active: u32,
    /// Number of the class's last insertion into its parent's order of virtual times, which breaks ties. `None`: the
    /// class is not in that order.
    in_order: Option<u64>,
    /// `true` if the class is in the order of deadlines: a leaf with a real-time curve and packets.
    waits: bool,
}

/// All classes; the root is the last.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Number of insertions into orders of virtual times so far.
    insertions: u64,
}

/// Criterion by which a leaf was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Real-time curve: the earliest deadline of the eligible leaves.
    Deadline,
    /// Link sharing: the smallest virtual time on each level.
    Share,
}

impl Tree {
    /// Returns the classes of `params`; no class is active.
    pub fn new(params: &Params) -> Tree {
        let root = params.classes.len();
        let node = |place: usize| {
            let class = params.classes.get(place);
            let running = |curve: Option<super::Curve>| curve.map(Running::new);
            let deadline = running(class.and_then(|class| class.rt));
            Node {
                parent: class.map(|class| class.parent.as_ref().and_then(|name| params.place(name)).unwrap_or(root)),
                is_leaf: class.is_some() && params.is_leaf(place),
                deadline,
                eligible: deadline.map(Running::eligible),
                virtual_: running(class.and_then(|class| class.ls)),
                limit: running(class.and_then(|class| class.ul)),
                ..Node::default()
            }
        };
        Tree { nodes: (0..=root).map(node).collect(), insertions: 0 }
    }

    /// Takes the curves of `fresh`: a changed curve begins with the service received so far, at `now` or, for link
    /// sharing, at the present virtual time. `next` returns the counted bytes of the next packet of a leaf. Returns
    /// `true` if a curve has changed.
    ///
    /// Differs from Linux, where a changed upper limit of a class with children applies from the next packet on, and
    /// where the lead of a virtual time (`vtadj`) counts a second time after a change.
    pub fn adopt(&mut self, fresh: Tree, now: u128, next: impl Fn(usize) -> u32) -> bool {
        let (mut changes, mut limits) = (false, false);
        for (place, (node, fresh)) in self.nodes.iter_mut().zip(fresh.nodes).enumerate() {
            if let (Some(deadline), Some(fresh)) = (&mut node.deadline, fresh.deadline)
                && deadline.change(fresh, now, node.cumul)
            {
                let (deadline, eligible) = (*deadline, deadline.eligible());
                node.eligible = Some(eligible);
                if node.waits {
                    node.e = eligible.time_of(node.cumul);
                    node.d = deadline.time_of(node.cumul + service(next(place)));
                }
                changes = true;
            }
            if let (Some(curve), Some(fresh)) = (&mut node.virtual_, fresh.virtual_) {
                changes |= curve.change(fresh, node.vt.saturating_sub(node.vtadj), node.total);
            }
            let limited = match (&mut node.limit, fresh.limit) {
                (Some(limit), Some(fresh)) => limit.change(fresh, now, node.total),
                (None, Some(mut fresh)) => {
                    fresh.begin(now, node.total);
                    node.limit = Some(fresh);
                    true
                }
                (limit, None) => limit.take().is_some(),
            };
            if limited {
                node.myf = node.limit.map_or(0, |limit| limit.time_of(node.total));
            }
            limits |= limited;
        }
        if limits {
            self.update_fit_times();
        }
        changes || limits
    }

    /// Computes the fit times of the active classes from their upper limits, children first.
    fn update_fit_times(&mut self) {
        for place in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[place];
            let Some(parent) = node.parent.filter(|_| node.in_order.is_some()) else { continue };
            node.f = node.myf.max(node.cfmin);
            self.update_cfmin(parent);
        }
    }

    /// Returns `true` if a leaf is served by deadlines, so that the length of its next packet must be known.
    pub fn has_deadlines(&self, leaf: usize) -> bool {
        self.nodes[leaf].deadline.is_some()
    }
    /// Returns `true` if the leaf is active: it has packets and has been activated.
    pub fn is_active(&self, leaf: usize) -> bool {
        let node = &self.nodes[leaf];
        node.waits || node.in_order.is_some()
    }

    /// Returns the indices of a class's children.
    fn children(&self, parent: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(move |i| self.nodes[*i].parent == Some(parent))
    }
    /// Returns the indices of a class's active children, those in the order of virtual times.
    fn busy(&self, parent: usize) -> impl Iterator<Item = usize> + '_ {
        self.children(parent).filter(|i| self.nodes[*i].in_order.is_some())
    }
    /// Enters a class into its parent's order of virtual times, behind those with the same virtual time.
    fn insert(&mut self, i: usize) {
        self.insertions += 1;
        self.nodes[i].in_order = Some(self.insertions);
    }
    /// Computes the minimum fit time of a parent's active children.
    fn update_cfmin(&mut self, parent: usize) {
        let earliest = self.busy(parent).map(|i| self.nodes[i].f).min();
        self.nodes[parent].cfmin = earliest.unwrap_or_default();
    }

    /// Activates a leaf at its first packet, of `next` counted bytes (`init_ed` and `init_vf`).
    pub fn activate(&mut self, leaf: usize, next: u32, now: u128) {
        let node = &mut self.nodes[leaf];
        if let Some(deadline) = &mut node.deadline {
            deadline.restart(now, node.cumul);
            let eligible = deadline.eligible();
            node.e = eligible.time_of(node.cumul);
            node.d = deadline.time_of(node.cumul + service(next));
            node.eligible = Some(eligible);
            node.waits = true;
        }
        if node.virtual_.is_none() {
            return;
        }
        let mut goes_active = true;
        let mut place = leaf;
        while let Some(parent) = self.nodes[place].parent {
            if goes_active {
                goes_active = self.nodes[place].active == 0;
                self.nodes[place].active += 1;
            }
            if goes_active {
                self.join(place, parent, now);
            }
            let node = &mut self.nodes[place];
            node.f = node.myf.max(node.cfmin);
            self.update_cfmin(parent);
            place = parent;
        }
    }

    /// Enters a class into the order of its siblings: sets its virtual time and restarts its curves at `now`.
    fn join(&mut self, place: usize, parent: usize, now: u128) {
        let largest_vt = self.busy(parent).map(|i| self.nodes[i].vt).max();
        let above = self.nodes[parent].clone();
        let node = &mut self.nodes[place];
        match largest_vt {
            Some(largest_vt) => {
                // Half-way between the smallest and the largest virtual time of the siblings, but no smaller than the
                // class's own virtual time in the same busy period of the parent.
                #[expect(clippy::manual_midpoint, reason = "the kernel's formula (init_vf)")]
                let vt = if above.cvtmin != 0 { (above.cvtmin + largest_vt) / 2 } else { largest_vt };
                node.vt = if above.vtperiod == node.parentperiod { vt.max(node.vt) } else { vt };
            }
            None => node.vt = above.cvtoff,
        }
        if let Some(curve) = &mut node.virtual_ {
            curve.restart(node.vt, node.total);
        }
        node.vtadj = 0;
        node.vtperiod += 1;
        node.parentperiod = above.vtperiod + u64::from(above.active == 0);
        if let Some(limit) = &mut node.limit {
            limit.restart(now, node.total);
            node.myf = limit.time_of(node.total);
        }
        if largest_vt.is_none() {
            self.nodes[parent].cvtmin = 0;
        }
        self.insert(place);
    }

    /// Returns the leaf to serve at `now` and the criterion of the choice. Leaves whose discipline holds back its
    /// packets (`true` in `withholding`; a missing entry is `false`) are passed over. `None`: no leaf may be served.
    pub fn choose(&mut self, now: u128, withholding: &[bool]) -> Option<(usize, By)> {
        let releases = |i: usize| !withholding.get(i).copied().unwrap_or(false);
        let all_release = !withholding.contains(&true);
        let eligible = (0..self.nodes.len()).filter(|i| {
            let node = &self.nodes[*i];
            node.waits && node.e <= now && releases(*i)
        });
        if let Some(leaf) = eligible.min_by_key(|i| (self.nodes[*i].d, self.nodes[*i].e)) {
            return Some((leaf, By::Deadline));
        }
        let mut place = self.nodes.len() - 1;
        while !self.nodes[place].is_leaf {
            let fits = |i: &usize| self.nodes[*i].f <= now && (all_release || self.releases_within(*i, withholding));
            let first = self.busy(place).filter(fits).min_by_key(|i| (self.nodes[*i].vt, self.nodes[*i].in_order))?;
            let vt = self.nodes[first].vt;
            let above = &mut self.nodes[place];
            above.cvtmin = above.cvtmin.max(vt);
            place = first;
        }
        Some((place, By::Share))
    }

    /// Returns `true` if the class is a leaf that does not hold back its packets, or contains such an active leaf.
    fn releases_within(&self, place: usize, withholding: &[bool]) -> bool {
        if self.nodes[place].is_leaf {
            return !withholding.get(place).copied().unwrap_or(false);
        }
        self.busy(place).any(|i| self.releases_within(i, withholding))
    }

    /// Notes that a packet of `bytes` counted bytes has left a leaf that was chosen by `by` (`update_vf`, `update_ed`
    /// and `update_d`). `more`: another packet follows, of `next` counted bytes.
    pub fn served(&mut self, leaf: usize, bytes: u32, by: By, more: bool, next: u32) {
        self.advance(leaf, service(bytes), !more);
        let node = &mut self.nodes[leaf];
        if by == By::Deadline {
            node.cumul += service(bytes);
        }
        let (Some(deadline), Some(eligible)) = (node.deadline, node.eligible) else { return };
        if !more {
            node.waits = false;
            return;
        }
        if by == By::Deadline {
            node.e = eligible.time_of(node.cumul);
        }
        node.d = deadline.time_of(node.cumul + service(next));
    }

    /// Notes that the last packet of a leaf was dropped.
    pub fn emptied(&mut self, leaf: usize) {
        self.advance(leaf, 0, true);
        self.nodes[leaf].waits = false;
    }

    /// Adds `served` to the service of a leaf and its ancestors, and updates their virtual times; `goes_passive`: the
    /// leaf has no more packets (`update_vf`).
    fn advance(&mut self, leaf: usize, served: u128, mut goes_passive: bool) {
        goes_passive &= self.nodes[leaf].in_order.is_some();
        let mut place = leaf;
        while let Some(parent) = self.nodes[place].parent {
            let parent_cvtmin = self.nodes[parent].cvtmin;
            let node = &mut self.nodes[place];
            node.total += served;
            let (Some(curve), true) = (node.virtual_, node.active > 0) else {
                place = parent;
                continue;
            };
            if goes_passive {
                node.active -= 1;
                goes_passive = node.active == 0;
            }
            node.vt = curve.time_of(node.total).saturating_add(node.vtadj);
            // A smaller virtual time than that of served siblings: the class has been passed over because of its upper
            // limit.
            let behind = parent_cvtmin.saturating_sub(node.vt);
            node.vtadj += behind;
            node.vt += behind;
            if goes_passive {
                let vt = node.vt;
                node.in_order = None;
                let above = &mut self.nodes[parent];
                above.cvtoff = above.cvtoff.max(vt);
            } else {
                if let Some(limit) = node.limit {
                    node.myf = limit.time_of(node.total);
                }
                node.f = node.myf.max(node.cfmin);
                self.insert(place);
            }
            self.update_cfmin(parent);
            place = parent;
        }
    }

    /// Returns the first time after `now` at which another active leaf becomes eligible or fits its upper limits, in
    /// picoseconds. `None`: there is no such time.
    pub fn next_change(&self, now: u128) -> Option<u128> {
        let eligible = self.nodes.iter().filter(|node| node.waits).map(|node| node.e);
        let fits = self.nodes.iter().filter(|node| node.in_order.is_some()).map(|node| node.f);
        eligible.chain(fits).filter(|time| *time > now && *time != NEVER).min()
    }

    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        // Of each class: 12 times and services of 16 bytes, 2 periods, the count of active children, the position in
        // the order, and 2 flags; of each curve its 4 numbers.
        const NUMBERS: usize = 12 * 16 + 2 * 8 + 4 + 8 + 2;
        const RUNNING: usize = 4 * 16;
        let curves =
            |node: &Node| [node.deadline, node.eligible, node.virtual_, node.limit].iter().flatten().count() * RUNNING;
        self.nodes.iter().map(|node| NUMBERS + curves(node)).sum()
    }

    /// Returns the virtual time of the root, picoseconds.
    pub fn virtual_time(&self) -> u128 {
        let root = &self.nodes[self.nodes.len() - 1];
        root.cvtmin.max(root.cvtoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tailback_document::decode;

    /// The expectation is `hfsc_qlen_notify` in Linux: `update_vf` without service, and the leaf leaves the order of
    /// deadlines. The test calls the tree itself, since no present discipline drops its last packet at a dequeue.
    #[test]
    fn a_leaf_whose_last_packet_was_dropped_is_passive_and_returns_without_credit() {
        let class = |name: &str| json!({ "name": name, "ls": { "m2": "8Mbit/s" }, "rt": { "m2": "1Mbit/s" } });
        let params: Params = decode(json!({ "classes": [class("a"), class("b")] })).expect("valid parameters");
        let mut tree = Tree::new(&params);
        for leaf in [0, 1] {
            tree.activate(leaf, 1000, 0);
        }
        assert_eq!(tree.choose(0, &[]), Some((0, By::Deadline)));
        tree.served(0, 1000, By::Deadline, true, 1000);
        tree.emptied(0);
        assert!(!tree.is_active(0) && tree.is_active(1));
        // The other leaf is served by its deadline and then by its share, and leaf 0 not at all.
        for by in [By::Deadline, By::Share, By::Share] {
            assert_eq!(tree.choose(0, &[]), Some((1, by)));
            tree.served(1, 1000, by, true, 1000);
        }
        // The 3000 B of leaf 1 at 8 Mbit/s are 3 ms of virtual time; its last packet served by link sharing was chosen
        // at 2 ms. Leaf 0 returns half-way between 2 and 3 ms (`init_vf`), although its own virtual time was 1 ms.
        tree.activate(0, 1000, 0);
        assert_eq!(tree.nodes[0].vt, 2_500_000_000);
        assert_eq!(tree.nodes[0].total, service(1000));
    }

    /// Milliseconds, in picoseconds.
    const MS: u128 = 1_000_000_000;

    fn tree(classes: serde_json::Value) -> Tree {
        let params: Params = decode(json!({ "classes": classes })).expect("valid parameters");
        Tree::new(&params)
    }

    /// The expectation is `hfsc_change_rsc` in Linux, followed by `update_ed`.
    #[test]
    fn a_changed_real_time_curve_begins_at_the_time_of_the_change_with_the_service_so_far() {
        let rt =
            |rate: &str| json!([{ "name": "a", "rt": { "m2": rate } }, { "name": "b", "rt": { "m2": "1Mbit/s" } }]);
        let mut tree = tree(rt("1Mbit/s"));
        tree.activate(0, 1000, 0);
        // 8000 bit at 1 Mbit/s take 8 ms.
        assert_eq!((tree.nodes[0].e, tree.nodes[0].d), (0, 8 * MS));
        let next = |place| if place == 0 { 1000 } else { unreachable!("no packet of it waits") };
        assert!(!tree.adopt(Tree::new(&decode(json!({ "classes": rt("1Mbit/s") })).expect("valid")), 2 * MS, next));
        assert_eq!((tree.nodes[0].e, tree.nodes[0].d), (0, 8 * MS));
        // At 2 Mbit/s from 2 ms on they take 4 ms.
        assert!(tree.adopt(Tree::new(&decode(json!({ "classes": rt("2Mbit/s") })).expect("valid")), 2 * MS, next));
        assert_eq!((tree.nodes[0].e, tree.nodes[0].d), (2 * MS, 6 * MS));
        tree.served(0, 1000, By::Deadline, true, 500);
        // The second curve from 1000 B on: eligible after 4 ms, and 500 B more take 2 ms.
        assert_eq!((tree.nodes[0].e, tree.nodes[0].d), (6 * MS, 8 * MS));
    }

    #[test]
    fn a_change_of_any_class_is_reported() {
        let classes =
            |a: &str, b: &str| json!([{ "name": "a", "ls": { "m2": a } }, { "name": "b", "ls": { "m2": b } }]);
        for (a, b, changes) in [
            ("1Mbit/s", "1Mbit/s", false),
            ("2Mbit/s", "1Mbit/s", true),
            ("1Mbit/s", "2Mbit/s", true),
            ("2Mbit/s", "2Mbit/s", true),
        ] {
            let mut before = tree(classes("1Mbit/s", "1Mbit/s"));
            assert_eq!(before.adopt(tree(classes(a, b)), MS, |_| 0), changes, "{a}, {b}");
        }
    }

    /// The expectation is `hfsc_change_usc` in Linux.
    #[test]
    fn an_upper_limit_that_begins_during_a_run_holds_from_the_service_so_far() {
        let free = || json!([{ "name": "a", "ls": { "m2": "8Mbit/s" } }]);
        let limited = || json!([{ "name": "a", "ls": { "m2": "8Mbit/s" }, "ul": { "m2": "1Mbit/s" } }]);
        let mut a = tree(free());
        a.activate(0, 1000, 0);
        a.served(0, 1000, By::Share, true, 1000);
        assert_eq!((a.nodes[0].myf, a.nodes[0].f, a.next_change(0)), (0, 0, None));
        assert!(a.adopt(tree(limited()), 5 * MS, |_| 0));
        assert_eq!((a.nodes[0].myf, a.nodes[0].f, a.next_change(0)), (5 * MS, 5 * MS, Some(5 * MS)));
        // 1000 B at 1 Mbit/s take 8 ms.
        a.served(0, 1000, By::Share, true, 1000);
        assert_eq!((a.nodes[0].myf, a.nodes[0].f), (13 * MS, 13 * MS));
        assert_eq!([a.next_change(12 * MS), a.next_change(13 * MS)], [Some(13 * MS), None]);
        assert_eq!([a.choose(12 * MS, &[]), a.choose(13 * MS, &[])], [None, Some((0, By::Share))]);
        // Without its limit the class may be served at once.
        assert!(a.adopt(tree(free()), 12 * MS, |_| 0));
        assert_eq!((a.nodes[0].myf, a.nodes[0].f), (0, 0));
    }

    #[test]
    fn the_virtual_time_of_the_root_is_that_of_the_class_served_last_or_of_the_last_busy_class() {
        let mut tree =
            tree(json!([{ "name": "a", "ls": { "m2": "8Mbit/s" } }, { "name": "b", "ls": { "m2": "1Mbit/s" } }]));
        assert_eq!(tree.virtual_time(), 0);
        // 1000 B at 8 Mbit/s are 1 ms.
        tree.activate(0, 0, 0);
        for (more, virtual_time) in [(true, 0), (true, MS), (false, 3 * MS)] {
            assert_eq!(tree.choose(0, &[]), Some((0, By::Share)));
            tree.served(0, 1000, By::Share, more, 0);
            assert_eq!(tree.virtual_time(), virtual_time);
        }
    }
}
