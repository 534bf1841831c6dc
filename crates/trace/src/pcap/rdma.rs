//! RoCEv2: the InfiniBand transport over UDP (InfiniBand Architecture Specification 1.4, chapter 9 and annex A17).

use super::address::ROCE;
use super::checksum::{CRC_START, Sum, crc32};
use super::frame::Synthetic;
use super::{ip, udp};

/// Bytes of the base transport header (BTH).
const BTH: usize = 12;
/// Bytes of the invariant check sequence (ICRC).
const ICRC: usize = 4;
/// Operation: reliable connection, SEND only.
const SEND_ONLY: u8 = 0x04;
/// Operation: reliable connection, acknowledgement.
const ACKNOWLEDGE: u8 = 0x11;
/// Partition key of all members of the default partition.
const PARTITION: u16 = 0xffff;
/// Number of a flow's queue pair less its index; 0 and 1 are reserved for management.
const FIRST_PAIR: u32 = 0x100;
/// Syndrome of a positive acknowledgement without a count of credits.
const POSITIVE: u8 = 0x1f;
/// Bit of BTH that returns a congestion notification (BECN).
const BACKWARD: u8 = 0x40;

/// A packet of a reliable connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Port of the sender's UDP socket.
    pub port: u16,
    /// Index of the flow.
    pub flow: u32,
    /// Packet sequence number, modulo 2^24; of an acknowledgement that of the last packet that it covers.
    pub sequence: u32,
    /// `true` for an acknowledgement.
    pub acknowledges: bool,
    /// `true` if an acknowledgement returns a congestion notification.
    pub notifies: bool,
}

impl Transfer {
    /// Appends all headers behind the Ethernet header, and the trailer, of a packet whose payload is `frame.zeros` zeros.
    pub fn write(&self, frame: &mut Synthetic, ip: ip::Header) {
        let start = frame.head.len();
        let padding = frame.zeros.next_multiple_of(4) - frame.zeros;
        let extended = if self.acknowledges { 4 } else { 0 };
        let payload = udp::LENGTH + BTH + extended + frame.zeros + padding + ICRC;
        let ip = ip::Header { protocol: udp::PROTOCOL, payload, ..ip };
        ip.write(&mut frame.head);
        let out = &mut frame.head;
        let datagram = out.len();
        for word in [self.port, ROCE, u16::try_from(payload).unwrap_or(0), 0] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.push(if self.acknowledges { ACKNOWLEDGE } else { SEND_ONLY });
        out.push((padding as u8) << 4);
        out.extend_from_slice(&PARTITION.to_be_bytes());
        let pair = (FIRST_PAIR + self.flow) & 0xff_ffff;
        out.extend_from_slice(&(u32::from(if self.notifies { BACKWARD } else { 0 }) << 24 | pair).to_be_bytes());
        // Each packet requests an acknowledgement.
        let requests = u32::from(!self.acknowledges) << 31;
        out.extend_from_slice(&(requests | self.sequence & 0xff_ffff).to_be_bytes());
        if self.acknowledges {
            let messages = self.sequence.wrapping_add(1) & 0xff_ffff;
            out.extend_from_slice(&(u32::from(POSITIVE) << 24 | messages).to_be_bytes());
        }
        let check = invariant_check(&frame.head[start..], frame.zeros + padding);
        frame.zeros += padding;
        frame.tail.extend_from_slice(&check.to_le_bytes());
        let mut sum: Sum = ip.pseudo();
        sum.add(&frame.head[datagram..]);
        // Headers and payload have even lengths.
        sum.add(&frame.tail);
        let checksum = match sum.checksum() {
            0 => 0xffff,
            sum => sum,
        };
        frame.head[datagram + 6..datagram + 8].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Returns the invariant check sequence of a packet with these headers and a payload of zeros: a CRC-32 over 64 ones and
/// the packet, in which the fields that routers change are ones (annex A17.3.3).
fn invariant_check(headers: &[u8], zeros: usize) -> u32 {
    let mut masked = headers.to_vec();
    // Type of service, time to live and checksum of IP; checksum of UDP; the byte of BTH with FECN and BECN.
    for at in [1, 8, 10, 11, 26, 27, 32] {
        masked[at] = 0xff;
    }
    let state = crc32(crc32(CRC_START, &[0xff; 8]), &masked);
    !(0..zeros).fold(state, |state, _| crc32(state, &[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: ip::Header = ip::Header {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        service: 2,
        identity: 0,
        protocol: 0,
        payload: 0,
    };

    #[test]
    fn data_requests_an_acknowledgement_and_is_padded_to_words() {
        let mut frame = Synthetic { zeros: 5, ..Synthetic::default() };
        let data = Transfer { port: 9, flow: 1, sequence: 0x0100_0002, acknowledges: false, notifies: false };
        data.write(&mut frame, IP);
        assert_eq!(frame.head[28..], [0x04, 0x30, 0xff, 0xff, 0, 0, 0x01, 0x01, 0x80, 0, 0, 2]);
        assert_eq!((frame.zeros, frame.tail.len()), (8, 4));
        // UDP: 8 + 12 + 8 + 4 bytes.
        assert_eq!(frame.head[24..26], [0, 32]);
    }

    #[test]
    fn an_acknowledgement_returns_the_number_of_messages_and_a_notification() {
        let mut frame = Synthetic::default();
        let ack = Transfer { port: 9, flow: 0, sequence: 6, acknowledges: true, notifies: true };
        ack.write(&mut frame, IP);
        assert_eq!(frame.head[28..], [0x11, 0, 0xff, 0xff, 0x40, 0, 0x01, 0, 0, 0, 0, 6, 0x1f, 0, 0, 7]);
    }

    #[test]
    fn fields_that_routers_change_do_not_change_the_check_sequence() {
        let data = Transfer { port: 9, flow: 1, sequence: 2, acknowledges: false, notifies: false };
        let tail = |ip, data: Transfer| {
            let mut frame = Synthetic { zeros: 4, ..Synthetic::default() };
            data.write(&mut frame, ip);
            frame.tail
        };
        let plain = tail(IP, data);
        assert_eq!(tail(ip::Header { service: 3, ..IP }, data), plain);
        assert_ne!(tail(ip::Header { identity: 1, ..IP }, data), plain);
        assert_ne!(tail(IP, Transfer { sequence: 3, ..data }), plain);
    }
}
