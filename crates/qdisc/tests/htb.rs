//! The hierarchical token bucket against a transcription of `net/sched/sch_htb.c` of Linux, without hysteresis, with
//! tokens in exact numbers instead of ticks.

use crate::common::{Held, Traffic, assert_same, departures, drive, wire};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Site, Spec};
use tailback_units::{Rate, Time};

const RATE: Rate = Rate(10_000_000);
/// Tokens per byte. The unit of tokens is 10^-12 bit, so that a rate in bit/s times a time in ps gives tokens.
const BYTE: i128 = 8_000_000_000_000;
const LEVELS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    CantSend,
    MayBorrow,
    CanSend,
}

/// `struct htb_prio`: classes by number, and the one whose turn it is. `last_ptr_id` is a class number.
#[derive(Default)]
struct Feed {
    nodes: BTreeSet<usize>,
    ptr: Option<usize>,
    last_ptr_id: Option<usize>,
}

impl Feed {
    /// `htb_next_rb_node`.
    fn next(&mut self) {
        self.ptr = self.ptr.and_then(|ptr| self.nodes.range(ptr + 1..).next().copied());
    }
}

/// `struct htb_class`.
struct Class {
    parent: Option<usize>,
    level: usize,
    prio: usize,
    quantum: i64,
    deficit: [i64; LEVELS],
    rate: i128,
    ceil: i128,
    buffer: i128,
    cbuffer: i128,
    tokens: i128,
    ctokens: i128,
    t_c: Time,
    mode: Mode,
    prio_activity: u8,
    feed: [Feed; 8],
    queue: VecDeque<Held>,
}

impl Class {
    fn elapsed(&self, now: Time) -> (i128, i128) {
        let diff = i128::from(now.since(self.t_c).0);
        (self.tokens + self.rate * diff, self.ctokens + self.ceil * diff)
    }
    /// `htb_class_mode`, and the time in ps until the mode can improve.
    fn mode(&self, now: Time) -> (Mode, i128) {
        let until = |tokens: i128, rate: i128| (-tokens + rate - 1).div_euclid(rate);
        let (tokens, ctokens) = self.elapsed(now);
        if ctokens < 0 {
            (Mode::CantSend, until(ctokens, self.ceil))
        } else if tokens >= 0 {
            (Mode::CanSend, 0)
        } else {
            (Mode::MayBorrow, until(tokens, self.rate))
        }
    }
}

/// `struct htb_sched`.
struct Htb {
    classes: Vec<Class>,
    row: [[Feed; 8]; LEVELS],
    wait_pq: BTreeSet<(Time, usize)>,
}

impl Htb {
    fn activate_prios(&mut self, mut i: usize) {
        let mut mask = self.classes[i].prio_activity;
        while self.classes[i].mode == Mode::MayBorrow && mask != 0 {
            let Some(p) = self.classes[i].parent else { break };
            for prio in (0..8).filter(|prio| mask & 1 << prio != 0).collect::<Vec<_>>() {
                if !self.classes[p].feed[prio].nodes.is_empty() {
                    mask &= !(1 << prio);
                }
                self.classes[p].feed[prio].nodes.insert(i);
            }
            self.classes[p].prio_activity |= mask;
            i = p;
        }
        if self.classes[i].mode == Mode::CanSend {
            let level = self.classes[i].level;
            (0..8).filter(|prio| mask & 1 << prio != 0).for_each(|prio| {
                self.row[level][prio].nodes.insert(i);
            });
        }
    }
    fn deactivate_prios(&mut self, mut i: usize) {
        let mut mask = self.classes[i].prio_activity;
        while self.classes[i].mode == Mode::MayBorrow && mask != 0 {
            let Some(p) = self.classes[i].parent else { break };
            let m = core::mem::take(&mut mask);
            for prio in (0..8).filter(|prio| m & 1 << prio != 0) {
                let feed = &mut self.classes[p].feed[prio];
                if feed.ptr == Some(i) {
                    (feed.last_ptr_id, feed.ptr) = (Some(i), None);
                }
                feed.nodes.remove(&i);
                if self.classes[p].feed[prio].nodes.is_empty() {
                    mask |= 1 << prio;
                }
            }
            self.classes[p].prio_activity &= !mask;
            i = p;
        }
        if self.classes[i].mode == Mode::CanSend {
            let level = self.classes[i].level;
            (0..8).filter(|prio| mask & 1 << prio != 0).for_each(|prio| {
                let row = &mut self.row[level][prio];
                if row.ptr == Some(i) {
                    row.next();
                }
                row.nodes.remove(&i);
            });
        }
    }
    fn change_class_mode(&mut self, i: usize, now: Time) -> i128 {
        let (new, diff) = self.classes[i].mode(now);
        if new != self.classes[i].mode {
            let active = self.classes[i].prio_activity != 0;
            if active && self.classes[i].mode != Mode::CantSend {
                self.deactivate_prios(i);
            }
            self.classes[i].mode = new;
            if active && new != Mode::CantSend {
                self.activate_prios(i);
            }
        }
        diff
    }
    fn charge_class(&mut self, leaf: usize, level: usize, bytes: u16, now: Time) {
        let mut next = Some(leaf);
        while let Some(i) = next {
            let class = &mut self.classes[i];
            let (tokens, ctokens) = class.elapsed(now);
            class.tokens =
                if class.level >= level { tokens.min(class.buffer) - i128::from(bytes) * BYTE } else { tokens };
            class.ctokens = ctokens.min(class.cbuffer) - i128::from(bytes) * BYTE;
            class.t_c = now;
            let old = class.mode;
            let diff = self.change_class_mode(i, now);
            if old != self.classes[i].mode {
                self.wait_pq.retain(|(_, waits)| *waits != i);
                if self.classes[i].mode != Mode::CanSend {
                    self.wait_pq.insert((Time(now.0 + diff as u64), i));
                }
            }
            next = self.classes[i].parent;
        }
    }
    fn do_events(&mut self, now: Time) {
        while let Some((at, i)) = self.wait_pq.first().copied().filter(|(at, _)| *at <= now) {
            self.wait_pq.remove(&(at, i));
            let diff = self.change_class_mode(i, now);
            if self.classes[i].mode != Mode::CanSend {
                self.wait_pq.insert((Time(now.0 + diff as u64), i));
            }
        }
    }
    /// `htb_lookup_leaf`; `stack` has the classes whose feeds are above the present one.
    fn lookup_leaf(&mut self, level: usize, prio: usize) -> Option<usize> {
        if self.row[level][prio].nodes.is_empty() {
            return None;
        }
        let mut stack: Vec<usize> = Vec::new();
        for _ in 0..65_535 {
            let feed = match stack.last() {
                None => &mut self.row[level][prio],
                Some(class) => &mut self.classes[*class].feed[prio],
            };
            if let (None, Some(id)) = (feed.ptr, feed.last_ptr_id) {
                feed.ptr = feed.nodes.range(id..).next().copied();
            }
            feed.last_ptr_id = None;
            let Some(i) = feed.ptr else {
                feed.ptr = feed.nodes.first().copied();
                if stack.pop().is_some() {
                    match stack.last() {
                        None => self.row[level][prio].next(),
                        Some(class) => self.classes[*class].feed[prio].next(),
                    }
                }
                continue;
            };
            if self.classes[i].level == 0 {
                return Some(i);
            }
            stack.push(i);
        }
        panic!("no leaf is found");
    }
    fn dequeue(&mut self, now: Time) -> Option<Held> {
        self.do_events(now);
        for level in 0..LEVELS {
            for prio in 0..8 {
                let Some(i) = self.lookup_leaf(level, prio) else { continue };
                let held = self.classes[i].queue.pop_front()?;
                let leaf = &mut self.classes[i];
                leaf.deficit[level] -= i64::from(wire(held.size));
                let empty = leaf.queue.is_empty();
                if leaf.deficit[level] < 0 {
                    leaf.deficit[level] += leaf.quantum;
                    match leaf.parent.filter(|_| level > 0) {
                        Some(parent) => self.classes[parent].feed[prio].next(),
                        None => self.row[0][prio].next(),
                    }
                }
                if empty {
                    self.deactivate_prios(i);
                    self.classes[i].prio_activity = 0;
                }
                self.charge_class(i, level, held.size, now);
                return Some(held);
            }
        }
        None
    }
    fn enqueue(&mut self, leaf: usize, held: Held) {
        self.classes[leaf].queue.push_back(held);
        if self.classes[leaf].prio_activity == 0 {
            self.classes[leaf].prio_activity = 1 << self.classes[leaf].prio;
            self.activate_prios(leaf);
        }
    }
}

/// A class of a test: index of the parent, priority, rate and ceiling, both in kbit/s.
type Row = (Option<usize>, u8, u64, u64);

/// Returns Linux's scheduler of these classes, with the default bursts.
#[expect(clippy::maybe_infinite_iter, reason = "a path from a leaf to the root ends")]
fn reference(rows: &[Row]) -> Htb {
    let depth = |mut i: usize| (0..).take_while(|_| rows[i].0.map(|p| i = p).is_some()).count();
    let class = |(i, &(parent, prio, rate, ceil)): (usize, &Row)| {
        let is_leaf = rows.iter().all(|(parent, ..)| *parent != Some(i));
        let burst = |kbit: u64| (i128::from((kbit / 8).max(1)) + 1_600) * BYTE;
        Class {
            parent,
            level: if is_leaf { 0 } else { LEVELS - 1 - depth(i) },
            prio: usize::from(prio),
            quantum: 1_514,
            deficit: [0; LEVELS],
            rate: i128::from(rate) * 1_000,
            ceil: i128::from(ceil) * 1_000,
            buffer: burst(rate),
            cbuffer: burst(ceil),
            tokens: burst(rate),
            ctokens: burst(ceil),
            t_c: Time::ZERO,
            mode: Mode::CanSend,
            prio_activity: 0,
            feed: Default::default(),
            queue: VecDeque::new(),
        }
    };
    Htb { classes: rows.iter().enumerate().map(class).collect(), row: Default::default(), wait_pq: BTreeSet::new() }
}

/// Returns the document of these classes; flow k belongs to the k-th leaf.
fn document(rows: &[Row]) -> Value {
    let leaves: Vec<usize> = (0..rows.len()).filter(|i| rows.iter().all(|row| row.0 != Some(*i))).collect();
    let class = |(i, (parent, prio, rate, ceil)): (usize, &Row)| {
        let mut class = json!({ "name": format!("c{i}"), "rate": format!("{rate}kbit/s"), "ceil": format!("{ceil}kbit/s"),
            "prio": prio, "quantum": "1514B" });
        if let Some(parent) = parent {
            class["parent"] = json!(format!("c{parent}"));
        }
        if let Some(flow) = leaves.iter().position(|leaf| *leaf == i) {
            class["match"] = json!({ "flow": flow });
            class["limit"] = json!("1000000packets");
        }
        class
    };
    let last = leaves.last().expect("there is a leaf");
    json!({ "kind": "htb", "default": format!("c{last}"), "classes": rows.iter().enumerate().map(class).collect::<Vec<_>>() })
}

/// Fails unless this crate and Linux send the same packets in the same order, at the same times.
fn compare(rows: &[Row], flows: u64, seed: u64) {
    let sizes: &[u16] = &[1500, 1487, 577, 61, 1009];
    let loads: &[f64] = &[0.2, 0.7, 1.1, 1.5, 0.05];
    let mut arrivals = Traffic { flows, packets: 40_000, sizes, loads, ..Traffic::default() }.draw(seed);
    for a in &mut arrivals {
        a.ecn = tailback_qdisc::Ecn::NotEct;
    }
    let leaves: Vec<usize> = (0..rows.len()).filter(|i| rows.iter().all(|row| row.0 != Some(*i))).collect();
    let mut linux = reference(rows);
    let theirs = drive(RATE, &arrivals, |now, arrival| {
        if let Some(a) = arrival {
            linux.enqueue(leaves[a.flow as usize], Held::new(a));
            return (None, now);
        }
        let sent = linux.dequeue(now).map(|held| (held.seq, held.size));
        let waits = linux.classes.iter().any(|class| !class.queue.is_empty());
        let event = linux.wait_pq.first().map_or(Time::NEVER, |(at, _)| *at);
        (sent, if waits { event } else { Time::NEVER })
    });
    let spec: Spec = decode(document(rows)).unwrap();
    Checked::check(&spec).unwrap();
    let mut q = spec.build(&Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE });
    let ours = departures(&mut q, RATE, &arrivals);
    assert_same(&ours, &theirs);
    assert_eq!(ours.len(), arrivals.len());
}

#[test]
fn leaves_of_different_priorities_send_as_in_linux() {
    // A root of 8 Mbit/s with three children: an inner class of 5 Mbit/s, which has two leaves, and two leaves.
    let rows = [
        (None, 0, 8_000, 8_000),
        (Some(0), 0, 5_000, 6_000),
        (Some(1), 2, 3_000, 6_000),
        (Some(1), 1, 1_000, 4_000),
        (Some(0), 0, 500, 2_000),
        (Some(0), 3, 2_000, 8_000),
    ];
    for seed in 1..4 {
        compare(&rows, 4, seed);
    }
}

#[test]
fn leaves_of_one_priority_borrow_in_turns_of_their_quanta_as_in_linux() {
    let leaf = (Some(0), 0, 1, 9_000);
    for seed in 1..4 {
        compare(&[(None, 0, 9_000, 9_000), leaf, leaf, leaf, leaf], 4, seed);
    }
}

#[test]
fn leaves_of_one_priority_with_rates_of_their_own_take_turns_as_in_linux() {
    let leaf = |rate| (Some(0), 1, rate, 9_000);
    for seed in 1..4 {
        compare(&[(None, 0, 9_000, 9_000), leaf(2_000), leaf(1_000), leaf(3_000), leaf(500)], 4, seed);
    }
}

#[test]
fn leaves_of_several_parents_take_turns_as_in_linux() {
    // Two inner classes borrow from the root, each with two leaves of equal priority.
    let inner = |rate| (Some(0), 0, rate, 9_000);
    let leaf = |parent, rate| (Some(parent), 2, rate, 9_000);
    let rows =
        [(None, 0, 9_000, 9_000), inner(1_000), inner(3_000), leaf(1, 300), leaf(1, 700), leaf(2, 1_000), leaf(2, 200)];
    for seed in 1..4 {
        compare(&rows, 4, seed);
    }
}
