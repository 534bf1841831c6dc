//! Blocks of pcapng (draft-ietf-opsawg-pcapng), little-endian.

use super::address::Ip;

/// Length of a block's type and of its two lengths, bytes.
const ENVELOPE: usize = 12;
/// Digits of a second's fraction in time stamps: nanoseconds.
pub(super) const DIGITS: u8 = 9;
/// Link type of Ethernet.
const ETHERNET: u16 = 1;
/// Longest value of an option, bytes.
const LONGEST: usize = u16::MAX as usize;

/// Direction of a frame at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Inbound,
    Outbound,
}

/// Decision about a frame, as an action of Linux's traffic control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// TC_ACT_OK: the frame is passed on.
    Passed,
    /// TC_ACT_SHOT: the frame is dropped.
    Dropped,
}

/// Content of an Interface Description Block.
#[derive(Clone, Debug)]
pub(super) struct Interface<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub mac: [u8; 6],
    /// Rate, bit/s.
    pub speed: u64,
    /// Longest captured part of a frame, bytes; 0: no limit.
    pub snap: u32,
}

/// Content of an Enhanced Packet Block.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    pub interface: u32,
    /// Time, ns.
    pub time: u64,
    /// Captured bytes.
    pub bytes: &'a [u8],
    /// Length of the whole frame, bytes.
    pub length: u32,
    pub direction: Direction,
    /// `true` if the destination is a group.
    pub group: bool,
    /// Identity of the packet; `None`: the frame is synthetic.
    pub packet: Option<u64>,
    /// Queue; `None`: the frame has none.
    pub queue: Option<u32>,
    pub verdict: Option<Verdict>,
    pub comment: Option<&'a str>,
}

/// Content of an Interface Statistics Block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statistics {
    pub interface: u32,
    /// First and last instant, ns.
    pub start: u64,
    pub end: u64,
    /// Frames written for the interface.
    pub frames: u64,
    /// Those of them that were dropped.
    pub dropped: u64,
}

/// Writes a Section Header Block.
pub(super) fn section(out: &mut Vec<u8>, application: &str, comments: &[String]) {
    let mut block = Block::begin(out, 0x0a0d_0d0a);
    block.u32(0x1a2b_3c4d);
    block.u16(1);
    block.u16(0);
    // The length of the section is not known yet.
    block.u64(u64::MAX);
    for comment in comments {
        block.option(1, comment.as_bytes());
    }
    block.option(4, application.as_bytes());
    block.end();
}

/// Writes an Interface Description Block.
pub(super) fn interface(out: &mut Vec<u8>, about: &Interface<'_>) {
    let mut block = Block::begin(out, 1);
    block.u16(ETHERNET);
    block.u16(0);
    block.u32(about.snap);
    block.option(2, about.name.as_bytes());
    block.option(3, about.description.as_bytes());
    block.option(6, &about.mac);
    block.option(8, &about.speed.to_le_bytes());
    block.option(9, &[DIGITS]);
    block.end();
}

/// Writes a Name Resolution Block with names of IPv4 addresses.
pub(super) fn names<'a>(out: &mut Vec<u8>, names: impl Iterator<Item = (Ip, &'a str)>) {
    let mut block = Block::begin(out, 4);
    for (address, name) in names {
        let mut value = address.to_vec();
        value.extend_from_slice(&name.as_bytes()[..name.len().min(LONGEST - 5)]);
        value.push(0);
        block.record(1, &value);
    }
    block.record(0, &[]);
    block.end();
}

/// Writes an Enhanced Packet Block.
pub(super) fn frame(out: &mut Vec<u8>, frame: &Frame<'_>) {
    let mut block = Block::begin(out, 6);
    block.u32(frame.interface);
    block.u32((frame.time >> 32) as u32);
    block.u32(frame.time as u32);
    block.u32(frame.bytes.len() as u32);
    block.u32(frame.length);
    block.padded(frame.bytes);
    if let Some(comment) = frame.comment {
        block.option(1, comment.as_bytes());
    }
    let direction: u32 = match frame.direction {
        Direction::Inbound => 0b01,
        Direction::Outbound => 0b10,
    };
    let reception = if frame.group { 0b010 } else { 0b001 };
    block.option(2, &(direction | reception << 2).to_le_bytes());
    if let Some(packet) = frame.packet {
        block.option(5, &packet.to_le_bytes());
    }
    if let Some(queue) = frame.queue {
        block.option(6, &queue.to_le_bytes());
    }
    if let Some(verdict) = frame.verdict {
        let action: u64 = match verdict {
            Verdict::Passed => 0,
            Verdict::Dropped => 2,
        };
        // The first octet names the origin of the verdict: 1 is Linux's traffic control.
        let mut value = vec![1];
        value.extend_from_slice(&action.to_le_bytes());
        block.option(7, &value);
    }
    block.end();
}

/// Writes an Interface Statistics Block.
pub(super) fn statistics(out: &mut Vec<u8>, about: Statistics) {
    let mut block = Block::begin(out, 5);
    let split = |time: u64| [(time >> 32) as u32, time as u32].map(u32::to_le_bytes).concat();
    block.u32(about.interface);
    block.bytes(&split(about.end));
    block.option(2, &split(about.start));
    block.option(3, &split(about.end));
    block.option(4, &about.frames.to_le_bytes());
    block.option(5, &about.dropped.to_le_bytes());
    block.end();
}

/// A block that is being written.
struct Block<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    has_options: bool,
}

impl<'a> Block<'a> {
    /// Begins a block of this type; its length is written at the end.
    fn begin(out: &'a mut Vec<u8>, kind: u32) -> Block<'a> {
        let start = out.len();
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        Block { out, start, has_options: false }
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }
    /// Writes bytes, and zeros up to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()]);
    }
    /// Writes a record: code, length and value.
    fn record(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(LONGEST)];
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }
    /// Writes an option.
    fn option(&mut self, code: u16, value: &[u8]) {
        self.has_options = true;
        self.record(code, value);
    }
    /// Ends the options and the block.
    fn end(mut self) {
        if self.has_options {
            self.record(0, &[]);
        }
        let length = (self.out.len() - self.start + ENVELOPE - 8) as u32;
        self.u32(length);
        self.out[self.start + 4..self.start + 8].copy_from_slice(&length.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of a text in hexadecimal.
    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let (pairs, rest) = digits.as_chunks::<2>();
        assert!(rest.is_empty(), "an even number of digits");
        let value = |digit: u8| (digit as char).to_digit(16).expect("a hexadecimal digit") as u8;
        pairs.iter().map(|[high, low]| value(*high) << 4 | value(*low)).collect()
    }

    // The expected bytes are written by hand from sections 4.1 to 4.6 of the draft.

    #[test]
    fn a_section_header_has_the_magic_of_its_byte_order_and_no_length() {
        let mut out = Vec::new();
        section(&mut out, "t", &["abc".to_owned()]);
        let expected = "0a0d0d0a 30000000 4d3c2b1a 0100 0000 ffffffffffffffff 0100 0300 616263 00 0400 0100 74 000000 \
            00000000 30000000";
        assert_eq!(out, hex(expected));
    }

    #[test]
    fn an_interface_has_its_name_and_rate_and_counts_nanoseconds() {
        let mut out = Vec::new();
        let (mac, speed) = ([2, 0, 0, 0, 0, 1], 1_000_000_000);
        interface(&mut out, &Interface { name: "a->b", description: "d", mac, speed, snap: 128 });
        let expected = "01000000 48000000 0100 0000 80000000 0200 0400 612d3e62 0300 0100 64 000000 \
            0600 0600 020000000001 0000 0800 0800 00ca9a3b 00000000 0900 0100 09 000000 00000000 48000000";
        assert_eq!(out, hex(expected));
    }

    #[test]
    fn names_are_records_of_an_address_and_a_text_that_ends_with_zero() {
        let mut out = Vec::new();
        names(&mut out, [([10, 0, 0, 1], "ab")].into_iter());
        assert_eq!(out, hex("04000000 1c000000 0100 0700 0a000001 616200 00 00000000 1c000000"));
    }

    #[test]
    fn a_dropped_frame_has_flags_identity_queue_verdict_and_comment() {
        let mut out = Vec::new();
        let about = Frame {
            interface: 2,
            time: 0x1_0000_0005,
            bytes: &[0xaa; 5],
            length: 60,
            direction: Direction::Outbound,
            group: false,
            packet: Some(0x0102),
            queue: Some(3),
            verdict: Some(Verdict::Dropped),
            comment: Some("no"),
        };
        frame(&mut out, &about);
        let expected = "06000000 60000000 02000000 01000000 05000000 05000000 3c000000 aaaaaaaaaa 000000 \
            0100 0200 6e6f 0000 0200 0400 06000000 0500 0800 0201000000000000 0600 0400 03000000 \
            0700 0900 01 0200000000000000 000000 00000000 60000000";
        assert_eq!(out, hex(expected));
    }

    #[test]
    fn a_received_frame_to_a_group_is_inbound_and_multicast_and_has_no_other_option() {
        let mut out = Vec::new();
        let about = Frame {
            interface: 0,
            time: 1,
            bytes: &[],
            length: 0,
            direction: Direction::Inbound,
            group: true,
            packet: None,
            queue: None,
            verdict: None,
            comment: None,
        };
        frame(&mut out, &about);
        let expected = "06000000 2c000000 00000000 00000000 01000000 00000000 00000000 0200 0400 09000000 00000000 \
            2c000000";
        assert_eq!(out, hex(expected));
    }

    #[test]
    fn statistics_state_the_first_and_last_instant_and_the_counts() {
        let mut out = Vec::new();
        statistics(&mut out, Statistics { interface: 1, start: 0, end: 7, frames: 5, dropped: 2 });
        let expected = "05000000 4c000000 01000000 00000000 07000000 0200 0800 00000000 00000000 \
            0300 0800 00000000 07000000 0400 0800 0500000000000000 0500 0800 0200000000000000 00000000 4c000000";
        assert_eq!(out, hex(expected));
    }
}
