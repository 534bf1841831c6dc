//! TCP (RFC 9293), with the options of a connection: segment size, window scale and time stamps (RFC 7323), selective
//! acknowledgements (RFC 2018).

use super::frame::Synthetic;
use super::ip;

/// Number of the protocol.
const PROTOCOL: u8 = 6;
/// Bytes of a header without options.
const LENGTH: usize = 20;
/// Largest shift of the window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;

/// Flags.
pub(super) mod flag {
    pub const SYN: u8 = 0x02;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

/// Parameters of a connection that its segments show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Payload of a full segment, bytes.
    pub segment: u16,
    /// `true` if segments have time stamps.
    pub timestamps: bool,
    /// `true` if acknowledgements are selective.
    pub selective: bool,
    /// `true` if the ends use ECN.
    pub ecn: bool,
    /// Window of the receiver, bytes.
    pub window: u64,
}

impl Shape {
    /// Returns the shift of the window scale: the smallest with which the window can be written.
    pub fn scale(&self) -> u8 {
        (0..MAX_SCALE).find(|scale| self.window.div_ceil(1 << scale) <= 0xffff).unwrap_or(MAX_SCALE)
    }
    /// Returns the window field of a segment; that of a SYN is not scaled.
    pub fn window_field(&self, syn: bool) -> u16 {
        let scale = if syn { 0 } else { self.scale() };
        u16::try_from(self.window.div_ceil(1 << scale)).unwrap_or(u16::MAX)
    }
}

/// A segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    /// Value and echo of the time stamp, us.
    pub stamps: [u32; 2],
    /// Blocks of bytes that are acknowledged selectively; empty ones are left out.
    pub sack: [[u32; 2]; 3],
}

impl Segment {
    /// Appends the IP header and the TCP header of a segment whose payload is `frame.zeros` zeros.
    pub fn write(&self, frame: &mut Synthetic, ip: ip::Header, shape: &Shape) {
        let options = self.options(shape);
        let header = LENGTH + options.len();
        let ip = ip::Header { protocol: PROTOCOL, payload: header + frame.zeros, ..ip };
        ip.write(&mut frame.head);
        let out = &mut frame.head;
        let start = out.len();
        for port in self.ports {
            out.extend_from_slice(&port.to_be_bytes());
        }
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgement.to_be_bytes());
        out.extend_from_slice(&[(header as u8 / 4) << 4, self.flags]);
        out.extend_from_slice(&shape.window_field(self.flags & flag::SYN != 0).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&options);
        let mut sum = ip.pseudo();
        sum.add(&out[start..]);
        out[start + 16..start + 18].copy_from_slice(&sum.checksum().to_be_bytes());
    }

    /// Returns the options, in the order of Linux, padded to a multiple of four bytes.
    fn options(&self, shape: &Shape) -> Vec<u8> {
        let mut out = Vec::with_capacity(40);
        let syn = self.flags & flag::SYN != 0;
        if syn {
            out.extend_from_slice(&[2, 4]);
            out.extend_from_slice(&shape.segment.to_be_bytes());
        }
        match (shape.timestamps, shape.selective && syn) {
            (true, true) => out.extend_from_slice(&[4, 2]),
            (false, true) => out.extend_from_slice(&[1, 1, 4, 2]),
            (true, false) => out.extend_from_slice(&[1, 1]),
            (false, false) => {}
        }
        if shape.timestamps {
            out.extend_from_slice(&[8, 10]);
            for stamp in self.stamps {
                out.extend_from_slice(&stamp.to_be_bytes());
            }
        }
        if syn {
            out.extend_from_slice(&[1, 3, 3, shape.scale()]);
        }
        let blocks: Vec<&[u32; 2]> = self.sack.iter().filter(|[start, end]| start != end).collect();
        if !blocks.is_empty() {
            out.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for edge in blocks.into_iter().flatten() {
                out.extend_from_slice(&edge.to_be_bytes());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: ip::Header = ip::Header {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        service: 0,
        identity: 0,
        protocol: 0,
        payload: 0,
    };
    const SHAPE: Shape = Shape { segment: 1460, timestamps: true, selective: true, ecn: false, window: 1 << 30 };

    /// Returns the TCP header of a segment.
    fn header(segment: &Segment, shape: &Shape) -> Vec<u8> {
        let mut frame = Synthetic::default();
        segment.write(&mut frame, IP, shape);
        frame.head[20..].to_vec()
    }

    #[test]
    fn a_syn_has_the_options_of_linux_in_their_order() {
        let segment = Segment { flags: flag::SYN, stamps: [7, 0], ..Segment::default() };
        let expected = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 14];
        let found = header(&segment, &SHAPE);
        assert_eq!(found[20..], expected);
        // 40 bytes are ten words; the window of a SYN is not scaled.
        assert_eq!((found[12], &found[14..16]), (0xa0, [0xff, 0xff].as_slice()));
    }

    #[test]
    fn an_acknowledgement_with_three_blocks_has_the_longest_header() {
        let segment = Segment { flags: flag::ACK, sack: [[1, 2], [3, 4], [5, 6]], ..Segment::default() };
        let found = header(&segment, &SHAPE);
        assert_eq!((found.len(), found[12]), (60, 0xf0));
        assert_eq!(found[20..34], [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(found[34..44], [5, 26, 0, 0, 0, 1, 0, 0, 0, 2]);
    }

    #[test]
    fn without_options_the_checksum_is_that_of_a_hand_calculation() {
        let shape = Shape { timestamps: false, selective: false, window: 0x1000, ..SHAPE };
        let segment =
            Segment { ports: [1, 2], sequence: 3, acknowledgement: 4, flags: flag::ACK, ..Segment::default() };
        // 0a00 + 0001 + 0a00 + 0002 + 0006 + 0014 + 0001 + 0002 + 0003 + 0004 + 5010 + 1000 = 7437; complement 8bc8.
        let expected = [0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0x50, 0x10, 0x10, 0x00, 0x8b, 0xc8, 0, 0];
        assert_eq!(header(&segment, &shape), expected);
    }

    #[test]
    fn the_window_is_never_written_smaller_than_it_is() {
        let window = |window| Shape { window, ..SHAPE };
        assert_eq!((window(65_535).scale(), window(65_535).window_field(false)), (0, 65_535));
        assert_eq!((window(65_537).scale(), window(65_537).window_field(false)), (1, 32_769));
        assert_eq!(window(65_537).window_field(true), 65_535);
        assert_eq!((window(u64::MAX >> 8).scale(), window(u64::MAX >> 8).window_field(false)), (14, 65_535));
    }
}
