//! Time series that are being recorded.

use super::records::{Log, Row};
use crate::ledger::Count;
use crate::plan::{Plan, RecordKind};
use crate::port::{General, Port, Queue, Waiting};
use std::collections::BTreeMap;
use tailback_qdisc::{Admission, Site};
use tailback_transport::Sender;
use tailback_units::Time;

/// Values of state variables by name, then by sample; NaN at samples at which the variable had no value.
pub(crate) type Named = BTreeMap<String, Vec<f64>>;

/// Time series of the samples taken so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// Instants of the samples.
    pub times: Vec<Time>,
    /// By port, then by sample: buffer bytes waiting.
    pub queue: Vec<Vec<u64>>,
    /// By port, then by sample: minimum and maximum of the queue since the sample before, buffer bytes; empty if they
    /// are not recorded.
    pub extremes: Vec<Vec<[u64; 2]>>,
    /// By port, then by sample: `true` if notifications stop the port, a class or a destination.
    pub stopped: Vec<Vec<bool>>,
    /// By port, then by sample: time since the start during which notifications stopped the port, a class or a
    /// destination, picoseconds.
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
    /// By port, then by name and sample: state variables of the port's disciplines.
    pub state: Vec<Named>,
    /// By probed flow, then by name and sample: state variables of the flow's transport.
    pub transports: BTreeMap<String, Named>,
    /// By meter, then by name and sample: state variables of shared meters, and of the meters of probed flows.
    pub meters: BTreeMap<String, Named>,
    /// By flow, then by sample: payload bytes delivered since the start.
    pub delivered: Vec<Vec<u64>>,
    /// By flow, then by sample: payload bytes delivered in order by the flow's transport since the start, 0 without a
    /// transport; empty if the throughput by flow is not recorded.
    pub in_order: Vec<Vec<u64>>,
    /// Packets and bytes waiting by flow and port; `None`: they are not recorded.
    pub queues: Option<Log<Waits>>,
    /// By group of flows: totals of the group's flows; empty if delay variation is not measured.
    pub quality: BTreeMap<String, Vec<Quality>>,
    /// By sample: packets in the network.
    pub in_network: Vec<u64>,
}

/// Adds the value of a state variable at the sample with this number, from 1. A variable may appear during the run, as
/// that of a meter does at its first packet, or be missing at some samples; its missing values are NaN.
pub(super) fn put(series: &mut Named, sample: usize, name: String, value: f64) {
    let values = series.entry(name).or_default();
    values.resize(sample - 1, f64::NAN);
    values.push(value);
}

impl Recorder {
    /// Returns the empty recorder of a plan; `None`: the plan has no time series.
    pub(super) fn new(plan: &Plan) -> Option<Recorder> {
        plan.sample?;
        let queues = plan.record.has(RecordKind::QueueByFlow).then(|| Log::new(plan.record.rows));
        Some(Recorder { queues, ..Recorder::default() })
    }

    /// Creates the series of `ports` ports and `flows` flows that do not exist yet.
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
        self.extremes.resize_with(ports, Vec::new);
    }

    /// Adds the sample of the port with an index.
    pub(super) fn add_port(&mut self, index: usize, port: PortSample) {
        self.queue[index].push(port.queue);
        self.extremes[index].extend(port.extremes);
        self.sent[index].push(port.sent);
        self.dropped[index].push(port.dropped);
        self.marked[index].push(port.marked);
        self.stopped[index].push(port.stopped);
        self.stopped_time[index].push(port.stopped_time);
        self.held[index].push(port.held);
        self.held_time[index].push(port.held_time);
        let sample = self.times.len();
        for Probe { name, value, before } in port.state {
            let values = self.state[index].entry(name).or_default();
            values.resize(sample - 1, before);
            values.push(value);
        }
    }

    /// Adds the sample of the transport of the flow `name`.
    pub(super) fn add_transport(&mut self, name: String, state: Vec<Probe>) {
        let (sample, series) = (self.times.len(), self.transports.entry(name).or_default());
        for Probe { name, value, .. } in state {
            put(series, sample, name, value);
        }
    }
}

/// State variable at an instant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Probe {
    pub name: String,
    pub value: f64,
    /// Value in a time series at the samples before the variable existed.
    before: f64,
}

impl Probe {
    fn new(name: &str, value: f64) -> Probe {
        Probe { name: name.to_owned(), value, before: f64::NAN }
    }
}

/// State of a port at an instant.
#[derive(Clone, Debug)]
pub(crate) struct PortSample {
    /// Buffer bytes waiting.
    pub queue: u64,
    /// Minimum and maximum of the queue since the last sample, buffer bytes; `None`: they are not recorded.
    pub extremes: Option<[u64; 2]>,
    /// Buffer bytes sent since the start.
    pub sent: u64,
    /// Packets dropped since the start.
    pub dropped: u64,
    /// Packets marked since the start.
    pub marked: u64,
    /// `true` if notifications stop the port, a class or a destination.
    pub stopped: bool,
    /// Time since the start during which notifications stopped the port, a class or a destination, picoseconds.
    pub stopped_time: u64,
    /// `true` if data waits while the transmitter is idle.
    pub held: bool,
    /// Time since the start during which data waited while the transmitter was idle, picoseconds.
    pub held_time: u64,
    /// State variables of the port's disciplines.
    pub state: Vec<Probe>,
}

impl PortSample {
    /// Returns the state of a port at `now`.
    pub fn of(plan: &Plan, now: Time, port: &mut Port) -> PortSample {
        let settled: Vec<_> = (0..port.classes.len()).map(|class| port.settled(now, class)).collect();
        let queue = (0..port.classes.len()).map(|class| port.backlog_at(now, class)).sum();
        let mut state = Vec::new();
        let mut held = false;
        match &port.queue {
            Queue::Fifo { .. } => state.push(Probe::new("state_bytes", Site::default().state_bytes() as f64)),
            Queue::Admission(admission) => {
                admission.rule.probe(&mut |name, value| state.push(Probe::new(name, value)));
                state.push(Probe::new("state_bytes", admission.rule.state_bytes() as f64));
            }
            Queue::General(general) => {
                held = general.blocked_since.is_some();
                probe_disciplines(&mut state, plan, general);
            }
        }
        let stops = port.stops();
        PortSample {
            queue,
            extremes: None,
            sent: settled.iter().map(|class| class.sent.bytes).sum(),
            dropped: settled.iter().map(|class| class.dropped.packets).sum(),
            marked: settled.iter().map(|class| class.marked).sum(),
            stopped: stops.is_some_and(|stops| stops.any.holds(now)),
            stopped_time: stops.map_or(0, |stops| stops.any.total(now)),
            held,
            held_time: port.blocked_at(now),
            state,
        }
    }
}

/// Data of a flow that waits at a port at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub at: Time,
    pub port: u32,
    /// Number of the flow; the numbers of acknowledgements follow those of flows.
    pub flow: u32,
    /// Packets and buffer bytes.
    pub waiting: Count,
}

impl Row for Waits {
    fn key(&self) -> (Time, u32, u32) {
        (self.at, self.port, self.flow)
    }
}

/// Returns the state variables of a sender: windows in segments, times in seconds.
pub(crate) fn sender_state(sender: &Sender) -> Vec<Probe> {
    let mut state = vec![
        Probe::new("window_segments", sender.cwnd()),
        Probe::new("threshold_segments", sender.ssthresh()),
        Probe::new("outstanding_segments", f64::from(sender.in_flight())),
        Probe::new("smoothed_rtt_s", sender.srtt().as_secs()),
        Probe::new("timeout_s", sender.rto().as_secs()),
    ];
    sender.probe(&mut |name, value| state.push(Probe::new(name, value)));
    state
}

/// Returns the state of a sender's connection as a number: its position in [`State`](tailback_transport::State), from
/// 0.
pub(super) fn state_code(sender: &Sender) -> Probe {
    Probe::new("state_code", f64::from(sender.state() as u8))
}

/// Totals of the flows of a group so far, for packets generated after the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quality {
    /// Packets handed to the network.
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
    /// Sum of the delays of delivered packets, picoseconds.
    pub delay: u128,
    /// Sum over the flows of their interarrival jitter (RFC 3550), picoseconds.
    pub jitter: u64,
}

/// Adds the state variables of a port's disciplines; with several classes, the name is prefixed by the class.
fn probe_disciplines(state: &mut Vec<Probe>, plan: &Plan, general: &General) {
    for (class, queue) in general.queues.iter().enumerate() {
        let named = |name: &str| if general.queues.len() > 1 { format!("{class} {name}") } else { name.to_owned() };
        queue.waiting.probe(&mut |name, value| state.push(Probe::new(&named(name), value)));
        if let Some(point) = &queue.point {
            state.push(Probe::new(&named("messages"), point.messages_sent as f64));
        }
        let Waiting::Limited(limiters) = &queue.waiting else { continue };
        for (key, value) in limiters.rates() {
            let host = |node: u16| plan.nodes[usize::from(node)].name.clone();
            let name = named(&format!("rate_bps {}", limiters.spec().label(key, host)));
            // Before a limiter exists, traffic is limited by the rate of the link.
            state.push(Probe { name, value, before: limiters.line() });
        }
    }
}
