//! UDP (RFC 768).

use super::frame::Synthetic;
use super::ip;

/// Number of the protocol.
pub(super) const PROTOCOL: u8 = 17;
/// Bytes of a header.
pub(super) const LENGTH: usize = 8;

/// Appends the IP header and the UDP header of a datagram with these ports whose payload is `frame.zeros` zeros.
pub(super) fn write(frame: &mut Synthetic, ip: ip::Header, ports: [u16; 2]) {
    let payload = LENGTH + frame.zeros;
    let ip = ip::Header { protocol: PROTOCOL, payload, ..ip };
    ip.write(&mut frame.head);
    let start = frame.head.len();
    for word in [ports[0], ports[1], u16::try_from(payload).unwrap_or(0), 0] {
        frame.head.extend_from_slice(&word.to_be_bytes());
    }
    let mut sum = ip.pseudo();
    sum.add(&frame.head[start..]);
    // Zero means that there is no checksum, so it is written as its complement.
    let checksum = match sum.checksum() {
        0 => 0xffff,
        sum => sum,
    };
    frame.head[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_covers_pseudo_header_and_header() {
        let ip = ip::Header {
            source: [10, 0, 0, 1],
            destination: [10, 0, 0, 2],
            service: 0,
            identity: 0,
            protocol: 0,
            payload: 0,
        };
        let mut frame = Synthetic { zeros: 4, ..Synthetic::default() };
        write(&mut frame, ip, [1, 2]);
        // 0a00 + 0001 + 0a00 + 0002 + 0011 + 000c + 0001 + 0002 + 000c = 142f, and its complement is ebd0.
        assert_eq!(frame.head[20..], [0, 1, 0, 2, 0, 12, 0xeb, 0xd0]);
    }
}
