//! IPv4 headers (RFC 791) and the pseudo header of checksums.

use super::address::Ip;
use super::checksum::Sum;

/// Bytes of a header without options.
pub(super) const LENGTH: usize = 20;
/// Time to live; switches do not lower it.
const TTL: u8 = 64;
/// Flag "don't fragment".
const DONT_FRAGMENT: u16 = 0x4000;

/// Fields of a header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub source: Ip,
    pub destination: Ip,
    /// DSCP and ECN codepoint.
    pub service: u8,
    /// Identification.
    pub identity: u16,
    /// Number of the protocol.
    pub protocol: u8,
    /// Bytes behind the header.
    pub payload: usize,
}

impl Header {
    /// Writes the header. The length of a packet above 65,535 bytes is written as 0, as in captures of segments that the
    /// network adapter divides.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let total = u16::try_from(LENGTH + self.payload).unwrap_or(0);
        out.extend_from_slice(&[0x45, self.service]);
        for word in [total, self.identity, DONT_FRAGMENT] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&[TTL, self.protocol, 0, 0]);
        out.extend_from_slice(&self.source);
        out.extend_from_slice(&self.destination);
        let mut sum = Sum::default();
        sum.add(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.checksum().to_be_bytes());
    }

    /// Returns the sum of the pseudo header (RFC 9293 section 3.1).
    pub fn pseudo(&self) -> Sum {
        let mut sum = Sum::default();
        sum.add(&self.source);
        sum.add(&self.destination);
        sum.add(&[0, self.protocol]);
        sum.add(&(self.payload as u32).to_be_bytes());
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_header_is_that_of_a_hand_calculation() {
        let header = Header {
            source: [10, 0, 0, 1],
            destination: [10, 0, 0, 2],
            service: 0xb9,
            identity: 0x1234,
            protocol: 6,
            payload: 20,
        };
        let mut out = Vec::new();
        header.write(&mut out);
        // 45b9 + 0028 + 1234 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = ec1e, and its complement is 13e1.
        let expected =
            [0x45, 0xb9, 0x00, 0x28, 0x12, 0x34, 0x40, 0x00, 0x40, 0x06, 0x13, 0xe1, 10, 0, 0, 1, 10, 0, 0, 2];
        assert_eq!(out, expected);
    }

    #[test]
    fn a_packet_that_is_too_long_for_the_field_has_the_length_zero() {
        let header =
            Header { source: [0; 4], destination: [0; 4], service: 0, identity: 0, protocol: 6, payload: 65_535 - 19 };
        let mut out = Vec::new();
        header.write(&mut out);
        assert_eq!(out[2..4], [0, 0]);
    }
}
