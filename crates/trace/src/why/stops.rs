//! Intervals during which notifications stop or slow a port, from the rows of their effects.
//!
//! The rules are those of a port's response: an XOFF holds until the XON of the same source, a PAUSE for its quanta, a
//! later PAUSE replaces an earlier one, a watchdog ignores pauses that last too long, and a link that goes down clears
//! everything.

use super::log::{Log, cause, same};
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
    /// A class.
    Class(u8),
    /// Destinations, in one class or in all.
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

/// End of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It was in force at the end of the explained interval.
    InForce,
    /// The cause withdrew it.
    Withdrawn,
    /// The time of a pause ran out.
    Expired,
    /// The watchdog ignored a pause that lasted too long.
    Watchdog,
    /// The link went down.
    LinkDown,
}

/// Interval of a stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Start.
    pub start: Time,
    /// End; [`Time::NEVER`]: it was in force at the end of the run.
    pub end: Time,
    /// Reason of the end.
    pub ended: Ended,
    /// The traffic.
    pub covers: Covers,
    /// `true`: the traffic is slowed and not stopped.
    pub slows: bool,
    /// Rows of the effects of its notifications: the first, and those that renewed it.
    pub effects: Vec<usize>,
}

/// Returns the intervals of the stops of a port, in order of their ends.
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

/// State of a port's stops.
struct State<'a> {
    port: &'a Port,
    slows: bool,
    /// Index k: class k; 8: the whole port.
    pauses: [Pause; 9],
    /// Stops of XOFFs that have not ended, each with its source.
    open: Vec<(Cause, Interval)>,
    done: Vec<Interval>,
}

/// Pause of a class or of the whole port.
#[derive(Clone, Debug)]
struct Pause {
    /// Time up to which the state is known.
    now: Time,
    until: Time,
    /// Start of the pause that the watchdog watches.
    since: Time,
    ignored_until: Time,
    /// Effects that assert the pause.
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

    /// Adds the part up to `end` of a pause in force.
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

    /// Ends a pause that has lasted too long at `now`.
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

    /// Advances a pause to just before the events of `now`.
    fn advance(&mut self, which: usize, now: Time) {
        self.watch(which, Time(now.0.saturating_sub(1)));
        let pause = &mut self.pauses[which];
        if pause.until < now {
            pause.since = Time::NEVER;
            // A pause that was ended by a notification, the watchdog or its link has not expired.
            if pause.until > pause.now {
                pause.extend(pause.until, Ended::Expired, &covers_of(which), &mut self.done);
            }
            pause.now = now;
        } else {
            pause.extend(now, Ended::InForce, &covers_of(which), &mut self.done);
        }
    }

    fn stop(&mut self, index: usize, now: Time, source: Cause, destinations: &[NodeId]) {
        let scope = self.port.notices.map_or(Scope::Plain, |notices| notices.scope);
        let mut fresh = destinations.to_vec();
        for (_, interval) in self.open.iter_mut().filter(|(own, _)| same(*own, source)) {
            match &interval.covers {
                Covers::Destinations(known, _) => {
                    if known.iter().any(|known| fresh.contains(known)) {
                        interval.effects.push(index);
                        fresh.retain(|destination| !known.contains(destination));
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
            Scope::Destination | Scope::ClassDestination if fresh.is_empty() => return,
            Scope::Destination => Covers::Destinations(fresh, None),
            Scope::ClassDestination => Covers::Destinations(fresh, Some(source.class)),
        };
        let slows = self.slows;
        let interval =
            Interval { start: now, end: Time::NEVER, ended: Ended::InForce, covers, slows, effects: vec![index] };
        self.open.push((source, interval));
    }

    fn resume(&mut self, now: Time, source: Cause, destinations: &[NodeId]) {
        let mut kept = Vec::new();
        for (own, mut interval) in std::mem::take(&mut self.open) {
            if !same(own, source) {
                kept.push((own, interval));
                continue;
            }
            if let Covers::Destinations(known, class) = &interval.covers {
                let (ended, rest): (Vec<NodeId>, Vec<NodeId>) = known.iter().partition(|d| destinations.contains(d));
                let class = *class;
                if !rest.is_empty() {
                    let covers = Covers::Destinations(rest, class);
                    kept.push((own, Interval { covers, ..interval.clone() }));
                }
                if ended.is_empty() {
                    continue;
                }
                interval.covers = Covers::Destinations(ended, class);
            }
            self.done.push(Interval { end: now, ended: Ended::Withdrawn, ..interval });
        }
        self.open = kept;
    }

    /// Clears all stops: the link goes down.
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

/// Returns the notification whose effect is the row `effect`.
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
            let latest = at.filter(|row| cause(row).is_some_and(|cause| same(cause, *own))).last();
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
    let strict = asserted(log, link, |row| row.time <= sent, |row| row.time <= sent);
    let mut sources: Vec<(Cause, Time)> = strict.into_iter().filter(|(cause, _)| names(cause)).collect();
    if sources.is_empty() {
        // The rows of one instant are not in causal order: the frame may have left before a withdrawal of its instant.
        sources = asserted(log, link, |row| row.time <= sent, |row| row.time < sent);
        sources.retain(|(cause, _)| names(cause));
    }
    Some(Notification { sent, sources })
}

fn is_notify(row: &Row) -> bool {
    row.event == tailback_sim::plan::EventKind::Notify
}

/// Returns the queues on whose behalf the neighbour behind `port` is stopped, each with the time of the decision: those
/// of the decisions that `notified` selects without one of the withdrawals that `withdrawn` selects.
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
            && let Some(at) = found.iter().position(|(other, _)| same(*other, own))
        {
            found.remove(at);
        }
    }
    found
}
