//! Time series that are being recorded.

use crate::plan::Plan;
use crate::port::{General, Port, Queue, Waiting};
use std::collections::BTreeMap;
use tailback_qdisc::{Admission, Site};
use tailback_transport::Sender;
use tailback_units::Time;

/// Values of probes by name, then by sample; NaN where a probe has no value.
pub(crate) type Named = BTreeMap<String, Vec<f64>>;

/// Samples taken so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub times: Vec<Time>,
    /// By port, then by sample: buffer bytes waiting.
    pub queue: Vec<Vec<u64>>,
    /// By port, then by sample: `true` if a stop is in force.
    pub stopped: Vec<Vec<bool>>,
    /// By port, then by sample: time since the start during which a stop was in force, picoseconds.
    pub stopped_time: Vec<Vec<u64>>,
    /// By port, then by sample: `true` if data waits while the transmitter is idle.
    pub held: Vec<Vec<bool>>,
    /// By port, then by sample: time since the start during which data waited while the transmitter was idle,
    /// picoseconds.
    pub held_time: Vec<Vec<u64>>,
    /// By port, then by sample: buffer bytes sent since the start.
    pub sent: Vec<Vec<u64>>,
    /// By port, then by sample: packets dropped since the start.
    pub dropped: Vec<Vec<u64>>,
    /// By port, then by sample: packets marked since the start.
    pub marked: Vec<Vec<u64>>,
    /// By port and name, then by sample: probes of the port's disciplines.
    pub state: Vec<Named>,
    /// By probed flow and name, then by sample: probes of the flow's transport.
    pub transports: BTreeMap<String, Named>,
    /// By meter and name, then by sample: probes of shared meters, and of the meters of probed flows.
    pub meters: BTreeMap<String, Named>,
    /// By flow, then by sample: payload bytes delivered since the start.
    pub delivered: Vec<Vec<u64>>,
    /// By group of flows: totals of the group's flows; empty if delay variation is not measured.
    pub quality: BTreeMap<String, Vec<Quality>>,
    /// Packets in the network.
    pub in_network: Vec<u64>,
}

/// Adds the value of a probe at the sample of this number. A probe may appear only during the run, as meters do with
/// their first packet, or be missing for a while; its missing values are NaN.
pub(super) fn put(series: &mut Named, sample: usize, name: String, value: f64) {
    let values = series.entry(name).or_default();
    values.resize(sample - 1, f64::NAN);
    values.push(value);
}

impl Recorder {
    /// Allocates the series of a network of this size.
    pub(super) fn resize(&mut self, ports: usize, flows: usize) {
        for series in [
            &mut self.queue,
            &mut self.stopped_time,
            &mut self.held_time,
            &mut self.sent,
            &mut self.dropped,
            &mut self.marked,
        ] {
            series.resize_with(ports, Vec::new);
        }
        for series in [&mut self.stopped, &mut self.held] {
            series.resize_with(ports, Vec::new);
        }
        self.state.resize_with(ports, BTreeMap::new);
        self.delivered.resize_with(flows, Vec::new);
    }

    pub(super) fn sample_port(&mut self, plan: &Plan, now: Time, at: usize, port: &mut Port) {
        let settled: Vec<_> = (0..port.classes.len()).map(|class| port.settled(now, class)).collect();
        self.queue[at].push((0..port.classes.len()).map(|class| port.backlog_at(now, class)).sum());
        self.sent[at].push(settled.iter().map(|class| class.sent.bytes).sum());
        self.dropped[at].push(settled.iter().map(|class| class.dropped.packets).sum());
        self.marked[at].push(settled.iter().map(|class| class.marked).sum());
        let sample = self.times.len();
        let state = &mut self.state[at];
        let mut show = |name: &str, value| put(state, sample, name.to_owned(), value);
        let mut held = false;
        match &port.queue {
            Queue::Fifo { .. } => show("state_bytes", Site::default().state_bytes() as f64),
            Queue::Admission(admission) => {
                admission.rule.probe(&mut |name, value| show(name, value));
                show("state_bytes", admission.rule.state_bytes() as f64);
            }
            Queue::General(general) => {
                held = general.blocked_since.is_some();
                sample_disciplines(state, plan, sample, general);
            }
        }
        let stops = port.stops();
        self.stopped[at].push(stops.is_some_and(|stops| stops.any.stands(now)));
        self.stopped_time[at].push(stops.map_or(0, |stops| stops.any.total(now)));
        self.held[at].push(held);
        self.held_time[at].push(port.blocked_at(now));
    }

    pub(super) fn sample_transport(&mut self, name: String, sender: &Sender) {
        let (sample, series) = (self.times.len(), self.transports.entry(name).or_default());
        let mut show = |name: &str, value| put(series, sample, name.to_owned(), value);
        show("window_segments", sender.cwnd());
        show("threshold_segments", sender.ssthresh());
        show("outstanding_segments", f64::from(sender.in_flight()));
        show("smoothed_rtt_s", sender.srtt().as_secs());
        show("timeout_s", sender.rto().as_secs());
        sender.probe(&mut |name, value| show(name, value));
    }
}

/// Totals of the flows of a group so far: packets and delays (picoseconds).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quality {
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
    /// Sum of the delays of delivered packets, picoseconds.
    pub delay: u128,
    /// Sum over the flows of the jitter of RFC 3550, picoseconds.
    pub jitter: u64,
}

/// Adds the probes of a port's disciplines; if there are several classes, the name is prefixed by the class.
pub(super) fn sample_disciplines(state: &mut Named, plan: &Plan, sample: usize, general: &General) {
    for (class, queue) in general.queues.iter().enumerate() {
        let named = |name: String| if general.queues.len() > 1 { format!("{class} {name}") } else { name };
        queue.waiting.probe(&mut |name, value| put(state, sample, named(name.to_owned()), value));
        if let Some(point) = &queue.point {
            put(state, sample, named("messages".to_owned()), point.said as f64);
        }
        let Waiting::Limited(limiters) = &queue.waiting else { continue };
        for (key, rate) in limiters.rates() {
            let host = |node: u16| plan.nodes[usize::from(node)].name.clone();
            let name = format!("rate_bps {}", limiters.spec().label(key, host));
            let series = state.entry(named(name)).or_default();
            // Before a limiter existed, traffic was limited by the rate of the link.
            series.resize(sample - 1, limiters.line());
            series.push(rate);
        }
    }
}
