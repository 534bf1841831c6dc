//! Intervals during which notifications stop or slow a port, computed from the rows of the notifications' effects.
//!
//! The rules are those by which a port of the engine responds: an XOFF is in force until the XON of the same source; a
//! PAUSE is in force for its quanta, and a later PAUSE replaces an earlier one; a watchdog ignores pauses that last too
//! long; and all stops end when the link goes down.

use super::log::{Log, cause, same_queue};
use crate::Port;
use serde::Serialize;
use tailback_sim::plan::{FrameKind, NodeId, Scope};
use tailback_sim::trace::{Cause, Detail, Row};
use tailback_units::{Dur, Time};

/// Bytes of a PAUSE quantum: 512 bit times (IEEE 802.3 annex 31B).
const QUANTUM_BYTES: u32 = 64;

/// Traffic that is stopped or slowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covers {
    /// All traffic of the port.
    Port,
    /// The traffic of this class.
    Class(u8),
    /// The traffic to these destinations, in one class or (`None`) in all classes.
    Destinations(Vec<NodeId>, Option<u8>),
}

impl Covers {
    /// Returns `true` if the traffic includes packets of a class to a destination.
    pub fn includes(&self, class: u8, destination: NodeId) -> bool {
        match self {
            Covers::Port => true,
            Covers::Class(own) => *own == class,
            Covers::Destinations(all, own) => all.contains(&destination) && own.is_none_or(|own| own == class),
        }
    }
}

/// Reason of the end of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The stop was in force at the end of the explained interval.
    InForce,
    /// The source of the notification withdrew it.
    Withdrawn,
    /// The time of the pause ran out.
    Expired,
    /// The watchdog ignored a pause that lasted too long.
    Watchdog,
    /// The link went down.
    LinkDown,
}

/// Interval during which traffic of a port is stopped or slowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Start.
    pub start: Time,
    /// End; [`Time::NEVER`]: it was in force at the end of the run.
    pub end: Time,
    /// Reason of the end.
    pub ended: Ended,
    /// The traffic that is stopped or slowed.
    pub covers: Covers,
    /// `true` if the traffic is slowed, `false` if it is stopped.
    pub slows: bool,
    /// Indices of the rows of the effects of its notifications: first the one that started it, then those that renewed
    /// it.
    pub effects: Vec<usize>,
}

/// Returns the intervals during which traffic of a port is stopped or slowed, in order of their ends.
pub fn intervals(log: &Log<'_>, port: u32) -> Vec<Interval> {
    let own = &log.network.ports[port as usize];
    let mut state = State::new(own);
    let mut downs = own.states.iter().filter(|(_, up)| !up).map(|(at, _)| *at).peekable();
    for (index, row) in log.effects(port) {
        // A change of the timeline follows all other events of its instant.
        while let Some(at) = downs.next_if(|at| *at < row.time) {
            state.reset(at);
        }
        state.apply(index, row);
    }
    downs.for_each(|at| state.reset(at));
    state.finish()
}

/// Stops of a port during the walk over its rows.
struct State<'a> {
    port: &'a Port,
    /// `true` if notifications slow the traffic instead of stopping it.
    slows: bool,
    /// Index k below 8: pause of class k; index 8: pause of the whole port.
    pauses: [Pause; 9],
    /// Stops of XOFFs that have not ended, each with its source.
    open: Vec<(Cause, Interval)>,
    /// Intervals that have ended.
    done: Vec<Interval>,
}

/// Pause of a class or of the whole port.
#[derive(Clone, Debug)]
struct Pause {
    /// Time up to which the state is known.
    now: Time,
    /// End of the pause in force, or of the last one.
    until: Time,
    /// Start of the pause for the watchdog; [`Time::NEVER`]: no pause is in force.
    since: Time,
    /// Time until which the watchdog ignores pauses.
    ignored_until: Time,
    /// Indices of the rows of the effects that started or renewed the pause.
    effects: Vec<usize>,
    /// The latest interval.
    interval: Option<Interval>,
}

impl Pause {
    fn new() -> Pause {
        Pause {
            now: Time::ZERO,
            until: Time::ZERO,
            since: Time::NEVER,
            ignored_until: Time::ZERO,
            effects: Vec::new(),
            interval: None,
        }
    }

    /// Adds the part up to `end` of a pause in force to the latest interval, or starts a new interval with it.
    fn extend(&mut self, end: Time, ended: Ended, covers: &Covers, done: &mut Vec<Interval>) {
        let start = self.now.max(self.ignored_until);
        self.now = end.max(self.now);
        if start >= end {
            if start == end
                && let Some(interval) = self.interval.as_mut().filter(|interval| interval.end == end)
            {
                interval.ended = ended;
            }
            return;
        }
        match &mut self.interval {
            Some(interval) if interval.end == start => {
                (interval.end, interval.ended) = (end, ended);
                let known = interval.effects.last().copied();
                interval.effects.extend(self.effects.iter().copied().filter(|effect| Some(*effect) > known));
            }
            other => {
                let effects = self.effects.clone();
                let next = Interval { start, end, ended, covers: covers.clone(), slows: false, effects };
                done.extend(other.replace(next));
            }
        }
    }
}

impl<'a> State<'a> {
    fn new(port: &'a Port) -> State<'a> {
        let slows = port.notices.is_some_and(|notices| notices.slows);
        State { port, slows, pauses: std::array::from_fn(|_| Pause::new()), open: Vec::new(), done: Vec::new() }
    }

    /// Applies the effect of a notification.
    fn apply(&mut self, index: usize, row: &Row) {
        match row.detail.as_deref() {
            Some(Detail::Pause { classes, quanta }) if row.frame == FrameKind::Pause => {
                debug_assert_eq!(*classes, 0);
                self.pause(8, index, row.time, quanta[0]);
            }
            Some(Detail::Pause { classes, quanta }) => {
                for class in (0..8).filter(|class| classes & 1 << class != 0) {
                    self.pause(class, index, row.time, quanta[class]);
                }
            }
            Some(Detail::Notice { cause, destinations }) if row.frame == FrameKind::Xoff => {
                self.stop(index, row.time, *cause, destinations);
            }
            Some(Detail::Notice { cause, destinations }) => self.resume(row.time, *cause, destinations),
            _ => {}
        }
    }

    /// Applies a PAUSE of `quanta` to the pause with index `which`; 0 ends it.
    fn pause(&mut self, which: usize, index: usize, now: Time, quanta: u16) {
        self.advance(which, now);
        let covers = covers_of(which);
        let pause = &mut self.pauses[which];
        if quanta == 0 {
            if pause.until >= now {
                pause.extend(now, Ended::Withdrawn, &covers, &mut self.done);
            }
            (pause.until, pause.since) = (now, Time::NEVER);
            pause.effects.clear();
            return;
        }
        let bytes = u32::from(quanta) * QUANTUM_BYTES;
        if pause.until < now {
            pause.effects.clear();
        }
        pause.until = now + self.port.rate_at(now).clock().tx_time(bytes);
        pause.effects.push(index);
        if let Some(watchdog) = self.port.watchdog {
            if now < pause.ignored_until {
                pause.ignored_until = now + watchdog.restore;
            } else if pause.since == Time::NEVER {
                pause.since = now;
            }
            self.watch(which, now);
        }
    }

    /// Lets the watchdog end a pause that has lasted too long at `now`.
    fn watch(&mut self, which: usize, now: Time) {
        let Some(watchdog) = self.port.watchdog else { return };
        let pause = &mut self.pauses[which];
        let due = if pause.since == Time::NEVER { Time::NEVER } else { pause.since + watchdog.after };
        if due <= now && pause.until > due {
            pause.extend(due, Ended::Watchdog, &covers_of(which), &mut self.done);
            pause.ignored_until = due + watchdog.restore;
            (pause.until, pause.since) = (due, Time::NEVER);
            pause.effects.clear();
        }
    }

    /// Advances the state of a pause to just before the events of `now`.
    fn advance(&mut self, which: usize, now: Time) {
        self.watch(which, Time(now.0.saturating_sub(1)));
        let pause = &mut self.pauses[which];
        if pause.until < now {
            pause.since = Time::NEVER;
            // This pause was not ended earlier, by a notification, the watchdog or its link, so it has expired.
            if pause.until > pause.now {
                pause.extend(pause.until, Ended::Expired, &covers_of(which), &mut self.done);
            }
            pause.now = now;
        } else {
            pause.extend(now, Ended::InForce, &covers_of(which), &mut self.done);
        }
    }

    /// Applies an XOFF.
    fn stop(&mut self, index: usize, now: Time, source: Cause, destinations: &[NodeId]) {
        let scope = self.port.notices.map_or(Scope::Plain, |notices| notices.scope);
        let mut newly_stopped = destinations.to_vec();
        for (_, interval) in self.open.iter_mut().filter(|(own, _)| same_queue(*own, source)) {
            match &interval.covers {
                Covers::Destinations(known, _) => {
                    if known.iter().any(|known| newly_stopped.contains(known)) {
                        interval.effects.push(index);
                        newly_stopped.retain(|destination| !known.contains(destination));
                    }
                }
                Covers::Port | Covers::Class(_) => {
                    interval.effects.push(index);
                    return;
                }
            }
        }
        let covers = match scope {
            Scope::Plain => Covers::Port,
            Scope::Class => Covers::Class(source.class),
            Scope::Destination | Scope::ClassDestination if newly_stopped.is_empty() => return,
            Scope::Destination => Covers::Destinations(newly_stopped, None),
            Scope::ClassDestination => Covers::Destinations(newly_stopped, Some(source.class)),
        };
        let slows = self.slows;
        let interval =
            Interval { start: now, end: Time::NEVER, ended: Ended::InForce, covers, slows, effects: vec![index] };
        self.open.push((source, interval));
    }

    /// Applies an XON.
    fn resume(&mut self, now: Time, source: Cause, destinations: &[NodeId]) {
        let mut still_open = Vec::new();
        for (own, mut interval) in std::mem::take(&mut self.open) {
            if !same_queue(own, source) {
                still_open.push((own, interval));
                continue;
            }
            if let Covers::Destinations(known, class) = &interval.covers {
                let (ended, remaining): (Vec<NodeId>, Vec<NodeId>) =
                    known.iter().partition(|d| destinations.contains(d));
                let class = *class;
                if !remaining.is_empty() {
                    let covers = Covers::Destinations(remaining, class);
                    still_open.push((own, Interval { covers, ..interval.clone() }));
                }
                if ended.is_empty() {
                    continue;
                }
                interval.covers = Covers::Destinations(ended, class);
            }
            self.done.push(Interval { end: now, ended: Ended::Withdrawn, ..interval });
        }
        self.open = still_open;
    }

    /// Ends all stops, since the link goes down.
    fn reset(&mut self, now: Time) {
        for which in 0..9 {
            self.advance(which, now);
            self.watch(which, now);
            let pause = &mut self.pauses[which];
            if pause.until > now {
                pause.extend(now, Ended::LinkDown, &covers_of(which), &mut self.done);
            }
            self.done.extend(pause.interval.take());
            *pause = Pause { now, ..Pause::new() };
        }
        let ended = std::mem::take(&mut self.open).into_iter();
        self.done.extend(ended.map(|(_, interval)| Interval { end: now, ended: Ended::LinkDown, ..interval }));
    }

    /// Returns all intervals, in order of their ends.
    fn finish(mut self) -> Vec<Interval> {
        for which in 0..9 {
            self.advance(which, Time::NEVER);
            self.done.extend(self.pauses[which].interval.take());
        }
        self.done.extend(self.open.into_iter().map(|(_, interval)| interval));
        self.done.sort_by_key(|interval| (interval.end, interval.start));
        self.done
    }
}

/// Returns the traffic of the pause with index `which`.
fn covers_of(which: usize) -> Covers {
    if which == 8 { Covers::Port } else { Covers::Class(which as u8) }
}

/// A notification that stopped a port: its frame, and the congested queues on whose behalf it was sent.
#[derive(Clone, Debug)]
pub(super) struct Notification {
    /// Start of the frame's transmission.
    pub sent: Time,
    /// Congested queues, each with the time of the decision.
    pub sources: Vec<(Cause, Time)>,
}

/// Returns the notification whose effect is the row `effect`; `None`: its frame is not in the log.
pub(super) fn notification(log: &Log<'_>, effect: &Row) -> Option<Notification> {
    let link = effect.port ^ 1;
    let delay = log.network.ports[effect.port as usize].notices.map_or(Dur::ZERO, |notices| notices.response_time);
    let matches = |row: &&Row| row.frame == effect.frame && row.detail == effect.detail;
    let exact = |row: &&Row| matches(row) && row.time + delay == effect.time;
    let earlier = |row: &&Row| matches(row) && row.time <= effect.time;
    let sent = log.frames(link).rev().find(exact).or_else(|| log.frames(link).rev().find(earlier))?.stamp;
    let classes = match effect.detail.as_deref()? {
        Detail::Notice { cause: own, .. } => {
            let at = log.notices(link).filter(|row| row.time <= sent && is_notify(row));
            let latest = at.filter(|row| cause(row).is_some_and(|cause| same_queue(cause, *own))).last();
            let sources = latest.and_then(|row| Some((cause(row)?, row.time))).into_iter().collect();
            return Some(Notification { sent, sources });
        }
        Detail::Pause { .. } if effect.frame == FrameKind::Pause => u8::MAX,
        Detail::Pause { classes, quanta } => {
            (0..8).filter(|class| classes & 1 << class != 0 && quanta[*class as usize] > 0).fold(0, |m, c| m | 1 << c)
        }
        _ => return None,
    };
    let names = |cause: &Cause| classes & 1 << cause.class != 0;
    let by_then = asserted(log, link, |row| row.time <= sent, |row| row.time <= sent);
    let mut sources: Vec<(Cause, Time)> = by_then.into_iter().filter(|(cause, _)| names(cause)).collect();
    if sources.is_empty() {
        // The rows of one instant are not in causal order: the frame may have been sent before a withdrawal at the same
        // instant.
        sources = asserted(log, link, |row| row.time <= sent, |row| row.time < sent);
        sources.retain(|(cause, _)| names(cause));
    }
    Some(Notification { sent, sources })
}

/// Returns `true` for the decision to stop a neighbour, `false` for a withdrawal.
fn is_notify(row: &Row) -> bool {
    row.event == tailback_sim::plan::EventKind::Notify
}

/// Returns the queues on whose behalf the neighbour behind `port` is stopped, each with the time of the decision.
/// Decisions count if `notified` is `true` for their row, and are cancelled by withdrawals for whose row `withdrawn` is
/// `true`.
fn asserted(
    log: &Log<'_>,
    port: u32,
    notified: impl Fn(&Row) -> bool,
    withdrawn: impl Fn(&Row) -> bool,
) -> Vec<(Cause, Time)> {
    let mut found: Vec<(Cause, Time)> = Vec::new();
    for row in log.notices(port) {
        let Some(own) = cause(row) else { continue };
        if is_notify(row) && notified(row) {
            found.push((own, row.time));
        } else if !is_notify(row)
            && withdrawn(row)
            && let Some(at) = found.iter().position(|(other, _)| same_queue(*other, own))
        {
            found.remove(at);
        }
    }
    found
}
