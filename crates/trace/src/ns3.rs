//! ASCII trace format of ns-3 for point-to-point devices, as written by `AsciiTraceHelper` and by the methods `Print`
//! of `PppHeader`, `Ipv4Header`, `UdpHeader` and `TcpHeader`.

use crate::places::{Ends, Numbering, Places, seconds};
use std::fmt::Write;
use tailback_qdisc::{Ecn, Reason};
use tailback_sim::plan::{EventKind, FrameKind};
use tailback_sim::trace::Row;

/// Length of an IPv4 header without options, bytes (RFC 791).
const IP: u32 = 20;
/// Length of a UDP header, bytes (RFC 768).
const UDP: u32 = 8;
/// Length of a TCP header without options, bytes (RFC 9293).
const TCP: u32 = 20;
/// TCP or UDP port of the sender of flow 0, the first ephemeral port of ns-3; the numbers of other flows are added to
/// it.
const SOURCE: u32 = 49153;
/// TCP or UDP port of receivers: the port of the discard protocol (RFC 863), as in the tutorial of ns-3.
const SINK: u32 = 9;

/// Writer of the ASCII format of ns-3. It numbers packets in the order of their first rows over all calls.
#[derive(Clone, Debug)]
pub struct Ns3 {
    places: Places,
    devices: Vec<u32>,
    numbers: Numbering,
}

impl Ns3 {
    /// Returns a writer for the traces of a network.
    pub fn new(places: Places) -> Ns3 {
        Ns3 { devices: places.devices(), places, numbers: Numbering::default() }
    }

    /// Returns the lines of the rows, in their order. Rows of events and frames that ns-3 does not have, and of unknown
    /// ports and flows, have no line.
    pub fn lines(&mut self, rows: &[Row]) -> String {
        let mut text = String::new();
        for row in rows {
            self.line(row, &mut text);
        }
        text
    }

    fn line(&mut self, row: &Row, text: &mut String) {
        let is_ack = matches!(row.frame, FrameKind::Ack | FrameKind::SynAck);
        if !row.frame.is_packet() {
            return;
        }
        let Some((ends, from, to)) = self.places.ends(row, is_ack) else { return };
        let lost_on_link = matches!(row.reason, Some(Reason::LinkLoss | Reason::LinkDown | Reason::InputBufferFull));
        let (event, port, source) = match row.event {
            EventKind::Enqueue => ('+', row.port, "TxQueue/Enqueue"),
            EventKind::Dequeue => ('-', row.port, "TxQueue/Dequeue"),
            EventKind::Receive | EventKind::Deliver => ('r', row.port ^ 1, "MacRx"),
            EventKind::Drop if lost_on_link => ('d', row.port ^ 1, "PhyRxDrop"),
            EventKind::Drop => ('d', row.port, "TxQueue/Drop"),
            _ => return,
        };
        let (Some((node, _)), Some(device)) = (self.places.ports.get(port as usize), self.devices.get(port as usize))
        else {
            return;
        };
        let number = self.numbers.of(row.packet);
        let time = seconds(row.time);
        let _ = writeln!(
            text,
            "{event} {time} /NodeList/{node}/DeviceList/{device}/$ns3::PointToPointNetDevice/{source} \
             ns3::PppHeader (Point-to-Point Protocol: IP (0x0021)) {}",
            packet(row, ends, is_ack, from, to, number)
        );
    }
}

/// Returns the text of the IPv4 packet and its content. `from` and `to`: numbers of its source and destination;
/// `number`: number of the packet.
fn packet(row: &Row, ends: Ends, is_ack: bool, from: u16, to: u16, number: u64) -> String {
    let payload = u32::from(row.payload);
    let (protocol, header) = if ends.has_transport { (6, TCP) } else { (17, UDP) };
    let length = payload + IP + header;
    let tos = u32::from(row.dscp) << 2 | row.ecn as u32;
    let ecn = match row.ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT (1)",
        Ecn::Ect0 => "ECT (0)",
        Ecn::Ce => "CE",
    };
    let mut text = format!(
        "ns3::Ipv4Header (tos 0x{tos:x} DSCP {} ECN {ecn} ttl 64 id {} protocol {protocol} offset (bytes) 0 flags [none] \
         length: {length} {} > {})",
        dscp(row.dscp),
        number % 65536,
        address(from),
        address(to)
    );
    let (source, sink) = if is_ack { (SINK, SOURCE + row.flow) } else { (SOURCE + row.flow, SINK) };
    let _ = if ends.has_transport {
        let (sequence, acknowledged) = if is_ack { (0, row.sequence) } else { (row.sequence, 0) };
        let flags = match (row.frame, row.echo) {
            (FrameKind::Syn, _) => "SYN",
            (FrameKind::SynAck, _) => "SYN|ACK",
            (FrameKind::Ack, true) => "ACK|ECE",
            (_, true) => "ACK|CWR",
            (_, false) => "ACK",
        };
        write!(text, " ns3::TcpHeader ({source} > {sink} [{flags}] Seq={sequence} Ack={acknowledged} Win=65535)")
    } else {
        write!(text, " ns3::UdpHeader (length: {} {source} > {sink})", payload + UDP)
    };
    if payload > 0 {
        let _ = write!(text, " Payload (size={payload})");
    }
    text
}

/// Returns the IPv4 address of a node: its number plus 1 in 10.0.0.0/8.
fn address(node: u16) -> String {
    let host = u32::from(node) + 1;
    format!("10.{}.{}.{}", host >> 16, host >> 8 & 255, host & 255)
}

/// Returns the name that ns-3 prints for a DSCP (RFC 2474, RFC 2597, RFC 3246).
fn dscp(value: u8) -> String {
    match value {
        0 => "Default".to_owned(),
        46 => "EF".to_owned(),
        _ if value.is_multiple_of(8) => format!("CS{}", value / 8),
        10..=38 if value.is_multiple_of(2) => format!("AF{}{}", value / 8, value % 8 / 2),
        _ => "Unrecognized DSCP".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{acknowledgement, lost_segment, mark, places};

    // EF is 46, so that the TOS octet of a marked packet is 46 * 4 + 3 = 0xbb.
    #[test]
    fn segments_and_acknowledgements_have_the_lines_written_by_hand() {
        assert_eq!(
            Ns3::new(places()).lines(&[mark(), lost_segment(), acknowledgement()]),
            "d 0.5 /NodeList/1/DeviceList/0/$ns3::PointToPointNetDevice/PhyRxDrop ns3::PppHeader (Point-to-Point \
             Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0xbb DSCP EF ECN CE ttl 64 id 0 protocol 6 offset (bytes) 0 \
             flags [none] length: 1500 10.0.0.1 > 10.0.0.2) ns3::TcpHeader (49153 > 9 [ACK|CWR] Seq=3 Ack=0 Win=65535) \
             Payload (size=1460)\n\
             r 1.25 /NodeList/0/DeviceList/0/$ns3::PointToPointNetDevice/MacRx ns3::PppHeader (Point-to-Point \
             Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 1 protocol 6 offset \
             (bytes) 0 flags [none] length: 40 10.0.0.2 > 10.0.0.1) ns3::TcpHeader (9 > 49153 [ACK|ECE] Seq=0 Ack=5 \
             Win=65535)\n"
        );
    }

    #[test]
    fn code_points_have_the_names_of_their_rfcs() {
        let names = [0, 8, 10, 12, 14, 18, 34, 38, 40, 46, 48, 1, 16].map(dscp);
        let expected = [
            "Default",
            "CS1",
            "AF11",
            "AF12",
            "AF13",
            "AF21",
            "AF41",
            "AF43",
            "CS5",
            "EF",
            "CS6",
            "Unrecognized DSCP",
            "CS2",
        ];
        assert_eq!(names, expected);
    }
}
