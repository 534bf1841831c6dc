//! Samples of the time series at regular intervals. Sampling does not change the state of the simulation.

use super::World;
use super::recorder::{PortSample, Quality, Waits, put, sender_state, state_code};
use crate::event_queue::Kind;
use crate::ledger::Count;
use crate::plan::RecordKind;
use std::collections::BTreeMap;
use tailback_measure::Variation;

impl World {
    /// Takes a sample of all series, and schedules the next one.
    pub(super) fn sample(&mut self) {
        let now = self.now;
        if let Some(interval) = self.plan.sample {
            self.schedule(now + interval, Kind::Sample, 0);
        }
        let share = self.share.as_deref();
        let owns = |node: u16| share.is_none_or(|share| share.owns(node));
        let Some(recorder) = &mut self.recorder else { return };
        recorder.times.push(now);
        recorder.resize(self.ports.len(), self.plan.flows.len());
        for (index, port) in self.ports.iter_mut().enumerate() {
            if owns(port.from) {
                let mut sample = PortSample::of(&self.plan, now, port);
                sample.extremes = port.take_extremes(now);
                recorder.add_port(index, sample);
                if let Some(log) = &mut recorder.queues {
                    let mut by_flow: BTreeMap<u32, Count> = BTreeMap::new();
                    port.visit_waiting(now, &mut |packet| {
                        by_flow.entry(packet.flow()).or_default().add(u64::from(packet.size));
                    });
                    for (flow, waiting) in by_flow {
                        log.push(Waits { at: now, port: index as u32, flow, waiting });
                    }
                }
            }
        }
        for out in &self.transports.outgoing {
            let flow = &self.plan.flows[out.flow as usize];
            if flow.probe && owns(flow.from) {
                let mut state = sender_state(&out.sender);
                if self.plan.record.has(RecordKind::TransportChanges) {
                    state.push(state_code(&out.sender));
                }
                recorder.add_transport(flow.name().to_string(), state);
            }
        }
        self.sample_meters();
        self.sample_flows();
        if self.plan.delay_variation {
            self.sample_quality();
        }
    }

    /// Samples the state of shared meters and of the meters of probed flows.
    fn sample_meters(&mut self) {
        let share = self.share.as_deref();
        let Some(recorder) = &mut self.recorder else { return };
        let sample = recorder.times.len();
        for rule in &self.conditioning.rules {
            for (key, meter) in &rule.meters {
                if share.is_some_and(|share| !share.owns(rule.node(*key, &self.plan))) {
                    continue;
                }
                let flow = self.plan.flows.get(*key as usize).filter(|_| rule.plan.per_flow);
                if rule.plan.per_flow && !flow.is_some_and(|flow| flow.probe) {
                    continue;
                }
                let name = flow.map_or_else(|| rule.plan.name.clone(), |flow| flow.name().to_string());
                meter.probe(&mut |what, value| {
                    put(recorder.meters.entry(name.clone()).or_default(), sample, what.to_owned(), value);
                });
            }
        }
    }

    /// Samples the payload that each flow has delivered, and the number of packets in the network.
    fn sample_flows(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let mut in_network = 0u64;
        // The sum wraps around in a partition at which more packets have arrived than were sent there; the sum over the
        // partitions is right again.
        let mut count = |offered: u64, ended: u64| in_network = offered.wrapping_add(in_network).wrapping_sub(ended);
        for (index, flow) in self.ledger.flows.iter().enumerate() {
            let unmeasured = self.ledger.unmeasured(index);
            recorder.delivered[index].push(unmeasured.delivered.bytes + flow.delivered.bytes);
            count(unmeasured.offered.packets, unmeasured.delivered.packets + unmeasured.dropped.packets);
            count(flow.offered.packets, flow.delivered.packets + flow.dropped.packets);
        }
        self.ledger.acks.iter().for_each(|acks| count(acks.offered, acks.delivered + acks.dropped));
        recorder.in_network.push(in_network);
        if self.plan.record.has(RecordKind::ThroughputByFlow) {
            recorder.in_order.resize_with(self.plan.flows.len(), Vec::new);
            for (flow, series) in (0u32..).zip(&mut recorder.in_order) {
                let incoming =
                    self.transports.of(flow).map(|connection| &self.transports.incoming[connection as usize]);
                series.push(incoming.map_or(0, |incoming| incoming.receiver.delivered()));
            }
        }
    }

    /// Samples the totals of each group of flows.
    fn sample_quality(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let mut groups: BTreeMap<&str, Quality> = BTreeMap::new();
        for (index, (plan, account)) in self.plan.flows.iter().zip(&self.ledger.flows).enumerate() {
            let sum = groups.entry(&plan.group).or_default();
            sum.offered += account.offered.packets;
            sum.delivered += account.delivered.packets;
            sum.dropped += account.dropped.packets;
            sum.delay += account.delay_sum();
            sum.jitter += self.ledger.variation(index).map_or(0, Variation::jitter);
        }
        for (group, sum) in groups {
            recorder.quality.entry(group.to_owned()).or_default().push(sum);
        }
    }
}
