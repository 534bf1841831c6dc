//! Properties of captures of random networks. Blocks are complete, and checksums are correct. The bytes do not depend
//! on the chunks in which rows are passed. At the sender of a connection, the segments cover its bytes without gaps.
//! The numbers of segments and of retransmissions are those of the report.

use std::collections::{BTreeMap, BTreeSet};
use tailback_random::Rng;
use tailback_sim::Report;
use tailback_sim::plan::Plan;
use tailback_sim::trace::Row;
use tailback_trace::Network;
use tailback_trace::pcap::{Capture, Options, Sides};
use tailback_units::Time;
use tailback_user::NoFactories;

/// Block type of an enhanced packet block (pcapng).
const PACKET: u32 = 6;
/// IP protocol number of TCP.
const TCP: u8 = 6;
/// TCP port of the receiver of flow 0; flow n has this port plus n.
const RECEIVERS: usize = 50_000;

/// Checks the capture of a plan whose report is `whole`.
pub fn check(plan: &Plan, whole: &Report) -> Result<(), String> {
    let mut traced = plan.clone();
    let mut capture = Capture::new(&mut traced, options());
    let (mut bytes, mut rows) = (Vec::new(), Vec::new());
    capture.begin(&mut bytes);
    tailback_parallel::run_traced(traced, 1, &NoFactories, |_, more| {
        rows.extend(more.clone());
        capture.rows(more, &mut bytes);
        Ok::<(), String>(())
    })
    .map_err(|ended| format!("{ended:?}"))?;
    capture.end(Some(plan.end), &mut bytes);
    if chunked(plan, &rows) != bytes {
        return Err("a capture depends on the chunks of rows".to_owned());
    }
    check_segments(plan, &frames(&bytes)?, whole)
}

/// Returns the options of a capture of all frames in full.
fn options() -> Options {
    Options {
        snap: 0,
        sides: Sides::Both,
        ports: None,
        flows: None,
        from: Time::ZERO,
        until: Time::NEVER,
        application: String::new(),
        comments: Vec::new(),
    }
}

/// Returns the capture of rows that are passed in chunks of random sizes.
fn chunked(plan: &Plan, rows: &[Row]) -> Vec<u8> {
    let mut capture = Capture::new(&mut plan.clone(), options());
    let mut rng = Rng::named(plan.seed, "chunks of a capture");
    let (mut bytes, mut remaining) = (Vec::new(), rows);
    capture.begin(&mut bytes);
    while !remaining.is_empty() {
        let (chunk, later) = remaining.split_at((1 + rng.below(40) as usize).min(remaining.len()));
        capture.rows(chunk.to_vec(), &mut bytes);
        remaining = later;
    }
    capture.end(Some(plan.end), &mut bytes);
    bytes
}

/// A captured frame.
struct Frame {
    /// Index of the interface, which is that of the port.
    interface: u32,
    /// `true` if the frame was captured at the port's sender.
    outbound: bool,
    bytes: Vec<u8>,
}

/// Returns the frames of a capture.
///
/// # Errors
/// If a block is malformed, a frame is cut, or a frame is earlier than the previous one.
fn frames(bytes: &[u8]) -> Result<Vec<Frame>, String> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut last, mut found) = (0, 0, Vec::new());
    while at < bytes.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        if length % 4 != 0 || word(at + length - 4) as usize != length {
            return Err(format!("the two lengths of the block at {at} differ"));
        }
        if kind == PACKET {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let captured = word(at + 20) as usize;
            if time < last || captured != word(at + 24) as usize {
                return Err(format!("the frame at {at} is out of order, or cut"));
            }
            last = time;
            let (start, mut option) = (at + 28, at + 28 + captured.next_multiple_of(4));
            let code = |option| word(option) as u16;
            // Option 2 is epb_flags, whose lowest two bits are the direction: 2 is outbound.
            while code(option) != 2 {
                option += 4 + (word(option) as usize >> 16).next_multiple_of(4);
            }
            let bytes = bytes[start..start + captured].to_vec();
            found.push(Frame { interface: word(at + 8), outbound: word(option + 4) & 3 == 2, bytes });
        }
        at += length;
    }
    Ok(found)
}

/// Returns the IP packet in an Ethernet frame; `None`: the frame has no IP packet.
fn packet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    loop {
        match frame[at..at + 2] {
            // VLAN tag.
            [0x81, 0x00] => at += 4,
            // Rate-limited tag.
            [0x89, 0x04] => at += 8,
            // MPLS: the last entry of the stack has its lowest bit of the third byte set.
            [0x88, 0x47] => {
                at += 2;
                while frame[at + 2] & 1 == 0 {
                    at += 4;
                }
                at += 4;
                break;
            }
            // IPv4.
            [0x08, 0x00] => {
                at += 2;
                break;
            }
            _ => return None,
        }
    }
    let total = usize::from(u16::from_be_bytes([frame[at + 2], frame[at + 3]]));
    // A total length of 0: the length exceeds the field.
    Some(if total == 0 { &frame[at..] } else { &frame[at..at + total] })
}

/// Returns the ones' complement sum of the 16-bit words of all parts: 0xffff for data that includes its checksum (RFC
/// 1071). Each part with an odd length is padded by a zero byte.
fn ones_complement_sum(parts: &[&[u8]]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u64 = parts.iter().flat_map(|part| part.chunks(2)).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Checks all checksums, and for each connection that the segments at its sender cover its bytes without gaps and
/// overlaps. Checks for each flow without a warm-up that the numbers of segments and retransmissions are those of the
/// report.
fn check_segments(plan: &Plan, frames: &[Frame], report: &Report) -> Result<(), String> {
    let network = Network::of(plan);
    // Number of segments by flow.
    let mut segments = vec![0; plan.flows.len()];
    // The different segments of each connection, as first sequence number and length. A flow and the sender's port
    // identify a connection.
    let mut starts: BTreeMap<(usize, u16), BTreeSet<(u32, u32)>> = BTreeMap::new();
    for frame in frames {
        let Some(packet) = packet(&frame.bytes) else { continue };
        let (ip, inner) = packet.split_at(20);
        let pseudo = [[0, ip[9]], (inner.len() as u32 as u16).to_be_bytes()].concat();
        let upper = ((inner.len() as u32 >> 16) as u16).to_be_bytes();
        if ones_complement_sum(&[ip]) != 0xffff || ones_complement_sum(&[&ip[12..20], &pseudo, &upper, inner]) != 0xffff
        {
            return Err(format!("a checksum is wrong: {packet:?}"));
        }
        if ip[9] != TCP {
            continue;
        }
        let port = |at| u16::from_be_bytes([inner[at], inner[at + 1]]);
        let header = usize::from(inner[12] >> 4) * 4;
        if inner.len() == header {
            continue;
        }
        let flow = usize::from(port(2)) - RECEIVERS;
        if frame.outbound && network.ports[frame.interface as usize].from == network.flows[flow].from {
            let sequence = u32::from_be_bytes([inner[4], inner[5], inner[6], inner[7]]);
            segments[flow] += 1;
            starts.entry((flow, port(0))).or_default().insert((sequence, (inner.len() - header) as u32));
        }
    }
    for (connection, starts) in &starts {
        let mut next = 1;
        for (start, length) in starts {
            if *start != next {
                return Err(format!("connection {connection:?}: byte {start} after byte {next}"));
            }
            next += length;
        }
    }
    for (flow, found) in report.flows.iter().enumerate() {
        let Some(tcp) = found.transport.as_ref().filter(|_| plan.warmup == Time::ZERO) else { continue };
        // Only RDMA senders take turns at the adapter.
        let is_rdma = plan.flows[flow].transport.as_ref().is_some_and(|tcp| tcp.takes_turns);
        let own = starts.range((flow, 0)..=(flow, u16::MAX));
        let new: u64 = own.map(|(_, starts)| starts.len() as u64).sum();
        if !is_rdma && (segments[flow], segments[flow] - new) != (tcp.segments, tcp.retransmissions) {
            let counts = (tcp.segments, tcp.retransmissions);
            return Err(format!("flow {flow}: {} segments, {new} new, report {counts:?}", segments[flow]));
        }
    }
    Ok(())
}
