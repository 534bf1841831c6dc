//! Queues that notifications and other events may stop, and the state to serve them.

use super::admission::PendingIdle;
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
use tailback_qdisc::{Accounting, AdmissionFifo, Cx, Discipline, Gate, Packet, Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};
use tailback_user::Install;

/// Timing of frames on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineTiming {
    /// Transmission takes the time of the wire bytes; frames arrive whole.
    Plain,
    /// Frames arrive at a cut-through neighbour when this number of bytes has been received.
    CutThrough(u32),
    /// Transmission takes the time of the wire bytes adjusted by an accounting; frames arrive whole.
    Counting(Accounting),
}

/// Queue of the general form. The fields that a packet touches while the port transmits early come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// `true` while the port transmits early: the packets of its one class are on the link, and the discipline's queue
    /// is empty.
    pub transmits_early: bool,
    /// `true` if the port may transmit early whenever nothing stops it.
    pub may_transmit_early: bool,
    /// `true` if the packet trace has rows of the port.
    pub traced: bool,
    /// `true` if packets that enter the queue are observed: the port is traced, or the extremes of its queue are
    /// recorded.
    pub observed: bool,
    /// `true` if a `TxDone` is pending.
    pub tx_pending: bool,
    /// Timing of frames on the link.
    pub timing: LineTiming,
    pub idle: PendingIdle,
    /// Queues by class, the highest first.
    pub queues: ByClass<ClassQueue>,
    /// Connections of this host that wait for their turn to send a segment.
    pub turns: VecDeque<u32>,
    /// `true` while connections are being given turns; a transmission that starts meanwhile does not give further
    /// turns.
    pub taking_turns: bool,
    /// `true` if the link is up.
    pub up: bool,
    /// Upper bound of the random additional delay of a frame.
    pub jitter: Dur,
    /// Control frames that wait; they have priority over all data.
    pub control: VecDeque<ControlFrame>,
    /// Response to notifications; `None`: the port receives none that it obeys.
    pub responder: Option<Box<Responder>>,
    /// Transmit ring and shaper. Packets in the ring count as waiting.
    pub egress: Option<Box<Egress>>,
    /// Notifications received, each with the time at which it takes effect.
    pub effects: VecDeque<(Time, ControlFrame)>,
    /// Time of the port's next `Wake` event; [`Time::NEVER`]: there is no such event.
    pub wake_at: Time,
    /// Number of queues for which this port asserts a PAUSE, by class (under index 0 if PAUSE frames are not per
    /// class).
    pub asserted: [u32; 8],
    /// `true` if a `Refresh` is pending.
    pub refreshing: bool,
    /// Time since which data has waited while the transmitter is idle; `None`: no data waits, or the transmitter is
    /// busy.
    pub blocked_since: Option<Time>,
    /// Total time of past intervals in which data waited while the transmitter was idle, picoseconds.
    pub blocked: u64,
    /// Control frames transmitted since the start.
    pub sent_control: u64,
    /// Control frames queued for transmission since the start.
    pub notifications_sent: u64,
    /// Control frames lost since the start because the link went down while they waited or were on the link.
    pub notifications_lost: u64,
    /// Notifications received and obeyed since the start.
    pub notifications_received: u64,
    /// Packets that waited here when the neighbour stopped them for lack of memory, summed over the stops.
    pub held_up: u64,
    /// Packets of `held_up` that were head-of-line blocked: bound for a port of the neighbour other than its fullest
    /// one.
    pub held_up_for_others: u64,
    /// Random stream of the disciplines and of the jitter of the link.
    pub rng: Rng,
}

/// Queue of one class at a general port.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ClassQueue {
    /// Packets that wait, and the discipline that orders them.
    pub waiting: Waiting,
    /// Limit in buffer bytes; `u64::MAX`: unbounded.
    pub limit: u64,
    /// Packets and buffer bytes waiting.
    pub backlog: Count,
    /// `true` if the discipline is notified when the link becomes idle.
    pub watches_idle: bool,
    /// Memory that waiting packets occupy at a switch that accounts memory by input. The oldest entries may belong to
    /// packets that were transmitted early; their memory is released when the memory is next queried.
    pub origins: VecDeque<Origin>,
    /// Time of the last change of `backlog`.
    touched: Time,
    /// Detector of congestion; `None`: the queue does not detect congestion.
    pub detector: Option<Detector>,
    /// Congestion point of the queue; `None`: the queue is not a congestion point.
    pub point: Option<Box<CongestionPoint>>,
}

/// Memory that a packet occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Index of the packet's input among the ports of the node.
    pub slot: u32,
    /// Buffer bytes.
    pub size: u32,
}

/// A discipline, the rate limiters of a reaction point, or drop-tail by destination if back-pressure names addresses.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are disciplines, and an indirection would cost each packet")]
pub(crate) enum Waiting {
    Discipline(Discipline),
    Limited(Box<Limiters>),
    ByDestination(ByDestination),
}

impl Waiting {
    /// Adds a packet to the queue; dropped packets are appended to those of `cx`.
    // Inlined, with the dispatch in it, into its one caller on the path of packets.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        match self {
            Waiting::Discipline(q) => q.enqueue(now, packet, cx),
            Waiting::Limited(q) => q.enqueue(now, packet, cx),
            Waiting::ByDestination(q) => q.enqueue(now, packet, cx),
        }
    }
    /// Removes and returns the next packet that the gate admits; `None`: no packet may leave now.
    pub fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        match self {
            Waiting::Discipline(q) => q.dequeue(now, gate, cx),
            Waiting::Limited(q) => q.dequeue(now, gate, cx),
            Waiting::ByDestination(q) => q.dequeue(now, gate, cx),
        }
    }
    /// Returns the admission policy if the discipline is a FIFO that drops packets only at their arrival; `None`:
    /// another discipline.
    #[inline]
    pub fn rule(&mut self) -> Option<AdmissionFifo<'_>> {
        match self {
            Waiting::Discipline(q) => q.admission_fifo(),
            Waiting::Limited(_) | Waiting::ByDestination(_) => None,
        }
    }
    /// Appends a packet to the queue that the policy has admitted before.
    ///
    /// # Panics
    /// If the discipline is not behind an admission policy.
    pub fn restore(&mut self, packet: Packet) {
        match self.rule() {
            Some(mut fifo) => fifo.restore(packet),
            None => unreachable!("only a port behind an admission policy transmits early"),
        }
    }
    /// Passes each waiting packet to `f`.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        match self {
            Waiting::Discipline(q) => q.visit(f),
            Waiting::Limited(q) => q.visit(f),
            Waiting::ByDestination(q) => q.visit(f),
        }
    }
    /// Returns the time at which the discipline is to be woken; `None`: it has requested no time.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        match self {
            Waiting::Discipline(q) => q.next_wakeup(),
            Waiting::Limited(q) => q.next_wakeup(),
            Waiting::ByDestination(_) => None,
        }
    }
    /// Returns the buffer bytes in the memory of rate limiters; `None`: there are no rate limiters.
    #[inline]
    pub fn pool_bytes(&self) -> Option<u64> {
        if let Waiting::Limited(q) = self { Some(q.pool_bytes()) } else { None }
    }
    /// Wakes the discipline at the time that it requested.
    pub fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        match self {
            Waiting::Discipline(q) => q.wake(now, cx),
            Waiting::Limited(q) => q.wake(now, cx),
            Waiting::ByDestination(_) => {}
        }
    }
    /// Replaces the parameters of the discipline and the limits.
    pub fn retune(&mut self, now: Time, spec: &Spec, site: &Site) {
        match self {
            Waiting::Discipline(q) => q.retune(now, spec, site),
            Waiting::Limited(q) => {
                let own = q.spec().clone();
                q.retune(now, &own, spec, site);
            }
            Waiting::ByDestination(q) => q.set_limit(site.bytes),
        }
    }
    /// Sets the rate of the link.
    pub fn set_rate(&mut self, rate: Rate) {
        match self {
            Waiting::Discipline(q) => q.set_rate(rate),
            Waiting::Limited(q) => q.set_rate(rate),
            Waiting::ByDestination(_) => {}
        }
    }
    /// Passes each place for a user's law to `f`.
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn Install)) {
        match self {
            Waiting::Discipline(q) => q.each_user(f),
            Waiting::Limited(q) => q.each_user(f),
            Waiting::ByDestination(_) => {}
        }
    }
    /// Passes each state variable for time series to `f`, with its name.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Waiting::Discipline(q) => q.probe(f),
            Waiting::Limited(q) => q.probe(f),
            Waiting::ByDestination(_) => {}
        }
        f("state_bytes", self.state_bytes() as f64);
    }
    /// Returns the size of the discipline's state, bytes.
    fn state_bytes(&self) -> usize {
        match self {
            Waiting::Discipline(q) => q.state_bytes(),
            Waiting::Limited(q) => q.state_bytes(),
            Waiting::ByDestination(q) => q.state_bytes(),
        }
    }
}

impl General {
    /// Passes each place for a user's law to `f`, with the random stream of the port.
    pub fn each_user(&mut self, mut f: impl FnMut(&mut dyn Install, &mut Rng)) {
        for queue in self.queues.iter_mut() {
            queue.waiting.each_user(&mut |user| f(user, &mut self.rng));
        }
    }

    /// Returns the queue of a port that is up, without jitter, back-pressure, ring or shaper, and never transmits
    /// early.
    pub fn new(queues: ByClass<ClassQueue>, idle: PendingIdle, timing: LineTiming, rng: Rng) -> General {
        General {
            transmits_early: false,
            may_transmit_early: false,
            traced: false,
            observed: false,
            tx_pending: false,
            timing,
            idle,
            queues,
            turns: VecDeque::new(),
            taking_turns: false,
            up: true,
            jitter: Dur::ZERO,
            control: VecDeque::new(),
            responder: None,
            egress: None,
            effects: VecDeque::new(),
            wake_at: Time::NEVER,
            asserted: [0; 8],
            refreshing: false,
            blocked_since: None,
            blocked: 0,
            sent_control: 0,
            notifications_sent: 0,
            notifications_lost: 0,
            notifications_received: 0,
            held_up: 0,
            held_up_for_others: 0,
            rng,
        }
    }
}

/// Returns the backlog of all classes, buffer bytes.
pub(crate) fn total(queues: &ByClass<ClassQueue>) -> u64 {
    queues.iter().map(|queue| queue.backlog.bytes).sum()
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
    /// Adds the time since the last change to the integral of the backlog, before the backlog changes.
    #[inline]
    pub fn settle(&mut self, now: Time, account: &mut ClassAccount) {
        account.area += self.unsettled(now);
        self.touched = now;
    }
    /// Returns the integral of the backlog since its last change, byte · picosecond.
    #[inline]
    pub fn unsettled(&self, now: Time) -> u128 {
        u128::from(self.backlog.bytes) * u128::from(now.since(self.touched).0)
    }
}
