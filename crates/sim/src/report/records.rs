//! Records of a run in the form of the report: columns with a value for each row.

use super::counts::secs;
use crate::plan::{FlowPlan, RecordKind};
use crate::world::{Change, Changes, Completion, Records, Transfers, Waits, World};
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_measure::Sketch;

/// A row for each transfer since the start of the run, in order of the transfer's start, then of the flow. A transfer
/// is a write of a known size to a transport, or a message of an application without a transport.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TransferRecord {
    /// Names of the flows with a row.
    pub names: Vec<String>,
    /// Flow, as an index into `names`.
    pub flow: Vec<u32>,
    /// Time of the write, seconds.
    pub start_s: Vec<f64>,
    /// Payload, bytes.
    pub size_bytes: Vec<u64>,
    /// Time from the write to the arrival of its last byte, seconds; `None`: the transfer was not complete at the end.
    pub completion_s: Vec<Option<f64>>,
    /// Completion time if all segments were sent at once over the idle path, seconds; `None`: the transfer was not
    /// complete at the end.
    pub idle_s: Vec<Option<f64>>,
    /// Retransmissions of the transfer's segments.
    pub retransmissions: Vec<u32>,
    /// Number of transfers without a row, since the limit of rows had been reached.
    pub omitted: u64,
}

/// A row for each change of the state of a transport's sender since the start of the run, in order of time, then of the
/// flow. Of several changes of a sender at one instant only the last has a row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChangeRecord {
    /// Names of the flows with a row.
    pub names: Vec<String>,
    /// Flow, as an index into `names`.
    pub flow: Vec<u32>,
    /// Time of the change, seconds.
    pub time_s: Vec<f64>,
    /// Congestion window, segments.
    pub window_segments: Vec<f64>,
    /// Slow-start threshold, segments; `None`: there has been no congestion.
    pub threshold_segments: Vec<Option<f64>>,
    /// Segments sent and neither acknowledged nor considered lost.
    pub outstanding_segments: Vec<u32>,
    /// Smoothed round-trip time, seconds; `None`: no sample.
    pub smoothed_rtt_s: Vec<Option<f64>>,
    /// Name of the state of the connection ([`tailback_transport::State::name`]).
    pub state: Vec<&'static str>,
    /// Sequence number of the first segment that is not acknowledged.
    pub acknowledged_sequence: Vec<u32>,
    /// Sequence number of the first segment that has never been sent.
    pub next_sequence: Vec<u32>,
    /// Number of changes without a row, since the limit of rows had been reached.
    pub omitted: u64,
}

/// A row for each sample, port and flow with packets waiting there, in order of time, port and flow.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueRecord {
    /// Names of the flows with a row; ` (ack)` is appended for the acknowledgements of a flow.
    pub names: Vec<String>,
    /// Flow, as an index into `names`.
    pub flow: Vec<u32>,
    /// Names of the ports with a row.
    pub ports: Vec<String>,
    /// Port, as an index into `ports`.
    pub port: Vec<u32>,
    /// Time of the sample, seconds.
    pub time_s: Vec<f64>,
    /// Packets waiting.
    pub waiting_packets: Vec<u64>,
    /// Buffer bytes waiting.
    pub waiting_bytes: Vec<u64>,
    /// Number of rows left out, since the limit of rows had been reached.
    pub omitted: u64,
}

/// Histograms of one-way delays of packets generated after the warm-up: of each class, and of each group of flows if
/// each flow has a histogram. There is a row for each bucket with packets, in ascending order within a class or group.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DelayRecord {
    /// `class` or `group`.
    pub scope: Vec<&'static str>,
    /// Number of the class or name of the group.
    pub name: Vec<String>,
    /// Upper edge of the bucket, seconds, at most the maximum delay. Delays in the bucket exceed the value of the row
    /// before, if that row is of the same class or group.
    pub delay_s: Vec<f64>,
    /// Packets with a delay in the bucket.
    pub delivered_packets: Vec<u64>,
    /// Number of rows left out, since the limit of rows had been reached.
    pub omitted: u64,
}

impl DelayRecord {
    /// Adds the rows of a class or group, up to `limit` rows of the record.
    fn add(&mut self, scope: &'static str, name: &str, delays: &Sketch, limit: usize) {
        let max = delays.max().unwrap_or(0);
        for bucket in delays.buckets() {
            if self.name.len() >= limit {
                self.omitted += 1;
                continue;
            }
            self.scope.push(scope);
            self.name.push(name.to_owned());
            self.delay_s.push(secs(bucket.high.min(max)));
            self.delivered_packets.push(bucket.count);
        }
    }
}

/// Names of the flows or ports with a row, in ascending order of their numbers.
struct Names {
    /// Index into `names` by the number of the flow or port.
    index: BTreeMap<u32, u32>,
    names: Vec<String>,
}

impl Names {
    /// Returns the names of the given numbers, which may be repeated and in any order.
    fn of(numbers: impl Iterator<Item = u32>, name: impl Fn(u32) -> String) -> Names {
        let mut index: BTreeMap<u32, u32> = numbers.map(|number| (number, 0)).collect();
        (0..).zip(index.values_mut()).for_each(|(place, at)| *at = place);
        let names = index.keys().map(|number| name(*number)).collect();
        Names { index, names }
    }
}

impl TransferRecord {
    fn of(transfers: Transfers, flows: &[FlowPlan]) -> TransferRecord {
        let Transfers { log, completions, .. } = transfers;
        let (rows, omitted) = log.finish();
        let done: BTreeMap<(u32, u32), Completion> =
            completions.into_iter().map(|done| ((done.flow, done.number), done)).collect();
        let Names { index, names } =
            Names::of(rows.iter().map(|row| row.flow), |flow| flows[flow as usize].name().to_string());
        let mut record = TransferRecord { names, omitted, ..TransferRecord::default() };
        for row in rows {
            let done = done.get(&(row.flow, row.number)).filter(|_| !row.cut);
            record.flow.push(index[&row.flow]);
            record.start_s.push(row.start.as_secs());
            record.size_bytes.push(row.bytes);
            record.completion_s.push(done.map(|done| done.at.since(row.start).as_secs()));
            record.idle_s.push(done.map(|done| done.idle.as_secs()));
            record.retransmissions.push(row.retransmissions);
        }
        record
    }
}

impl ChangeRecord {
    fn of(changes: Changes, flows: &[FlowPlan]) -> ChangeRecord {
        let (rows, omitted) = changes.log.finish();
        let Names { index, names } =
            Names::of(rows.iter().map(|row| row.flow), |flow| flows[flow as usize].name().to_string());
        let mut record = ChangeRecord { names, omitted, ..ChangeRecord::default() };
        for Change { at, flow, in_flight, window, threshold, srtt, una, next, state } in rows {
            record.flow.push(index[&flow]);
            record.time_s.push(at.as_secs());
            record.window_segments.push(window);
            record.threshold_segments.push(Some(threshold).filter(|threshold| threshold.is_finite()));
            record.outstanding_segments.push(in_flight);
            record.smoothed_rtt_s.push(Some(secs(srtt.0)).filter(|rtt| *rtt > 0.0));
            record.state.push(state.name());
            record.acknowledged_sequence.push(una);
            record.next_sequence.push(next);
        }
        record
    }
}

impl World {
    /// Returns the records of transfers and of senders, if the run keeps them.
    pub(super) fn records(&mut self) -> (Option<TransferRecord>, Option<ChangeRecord>) {
        let Some(records) = self.records.take() else { return (None, None) };
        let Records { transfers, changes } = *records;
        let flows = &self.plan.flows;
        (transfers.map(|own| TransferRecord::of(own, flows)), changes.map(|own| ChangeRecord::of(own, flows)))
    }

    /// Returns the distribution of delays, if it is recorded.
    pub(super) fn delay_record(&self) -> Option<DelayRecord> {
        let record = self.plan.record;
        let mut found = record.has(RecordKind::DelayDistribution).then(DelayRecord::default)?;
        for (class, delays) in self.ledger.class_delays.iter().enumerate() {
            found.add("class", &class.to_string(), delays, record.rows);
        }
        let mut groups: BTreeMap<&str, Sketch> = BTreeMap::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            if let Some(delays) = self.ledger.extras(index).and_then(|extras| extras.delays.as_ref()) {
                groups.entry(&flow.group).or_default().merge(delays);
            }
        }
        for (group, delays) in groups {
            found.add("group", group, &delays, record.rows);
        }
        Some(found)
    }

    /// Returns the record of waiting data by flow, if the run keeps it; `ports` are the names of the ports.
    pub(super) fn queue_record(&mut self, ports: &[String]) -> Option<QueueRecord> {
        let (rows, omitted) = self.recorder.as_mut()?.queues.take()?.finish();
        let flows = Names::of(rows.iter().map(|row| row.flow), |number| self.packet_name(number));
        let places = Names::of(rows.iter().map(|row| row.port), |port| ports[port as usize].clone());
        let mut record = QueueRecord { names: flows.names, ports: places.names, omitted, ..QueueRecord::default() };
        for Waits { at, port, flow, waiting } in rows {
            record.flow.push(flows.index[&flow]);
            record.port.push(places.index[&port]);
            record.time_s.push(at.as_secs());
            record.waiting_packets.push(waiting.packets);
            record.waiting_bytes.push(waiting.bytes);
        }
        Some(record)
    }
}
