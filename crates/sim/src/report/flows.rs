//! Results of flows, classes and applications, and delay variation of flows and groups.

use super::counts::{Counts, Delay, secs};
use crate::world::Group;
use crate::world::SizeBin;
use crate::world::World;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_measure::Sketch;
use tailback_measure::Variation;

/// Dropped packets by place and reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropReport {
    /// Name of the port at which, or on whose link, the packets were dropped, such as `sw1->sw2`.
    #[serde(rename = "where")]
    pub place: String,
    /// Reason of the drops, in words.
    pub reason: String,
    /// `true` for SYN and SYN-ACK packets, which are counted in a row of their own. Absent if `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub handshake: bool,
    /// Number of packets.
    pub packets: u64,
}

/// Results of a flow, for packets generated after the warm-up unless stated otherwise; offered = delivered + dropped +
/// in_network.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Name of the flow.
    pub name: String,
    /// Name of the flow's group.
    pub group: String,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Traffic class; 0 is the highest.
    pub class: u8,
    /// Code point with which its packets enter the network, 0 to 63.
    pub dscp: u8,
    /// Packets and payload handed to the network.
    pub offered: Counts,
    /// Packets and payload received.
    pub delivered: Counts,
    /// Packets and payload dropped.
    pub dropped: Counts,
    /// Packets and payload in the network at the end.
    pub in_network: Counts,
    /// Packets that arrived after a later packet of the flow, since the start of the run.
    pub reordered: u64,
    /// Drops by port and reason, in this order.
    pub drops: Vec<DropReport>,
    /// Drops after the warm-up of packets that were generated during it, which the other counters exclude; absent if
    /// there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried_drops: Vec<DropReport>,
    /// Drops after the warm-up of the transport's acknowledgements, including answers to the opening of connections;
    /// absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ack_drops: Vec<DropReport>,
    /// One-way delay; without quantiles if only classes have histograms.
    pub delay: Delay,
    /// Results of the flow's transport; `None`: the flow has no transport.
    pub transport: Option<TransportReport>,
    /// Packets by colour; `None`: nothing in the scenario colours packets.
    pub colours: Option<Box<ColourReports>>,
    /// Delay variation; `None`: it is not measured, flows have no histograms, or no packet was delivered.
    pub variation: Option<Box<VariationReport>>,
}

/// Delay variation of a flow, or of the flows of a group. Jitter and `ipdv` compare consecutive packets of one flow;
/// `pdv` compares each packet with the smallest delay of all packets of the flow or group.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VariationReport {
    /// Delays, with quantiles.
    pub delay: Delay,
    /// Smallest delay, seconds.
    pub min_s: f64,
    /// Interarrival jitter (RFC 3550 section 6.4.1), mean over the packets, seconds; `None`: fewer than two packets.
    pub jitter_s: Option<f64>,
    /// Interarrival jitter (RFC 3550) after the last packet, mean over the flows, seconds.
    pub last_jitter_s: f64,
    /// Packet delay variation (RFC 5481: delay minus smallest delay), mean, seconds.
    pub pdv_mean_s: f64,
    /// 99th percentile of packet delay variation, seconds.
    pub pdv_p99_s: f64,
    /// 99.9th percentile of packet delay variation, seconds: the IPDV of ITU-T Y.1541.
    pub pdv_p999_s: f64,
    /// Inter-packet delay variation (RFC 5481: absolute difference of the delays of consecutive packets), mean,
    /// seconds; `None`: no two consecutive packets arrived.
    pub ipdv_mean_s: Option<f64>,
    /// 99th percentile of inter-packet delay variation, seconds; `None`: no two consecutive packets arrived.
    pub ipdv_p99_s: Option<f64>,
    /// 99.9th percentile of inter-packet delay variation, seconds; `None`: no two consecutive packets arrived.
    pub ipdv_p999_s: Option<f64>,
    /// Mean length of loss bursts relative to independent losses (BurstR of ITU-T G.107); `None`: no losses.
    pub burst_ratio: Option<f64>,
}

/// Packets by their colour when they enter the network (after a meter there), are delivered, or are dropped. Meters
/// along the path may change the colour, so that the counts of one colour need not add up.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ColourReports {
    /// Green packets: in profile, or never metered.
    pub green: ColourReport,
    /// Yellow packets: out of profile.
    pub yellow: ColourReport,
    /// Red packets: far out of profile.
    pub red: ColourReport,
}

/// Packets of one colour.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ColourReport {
    /// Packets and payload handed to the network.
    pub offered: Counts,
    /// Packets and payload delivered.
    pub delivered: Counts,
    /// Packets and payload dropped.
    pub dropped: Counts,
}

/// Results of a transport since the end of the warm-up unless stated otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct TransportReport {
    /// Payload bytes that reached the receiving application in order, each counted once.
    pub goodput_bytes: u64,
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Entries into fast retransmit.
    pub fast_retransmits: u64,
    /// Window reductions caused by an echo of "congestion experienced".
    pub ecn_reductions: u64,
    /// Window reductions that were undone because the retransmission was spurious.
    pub spurious: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Timeouts of connections that were opening, each of which sent the SYN again; not among `timeouts`.
    pub syn_timeouts: u64,
    /// Acknowledgements handed to the network since the start.
    pub acks_sent: u64,
    /// Acknowledgements lost since the start.
    pub acks_lost: u64,
    /// Congestion window at the end, segments.
    pub window: f64,
    /// Slow-start threshold at the end, segments; `None`: there has been no congestion.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time at the end, seconds; `None`: no sample.
    pub srtt_s: Option<f64>,
    /// Times from a write of the application to the arrival of the write's last byte.
    pub completion: Delay,
}

/// Results of a group at the level of the application, for pages and transfers begun after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationReport {
    /// Pages (with request-response: exchanges) or transfers begun, including refused ones.
    pub begun: u64,
    /// Pages with an exchange that was abandoned after its timeout.
    pub failed: u64,
    /// Transfers refused because no connection was free.
    pub refused: u64,
    /// Completion times of the pages and transfers that are complete by the end: from a page's first request to its
    /// last byte, or from the start of a transfer to the arrival of its last byte.
    pub time: Delay,
    /// Times from a request to the arrival of the last byte of its response; empty for transfers.
    pub exchange: Delay,
    /// Completion time of transfers divided by the time that their segments would take over the idle path if all were
    /// sent at once; `None`: no transfer is complete.
    pub slowdown: Option<Slowdown>,
    /// Slowdown by size of the transfer, the smallest first; empty for applications other than transfers.
    pub slowdown_by_size: Vec<SizeSlowdown>,
    /// Pages or transfers that were completed from the end of the warm-up to the end, regardless of their start. Unlike
    /// `time`, this includes long pages and transfers that began during the warm-up.
    pub completed: Completed,
}

/// Pages or transfers that were completed after the warm-up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Completed {
    /// Number of pages or transfers.
    pub count: u64,
    /// Mean completion time, seconds; `None`: no pages or transfers.
    pub mean_s: Option<f64>,
}

/// Statistics of the slowdown of transfers: completion time divided by that over an idle path, at least 1. Quantiles
/// are accurate to 0.4 %.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Slowdown {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Slowdowns of transfers in a range of sizes.
#[derive(Clone, Debug, Serialize)]
pub struct SizeSlowdown {
    /// Upper edge of the bin, payload bytes, inclusive; `None`: the last, open bin. The lower edge is that of the bin
    /// before.
    pub up_to_bytes: Option<u64>,
    /// Transfers begun after the warm-up, including refused ones.
    pub begun: u64,
    /// Transfers begun after the warm-up that are complete by the end.
    pub complete: u64,
    /// Slowdown of the complete transfers; `None`: no transfer is complete.
    pub slowdown: Option<Slowdown>,
}

/// Results of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassReport {
    /// Number of the class; 0 is the highest.
    pub class: u8,
    /// Packets and payload handed to the network.
    pub offered: Counts,
    /// Packets and payload received.
    pub delivered: Counts,
    /// Packets and payload dropped.
    pub dropped: Counts,
    /// Packets and payload in the network at the end.
    pub in_network: Counts,
    /// One-way delay, with quantiles.
    pub delay: Delay,
}

impl VariationReport {
    /// Returns the delay variation of `flows` flows, merged in `variation`; `None`: no packets.
    pub(super) fn of(variation: &Variation, flows: usize) -> Option<VariationReport> {
        let (delays, differences) = (variation.delays(), variation.differences());
        let min = delays.min()?;
        Some(VariationReport {
            delay: Delay::of(delays.count(), delays.sum(), delays.max()?, Some(delays)),
            min_s: secs(min),
            jitter_s: variation.mean_jitter().map(|jitter| jitter * 1e-12),
            last_jitter_s: secs(variation.jitter()) / flows as f64,
            pdv_mean_s: (delays.mean()? - min as f64) * 1e-12,
            pdv_p99_s: secs(variation.pdv(0.99)?),
            pdv_p999_s: secs(variation.pdv(0.999)?),
            ipdv_mean_s: differences.mean().map(|d| d * 1e-12),
            ipdv_p99_s: differences.quantile(0.99).map(secs),
            ipdv_p999_s: differences.quantile(0.999).map(secs),
            burst_ratio: variation.burst_ratio(),
        })
    }
}

impl Slowdown {
    /// Returns the statistics of a histogram of slowdowns in millionths; `None`: the histogram is empty.
    fn of(sketch: &Sketch) -> Option<Slowdown> {
        let real = |millionths: u64| millionths as f64 * 1e-6;
        let quantile = |q| sketch.quantile(q).map(real);
        Some(Slowdown {
            mean: sketch.mean()? * 1e-6,
            min: real(sketch.min()?),
            max: real(sketch.max()?),
            p50: quantile(0.5)?,
            p90: quantile(0.9)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
        })
    }
}

impl SizeSlowdown {
    fn of(bin: &SizeBin) -> SizeSlowdown {
        SizeSlowdown {
            up_to_bytes: Some(bin.up_to).filter(|bytes| *bytes < u64::MAX),
            begun: bin.begun,
            complete: bin.slowdowns.count(),
            slowdown: Slowdown::of(&bin.slowdowns),
        }
    }
}

impl World {
    /// Returns the results of applications by group of flows.
    pub(super) fn applications(&self) -> BTreeMap<String, ApplicationReport> {
        let delay = |s: &Sketch| Delay::of(s.count(), s.sum(), s.max().unwrap_or(0), Some(s));
        let report = |group: &Group| ApplicationReport {
            begun: group.begun,
            failed: group.failed,
            refused: group.refused,
            time: delay(&group.times),
            exchange: delay(&group.exchanges),
            slowdown: Slowdown::of(&group.slowdowns),
            slowdown_by_size: group.sizes.iter().map(SizeSlowdown::of).collect(),
            completed: Completed {
                count: group.completed,
                mean_s: (group.completed > 0).then(|| group.completed_time as f64 * 1e-12 / group.completed as f64),
            },
        };
        self.applications.groups().iter().map(|group| (group.name.clone(), report(group))).collect()
    }
}
