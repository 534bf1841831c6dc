//! Weighted round robin over classes, by packets or by bytes.

use super::classes::{
    Classes, DEFAULT_LIMIT, Identity, Inside, Part, check_class, check_classes_retune, check_inside_retune,
    check_limit, check_names, joined, site_within,
};
use super::drr::{check_quantum, default_quantum};
use crate::classify::{Classifier, Match};
use crate::law::Backlog;
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Spec, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::{Checked, Invalid};
use tailback_units::{Amount, Size, Time};

/// Weighted round robin: classes take turns. With `count = "packets"` a class sends `weight` packets
/// per turn (Nagle 1985; Katevenis, Sidiropoulos and Courcoubetis, IEEE JSAC 9(8), 1991). With
/// `count = "bytes"` it sends `weight` · `quantum` bytes per turn: deficit round robin by class, in
/// the form in which the last packet of a turn may exceed the turn's bytes, and the excess is subtracted from the
/// next turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Classes, in the order of their turns, at most 250; the turn of the default class is last.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Class of packets that no class matches.
    #[serde(default)]
    pub default: Rest,
    /// Unit of a turn: "packets" or "bytes". Default "packets".
    #[serde(default)]
    #[schemars(extend("x-fixed" = COUNT_FIXED))]
    pub count: Count,
    /// Turns: "surplus", or "linux", deficit round robin as in the `drr` and `ets` of Linux; "linux" requires
    /// `count = "bytes"`. Default "surplus".
    #[serde(default)]
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
    /// Wire bytes per turn and unit of weight, 1 B to 1 GB; with `count = "bytes"` only. Default
    /// "1514B".
    #[serde(default = "default_quantum")]
    pub quantum: Size,
}

/// Order and length of turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Turns in the order of the classes; the last packet of a turn may exceed it, and the excess is subtracted from the
    /// class's next turn.
    #[default]
    Surplus,
    /// Turns in the order in which the classes became busy; a packet leaves only if it fits into the rest of the turn,
    /// which is added to the class's next turn (`drr_dequeue`, `ets_qdisc_dequeue`). A FIFO and `priority` show their
    /// next packet; others pass it on, it waits in the class, and no longer counts in its limit.
    Linux,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Name, unique among the classes. Default: no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::NAME_FIXED))]
    pub name: Option<String>,
    /// Packets that belong to the class, unless they match an earlier class.
    #[serde(rename = "match")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub matches: Match,
    /// Weight: packets, or quanta of bytes, per turn, 1 to 1000000. Default 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// Limit of the class in packets or bytes. Default "64packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within the class. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Class of packets that no class matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rest {
    /// Weight: packets, or quanta of bytes, per turn, 1 to 1000000. Default 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// Limit of the class in packets or bytes. Default "64packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within the class. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Unit in which turns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Packets, whatever their size.
    #[default]
    Packets,
    /// Wire bytes.
    Bytes,
}

fn one() -> u32 {
    1
}

impl Default for Rest {
    fn default() -> Rest {
        Rest { weight: one(), limit: None, discipline: None }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Wrr {
        let matches = self.classes.iter().enumerate().map(|(i, class)| (&class.matches, i as u8));
        let classifier = Classifier::new(matches, self.classes.len() as u8);
        let inside = |limit, discipline: &Option<Box<Spec>>| {
            Inside::new(discipline.as_deref(), &site_within(site, limit, DEFAULT_LIMIT))
        };
        let mut queues: Vec<Inside> = self.classes.iter().map(|c| inside(c.limit, &c.discipline)).collect();
        queues.push(inside(self.default.limit, &self.default.discipline));
        let unit = if self.count == Count::Bytes { self.quantum.0 as i64 } else { 1 };
        let weights = self.classes.iter().map(|c| c.weight).chain([self.default.weight]);
        let turns: Vec<Turn> = weights.map(|weight| Turn { quantum: i64::from(weight) * unit, credit: 0 }).collect();
        Wrr {
            kept: turns.iter().map(|_| None).collect(),
            classes: Classes::new(classifier, queues, site),
            turns,
            current: 0,
            fresh: true,
            count: self.count,
            form: self.form,
            busy: VecDeque::new(),
            served: None,
        }
    }
    /// Refuses weights, limits and a quantum out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check_quantum(self.quantum)?;
        if self.form == Form::Linux && self.count == Count::Packets {
            return Err(Invalid::new("form", "\"linux\" counts bytes; write `count = \"bytes\"`, or \"surplus\""));
        }
        let weight = |field: &str, weight: u32| check::within(field, f64::from(weight), 1.0, 1e6);
        check_names("classes", self.classes.iter().map(|class| class.name.as_ref()))?;
        for (i, class) in self.classes.iter().enumerate() {
            let field = format!("classes[{i}]");
            weight(&format!("{field}.weight"), class.weight)?;
            check_class(&field, &class.matches, class.limit, class.discipline.as_deref())?;
        }
        weight("default.weight", self.default.weight)?;
        check_limit("default.limit", self.default.limit)?;
        let inner = self.default.discipline.as_deref();
        inner.map_or(Ok(()), |spec| Checked::check(spec).map_err(|e| joined("default.discipline", e)))
    }
    /// Passes the path, the match and the inner discipline of each class to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        for (i, class) in self.classes.iter_mut().enumerate() {
            f(format!("classes[{i}]"), Some(&mut class.matches), class.discipline.as_deref_mut());
        }
        f("default".to_owned(), None, self.default.discipline.as_deref_mut());
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        any_marks(self.classes.iter().map(|class| &class.discipline).chain([&self.default.discipline]))
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let classes = self.classes.iter().enumerate();
        let named = classes.map(|(i, class)| (format!("classes[{i}].discipline"), class.limit, &class.discipline));
        let rest = ("default.discipline".to_owned(), self.default.limit, &self.default.discipline);
        for (path, limit, discipline) in named.chain([rest]) {
            if let Some(spec) = discipline {
                inside(&path, &**spec, &site_within(site, limit, DEFAULT_LIMIT), f);
            }
        }
    }
}

/// Classes that take turns. O(1) per packet, except that empty classes are passed over one by one.
#[derive(Debug)]
pub struct Wrr {
    classes: Classes,
    turns: Vec<Turn>,
    /// Class whose turn it is.
    current: usize,
    /// `true` if the current class has not yet received its quantum for this turn.
    fresh: bool,
    count: Count,
    form: Form,
    /// Form "linux": classes with packets, in the order of their turns.
    busy: VecDeque<u8>,
    /// Form "linux": for each class the packet that it has passed on before it may leave.
    kept: Vec<Option<Packet>>,
    /// Form "linux": class of the packet in transmission. `None`: there is none.
    served: Option<usize>,
}

/// State of a class in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Packets or wire bytes in each turn, at least 1.
    quantum: i64,
    /// Packets or bytes that may still be sent in this turn; negative: excess of the last packet.
    credit: i64,
}

impl Wrr {
    /// Ends the turn of the current class.
    fn pass(&mut self) {
        self.current = (self.current + 1) % self.turns.len();
        self.fresh = true;
    }
    /// Returns `true` if a packet of `size` bytes would exceed the common limit, kept packets included.
    fn is_full(&self, size: u16) -> bool {
        let mut kept = Backlog::default();
        for packet in self.kept.iter().flatten() {
            kept.packets += 1;
            kept.bytes += u64::from(packet.size);
        }
        self.classes.is_full(kept, size)
    }
    /// Returns the number of packets that wait in a class.
    fn waiting(&self, class: usize) -> u64 {
        self.classes.backlog_of(class).packets + u64::from(self.kept[class].is_some())
    }
    /// Returns the wire bytes of the next packet of a class. `None`: none may leave now.
    fn next_wire(&mut self, class: usize, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<u16> {
        if self.kept[class].is_none() && self.classes.head(class).is_none() {
            self.kept[class] = self.classes.dequeue(class, now, gate, cx);
        }
        let next = self.kept[class].as_ref().or_else(|| self.classes.head(class))?;
        gate.admits(next.class(), next.dst).then(|| next.wire())
    }
    /// Removes and returns the next packet in form "linux".
    fn dequeue_linux(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        if let Some(class) = self.served.take()
            && self.waiting(class) == 0
        {
            self.classes.class_idle(class, now, cx);
        }
        // Number of consecutive classes whose packets may not leave.
        let mut withheld = 0;
        while withheld < self.busy.len() {
            let class = usize::from(*self.busy.front()?);
            let Some(wire) = self.next_wire(class, now, gate, cx) else {
                if self.waiting(class) == 0 {
                    self.busy.pop_front();
                } else {
                    withheld += 1;
                    self.busy.rotate_left(1);
                }
                continue;
            };
            if i64::from(wire) > self.turns[class].credit {
                self.turns[class].credit += self.turns[class].quantum;
                self.busy.rotate_left(1);
                withheld = 0;
                continue;
            }
            let packet = self.kept[class].take().or_else(|| self.classes.dequeue(class, now, gate, cx))?;
            self.turns[class].credit -= i64::from(wire);
            if self.waiting(class) == 0 {
                self.busy.pop_front();
            }
            self.served = Some(class);
            return Some(packet);
        }
        None
    }
}

/// Limits the credit of each turn to the new quantum, in form "linux" to that plus the largest packet, a bound that holds
/// with constant quanta.
impl Retune for Wrr {
    fn adopt(&mut self, now: Time, fresh: Wrr) {
        self.classes.adopt(now, fresh.classes);
        let more = if self.form == Form::Linux { i64::from(u16::MAX) } else { 0 };
        for (turn, fresh) in self.turns.iter_mut().zip(fresh.turns) {
            *turn = Turn { quantum: fresh.quantum, credit: turn.credit.min(fresh.quantum + more) };
        }
    }
}

/// Reason why `form` is fixed during a run.
const FORM_FIXED: &str = "a round is in progress";
/// Reason why `count` is fixed during a run.
const COUNT_FIXED: &str = "the rest of each turn is kept in this unit";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fn classes(params: &Params) -> impl ExactSizeIterator<Item = Identity<'_>> {
            params.classes.iter().map(|class| Identity {
                name: class.name.as_ref(),
                parent: None,
                matches: Some(&class.matches),
                discipline: class.discipline.as_deref(),
            })
        }
        check_classes_retune("classes", classes(self), classes(to))?;
        check_inside_retune("default", self.default.discipline.as_deref(), to.default.discipline.as_deref())?;
        fixed("form", self.form, to.form, FORM_FIXED)?;
        fixed("count", self.count, to.count, COUNT_FIXED)
    }
}

impl Qdisc for Wrr {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if self.form == Form::Linux && self.is_full(packet.size) {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let class = self.classes.class(&packet);
        let was_busy = self.waiting(class) > 0;
        self.classes.enqueue(class, now, packet, cx);
        if self.form == Form::Linux && !was_busy && self.waiting(class) > 0 {
            // Drops may have emptied a class that is still in a round.
            self.busy.retain(|busy| usize::from(*busy) != class);
            self.busy.push_back(class as u8);
            self.turns[class].credit = self.turns[class].quantum;
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.form == Form::Linux {
            return self.dequeue_linux(now, gate, cx);
        }
        self.classes.transmitted(now, cx);
        // Number of consecutive classes without a packet that may leave.
        let mut passed_over = 0;
        while passed_over < self.turns.len() {
            let class = self.current;
            if self.classes.backlog_of(class).packets == 0 {
                // An idle class keeps no credit.
                self.turns[class].credit = 0;
                passed_over += 1;
                self.pass();
                continue;
            }
            let turn = &mut self.turns[class];
            if self.fresh {
                turn.credit += turn.quantum;
                self.fresh = false;
            }
            if turn.credit <= 0 {
                passed_over = 0;
                self.pass();
                continue;
            }
            let Some(packet) = self.classes.dequeue(class, now, gate, cx) else {
                self.turns[class].credit = 0;
                passed_over += 1;
                self.pass();
                continue;
            };
            let spent = if self.count == Count::Bytes { i64::from(packet.wire()) } else { 1 };
            self.turns[class].credit -= spent;
            if self.classes.backlog_of(class).packets == 0 {
                self.turns[class].credit = 0;
                self.pass();
            }
            return Some(packet);
        }
        None
    }
    fn packets(&self) -> u64 {
        self.classes.packets() + self.kept.iter().flatten().count() as u64
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.kept.iter().flatten().for_each(&mut *f);
        self.classes.visit(f);
    }
    super::classes::as_classes!(inner);
    super::classes::as_classes!(waking);
    fn state_bytes(&self) -> usize {
        let turns: usize = self.turns.iter().map(|turn| bytes_of!(turn; credit)).sum();
        self.classes.state_bytes() + turns + INDEX + bytes_of!(self; fresh) + self.busy.len()
    }
}
