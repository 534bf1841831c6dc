//! Probes: time series at regular instants. They look and change nothing.

use super::World;
use crate::event_queue::Kind;
use crate::port::{Queue, Waiting};
use std::collections::BTreeMap;
use tailback_measure::Variation;
use tailback_qdisc::{Admission, Site};
use tailback_units::Time;

/// By name, then by sample: what something shows; NaN where it shows nothing.
pub(crate) type Named = BTreeMap<String, Vec<f64>>;

/// Samples so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub times: Vec<Time>,
    /// By port, then by sample: buffer bytes waiting.
    pub queue: Vec<Vec<u64>>,
    /// By port, then by sample: whether a stop is in force.
    pub stopped: Vec<Vec<bool>>,
    /// By port, then by sample: for how long one has been, since the start.
    pub stopped_time: Vec<Vec<u64>>,
    /// By port, then by sample: whether data waits while the transmitter idles.
    pub held: Vec<Vec<bool>>,
    /// By port, then by sample: for how long it has, since the start.
    pub held_time: Vec<Vec<u64>>,
    /// By port, then by sample: buffer bytes sent since the start.
    pub sent: Vec<Vec<u64>>,
    /// By port, then by sample: packets dropped since the start.
    pub dropped: Vec<Vec<u64>>,
    /// By port, then by sample: packets marked since the start.
    pub marked: Vec<Vec<u64>>,
    /// By port and name, then by sample: what its disciplines show.
    pub state: Vec<Named>,
    /// By probed flow and name, then by sample: what its transport shows.
    pub transports: BTreeMap<String, Named>,
    /// By meter and name, then by sample: what a meter shows, of those that flows share or that probed
    /// flows have.
    pub meters: BTreeMap<String, Named>,
    /// By flow, then by sample: payload bytes delivered since the start.
    pub delivered: Vec<Vec<u64>>,
    /// By group, where the variation of delays is measured: what its flows get.
    pub quality: BTreeMap<String, Vec<Quality>>,
    /// Packets in the network.
    pub in_network: Vec<u64>,
}

/// Takes in what something shows at the sample of this number. It may appear during the run, as meters do with their
/// first packet, or be missing for a while: nothing is shown then, which is no number.
fn put(series: &mut Named, sample: usize, name: String, value: f64) {
    let values = series.entry(name).or_default();
    values.resize(sample - 1, f64::NAN);
    values.push(value);
}

impl World {
    pub(super) fn sample(&mut self) {
        let now = self.now;
        if let Some(interval) = self.plan.sample {
            self.schedule(now + interval, Kind::Sample, 0);
        }
        let share = self.share.as_deref();
        let owns = |node: u16| share.is_none_or(|share| share.owns(node));
        let Some(recorder) = &mut self.recorder else { return };
        recorder.times.push(now);
        let sample = recorder.times.len();
        recorder.queue.resize_with(self.ports.len(), Vec::new);
        for series in [&mut recorder.stopped, &mut recorder.held] {
            series.resize_with(self.ports.len(), Vec::new);
        }
        for series in [&mut recorder.stopped_time, &mut recorder.held_time] {
            series.resize_with(self.ports.len(), Vec::new);
        }
        recorder.sent.resize_with(self.ports.len(), Vec::new);
        recorder.dropped.resize_with(self.ports.len(), Vec::new);
        recorder.marked.resize_with(self.ports.len(), Vec::new);
        recorder.state.resize_with(self.ports.len(), BTreeMap::new);
        recorder.delivered.resize_with(self.plan.flows.len(), Vec::new);
        for (at, port) in self.ports.iter_mut().enumerate() {
            if !owns(port.from) {
                continue;
            }
            let settled = (0..port.classes.len()).map(|class| port.settled(now, class));
            let (mut sent, mut queued, mut dropped, mut marked) = (0, 0, 0, 0);
            for class in settled.collect::<Vec<_>>() {
                sent += class.sent.bytes;
                dropped += class.dropped.packets;
                marked += class.marked;
            }
            for class in 0..port.classes.len() {
                queued += port.backlog_at(now, class);
            }
            recorder.queue[at].push(queued);
            recorder.sent[at].push(sent);
            recorder.dropped[at].push(dropped);
            recorder.marked[at].push(marked);
            if let Queue::General(m) = &port.queue {
                for (class, queue) in m.queues.iter().enumerate() {
                    let named = |name: String| if m.queues.len() > 1 { format!("{class} {name}") } else { name };
                    let state = &mut recorder.state[at];
                    queue.waiting.probe(&mut |name, value| {
                        put(state, sample, named(name.to_owned()), value);
                    });
                    if let Some(point) = &queue.point {
                        put(state, sample, named("messages".to_owned()), point.said as f64);
                    }
                    let Waiting::Limited(limiters) = &queue.waiting else { continue };
                    for (key, rate) in limiters.rates() {
                        let host = |node: u16| self.plan.nodes[usize::from(node)].name.clone();
                        let name = format!("rate_bps {}", limiters.spec().label(key, host));
                        let series = state.entry(named(name)).or_default();
                        // Before there was a limiter, there was the line.
                        series.resize(recorder.times.len() - 1, limiters.line());
                        series.push(rate);
                    }
                }
            }
            let state = &mut recorder.state[at];
            let mut show = |name: &str, value| put(state, sample, name.to_owned(), value);
            match &port.queue {
                Queue::Fifo { .. } => show("state_bytes", Site::default().state_bytes() as f64),
                Queue::Admission(admission) => {
                    admission.rule.probe(&mut |name, value| show(name, value));
                    show("state_bytes", admission.rule.state_bytes() as f64);
                }
                Queue::General(_) => {}
            }
            let held = match &port.queue {
                Queue::General(m) => m.blocked_since.is_some(),
                Queue::Fifo { .. } | Queue::Admission(_) => false,
            };
            let stops = port.stops();
            recorder.stopped[at].push(stops.is_some_and(|stops| stops.any.stands(now)));
            recorder.stopped_time[at].push(stops.map_or(0, |stops| stops.any.total(now)));
            recorder.held[at].push(held);
            recorder.held_time[at].push(port.blocked_at(now));
        }
        for rule in &self.conditioning.rules {
            for (key, meter) in &rule.meters {
                if !owns(rule.node(*key, &self.plan)) {
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
        let mut in_network = 0u64;
        for out in &self.transports.outgoing {
            let flow = &self.plan.flows[out.flow as usize];
            if !flow.probe || !owns(flow.from) {
                continue;
            }
            let series = recorder.transports.entry(flow.name().to_string()).or_default();
            let mut show = |name: &str, value| put(series, sample, name.to_owned(), value);
            let sender = &out.sender;
            show("window_segments", sender.cwnd());
            show("threshold_segments", sender.ssthresh());
            show("outstanding_segments", f64::from(sender.in_flight()));
            show("smoothed_rtt_s", sender.srtt().as_secs());
            show("timeout_s", sender.rto().as_secs());
            sender.probe(&mut |name, value| show(name, value));
        }
        // In a part of a network fewer may be sent than arrive.
        let mut count = |offered: u64, gone: u64| in_network = offered.wrapping_add(in_network).wrapping_sub(gone);
        for (at, flow) in self.ledger.flows.iter().enumerate() {
            let unmeasured = self.ledger.unmeasured(at);
            recorder.delivered[at].push(unmeasured.delivered.bytes + flow.delivered.bytes);
            count(unmeasured.offered.packets, unmeasured.delivered.packets + unmeasured.dropped.packets);
            count(flow.offered.packets, flow.delivered.packets + flow.dropped.packets);
        }
        self.ledger.acks.iter().for_each(|acks| count(acks.offered, acks.delivered + acks.dropped));
        recorder.in_network.push(in_network);
        if self.plan.delay_variation {
            self.sample_quality();
        }
    }

    /// Adds up what the flows of each group get.
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

/// Totals of the flows of a group so far: packets, and picoseconds of delay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quality {
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
    /// Sum of the delays.
    pub delay: u128,
    /// Sum over the flows of RFC 3550's jitter.
    pub jitter: u64,
}
