//! Results of the flows: the accounts of the run, converted into one row per flow on request.
//!
//! With a hundred thousand flows, the rows would take more memory than the state of the run. So the report takes over
//! the accounts, and each row is computed when it is read.

use super::counts::{Counts, Delay};
use super::flows::{
    ClassReport, ColourReport, ColourReports, DropReport, FlowReport, TransportReport, VariationReport,
};
use crate::conditioning::NONE;
use crate::drop_causes::DropCause;
use crate::ledger::{ByColour, Count, FlowAccount, Ledger};
use crate::plan::FlowPlan;
use crate::world::{Base, Transports, World};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use tailback_measure::{Digest, Sketch, Variation};
use tailback_units::Dur;

/// The results of all flows, in the order of the scenario.
#[derive(Clone, Debug)]
pub struct FlowReports {
    rows: Arc<Rows>,
}

impl FlowReports {
    /// Returns the number of flows.
    pub fn len(&self) -> usize {
        self.rows.flows.len()
    }
    /// Returns `true` if there are no flows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the results of a flow, computed at each call.
    ///
    /// # Panics
    /// If there is no flow of this index.
    pub fn row(&self, index: usize) -> FlowReport {
        self.rows.row(index)
    }
    /// Iterates over the results of all flows in order, each computed when it is reached.
    pub fn iter(&self) -> impl Iterator<Item = FlowReport> {
        (0..self.len()).map(|index| self.rows.row(index))
    }
    /// Returns the sum over all flows of the packets and payload delivered.
    pub fn delivered(&self) -> Counts {
        self.rows.sum(|account| account.delivered, |_| true)
    }
}

impl Serialize for FlowReports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl From<Rows> for FlowReports {
    fn from(rows: Rows) -> FlowReports {
        FlowReports { rows: Arc::new(rows) }
    }
}

/// Accounts from which the rows are computed.
#[derive(Debug)]
pub(super) struct Rows {
    flows: Vec<FlowPlan>,
    ledger: Ledger,
    transports: Transports,
    /// Names of the nodes.
    nodes: Vec<String>,
    /// Names of the ports.
    ports: Vec<String>,
    /// Flows with a conditioner at their entry, ascending.
    conditioned: Vec<u32>,
}

impl Rows {
    /// Takes the flows, ledger and transports out of a world; `ports` are the names of the ports.
    pub fn of(world: &mut World, ports: Vec<String>) -> Rows {
        let flows = take(&mut world.plan.flows);
        let conditioned = |flow: &u32| world.conditioning.of_flow(*flow) != NONE;
        Rows {
            conditioned: (0..flows.len() as u32).filter(conditioned).collect(),
            nodes: world.plan.nodes.iter().map(|node| node.name.clone()).collect(),
            flows,
            ledger: take(&mut world.ledger),
            transports: take(&mut world.transports),
            ports,
        }
    }

    /// Iterates over the flows and their accounts.
    fn accounts(&self) -> impl Iterator<Item = (&FlowPlan, &FlowAccount)> {
        self.flows.iter().zip(&self.ledger.flows)
    }

    /// Adds the results of all flows and their transports to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        for (index, (_, account)) in self.accounts().enumerate() {
            let unmeasured = self.ledger.unmeasured(index);
            let offered = [unmeasured.offered, account.offered];
            let ended = [unmeasured.delivered, account.delivered, unmeasured.dropped, account.dropped];
            for count in offered.into_iter().chain(ended) {
                digest.u64(count.packets);
                digest.u64(count.bytes);
            }
            digest.u128(account.delay_sum());
            digest.u64(account.delay_max);
            digest.u64(account.reordered);
            let extras = self.ledger.extras(index);
            if let Some(delays) = extras.and_then(|extras| extras.delays.as_ref()) {
                digest.sketch(delays);
            }
            if let Some(variation) = self.ledger.variation(index) {
                digest.u64(variation.jitter());
                digest.sketch(variation.delays());
                digest.sketch(variation.differences());
                digest.u64(variation.runs);
                digest.u64(variation.lost);
            }
            // The digest has the drops by port and reason only, although the report also distinguishes handshakes.
            let causes = self.ledger.causes(index);
            for same_cause in causes.chunk_by(|(a, _), (b, _)| (a.port, a.why) == (b.port, b.why)) {
                digest.u64(u64::from(same_cause[0].0.port));
                digest.u64(same_cause.iter().map(|(_, packets)| packets).sum());
            }
            if let Some(by_colour) = extras.and_then(|extras| extras.colours.as_ref()) {
                let counts = [self.coloured(index, by_colour), by_colour.delivered, by_colour.dropped];
                for count in counts.iter().flatten() {
                    digest.u64(count.packets);
                }
            }
        }
        for connection in 0..self.transports.outgoing.len() {
            let report = self.transport(connection);
            let sent = [report.goodput_bytes, report.segments, report.retransmissions];
            let losses = [report.timeouts, report.fast_retransmits, report.ecn_reductions, report.spurious];
            sent.into_iter().chain(losses).chain([report.probes]).for_each(|n| digest.u64(n));
            let acks = self.ledger.acks[connection];
            for n in [acks.offered, acks.delivered, acks.dropped] {
                digest.u64(n);
            }
        }
        for completions in &self.transports.completions {
            digest.sketch(completions);
        }
    }

    /// Returns the results of a flow.
    fn row(&self, index: usize) -> FlowReport {
        let (plan, account) = (&self.flows[index], &self.ledger.flows[index]);
        let extras = self.ledger.extras(index);
        let delays = extras.and_then(|extras| extras.delays.as_ref());
        let variation = delays.and(self.ledger.variation(index));
        let drop = |(DropCause { port, why, handshake }, packets): (DropCause, u64)| DropReport {
            place: self.ports[port as usize].clone(),
            reason: why.to_string(),
            handshake,
            packets,
        };
        let connection = self.transports.of(index as u32);
        let acks = connection.map_or_else(Vec::new, |connection| self.ledger.ack_causes(connection as usize));
        FlowReport {
            name: plan.name().to_string(),
            group: plan.group.clone(),
            from: self.nodes[usize::from(plan.from)].clone(),
            to: self.nodes[usize::from(plan.to)].clone(),
            class: plan.class,
            dscp: plan.code,
            offered: account.offered.into(),
            delivered: account.delivered.into(),
            dropped: account.dropped.into(),
            in_network: account.in_network().into(),
            reordered: account.reordered,
            drops: self.ledger.causes(index).into_iter().map(drop).collect(),
            carried_drops: self.ledger.unmeasured_causes(index).into_iter().map(drop).collect(),
            ack_drops: acks.into_iter().map(drop).collect(),
            delay: Delay::of(account.delivered.packets, account.delay_sum(), account.delay_max, delays),
            transport: connection.map(|connection| self.transport(connection as usize)),
            colours: extras.and_then(|extras| extras.colours.as_ref()).map(|by| Box::new(self.colours(index, by))),
            variation: variation.and_then(|v| VariationReport::of(v, 1)).map(Box::new),
        }
    }

    /// Returns the packets of a flow that entered the network: green, yellow, red.
    fn coloured(&self, index: usize, by_colour: &ByColour) -> [Count; 3] {
        let connection = self.transports.of(index as u32);
        let sender_colours = connection.is_some_and(|c| self.transports.outgoing[c as usize].sender.marks());
        let mut offered = by_colour.offered;
        if !sender_colours && self.conditioned.binary_search(&(index as u32)).is_err() {
            // Nothing colours the packets before they enter the network: they are all green and not counted by colour.
            offered[0] = self.ledger.flows[index].offered;
        }
        offered
    }

    /// Returns a flow's packets by colour.
    fn colours(&self, index: usize, by_colour: &ByColour) -> ColourReports {
        let offered = self.coloured(index, by_colour);
        let report = |colour: usize| ColourReport {
            offered: offered[colour].into(),
            delivered: by_colour.delivered[colour].into(),
            dropped: by_colour.dropped[colour].into(),
        };
        ColourReports { green: report(0), yellow: report(1), red: report(2) }
    }

    /// Returns the results of a connection.
    fn transport(&self, connection: usize) -> TransportReport {
        let (out, incoming) = (&self.transports.outgoing[connection], &self.transports.incoming[connection]);
        let acks = self.ledger.acks[connection];
        let (counts, Base { sent: base, delivered }) = (out.sender.statistics(), self.transports.base(connection));
        let completed = incoming.completed();
        TransportReport {
            goodput_bytes: incoming.receiver.delivered() - delivered,
            segments: counts.sent - base.sent,
            retransmissions: counts.retransmissions - base.retransmissions,
            timeouts: counts.timeouts - base.timeouts,
            fast_retransmits: counts.fast_retransmits - base.fast_retransmits,
            ecn_reductions: counts.ecn_reductions - base.ecn_reductions,
            spurious: counts.spurious - base.spurious,
            probes: counts.probes - base.probes,
            syn_timeouts: counts.syn_timeouts - base.syn_timeouts,
            acks_sent: acks.offered,
            acks_lost: acks.dropped,
            window: out.sender.cwnd(),
            ssthresh: Some(out.sender.ssthresh()).filter(|s| s.is_finite()),
            srtt_s: Some(out.sender.srtt()).filter(|d| *d > Dur::ZERO).map(Dur::as_secs),
            completion: Delay::of(completed.count, completed.sum, completed.max, None),
        }
    }

    /// Returns the completion times of writes by group of flows; groups without completed writes are absent.
    pub fn completions(&self) -> BTreeMap<String, Delay> {
        let mut groups = BTreeMap::new();
        for (out, incoming) in self.transports.outgoing.iter().zip(&self.transports.incoming) {
            let sketch = &self.transports.completions[incoming.group as usize];
            if sketch.count() > 0 {
                let group = self.flows[out.flow as usize].group.clone();
                groups.entry(group).or_insert_with(|| {
                    Delay::of(sketch.count(), sketch.sum(), sketch.max().unwrap_or(0), Some(sketch))
                });
            }
        }
        groups
    }

    /// Returns the delay variation by group of flows; groups without a delivered packet are absent.
    pub fn variation(&self) -> BTreeMap<String, VariationReport> {
        let mut groups: BTreeMap<&str, (Variation, usize)> = BTreeMap::new();
        for (index, plan) in self.flows.iter().enumerate() {
            if let Some(variation) = self.ledger.variation(index) {
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

    /// Returns the sum of a count over the selected flows.
    fn sum(&self, count: fn(&FlowAccount) -> Count, selected: impl Fn(&FlowPlan) -> bool) -> Counts {
        let counts = self.accounts().filter(|(plan, _)| selected(plan)).map(|(_, account)| count(account));
        counts.fold(Count::default(), Count::plus).into()
    }

    /// Returns the results of all classes; their delays are added to the digest.
    pub fn classes(&self, digest: &mut Digest) -> Vec<ClassReport> {
        let report = |(class, sketch): (usize, &Sketch)| {
            digest.sketch(sketch);
            let of_class = |count| self.sum(count, |plan| usize::from(plan.class) == class);
            ClassReport {
                class: class as u8,
                offered: of_class(|a| a.offered),
                delivered: of_class(|a| a.delivered),
                dropped: of_class(|a| a.dropped),
                in_network: of_class(FlowAccount::in_network),
                delay: Delay::of(sketch.count(), sketch.sum(), sketch.max().unwrap_or(0), Some(sketch)),
            }
        };
        self.ledger.class_delays.iter().enumerate().map(report).collect()
    }
}
