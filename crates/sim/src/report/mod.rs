//! Results of a run. Units of the report are packets, bytes, seconds and bit/s.

pub(crate) mod counts;
mod flows;
mod notification;
mod ports;
mod records;
mod rows;
mod series;

pub use counts::{Counts, Delay};
pub use flows::{
    ApplicationReport, ClassReport, ColourReport, ColourReports, Completed, DropReport, FlowReport, SizeSlowdown,
    Slowdown, TransportReport, VariationReport,
};
pub use notification::{CongestionPointReport, CongestionReport, DeadlockReport, LimitersReport};
pub use ports::{ConditionerReport, HeadOfLine, NodeReport, PortClassReport, PortReport, StopReport};
pub use records::{ChangeRecord, DelayRecord, QueueRecord, TransferRecord};
pub use rows::FlowReports;
pub use series::{PortSeries, Series};

use crate::plan::port_names;
use crate::port::Queue;
use crate::world::{FabricState, World};
use rows::Rows;
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_measure::Digest;

/// Version of the report's format, raised when the meaning of a field changes.
const SCHEMA: u32 = 2;

/// One replication's results.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub version: &'static str,
    /// Version of the report's format.
    pub schema: u32,
    /// The replication's seed.
    pub seed: u64,
    /// Version and hash of all integer results except `events`: equal runs have equal digests on every platform.
    pub digest: String,
    /// Length of the run, warm-up included, seconds.
    pub end_s: f64,
    /// End of the warm-up, seconds.
    pub warmup_s: f64,
    /// Events handled. The number depends on the engine and on the number of partitions, so it is not in the digest.
    pub events: u64,
    /// `true` if parameters were changed or data was injected while the run was stepped through: the results are then
    /// those of the scenario that the simulation exports, not of the one with which it began. Absent if `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    /// Completed transmissions of data packets and acknowledgements over links since the start.
    pub packet_hops: u64,
    /// Control frames sent since the start.
    pub control_frames: u64,
    /// Per flow, in the order of the scenario: packets generated after the warm-up.
    pub flows: FlowReports,
    /// Per class, the highest first: packets generated after the warm-up.
    pub classes: Vec<ClassReport>,
    /// Per group of flows: times from a write of the application to the arrival of its last byte, for writes after the
    /// warm-up; groups without such writes are absent.
    pub completions: BTreeMap<String, Delay>,
    /// Per group of flows: delay variation, if the scenario requests it; groups without a packet are absent.
    pub variation: BTreeMap<String, VariationReport>,
    /// Per group of flows that an application drives: results of the application.
    pub applications: BTreeMap<String, ApplicationReport>,
    /// Per output port, two per link in the order of the links: from the end of the warm-up to the end.
    pub ports: Vec<PortReport>,
    /// Per node: from the end of the warm-up to the end.
    pub nodes: Vec<NodeReport>,
    /// Per conditioner: packets that it metered, generated after the warm-up.
    pub conditioners: Vec<ConditionerReport>,
    /// Congestion notification; absent in scenarios without congestion points and rate limiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionReport>,
    /// Cycles of ports that wait for each other's memory at the end and can never send again; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deadlocks: Vec<DeadlockReport>,
    /// Time series; `None`: the scenario requests none.
    pub series: Option<Series>,
    /// Transfers; absent if they are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransferRecord>,
    /// Changes of the state of transports' senders; absent if they are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport_changes: Option<ChangeRecord>,
    /// Waiting data by flow at each sample; absent if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_by_flow: Option<QueueRecord>,
    /// Distribution of delays; absent if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<DelayRecord>,
}

impl World {
    /// Returns the results up to [`World::now`], after checking that no packet has vanished or been duplicated.
    /// Consumes the world: with many flows, memory may not suffice for both the world and its report.
    ///
    /// # Panics
    /// If conservation is violated, which is an error of the program.
    pub fn report(mut self) -> Report {
        let names = port_names(&self.plan.nodes, &self.plan.links);
        self.check_conservation(&names);
        self.drop_pending_state();
        let series = self.series(&names);
        let (transfers, transport_changes) = self.records();
        let queue_by_flow = self.queue_record(&names);
        let delays = self.delay_record();
        let mut digest = Digest::new();
        let rows = Rows::of(&mut self, names.clone());
        rows.digest(&mut digest);
        self.applications.digest(&mut digest);
        let classes = rows.classes(&mut digest);
        let ports = self.port_reports(&names, &mut digest);
        let nodes = self.node_reports(&ports);
        let conditioners = self.conditioner_reports(&mut digest);
        let congestion = self.congestion_report(&names, &mut digest);
        let hops =
            |p: &mut crate::port::Port, now| (0..p.classes.len()).map(|c| p.settled(now, c).sent.packets).sum::<u64>();
        let now = self.now;
        let packet_hops = self.ports.iter_mut().map(|p| hops(p, now)).sum();
        let control_frames = self
            .ports
            .iter()
            .map(|p| if let Queue::General(general) = &p.queue { general.sent_control } else { 0 })
            .sum();
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
            touched: self.touched,
            packet_hops,
            control_frames,
            classes,
            completions: rows.completions(),
            variation: rows.variation(),
            flows: rows.into(),
            applications: self.applications(),
            ports,
            nodes,
            conditioners,
            congestion,
            deadlocks: self.deadlock_reports(&names),
            series,
            transfers,
            transport_changes,
            queue_by_flow,
            delays,
        }
    }

    fn node_name(&self, node: u16) -> &str {
        &self.plan.nodes[usize::from(node)].name
    }

    /// Asserts for each flow: offered = delivered + dropped + in the network, where the packets in the network are
    /// counted one by one; and for each port and class: arrived = sent + dropped + queued.
    fn check_conservation(&mut self, names: &[String]) {
        let mut in_network = vec![0u32; self.ledger.flows.len() + self.ledger.acks.len()];
        let mut count = |packet: &tailback_qdisc::Packet| in_network[packet.flow() as usize] += 1;
        self.ports.iter().for_each(|p| p.visit(&mut count));
        for node in &self.nodes {
            if let FabricState::Crossbar(crossbar) = &node.fabric {
                crossbar.visit(&mut count);
            }
        }
        let (flows, acks) = in_network.split_at(self.ledger.flows.len());
        for (index, account) in self.ledger.flows.iter().enumerate() {
            let expected = self.ledger.unmeasured(index).in_network().plus(account.in_network()).packets;
            let name = || self.plan.flows[index].name().to_string();
            assert_eq!(u64::from(flows[index]), expected, "flow {}: packets in the network", name());
        }
        for (found, account) in acks.iter().zip(&self.ledger.acks) {
            assert_eq!(u64::from(*found), account.in_network(), "acknowledgements in the network");
        }
        let now = self.now;
        for (index, name) in names.iter().enumerate() {
            for class in 0..self.ports[index].classes.len() {
                let settled = self.ports[index].settled(now, class);
                assert_eq!(
                    settled.arrived,
                    settled.sent.plus(settled.dropped).plus(settled.queued),
                    "port {name}, class {class}: arrived = sent + dropped + queued"
                );
            }
        }
    }
}
