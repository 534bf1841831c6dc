//! The capture of a run: rows in, bytes of pcapng out.

use super::address::{ip, mac};
use super::block::{self, Direction, Interface, Verdict};
use super::builder::{Builder, Protocol, Sent, blocks, stamp};
use super::conversation::{Conversation, before};
use super::frame::Synthetic;
use super::note;
use crate::network::Network;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tailback_qdisc::Reason;
use tailback_sim::plan::{EventKind, FrameKind, Plan, TracePlan};
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Picoseconds in a nanosecond, the unit of a capture's times.
const NS: u64 = 1000;

/// Number of packets of connections whose properties are kept. A packet that is lost at a port without a trace is
/// removed only when this number of packets has been sent after it; if it should still be in the network, its properties
/// are derived anew, and only its time stamps may differ.
const KEPT: usize = 1 << 20;

/// Instants at which a frame is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// At the interface that sends it, when its transmission begins.
    Send,
    /// At the interface that receives it, when its last bit has arrived.
    Receive,
    /// At both.
    Both,
}

/// Choices of a capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest captured part of a frame, bytes; 0: whole frames.
    pub snap: u32,
    /// Instants at which frames are captured.
    pub sides: Sides,
    /// Interfaces that are captured, by the index of their port; `None`: all.
    pub ports: Option<Vec<bool>>,
    /// Flows that are captured, by index; `None`: all. Control frames are captured in any case.
    pub flows: Option<Vec<bool>>,
    /// First instant of the capture.
    pub from: Time,
    /// Last instant of the capture.
    pub until: Time,
    /// Name and version of the program.
    pub application: String,
    /// Comments on the capture.
    pub comments: Vec<String>,
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture {
    network: Network,
    builder: Builder,
    options: Options,
    /// Interface of each port; `None`: the port is not captured.
    interfaces: Vec<Option<u32>>,
    /// By interface: frames written, and those of them that were dropped.
    counts: Vec<[u64; 2]>,
    /// Connections of the flows with TCP or RDMA.
    conversations: BTreeMap<u32, Conversation>,
    /// Packets of connections in the network.
    under_way: BTreeMap<u64, Sent>,
    /// Packets of connections in the order in which they were sent, the last [`KEPT`].
    recent: VecDeque<u64>,
    /// Comments on packets that were marked and wait at a port.
    marks: BTreeMap<(u64, u32), String>,
    /// Packets that wait at a captured port, with the order of their arrivals.
    waiting: BTreeMap<(u32, u64), (u64, Row)>,
    arrivals: u64,
    /// Rows of the last instant: more of that instant may follow.
    held: Vec<Row>,
}

impl Capture {
    /// Returns the capture of a plan's run, and sets the plan's trace to the rows that it needs.
    pub fn new(plan: &mut Plan, options: Options) -> Capture {
        let network = Network::of(plan);
        let builder = Builder::new(plan, &network);
        let selected = |port: usize| options.ports.as_ref().is_none_or(|ports| ports[port]);
        let mut count = 0;
        let mut number = |port: usize| {
            selected(port).then(|| {
                count += 1;
                count - 1
            })
        };
        let interfaces: Vec<Option<u32>> = (0..network.ports.len()).map(&mut number).collect();
        plan.trace = Some(Box::new(trace(&builder, &options)));
        Capture {
            counts: vec![[0; 2]; count as usize],
            network,
            builder,
            options,
            interfaces,
            conversations: BTreeMap::new(),
            under_way: BTreeMap::new(),
            recent: VecDeque::new(),
            marks: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            held: Vec::new(),
        }
    }

    /// Writes the beginning of the file: section, interfaces and names.
    pub fn begin(&self, out: &mut Vec<u8>) {
        block::section(out, &self.options.application, &self.options.comments);
        for (port, _) in self.network.ports.iter().zip(&self.interfaces).filter(|(_, number)| number.is_some()) {
            let description = format!(
                "interface of {} towards {}: {}, propagation delay {}",
                self.network.nodes[usize::from(port.from)],
                self.network.nodes[usize::from(port.to)],
                port.rate,
                port.delay
            );
            let about = Interface {
                name: &port.name,
                description: &description,
                mac: mac(port.from),
                speed: port.rate.0,
                snap: self.options.snap,
            };
            block::interface(out, &about);
        }
        let names = (0..).zip(&self.network.nodes).map(|(node, name)| (ip(node), name.as_str()));
        block::names(out, names);
    }

    /// Writes the frames of the next rows.
    pub fn rows(&mut self, rows: Vec<Row>, out: &mut Vec<u8>) {
        for row in rows {
            if self.held.last().is_some_and(|last| last.time < row.time) {
                let instant = std::mem::take(&mut self.held);
                self.instant(&instant, out);
            }
            self.held.push(row);
        }
    }

    /// Writes the end of the file: with `ended`, the packets that still wait when the run ends, and statistics.
    pub fn end(&mut self, ended: Option<Time>, out: &mut Vec<u8>) {
        let instant = std::mem::take(&mut self.held);
        self.instant(&instant, out);
        let last = ended.unwrap_or_else(|| instant.last().map_or(Time::ZERO, |row| row.time));
        if ended.is_some() && self.options.sides != Sides::Receive {
            let mut waiting: Vec<(u64, Row)> = std::mem::take(&mut self.waiting).into_values().collect();
            waiting.sort_by_key(|(arrival, _)| *arrival);
            for (_, row) in waiting {
                let row = Row { time: last, ..row };
                let text = "still waiting when the run ended";
                self.show(&row, Direction::Outbound, None, Some(text), out);
            }
        }
        for (interface, [frames, dropped]) in (0..).zip(&self.counts) {
            let (start, end) = (nanoseconds(self.options.from), nanoseconds(last.min(self.options.until)));
            let about = block::Statistics { interface, start, end, frames: *frames, dropped: *dropped };
            block::statistics(out, about);
        }
    }

    /// Writes the frames of all rows of an instant. The order of these rows is not that of cause and effect, so that
    /// packets and arrivals are noted first.
    fn instant(&mut self, rows: &[Row], out: &mut Vec<u8>) {
        let mut received = BTreeSet::new();
        let mut lost = BTreeMap::new();
        for row in rows {
            match row.event {
                EventKind::Receive | EventKind::Deliver => {
                    received.insert((row.packet, row.port));
                }
                EventKind::Drop => {
                    lost.insert((row.packet, row.port), row);
                }
                _ => {}
            }
        }
        self.note_packets(rows);
        for row in rows {
            match row.event {
                EventKind::Mark => {
                    let text = note::mark(&self.network, row);
                    self.marks.insert((row.packet, row.port), text);
                }
                EventKind::Enqueue if self.interfaces[row.port as usize].is_some() => {
                    self.arrivals += 1;
                    let kept = Row { state: Box::default(), ..row.clone() };
                    self.waiting.insert((row.port, row.packet), (self.arrivals, kept));
                }
                _ => {}
            }
        }
        for row in rows {
            let key = (row.packet, row.port);
            match row.event {
                EventKind::Dequeue => {
                    self.waiting.remove(&(row.port, row.packet));
                    if self.options.sides != Sides::Receive {
                        let mark = self.marks.remove(&key);
                        let verdict = mark.is_some().then_some(Verdict::Passed);
                        self.show(row, Direction::Outbound, verdict, mark.as_deref(), out);
                    }
                }
                EventKind::Receive | EventKind::Deliver => {
                    let mark = self.marks.remove(&key);
                    if self.options.sides == Sides::Send {
                        continue;
                    }
                    if let Some(drop) = lost.get(&key) {
                        self.show_drop(drop, Direction::Inbound, out);
                    } else {
                        let verdict = mark.is_some().then_some(Verdict::Passed);
                        self.show(row, Direction::Inbound, verdict, mark.as_deref(), out);
                    }
                }
                EventKind::Drop => {
                    self.marks.remove(&key);
                    let on_link = row.packet != 0
                        && matches!(row.reason, Some(Reason::LinkLoss | Reason::LinkDown | Reason::InputBufferFull));
                    if received.contains(&key) {
                        // With the frame's arrival, unless arrivals are not shown.
                        if self.options.sides == Sides::Send {
                            self.show_drop(row, Direction::Inbound, out);
                        }
                    } else if on_link {
                        self.show_drop(row, Direction::Inbound, out);
                    } else {
                        self.waiting.remove(&(row.port, row.packet));
                        self.show_drop(row, Direction::Outbound, out);
                    }
                }
                _ => {}
            }
        }
        for row in rows.iter().filter(|row| matches!(row.event, EventKind::Deliver | EventKind::Drop)) {
            self.under_way.remove(&row.packet);
        }
    }

    /// Notes the packets of connections that are sent at this instant, and the acknowledgements that have reached their
    /// sender.
    fn note_packets(&mut self, rows: &[Row]) {
        let is_connection = |row: &Row| {
            row.frame.is_packet() && !matches!(self.builder.flows[row.flow as usize].protocol, Protocol::Udp)
        };
        for row in rows.iter().filter(|row| row.event == EventKind::Deliver && is_connection(row)) {
            if let (FrameKind::Ack | FrameKind::SynAck, Some(sent)) = (row.frame, self.under_way.get(&row.packet)) {
                self.conversations.entry(row.flow).or_default().heard = sent.stamps[0];
            }
        }
        let is_sent = |row: &&Row| {
            let flow = || self.builder.flows[row.flow as usize];
            matches!(row.event, EventKind::Enqueue | EventKind::Drop)
                && is_connection(row)
                && self.builder.ends[row.port as usize][0]
                    == if matches!(row.frame, FrameKind::Data | FrameKind::Syn) { flow().from } else { flow().to }
        };
        let mut sent: Vec<&Row> = rows.iter().filter(is_sent).collect();
        // Data before SYNs, which then begin a new connection; segments of a flow in order.
        let rank = |row: &Row| match row.frame {
            FrameKind::Data => 0,
            FrameKind::Syn => 1,
            _ => 2,
        };
        sent.sort_by(|a, b| {
            let order = if before(a.sequence, b.sequence) {
                std::cmp::Ordering::Less
            } else if before(b.sequence, a.sequence) {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            };
            (rank(a), a.flow).cmp(&(rank(b), b.flow)).then(order)
        });
        for row in sent {
            self.note(row);
        }
    }

    /// Notes a packet of a connection when it is sent; returns its properties.
    fn note(&mut self, row: &Row) -> Sent {
        if let Some(sent) = self.under_way.get(&row.packet) {
            return *sent;
        }
        let full = self.builder.flows[row.flow as usize].protocol.segment();
        let conversation = self.conversations.entry(row.flow).or_default();
        let (opening, offset) = match row.frame {
            FrameKind::Syn => (conversation.syn(), 0),
            FrameKind::SynAck => (conversation.syn_ack(row.sequence), 0),
            FrameKind::Ack => conversation.place(row.sequence, full),
            _ => conversation.data(row.sequence, row.payload, full),
        };
        let forward = matches!(row.frame, FrameKind::Data | FrameKind::Syn);
        let heard = if row.frame == FrameKind::Syn { 0 } else { conversation.heard };
        let stamps = if forward { [stamp(row.stamp), heard] } else { [stamp(row.time), stamp(row.stamp)] };
        let byte = |segment| conversation.offset(opening, segment, full).wrapping_add(1) as u32;
        let sack = blocks(row).map(|block| [byte(block.start), byte(block.end)]);
        let sent = Sent { opening, offset, stamps, sack };
        self.under_way.insert(row.packet, sent);
        self.recent.push_back(row.packet);
        if self.recent.len() > KEPT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.under_way.remove(&oldest);
        }
        sent
    }

    /// Writes a dropped frame.
    fn show_drop(&mut self, row: &Row, direction: Direction, out: &mut Vec<u8>) {
        let text = note::drop(&self.network, row);
        self.show(row, direction, Some(Verdict::Dropped), Some(&text), out);
    }

    /// Writes the frame of a row at the interface that sends it, or at the one that receives it, if the interface is
    /// captured.
    fn show(
        &mut self,
        row: &Row,
        direction: Direction,
        verdict: Option<Verdict>,
        comment: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let port = if direction == Direction::Outbound { row.port } else { row.port ^ 1 };
        let Some(interface) = self.interfaces[port as usize] else { return };
        if !(self.options.from..=self.options.until).contains(&row.time) {
            return;
        }
        let frame = if row.frame.is_packet() {
            let has_connection = !matches!(self.builder.flows[row.flow as usize].protocol, Protocol::Udp);
            let sent = if has_connection { self.note(row) } else { Sent::default() };
            let first = self.conversations.get_mut(&row.flow).is_some_and(|found| found.show(sent.opening));
            if first && !matches!(row.frame, FrameKind::Syn | FrameKind::SynAck) {
                self.show_handshake(row, &sent, interface, direction, out);
            }
            self.builder.packet(row, &sent)
        } else {
            let Some(frame) = self.builder.control(row) else { return };
            frame
        };
        let about = About {
            interface,
            direction,
            packet: (row.packet != 0).then_some(row.packet),
            queue: row.frame.is_packet().then_some(row.class),
            verdict,
            comment,
        };
        self.write(row.time, &frame, &about, out);
    }

    /// Writes a handshake before the packet of a row: its connection began without one, or before the capture.
    fn show_handshake(&mut self, row: &Row, sent: &Sent, interface: u32, direction: Direction, out: &mut Vec<u8>) {
        let is_forward = matches!(row.frame, FrameKind::Data | FrameKind::Syn);
        for (frame, forward) in self.builder.handshake(row, sent) {
            let direction = match (direction, forward == is_forward) {
                (direction, true) => direction,
                (Direction::Inbound, false) => Direction::Outbound,
                (Direction::Outbound, false) => Direction::Inbound,
            };
            let comment = Some("synthetic handshake: the connection opened without one, or before the capture");
            let about = About { interface, direction, packet: None, queue: None, verdict: None, comment };
            self.write(row.time, &frame, &about, out);
        }
    }

    fn write(&mut self, time: Time, frame: &Synthetic, about: &About<'_>, out: &mut Vec<u8>) {
        let most = if self.options.snap == 0 { usize::MAX } else { self.options.snap as usize };
        let mut bytes = Vec::with_capacity(frame.length().min(most));
        frame.write(&mut bytes, most);
        let counts = &mut self.counts[about.interface as usize];
        counts[0] += 1;
        counts[1] += u64::from(about.verdict == Some(Verdict::Dropped));
        let made = block::Frame {
            interface: about.interface,
            time: nanoseconds(time),
            bytes: &bytes,
            length: frame.length() as u32,
            direction: about.direction,
            group: frame.is_to_group(),
            packet: about.packet,
            queue: about.queue.map(u32::from),
            verdict: about.verdict,
            comment: about.comment,
        };
        block::frame(out, &made);
    }
}

/// Properties of a frame's block besides its bytes.
struct About<'a> {
    interface: u32,
    direction: Direction,
    packet: Option<u64>,
    queue: Option<u8>,
    verdict: Option<Verdict>,
    comment: Option<&'a str>,
}

/// Returns the rows that a capture needs. Those of connections are needed from the beginning, at both of their hosts: the
/// position of a segment in bytes follows from the segments before it.
fn trace(builder: &Builder, options: &Options) -> TracePlan {
    let captured = |flow: usize| options.flows.as_ref().is_none_or(|flows| flows[flow]);
    let connections = (builder.flows.iter().enumerate())
        .filter(|(flow, ends)| captured(*flow) && !matches!(ends.protocol, Protocol::Udp));
    let hosts: BTreeSet<_> = connections.flat_map(|(_, ends)| [ends.from, ends.to]).collect();
    let ports = options.ports.as_ref().map(|ports| {
        let at_host = |port: usize| builder.ends[port].iter().any(|node| hosts.contains(node));
        (0..ports.len()).map(|port| ports[port] || ports[port ^ 1] || at_host(port)).collect()
    });
    let events = [
        EventKind::Enqueue,
        EventKind::Dequeue,
        EventKind::Receive,
        EventKind::Deliver,
        EventKind::Drop,
        EventKind::Mark,
    ];
    let from = if hosts.is_empty() { options.from } else { Time::ZERO };
    TracePlan {
        ports,
        flows: options.flows.clone(),
        events: events.iter().fold(0, |mask, event| mask | 1 << *event as u16),
        frames: !(1 << FrameKind::Queue as u16),
        from,
        until: options.until,
    }
}

/// Returns an instant in nanoseconds, rounded to the nearest.
fn nanoseconds(at: Time) -> u64 {
    at.0.saturating_add(NS / 2) / NS
}
