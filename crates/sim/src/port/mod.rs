//! An output port: a queue, a transmitter and the line to the neighbour.
//!
//! Three forms of queue. A plain FIFO is one drop-tail class that nothing can stop: a packet's departure
//! is known when it is enqueued, so it goes onto the line at once and costs one event per hop.
//! [`AdmissionQueue`] is the same behind a rule that decides about packets when they arrive. [`General`] is
//! everything else: classes, disciplines, gates, control frames; while nothing stops it, it sends idle
//! as well if it can. Where several can serve they give the same numbers to the last bit, since
//! "waiting" means the same in all: from the enqueue to the start of transmission.

mod early;
mod general;

use crate::accounts::ClassAccount;
use crate::by_class::ByClass;
use crate::hints::unlikely;
use crate::ledger::Count;
use crate::plan::NodeId;
use crate::ring::Ring;
use crate::stops::Stops;
pub(crate) use early::{AdmissionQueue, PendingIdle};
pub(crate) use general::{ClassQueue, General, LineTiming, Origin, Waiting};
use tailback_qdisc::Packet;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time, TxClock};

/// One direction of a link, with the queue in front of it. What a hop over a plain FIFO touches comes
/// first, in two cache lines: in the first what an arrival touches too.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Frames in transmission and on the way, `at` being their arrival; at a port that sends idle also those
    /// that wait.
    pub line: Ring,
    /// What becomes of frames at the end of the line, where that is not simply their arrival.
    pub end: Option<Box<LineEnd>>,
    /// At a port that sends idle, how many packets at the end of the line there are whose transmission has not begun
    /// (as of the last look).
    waiting: u32,
    pub to: NodeId,
    pub from: NodeId,
    pub queue: Queue,
    /// When the transmitter falls (or fell) free.
    pub free: Time,
    pub clock: TxClock,
    /// From the end of transmission to the arrival: propagation and the neighbour's latency.
    pub delay: Dur,
    /// Transmission time spent and promised since the start, picoseconds.
    pub busy: u64,
    /// Buffer bytes of those that wait.
    backlog: u64,
    /// One account per class.
    pub classes: ByClass<ClassAccount>,
    /// Data lost on the line, at random or because the link went down, since the start.
    pub lost: Count,
    /// Data refused at the crossbar input that the line leads to, since the start.
    pub refused: Count,
    /// State at the end of the warm-up.
    pub base: Base,
    pub rate: Rate,
    /// Propagation alone, and the neighbour's latency, for changes of the former.
    pub latency: Dur,
}

const _: () = assert!(std::mem::offset_of!(Port, free) <= 64);
const _: () = assert!(std::mem::offset_of!(Port, classes) + size_of::<Count>() <= 128);

/// One direction of a link.
pub(crate) struct Line {
    pub from: NodeId,
    pub to: NodeId,
    pub rate: Rate,
    /// Propagation alone.
    pub delay: Dur,
    /// The neighbour's.
    pub latency: Dur,
    pub end: Option<LineEnd>,
}

/// What becomes of frames at the end of a line.
#[derive(Debug)]
pub(crate) enum LineEnd {
    Loss(Loss),
    /// In a part of a network, the line leads into another part, where the arrival proper takes place; so many of
    /// the frames on it, the oldest ones, have been announced to that part.
    Exit {
        announced: usize,
    },
}

/// Independent random loss of the frames on a line.
#[derive(Debug)]
pub(crate) struct Loss {
    /// Probability of loss, 0 to 1.
    pub probability: f64,
    pub rng: Rng,
}

impl Loss {
    /// Whether the frame that arrives now is lost.
    pub fn takes(&mut self) -> bool {
        self.rng.chance(self.probability)
    }
}

/// The three forms of queue.
#[derive(Debug)]
pub(crate) enum Queue {
    /// One drop-tail class that nothing can stop, of so many buffer bytes.
    Fifo {
        limit: u64,
    },
    Admission(Box<AdmissionQueue>),
    General(Box<General>),
}

const _: () = assert!(size_of::<Queue>() == 16);

impl Queue {
    /// What a rule has to be announced late.
    #[inline]
    fn idle_mut(&mut self) -> Option<&mut PendingIdle> {
        match self {
            Queue::Fifo { .. } => None,
            Queue::Admission(admission) => Some(&mut admission.idle),
            Queue::General(m) => Some(&mut m.idle),
        }
    }
}

/// A port's accounts at the end of the warm-up.
#[derive(Debug, Default)]
pub(crate) struct Base {
    pub classes: Vec<Settled>,
    pub busy: u64,
    pub blocked: u64,
    pub lost: Count,
    pub refused: Count,
}

/// One class's account at a given instant, with nothing promised in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    pub arrived: Count,
    pub dropped: Count,
    /// Transmissions completed.
    pub sent: Count,
    /// Packets waiting or in transmission.
    pub queued: Count,
    pub marked: u64,
    pub area: u128,
}

impl Port {
    /// One in front of an idle line.
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

    /// The oldest frame on the line has arrived at `now`: takes it off the backlog if nobody has
    /// looked since its transmission began, and returns the next one's arrival. None if no frame
    /// arrives now, since the link went down in between and lost what was on it.
    #[inline(always)]
    pub fn arrived(&mut self, now: Time) -> Option<Option<Time>> {
        let front = self.line.front()?;
        if unlikely(front.at != now) {
            return None;
        }
        // Its transmission has begun even if nobody has looked.
        if self.waiting as usize == self.line.len() {
            self.waiting -= 1;
            self.backlog -= u64::from(front.size);
        }
        Some(self.line.get(1).map(|next| next.at))
    }

    /// Whether the oldest frame on the line, which arrives now, goes no further here.
    #[cold]
    #[inline(never)]
    pub fn end_takes(&mut self) -> bool {
        let control = self.line.front().is_some_and(Packet::is_control);
        match self.end.as_deref_mut() {
            Some(LineEnd::Loss(loss)) => !control && loss.takes(),
            Some(LineEnd::Exit { announced }) => {
                *announced -= 1;
                true
            }
            None => false,
        }
    }

    /// Counts the start of a transmission at a managed port: the transmitter is busy until `end`.
    #[inline]
    pub fn begin(&mut self, now: Time, end: Time) {
        self.busy += end.0 - now.0;
        self.free = end;
    }

    /// Transmission time completed by `now`, picoseconds.
    pub fn busy_at(&self, now: Time) -> u64 {
        self.busy - self.free.since(now).0
    }

    /// Time with data waiting and the transmitter idle by `now`, picoseconds.
    pub fn blocked_at(&self, now: Time) -> u64 {
        match &self.queue {
            Queue::Fifo { .. } | Queue::Admission(_) => 0,
            Queue::General(m) => m.blocked + m.blocked_since.map_or(0, |since| now.since(since).0),
        }
    }

    /// What has been stopped here, where the port obeys notifications.
    pub fn stops(&self) -> Option<&Stops> {
        match &self.queue {
            Queue::Fifo { .. } | Queue::Admission(_) => None,
            Queue::General(m) => m.responder.as_ref().map(|responder| &responder.stops),
        }
    }

    /// Buffer bytes waiting at `now`, by class.
    pub fn backlog_at(&mut self, now: Time, class: usize) -> u64 {
        self.waiting_at(now, class).bytes
    }

    /// What waits at `now`, by class.
    pub fn waiting_at(&mut self, now: Time, class: usize) -> Count {
        match &self.queue {
            Queue::General(m) if !m.transmits_early => m.queues[class].backlog,
            _ => {
                self.expire(now);
                self.waiting_early()
            }
        }
    }

    /// What waits at a port that sends idle, as of the last look.
    #[inline]
    pub fn waiting_early(&self) -> Count {
        Count { packets: u64::from(self.waiting), bytes: self.backlog }
    }

    /// The data packet in transmission at `now`.
    fn in_service(&self, now: Time) -> Option<&Packet> {
        if self.free <= now {
            return None;
        }
        let last = self.line.len().checked_sub(self.waiting as usize + 1)?;
        self.line.get(last).filter(|p| !p.is_control())
    }

    /// One class's account at `now`, with nothing promised in it.
    pub fn settled(&mut self, now: Time, class: usize) -> Settled {
        self.backlog_at(now, class);
        let service = self.in_service(now).filter(|p| self.classes.len() == 1 || usize::from(p.class()) == class);
        let service = service.map_or(Count::default(), |p| Count { packets: 1, bytes: u64::from(p.size) });
        let account = &self.classes[class];
        let (waiting, started, area) = match &self.queue {
            Queue::General(m) if !m.transmits_early => {
                let queue = &m.queues[class];
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

    /// Ends the warm-up: remembers the accounts and starts the maxima anew.
    pub fn end_warmup(&mut self, now: Time) {
        for class in 0..self.classes.len() {
            let settled = self.settled(now, class);
            self.base.classes[class] = settled;
            self.classes[class].max = self.backlog_at(now, class);
        }
        if let Queue::General(m) = &mut self.queue {
            if let Some(responder) = &mut m.responder {
                responder.stops.end_warmup(now);
            }
            for queue in m.queues.iter_mut() {
                if let Waiting::Limited(limiters) = &mut queue.waiting {
                    limiters.reset(now);
                }
                if let Some(point) = &mut queue.point {
                    point.counters = Default::default();
                }
            }
        }
        self.base.busy = self.busy_at(now);
        self.base.blocked = self.blocked_at(now);
        self.base.lost = self.lost;
        self.base.refused = self.refused;
    }

    /// Visits every data packet at this port: waiting, in transmission or on the line.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.line.iter().filter(|p| !p.is_control()).for_each(&mut *f);
        if let Queue::General(m) = &self.queue {
            m.queues.iter().for_each(|q| q.waiting.visit(f));
            m.egress.iter().for_each(|egress| egress.visit(f));
        }
    }
}
