//! The receiving end of a connection: reassembly and acknowledgements.

use crate::params::{AckClock, EcnMode, Form, Recovery, Tcp};
use crate::quick::Quick;
use crate::reassembly::Reassembly;
use crate::receive_buffer::{Held, ReceiveBuffer};
use crate::seq::before;
use crate::tick;
use crate::wire::{Ack, Block, EcnEcho};
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
    /// `true` if the segment that arrives out of order is acknowledged at once for its flags.
    urgent: bool,
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
            urgent: false,
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
                Recovery::Sack(_) => OutOfOrder::Reported,
                Recovery::Tahoe(_) | Recovery::Reno(_) | Recovery::NewReno(_) => OutOfOrder::Kept,
            },
            heartbeat: tcp.delayed_ack.clock == AckClock::Heartbeat,
            held: None,
        }
    }

    /// Processes the arrival of segment `seq` with `payload` bytes (0: a SYN), sent at `sent`. `ce`: the segment is
    /// marked as congestion experienced; `cwr`: it has the flag CWR. Returns the acknowledgement; `None`: no
    /// acknowledgement is due now.
    #[inline]
    pub fn on_segment(&mut self, now: Time, seq: u32, payload: u16, sent: Time, ce: bool, cwr: bool) -> Option<Ack> {
        if payload == 0 || seq != self.next || self.held.is_some() {
            return self.on_other_segment(now, seq, payload, sent, ce, cwr);
        }
        // Fast path for the next segment in order while no segment is held. `on_other_segment` would give the same
        // result.
        if !before(self.acknowledged, seq) {
            self.recent = sent;
        }
        let early = self.observe(now, (seq, payload), sent, ce, cwr);
        self.next = seq.wrapping_add(1);
        self.delivered += u64::from(payload);
        self.pending += 1;
        let at_once = self.pending >= self.every.into() || self.eager;
        if early.is_none() && at_once {
            return Some(self.acknowledge(now, Block::default(), self.recent));
        }
        let due = if at_once { now } else { self.due(now) };
        self.deadline = if early.is_some() { due } else { self.deadline.min(due) };
        early
    }

    /// Processes a SYN, a segment out of order, or one that arrives while others are held.
    #[inline(never)]
    fn on_other_segment(&mut self, now: Time, seq: u32, payload: u16, sent: Time, ce: bool, cwr: bool) -> Option<Ack> {
        if payload == 0 {
            if let Some(quick) = self.quick() {
                quick.open(now);
            }
            return Some(Ack {
                next: self.next,
                ece: self.observes && self.special.as_ref().is_none_or(|special| special.ecn) && cwr,
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
        let early = self.observe(now, (seq, payload), sent, ce, cwr);
        let held = self.held_segments();
        let urgent = self.special.as_ref().is_some_and(|special| special.urgent);
        let pressed = if early.is_none() && !urgent { self.pressed(now, seq) } else { None };
        let mut duplicate = Block::default();
        let mut due = None;
        let mut at_once = true;
        let in_order = seq == self.next;
        if in_order {
            at_once = self.held.is_some();
            self.next = self.next.wrapping_add(1);
            self.delivered += u64::from(payload);
            if let Some(held) = &mut self.held {
                let (next, bytes) = held.release(self.next);
                self.next = next;
                self.delivered += bytes;
                if held.is_empty() {
                    self.held = None;
                }
                if bytes > 0
                    && let Some(buffer) = self.buffer()
                {
                    buffer.release(bytes);
                }
            }
            self.pending += 1;
            at_once |= self.pending >= self.every.into() || self.eager;
            let one = self.next.wrapping_sub(self.acknowledged) < self.every.into();
            let held = self.held_segments();
            if held.runs > 0
                && let Some(special) = &mut self.special
                && let Some(quick) = &mut special.quick
                && (one || special.buffer.as_ref().is_some_and(|buffer| buffer.is_shrinking(held)))
            {
                quick.fills_partly();
            }
        } else if before(seq, self.next) || (self.out_of_order != OutOfOrder::Discarded && !self.hold(seq, payload)) {
            self.duplicates += 1;
            duplicate = Block { start: seq, end: seq.wrapping_add(1) };
            if let Some(quick) = self.quick() {
                quick.again();
            }
        } else if let Some(special) = &mut self.special
            && let Some(quick) = &mut special.quick
        {
            let mut rtt = None;
            if let Some(buffer) = &mut special.buffer {
                if buffer.grow(payload.into(), held) {
                    quick.grown();
                }
                rtt = Some(buffer.rtt());
            }
            if special.urgent {
                due = Some(now);
            } else if pressed.is_none() {
                let delay = quick.out_of_order(rtt);
                at_once = delay == Dur::ZERO;
                due = Some(now + delay);
            }
        }
        let due = due.unwrap_or_else(|| self.due(now));
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
        let held = self.held_segments();
        if let Some(buffer) = self.buffer() {
            buffer.read();
            if in_order && buffer.has_opened(held) {
                self.eager = true;
                self.deadline = now;
            }
        }
        ack
    }

    /// Returns the combined acknowledgement that is sent before segment `seq`, which is out of order, changes its blocks. The
    /// segment has no other one (`tcp_ack_snd_check`).
    fn pressed(&mut self, now: Time, seq: u32) -> Option<Ack> {
        let place = self.held.as_ref()?.place(seq);
        let is_pressed = before(self.next, seq) && self.quick()?.is_pressed(place);
        is_pressed.then(|| self.acknowledge(now, Block::default(), self.recent))
    }

    /// Stores a segment that is out of order; returns `false` if it was stored already.
    fn hold(&mut self, seq: u32, payload: u16) -> bool {
        let held = self.held.get_or_insert_default();
        let is_new = held.insert(seq, payload);
        if self.out_of_order == OutOfOrder::Reported {
            held.touch(seq);
        }
        is_new
    }

    /// Returns the deadline of an acknowledgement whose delay begins now.
    #[inline]
    fn due(&self, now: Time) -> Time {
        if self.heartbeat {
            return Time((now.0 / self.timeout.0 + 1) * self.timeout.0);
        }
        let tick = self.special.as_ref().and_then(|special| special.quick.as_ref()?.tick());
        tick::expiry(now, self.timeout, tick)
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

    /// Returns the numbers of the segments that are held because they arrived out of order, and of their runs.
    #[inline]
    fn held_segments(&self) -> Held {
        self.held.as_ref().map_or(Held::default(), |held| Held { segments: held.segments(), runs: held.runs() })
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
    fn observe(&mut self, now: Time, segment: (u32, u16), sent: Time, ce: bool, cwr: bool) -> Option<Ack> {
        if !self.observes {
            return None;
        }
        if self.special.is_some() {
            self.observe_specially(now, segment, sent, ce, cwr)
        } else {
            self.process_ecn(now, ce, cwr)
        }
    }

    /// Processes a segment as [`Receiver::observe`], with special state.
    #[inline(never)]
    fn observe_specially(
        &mut self,
        now: Time,
        (seq, payload): (u32, u16),
        sent: Time,
        ce: bool,
        cwr: bool,
    ) -> Option<Ack> {
        let held = self.held_segments();
        let special = self.special.as_mut()?;
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
        let [ce, cwr] = [ce, cwr].map(|flag| flag && echoes);
        if let Some(quick) = special.quick.as_mut().filter(|_| seq != next) {
            // `tcp_ecn_accept_cwr`; `tcp_data_queue_ofo` calls `tcp_ecn_check_ce`, too.
            special.urgent = cwr || changed == Some(true);
            if changed.is_none() && before(next, seq) {
                quick.mark(ce, cwr);
            }
        } else if let Some(quick) = &mut special.quick {
            self.eager = quick.in_order(now, ce, cwr, changed);
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
    fn acknowledge(&mut self, now: Time, duplicate: Block, echo: Time) -> Ack {
        self.pending = 0;
        self.deadline = Time::NEVER;
        self.acknowledged = self.next;
        let sack = match &self.held {
            _ if self.out_of_order != OutOfOrder::Reported => Default::default(),
            Some(held) => held.blocks(duplicate),
            None => [duplicate, Block::default(), Block::default()],
        };
        let (mut delay, mut window) = (Dur::ZERO, Ack::UNLIMITED);
        if self.special.is_some() {
            (delay, window) = self.acknowledge_specially(now);
        }
        Ack { next: self.next, ece: self.ece, syn: false, echo, delay, window, sack }
    }

    /// Returns the one-way delay and the window of an acknowledgement that is sent now.
    #[inline(never)]
    fn acknowledge_specially(&mut self, now: Time) -> (Dur, u32) {
        let held = self.held_segments();
        let Some(special) = &mut self.special else { return (Dur::ZERO, Ack::UNLIMITED) };
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
        (ce, cwr): (bool, bool),
    ) -> Option<Ack> {
        if let Some(special) = &mut self.special {
            special.recorded = Some(recorded);
        }
        self.on_segment(now, seq, payload, now, ce, cwr)
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
