//! An output port: a queue, a transmitter and the line to the neighbour.
//!
//! Three forms of queue. [`Fifo`] is one drop-tail class that nothing can stop: a packet's departure
//! is known when it is enqueued, so it goes onto the line at once and costs one event per hop.
//! [`Judged`] is the same behind a rule that decides about packets when they arrive. [`Managed`] is
//! everything else: classes, disciplines, gates, control frames; while nothing stops it, it sends ahead
//! as well if it can. Where several can serve they give the same numbers to the last bit, since
//! "waiting" means the same in all: from the enqueue to the start of transmission.

mod ahead;
mod managed;

use crate::accounts::Accounts;
use crate::ledger::Count;
use crate::plan::NodeId;
use crate::ring::Ring;
pub(crate) use ahead::{Ahead, Fifo, Judged};
pub(crate) use managed::{ClassQueue, Managed, Origin, Queues, Waiting};
use tailback_qdisc::Packet;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time, TxClock};

/// One direction of a link, with the queue in front of it. What a hop over a [`Fifo`] touches comes
/// first, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// When the transmitter falls (or fell) free.
    pub free: Time,
    pub clock: TxClock,
    /// From the end of transmission to the arrival: propagation and the neighbour's latency.
    pub delay: Dur,
    /// Frames in transmission and on the way, `at` being their arrival; with a [`Fifo`] also those
    /// that wait.
    pub line: Ring,
    pub queue: Queue,
    /// Transmission time spent and promised since the start, picoseconds.
    pub busy: u64,
    /// What becomes of frames at the end of the line, where that is not simply their arrival.
    pub end: Option<Box<LineEnd>>,
    pub to: NodeId,
    pub from: NodeId,
    /// Its place among its node's ports.
    pub slot: u32,
    /// One account per class.
    pub classes: Accounts,
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

const _: () = assert!(std::mem::offset_of!(Port, classes) + 2 * size_of::<Count>() <= 128);

/// What becomes of frames at the end of a line.
#[derive(Debug)]
pub(crate) enum LineEnd {
    Loss(Loss),
    /// In a part of a network, the line leads into another part, where the arrival proper takes place; so many of
    /// the frames on it, the oldest ones, have been told to that part.
    Exit {
        told: usize,
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
    Fifo(Fifo),
    Judged(Box<Judged>),
    Managed(Box<Managed>),
}

impl Queue {
    /// That of a port which sends ahead now.
    #[inline]
    fn fifo(&self) -> Option<&Fifo> {
        match self {
            Queue::Fifo(fifo) => Some(fifo),
            Queue::Judged(judged) => Some(&judged.ahead.fifo),
            Queue::Managed(m) => m.sends_ahead.then_some(&m.ahead.fifo),
        }
    }
    /// What a rule lets packets into.
    #[inline]
    fn ahead_mut(&mut self) -> Option<&mut Ahead> {
        match self {
            Queue::Fifo(_) => None,
            Queue::Judged(judged) => Some(&mut judged.ahead),
            Queue::Managed(m) => Some(&mut m.ahead),
        }
    }
    #[inline]
    fn fifo_mut(&mut self) -> Option<&mut Fifo> {
        match self {
            Queue::Fifo(fifo) => Some(fifo),
            Queue::Judged(judged) => Some(&mut judged.ahead.fifo),
            Queue::Managed(m) => m.sends_ahead.then_some(&mut m.ahead.fifo),
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
    /// The oldest frame on the line has arrived at `now`: takes it off the backlog if nobody has
    /// looked since its transmission began, and returns the next one's arrival. None if no frame
    /// arrives now, since the link went down in between and lost what was on it.
    #[inline(always)]
    pub fn arrived(&mut self, now: Time) -> Option<Option<Time>> {
        let front = self.line.front()?;
        if front.at != now {
            return None;
        }
        if let Some(fifo) = self.queue.fifo_mut() {
            fifo.arrives(front, self.line.len());
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
            Some(LineEnd::Exit { told }) => {
                *told -= 1;
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
            Queue::Fifo(_) | Queue::Judged(_) => 0,
            Queue::Managed(m) => m.blocked + m.blocked_since.map_or(0, |since| now.since(since).0),
        }
    }

    /// Buffer bytes waiting at `now`, by class.
    pub fn backlog_at(&mut self, now: Time, class: usize) -> u64 {
        self.waiting_at(now, class).bytes
    }

    /// What waits at `now`, by class.
    pub fn waiting_at(&mut self, now: Time, class: usize) -> Count {
        match &mut self.queue {
            Queue::Managed(m) if !m.sends_ahead => m.queues[class].backlog,
            queue => {
                let Some(fifo) = queue.fifo_mut() else { unreachable!("all others send ahead") };
                fifo.expire(&self.line, self.delay, now);
                fifo.waiting()
            }
        }
    }

    /// The data packet in transmission at `now`.
    fn in_service(&self, now: Time) -> Option<&Packet> {
        if self.free <= now {
            return None;
        }
        let waiting = self.queue.fifo().map_or(0, |fifo| fifo.waiting().packets as usize);
        let last = self.line.len().checked_sub(waiting + 1)?;
        self.line.get(last).filter(|p| !p.is_control())
    }

    /// One class's account at `now`, with nothing promised in it.
    pub fn settled(&mut self, now: Time, class: usize) -> Settled {
        self.backlog_at(now, class);
        let service = self.in_service(now).filter(|p| self.classes.len() == 1 || usize::from(p.class()) == class);
        let service = service.map_or(Count::default(), |p| Count { packets: 1, bytes: u64::from(p.size) });
        let account = &self.classes[class];
        let (waiting, started, area) = match &self.queue {
            Queue::Managed(m) if !m.sends_ahead => {
                let queue = &m.queues[class];
                (queue.backlog, account.started, account.area + queue.unsettled(now))
            }
            queue => {
                let Some(fifo) = queue.fifo() else { unreachable!("all others send ahead") };
                let waiting = fifo.waiting();
                (waiting, account.arrived.minus(account.dropped).minus(waiting), account.area - self.promised(now, fifo))
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
        if let Queue::Managed(m) = &mut self.queue {
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
        if let Queue::Managed(m) = &self.queue {
            m.queues.iter().for_each(|q| q.waiting.visit(f));
            m.egress.iter().for_each(|egress| egress.visit(f));
        }
    }
}
