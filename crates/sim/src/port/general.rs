//! Queues that something may stop, and what it takes to serve them.

use super::early::PendingIdle;
use crate::accounts::ClassAccount;
use crate::by_class::ByClass;
use crate::congestion_point::CongestionPoint;
use crate::control_frame::ControlFrame;
use crate::detector::Detector;
use crate::egress::Egress;
use crate::ledger::Count;
use crate::responder::Responder;
use std::collections::VecDeque;
use tailback_qdisc::congestion_notification::Limiters;
use tailback_qdisc::discipline::by_destination::ByDestination;
use tailback_qdisc::{Accounting, AdmissionFifo, Cx, Discipline, Gate, Packet, Qdisc};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// How frames get onto a line, and when they are at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineTiming {
    /// In the time of their wire bytes, whole.
    Plain,
    /// A cut-through neighbour may act when it has so many bytes of them.
    CutThrough(u32),
    /// In the time of more bytes than those of the wire.
    Counting(Accounting),
}

/// Any other queue. What a packet touches while the port sends idle comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// Whether it sends idle now: its one class waits on the line, its discipline's queue is empty.
    pub transmits_early: bool,
    /// Whether it may whenever nothing stops it.
    pub may_transmit_early: bool,
    /// Whether a `TxDone` is on the event_queue.
    pub tx_pending: bool,
    /// How frames get onto the line.
    pub timing: LineTiming,
    pub idle: PendingIdle,
    /// One per class, the highest first.
    pub queues: ByClass<ClassQueue>,
    /// Connections of this host that wait for their turn.
    pub turns: VecDeque<u32>,
    /// Whether they are being given their turns: a transmission that begins meanwhile gives none.
    pub taking_turns: bool,
    /// Whether the link carries.
    pub up: bool,
    pub jitter: Dur,
    /// Control frames that wait; they go before all data.
    pub control: VecDeque<ControlFrame>,
    pub responder: Option<Box<Responder>>,
    /// Transmit ring and shaper, if any. What is in the ring still counts as waiting.
    pub egress: Option<Box<Egress>>,
    /// Notifications received, with the instant of their effect.
    pub effects: VecDeque<(Time, ControlFrame)>,
    /// When the port's next `Wake` is due.
    pub wake_at: Time,
    /// Standing PAUSEs that this port sends, by class (plain ones under 0): how many queues ask.
    pub asserted: [u32; 8],
    /// Whether a `Refresh` is on the event_queue.
    pub refreshing: bool,
    /// Since when data waits while the transmitter idles.
    pub blocked_since: Option<Time>,
    /// Time spent so, picoseconds.
    pub blocked: u64,
    pub sent_control: u64,
    pub notifications_sent: u64,
    pub notifications_received: u64,
    /// Packets that waited here when the neighbour stopped them, and of these such as would not leave it by its fullest port.
    pub held_up: u64,
    pub held_up_for_others: u64,
    pub rng: Rng,
}

/// One class's queue at a managed port.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ClassQueue {
    pub waiting: Waiting,
    pub limit: u64,
    /// Buffer bytes and packets waiting.
    pub backlog: Count,
    /// Whether the discipline wants to hear when the link falls idle.
    pub watches_idle: bool,
    /// At a switch that accounts for its memory by input, what of it the waiting packets hold. Those that have been
    /// sent idle may still be among them, the oldest ones: nobody has asked since.
    pub origins: VecDeque<Origin>,
    /// When `backlog` last changed.
    touched: Time,
    pub detector: Option<Detector>,
    /// The congestion point that watches it, if any.
    pub point: Option<Box<CongestionPoint>>,
}

/// Memory that a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The slot that it came by.
    pub slot: u32,
    /// Buffer bytes.
    pub size: u32,
}

/// A discipline, the queues of a reaction point, or drop-tail by destination where back-pressure names addresses.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are disciplines, and an indirection would cost each packet")]
pub(crate) enum Waiting {
    Discipline(Discipline),
    Limited(Box<Limiters>),
    ByDestination(ByDestination),
}

impl Waiting {
    pub fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        match self {
            Waiting::Discipline(q) => q.enqueue(now, packet, cx),
            Waiting::Limited(q) => q.enqueue(now, packet, cx),
            Waiting::ByDestination(q) => q.enqueue(now, packet, cx),
        }
    }
    pub fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        match self {
            Waiting::Discipline(q) => q.dequeue(now, gate, cx),
            Waiting::Limited(q) => q.dequeue(now, gate, cx),
            Waiting::ByDestination(q) => q.dequeue(now, gate, cx),
        }
    }
    /// The rule that it is, if it lets packets into a FIFO and drops none later.
    #[inline]
    pub fn rule(&mut self) -> Option<AdmissionFifo<'_>> {
        match self {
            Waiting::Discipline(q) => q.admission_fifo(),
            Waiting::Limited(_) | Waiting::ByDestination(_) => None,
        }
    }
    /// Puts a packet that the rule has let in into the queue, last.
    pub fn restore(&mut self, packet: Packet) {
        match self.rule() {
            Some(mut fifo) => fifo.restore(packet),
            None => unreachable!("only a port behind an admission policy transmits early"),
        }
    }
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        match self {
            Waiting::Discipline(q) => q.visit(f),
            Waiting::Limited(q) => q.visit(f),
            Waiting::ByDestination(q) => q.visit(f),
        }
    }
    /// When the discipline wants to be woken.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        match self {
            Waiting::Discipline(q) => q.next_wakeup(),
            Waiting::Limited(q) => q.next_wakeup(),
            Waiting::ByDestination(_) => None,
        }
    }
    /// Bytes in the memory of rate limiters, where there are any; else none.
    #[inline]
    pub fn pool_bytes(&self) -> Option<u64> {
        if let Waiting::Limited(q) = self { Some(q.pool_bytes()) } else { None }
    }
    /// The instant that it asked for has come.
    pub fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        match self {
            Waiting::Discipline(q) => q.wake(now, cx),
            Waiting::Limited(q) => q.wake(now, cx),
            Waiting::ByDestination(_) => {}
        }
    }
    /// The link's rate has changed.
    pub fn set_rate(&mut self, rate: Rate) {
        match self {
            Waiting::Discipline(q) => q.set_rate(rate),
            Waiting::Limited(q) => q.set_rate(rate),
            Waiting::ByDestination(_) => {}
        }
    }
    /// Shows the state for time series.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Waiting::Discipline(q) => q.probe(f),
            Waiting::Limited(q) => q.probe(f),
            Waiting::ByDestination(_) => {}
        }
        f("state_bytes", self.state_bytes() as f64);
    }
    fn state_bytes(&self) -> usize {
        match self {
            Waiting::Discipline(q) => q.state_bytes(),
            Waiting::Limited(q) => q.state_bytes(),
            Waiting::ByDestination(q) => q.state_bytes(),
        }
    }
}

impl ClassQueue {
    pub fn new(waiting: Waiting, limit: u64, detector: Option<Detector>) -> ClassQueue {
        let watches_idle = matches!(&waiting, Waiting::Discipline(d) if d.watches_idle());
        ClassQueue {
            waiting,
            limit,
            backlog: Count::default(),
            watches_idle,
            origins: VecDeque::new(),
            touched: Time::ZERO,
            detector,
            point: None,
        }
    }
    /// Brings the account's integral up to `now`, before the backlog changes.
    #[inline]
    pub fn settle(&mut self, now: Time, account: &mut ClassAccount) {
        account.area += self.unsettled(now);
        self.touched = now;
    }
    /// What the integral lacks by `now`.
    #[inline]
    pub fn unsettled(&self, now: Time) -> u128 {
        u128::from(self.backlog.bytes) * u128::from(now.since(self.touched).0)
    }
}
