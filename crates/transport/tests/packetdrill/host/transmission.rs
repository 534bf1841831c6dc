//! Packets that the host transmits, and the lines that expect them.

use super::{Host, MOST_WAITING, Seen, Stage};
use crate::language::{Codepoint, Failure, Flags, Options, Packet};
use std::fmt::Write;
use tailback_transport::{Ack, Block, Ecn, Segment};
use tailback_units::Time;

impl Host {
    /// Records all segments that the sender may transmit now.
    pub(super) fn transmit_all(&mut self) -> Result<(), Failure> {
        if self.stage != Stage::Opening && !self.written {
            return Ok(());
        }
        while let Some(segment) = self.sender.poll(self.now) {
            self.last.insert(segment.seq, self.now);
            let packet = if segment.payload == 0 { self.syn_packet(&segment) } else { self.data_packet(&segment)? };
            self.transmit(packet)?;
        }
        self.sender.audit();
        Ok(())
    }

    fn syn_packet(&self, segment: &Segment) -> Packet {
        // RFC 3168 section 6.1.1: on a SYN both flags together offer ECN.
        let flags = Flags { syn: true, ece: segment.cwr, cwr: segment.cwr, ..Flags::default() };
        Packet { flags, options: Some(self.own_options()), ..Packet::default() }
    }

    fn data_packet(&mut self, segment: &Segment) -> Result<Packet, Failure> {
        let seq = segment.seq as usize;
        if seq + 1 == self.starts.len() {
            self.starts.push(self.starts[seq] + u64::from(segment.payload));
        }
        let (start, end) = (self.starts[seq], self.starts[seq + 1]);
        if end > self.offered {
            return self.fail(format!(
                "{start}:{end} is beyond the peer's window, which the model does not see; write receive-window"
            ));
        }
        let ecn = match segment.ecn {
            Ecn::NotEct => Codepoint::NotEct,
            Ecn::Ect0 => Codepoint::Ect0,
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ce => Codepoint::Ce,
        };
        let flags = Flags { ack: true, cwr: segment.cwr, ..Flags::default() };
        let options = Some(self.own_options());
        Ok(Packet { ecn: Some(ecn), flags, start, end, ack: Some(1), window: None, options })
    }

    /// Returns the options of a segment of the host: its timestamp, if the connection has timestamps.
    pub(super) fn own_options(&self) -> Options {
        let timestamp = self.connection.tcp.timestamps.then(|| (self.timestamp(), self.recent));
        Options { timestamp, ..Options::default() }
    }

    /// Records an acknowledgement of the receiver.
    pub(super) fn transmit_ack(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        let byte = |seq: u32| 1 + u64::from(seq) * self.connection.inbound;
        let blocks = ack.sack.iter().filter(|block| **block != Block::default());
        let sack = blocks.map(|block| (byte(block.start), byte(block.end))).collect();
        let echo = ack.echo.since(Time::ZERO).as_secs() * 1e3;
        let timestamp = self.connection.tcp.timestamps.then(|| (self.timestamp(), echo.round() as u64));
        let packet = Packet {
            ecn: Some(Codepoint::NotEct),
            flags: Flags { ack: true, ece: ack.ece, ..Flags::default() },
            start: 1,
            end: 1,
            ack: Some(byte(ack.next)),
            window: None,
            options: Some(Options { timestamp, sack, ..Options::default() }),
        };
        self.waiting.push_back(Seen { at: self.now, packet });
    }

    /// Records a packet.
    pub(super) fn transmit(&mut self, packet: Packet) -> Result<(), Failure> {
        if self.waiting.len() >= MOST_WAITING {
            return self.fail(format!("more than {MOST_WAITING} segments were transmitted"));
        }
        if self.connection.tcp.timestamps {
            self.stamps.push((self.timestamp(), self.now));
        }
        self.waiting.push_back(Seen { at: self.now, packet });
        Ok(())
    }

    /// Compares the next transmissions with a line, which may describe several segments in a row as one, as a host with
    /// segmentation offload shows them. Returns the time of the first.
    pub(super) fn expect(&mut self, expected: &Packet, (from, until): (Time, Time)) -> Result<Time, Failure> {
        if expected.window.is_some() {
            return self.fail("`win` of a transmission: the model has no window on the wire");
        }
        let latest = if until == Time::NEVER { until } else { until + self.tolerance };
        while self.waiting.is_empty() && self.deadline() <= latest && self.deadline() != Time::NEVER {
            self.expire()?;
        }
        let mut first = None;
        let mut start = expected.start;
        loop {
            let Some(seen) = self.waiting.pop_front() else {
                let what = if first.is_some() { format!("byte {start} and on") } else { "nothing".into() };
                let next = self.deadline();
                let timer =
                    if next == Time::NEVER { "no timer".into() } else { format!("a timer at {}", seconds(next)) };
                return match first {
                    None => self.fail(format!("transmitted {what} by {}; next is {timer}", seconds(latest))),
                    Some(_) => self.fail(format!("did not transmit {what}; next is {timer}")),
                };
            };
            if seen.at + self.tolerance < from || seen.at > latest {
                return self.fail(format!("transmitted {}, not at {}", seen.text(), seconds(from)));
            }
            self.compare(expected, start, &seen)?;
            first.get_or_insert(seen.at);
            start = seen.packet.end;
            if start >= expected.end {
                return Ok(first.unwrap_or(seen.at));
            }
        }
    }

    /// Compares a transmission with the part of a line from byte `start` on.
    fn compare(&self, expected: &Packet, start: u64, seen: &Seen) -> Result<(), Failure> {
        let packet = &seen.packet;
        let bytes =
            packet.start == start && packet.end <= expected.end && (packet.end > start || start == expected.end);
        // The model has no flag PSH, and the options of its SYN do not say what the connection uses.
        let flags = Flags { push: false, ..expected.flags } == packet.flags;
        let options = packet.flags.syn || expected.options.as_ref().is_none_or(|o| Some(o) == packet.options.as_ref());
        let ecn = match (expected.ecn, packet.ecn) {
            (None, _) => true,
            (Some(Codepoint::AnyEct), Some(seen)) => [Codepoint::Ect0, Codepoint::Ect1].contains(&seen),
            (Some(wanted), seen) => seen.unwrap_or(Codepoint::NotEct) == wanted,
        };
        if bytes && flags && options && ecn && expected.ack == packet.ack {
            return Ok(());
        }
        let wanted = Packet { start, ..expected.clone() };
        self.fail(format!("transmitted {}, not {}", seen.text(), text(&wanted)))
    }
}

impl Seen {
    /// Returns the packet and its time for a message.
    pub(super) fn text(&self) -> String {
        format!("{} at {}", text(&self.packet), seconds(self.at))
    }
}

/// Returns a time for a message.
fn seconds(time: Time) -> String {
    format!("{} s", time.since(Time::ZERO).as_secs())
}

/// Returns a packet as a script writes it.
fn text(packet: &Packet) -> String {
    let mut line = match packet.ecn {
        Some(Codepoint::NotEct) => "[noecn] ",
        Some(Codepoint::Ect0) => "[ect0] ",
        Some(Codepoint::Ect1) => "[ect1] ",
        Some(Codepoint::AnyEct) => "[ect01] ",
        Some(Codepoint::Ce) => "[ce] ",
        None => "",
    }
    .to_owned();
    let Flags { syn, ack, push, ece, cwr } = packet.flags;
    for (set, letter) in [(syn, 'S'), (push, 'P'), (ece, 'E'), (cwr, 'W'), (ack, '.')] {
        line.extend(set.then_some(letter));
    }
    let mut add = |text: std::fmt::Arguments<'_>| line.write_fmt(text).expect("a text grows");
    add(format_args!(" {}:{}({})", packet.start, packet.end, packet.end - packet.start));
    if let Some(ack) = packet.ack {
        add(format_args!(" ack {ack}"));
    }
    let Some(options) = &packet.options else { return line + " <...>" };
    if let Some((value, echo)) = options.timestamp {
        add(format_args!(" TS val {value} ecr {echo}"));
    }
    if !options.sack.is_empty() {
        add(format_args!(" sack"));
    }
    for (start, end) in &options.sack {
        add(format_args!(" {start}:{end}"));
    }
    line
}
