//! CHOKe: an arriving packet and a random packet of the queue are both dropped if they belong to the same flow.

mod table;

use self::table::Table;
use super::fair::Fifos;
use crate::law::red::{self, FORM_FIXED, Red};
use crate::law::{Backlog, Decision, Form};
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold, inside};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim, Watch, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// CHOKe: RED in which, while the average is at least `min`, each arrival is compared with a packet drawn at random
/// from the queue; if they belong to the same flow, both are dropped. Flows with the largest part of the queue thus
/// lose most, without any state per flow (Pan, Prabhakar and Psounis, INFOCOM 2000).
///
/// RED decides about every arrival before the comparison. Its count of packets since the last early drop or mark
/// therefore includes packets that the comparison drops, and the comparison also drops a packet that RED would mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Number of packets drawn for each arrival, with replacement, 1 to 64; those that belong to the flow of the
    /// arrival are dropped. Default 1.
    pub candidates: u32,
    /// Parameters of RED; its `victim` must be "tail". Default: the defaults of the discipline `red`.
    pub red: red::Params,
    /// "published", or "linux": Linux 6.1 (`net/sched/sch_choke.c`), in which the comparison comes first, RED decides only
    /// about packets without a match, thresholds must be exceeded, and RED has its form "linux". The places of packets that
    /// a comparison has dropped stay empty: a queue that has no place left stops, as in Linux. Needs `candidates = 1`.
    /// Default "published".
    #[serde(skip_serializing_if = "Form::is_published")]
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
}

impl Default for Params {
    fn default() -> Params {
        Params { candidates: 1, red: red::Params::default(), form: Form::Published }
    }
}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Choke {
        Choke {
            queue: match self.form {
                Form::Linux => Waiting::Table(Table::new(site)),
                Form::Published => Waiting::Line(Fifos::default()),
            },
            law: Red::new(&self.law(), site.rate),
            ecn: self.red.ecn,
            watch: self.red.idle.watch(),
            form: self.form,
            candidates: self.candidates,
            matched: 0,
            site: *site,
        }
    }
    /// Returns the parameters of RED in the form of the discipline.
    fn law(&self) -> red::Params {
        red::Params { form: self.form.of_law(self.red.form), ..self.red.clone() }
    }
    /// Refuses parameters out of range, a victim of RED other than the arriving packet, and what the form does not have.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::within("candidates", f64::from(self.candidates), 1.0, 64.0)?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "RED under CHOKe drops only arriving packets; leave `victim` out"));
        }
        if self.form == Form::Linux && self.candidates != 1 {
            return Err(Invalid::new(
                "candidates",
                "form \"linux\" draws one packet; write 1, or leave `candidates` out",
            ));
        }
        self.law().check().map_err(|e| e.within("red"))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, site, f);
    }
}

/// Index of the only queue.
const ONLY_QUEUE: usize = 0;

/// The packets that wait.
#[derive(Debug)]
enum Waiting {
    /// Without holes.
    Line(Fifos<Packet>),
    /// As in form "linux".
    Table(Table),
}

impl Waiting {
    fn packets(&self) -> u64 {
        match self {
            Waiting::Line(line) => line.packets(),
            Waiting::Table(table) => table.packets(),
        }
    }
    fn bytes(&self) -> u64 {
        match self {
            Waiting::Line(line) => line.bytes(),
            Waiting::Table(table) => table.bytes(),
        }
    }
    fn push(&mut self, packet: Packet) {
        match self {
            Waiting::Line(line) => _ = line.push(ONLY_QUEUE, packet),
            Waiting::Table(table) => table.push(packet),
        }
    }
    /// Returns the packet that leaves next.
    fn head(&self) -> Option<&Packet> {
        match self {
            Waiting::Line(line) => line.head(ONLY_QUEUE),
            Waiting::Table(table) => table.head(),
        }
    }
    fn pop(&mut self) -> Option<Packet> {
        match self {
            Waiting::Line(line) => line.pop_front(ONLY_QUEUE),
            Waiting::Table(table) => table.pop(),
        }
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes() }
    }
}

/// A FIFO under CHOKe. An arrival costs O(candidates), up to 64, and an allocation and a sort if a candidate belongs to
/// its flow; dropping a packet from the middle of n costs O(n), and other operations O(1). In form "linux" an arrival costs
/// O(1), and a departure as much as there are holes before the next packet.
#[derive(Debug)]
pub struct Choke {
    queue: Waiting,
    law: Red,
    ecn: bool,
    /// Event with which idle time begins.
    watch: Watch,
    form: Form,
    candidates: u32,
    /// Number of arrivals so far that were dropped by the comparison.
    matched: u64,
    site: Site,
}

impl Choke {
    /// Draws the candidates and drops those of `flow`; returns `true` if any packet was dropped.
    fn compare(&mut self, flow: u32, cx: &mut Cx<'_>) -> bool {
        match &mut self.queue {
            Waiting::Line(line) => {
                let waiting = line.packets();
                let mut places: Vec<u64> = (0..self.candidates)
                    .map(|_| cx.rng.below(waiting))
                    .filter(|place| line.peek(ONLY_QUEUE, *place).is_some_and(|packet| packet.flow() == flow))
                    .collect();
                // From the back, so that the positions of the other candidates do not change.
                places.sort_unstable_by(|a, b| b.cmp(a));
                places.dedup();
                for place in &places {
                    if let Some(packet) = line.take(ONLY_QUEUE, *place) {
                        cx.drop(packet, Reason::Early);
                    }
                }
                !places.is_empty()
            }
            Waiting::Table(table) => {
                let Some(place) = table.draw(cx.rng) else { return false };
                if table.at(place).is_none_or(|packet| packet.flow() != flow) {
                    return false;
                }
                if let Some(packet) = table.take(place) {
                    cx.drop(packet, Reason::Early);
                }
                true
            }
        }
    }
    /// Drops the arrival and a packet drawn from the queue if they belong to the same flow; returns the arrival if not.
    fn unmatched(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.queue.packets() == 0 || !self.compare(packet.flow(), cx) {
            return Some(packet);
        }
        self.matched += 1;
        cx.drop(packet, Reason::Early);
        None
    }
    /// Processes an arrival in form "linux" (`choke_enqueue`).
    fn enqueue_linux(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        self.law.observe(now, self.queue.backlog());
        let (average, (min, max)) = (self.law.average(), self.law.thresholds());
        let mut packet = packet;
        if average <= min {
            self.law.fall_short();
        } else {
            let Some(unmatched) = self.unmatched(packet, cx) else { return };
            let decision = if average > max { self.law.exceed() } else { self.law.count(cx.rng) };
            let markable = decision == Decision::Early && self.ecn;
            let kept = match decision {
                Decision::Pass => Some(unmatched),
                Decision::Early | Decision::Forced => cx.signal(unmatched, markable, Reason::Early),
            };
            let Some(kept) = kept else { return };
            packet = kept;
        }
        if self.site.is_full(self.queue.packets(), self.queue.bytes(), packet.size) {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        self.queue.push(packet);
    }
}

impl Retune for Choke {
    fn adopt(&mut self, now: Time, fresh: Choke) {
        self.law.adopt(now, fresh.law);
        (self.ecn, self.watch) = (fresh.ecn, fresh.watch);
        (self.candidates, self.site) = (fresh.candidates, fresh.site);
        if let Waiting::Table(table) = &mut self.queue {
            table.resize(&self.site);
        }
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("form", self.form, to.form, FORM_FIXED)?;
        self.red.check_retune(&to.red).map_err(|e| e.within("red"))
    }
}

impl Qdisc for Choke {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        if self.form == Form::Linux {
            return self.enqueue_linux(now, packet, cx);
        }
        let decision = self.law.arrive(now, self.queue.backlog(), packet.size, cx.rng);
        let above_min = self.law.average() >= self.law.thresholds().0;
        let packet = if above_min { self.unmatched(packet, cx) } else { Some(packet) };
        let Some(packet) = packet else { return };
        if self.site.is_full(self.queue.packets(), self.queue.bytes(), packet.size) {
            self.law.forced();
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let markable = decision == Decision::Early && self.ecn && self.law.may_mark();
        let packet = match decision {
            Decision::Pass => Some(packet),
            Decision::Early | Decision::Forced => cx.signal(packet, markable, Reason::Early),
        };
        if let Some(packet) = packet {
            self.queue.push(packet);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let Some(head) = self.queue.head() else {
            // Stuck packets count as waiting, so that a scheduler that never dequeues from an empty queue calls this one, too.
            if self.queue.packets() > 0 {
                self.law.found_empty(now);
            }
            return None;
        };
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = self.queue.pop()?;
        if self.watch == Watch::Empty && self.queue.head().is_none() {
            self.law.idle(now);
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        match &self.queue {
            Waiting::Line(line) => line.visit(f),
            Waiting::Table(table) => table.visit(f),
        }
    }
    fn watches_idle(&self) -> bool {
        self.watch == Watch::Idle
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
        f("matched", self.matched as f64);
        if let Waiting::Table(table) = &self.queue {
            f("stuck", table.stuck() as f64);
        }
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
