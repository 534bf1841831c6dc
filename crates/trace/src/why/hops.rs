//! Hops of a packet, and the division of its delay into parts.

use super::log::{Log, is_ack};
use super::queue::{Share, at_input, shares, waiting_before};
use super::spans::Spans;
use super::stops::{Interval, intervals};
use serde::Serialize;
use std::collections::BTreeSet;
use tailback_sim::plan::EventKind;
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Parts of the time of a packet at a port, picoseconds. The parts of all hops add up to the packet's delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// In the source, before the first queue.
    pub source_ps: u64,
    /// At the input of the switch and over its crossbar.
    pub input_ps: u64,
    /// In the queue while the port transmitted other frames.
    pub behind_ps: u64,
    /// In the queue while a notification stopped the packet.
    pub stopped_ps: u64,
    /// In the queue while the transmitter was idle and a notification slowed the packet.
    pub slowed_ps: u64,
    /// In the queue while the link was down.
    pub down_ps: u64,
    /// In the queue while the transmitter was idle for another reason: a shaper, a rate limiter, or the discipline.
    pub held_ps: u64,
    /// Transmission of the whole packet or, to a cut-through switch, of the header after which the switch forwards it.
    pub serialisation_ps: u64,
    /// Propagation, with latency and jitter.
    pub propagation_ps: u64,
}

impl Waits {
    /// Returns the parts with their names, in the order of the fields.
    pub fn parts(&self) -> [(&'static str, u64); 9] {
        [
            ("source", self.source_ps),
            ("input", self.input_ps),
            ("behind", self.behind_ps),
            ("stopped", self.stopped_ps),
            ("slowed", self.slowed_ps),
            ("link down", self.down_ps),
            ("held", self.held_ps),
            ("serialisation", self.serialisation_ps),
            ("propagation", self.propagation_ps),
        ]
    }
    /// Returns the sum of the parts.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, part)| part).sum()
    }
}

/// A packet at one port.
#[derive(Clone, Debug, Serialize)]
pub struct Hop {
    /// Name of the port.
    pub port: String,
    /// Index of the port.
    #[serde(skip)]
    pub number: u32,
    /// Class of the packet, 0 is the highest.
    pub class: u8,
    /// Buffer bytes of the packet.
    pub bytes: u64,
    /// Start of the hop: the time at which the packet arrived at the node, or at which its source passed it to the
    /// network.
    pub from_ps: u64,
    /// Arrival at the queue; `None`: it did not reach the queue.
    pub enqueued_ps: Option<u64>,
    /// Start of the transmission; `None`: it was not transmitted.
    pub started_ps: Option<u64>,
    /// End of the hop: arrival at the next node, drop, or end of the run.
    pub until_ps: u64,
    /// `true` if the packet was dropped here.
    pub dropped: bool,
    /// Parts of the time at this port.
    pub waits: Waits,
    /// Buffer bytes of the packet's class in the queue at its arrival, as recorded in the trace.
    pub queue_bytes: u64,
    /// Packets of its class that were waiting at its arrival; their bytes add up to `queue_bytes`.
    pub before: Vec<Share>,
    /// Packets of other classes that were waiting at the port at its arrival.
    pub others: Vec<Share>,
    /// Packets whose transmission began while it waited.
    pub left: Vec<Share>,
    /// Packets that arrived after it and left before it.
    pub overtook: Vec<Share>,
    /// Packets that were waiting before it at the input of a crossbar.
    pub at_input: Vec<Share>,
    /// Number of marks "congestion experienced" that the packet received here.
    pub marks: u32,
    /// Intervals of stops that concerned the packet while it waited here, in order of their ends.
    #[serde(skip)]
    pub stops: Vec<Interval>,
}

/// Rows of a packet at one port.
#[derive(Default)]
struct Stay<'r> {
    /// Arrival at the queue.
    arrival: Option<&'r Row>,
    /// Start of the transmission.
    start: Option<&'r Row>,
    /// Arrival at the other end of the link.
    end: Option<&'r Row>,
    drop: Option<&'r Row>,
    /// Number of marks.
    marks: u32,
}

/// Returns the hops of a packet in the order of its path.
pub(super) fn hops(log: &Log<'_>, packet: u64) -> Vec<Hop> {
    let mut stays: Vec<(u32, Stay<'_>)> = Vec::new();
    for row in log.of_packet(packet) {
        let at = stays.iter().position(|(port, _)| *port == row.port).unwrap_or_else(|| {
            stays.push((row.port, Stay::default()));
            stays.len() - 1
        });
        let stay = &mut stays[at].1;
        match row.event {
            EventKind::Enqueue => stay.arrival = Some(row),
            EventKind::Dequeue => stay.start = Some(row),
            EventKind::Receive | EventKind::Deliver => stay.end = Some(row),
            EventKind::Drop => stay.drop = Some(row),
            EventKind::Mark => stay.marks += 1,
            _ => {}
        }
    }
    let begin = |stay: &Stay<'_>| {
        let first = [stay.arrival, stay.start, stay.end, stay.drop].into_iter().flatten().next();
        first.map_or(Time::NEVER, |row| row.time)
    };
    stays.sort_by_key(|(_, stay)| begin(stay));
    let mut reached = None;
    let mut found: Vec<Hop> = Vec::new();
    for (port, stay) in stays {
        let from = reached.unwrap_or_else(|| {
            let first = [stay.arrival, stay.drop, stay.start, stay.end].into_iter().flatten().next();
            // The stamp of an acknowledgement is the time that it echoes.
            first.map_or(Time::ZERO, |row| if is_ack(row) { row.time } else { row.stamp.min(row.time) })
        });
        let hop = hop(log, port, from, reached.is_none(), &stay);
        reached = Some(Time(hop.until_ps));
        found.push(hop);
    }
    // A packet that waits at an input of a crossbar at the end of the run has no row after its reception.
    if let Some(last) = found.last_mut()
        && let Some(row) = log.of_packet(packet).last()
        && row.event == EventKind::Receive
        && log.network.end.0 > last.until_ps
    {
        last.waits.input_ps += log.network.end.0 - last.until_ps;
        last.until_ps = log.network.end.0;
    }
    found
}

/// Returns the hop at a port that starts at `from`. `is_first`: it is the first hop of the packet.
fn hop(log: &Log<'_>, port: u32, from: Time, is_first: bool, stay: &Stay<'_>) -> Hop {
    let end = log.network.end.max(from);
    let drop = stay.drop.map(|row| row.time);
    let arrived = stay.end.map(|row| row.time).or(drop);
    let until = arrived.unwrap_or(end);
    let any = [stay.arrival, stay.start, stay.end, stay.drop].into_iter().flatten().next();
    let mut hop = Hop {
        port: log.port_name(port),
        number: port,
        class: any.map_or(0, |row| row.class),
        bytes: any.map_or(0, |row| u64::from(row.size)),
        from_ps: from.0,
        enqueued_ps: stay.arrival.map(|row| row.time.0),
        started_ps: stay.start.map(|row| row.time.0),
        until_ps: until.0,
        dropped: drop.is_some(),
        waits: Waits::default(),
        queue_bytes: stay.arrival.map_or(0, |row| row.queue_bytes),
        before: Vec::new(),
        others: Vec::new(),
        left: Vec::new(),
        overtook: Vec::new(),
        at_input: Vec::new(),
        marks: stay.marks,
        stops: Vec::new(),
    };
    let Some(arrival) = stay.arrival else {
        // The packet was dropped before the queue, or by a conditioner at the end of the link.
        let wait = until.since(from).0;
        *(if is_first { &mut hop.waits.source_ps } else { &mut hop.waits.input_ps }) = wait;
        return hop;
    };
    let before_queue = arrival.time.since(from).0;
    *(if is_first { &mut hop.waits.source_ps } else { &mut hop.waits.input_ps }) = before_queue;
    if hop.waits.input_ps > 0 {
        hop.at_input = input(log, arrival, from);
    }
    let leaves = stay.start.map_or(until, |row| row.time);
    queue(log, &mut hop, arrival, stay.start.or(stay.drop));
    split(log, &mut hop, arrival, leaves);
    if let Some(start) = stay.start {
        let transit = until.since(start.time).0;
        let own = &log.network.ports[port as usize];
        let whole = own.tx_time(start.time, start.wire);
        let first = own.header.map_or(whole, |header| {
            let head = u32::from(start.wire).min(header);
            own.rate_at(start.time).clock().tx_time(head)
        });
        hop.waits.serialisation_ps = first.0.min(transit);
        hop.waits.propagation_ps = transit - hop.waits.serialisation_ps;
    }
    hop
}

/// Returns the packets that were waiting at the input of a crossbar when a packet arrived there at `from`.
fn input(log: &Log<'_>, arrival: &Row, from: Time) -> Vec<Share> {
    let node = log.network.ports[arrival.port as usize].from;
    let Some(received) = log.arrival(arrival.packet, node, arrival.time) else { return Vec::new() };
    let before = at_input(log, received.port, from).into_iter().map(|(index, _)| log.row(index));
    shares(log, before.filter(|row| row.packet != arrival.packet))
}

/// Fills in the packets that were waiting before the packet, and those that left while it waited. `leaving`: the row of
/// the packet's departure or drop; `None`: it is still in the queue.
fn queue(log: &Log<'_>, hop: &mut Hop, arrival: &Row, leaving: Option<&Row>) {
    let before = waiting_before(log, hop.number, arrival.turn);
    let rows = || before.iter().map(|index| log.row(*index));
    hop.before = shares(log, rows().filter(|row| row.class == arrival.class));
    hop.others = shares(log, rows().filter(|row| row.class != arrival.class));
    let last = leaving.map_or(u64::MAX, |row| row.turn);
    let rows = log.queue(hop.number).map(|(_, row)| row);
    let during: Vec<&Row> = rows.filter(|row| (arrival.turn + 1..last).contains(&row.turn)).collect();
    let of = |event: EventKind| during.iter().copied().filter(move |row| row.event == event);
    let left: Vec<&Row> = of(EventKind::Dequeue).collect();
    let later: BTreeSet<u64> = of(EventKind::Enqueue).map(|row| row.packet).collect();
    hop.overtook = shares(log, left.iter().copied().filter(|row| later.contains(&row.packet)));
    hop.left = shares(log, left);
}

/// Divides the wait in the queue, from the arrival to `leaves`, into its parts.
fn split(log: &Log<'_>, hop: &mut Hop, arrival: &Row, leaves: Time) {
    let (from, until) = (arrival.time.0, leaves.0);
    let whole = Spans::within(from, until, [(from, until)]);
    let own = &log.network.ports[hop.number as usize];
    let destination = log.destination(arrival);
    let concerns = |interval: &Interval| {
        interval.start < leaves && interval.end > arrival.time && interval.covers.includes(arrival.class, destination)
    };
    hop.stops = intervals(log, hop.number).into_iter().filter(concerns).collect();
    let of = |slows: bool| {
        let some = hop.stops.iter().filter(move |interval| interval.slows == slows);
        Spans::within(from, until, some.map(|interval| (interval.start.0, interval.end.0)))
    };
    let down = Spans::within(from, until, downs(&own.states));
    let stopped = of(false).minus(&down);
    let unstopped = whole.minus(&down).minus(&stopped);
    let idle = unstopped.minus(&busy(log, hop.number, arrival.time, leaves));
    let slowed = idle.length() - idle.minus(&of(true)).length();
    hop.waits.down_ps = down.length();
    hop.waits.stopped_ps = stopped.length();
    hop.waits.behind_ps = unstopped.length() - idle.length();
    hop.waits.slowed_ps = slowed;
    hop.waits.held_ps = idle.length() - slowed;
}

/// Returns the spans during which a link is down, in order; the end of a span that lasts to the end of the run is
/// `u64::MAX`.
fn downs(states: &[(Time, bool)]) -> Vec<(u64, u64)> {
    let mut spans = Vec::new();
    let mut since = None;
    for (at, up) in states {
        match (up, since) {
            (false, None) => since = Some(at.0),
            (true, Some(start)) => {
                spans.push((start, at.0));
                since = None;
            }
            _ => {}
        }
    }
    spans.extend(since.map(|start| (start, u64::MAX)));
    spans
}

/// Returns the spans between two instants during which a port transmits.
pub(super) fn busy(log: &Log<'_>, port: u32, from: Time, until: Time) -> Spans {
    let own = &log.network.ports[port as usize];
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for row in log.starts(port).take_while(|row| row.time < until) {
        if let Some(last) = spans.last_mut() {
            last.1 = last.1.min(row.time.0);
        }
        let end = row.time + own.tx_time(row.time, row.wire);
        spans.push((row.time.0, end.max(tail(log, row)).0));
    }
    Spans::within(from.0, until.0, spans)
}

/// Returns the time at which the last bit of a packet arrives at the cut-through switch that transmits it from `start`
/// on; [`Time::ZERO`]: not a cut-through switch, or a packet of its own.
fn tail(log: &Log<'_>, start: &Row) -> Time {
    let node = log.network.ports[start.port as usize].from;
    if !start.frame.is_packet() {
        return Time::ZERO;
    }
    let Some(received) = log.arrival(start.packet, node, start.time) else { return Time::ZERO };
    let before = &log.network.ports[received.port as usize];
    let Some(header) = before.header else { return Time::ZERO };
    let clock = before.rate_at(received.time).clock();
    let wire = u32::from(received.wire);
    received.time + clock.tx_time(wire - header.min(wire))
}
