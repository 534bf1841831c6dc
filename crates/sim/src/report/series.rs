//! Time series in the form of the report.

use super::counts::secs;
use crate::plan::{FlowPlan, RecordKind};
use crate::world::{Named, Quality, World};
use serde::Serialize;
use std::collections::BTreeMap;
use tailback_units::Time;

/// Time series. Each list has a value for each sample; NaN: the variable had no value any more.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Instants of the samples, seconds.
    pub time_s: Vec<f64>,
    /// By port name.
    pub ports: BTreeMap<String, PortSeries>,
    /// By flow group.
    pub flows: BTreeMap<String, FlowSeries>,
    /// State of meters by the meter's name, then by the variable's name. A meter shared by flows has its conditioner's
    /// name; of the meters per flow, only those of probed flows are recorded.
    pub meters: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// State of the transport of each probed flow, by the flow's name, then by the variable's name.
    pub transports: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// By flow name; absent unless [`RecordKind::ThroughputByFlow`] is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_flow: Option<BTreeMap<String, OwnSeries>>,
    /// Packets in the network.
    pub in_network_packets: Vec<u64>,
}

/// One port's time series.
#[derive(Clone, Debug, Serialize)]
pub struct PortSeries {
    /// Buffer bytes waiting, of all classes.
    pub queue_bytes: Vec<u64>,
    /// Minimum of `queue_bytes` since the sample before; absent unless [`RecordKind::QueueExtremes`] is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_min_bytes: Option<Vec<u64>>,
    /// Maximum of `queue_bytes` since the sample before; absent unless [`RecordKind::QueueExtremes`] is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_max_bytes: Option<Vec<u64>>,
    /// `true` if notifications stop the port, a class or a destination, whether or not data waits.
    pub stopped: Vec<bool>,
    /// Time since the start during which notifications stopped the port, a class or a destination, seconds.
    pub stopped_s: Vec<f64>,
    /// `true` if data waits while the transmitter is idle.
    pub held: Vec<bool>,
    /// Time since the start during which data waited while the transmitter was idle, seconds.
    pub held_s: Vec<f64>,
    /// Buffer bytes of transmissions completed since the start.
    pub sent_bytes: Vec<u64>,
    /// Packets dropped since the start.
    pub dropped_packets: Vec<u64>,
    /// Packets marked since the start.
    pub marked_packets: Vec<u64>,
    /// State variables of the discipline, by name; with several classes, the name is prefixed by the class.
    pub state: BTreeMap<String, Vec<f64>>,
}

/// Time series of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct OwnSeries {
    /// Payload bytes delivered since the start.
    pub delivered_bytes: Vec<u64>,
    /// Payload bytes that reached the receiving application in order since the start, each counted once; absent if the
    /// flow has no transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bytes: Option<Vec<u64>>,
}

/// Time series of a group of flows.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSeries {
    /// Payload bytes delivered since the start.
    pub delivered_bytes: Vec<u64>,
    /// Packets, delays and jitter; `None`: delay variation is not measured.
    #[serde(flatten)]
    pub quality: Option<QualitySeries>,
}

/// Time series of a group's packets generated after the warm-up; counts and sums are cumulative.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QualitySeries {
    /// Packets handed to the network.
    pub offered_packets: Vec<u64>,
    /// Packets delivered.
    pub delivered_packets: Vec<u64>,
    /// Packets dropped.
    pub dropped_packets: Vec<u64>,
    /// Sum of the one-way delays of the delivered packets, seconds.
    pub delay_sum_s: Vec<f64>,
    /// Interarrival jitter (RFC 3550) at the sample, mean over the flows, seconds.
    pub jitter_s: Vec<f64>,
}

impl QualitySeries {
    /// Converts the samples of a group of `flows` flows.
    fn of(samples: &[Quality], flows: usize) -> QualitySeries {
        QualitySeries {
            offered_packets: samples.iter().map(|sum| sum.offered).collect(),
            delivered_packets: samples.iter().map(|sum| sum.delivered).collect(),
            dropped_packets: samples.iter().map(|sum| sum.dropped).collect(),
            delay_sum_s: samples.iter().map(|sum| sum.delay as f64 * 1e-12).collect(),
            jitter_s: samples.iter().map(|sum| sum.jitter as f64 * 1e-12 / flows as f64).collect(),
        }
    }
}

/// Returns the series with NaN appended up to the number of samples, since a series may end early.
fn padded(series: &Named, samples: usize) -> Named {
    let filled = |values: &Vec<f64>| {
        let mut values = values.clone();
        values.resize(samples, f64::NAN);
        values
    };
    series.iter().map(|(name, values)| (name.clone(), filled(values))).collect()
}

impl World {
    /// Returns the recorded time series; `names` are the names of the ports. `None`: the run records no series.
    pub(super) fn series(&self, names: &[String]) -> Option<Series> {
        let recorder = self.recorder.as_ref()?;
        let port = |(index, queue): (usize, &Vec<u64>)| {
            let recorded = self.plan.record.has(RecordKind::QueueExtremes);
            let extreme =
                |which: usize| recorded.then(|| recorder.extremes[index].iter().map(|both| both[which]).collect());
            let series = PortSeries {
                queue_bytes: queue.clone(),
                queue_min_bytes: extreme(0),
                queue_max_bytes: extreme(1),
                stopped: recorder.stopped[index].clone(),
                stopped_s: recorder.stopped_time[index].iter().copied().map(secs).collect(),
                held: recorder.held[index].clone(),
                held_s: recorder.held_time[index].iter().copied().map(secs).collect(),
                sent_bytes: recorder.sent[index].clone(),
                dropped_packets: recorder.dropped[index].clone(),
                marked_packets: recorder.marked[index].clone(),
                state: padded(&recorder.state[index], recorder.times.len()),
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
            let count = self.plan.flows.iter().filter(|flow| flow.group == *group).count();
            if let Some(series) = flows.get_mut(group) {
                series.quality = Some(QualitySeries::of(samples, count));
            }
        }
        let by_name = |series: &BTreeMap<String, Named>| {
            series.iter().map(|(name, own)| (name.clone(), padded(own, recorder.times.len()))).collect()
        };
        Some(Series {
            time_s: recorder.times.iter().map(|t: &Time| t.as_secs()).collect(),
            ports: recorder.queue.iter().enumerate().map(port).collect(),
            flows,
            meters: by_name(&recorder.meters),
            transports: by_name(&recorder.transports),
            by_flow: self.series_by_flow(),
            in_network_packets: recorder.in_network.clone(),
        })
    }

    /// Returns the series of each flow by its name; `None`: they are not recorded.
    fn series_by_flow(&self) -> Option<BTreeMap<String, OwnSeries>> {
        let recorder = self.recorder.as_ref().filter(|_| self.plan.record.has(RecordKind::ThroughputByFlow))?;
        let both = recorder.delivered.iter().zip(&recorder.in_order).zip(&self.plan.flows);
        let own = |((delivered, in_order), flow): ((&Vec<u64>, &Vec<u64>), &FlowPlan)| {
            let goodput_bytes = flow.transport.is_some().then(|| in_order.clone());
            (flow.name().to_string(), OwnSeries { delivered_bytes: delivered.clone(), goodput_bytes })
        };
        Some(both.map(own).collect())
    }
}
