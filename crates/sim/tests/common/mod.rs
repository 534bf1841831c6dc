//! Builder of plans for the tests, and statistics to judge their results.
//!
//! The tests write a topology as `h -100- s (50 kB) -10- d`: numbers between nodes are link rates in Mbit/s; the size
//! in parentheses is the buffer of that node's port to the node on its right.
#![allow(dead_code, reason = "each test program uses a part of these items")]

use std::collections::VecDeque;
use std::sync::Arc;
use tailback_measure::statistics::{Interval, mean_interval};
use tailback_qdisc::Spec;
use tailback_sim::plan::*;
use tailback_sim::{FlowReport, Parts, PortReport, PortSeries, Report, Status, World};
use tailback_traffic::{Application, Bulk, Cbr, Model, Phase, Poisson, UniformUniform};
use tailback_transport::Tcp;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Framing in which the length of a packet is its payload, in buffers and on the wire.
pub const RAW: Framing = Framing { mtu: 65_535, header: 0, min_frame: 0, overhead: 0, buffer: Length::Payload };
/// Ethernet framing; buffers count frames without preamble and gap.
pub const ETHERNET: Framing = Framing { mtu: 1500, header: 18, min_frame: 64, overhead: 20, buffer: Length::Frame };
/// Buffer bytes of a full Ethernet frame.
pub const FRAME: u64 = 1518;
/// Bytes on the wire of a full Ethernet frame.
pub const WIRE: u32 = 1538;
/// Bytes on the wire of a PAUSE frame.
pub const PAUSE: u32 = 84;
/// Limit of a buffer that is never full, bytes.
pub const UNLIMITED: u64 = u64::MAX;

/// Back-pressure with the defaults of scenario documents.
pub const PLAIN: BackPressure = BackPressure {
    scope: Scope::Plain,
    detection: Detection::Watermark { high: 0.8, low: 0.7 },
    notify: Notify::All,
    addresses: Addresses::Buffer,
    partition: true,
    response: Response::Block,
    signal: Signal::OnOff,
    response_time: Dur::ZERO,
    end_stations: false,
};
/// All scopes of back-pressure.
pub const SCOPES: [Scope; 4] = [Scope::Plain, Scope::Class, Scope::Destination, Scope::ClassDestination];

/// All kinds of records.
pub const RECORDS: [RecordKind; 6] = [
    RecordKind::Transfers,
    RecordKind::TransportChanges,
    RecordKind::ThroughputByFlow,
    RecordKind::QueueByFlow,
    RecordKind::QueueExtremes,
    RecordKind::DelayDistribution,
];

/// Returns [`PLAIN`] back-pressure with another scope.
pub fn scope(scope: Scope) -> BackPressure {
    BackPressure { scope, ..PLAIN }
}

/// Returns the instant this number of milliseconds after time zero.
pub fn ms(millis: u64) -> Time {
    Time(Dur::from_ms(millis).0)
}
/// Returns the instant this number of microseconds after time zero.
pub fn us(micros: u64) -> Time {
    Time(Dur::from_us(micros).0)
}
/// Returns the transmission time of `wire` bytes at `mbit` Mbit/s.
pub fn tx(mbit: u64, wire: u32) -> Dur {
    Rate::mbit(mbit).clock().tx_time(wire)
}

/// Returns a source of packets of `packet` bytes at equal intervals, the first at the flow's start.
pub fn cbr(packet: u64, bps: u64) -> Model {
    let (packet, rate) = (Size(packet), Some(Rate(bps)));
    Model::Cbr(Cbr { packet, rate, interval: None, jitter: Fraction(0.0), wander: Fraction(0.0), phase: Phase::Zero })
}
/// Returns a source of packets of `packet` bytes with exponential intervals, at a mean rate of `bps` bit/s.
pub fn poisson(packet: u64, bps: u64) -> Model {
    Model::Poisson(Poisson {
        packet: Size(packet),
        rate: Some(Rate(bps)),
        interval: None,
        sizes: tailback_traffic::Sizes::default(),
    })
}
/// Returns a source of bursts as in the slides of Tobagi and others: sizes uniform with a mean of `burst` bytes,
/// uniform gaps, and a mean rate of `bps` bit/s.
pub fn bursts(burst: u64, bps: u64) -> Model {
    Model::UniformUniform(UniformUniform { burst: Size(burst), rate: Rate(bps) })
}
/// Returns a source of `size` bytes, all at the flow's start.
pub fn bulk(size: u64) -> Model {
    Model::Bulk(Bulk { size: Some(Size(size)) })
}

/// A plan under construction. By default links have no delay, and queues have no limit.
#[derive(Clone, Debug)]
pub struct Net {
    pub plan: Plan,
}

impl Net {
    pub fn new(framing: Framing) -> Net {
        Net {
            plan: Plan {
                nodes: Vec::new(),
                links: Vec::new(),
                flows: Vec::new(),
                applications: Vec::new(),
                routes: Routes::default(),
                framing,
                classes: 1,
                seed: 1,
                warmup: Time::ZERO,
                end: ms(1000),
                sample: None,
                per_flow_delay: false,
                delay_variation: false,
                record: Record::default(),
                conditioners: Vec::new(),
                labels: Vec::new(),
                timeline: Vec::new(),
                tunable: Tunable::default(),
                trace: None,
                engine: Engine::Merged,
            },
        }
    }

    fn node(&mut self, name: &str, kind: NodeKind) -> NodeId {
        self.plan.nodes.push(NodePlan { name: name.to_owned(), kind });
        (self.plan.nodes.len() - 1) as NodeId
    }
    pub fn host(&mut self, name: &str) -> NodeId {
        self.node(name, NodeKind::Host(HostPlan { obeys: true, limiters: None }))
    }
    pub fn switch(&mut self, name: &str) -> NodeId {
        let plan = SwitchPlan {
            latency: Dur::ZERO,
            fabric: Fabric::OutputQueued,
            backpressure: None,
            notification: None,
            limiters: None,
            watchdog: None,
        };
        self.node(name, NodeKind::Switch(plan))
    }
    /// Returns the parameters of a switch, for changes.
    pub fn at_switch(&mut self, node: NodeId) -> &mut SwitchPlan {
        match &mut self.plan.nodes[usize::from(node)].kind {
            NodeKind::Switch(plan) => plan,
            NodeKind::Host(_) => panic!("node {node} is a host"),
        }
    }
    /// Gives a switch back-pressure.
    pub fn set_backpressure(&mut self, node: NodeId, backpressure: BackPressure) {
        self.at_switch(node).backpressure = Some(backpressure);
    }

    /// Adds a link of `mbit` Mbit/s in each direction, whose queues have no limit; `plan.classes` must be set before.
    /// Returns its index.
    pub fn link(&mut self, a: NodeId, b: NodeId, mbit: u64) -> u32 {
        let queue = || QueuePlan {
            discipline: Spec::default(),
            limits: vec![UNLIMITED; usize::from(self.plan.classes)],
            places: vec![u64::MAX; usize::from(self.plan.classes)],
            ring: None,
            shaper: None,
        };
        self.plan.links.push(LinkPlan {
            ends: [a, b],
            rate: [Rate::mbit(mbit); 2],
            delay: Dur::ZERO,
            loss: 0.0,
            jitter: [Dur::ZERO; 2],
            accounting: None,
            queue: [queue(), queue()],
        });
        (self.plan.links.len() - 1) as u32
    }
    /// Returns the queue at `from` towards `to`. Panics if there is no link between them.
    pub fn queue(&mut self, from: NodeId, to: NodeId) -> &mut QueuePlan {
        let queue = self.plan.links.iter_mut().find_map(|link| match link.ends {
            [a, b] if (a, b) == (from, to) => Some(&mut link.queue[0]),
            [a, b] if (b, a) == (from, to) => Some(&mut link.queue[1]),
            _ => None,
        });
        queue.expect("a link between the two")
    }
    /// Limits each class of the queue at `from` towards `to` to `bytes`.
    pub fn limit(&mut self, from: NodeId, to: NodeId, bytes: u64) {
        self.queue(from, to).limits.fill(bytes);
    }
    /// Sets the propagation delay of every link.
    pub fn delay(&mut self, delay: Dur) {
        self.plan.links.iter_mut().for_each(|link| link.delay = delay);
    }

    /// Adds a flow that starts at time zero and never stops. Its name is `from->to` and its index. Returns the index.
    pub fn flow(&mut self, from: NodeId, to: NodeId, class: u8, model: Model) -> usize {
        let name = |node: NodeId| &self.plan.nodes[usize::from(node)].name;
        let name = format!("{}->{} {}", name(from), name(to), self.plan.flows.len());
        let kind = FlowKind {
            group: name.clone(),
            class,
            code: 0,
            start_spread: Dur::ZERO,
            stop: Time::NEVER,
            model,
            among: None,
            transport: None,
            probe: false,
        };
        let name = FlowName::Own(name.into());
        self.plan.flows.push(FlowPlan { name, from, to, start: Time::ZERO, kind: kind.into() });
        self.plan.flows.len() - 1
    }
    /// Adds a change to the timeline.
    pub fn change(&mut self, at: Time, what: ChangeKind) {
        self.plan.timeline.push(Change { at, what });
        self.plan.timeline.sort_by_key(|change| change.at);
    }

    /// Returns the plan with routes over the fewest hops. Of several, a node takes the one that a breadth-first search
    /// from the destination finds first.
    pub fn routed(&self) -> Plan {
        let nodes = self.plan.nodes.len();
        let mut routes = vec![vec![NO_ROUTE; nodes]; nodes];
        for destination in 0..nodes {
            let mut seen = vec![false; nodes];
            let mut queue = VecDeque::from([destination]);
            seen[destination] = true;
            while let Some(at) = queue.pop_front() {
                for (index, link) in self.plan.links.iter().enumerate() {
                    for side in [0, 1] {
                        let (near, far) = (usize::from(link.ends[side]), usize::from(link.ends[1 - side]));
                        if near == at && !seen[far] {
                            seen[far] = true;
                            routes[far][destination] = index as u32;
                            queue.push_back(far);
                        }
                    }
                }
            }
        }
        Plan { routes: routes.into(), ..self.plan.clone() }
    }

    /// Runs both engines to the end, checks that their reports are identical, and returns the report.
    pub fn run(&self) -> Report {
        let reports = [Engine::Merged, Engine::Plain].map(|engine| run(Plan { engine, ..self.routed() }));
        let [merged, plain] = reports;
        assert_eq!(merged.digest, plain.digest, "merged and plain engine differ");
        // The durations of stops and the maximum of an input are not in the digest.
        let stops = |report: &Report| -> Vec<_> {
            report.ports.iter().map(|p| (p.stopped_s, p.slowed_s, p.stops.clone(), p.input_max_bytes)).collect()
        };
        assert_eq!(stops(&merged), stops(&plain), "merged and plain engine differ in their stops");
        let records = |report: &Report| {
            let series = report.series.as_ref().map(|series| {
                let extremes = |port: &PortSeries| (port.queue_min_bytes.clone(), port.queue_max_bytes.clone());
                (series.ports.values().map(extremes).collect::<Vec<_>>(), serde_json::json!(series.by_flow))
            });
            let tables =
                serde_json::json!([report.transfers, report.transport_changes, report.queue_by_flow, report.delays]);
            (series, tables)
        };
        assert_eq!(records(&merged), records(&plain), "merged and plain engine differ in their records");
        merged
    }
    /// Runs the merged engine alone, for long runs.
    pub fn run_merged(&self) -> Report {
        run(self.routed())
    }
    /// Returns the reports of `n` independent replications of the merged engine, with the seeds 1 to `n`.
    pub fn replications(&self, n: u64) -> Vec<Report> {
        let plan = self.routed();
        (1..=n).map(|seed| run(Plan { seed, ..plan.clone() })).collect()
    }
}

/// Runs a plan in at most `most` parts; except for the number of events, the report must equal `whole`. Returns the
/// number of parts.
#[track_caller]
pub fn same_in_parts(plan: Plan, whole: &Report, most: usize) -> usize {
    let parts = Parts::new(plan, most);
    let report = parts.run_in_turn().report();
    let partition = parts.partition();
    let comparable = |report: &Report| {
        let mut value = serde_json::to_value(report).expect("a report has text keys and finite numbers only");
        value["events"] = serde_json::Value::Null;
        value
    };
    let (mine, theirs) = (comparable(&report), comparable(whole));
    for (key, whole) in theirs.as_object().expect("a report is a table") {
        assert_eq!(&mine[key], whole, "{key} in {} parts: {partition:?}", partition.parts());
    }
    partition.parts()
}

/// Returns the 99.9 % confidence interval of a figure over replications.
pub fn over(reports: &[Report], figure: impl Fn(&Report) -> f64) -> Interval {
    interval(&reports.iter().map(figure).collect::<Vec<f64>>())
}

/// Runs to the end. Panics after a billion events, more than any of the tests has, instead of running for ever.
pub fn to_end(world: &mut World) {
    let ends = (0..1_000).any(|_| world.run(1 << 20) == Status::Done);
    assert!(ends, "more than a billion events, at {} of the run", world.progress());
}

/// Returns the report of a run to the end.
pub fn run(plan: Plan) -> Report {
    let mut world = World::new(plan);
    to_end(&mut world);
    world.report()
}

/// Returns the 99.9 % confidence interval of the mean of independent values.
pub fn interval(values: &[f64]) -> Interval {
    mean_interval(values, 0.999).expect("at least two replications")
}

/// Checks that the value of the theory lies in the interval, and that the interval's half-width is at most the fraction
/// `relative_half_width` of that value.
#[track_caller]
pub fn agrees(measured: Interval, theory: f64, relative_half_width: f64) {
    assert!(measured.contains(theory), "theory says {theory}, the simulation {measured:?}");
    assert!(
        measured.half_width <= relative_half_width * theory.abs(),
        "the interval is too wide: {measured:?} for {theory}"
    );
}

/// Returns the port `from->to` of this name.
pub fn port<'a>(report: &'a Report, name: &str) -> &'a PortReport {
    report.ports.iter().find(|port| port.name == name).unwrap_or_else(|| panic!("no port {name}"))
}
/// Returns the number of packets dropped at the queue of a port.
pub fn drops_at(report: &Report, name: &str) -> u64 {
    port(report, name).classes.iter().map(|class| class.dropped.packets).sum()
}
/// Returns the number of packets dropped at the queues of a switch or host.
pub fn drops_of(report: &Report, node: &str) -> u64 {
    report.nodes.iter().find(|n| n.name == node).expect("a node of that name").dropped_packets
}
/// Returns the number of packets of all flows dropped anywhere.
pub fn total_drops(report: &Report) -> u64 {
    report.flows.iter().map(|flow| flow.dropped.packets).sum()
}
/// Returns the fraction of the flow's packets that were lost.
pub fn loss(flow: &FlowReport) -> f64 {
    flow.dropped.packets as f64 / flow.offered.packets as f64
}
/// Returns the mean delay of a flow's packets in seconds.
pub fn mean_s(flow: &FlowReport) -> f64 {
    flow.delay.mean_s.expect("packets were delivered")
}
/// Returns the maximum delay of a flow's packets in seconds.
pub fn max_s(flow: &FlowReport) -> f64 {
    flow.delay.max_s.expect("packets were delivered")
}
/// Returns a delay in seconds as the integer number of picoseconds in which it was measured.
pub fn ps(seconds: f64) -> Dur {
    Dur::from_secs_f64(seconds)
}

/// Returns an application in the notation of documents.
pub fn application(document: serde_json::Value) -> Arc<Application> {
    let application: Application = serde_json::from_value(document).expect("a document's application");
    tailback_document::Checked::check(&application).expect("the test's parameters make sense");
    Arc::new(application)
}
/// Returns a transport in the notation of documents.
pub fn tcp(document: serde_json::Value) -> Arc<Tcp> {
    let tcp: Tcp = serde_json::from_value(document).expect("a document's transport");
    tcp.check().expect("the test's parameters make sense");
    Arc::new(tcp)
}

impl Net {
    /// Adds a user at `client` and its server, with a pair of flows for each parallel connection of the application:
    /// one for requests, and one for responses, which needs no handshake. `transport` is `None` for datagrams. All
    /// flows are in the group `users`. Returns the index of the first flow.
    pub fn session(
        &mut self,
        client: NodeId,
        server: NodeId,
        application: &Arc<Application>,
        transport: Option<&Arc<Tcp>>,
    ) -> usize {
        let pages = application.pages().expect("a session is of pages");
        let first = self.plan.flows.len();
        let mut channels = Vec::new();
        for _ in 0..pages.parallel {
            let request = self.flow(client, server, 0, bulk(1));
            let response = self.flow(server, client, 0, bulk(1));
            self.plan.flows[request].transport = transport.cloned();
            let answers = |tcp: &Arc<Tcp>| Arc::new(Tcp { handshake: false, ..(**tcp).clone() });
            self.plan.flows[response].transport = transport.map(answers);
            for flow in [request, response] {
                "users".clone_into(&mut self.plan.flows[flow].group);
            }
            channels.push([request as u32, response as u32]);
        }
        self.plan.applications.push(ApplicationPlan::Session { law: application.clone(), channels });
        first
    }

    /// Adds `connections` flows, each of which carries one transfer after another, in the group `transfers`.
    pub fn transfers(
        &mut self,
        from: NodeId,
        to: NodeId,
        application: &Arc<Application>,
        tcp: &Arc<Tcp>,
        connections: u32,
    ) {
        let flow = |_| {
            let flow = self.flow(from, to, 0, bulk(1));
            "transfers".clone_into(&mut self.plan.flows[flow].group);
            self.plan.flows[flow].transport = Some(tcp.clone());
            flow as u32
        };
        let flows = (0..connections).map(flow).collect();
        self.plan.applications.push(ApplicationPlan::Transfers { law: application.clone(), flows });
    }
}
