//! Packets that arrive at the host.

use super::{Host, Stage};
use crate::configuration::Role;
use crate::language::{Codepoint, Failure, Flags, Options, Packet};
use tailback_transport::{Ack, Block, Ecn, EcnMode};
use tailback_units::{Dur, Time};

/// Number of a SYN among the model's segments.
const SYN: u32 = u32::MAX;

impl Host {
    /// Processes the arrival of a packet.
    pub(super) fn arrival(&mut self, packet: &Packet) -> Result<(), Failure> {
        let Some(window) = packet.window else { return self.fail("a packet that arrives needs `win`") };
        let Some(options) = &packet.options else {
            return self.fail("the options of a packet that arrives must be written");
        };
        let timestamps = self.connection.tcp.timestamps;
        if options.timestamp.is_some() != timestamps {
            return self.fail(format!("the connection has timestamps: {timestamps}, as its SYN says"));
        }
        if packet.flags.syn {
            self.offered = self.offered.max(packet.ack.unwrap_or(1) + window);
            (self.last_ack, self.last_window) = (1, window);
            return self.syn(packet, options);
        }
        if options.mss.or(options.window_scale).is_some() || options.sack_ok {
            return self.fail("`mss`, `sackOK` and `wscale` are options of a SYN");
        }
        let Some(ack) = packet.ack else { return self.fail("a segment without the flag `.`") };
        self.note_timestamp(options);
        if self.connection.role == Role::Sender {
            let scaled = window << self.connection.window_scale;
            // RFC 5681 section 2: a duplicate has the same window as the acknowledgement before. The model has no window
            // on the wire, and would take any repeated acknowledgement for a duplicate.
            let repeats = ack == self.last_ack && options.sack.is_empty() && self.written;
            if repeats && self.last_window != scaled {
                return self.fail(format!(
                    "a window of {scaled} B after one of {} B: by its window it is no duplicate, for the model it is",
                    self.last_window
                ));
            }
            (self.last_ack, self.last_window) = (ack, scaled);
            self.check_window(ack, scaled)?;
        }
        match self.stage {
            Stage::Accepting => self.end_of_handshake(packet, ack),
            Stage::Open if self.connection.role == Role::Receiver => self.data(packet, ack),
            Stage::Open => self.acknowledgement(packet, options, ack),
            _ => self.fail("a segment arrives, and the connection is not open"),
        }
    }

    /// Keeps the timestamp of a segment for the echo.
    fn note_timestamp(&mut self, options: &Options) {
        if let Some((value, _)) = options.timestamp {
            self.recent = self.recent.max(value);
        }
    }

    /// Checks the peer's window: the model has a constant one, or none.
    fn check_window(&mut self, ack: u64, window: u64) -> Result<(), Failure> {
        self.offered = self.offered.max(ack + window);
        let segment = self.connection.tcp.segment.0;
        match self.connection.tcp.receive_window {
            Some(segments) if u64::from(segments) != window / segment => self.fail(format!(
                "the window is {} segments of {segment} B, and receive-window is {segments}",
                window / segment
            )),
            _ => Ok(()),
        }
    }

    /// Processes a SYN or a SYN-ACK.
    fn syn(&mut self, packet: &Packet, options: &Options) -> Result<(), Failure> {
        self.note_timestamp(options);
        let Flags { ack, ece, cwr, .. } = packet.flags;
        match self.stage {
            Stage::Listening if !ack => {
                // RFC 3168 section 6.1.1: a SYN with ECE and CWR offers ECN. A sender without a handshake does not
                // negotiate: the script's SYN must agree with its parameters.
                let offers = ece && cwr;
                if self.connection.role == Role::Sender && offers != (self.connection.tcp.ecn == EcnMode::Classic) {
                    return self.fail(format!("the SYN offers ECN: {offers}, and the parameter `ecn` differs"));
                }
                let reply = self.receiver.on_segment(self.now, SYN, 0, self.now, Ecn::NotEct, offers);
                self.stage = Stage::Accepting;
                self.opened_at = self.now;
                let ece = reply.is_some_and(|reply| reply.ece);
                self.transmit(Packet {
                    flags: Flags { syn: true, ack: true, ece, ..Flags::default() },
                    ack: Some(1),
                    ..Packet::default()
                })
            }
            Stage::Opening if ack && packet.ack == Some(1) && !cwr => {
                if self.now > self.connected_at + self.tolerance || self.now + self.tolerance < self.connected_at {
                    return self.fail("`connect` returns now, not at the end of its range");
                }
                let echo = match options.timestamp {
                    Some((_, echo)) => self.time_of(echo)?,
                    None => self.last.get(&SYN).copied().unwrap_or(Time::ZERO),
                };
                let sack = [Block::default(); 3];
                self.sender.on_ack(
                    self.now,
                    &Ack { next: 0, ece, syn: true, echo, delay: Dur::ZERO, window: Ack::UNLIMITED, sack },
                    None,
                );
                self.stage = Stage::Open;
                // The third segment of the handshake is no packet of the model.
                self.transmit(Packet {
                    flags: Flags { ack: true, ..Flags::default() },
                    start: 1,
                    end: 1,
                    ack: Some(1),
                    options: Some(self.own_options()),
                    ..Packet::default()
                })
            }
            _ => self.fail("a SYN or SYN-ACK that does not fit the stage of the connection"),
        }
    }

    /// Checks the third segment of a handshake that the peer began.
    fn end_of_handshake(&mut self, packet: &Packet, ack: u64) -> Result<(), Failure> {
        let plain = Flags { ack: true, push: packet.flags.push, ..Flags::default() };
        if (packet.start, packet.end, ack) != (1, 1, 1) || packet.flags != plain {
            return self.fail("the handshake ends with `. 1:1(0) ack 1`");
        }
        self.stage = Stage::Open;
        Ok(())
    }

    /// Processes a segment of data.
    fn data(&mut self, packet: &Packet, ack: u64) -> Result<(), Failure> {
        let size = self.connection.inbound;
        let Ok(payload @ 1..) = u16::try_from(packet.length()) else {
            return self.fail("a segment of data has 1 to 65535 bytes");
        };
        if u64::from(payload) != size || !(packet.start - 1).is_multiple_of(size) {
            return self.fail(format!("the model numbers segments: all that arrive have {size} B, without gaps"));
        }
        if ack != 1 || packet.flags.ece {
            return self.fail("a segment of data has `ack 1` and no flag E: the host sends no data");
        }
        let seq = ((packet.start - 1) / size) as u32;
        let sent = match packet.options.as_ref().and_then(|options| options.timestamp) {
            Some((value, _)) => Time::ZERO + Dur::from_ms(value),
            None => self.now,
        };
        // A segment without a code point is not ECN-capable, as in packetdrill.
        let ecn = match packet.ecn {
            None | Some(Codepoint::NotEct) => Ecn::NotEct,
            Some(Codepoint::Ect0 | Codepoint::AnyEct) => Ecn::Ect0,
            Some(Codepoint::Ect1) => Ecn::Ect1,
            Some(Codepoint::Ce) => Ecn::Ce,
        };
        let reply = self.receiver.on_segment(self.now, seq, payload, sent, ecn, packet.flags.cwr);
        self.transmit_ack(reply);
        Ok(())
    }

    /// Processes an acknowledgement.
    fn acknowledgement(&mut self, packet: &Packet, options: &Options, ack: u64) -> Result<(), Failure> {
        if packet.start != 1 || packet.flags.cwr || !matches!(packet.ecn, None | Some(Codepoint::NotEct)) {
            return self.fail("an acknowledgement is `1:1(0)`, without the flag W and without an ECN code point");
        }
        let next = self.segment(ack)?;
        let mut sack = [Block::default(); 3];
        for (block, (start, end)) in sack.iter_mut().zip(&options.sack) {
            *block = Block { start: self.segment(*start)?, end: self.segment(*end)? };
        }
        let echo = match options.timestamp {
            Some((_, echo)) => self.time_of(echo)?,
            // Without timestamps the model does not read the echo.
            None => Time::ZERO,
        };
        let ece = packet.flags.ece;
        self.sender.on_ack(
            self.now,
            &Ack { next, ece, syn: false, echo, delay: Dur::ZERO, window: Ack::UNLIMITED, sack },
            None,
        );
        self.transmit_all()
    }

    /// Returns the number of the segment that begins at `byte`.
    fn segment(&self, byte: u64) -> Result<u32, Failure> {
        match self.starts.binary_search(&byte) {
            Ok(seq) => Ok(seq as u32),
            Err(_) => self.fail(format!("byte {byte} is not the first one of a segment, or was not transmitted yet")),
        }
    }

    /// Returns the time of the last transmission that carried the timestamp `value`.
    fn time_of(&self, value: u64) -> Result<Time, Failure> {
        match self.stamps.iter().rev().find(|(stamp, _)| *stamp == value) {
            Some((_, time)) => Ok(*time),
            None => self.fail(format!("no segment was transmitted with the timestamp {value}")),
        }
    }
}
