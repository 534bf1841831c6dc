//! The receiving end of a connection: reassembly and acknowledgements.

use crate::params::{AckClock, EcnMode, Form, Recovery, Tcp};
use crate::quick::Quick;
use crate::reassembly::Reassembly;
use crate::receive_buffer::ReceiveBuffer;
use crate::seq::before;
use crate::tick;
use crate::wire::{Ack, Block, EcnEcho};
use tailback_diffserv::Ecn;
use tailback_units::{Dur, Time};

/// The receiving end of a connection.
///
/// The caller keeps one timer per receiver, and sets it to [`Receiver::deadline`] after each call.
///
/// Differs from RFC 7323 section 4.3: the acknowledgement of a segment out of order echoes the time of that segment,
/// not of the last one in order. The sender takes no round-trip sample from such an echo; RACK (RFC 8985 section 6.2
/// step 2) compares it with the time of a retransmission.
#[derive(Debug)]
pub struct Receiver {
    /// Next segment expected in order.
    next: u32,
    /// Value of `next` in the last acknowledgement.
    acknowledged: u32,
    /// Number of segments received in order since the last acknowledgement.
    pending: u32,
    /// Time at which a delayed acknowledgement is due; [`Time::NEVER`]: there is none.
    deadline: Time,
    /// Upper bound of the delay of an acknowledgement, above zero.
    timeout: Dur,
    /// Transmission time of the earliest segment that is not acknowledged (TS.Recent of RFC 7323).
    recent: Time,
    /// Payload bytes received in order.
    delivered: u64,
    /// Segments received out of order; `None` if there are none.
    held: Option<Box<Reassembly>>,
    /// State of receivers that do more than echo marks; `None`: there is none.
    special: Option<Box<Special>>,
    /// Number of arrivals of segments that had been received before.
    duplicates: u32,
    /// Number of segments per acknowledgement, 1 to 1000.
    every: u16,
    /// `true` if the receiver echoes marks or has `special` state.
    observes: bool,
    /// `true` for accurate echoes, `false` for classic ones.
    accurate: bool,
    /// Classic echo: `true` if the next acknowledgement has ECE. Accurate echo: `true` if the last segment was marked.
    /// Notifications: `true` if the last segment causes one.
    ece: bool,
    /// `true` if the last segment is acknowledged at once for a notification or by Linux's rules.
    eager: bool,
    /// Treatment of segments out of order.
    out_of_order: OutOfOrder,
    /// `true` if delayed acknowledgements leave at multiples of `timeout`.
    heartbeat: bool,
}

const _: () = assert!(size_of::<Receiver>() <= 72);

/// Treatment of segments out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutOfOrder {
    /// They are discarded.
    Discarded,
    /// They are kept.
    Kept,
    /// They are kept, and acknowledgements have blocks for them: only for a sender with SACK (RFC 2018 section 4).
    Reported,
    /// As [`OutOfOrder::Reported`], by Linux's rules: only four blocks are known.
    Remembered,
}

/// State of receivers that do more than echo marks.
#[derive(Clone, Copy, Debug)]
struct Special {
    /// `true` if the receiver echoes marks.
    ecn: bool,
    /// `true` if acknowledgements carry one-way delays.
    measures: bool,
    /// One-way delay of the last segment that arrived, if `measures` is `true`; zero before the first segment.
    delay: Dur,
    /// State of congestion notifications, which DCQCN uses instead of echoes; `None`: echoes.
    notification: Option<Notification>,
    /// State of Linux's rules; `None`: those of RFC 5681.
    quick: Option<Quick>,
    /// `true` if the first SYN requests ECN; `None`: before it. Linux answers a SYN that is sent again as the first one
    /// (`inet_rtx_syn_ack`), also if it no longer requests ECN.
    requests_ecn: Option<bool>,
    /// `true` if the segment that arrives is acknowledged at once for its flags (`ICSK_ACK_NOW`).
    urgent: bool,
    /// The segment that has arrived last, if it was held already (`rx_opt.dsack`): the next acknowledgement reports it,
    /// unless another segment arrives before. Empty: there is none.
    duplicate: Block,
    /// Facts from a record about the segment that arrives; `None`: the segment is not from a record.
    recorded: Option<Recorded>,
    /// The receive buffer, with which acknowledgements offer a window; `None`: the window is constant.
    buffer: Option<ReceiveBuffer>,
}

/// Facts about a segment that a record has, and that the model derives otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    /// `true` if the segment has the flag PSH.
    pub pushed: bool,
    /// Time of the acknowledgement whose timestamp the segment echoes.
    pub asked: Time,
}

/// State of congestion notifications.
#[derive(Clone, Copy, Debug)]
struct Notification {
    /// Minimum time between two notifications.
    interval: Dur,
    /// Earliest time of the next notification.
    earliest: Time,
}

impl Receiver {
    /// Returns the receiving end of a connection of `tcp`, which has passed `check`.
    pub fn new(tcp: &Tcp) -> Receiver {
        let (ecn, needs) = (tcp.ecn != EcnMode::Off, tcp.congestion_control.needs());
        let notification = needs.notification.map(|interval| Notification { interval, earliest: Time::ZERO });
        let quick = (tcp.delayed_ack.form == Form::Linux).then(|| Quick::new(tcp.timers.tick));
        let buffer = tcp.receive_buffer.as_ref().map(|buffer| ReceiveBuffer::new(buffer, tcp.segment.0));
        let special = Special {
            ecn,
            measures: needs.delay,
            delay: Dur::ZERO,
            notification,
            quick,
            requests_ecn: None,
            urgent: false,
            duplicate: Block::default(),
            recorded: None,
            buffer,
        };
        let special = (needs.delay || notification.is_some() || quick.is_some()).then(|| Box::new(special));
        Receiver {
            next: 0,
            acknowledged: 0,
            pending: 0,
            every: tcp.delayed_ack.every.try_into().unwrap_or(u16::MAX),
            deadline: Time::NEVER,
            timeout: tcp.delayed_ack.timeout,
            recent: Time::ZERO,
            delivered: 0,
            duplicates: 0,
            observes: ecn || special.is_some(),
            accurate: tcp.echo() == EcnEcho::Accurate,
            ece: false,
            eager: false,
            special,
            out_of_order: match tcp.recovery {
                Recovery::GoBackN(_) => OutOfOrder::Discarded,
                Recovery::Sack(_) if quick.is_some() => OutOfOrder::Remembered,
                Recovery::Sack(_) => OutOfOrder::Reported,
                Recovery::Tahoe(_) | Recovery::Reno(_) | Recovery::NewReno(_) => OutOfOrder::Kept,
            },
            heartbeat: tcp.delayed_ack.clock == AckClock::Heartbeat,
            held: None,
        }
    }

    /// Processes the arrival of segment `seq` with `payload` bytes (0: a SYN), sent at `sent`, with code
    /// point `ecn`. `cwr`: it has the flag CWR. Returns the acknowledgement; `None`: no
    /// acknowledgement is due now.
    #[inline]
    pub fn on_segment(&mut self, now: Time, seq: u32, payload: u16, sent: Time, ecn: Ecn, cwr: bool) -> Option<Ack> {
        if payload == 0 || seq != self.next || self.held.is_some() {
            return self.on_other_segment(now, seq, payload, sent, ecn, cwr);
        }
        // Fast path for the next segment in order while no segment is held. `on_other_segment` would give the same
        // result.
        if !before(self.acknowledged, seq) {
            self.recent = sent;
        }
        let early = self.observe(now, (seq, payload), sent, ecn, cwr);
        self.next = seq.wrapping_add(1);
        self.delivered += u64::from(payload);
        self.pending += 1;
        let at_once = self.pending >= self.every.into() || self.eager;
        if early.is_none() && at_once {
            return Some(self.acknowledge(now, Block::default(), self.recent));
        }
        let due = if at_once { now } else { self.delay(now) };
        self.deadline = if early.is_some() { due } else { self.deadline.min(due) };
        early
    }

    /// Processes a SYN, a segment out of order, or one that arrives while others are held.
    #[inline(never)]
    fn on_other_segment(&mut self, now: Time, seq: u32, payload: u16, sent: Time, ecn: Ecn, cwr: bool) -> Option<Ack> {
        if payload == 0 {
            let mut requests_ecn = cwr;
            if let Some(special) = &mut self.special
                && let Some(quick) = &mut special.quick
            {
                quick.open(now);
                requests_ecn = *special.requests_ecn.get_or_insert(cwr);
            }
            return Some(Ack {
                next: self.next,
                ece: self.observes && self.special.as_ref().is_none_or(|special| special.ecn) && requests_ecn,
                syn: true,
                echo: sent,
                delay: Dur::ZERO,
                window: self.buffer().map_or(Ack::UNLIMITED, |buffer| buffer.segments()),
                sack: Default::default(),
            });
        }
        // RFC 7323 section 4.3: of several segments in order the earliest is echoed.
        let earliest = !before(self.acknowledged, seq);
        if earliest {
            self.recent = sent;
        }
        let early = self.observe(now, (seq, payload), sent, ecn, cwr);
        let held = self.held_packets();
        let mut pressed = None;
        let mut duplicate = Block::default();
        let mut due = None;
        let mut at_once = true;
        let in_order = seq == self.next;
        if in_order {
            at_once = self.held.is_some();
            self.next = self.next.wrapping_add(1);
            self.delivered += u64::from(payload);
            if let Some(held) = &mut self.held {
                let run = held.release(self.next);
                self.next = run.next;
                self.delivered += run.bytes;
                if held.is_empty() {
                    self.held = None;
                }
                if run.bytes > 0
                    && let Some(buffer) = self.buffer()
                {
                    buffer.release(&run);
                }
            }
            self.pending += 1;
            at_once |= self.pending >= self.every.into() || self.eager;
            let one = self.next.wrapping_sub(self.acknowledged) < self.every.into();
            let held = self.held_packets();
            if held > 0
                && let Some(special) = &mut self.special
                && let Some(quick) = &mut special.quick
            {
                let mut counts = one;
                if !one && let Some(buffer) = &special.buffer {
                    let is_full;
                    (counts, is_full) = buffer.is_shrinking(held);
                    if is_full {
                        quick.filled();
                    }
                }
                if counts && !special.urgent {
                    quick.fills_partly();
                }
            }
        } else if self.out_of_order == OutOfOrder::Remembered && before(self.next, seq) {
            let is_new;
            (is_new, pressed) = self.remember(now, seq, payload);
            self.duplicates += u32::from(!is_new);
            if let Some(special) = &mut self.special
                && let Some(quick) = &mut special.quick
            {
                let mut rtt = None;
                if let Some(buffer) = &mut special.buffer {
                    if is_new && buffer.grow(payload.into(), held) {
                        quick.grown();
                    }
                    rtt = Some(buffer.rtt());
                }
                if special.urgent {
                    due = Some(now);
                } else if pressed.is_none() {
                    let delay = quick.out_of_order(now, rtt);
                    at_once = delay == Dur::ZERO;
                    due = Some(now + delay);
                }
            }
        } else if before(seq, self.next) || (self.out_of_order != OutOfOrder::Discarded && !self.hold(seq, payload)) {
            self.duplicates += 1;
            duplicate = Block { start: seq, end: seq.wrapping_add(1) };
            if let Some(quick) = self.quick() {
                quick.again();
            }
        }
        let due = due.unwrap_or_else(|| if at_once { now } else { self.delay(now) });
        let ack = if pressed.is_some() {
            pressed
        } else if early.is_some() {
            // A segment releases one acknowledgement; a second one that is due at once follows by the timer.
            self.deadline = if at_once { now } else { due };
            early
        } else if at_once {
            let echo = if earliest || in_order { self.recent } else { sent };
            Some(self.acknowledge(now, duplicate, echo))
        } else {
            self.deadline = self.deadline.min(due);
            None
        };
        let held = self.held_packets();
        if let Some(buffer) = self.buffer() {
            buffer.read();
            if in_order && buffer.has_opened(held) {
                self.eager = true;
                self.deadline = now;
            }
        }
        ack
    }

    /// Stores segment `seq`, which is out of order, by Linux's rules (`tcp_data_queue_ofo`). Returns `false` if it was stored
    /// already, and the combined acknowledgement that is sent before the block of the segment comes to the front; the
    /// segment then has no other one (`tcp_ack_snd_check`).
    fn remember(&mut self, now: Time, seq: u32, payload: u16) -> (bool, Option<Ack>) {
        let most = self.buffer().map_or(1, |buffer| buffer.most());
        let held = self.held.get_or_insert_default();
        let is_new = held.insert(seq, payload, most);
        let place = held.extend(seq);
        let Some(special) = &mut self.special else { return (is_new, None) };
        if !is_new {
            special.duplicate = Block { start: seq, end: seq.wrapping_add(1) };
        }
        let is_pressed = special.quick.as_ref().is_some_and(|quick| quick.is_pressed(place));
        let pressed = is_pressed.then(|| self.acknowledge(now, Block::default(), self.recent));
        self.held.get_or_insert_default().promote(place, seq);
        (is_new, pressed)
    }

    /// Stores a segment that is out of order; returns `false` if it was stored already.
    fn hold(&mut self, seq: u32, payload: u16) -> bool {
        let held = self.held.get_or_insert_default();
        let is_new = held.insert(seq, payload, 1);
        if self.out_of_order == OutOfOrder::Reported {
            held.touch(seq);
        }
        is_new
    }

    /// Begins the delay of an acknowledgement, and returns its deadline.
    #[inline]
    fn delay(&mut self, now: Time) -> Time {
        if self.heartbeat {
            return Time((now.0 / self.timeout.0 + 1) * self.timeout.0);
        }
        let timeout = self.timeout;
        let Some(quick) = self.quick() else { return now + timeout };
        let due = tick::expiry(now, timeout, quick.tick());
        quick.arm(due);
        due
    }

    /// Returns the time of the next call of [`Receiver::on_timer`]; [`Time::NEVER`] if no acknowledgement is delayed.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Returns the delayed acknowledgement; `None`: no acknowledgement is delayed, or the deadline has not been
    /// reached.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now < self.deadline {
            return None;
        }
        if let Some(buffer) = self.buffer() {
            buffer.read();
        }
        // A deadline at the arrival of a segment is not a delay.
        if !self.eager
            && let Some(quick) = self.quick()
        {
            quick.expired();
        }
        Some(self.acknowledge(now, Block::default(), self.recent))
    }

    /// Returns the number of packets that have the segments held because they arrived out of order.
    #[inline]
    fn held_packets(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held.packets())
    }
    /// Returns the state of Linux's rules; `None`: they are not used.
    #[inline]
    fn quick(&mut self) -> Option<&mut Quick> {
        self.special.as_mut()?.quick.as_mut()
    }
    /// Returns the receive buffer; `None`: the window is constant.
    #[inline]
    fn buffer(&mut self) -> Option<&mut ReceiveBuffer> {
        self.special.as_mut()?.buffer.as_mut()
    }

    /// Processes the ECN flags of segment `seq`, sent at `sent`, and measures its one-way delay. If the echo is accurate and
    /// the mark differs from that of the last segment, returns an acknowledgement of the pending segments before this
    /// one (RFC 8257 section 3.2).
    #[inline]
    fn observe(&mut self, now: Time, segment: (u32, u16), sent: Time, ecn: Ecn, cwr: bool) -> Option<Ack> {
        if !self.observes {
            return None;
        }
        if self.special.is_some() {
            self.observe_specially(now, segment, sent, ecn, cwr)
        } else {
            self.process_ecn(now, ecn == Ecn::Ce, cwr)
        }
    }

    /// Processes a segment as [`Receiver::observe`], with special state.
    #[inline(never)]
    fn observe_specially(
        &mut self,
        now: Time,
        (seq, payload): (u32, u16),
        sent: Time,
        ecn: Ecn,
        cwr: bool,
    ) -> Option<Ack> {
        let (held, ce) = (self.held_packets(), ecn == Ecn::Ce);
        let special = self.special.as_mut()?;
        special.duplicate = Block::default();
        let recorded = special.recorded.take();
        if let Some(quick) = &mut special.quick {
            let opened = quick.measure(now);
            if let Some(buffer) = &mut special.buffer {
                buffer.read();
                if let Some(rtt) = opened {
                    buffer.open(now, rtt, sent);
                }
                buffer.measure(now, sent, recorded.map(|segment| segment.asked));
            }
        }
        if let Some(notification) = special.notification.as_mut().filter(|_| special.ecn) {
            self.ece = ce && now >= notification.earliest;
            if self.ece {
                notification.earliest = now + notification.interval;
            }
            self.eager = self.ece;
        }
        let echoes = special.ecn && special.notification.is_none();
        let last = self.ece;
        // An acknowledgement of the segments before this one has the delay of the last of them.
        let early = if echoes { self.process_ecn(now, ce, cwr) } else { None };
        let (next, accurate) = (self.next, self.accurate);
        let Some(special) = &mut self.special else { return early };
        if special.measures {
            special.delay = now.since(sent);
        }
        let changed = accurate.then_some(echoes && ce != last);
        // Without ECN the flags are not read (`tcp_ecn_check_ce`).
        let (ecn, cwr) = (if echoes { ecn } else { Ecn::NotEct }, cwr && echoes);
        // `tcp_ecn_accept_cwr`, `dctcp_ece_ack_update`.
        special.urgent = cwr || changed == Some(true);
        if let Some(quick) = special.quick.as_mut().filter(|_| seq != next) {
            // `tcp_data_queue_ofo` calls `tcp_ecn_check_ce`, too.
            if before(next, seq) {
                quick.mark(ecn, cwr, changed);
            }
        } else if let Some(quick) = &mut special.quick {
            self.eager = quick.in_order(now, ecn, cwr, changed);
            let pushed = if let Some(buffer) = &mut special.buffer {
                let pushed = buffer.is_pushed(payload.into());
                buffer.advance(now, payload.into());
                if buffer.grow(payload.into(), held) {
                    quick.grown();
                    self.eager = true;
                }
                pushed
            } else {
                Quick::is_pushed(seq, payload)
            };
            self.eager |= recorded.map_or(pushed, |segment| segment.pushed);
            self.timeout = quick.delay();
        }
        early
    }

    /// Processes the ECN flags of a segment for an echo.
    #[inline]
    fn process_ecn(&mut self, now: Time, ce: bool, cwr: bool) -> Option<Ack> {
        if self.accurate {
            let early =
                (ce != self.ece && self.pending > 0).then(|| self.acknowledge(now, Block::default(), self.recent));
            self.ece = ce;
            return early;
        }
        // RFC 3168 section 6.1.3; a segment with CE and CWR clears the echo and sets it again.
        self.ece = ce || (self.ece && !cwr);
        None
    }

    /// Returns an acknowledgement of all segments received, which echoes the transmission time `echo`, and cancels a
    /// delayed acknowledgement.
    #[inline]
    fn acknowledge(&mut self, now: Time, mut duplicate: Block, echo: Time) -> Ack {
        self.pending = 0;
        self.deadline = Time::NEVER;
        self.acknowledged = self.next;
        let (mut delay, mut window) = (Dur::ZERO, Ack::UNLIMITED);
        if self.special.is_some() {
            (delay, window) = self.acknowledge_specially(now, &mut duplicate);
        }
        let sack = match &self.held {
            _ if matches!(self.out_of_order, OutOfOrder::Discarded | OutOfOrder::Kept) => Default::default(),
            Some(held) => held.blocks(duplicate),
            None => [duplicate, Block::default(), Block::default()],
        };
        Ack { next: self.next, ece: self.ece, syn: false, echo, delay, window, sack }
    }

    /// Returns the one-way delay and the window of an acknowledgement that is sent now. Sets `duplicate` if one is still to
    /// be reported.
    #[inline(never)]
    fn acknowledge_specially(&mut self, now: Time, duplicate: &mut Block) -> (Dur, u32) {
        let held = self.held_packets();
        let Some(special) = &mut self.special else { return (Dur::ZERO, Ack::UNLIMITED) };
        if special.duplicate != Block::default() {
            *duplicate = std::mem::take(&mut special.duplicate);
        }
        let mut window = Ack::UNLIMITED;
        if let Some(buffer) = &mut special.buffer {
            let is_full;
            (window, is_full) = buffer.offer(now, held);
            if let Some(quick) = &mut special.quick {
                quick.offered(window);
                if is_full {
                    quick.filled();
                }
            }
        }
        if let Some(quick) = &mut special.quick {
            quick.sent();
        }
        (special.delay, window)
    }

    /// Resets the receiver for a new connection of `tcp`, whose first segment is `start` ([`Sender::reopen`]).
    /// [`Receiver::delivered`] and [`Receiver::duplicates`] continue to count.
    ///
    /// [`Sender::reopen`]: crate::Sender::reopen
    pub fn reopen(&mut self, tcp: &Tcp, start: u32) {
        let (delivered, duplicates) = (self.delivered, self.duplicates);
        *self = Receiver { delivered, duplicates, ..Receiver::new(tcp) };
        self.start_at(start);
    }

    /// Sets the number of the first segment.
    pub(crate) fn start_at(&mut self, seq: u32) {
        self.next = seq;
        self.acknowledged = seq;
    }

    /// Processes a segment of a record as [`Receiver::on_segment`].
    pub(crate) fn on_recorded_segment(
        &mut self,
        now: Time,
        (seq, payload): (u32, u16),
        recorded: Recorded,
        (ecn, cwr): (Ecn, bool),
    ) -> Option<Ack> {
        if let Some(special) = &mut self.special {
            special.recorded = Some(recorded);
        }
        self.on_segment(now, seq, payload, now, ecn, cwr)
    }

    /// Returns the next segment expected in order.
    pub fn next(&self) -> u32 {
        self.next
    }
    /// Returns the number of payload bytes received in order, over all connections of this receiver.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Returns the number of arrivals of segments that had been received before, over all connections of this receiver.
    pub fn duplicates(&self) -> u64 {
        self.duplicates.into()
    }
    /// Returns the number of segments that are held because they arrived out of order.
    pub fn out_of_order(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held.segments())
    }
}
