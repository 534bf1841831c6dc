//! What became of packets: per flow, class, group and application.

use super::Counts;
use super::Delay;
use super::secs;
use crate::world::Group;
use crate::world::SizeBin;
use crate::world::World;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_measure::Sketch;
use tailback_measure::Variation;

/// Where and why packets were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropReport {
    /// Port, such as `sw1->sw2`.
    #[serde(rename = "where")]
    pub place: String,
    /// Why.
    pub reason: String,
    /// Packets.
    pub packets: u64,
}

/// One flow's results. offered = delivered + dropped + in_network, always.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// Its group's name.
    pub group: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Traffic class.
    pub class: u8,
    /// Code point that its packets enter the network with, 0 to 63.
    pub dscp: u8,
    /// Handed to the network.
    pub offered: Counts,
    /// Received.
    pub delivered: Counts,
    /// Lost.
    pub dropped: Counts,
    /// Neither yet.
    pub in_network: Counts,
    /// Packets that arrived after a later one of the flow, since the start.
    pub reordered: u64,
    /// Losses by place and reason.
    pub drops: Vec<DropReport>,
    /// Losses after the warm-up of packets born in it, which no counter of the flow holds; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried_drops: Vec<DropReport>,
    /// Losses after the warm-up of its transport's acknowledgements, answers to the opening of connections included;
    /// absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ack_drops: Vec<DropReport>,
    /// Delay.
    pub delay: Delay,
    /// What its transport did, if it has one.
    pub transport: Option<TransportReport>,
    /// Packets by colour, in scenarios in which anything gives packets a colour.
    pub colours: Option<Box<ColourReports>>,
    /// How its delays vary, where each flow keeps a histogram and variation is measured.
    pub variation: Option<Box<VariationReport>>,
}

/// How the delays of a flow or of a group's flows vary. Only differences of delays of one flow count in
/// jitter and `ipdv`; `pdv` is over all packets, less the least delay of any.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VariationReport {
    /// Delays, with quantiles.
    pub delay: Delay,
    /// Smallest delay, seconds.
    pub min_s: f64,
    /// Interarrival jitter (RFC 3550 section 6.4.1), mean over the packets, seconds; none without two packets.
    pub jitter_s: Option<f64>,
    /// The same after the last packet, mean over the flows, seconds.
    pub last_jitter_s: f64,
    /// Packet delay variation (RFC 5481: the delay less the smallest), mean, seconds.
    pub pdv_mean_s: f64,
    /// 99th percentile of it.
    pub pdv_p99_s: f64,
    /// 99.9th percentile of it: the IPDV of ITU-T Y.1541.
    pub pdv_p999_s: f64,
    /// Differences of the delays of packets sent one after the other, without sign (RFC 5481: IPDV), mean,
    /// seconds; none where no two such packets arrived.
    pub ipdv_mean_s: Option<f64>,
    /// 99th percentile of it.
    pub ipdv_p99_s: Option<f64>,
    /// 99.9th percentile of it.
    pub ipdv_p999_s: Option<f64>,
    /// Mean length of runs of losses per that of independent losses (BurstR of ITU-T G.107); none without losses.
    pub burst_ratio: Option<f64>,
}

/// Packets by the colour that they have at each place: when they enter the network (behind a meter
/// there), are delivered, or are lost. Meters on the way change it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ColourReports {
    /// In profile, or never metered.
    pub green: ColourReport,
    /// Out of profile.
    pub yellow: ColourReport,
    /// Far out of profile.
    pub red: ColourReport,
}

/// Packets of one colour.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ColourReport {
    /// Handed to the network.
    pub offered: Counts,
    /// Received.
    pub delivered: Counts,
    /// Lost.
    pub dropped: Counts,
}

/// A transport's results: since the end of the warm-up, but for the state at the end.
#[derive(Clone, Debug, Serialize)]
pub struct TransportReport {
    /// Payload bytes that reached the receiving application in order, each counted once.
    pub goodput_bytes: u64,
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Entries into fast retransmit.
    pub fast_retransmits: u64,
    /// Reductions that an echo of "congestion experienced" caused.
    pub ecn_reductions: u64,
    /// Reductions undone since the loss was none.
    pub spurious: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Acknowledgements handed to the network since the start.
    pub acks_sent: u64,
    /// Acknowledgements lost since the start.
    pub acks_lost: u64,
    /// Congestion window at the end, segments.
    pub window: f64,
    /// Slow-start threshold at the end, segments; none before the first congestion.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time at the end, seconds; none without a sample.
    pub srtt_s: Option<f64>,
    /// Times from a write of the application to its last byte's arrival.
    pub completion: Delay,
}

/// A group's results at the level of the application: of pages and transfers begun after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationReport {
    /// Pages (of request-response: exchanges) or transfers begun, those refused included.
    pub begun: u64,
    /// Pages of which an exchange was given up after its time-out.
    pub failed: u64,
    /// Transfers refused since no connection was free.
    pub refused: u64,
    /// Times from a page's first request to its last byte, or from a transfer's beginning to its last
    /// byte's arrival, of those complete by the end.
    pub time: Delay,
    /// Times from a request to its response's last byte; of transfers none.
    pub exchange: Delay,
    /// Times of transfers per the time that their segments would take over the idle path if all were
    /// sent at once; none but of transfers.
    pub slowdown: Option<Slowdown>,
    /// The same by size of the transfer, smallest first; empty but of transfers.
    pub slowdown_by_size: Vec<SizeSlowdown>,
    /// Pages or transfers complete from the warm-up to the end, whenever they began: with their mean
    /// time, a throughput and a latency over the same time, neither short of the long ones.
    pub completed: Completed,
}

/// Pages or transfers that ended in the measured time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Completed {
    /// How many.
    pub count: u64,
    /// Their mean time, seconds; none without any.
    pub mean_s: Option<f64>,
}

/// How much longer transfers took than they would over an idle path: 1 is as long.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Slowdown {
    /// Mean.
    pub mean: f64,
    /// Smallest, at least 1.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Median. Quantiles are right to 0.4 %.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Slowdowns of the transfers of a range of sizes.
#[derive(Clone, Debug, Serialize)]
pub struct SizeSlowdown {
    /// The largest that is meant, payload bytes; none is without end. Smaller ones than those of the bin before are not.
    pub up_to_bytes: Option<u64>,
    /// Begun after the warm-up, those refused included.
    pub begun: u64,
    /// Of these, complete by the end.
    pub complete: u64,
    /// Of the complete; none without any.
    pub slowdown: Option<Slowdown>,
}

/// One class's results.
#[derive(Clone, Debug, Serialize)]
pub struct ClassReport {
    /// The class, 0 highest.
    pub class: u8,
    /// Handed to the network.
    pub offered: Counts,
    /// Received.
    pub delivered: Counts,
    /// Lost.
    pub dropped: Counts,
    /// Neither yet.
    pub in_network: Counts,
    /// Delay, with quantiles.
    pub delay: Delay,
}

impl VariationReport {
    /// Of one flow, or of several merged; none without a packet.
    pub(super) fn of(v: &Variation, flows: usize) -> Option<VariationReport> {
        let (delays, differences) = (v.delays(), v.differences());
        let least = delays.min()?;
        Some(VariationReport {
            delay: Delay::of(delays.count(), delays.sum(), delays.max()?, Some(delays)),
            min_s: secs(least),
            jitter_s: v.mean_jitter().map(|j| j * 1e-12),
            last_jitter_s: secs(v.jitter()) / flows as f64,
            pdv_mean_s: (delays.mean()? - least as f64) * 1e-12,
            pdv_p99_s: secs(v.pdv(0.99)?),
            pdv_p999_s: secs(v.pdv(0.999)?),
            ipdv_mean_s: differences.mean().map(|d| d * 1e-12),
            ipdv_p99_s: differences.quantile(0.99).map(secs),
            ipdv_p999_s: differences.quantile(0.999).map(secs),
            burst_ratio: v.burst_ratio(),
        })
    }
}

impl Slowdown {
    /// From a sketch of millionths; none without any.
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
