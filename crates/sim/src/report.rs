//! What a run has measured, in the units of the report: packets, bytes, seconds, bit/s.

use crate::conditioning::NONE;
use crate::ledger::{ByColour, Count, FlowAccount};
use crate::plan::NodeKind;
use crate::port::{Queue, Waiting};
use crate::world::{FabricState, Group, World};
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_measure::{Digest, Sketch, Variation};
use tailback_units::{Dur, Time};

/// Version of the report's shape; it changes when a field changes its meaning.
const SCHEMA: u32 = 1;

/// One replication's results.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub version: &'static str,
    /// Version of this shape.
    pub schema: u32,
    /// The replication's seed.
    pub seed: u64,
    /// Versioned hash over the integers of the results: equal runs have equal digests everywhere.
    pub digest: String,
    /// Length of the run, warm-up included, seconds.
    pub end_s: f64,
    /// End of the warm-up, seconds.
    pub warmup_s: f64,
    /// Events handled; depends on the engine, so it is not in the digest.
    pub events: u64,
    /// Data packets that have completed transmission on a link, each link counted, since the start.
    pub packet_hops: u64,
    /// Control frames sent since the start.
    pub control_frames: u64,
    /// Per flow: packets born after the warm-up.
    pub flows: Vec<FlowReport>,
    /// Per class: the same.
    pub classes: Vec<ClassReport>,
    /// Per group of flows: times from a write of the application to its last byte's arrival, of
    /// writes after the warm-up; groups without any are absent.
    pub completions: BTreeMap<String, Delay>,
    /// Per group of flows: how delays vary, where the scenario asks for it; groups without a packet are absent.
    pub variation: BTreeMap<String, VariationReport>,
    /// Per group of flows that an application drives.
    pub applications: BTreeMap<String, ApplicationReport>,
    /// Per output port: from the end of the warm-up to the end.
    pub ports: Vec<PortReport>,
    /// Per node: the same.
    pub nodes: Vec<NodeReport>,
    /// Per conditioner: packets that it judged, born after the warm-up.
    pub conditioners: Vec<ConditionerReport>,
    /// Congestion notification, in scenarios with congestion points or rate limiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionReport>,
    /// Circles of ports that wait for each other's memory at the end and will for ever; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deadlocks: Vec<DeadlockReport>,
    /// Time series, where the scenario asks for them.
    pub series: Option<Series>,
}

/// What congestion points have said and rate limiters have done, from the end of the warm-up to the end.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionReport {
    /// Congestion points, in the order of their ports.
    pub points: Vec<CongestionPointReport>,
    /// Reaction points.
    pub limiters: Vec<LimitersReport>,
    /// Messages that found no rate limiters, since the start.
    pub unheard: u64,
}

/// One congestion point's results.
#[derive(Clone, Debug, Serialize)]
pub struct CongestionPointReport {
    /// Its port.
    pub port: String,
    /// Its class.
    pub class: u8,
    /// Its number in tags.
    pub number: u8,
    /// Frames that arrived.
    pub arrived: u64,
    /// Of these, sampled.
    pub sampled: u64,
    /// Messages to stop.
    pub stop: u64,
    /// Messages to slow down.
    pub slower: u64,
    /// Messages to speed up.
    pub faster: u64,
    /// Of all these, in answer to frames that solicited and were not sampled.
    pub solicited: u64,
}

/// The results of one port's rate limiters in one class.
#[derive(Clone, Debug, Serialize)]
pub struct LimitersReport {
    /// The port.
    pub port: String,
    /// The class.
    pub class: u8,
    /// Limiters set up and done with.
    pub created: u64,
    /// See `created`.
    pub removed: u64,
    /// Time average of the number of limiters.
    pub mean_active: f64,
    /// Messages obeyed.
    pub stop: u64,
    /// See `stop`.
    pub slower: u64,
    /// See `stop`.
    pub faster: u64,
    /// Messages ignored: to speed up from a congestion point that has not slowed the limiter last, or during a stop.
    pub ignored: u64,
    /// Frames of TCP that met more than the threshold of their kind, and of these the marked or dropped.
    pub tcp_above: u64,
    /// See `tcp_above`.
    pub tcp_signalled: u64,
    /// Frames of UDP that met more than the threshold of their kind, all of which were dropped.
    pub udp_refused: u64,
    /// Most frames of UDP in one limiter's queue.
    pub most_udp: u64,
    /// Time average of the bytes in the limiters' queues.
    pub mean_bytes: f64,
    /// Most bytes in the limiters' queues.
    pub max_bytes: u64,
}

/// Ports that can never send again, since the frames at each hold the memory that the one before waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadlockReport {
    /// Class of the frames.
    pub class: u8,
    /// The circle, in order: each waits for frames at the next, the last for those at the first.
    pub ports: Vec<String>,
    /// Since when all of them have waited, seconds.
    pub since_s: f64,
}

/// Packets that waited at a port when its neighbour stopped it for want of memory, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeadOfLine {
    /// All of them, once for each stop.
    pub held_up_packets: u64,
    /// Of these, such as leave the neighbour by another port than its fullest: they waited for others.
    pub for_others_packets: u64,
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes: of payload for flows and classes, as buffers count for ports.
    pub bytes: u64,
}

/// One-way delay from the birth of a packet to its last bit at the destination.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delay {
    /// Packets.
    pub count: u64,
    /// Mean, seconds; none without packets.
    pub mean_s: Option<f64>,
    /// Largest, seconds.
    pub max_s: Option<f64>,
    /// Median, seconds; none where no sketch is kept. Quantiles are right to 0.4 %.
    pub p50_s: Option<f64>,
    /// 90th percentile, seconds.
    pub p90_s: Option<f64>,
    /// 99th percentile, seconds.
    pub p99_s: Option<f64>,
    /// 99.9th percentile, seconds.
    pub p999_s: Option<f64>,
}

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
    /// Delay.
    pub delay: Delay,
    /// What its transport did, if it has one.
    pub transport: Option<TransportReport>,
    /// Packets by colour, in scenarios in which anything gives packets a colour.
    pub colours: Option<ColourReports>,
    /// How its delays vary, where each flow keeps a histogram and variation is measured.
    pub variation: Option<VariationReport>,
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

/// One conditioner's results. Bytes are those that buffers count.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionerReport {
    /// Its name: that of a group of flows, or of a port and a direction.
    pub name: String,
    /// Kind of its meter.
    pub meter: String,
    /// Judged green.
    pub green: Counts,
    /// Judged yellow.
    pub yellow: Counts,
    /// Judged red.
    pub red: Counts,
    /// Of all these, dropped.
    pub policed: Counts,
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
    /// Largest.
    pub max: f64,
    /// Median. Quantiles are right to 0.4 %.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
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

/// One output port's results.
#[derive(Clone, Debug, Serialize)]
pub struct PortReport {
    /// Name, such as `sw1->sw2`.
    pub name: String,
    /// Its node.
    pub node: String,
    /// The neighbour.
    pub to: String,
    /// Link rate at the end, bit/s.
    pub rate_bps: u64,
    /// Share of the time spent transmitting, control frames included, 0 to 1.
    pub utilisation: f64,
    /// Time in which data waited and the transmitter idled, seconds.
    pub stopped_s: f64,
    /// Data lost on its line, at random or because the link went down.
    pub lost_on_line: Counts,
    /// Data that came over its line and was refused by the input buffer of a crossbar switch.
    pub refused_at_input: Counts,
    /// Notifications handed to this port for sending, since the start.
    pub notifications_sent: u64,
    /// Notifications obeyed at this port, since the start.
    pub notifications_received: u64,
    /// Head-of-line blocking; absent where the neighbour never stopped it for want of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_of_line: Option<HeadOfLine>,
    /// Pauses that the watchdog has broken off, since the start; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_storms: Option<u64>,
    /// Per class.
    pub classes: Vec<PortClassReport>,
}

/// One class at one port. At the warm-up's end some are queued: arrived + queued then = sent +
/// dropped + queued now.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PortClassReport {
    /// Came to the queue.
    pub arrived: Counts,
    /// Completed transmission.
    pub sent: Counts,
    /// Lost here.
    pub dropped: Counts,
    /// Waiting or in transmission at the end.
    pub queued: Counts,
    /// Marked "congestion experienced" here, packets.
    pub marked_packets: u64,
    /// Most bytes waiting.
    pub max_bytes: u64,
    /// Time average of the bytes waiting.
    pub mean_bytes: f64,
}

/// One node's results.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: &'static str,
    /// Time average of the bytes waiting at all its ports.
    pub mean_bytes: f64,
    /// Most bytes that waited in one class of one port.
    pub max_queue_bytes: u64,
    /// Packets lost in its queues and at its inputs.
    pub dropped_packets: u64,
}

/// Time series.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Instants of the samples, seconds.
    pub time_s: Vec<f64>,
    /// By port name.
    pub ports: BTreeMap<String, PortSeries>,
    /// By flow group.
    pub flows: BTreeMap<String, FlowSeries>,
    /// By meter: what it shows, by name. Those that flows share, under their conditioner's name, and
    /// those of probed flows.
    pub meters: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// By flow, those that are probed: what its transport shows, by name.
    pub transports: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// Packets in the network.
    pub in_network_packets: Vec<u64>,
}

/// One port's time series.
#[derive(Clone, Debug, Serialize)]
pub struct PortSeries {
    /// Bytes waiting.
    pub queue_bytes: Vec<u64>,
    /// Whether data waits while the transmitter idles.
    pub stopped: Vec<bool>,
    /// Bytes sent since the start.
    pub sent_bytes: Vec<u64>,
    /// Packets dropped since the start.
    pub dropped_packets: Vec<u64>,
    /// Packets marked since the start.
    pub marked_packets: Vec<u64>,
    /// What the discipline shows, by name; of several classes with the class in front.
    pub state: BTreeMap<String, Vec<f64>>,
}

/// One group's time series.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSeries {
    /// Payload bytes delivered since the start.
    pub delivered_bytes: Vec<u64>,
    /// Where the variation of delays is measured: more of it.
    #[serde(flatten)]
    pub quality: Option<QualitySeries>,
}

/// What a group gets, as a time series, of packets born after the warm-up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QualitySeries {
    /// Packets handed to the network so far.
    pub offered_packets: Vec<u64>,
    /// Packets delivered so far.
    pub delivered_packets: Vec<u64>,
    /// Packets lost so far.
    pub dropped_packets: Vec<u64>,
    /// Sum of the delays of those delivered so far, seconds.
    pub delay_sum_s: Vec<f64>,
    /// Interarrival jitter (RFC 3550) at the instant, mean over the flows, seconds.
    pub jitter_s: Vec<f64>,
}

impl From<Count> for Counts {
    fn from(count: Count) -> Counts {
        Counts { packets: count.packets, bytes: count.bytes }
    }
}

fn secs(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl Delay {
    fn of(count: u64, sum: u128, max: u64, sketch: Option<&Sketch>) -> Delay {
        let some = count > 0;
        let quantile = |q| sketch.and_then(|s| s.quantile(q)).map(secs);
        Delay {
            count,
            mean_s: some.then(|| sum as f64 / count as f64 * 1e-12),
            max_s: some.then(|| secs(max)),
            p50_s: quantile(0.5),
            p90_s: quantile(0.9),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
        }
    }
}

impl VariationReport {
    /// Of one flow, or of several merged; none without a packet.
    fn of(v: &Variation, flows: usize) -> Option<VariationReport> {
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
            max: real(sketch.max()?),
            p50: quantile(0.5)?,
            p90: quantile(0.9)?,
            p99: quantile(0.99)?,
        })
    }
}

fn in_network(account: &FlowAccount, measured: usize) -> Count {
    account.offered[measured].minus(account.delivered[measured].plus(account.dropped[measured]))
}

impl World {
    /// The results so far, after a check that no packet has vanished or doubled.
    ///
    /// # Panics
    /// When conservation is violated: that is an error of the program.
    pub fn report(&mut self) -> Report {
        let names = self.port_names();
        self.check_conservation(&names);
        let mut digest = Digest::new();
        let flows = self.flow_reports(&names, &mut digest);
        let classes = self.class_reports(&flows, &mut digest);
        let ports = self.port_reports(&names, &mut digest);
        let nodes = self.node_reports(&ports);
        let conditioners = self.conditioner_reports(&mut digest);
        let congestion = self.congestion_report(&names, &mut digest);
        let hops =
            |p: &mut crate::port::Port, now| (0..p.classes.len()).map(|c| p.settled(now, c).sent.packets).sum::<u64>();
        let now = self.now;
        let packet_hops = self.ports.iter_mut().map(|p| hops(p, now)).sum();
        let control_frames =
            self.ports.iter().map(|p| if let Queue::Managed(m) = &p.queue { m.sent_control } else { 0 }).sum();
        digest.u64(packet_hops);
        digest.u64(control_frames);
        Report {
            version: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA,
            seed: self.plan.seed,
            digest: digest.finish(),
            end_s: self.now.as_secs(),
            warmup_s: self.plan.warmup.as_secs(),
            events: self.events,
            packet_hops,
            control_frames,
            flows,
            classes,
            completions: self.completions(),
            variation: self.variation(),
            applications: self.applications(),
            ports,
            nodes,
            conditioners,
            congestion,
            deadlocks: self.deadlock_reports(&names),
            series: self.series(&names),
        }
    }

    fn deadlock_reports(&self, names: &[String]) -> Vec<DeadlockReport> {
        let report = |deadlock: crate::world::Deadlock| DeadlockReport {
            class: deadlock.class,
            ports: deadlock.ports.iter().map(|port| names[*port as usize].clone()).collect(),
            since_s: deadlock.since.as_secs(),
        };
        self.deadlocks().into_iter().map(report).collect()
    }

    fn node_name(&self, node: u16) -> &str {
        &self.plan.nodes[usize::from(node)].name
    }

    fn port_names(&self) -> Vec<String> {
        let mut parallel = BTreeMap::<(u16, u16), u32>::new();
        self.ports.iter().for_each(|p| *parallel.entry((p.from, p.to)).or_default() += 1);
        let name = |(port, p): (usize, &crate::port::Port)| {
            let name = format!("{}->{}", self.node_name(p.from), self.node_name(p.to));
            // Parallel links between the same nodes are told apart by their link's number.
            if parallel[&(p.from, p.to)] > 1 { format!("{name}#{}", port / 2) } else { name }
        };
        self.ports.iter().enumerate().map(name).collect()
    }

    fn flow_reports(&self, names: &[String], digest: &mut Digest) -> Vec<FlowReport> {
        let report = |(index, account): (usize, &FlowAccount)| {
            let plan = &self.plan.flows[index];
            for count in [account.offered, account.delivered, account.dropped].iter().flatten() {
                digest.u64(count.packets);
                digest.u64(count.bytes);
            }
            digest.u128(account.delay_sum);
            digest.u64(account.delay_max);
            digest.u64(account.reordered);
            let more = account.more.as_deref();
            let delays = more.and_then(|more| more.delays.as_ref());
            if let Some(delays) = delays {
                digest.sketch(delays);
            }
            if let Some(variation) = account.variation() {
                digest.u64(variation.jitter());
                digest.sketch(variation.delays());
                digest.sketch(variation.differences());
                digest.u64(variation.runs);
                digest.u64(variation.lost);
            }
            let causes = self.ledger.causes.range((index as u32, 0, tailback_qdisc::Reason::BufferFull)..);
            let causes = causes.take_while(|((flow, ..), _)| *flow as usize == index);
            let drops = causes.map(|((_, port, why), packets)| {
                digest.u64(u64::from(*port));
                digest.u64(*packets);
                DropReport { place: names[*port as usize].clone(), reason: why.to_string(), packets: *packets }
            });
            FlowReport {
                name: plan.name.clone(),
                group: plan.group.clone(),
                from: self.node_name(plan.from).to_owned(),
                to: self.node_name(plan.to).to_owned(),
                class: plan.class,
                dscp: plan.code,
                offered: account.offered[1].into(),
                delivered: account.delivered[1].into(),
                dropped: account.dropped[1].into(),
                in_network: in_network(account, 1).into(),
                reordered: account.reordered,
                drops: drops.collect(),
                delay: Delay::of(account.delivered[1].packets, account.delay_sum, account.delay_max, delays),
                transport: None,
                colours: more.and_then(|more| more.colours.as_ref()).map(|by| self.colours(index, by, account, digest)),
                variation: delays.and(account.variation()).and_then(|v| VariationReport::of(v, 1)),
            }
        };
        // The accounts after those of the flows are their acknowledgements'.
        let mut flows: Vec<FlowReport> =
            self.ledger.flows.iter().take(self.plan.flows.len()).enumerate().map(report).collect();
        for connection in 0..self.transports.outgoing.len() {
            let report = self.transport_report(connection, digest);
            flows[self.transports.outgoing[connection].flow as usize].transport = Some(report);
        }
        for completions in &self.transports.completions {
            digest.sketch(completions);
        }
        for group in self.applications.groups() {
            [group.begun, group.failed, group.refused].into_iter().for_each(|n| digest.u64(n));
            [&group.times, &group.exchanges, &group.slowdowns].into_iter().for_each(|times| digest.sketch(times));
        }
        flows
    }

    /// A flow's packets by colour.
    fn colours(&self, index: usize, by: &ByColour, account: &FlowAccount, digest: &mut Digest) -> ColourReports {
        let connection = self.transports.of(index as u32);
        let marks = connection.is_some_and(|c| self.transports.outgoing[c as usize].sender.marks());
        let mut offered = by.offered;
        if !marks && self.conditioning.of_flow(index as u32) == NONE {
            // Nobody has looked at them.
            offered[0] = account.offered[1];
        }
        for count in [offered, by.delivered, by.dropped].iter().flatten() {
            digest.u64(count.packets);
        }
        let report = |colour: usize| ColourReport {
            offered: offered[colour].into(),
            delivered: by.delivered[colour].into(),
            dropped: by.dropped[colour].into(),
        };
        ColourReports { green: report(0), yellow: report(1), red: report(2) }
    }

    fn conditioner_reports(&self, digest: &mut Digest) -> Vec<ConditionerReport> {
        let report = |rule: &crate::conditioning::Rule| {
            for count in rule.metered.iter().chain([&rule.dropped]) {
                digest.u64(count.packets);
            }
            ConditionerReport {
                name: rule.plan.name.clone(),
                meter: rule.plan.meter.kind().to_owned(),
                green: rule.metered[0].into(),
                yellow: rule.metered[1].into(),
                red: rule.metered[2].into(),
                policed: rule.dropped.into(),
            }
        };
        self.conditioning.rules.iter().map(report).collect()
    }

    /// None where there is nothing of the kind, so that the digest is as it was before there was any.
    fn congestion_report(&mut self, names: &[String], digest: &mut Digest) -> Option<CongestionReport> {
        let (now, span) = (self.now, self.now.since(self.plan.warmup).0);
        let mean = |area: u128| if span == 0 { 0.0 } else { area as f64 / span as f64 };
        let (mut points, mut limiters) = (Vec::new(), Vec::new());
        for (port, name) in self.ports.iter_mut().zip(names) {
            let Queue::Managed(m) = &mut port.queue else { continue };
            for (class, queue) in m.queues.iter_mut().enumerate() {
                if let Some(point) = &queue.point {
                    let c = point.counters;
                    let [stop, slower, faster] = c.sent;
                    [c.arrived, c.sampled, stop, slower, faster, c.solicited].into_iter().for_each(|n| digest.u64(n));
                    points.push(CongestionPointReport {
                        port: name.clone(),
                        class: class as u8,
                        number: point.number,
                        arrived: c.arrived,
                        sampled: c.sampled,
                        stop,
                        slower,
                        faster,
                        solicited: c.solicited,
                    });
                }
                if let Waiting::Limited(found) = &mut queue.waiting {
                    let c = found.counters(now);
                    let [stop, slower, faster] = c.obeyed;
                    [c.created, c.removed, stop, slower, faster, c.ignored].into_iter().for_each(|n| digest.u64(n));
                    [c.tcp_above, c.tcp_signalled, c.udp_refused, c.most_udp].into_iter().for_each(|n| digest.u64(n));
                    digest.u128(c.area);
                    limiters.push(LimitersReport {
                        port: name.clone(),
                        class: class as u8,
                        created: c.created,
                        removed: c.removed,
                        mean_active: mean(c.active_area),
                        stop,
                        slower,
                        faster,
                        ignored: c.ignored,
                        tcp_above: c.tcp_above,
                        tcp_signalled: c.tcp_signalled,
                        udp_refused: c.udp_refused,
                        most_udp: c.most_udp,
                        mean_bytes: mean(c.area),
                        max_bytes: c.most_bytes,
                    });
                }
            }
        }
        let some = !points.is_empty() || !limiters.is_empty();
        some.then_some(CongestionReport { points, limiters, unheard: self.unheard })
    }

    fn transport_report(&self, connection: usize, digest: &mut Digest) -> TransportReport {
        let (out, incoming) = (&self.transports.outgoing[connection], &self.transports.incoming[connection]);
        let acks = &self.ledger.flows[self.transports.ack_flow(connection as u32) as usize];
        let (counts, base) = (out.sender.statistics(), out.base);
        let goodput = incoming.receiver.delivered() - incoming.base;
        let completed = incoming.completed;
        let report = TransportReport {
            goodput_bytes: goodput,
            segments: counts.sent - base.sent,
            retransmissions: counts.retransmissions - base.retransmissions,
            timeouts: counts.timeouts - base.timeouts,
            fast_retransmits: counts.fast_retransmits - base.fast_retransmits,
            ecn_reductions: counts.ecn_reductions - base.ecn_reductions,
            spurious: counts.spurious - base.spurious,
            probes: counts.probes - base.probes,
            acks_sent: acks.offered[0].packets,
            acks_lost: acks.dropped[0].packets,
            window: out.sender.cwnd(),
            ssthresh: Some(out.sender.ssthresh()).filter(|s| s.is_finite()),
            srtt_s: Some(out.sender.srtt()).filter(|d| *d > Dur::ZERO).map(Dur::as_secs),
            completion: Delay::of(completed.count, completed.sum, completed.max, None),
        };
        let r = &report;
        let totals = [r.goodput_bytes, r.segments, r.retransmissions, r.timeouts, r.fast_retransmits];
        totals.into_iter().chain([r.ecn_reductions, r.spurious, r.probes]).for_each(|n| digest.u64(n));
        for count in [acks.offered[0], acks.delivered[0], acks.dropped[0]] {
            digest.u64(count.packets);
        }
        report
    }

    /// Completion times of writes, by group of flows, where any write was completed.
    fn completions(&self) -> BTreeMap<String, Delay> {
        let mut groups = BTreeMap::new();
        for (out, incoming) in self.transports.outgoing.iter().zip(&self.transports.incoming) {
            let sketch = &self.transports.completions[incoming.group as usize];
            if sketch.count() > 0 {
                let group = self.plan.flows[out.flow as usize].group.clone();
                groups.entry(group).or_insert_with(|| {
                    Delay::of(sketch.count(), sketch.sum(), sketch.max().unwrap_or(0), Some(sketch))
                });
            }
        }
        groups
    }

    /// How delays vary, by group of flows.
    fn variation(&self) -> BTreeMap<String, VariationReport> {
        let mut groups: BTreeMap<&str, (Variation, usize)> = BTreeMap::new();
        for (plan, account) in self.plan.flows.iter().zip(&self.ledger.flows) {
            if let Some(variation) = account.variation() {
                let (merged, flows) = groups.entry(&plan.group).or_default();
                merged.merge(variation);
                *flows += 1;
            }
        }
        let report = |(group, (merged, flows)): (&str, (Variation, usize))| {
            Some((group.to_owned(), VariationReport::of(&merged, flows)?))
        };
        groups.into_iter().filter_map(report).collect()
    }

    fn applications(&self) -> BTreeMap<String, ApplicationReport> {
        let delay = |s: &Sketch| Delay::of(s.count(), s.sum(), s.max().unwrap_or(0), Some(s));
        let report = |group: &Group| ApplicationReport {
            begun: group.begun,
            failed: group.failed,
            refused: group.refused,
            time: delay(&group.times),
            exchange: delay(&group.exchanges),
            slowdown: Slowdown::of(&group.slowdowns),
            completed: Completed {
                count: group.completed,
                mean_s: (group.completed > 0).then(|| group.completed_time as f64 * 1e-12 / group.completed as f64),
            },
        };
        self.applications.groups().iter().map(|group| (group.name.clone(), report(group))).collect()
    }

    fn class_reports(&self, flows: &[FlowReport], digest: &mut Digest) -> Vec<ClassReport> {
        let report = |(class, sketch): (usize, &Sketch)| {
            digest.sketch(sketch);
            let of_class = |get: fn(&FlowReport) -> Counts| {
                let flows = flows.iter().filter(|f| usize::from(f.class) == class).map(get);
                flows
                    .fold(Counts::default(), |a, b| Counts { packets: a.packets + b.packets, bytes: a.bytes + b.bytes })
            };
            ClassReport {
                class: class as u8,
                offered: of_class(|f| f.offered),
                delivered: of_class(|f| f.delivered),
                dropped: of_class(|f| f.dropped),
                in_network: of_class(|f| f.in_network),
                delay: Delay::of(sketch.count(), sketch.sum(), sketch.max().unwrap_or(0), Some(sketch)),
            }
        };
        self.ledger.class_delays.iter().enumerate().map(report).collect()
    }

    fn port_reports(&mut self, names: &[String], digest: &mut Digest) -> Vec<PortReport> {
        let now = self.now;
        let span = now.since(self.plan.warmup).0;
        let mut reports = Vec::with_capacity(self.ports.len());
        for (index, name) in names.iter().enumerate() {
            let p = &mut self.ports[index];
            let busy = p.busy_at(now) - p.base.busy;
            let blocked = p.blocked_at(now) - p.base.blocked;
            digest.u64(busy);
            digest.u64(blocked);
            let mut classes = Vec::with_capacity(p.classes.len());
            for class in 0..p.classes.len() {
                let (settled, base, max) = (p.settled(now, class), p.base.classes[class], p.classes[class].max);
                let area = settled.area - base.area;
                digest.u128(area);
                digest.u64(max);
                for count in [settled.arrived, settled.sent, settled.dropped, settled.queued] {
                    digest.u64(count.packets);
                    digest.u64(count.bytes);
                }
                // What never happens has no part in the digest, so that it outlives new features.
                if settled.marked > 0 {
                    digest.u64(settled.marked);
                }
                classes.push(PortClassReport {
                    arrived: settled.arrived.minus(base.arrived).into(),
                    sent: settled.sent.minus(base.sent).into(),
                    dropped: settled.dropped.minus(base.dropped).into(),
                    queued: settled.queued.into(),
                    marked_packets: settled.marked - base.marked,
                    max_bytes: max,
                    mean_bytes: if span == 0 { 0.0 } else { area as f64 / span as f64 },
                });
            }
            let (sent, received, held_up, for_others, storms) = match &p.queue {
                Queue::Managed(m) => {
                    let storms = m.responder.as_ref().map_or(0, |r| r.storms);
                    (m.notices_sent, m.notices_received, m.held_up, m.held_up_for_others, storms)
                }
                Queue::Fifo(_) => (0, 0, 0, 0, 0),
            };
            digest.u64(sent);
            digest.u64(received);
            let (lost, refused) = (p.lost.minus(p.base.lost), p.refused.minus(p.base.refused));
            digest.u64(lost.packets);
            digest.u64(refused.packets);
            let (node, to, rate) = (p.from, p.to, p.rate.0);
            reports.push(PortReport {
                name: name.clone(),
                node: self.node_name(node).to_owned(),
                to: self.node_name(to).to_owned(),
                rate_bps: rate,
                utilisation: if span == 0 { 0.0 } else { busy as f64 / span as f64 },
                stopped_s: secs(blocked),
                lost_on_line: lost.into(),
                refused_at_input: refused.into(),
                notifications_sent: sent,
                notifications_received: received,
                head_of_line: (held_up > 0)
                    .then_some(HeadOfLine { held_up_packets: held_up, for_others_packets: for_others }),
                pause_storms: (storms > 0).then_some(storms),
                classes,
            });
        }
        reports
    }

    fn node_reports(&self, ports: &[PortReport]) -> Vec<NodeReport> {
        let report = |(node, state): (&crate::plan::NodePlan, &crate::world::Node)| {
            // The way back of each of its ports is the line that leads to it.
            let inputs = state.ports.iter().map(|p| ports[(*p ^ 1) as usize].refused_at_input.packets);
            let classes = || state.ports.iter().flat_map(|p| &ports[*p as usize].classes);
            NodeReport {
                name: node.name.clone(),
                kind: if matches!(node.kind, NodeKind::Host(_)) { "host" } else { "switch" },
                mean_bytes: classes().map(|c| c.mean_bytes).sum(),
                max_queue_bytes: classes().map(|c| c.max_bytes).max().unwrap_or(0),
                dropped_packets: classes().map(|c| c.dropped.packets).chain(inputs).sum(),
            }
        };
        self.plan.nodes.iter().zip(&self.nodes).map(report).collect()
    }

    fn series(&self, names: &[String]) -> Option<Series> {
        let recorder = self.recorder.as_ref()?;
        let port = |(index, queue): (usize, &Vec<u64>)| {
            let series = PortSeries {
                queue_bytes: queue.clone(),
                stopped: recorder.stopped[index].clone(),
                sent_bytes: recorder.sent[index].clone(),
                dropped_packets: recorder.dropped[index].clone(),
                marked_packets: recorder.marked[index].clone(),
                state: recorder.state[index].clone(),
            };
            (names[index].clone(), series)
        };
        let mut flows: BTreeMap<String, FlowSeries> = BTreeMap::new();
        for (index, delivered) in recorder.delivered.iter().enumerate() {
            let empty = || FlowSeries { delivered_bytes: vec![0; delivered.len()], quality: None };
            let group = flows.entry(self.plan.flows[index].group.clone()).or_insert_with(empty);
            group.delivered_bytes.iter_mut().zip(delivered).for_each(|(sum, bytes)| *sum += bytes);
        }
        for (group, samples) in &recorder.quality {
            if let Some(series) = flows.get_mut(group) {
                series.quality = Some(samples.clone());
            }
        }
        Some(Series {
            time_s: recorder.times.iter().map(|t: &Time| t.as_secs()).collect(),
            ports: recorder.queue.iter().enumerate().map(port).collect(),
            flows,
            meters: recorder.meters.clone(),
            transports: recorder.transports.clone(),
            in_network_packets: recorder.in_network.clone(),
        })
    }

    /// offered = delivered + dropped + in the network, per flow, the last counted one by one where
    /// the packets are; and arrived = sent + dropped + queued, per port and class.
    fn check_conservation(&mut self, names: &[String]) {
        let mut found = vec![0u64; self.ledger.flows.len()];
        let mut count = |packet: &tailback_qdisc::Packet| found[packet.flow() as usize] += 1;
        self.ports.iter().for_each(|p| p.visit(&mut count));
        for node in &self.nodes {
            if let FabricState::Crossbar(crossbar) = &node.fabric {
                crossbar.visit(&mut count);
            }
        }
        for (index, account) in self.ledger.flows.iter().enumerate() {
            let missing = in_network(account, 0).plus(in_network(account, 1)).packets;
            let name = self.plan.flows.get(index).map_or("acknowledgements", |flow| flow.name.as_str());
            assert_eq!(found[index], missing, "flow {name}: packets in the network");
        }
        let now = self.now;
        for (index, name) in names.iter().enumerate() {
            for class in 0..self.ports[index].classes.len() {
                let s = self.ports[index].settled(now, class);
                assert_eq!(
                    s.arrived,
                    s.sent.plus(s.dropped).plus(s.queued),
                    "port {name}, class {class}: arrived = sent + dropped + queued"
                );
            }
        }
    }
}
