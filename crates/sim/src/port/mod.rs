//! An output port: a queue, a transmitter and the link to the neighbour.
//!
//! A queue has one of three forms ([`Queue`]), chosen at the start (`world/ports.rs`):
//!
//! - a plain FIFO: one drop-tail class that nothing can stop. The departure of a packet is known when it is
//!   enqueued, so the packet is put onto the link at once, with its arrival time (*early transmission*): one event per
//!   hop;
//! - [`AdmissionQueue`]: a FIFO behind an admission policy, which drops or marks packets at their arrival; admitted
//!   packets, too, are put onto the link at once;
//! - [`General`]: classes, disciplines, gates, control frames. If its discipline permits it, this form also transmits
//!   early while nothing stops it.
//!
//! If several forms can serve a port, they give identical results: in each form, a packet *waits* from its enqueueing
//! to the start of its transmission.

mod admission;
mod early;
mod general;

use crate::accounts::ClassAccount;
use crate::by_class::ByClass;
use crate::congestion_point;
use crate::hints::unlikely;
use crate::ledger::Count;
use crate::plan::NodeId;
use crate::ring::Ring;
use crate::stops::Stops;
pub(crate) use admission::{AdmissionQueue, PendingIdle};
pub(crate) use general::{ClassQueue, General, LineTiming, Origin, Waiting, total};
use tailback_qdisc::Packet;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time, TxClock};

/// One direction of a link, with the queue in front of it. The fields that a hop over a plain FIFO touches come first,
/// in two cache lines; the fields that an arrival touches are in the first of the two.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Frames in transmission and in propagation, each with its arrival time in `at`; at a port that transmits early,
    /// also the waiting packets.
    pub line: Ring,
    /// Special treatment of frames at the end of the link; `None`: all frames arrive.
    pub end: Option<Box<LineEnd>>,
    /// At a port that transmits early: number of packets at the tail of `line` whose transmission had not begun at the
    /// last update ([`Port::expire`]).
    waiting: u32,
    /// Neighbour at the other end of the link.
    pub to: NodeId,
    /// Node that sends.
    pub from: NodeId,
    pub queue: Queue,
    /// Time at which the transmitter becomes (or became) free.
    pub free: Time,
    /// Transmission times at the link's rate.
    pub clock: TxClock,
    /// Time from the end of transmission to the arrival: propagation and the neighbour's latency.
    pub delay: Dur,
    /// Total transmission time since the start, including packets that are transmitted early, picoseconds.
    pub busy: u64,
    /// Backlog as of the last update, buffer bytes.
    backlog: u64,
    /// Account of each class.
    pub classes: ByClass<ClassAccount>,
    /// Data lost on the link, at random or because it went down, since the start.
    pub lost: Count,
    /// Data refused by the crossbar input at the end of the link, since the start.
    pub refused: Count,
    /// Accounts at the end of the warm-up.
    pub base: Base,
    /// Rate of the link.
    pub rate: Rate,
    /// The neighbour's latency, which `delay` includes.
    pub latency: Dur,
}

const _: () = assert!(std::mem::offset_of!(Port, free) <= 64);
const _: () = assert!(std::mem::offset_of!(Port, classes) + size_of::<Count>() <= 128);

/// Parameters of one direction of a link.
pub(crate) struct Line {
    pub from: NodeId,
    pub to: NodeId,
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Dur,
    /// Latency of the neighbour.
    pub latency: Dur,
    /// Special treatment of frames at the end of the link; `None`: all frames arrive.
    pub end: Option<LineEnd>,
}

/// Special treatment of frames at the end of a link: loss, recording, and transfer to another partition.
#[derive(Debug, Default)]
pub(crate) struct LineEnd {
    /// Random loss; `None`: there is none.
    pub loss: Option<Loss>,
    /// Recorded data that has arrived; `None`: arrivals are not recorded.
    pub delivered: Option<Vec<Delivered>>,
    /// If the link leads to another partition, in which its frames arrive: number of the frames on the link, the oldest
    /// ones, that have been sent to that partition. `None`: the link does not lead to another partition.
    pub announced: Option<usize>,
}

/// A data packet that arrived at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Time of the arrival.
    pub at: Time,
    /// Index of the flow in the plan; acknowledgements are not recorded.
    pub flow: u32,
    /// Number of the packet in its flow, or of the segment for flows with a transport, from 0.
    pub sequence: u32,
    /// Payload bytes.
    pub bytes: u32,
    /// Time at which the packet was generated.
    pub born: Time,
}

/// Independent random loss of the frames on a link.
#[derive(Debug)]
pub(crate) struct Loss {
    /// Probability of loss, 0 to 1.
    pub probability: f64,
    pub rng: Rng,
}

impl Loss {
    /// Draws the loss of the frame that arrives now; returns `true` if the frame is lost.
    pub fn takes(&mut self) -> bool {
        self.rng.chance(self.probability)
    }
}

/// The three forms of queue.
#[derive(Debug)]
pub(crate) enum Queue {
    /// One drop-tail class that nothing can stop, of `limit` buffer bytes.
    Fifo { limit: u64 },
    /// One class behind an admission policy, at a port that nothing can stop.
    Admission(Box<AdmissionQueue>),
    /// Every other queue.
    General(Box<General>),
}

const _: () = assert!(size_of::<Queue>() == 16);

impl Queue {
    /// Returns the idle period that is still to be reported to an admission policy; `None`: the queue has no policy.
    #[inline]
    fn idle_mut(&mut self) -> Option<&mut PendingIdle> {
        match self {
            Queue::Fifo { .. } => None,
            Queue::Admission(admission) => Some(&mut admission.idle),
            Queue::General(general) => Some(&mut general.idle),
        }
    }
}

/// Accounts of a port at the end of the warm-up.
#[derive(Debug, Default)]
pub(crate) struct Base {
    pub classes: Vec<Settled>,
    /// Total transmission time, picoseconds.
    pub busy: u64,
    /// Total time in which data waited while the transmitter was idle, picoseconds.
    pub blocked: u64,
    pub lost: Count,
    pub refused: Count,
}

/// Account of a class at an instant. Packets that are put onto the link early count as waiting until their transmission
/// begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    pub arrived: Count,
    pub dropped: Count,
    /// Transmissions completed.
    pub sent: Count,
    /// Packets waiting or in transmission.
    pub queued: Count,
    /// Packets marked since the start.
    pub marked: u64,
    /// Integral of the backlog over time, byte · picosecond.
    pub area: u128,
}

impl Port {
    /// Returns a port in front of an idle link.
    pub fn new(link: Line, queue: Queue, classes: usize) -> Port {
        let Line { from, to, rate, delay, latency, end } = link;
        Port {
            free: Time::ZERO,
            clock: rate.clock(),
            delay: delay + latency,
            line: Ring::default(),
            queue,
            backlog: 0,
            waiting: 0,
            to,
            from,
            busy: 0,
            end: end.map(Box::new),
            classes: ByClass::new((0..classes).map(|_| ClassAccount::default())),
            lost: Count::default(),
            refused: Count::default(),
            base: Base { classes: vec![Settled::default(); classes], ..Base::default() },
            rate,
            latency,
        }
    }

    /// Handles the arrival of the oldest frame on the link at `now`: removes the frame from the backlog if it is still
    /// counted there. Returns the arrival time of the next frame (inner `None`: there is no next frame). Outer `None`:
    /// no frame arrives now, since the link has lost its frames by going down.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "no frame now, and no frame next, are two answers")]
    pub fn arrived(&mut self, now: Time) -> Option<Option<Time>> {
        let front = self.line.front()?;
        if unlikely(front.at != now) {
            return None;
        }
        // The frame still counts as waiting, since the backlog has not been updated since its transmission began.
        if self.waiting as usize == self.line.len() {
            self.waiting -= 1;
            self.backlog -= u64::from(front.size);
        }
        Some(self.line.get(1).map(|next| next.at))
    }

    /// Returns the special treatment of frames at the end of the link; creates an empty one if there is none.
    fn end_mut(&mut self) -> &mut LineEnd {
        self.end.get_or_insert_default()
    }

    /// Records the data that arrives from now on; in a parallel run, only in the partition in which the data arrives.
    pub fn record(&mut self) {
        if self.end.as_ref().is_none_or(|end| end.announced.is_none()) {
            self.end_mut().delivered.get_or_insert_default();
        }
    }

    /// Selects the port for the packet trace.
    pub fn trace(&mut self) {
        if let Queue::General(general) = &mut self.queue {
            (general.traced, general.observed) = (true, true);
        }
    }

    /// Sets the probability of random loss, 0 to 1; `rng` returns the random stream of the loss if there was none
    /// before.
    pub fn set_loss(&mut self, probability: f64, rng: impl FnOnce() -> Rng) {
        // The loss is drawn in the partition in which the frames arrive.
        if self.end.as_ref().is_some_and(|end| end.announced.is_some()) {
            return;
        }
        let loss = self.end_mut().loss.get_or_insert_with(|| Loss { probability, rng: rng() });
        loss.probability = probability;
    }

    /// Handles the frame that reaches the end of the link now. Returns `true` if the frame is not received in this
    /// partition: it is lost, or another partition receives it.
    #[cold]
    #[inline(never)]
    pub fn end_takes(&mut self) -> bool {
        let (Some(front), Some(end)) = (self.line.front(), self.end.as_deref_mut()) else { return false };
        if let Some(announced) = &mut end.announced {
            *announced -= 1;
            return true;
        }
        let control = front.is_control();
        let lost = !control && end.loss.as_mut().is_some_and(Loss::takes);
        if let Some(delivered) = &mut end.delivered
            && !lost
            && !control
            && front.dst == self.to
        {
            delivered.push(Delivered {
                at: front.at,
                flow: front.flow(),
                sequence: front.seq,
                bytes: u32::from(front.payload),
                born: front.born,
            });
        }
        lost
    }

    /// Counts the transmission that starts now at a general port: the transmitter is busy until `end`.
    #[inline]
    pub fn begin(&mut self, now: Time, end: Time) {
        self.busy += end.0 - now.0;
        self.free = end;
    }

    /// Returns the total transmission time up to `now`, picoseconds.
    pub fn busy_at(&self, now: Time) -> u64 {
        self.busy - self.free.since(now).0
    }

    /// Returns the total time up to `now` during which data waited while the transmitter was idle, picoseconds.
    pub fn blocked_at(&self, now: Time) -> u64 {
        match &self.queue {
            Queue::Fifo { .. } | Queue::Admission(_) => 0,
            Queue::General(general) => general.blocked + general.blocked_since.map_or(0, |since| now.since(since).0),
        }
    }

    /// Returns the stops of the port since the start; `None`: the port does not obey notifications.
    pub fn stops(&self) -> Option<&Stops> {
        match &self.queue {
            Queue::Fifo { .. } | Queue::Admission(_) => None,
            Queue::General(general) => general.responder.as_ref().map(|responder| &responder.stops),
        }
    }

    /// Returns the backlog of a class at `now`, buffer bytes.
    pub fn backlog_at(&mut self, now: Time, class: usize) -> u64 {
        self.waiting_at(now, class).bytes
    }

    /// Returns the backlog of a class at `now`.
    pub fn waiting_at(&mut self, now: Time, class: usize) -> Count {
        match &self.queue {
            Queue::General(general) if !general.transmits_early => general.queues[class].backlog,
            _ => {
                self.expire(now);
                self.waiting_early()
            }
        }
    }

    /// Returns the backlog of a port that transmits early, as of the last update.
    #[inline]
    pub fn waiting_early(&self) -> Count {
        Count { packets: u64::from(self.waiting), bytes: self.backlog }
    }

    /// Returns the data packet in transmission at `now`; `None`: the transmitter is idle or sends a control frame.
    pub fn in_service(&self, now: Time) -> Option<&Packet> {
        if self.free <= now {
            return None;
        }
        let last = self.line.len().checked_sub(self.waiting as usize + 1)?;
        self.line.get(last).filter(|p| !p.is_control())
    }

    /// Returns the account of a class at `now`.
    pub fn settled(&mut self, now: Time, class: usize) -> Settled {
        self.backlog_at(now, class);
        let service = self.in_service(now).filter(|p| self.classes.len() == 1 || usize::from(p.class()) == class);
        let service = service.map_or(Count::default(), |p| Count { packets: 1, bytes: u64::from(p.size) });
        let account = &self.classes[class];
        let (waiting, started, area) = match &self.queue {
            Queue::General(general) if !general.transmits_early => {
                let queue = &general.queues[class];
                (queue.backlog, account.started, account.area + queue.unsettled(now))
            }
            _ => {
                let waiting = self.waiting_early();
                (waiting, account.arrived.minus(account.dropped).minus(waiting), account.area - self.future_area(now))
            }
        };
        Settled {
            arrived: account.arrived,
            dropped: account.dropped,
            sent: started.minus(service),
            queued: waiting.plus(service),
            marked: account.marked,
            area,
        }
    }

    /// Ends the warm-up: stores the accounts, and resets the maxima and the counters of limiters and congestion points.
    pub fn end_warmup(&mut self, now: Time) {
        for class in 0..self.classes.len() {
            let settled = self.settled(now, class);
            self.base.classes[class] = settled;
            self.classes[class].max = self.backlog_at(now, class);
        }
        if let Queue::General(general) = &mut self.queue {
            if let Some(responder) = &mut general.responder {
                responder.stops.end_warmup(now);
            }
            for queue in general.queues.iter_mut() {
                if let Waiting::Limited(limiters) = &mut queue.waiting {
                    limiters.reset(now);
                }
                if let Some(point) = &mut queue.point {
                    point.counters = congestion_point::Counters::default();
                }
            }
        }
        self.base.busy = self.busy_at(now);
        self.base.blocked = self.blocked_at(now);
        self.base.lost = self.lost;
        self.base.refused = self.refused;
    }

    /// Returns the minimum and the maximum of the queue since the last sample, and begins anew; `None`: they are not
    /// recorded.
    pub fn take_extremes(&mut self, now: Time) -> Option<[u64; 2]> {
        let Queue::General(m) = &mut self.queue else { return None };
        let General { queues, egress, .. } = &mut **m;
        egress.as_mut()?.take_extremes(now, total(queues))
    }

    /// Passes every data packet that waits at `now` to `f`, including those in the transmit ring.
    pub fn visit_waiting(&mut self, now: Time, f: &mut dyn FnMut(&Packet)) {
        match &self.queue {
            Queue::General(general) if !general.transmits_early => {
                general.queues.iter().for_each(|q| q.waiting.visit(f));
                general.egress.iter().for_each(|egress| egress.visit(f));
            }
            _ => {
                self.expire(now);
                self.line.iter().skip(self.line.len() - self.waiting as usize).for_each(f);
            }
        }
    }

    /// Returns the number of frames on the link at `now`, including control frames and the frame in transmission.
    pub fn on_link(&mut self, now: Time) -> usize {
        match &self.queue {
            Queue::General(general) if !general.transmits_early => self.line.len(),
            _ => {
                self.expire(now);
                self.line.len() - self.waiting as usize
            }
        }
    }

    /// Passes every data packet at this port to `f`: waiting, in transmission or in propagation.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.line.iter().filter(|p| !p.is_control()).for_each(&mut *f);
        if let Queue::General(general) = &self.queue {
            general.queues.iter().for_each(|q| q.waiting.visit(f));
            general.egress.iter().for_each(|egress| egress.visit(f));
        }
    }
}
