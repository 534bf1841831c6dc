//! An output port: a queue, a transmitter and the line to the neighbour.
//!
//! Three forms of queue. [`Fifo`] is one drop-tail class that nothing can stop: a packet's departure
//! is known when it is enqueued, so it goes onto the line at once and costs one event per hop.
//! [`Judged`] is the same behind a rule that decides about packets when they arrive. [`Managed`] is
//! everything else: classes, disciplines, gates, control frames. Where several can serve they give
//! the same numbers to the last bit, since "waiting" means the same in all: from the enqueue to the
//! start of transmission.

use crate::accounts::{Accounts, ClassAccount};
use crate::congestion_point::CongestionPoint;
use crate::detector::Detector;
use crate::egress::Egress;
use crate::ledger::Count;
use crate::notice::Notice;
use crate::plan::NodeId;
use crate::responder::Responder;
use crate::ring::Ring;
use std::collections::VecDeque;
use tailback_qdisc::cn::Limiters;
use tailback_qdisc::discipline::by_destination::ByDestination;
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Admission, Cx, Discipline, Dropped, Gate, Packet, Qdisc, Rule, Watch};
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
    /// That of a port which sends ahead.
    #[inline]
    fn fifo(&self) -> Option<&Fifo> {
        match self {
            Queue::Fifo(fifo) => Some(fifo),
            Queue::Judged(judged) => Some(&judged.fifo),
            Queue::Managed(_) => None,
        }
    }
    #[inline]
    fn fifo_mut(&mut self) -> Option<&mut Fifo> {
        match self {
            Queue::Fifo(fifo) => Some(fifo),
            Queue::Judged(judged) => Some(&mut judged.fifo),
            Queue::Managed(_) => None,
        }
    }
}

/// One drop-tail class that nothing can stop.
#[derive(Debug)]
pub(crate) struct Fifo {
    pub limit: u64,
    /// Buffer bytes of the packets at the end of the line whose transmission has not begun (as of
    /// the last look).
    backlog: u64,
    /// How many these are.
    waiting: u32,
    _form: Form,
}

/// Says nothing, but has values to spare by which [`Queue`] tells its forms apart, so that it needs
/// no more room than a [`Fifo`].
#[derive(Debug)]
#[repr(u8)]
enum Form {
    Fifo,
}

const _: () = assert!(size_of::<Queue>() == 24);

/// One class that nothing can stop, into which a rule lets packets.
#[derive(Debug)]
pub(crate) struct Judged {
    fifo: Fifo,
    pub rule: Rule,
    rng: Rng,
    /// When what the rule watches for begins, if nothing arrives before.
    idle_from: Time,
}

/// Any other queue.
#[derive(Debug)]
pub(crate) struct Managed {
    /// One per class, the highest first.
    pub queues: Vec<ClassQueue>,
    /// Whether a `TxDone` is on the agenda.
    pub tx_pending: bool,
    /// Whether the link carries.
    pub up: bool,
    pub jitter: Dur,
    /// Bytes of a frame after which a cut-through neighbour may act; none waits for all.
    pub cut: Option<u32>,
    /// Control frames that wait; they go before all data.
    pub control: VecDeque<Notice>,
    /// Connections of this host that wait for their turn.
    pub turns: VecDeque<u32>,
    pub responder: Option<Box<Responder>>,
    /// Transmit ring and shaper, if any. What is in the ring still counts as waiting.
    pub egress: Option<Box<Egress>>,
    /// Notifications received, with the instant of their effect.
    pub effects: VecDeque<(Time, Notice)>,
    /// When the port's next `Wake` is due.
    pub wake_at: Time,
    /// Standing PAUSEs that this port sends, by class (plain ones under 0): how many queues ask.
    pub asserted: [u32; 8],
    /// Whether a `Refresh` is on the agenda.
    pub refreshing: bool,
    /// Since when data waits while the transmitter idles.
    pub blocked_since: Option<Time>,
    /// Time spent so, picoseconds.
    pub blocked: u64,
    pub sent_control: u64,
    pub notices_sent: u64,
    pub notices_received: u64,
    /// Packets that waited here when the neighbour stopped them, and of these such as would not leave it by its fullest port.
    pub held_up: u64,
    pub held_up_for_others: u64,
    pub rng: Rng,
}

/// One class's queue at a managed port.
#[derive(Debug)]
pub(crate) struct ClassQueue {
    pub waiting: Waiting,
    pub limit: u64,
    /// Buffer bytes and packets waiting.
    pub backlog: Count,
    /// Whether the discipline wants to hear when the link falls idle.
    pub watches_idle: bool,
    /// At a switch that accounts for its memory by input, the slots that the waiting packets came by.
    pub origins: VecDeque<u32>,
    /// When `backlog` last changed.
    touched: Time,
    pub detector: Option<Detector>,
    /// The congestion point that watches it, if any.
    pub point: Option<Box<CongestionPoint>>,
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
    /// Bytes in rate limiters' queues, where there are any; else none.
    #[inline]
    pub fn limited_bytes(&self) -> Option<u64> {
        if let Waiting::Limited(q) = self { Some(q.limited_bytes()) } else { None }
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

impl Fifo {
    pub fn new(limit: u64) -> Fifo {
        Fifo { limit, waiting: 0, backlog: 0, _form: Form::Fifo }
    }
}

impl Judged {
    /// `rng` is the port's stream.
    pub fn new(rule: Rule, rng: Rng) -> Judged {
        Judged { fifo: Fifo::new(u64::MAX), rule, rng, idle_from: Time::NEVER }
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
        account.area += u128::from(self.backlog.bytes) * u128::from(now.since(self.touched).0);
        self.touched = now;
    }
}

impl Port {
    /// The start of the transmission of a packet on the line of a [`Fifo`].
    #[inline]
    fn start_of(clock: TxClock, delay: Dur, packet: &Packet) -> Time {
        Time(packet.at.0 - delay.0 - clock.tx_time(u32::from(packet.wire())).0)
    }

    /// Whether a [`Fifo`] has room for a packet of `size` buffer bytes; counts the arrival, and the
    /// drop if it has not.
    #[inline(always)]
    pub fn fifo_admits(&mut self, now: Time, size: u64) -> bool {
        let Queue::Fifo(fifo) = &mut self.queue else { unreachable!("only plain FIFO ports come here") };
        let account = &mut self.classes[0];
        account.arrived.add(size);
        if fifo.waiting > 0 {
            Self::expire(fifo, &self.line, self.delay, now);
        }
        let admits = fifo.backlog + size <= fifo.limit;
        if !admits {
            account.dropped.add(size);
        }
        admits
    }

    /// Asks the rule of a [`Judged`] about a packet; counts the arrival, and the drop if there is one. What is
    /// dropped goes to `dropped`.
    pub fn judge(&mut self, now: Time, packet: Packet, dropped: &mut Vec<Dropped>) -> Option<Packet> {
        let Queue::Judged(judged) = &mut self.queue else { unreachable!("only ports with a rule come here") };
        let Judged { fifo, rule, rng, idle_from } = &mut **judged;
        let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
        account.arrived.add(size);
        if fifo.waiting > 0 {
            Self::expire(fifo, &self.line, self.delay, now);
        }
        if *idle_from <= now {
            rule.idle(*idle_from);
            *idle_from = Time::NEVER;
        }
        let queue = Backlog { packets: u64::from(fifo.waiting), bytes: fifo.backlog };
        let admitted = rule.admit(now, packet, queue, &mut Cx { rng, dropped, marked: &mut account.marked });
        match (&admitted, rule.watches()) {
            (Some(_), Watch::Empty) => *idle_from = self.free.max(now),
            // The end of its transmission, which is about to be known.
            (Some(_), Watch::Idle) => *idle_from = Time::NEVER,
            (None, Watch::Idle) if self.free <= now => *idle_from = now,
            _ => {}
        }
        if admitted.is_none() {
            account.dropped.add(size);
        }
        admitted
    }

    /// Puts a packet that has been admitted onto the line; returns its arrival if the line was
    /// empty, since it must then go on the agenda.
    #[inline(always)]
    pub fn fifo_push(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let Some(fifo) = self.queue.fifo_mut() else { unreachable!("only ports that send ahead come here") };
        let tx = self.clock.tx_time(u32::from(packet.wire()));
        let start = self.free.max(now);
        self.free = start + tx;
        // Not `tx`: a queue of more than 213 days ends at the end of time.
        self.busy += self.free.0 - start.0;
        let at = self.free + self.delay;
        if start > now {
            let (size, account) = (u64::from(packet.size), &mut self.classes[0]);
            fifo.waiting += 1;
            fifo.backlog += size;
            account.max = account.max.max(fifo.backlog);
            // `start_of` in fewer steps: not `start`, from which it differs at the end of time.
            let start = at.0 - self.delay.0 - tx.0;
            account.area += u128::from(size) * u128::from(start - now.0);
        }
        if let Queue::Judged(judged) = &mut self.queue
            && judged.rule.watches() == Watch::Idle
        {
            judged.idle_from = self.free;
        }
        let first = self.line.is_empty();
        // In its place on the line: a packet in hand, of which a part has just been written, cannot be moved
        // at once.
        self.line.push_back(packet).at = at;
        first.then_some(at)
    }

    /// The oldest frame on the line has arrived at `now`: takes it off the backlog if nobody has
    /// looked since its transmission began, and returns the next one's arrival. None if no frame
    /// arrives now, since the link went down in between and lost what was on it.
    #[inline(always)]
    pub fn arrived(&mut self, now: Time) -> Option<Option<Time>> {
        let front = self.line.front()?;
        if front.at != now {
            return None;
        }
        if let Some(fifo) = self.queue.fifo_mut()
            && fifo.waiting as usize == self.line.len()
        {
            fifo.waiting -= 1;
            fifo.backlog -= u64::from(front.size);
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

    /// Takes those whose transmission has begun by `now` out of the backlog.
    #[inline]
    fn expire(fifo: &mut Fifo, line: &Ring, delay: Dur, now: Time) {
        while fifo.waiting > 0 {
            let first = line.len() - fifo.waiting as usize;
            let Some(oldest) = line.get(first) else { break };
            // Its transmission begins as that of the one before it ends; that one has arrived if it is not there.
            if line.get(first.wrapping_sub(1)).is_some_and(|before| before.at.0 - delay.0 > now.0) {
                break;
            }
            fifo.waiting -= 1;
            fifo.backlog -= u64::from(oldest.size);
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
        if let Queue::Managed(m) = &self.queue {
            return m.queues[class].backlog.bytes;
        }
        let Some(fifo) = self.queue.fifo_mut() else { unreachable!("all others send ahead") };
        Self::expire(fifo, &self.line, self.delay, now);
        fifo.backlog
    }

    /// The data packet in transmission at `now`.
    fn in_service(&self, now: Time) -> Option<&Packet> {
        if self.free <= now {
            return None;
        }
        let waiting = self.queue.fifo().map_or(0, |fifo| fifo.waiting as usize);
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
            Queue::Fifo(_) | Queue::Judged(_) => {
                let Some(fifo) = self.queue.fifo() else { unreachable!("these send ahead") };
                let waiting = Count { packets: u64::from(fifo.waiting), bytes: fifo.backlog };
                let future = self.line.iter().skip(self.line.len() - fifo.waiting as usize).map(|p| {
                    let start = Self::start_of(self.clock, self.delay, p);
                    u128::from(p.size) * u128::from(start.0 - now.0)
                });
                let started = account.arrived.minus(account.dropped).minus(waiting);
                (waiting, started, account.area - future.sum::<u128>())
            }
            Queue::Managed(m) => {
                let queue = &m.queues[class];
                let since = u128::from(queue.backlog.bytes) * u128::from(now.since(queue.touched).0);
                (queue.backlog, account.started, account.area + since)
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
            for queue in &mut m.queues {
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
