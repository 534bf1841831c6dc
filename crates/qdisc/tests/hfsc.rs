//! Hierarchical fair service curves against a transcription of `net/sched/sch_hfsc.c` of Linux, with exact times and
//! curves instead of ticks and scaled slopes. Times are in ps and service is in 10^-12 bit.

use crate::common::{Held, Traffic, assert_same, departures, drive};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Ecn, Site, Spec};
use tailback_units::{Rate, Time};

const RATE: Rate = Rate(10_000_000);
const BYTE: i128 = 8_000_000_000_000;
/// `HT_INFINITY`.
const INFINITY: i128 = i128::MAX / 4;

/// `struct internal_sc`: slopes in bit/s, duration of the first piece.
#[derive(Clone, Copy)]
struct Curve {
    m1: i128,
    dx: i128,
    m2: i128,
}

/// `struct runtime_sc`.
#[derive(Clone, Copy)]
struct Runtime {
    x: i128,
    y: i128,
    dx: i128,
    dy: i128,
    isc: Curve,
}

impl Runtime {
    /// `rtsc_init`.
    fn new(isc: Curve) -> Runtime {
        Runtime { x: 0, y: 0, dx: isc.dx, dy: isc.dx * isc.m1, isc }
    }
    /// `rtsc_y2x`.
    fn y2x(&self, y: i128) -> i128 {
        let segment = |y: i128, slope: i128| match (y, slope) {
            (0, _) => 0,
            (_, 0) => INFINITY,
            _ => (y + slope - 1) / slope,
        };
        if y < self.y {
            self.x
        } else if y > self.y + self.dy {
            self.x + self.dx + segment(y - self.y - self.dy, self.isc.m2)
        } else if self.dy == 0 {
            self.x + self.dx
        } else {
            self.x + segment(y - self.y, self.isc.m1)
        }
    }
    /// `rtsc_x2y`.
    fn x2y(&self, x: i128) -> i128 {
        if x > self.x + self.dx {
            self.y + self.dy + (x - self.x - self.dx) * self.isc.m2
        } else {
            self.y + (x - self.x).max(0) * self.isc.m1
        }
    }
    /// `rtsc_min`.
    fn min(&mut self, x: i128, y: i128) {
        let isc = self.isc;
        let y1 = self.x2y(x);
        if isc.m1 <= isc.m2 {
            if y1 >= y {
                (self.x, self.y) = (x, y);
            }
        } else if y1 > y {
            let dx = if self.x2y(x + isc.dx) >= y + isc.dx * isc.m1 {
                isc.dx
            } else {
                (y1 - y) / (isc.m1 - isc.m2) + (self.x + self.dx - x).max(0)
            };
            *self = Runtime { x, y, dx, dy: dx * isc.m1, isc };
        }
    }
    /// The eligible curve of a deadline curve (`init_ed`).
    fn eligible(mut self) -> Runtime {
        if self.isc.m1 <= self.isc.m2 {
            (self.dx, self.dy) = (0, 0);
        }
        self
    }
}

/// `struct hfsc_class`; a red-black tree of Linux is a set of (key, number of the insertion, class).
#[derive(Default)]
struct Class {
    parent: Option<usize>,
    has_children: bool,
    queue: VecDeque<Held>,
    total: i128,
    cumul: i128,
    d: i128,
    e: i128,
    vt: i128,
    f: i128,
    myf: i128,
    cfmin: i128,
    cvtmin: i128,
    vtadj: i128,
    cvtoff: i128,
    deadline: Option<Runtime>,
    eligible: Option<Runtime>,
    virtual_: Option<Runtime>,
    ulimit: Option<Runtime>,
    vtperiod: u64,
    parentperiod: u64,
    nactive: usize,
    vt_tree: BTreeSet<(i128, u64, usize)>,
    cf_tree: BTreeSet<(i128, usize)>,
    /// Number of the last insertion into the parent's `vt_tree`, or into `eligible`.
    place: [u64; 2],
}

/// `struct hfsc_sched`; class 0 is the root.
struct Hfsc {
    classes: Vec<Class>,
    eligible: BTreeSet<(i128, u64, usize)>,
    insertions: u64,
}

fn length(held: Option<&Held>) -> i128 {
    held.map_or(0, |held| i128::from(held.size) * BYTE)
}

impl Hfsc {
    fn remove_eligible(&mut self, i: usize) {
        let class = &self.classes[i];
        self.eligible.remove(&(class.e, class.place[1], i));
    }
    fn insert_eligible(&mut self, i: usize) {
        self.insertions += 1;
        let class = &mut self.classes[i];
        class.place[1] = self.insertions;
        self.eligible.insert((class.e, class.place[1], i));
    }
    fn remove_vt(&mut self, i: usize, parent: usize, old: i128) {
        let key = (old, self.classes[i].place[0], i);
        assert!(self.classes[parent].vt_tree.remove(&key), "the class is in the tree");
    }
    fn insert_vt(&mut self, i: usize, parent: usize) {
        self.insertions += 1;
        self.classes[i].place[0] = self.insertions;
        let key = (self.classes[i].vt, self.insertions, i);
        self.classes[parent].vt_tree.insert(key);
    }
    fn update_cfmin(&mut self, i: usize) {
        self.classes[i].cfmin = self.classes[i].cf_tree.first().map_or(0, |(f, _)| *f);
    }
    fn init_ed(&mut self, i: usize, now: i128) {
        let class = &mut self.classes[i];
        let Some(deadline) = &mut class.deadline else { return };
        deadline.min(now, class.cumul);
        class.eligible = Some(deadline.eligible());
        class.e = deadline.eligible().y2x(class.cumul);
        class.d = deadline.y2x(class.cumul + length(class.queue.front()));
        self.insert_eligible(i);
    }
    fn init_vf(&mut self, leaf: usize, now: i128) {
        let (mut i, mut go_active) = (leaf, true);
        while let Some(parent) = self.classes[i].parent {
            if go_active {
                self.classes[i].nactive += 1;
                go_active = self.classes[i].nactive == 1;
            }
            if go_active {
                let (last, above) = (self.classes[parent].vt_tree.last().copied(), &mut self.classes[parent]);
                let (cvtmin, cvtoff, period, nactive) = (above.cvtmin, above.cvtoff, above.vtperiod, above.nactive);
                if last.is_none() {
                    above.cvtmin = 0;
                }
                let class = &mut self.classes[i];
                match last {
                    None => class.vt = cvtoff,
                    Some((max, ..)) => {
                        let vt = if cvtmin == 0 { max } else { i128::midpoint(cvtmin, max) };
                        if period != class.parentperiod || vt > class.vt {
                            class.vt = vt;
                        }
                    }
                }
                let (vt, total) = (class.vt, class.total);
                class.virtual_.as_mut().expect("a link-sharing curve").min(vt, total);
                class.vtadj = 0;
                class.vtperiod += 1;
                class.parentperiod = if nactive == 0 { period + 1 } else { period };
                class.f = 0;
                if let Some(ulimit) = &mut class.ulimit {
                    ulimit.min(now, class.total);
                    class.myf = ulimit.y2x(class.total);
                }
                self.insert_vt(i, parent);
                self.classes[parent].cf_tree.insert((0, i));
            }
            self.update_f(i, parent);
            i = parent;
        }
    }
    /// The fit time in `init_vf` and `update_vf`.
    fn update_f(&mut self, i: usize, parent: usize) {
        let class = &mut self.classes[i];
        let (old, new) = (class.f, class.myf.max(class.cfmin));
        class.f = new;
        assert!(self.classes[parent].cf_tree.remove(&(old, i)), "the class is in the tree");
        self.classes[parent].cf_tree.insert((new, i));
        self.update_cfmin(parent);
    }
    fn update_vf(&mut self, leaf: usize, len: i128) {
        let shares = self.classes[leaf].virtual_.is_some();
        let (mut i, mut go_passive) = (leaf, shares && self.classes[leaf].queue.is_empty());
        while let Some(parent) = self.classes[i].parent {
            let cvtmin = self.classes[parent].cvtmin;
            let class = &mut self.classes[i];
            class.total += len;
            if let (Some(curve), true) = (class.virtual_, class.nactive > 0) {
                if go_passive {
                    class.nactive -= 1;
                    go_passive = class.nactive == 0;
                }
                let old = class.vt;
                class.vt = curve.y2x(class.total) + class.vtadj;
                if class.vt < cvtmin {
                    class.vtadj += cvtmin - class.vt;
                    class.vt = cvtmin;
                }
                let (vt, f) = (class.vt, class.f);
                self.remove_vt(i, parent, old);
                if go_passive {
                    let above = &mut self.classes[parent];
                    above.cvtoff = above.cvtoff.max(vt);
                    above.cf_tree.remove(&(f, i));
                    self.update_cfmin(parent);
                } else {
                    self.insert_vt(i, parent);
                    let class = &mut self.classes[i];
                    if let Some(ulimit) = class.ulimit {
                        class.myf = ulimit.y2x(class.total);
                    }
                    self.update_f(i, parent);
                }
            }
            i = parent;
        }
    }
    /// `vttree_get_minvt`.
    fn min_vt(&mut self, now: i128) -> Option<usize> {
        if self.classes[0].cfmin > now {
            return None;
        }
        let mut i = 0;
        while self.classes[i].has_children {
            let mut tree = self.classes[i].vt_tree.iter();
            let (vt, _, child) = *tree.find(|(_, _, child)| self.classes[*child].f <= now)?;
            self.classes[i].cvtmin = self.classes[i].cvtmin.max(vt);
            i = child;
        }
        Some(i)
    }
    fn enqueue(&mut self, i: usize, held: Held, now: i128) {
        self.classes[i].queue.push_back(held);
        if self.classes[i].queue.len() == 1 {
            self.init_ed(i, now);
            if self.classes[i].virtual_.is_some() {
                self.init_vf(i, now);
            }
        }
    }
    /// Returns the packet to send, or the time for which the timer is set.
    fn dequeue(&mut self, now: i128) -> Result<Held, Option<i128>> {
        // `eltree_get_mindl`: of equal deadlines the first in the order of eligible times.
        let due = self.eligible.iter().filter(|(e, ..)| *e <= now).map(|(.., i)| *i).min_by_key(|i| self.classes[*i].d);
        let Some(i) = due.or_else(|| self.min_vt(now)) else {
            let cfmin = Some(self.classes[0].cfmin).filter(|cfmin| *cfmin != 0);
            return Err(self.eligible.first().map(|(e, ..)| *e).into_iter().chain(cfmin).min());
        };
        let held = self.classes[i].queue.pop_front().expect("a packet");
        let len = length(Some(&held));
        self.update_vf(i, len);
        let class = &mut self.classes[i];
        if due.is_some() {
            class.cumul += len;
        }
        if let Some(deadline) = class.deadline {
            let next = length(class.queue.front());
            let (empty, cumul) = (class.queue.is_empty(), class.cumul);
            if !empty {
                class.d = deadline.y2x(cumul + next);
            }
            if empty || due.is_some() {
                self.remove_eligible(i);
            }
            if !empty && due.is_some() {
                let class = &mut self.classes[i];
                class.e = class.eligible.expect("an eligible curve").y2x(cumul);
                self.insert_eligible(i);
            }
        }
        Ok(held)
    }
}

/// A service curve: m1 in kbit/s, d in ms, m2 in kbit/s.
type Sc = Option<(i128, i128, i128)>;
/// A class of a test: index of the parent in the list, curves `rt`, `ls` and `ul`.
type Row = (Option<usize>, Sc, Sc, Sc);

/// Returns the indices of the leaves.
fn leaves(rows: &[Row]) -> Vec<usize> {
    (0..rows.len()).filter(|i| rows.iter().all(|row| row.0 != Some(*i))).collect()
}

/// Returns Linux's scheduler of these classes; class i + 1 is that of row i.
fn reference(rows: &[Row]) -> Hfsc {
    let curve =
        |sc: Sc| sc.map(|(m1, d, m2)| Runtime::new(Curve { m1: m1 * 1_000, dx: d * 1_000_000_000, m2: m2 * 1_000 }));
    let class = |(i, (parent, rt, ls, ul)): (usize, &Row)| Class {
        parent: Some(parent.map_or(0, |parent| parent + 1)),
        has_children: rows.iter().any(|row| row.0 == Some(i)),
        deadline: curve(*rt),
        virtual_: curve(*ls),
        ulimit: curve(*ul),
        ..Class::default()
    };
    let root = Class { has_children: true, ..Class::default() };
    let classes = core::iter::once(root).chain(rows.iter().enumerate().map(class)).collect();
    Hfsc { classes, eligible: BTreeSet::new(), insertions: 0 }
}

/// Returns the document of these classes; flow k belongs to the k-th leaf.
fn document(rows: &[Row]) -> Value {
    let leaves = leaves(rows);
    let class = |(i, (parent, rt, ls, ul)): (usize, &Row)| {
        let mut class = json!({ "name": format!("c{i}") });
        for (key, curve) in [("rt", rt), ("ls", ls), ("ul", ul)] {
            if let Some((m1, d, m2)) = curve {
                class[key] = json!({ "m2": format!("{m2}kbit/s"), "d": format!("{d}ms") });
                if *m1 > 0 {
                    class[key]["m1"] = json!(format!("{m1}kbit/s"));
                }
            }
        }
        if let Some(parent) = parent {
            class["parent"] = json!(format!("c{parent}"));
        }
        if let Some(flow) = leaves.iter().position(|leaf| *leaf == i) {
            class["match"] = json!({ "flow": flow });
            class["limit"] = json!("1000000packets");
        }
        class
    };
    json!({ "kind": "hfsc", "classes": rows.iter().enumerate().map(class).collect::<Vec<_>>() })
}

/// Fails unless this crate and Linux send the same packets at the same times.
fn compare(rows: &[Row], seed: u64) {
    let (leaves, sizes) = (leaves(rows), &[1500, 1487, 577, 61, 1009]);
    let traffic = Traffic { flows: leaves.len() as u64, packets: 10_000, sizes, ..Traffic::default() };
    let mut arrivals = traffic.draw(seed);
    for a in &mut arrivals {
        a.ecn = Ecn::NotEct;
    }
    let mut linux = reference(rows);
    let theirs = drive(RATE, &arrivals, |now, arrival| {
        let time = i128::from(now.0);
        if let Some(a) = arrival {
            linux.enqueue(leaves[a.flow as usize] + 1, Held::new(a), time);
            return (None, now);
        }
        match linux.dequeue(time) {
            Ok(held) => (Some((held.seq, held.size)), Time::NEVER),
            Err(timer) => (None, timer.map_or(Time::NEVER, |at| Time(at as u64))),
        }
    });
    let spec: Spec = decode(document(rows)).unwrap();
    Checked::check(&spec).unwrap();
    let mut q = spec.build(&Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE });
    let ours = departures(&mut q, RATE, &arrivals);
    assert_same(&ours, &theirs);
    assert_eq!(ours.len(), arrivals.len());
}

#[test]
fn leaves_with_guarantees_and_shares_send_as_in_linux() {
    let rows = [
        (None, None, Some((0, 0, 9_000)), None),
        (Some(0), Some((3_000, 5, 800)), Some((0, 0, 3_000)), None),
        (Some(0), Some((0, 8, 2_000)), Some((4_000, 10, 1_000)), None),
        (Some(0), Some((0, 0, 1_500)), None, None),
        (None, None, Some((0, 20, 1_000)), None),
    ];
    for seed in 1..4 {
        compare(&rows, seed);
    }
}

#[test]
fn classes_at_their_ceilings_send_as_in_linux() {
    let rows = [
        (None, None, Some((0, 0, 9_000)), Some((9_500, 20, 8_000))),
        (Some(0), None, Some((6_000, 10, 3_000)), Some((0, 0, 6_000))),
        (Some(1), Some((0, 0, 700)), Some((0, 0, 2_000)), Some((5_000, 3, 1_500))),
        (Some(1), None, Some((0, 5, 1_000)), None),
        (Some(0), None, Some((0, 0, 4_000)), Some((0, 10, 3_000))),
        (Some(0), None, Some((0, 0, 2_000)), None),
    ];
    for seed in 1..4 {
        compare(&rows, seed);
    }
}

#[test]
fn leaves_below_the_root_send_as_in_linux() {
    let rows = [
        (None, Some((2_000, 4, 1_000)), Some((0, 0, 1_000)), Some((0, 0, 3_000))),
        (None, None, Some((5_000, 4, 2_000)), Some((4_000, 5, 3_500))),
        (None, None, Some((0, 3, 4_000)), None),
    ];
    for seed in 1..4 {
        compare(&rows, seed);
    }
}
