//! Construction of the ports of a world from a plan: the surroundings of a port, the form of its queue, and its parts.

use crate::by_class::ByClass;
use crate::congestion_point::CongestionPoint;
use crate::detector::Detector;
use crate::egress::Egress;
use crate::labelling::Labelling;
use crate::plan::{
    BackPressure, ChangeKind, Engine, Fabric, FlowPlan, LinkPlan, NodeId, NodeKind, NodePlan, Place, Plan, QueuePlan,
    RecordKind, SwitchPlan, port_names,
};
use crate::port::{
    AdmissionQueue, ClassQueue, General, Line, LineEnd, LineTiming, Loss, PendingIdle, Port, Queue, Waiting,
};
use crate::responder::Responder;
use tailback_qdisc::congestion_notification::{Limiters, LimitersSpec, Origin, Origins, cp};
use tailback_qdisc::discipline::by_destination::ByDestination;
use tailback_qdisc::{Admission, Site, Spec, Watch};
use tailback_random::Rng;
use tailback_units::Dur;
#[expect(unused_imports, reason = "for the documentation")]
use tailback_units::Time;

/// Returns the ports of all links, two per link, and the number of congestion points.
pub(super) fn build(plan: &Plan, origins: &Origins) -> (Vec<Port>, usize) {
    let (names, reporting) = (port_names(&plan.nodes, &plan.links), reporting(plan));
    let port = |(number, name): (u32, &String)| PortSetting::new(plan, number, name, &reporting).port(origins);
    let mut ports: Vec<Port> = (0u32..).zip(&names).map(port).collect();
    let points = number_points(&mut ports);
    (ports, points)
}

/// Returns the source host and the protocol by flow number: of each flow, then of the acknowledgements of each
/// connection; empty if there are neither congestion points nor rate limiters.
pub(super) fn origins(plan: &Plan) -> Origins {
    let limits = |n: &NodePlan| match &n.kind {
        NodeKind::Host(host) => host.limiters.is_some(),
        NodeKind::Switch(switch) => switch.limiters.is_some(),
    };
    if !feeds_back(plan) && !plan.nodes.iter().any(limits) {
        return Vec::new().into();
    }
    let data = plan.flows.iter().map(|f| Origin { source: f.from, tcp: f.transport.is_some() });
    let with_transport = plan.flows.iter().filter(|f| f.transport.is_some());
    data.chain(with_transport.map(|f| Origin { source: f.to, tcp: true })).collect()
}

/// Numbers the congestion points from 1, and returns how many there are.
fn number_points(ports: &mut [Port]) -> usize {
    let mut count = 0;
    for port in ports {
        let Queue::General(general) = &mut port.queue else { continue };
        for point in general.queues.iter_mut().filter_map(|queue| queue.point.as_mut()) {
            count += 1;
            point.number = u16::try_from(count).expect("at most 65535 congestion points");
        }
    }
    count
}

/// Form of a port's queue. All forms that can serve a port give identical results. The first of them in the order below
/// is used, since it needs the least time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A drop-tail FIFO. The departure of a packet is computed at its arrival.
    Fifo,
    /// A FIFO behind an admission policy. The departure of a packet is computed at its arrival.
    Admission,
    /// Every other queue.
    General {
        /// `true` if the departure of a packet is computed at its arrival as long as no notification stops the port.
        may_transmit_early: bool,
    },
}

/// A port as described by the plan, with the properties of its node and its neighbour that concern it.
struct PortSetting<'a> {
    plan: &'a Plan,
    /// Number of the port: twice the link plus the sending side.
    number: u32,
    name: &'a str,
    link: &'a LinkPlan,
    side: usize,
    queue: &'a QueuePlan,
    from: NodeId,
    to: NodeId,
    /// The switch that sends; `None`: a host sends.
    switch: Option<&'a SwitchPlan>,
    /// Back-pressure whose notifications the port may receive.
    neighbour_pressure: Option<&'a BackPressure>,
    /// Back-pressure of the switch that sends.
    own_pressure: Option<&'a BackPressure>,
    limiters: Option<&'a LimitersSpec>,
    notification: Option<&'a cp::Spec>,
    /// Latency of the node at the other end.
    latency: Dur,
    timing: LineTiming,
    /// `true` if the node acts when a transmission begins at the port ([`reporting`]).
    reports: bool,
}

impl<'a> PortSetting<'a> {
    fn new(plan: &'a Plan, number: u32, name: &'a str, reporting: &[bool]) -> PortSetting<'a> {
        let (link, side) = (&plan.links[number as usize / 2], number as usize % 2);
        let (from, to) = (link.ends[side], link.ends[1 - side]);
        let (switch, next) = (plan.switch(from), plan.switch(to));
        let timing = match (next.map(|next| &next.fabric), link.accounting) {
            (Some(Fabric::CutThrough { header }), _) => LineTiming::CutThrough(*header),
            (_, Some(accounting)) => LineTiming::Counting(accounting),
            (_, None) => LineTiming::Plain,
        };
        let limiters = limiters(plan, from, to);
        PortSetting {
            plan,
            number,
            name,
            link,
            side,
            queue: &link.queue[side],
            from,
            to,
            switch,
            neighbour_pressure: neighbour_pressure(plan, from, to),
            own_pressure: switch.and_then(|s| s.backpressure.as_ref()),
            limiters,
            notification: switch.and_then(|s| s.notification.as_deref()).filter(|_| limiters.is_none()),
            latency: next.map_or(Dur::ZERO, |next| next.latency),
            timing,
            reports: reporting[usize::from(from)],
        }
    }

    /// Returns the form of the queue; all reasons for the choice are here.
    fn form(&self) -> Form {
        let has_policy = self.queue.discipline.rule(&Site::default()).is_some();
        if !self.departures_are_known() {
            return Form::General { may_transmit_early: false };
        }
        if self.nothing_intervenes() {
            let is_default = self.queue.discipline == Spec::default() && self.queue.places[0] == u64::MAX;
            if is_default {
                return Form::Fifo;
            }
            if has_policy {
                return Form::Admission;
            }
        }
        Form::General { may_transmit_early: has_policy && self.only_notifications_intervene() }
    }

    /// Returns `true` if the departure of a packet can be computed at its arrival unless a notification stops the port:
    /// there is one class, the link does not change, and neither the order nor the content of packets is decided at the
    /// start of their transmission.
    fn departures_are_known(&self) -> bool {
        let (plan, link) = (self.plan, self.link);
        plan.engine == Engine::Merged
            && plan.classes == 1
            && self.queue.ring.is_none()
            && self.queue.shaper.is_none()
            && !plan.record.has(RecordKind::QueueExtremes)
            && link.jitter[self.side] == Dur::ZERO
            && self.arrives_in_time()
            && self.timing == LineTiming::Plain
            && self.limiters.is_none()
            && self.notification.is_none()
            && !self.carries_feedback()
            && !self.line_changes()
            && !plan.trace.as_ref().is_some_and(|trace| trace.has_port(self.number))
            && !Labelling::concern(plan, self.number)
            && !plan.conditioners.iter().any(|c| c.place == Place::Egress { port: self.number })
    }

    /// Returns `true` if the port neither receives nor sends notifications, and its node does not act when a
    /// transmission begins.
    fn nothing_intervenes(&self) -> bool {
        // A host with a storm sends PAUSE frames between its data.
        (self.switch.is_some() || !storms(self.plan, self.from))
            && !self.reports
            && self.neighbour_pressure.is_none()
            && self.own_pressure.is_none()
            && self.switch.is_none_or(|s| s.fabric == Fabric::OutputQueued)
    }

    /// Returns `true` if nothing intervenes except notifications for the whole port and turns of a host's connections.
    /// Such notifications can be applied to packets that were transmitted early, and turns can be given at the computed
    /// times.
    fn only_notifications_intervene(&self) -> bool {
        let pressures = [self.neighbour_pressure, self.own_pressure];
        let watches_own_queue = |s: &SwitchPlan| match s.fabric {
            Fabric::SharedBuffer(_) => false,
            Fabric::OutputQueued => self.own_pressure.is_some(),
            _ => true,
        };
        pressures.into_iter().flatten().all(|law| !law.scope.by_address())
            && self.switch.is_none_or(|s| !watches_own_queue(s) && !self.reports)
    }

    /// Returns `true` if the longest packet whose transmission starts before the end of the run arrives within the
    /// range of [`Time`], 213 days. Beyond this range, the start of a transmission cannot be computed from the arrival
    /// time.
    fn arrives_in_time(&self) -> bool {
        let Dur(delay) = self.link.delay + self.latency;
        let arrival = self.link.rate[self.side].clock().tx_time(u16::MAX.into()).0.checked_add(delay);
        arrival.and_then(|arrival| arrival.checked_add(self.plan.end.0)).is_some()
    }

    /// Returns `true` if the link or the queues at its ends may change during the run.
    fn line_changes(&self) -> bool {
        let link = self.number / 2;
        self.plan.tunable.links.binary_search(&link).is_ok()
            || self.plan.timeline.iter().any(|change| change.what.link() == Some(link))
    }

    /// Returns `true` if messages of congestion points may leave by the port. A switch with rate limiters and without
    /// congestion points does not forward messages to its hosts.
    fn carries_feedback(&self) -> bool {
        let to_host = self.plan.switch(self.to).is_none();
        let forwards = |own: &SwitchPlan| !(to_host && own.limiters.is_some() && own.notification.is_none());
        feeds_back(self.plan) && self.switch.is_some_and(forwards)
    }

    /// Returns the random stream of the part `what` of the port.
    fn stream(&self, what: &str) -> Rng {
        Rng::named(self.plan.seed, &format!("{what} {}", self.name))
    }

    /// Returns the port.
    fn port(&self, origins: &Origins) -> Port {
        let extremes = self.plan.record.has(RecordKind::QueueExtremes);
        let egress = Egress::new(self.queue.ring, self.queue.shaper.as_ref(), extremes);
        let line_rate = self.link.rate[self.side];
        let rate = egress.as_ref().map_or(line_rate, |egress| egress.rate(line_rate));
        let site = Site { bytes: self.queue.limits[0], packets: self.queue.places[0], rate };
        let law = self.queue.discipline.rule(&site);
        let queue = match (self.form(), law) {
            (Form::Fifo, _) => Queue::Fifo { limit: self.queue.limits[0] },
            (Form::Admission, Some(law)) => Queue::Admission(Box::new(AdmissionQueue::new(law, self.stream("port")))),
            (Form::Admission, None) => unreachable!("a port of this form has an admission policy"),
            (Form::General { may_transmit_early }, law) => {
                let idle = PendingIdle::new(law.map_or(Watch::Nothing, |law| law.watches()));
                let limits = self.queue.limits.iter().zip(&self.queue.places).enumerate();
                let queues = limits.map(|(class, (&bytes, &packets))| {
                    self.class_queue(class, &Site { bytes, packets, rate }, origins)
                });
                let mut general = General::new(ByClass::new(queues), idle, self.timing, self.stream("port"));
                general.may_transmit_early = may_transmit_early;
                general.jitter = self.link.jitter[self.side];
                general.responder = self
                    .neighbour_pressure
                    .map(|b| Box::new(Responder::new(b.response, self.switch.and_then(|s| s.watchdog))));
                general.egress = egress;
                general.observed = extremes;
                Queue::General(Box::new(general))
            }
        };
        Port::new(self.line(), queue, usize::from(self.plan.classes))
    }

    /// Returns the parameters of the port's direction of the link.
    fn line(&self) -> Line {
        let loss = (self.link.loss > 0.0).then(|| Loss { probability: self.link.loss, rng: self.stream("loss") });
        let loss = loss.map(|loss| LineEnd { loss: Some(loss), ..LineEnd::default() });
        let (rate, delay) = (self.link.rate[self.side], self.link.delay);
        Line { from: self.from, to: self.to, rate, delay, latency: self.latency, end: loss }
    }

    /// Returns the queue of a class.
    fn class_queue(&self, class: usize, site: &Site, origins: &Origins) -> ClassQueue {
        let stream = |what: &str| Rng::named(self.plan.seed, &format!("{what} {} class {class}", self.name));
        let fabric = self.switch.map(|s| &s.fabric);
        let by_input = matches!(fabric, Some(Fabric::SharedBuffer(_)));
        // In a crossbar switch, frames wait at the inputs, where congestion is detected.
        let behind_crossbar = matches!(fabric, Some(Fabric::InputFifo { .. } | Fabric::VirtualOutputQueues { .. }));
        // Back-pressure that names addresses stops single destinations upstream, so queues upstream are kept by
        // destination. The queues of the congested switch are, too, so that the destinations in them are known.
        let own_output = self.own_pressure.filter(|_| !behind_crossbar);
        let mut pressures = [self.neighbour_pressure, own_output].into_iter().flatten();
        let waiting = match (self.limiters, pressures.find(|b| b.scope.by_address())) {
            (Some(spec), _) => {
                let rng = stream("reaction point");
                let limiters = Limiters::new(spec.clone(), &self.queue.discipline, site, origins.clone(), rng);
                Waiting::Limited(Box::new(limiters))
            }
            (None, Some(law)) => {
                Waiting::ByDestination(ByDestination::new(site.bytes, law.partition && self.switch.is_some()))
            }
            (None, None) => Waiting::Discipline(self.queue.discipline.build(site)),
        };
        let limit = self.limiters.map_or(site.bytes, |spec| spec.buffer);
        let watched = if by_input { None } else { own_output };
        let detector = watched.map(|law| Detector::new(law.detection, limit));
        let mut queue = ClassQueue::new(waiting, limit, detector);
        queue.point = self.notification.map(|spec| Box::new(CongestionPoint::new(spec, stream("congestion point"))));
        queue
    }
}

/// Returns the back-pressure whose notifications the port from `from` to `to` may receive: that of the neighbour `to`,
/// if `to` notifies `from` and `from` obeys; or that of the switch `from` itself, if `to` is a host with a storm.
fn neighbour_pressure(plan: &Plan, from: NodeId, to: NodeId) -> Option<&BackPressure> {
    let Some(neighbour) = plan.switch(to) else {
        return plan.switch(from)?.backpressure.as_ref().filter(|_| storms(plan, to));
    };
    let law = neighbour.backpressure.as_ref()?;
    match &plan.nodes[usize::from(from)].kind {
        NodeKind::Switch(_) => Some(law),
        NodeKind::Host(host) => (law.end_stations && host.obeys).then_some(law),
    }
}

/// Returns the rate limiters of a port; `None`: the port is not a reaction point. A switch has rate limiters only at
/// its ports towards switches.
fn limiters(plan: &Plan, from: NodeId, to: NodeId) -> Option<&LimitersSpec> {
    match (&plan.nodes[usize::from(from)].kind, &plan.nodes[usize::from(to)].kind) {
        (NodeKind::Host(host), _) => host.limiters.as_deref(),
        (NodeKind::Switch(switch), NodeKind::Switch(_)) => switch.limiters.as_deref(),
        (NodeKind::Switch(_), NodeKind::Host(_)) => None,
    }
}

/// Returns `true` if a host may have a storm of PAUSE frames during the run.
fn storms(plan: &Plan, host: NodeId) -> bool {
    plan.tunable.storms.contains(&host)
        || plan.timeline.iter().any(|c| matches!(c.what, ChangeKind::PauseStorm { node, .. } if node == host))
}

/// Returns `true` if any switch has congestion points.
fn feeds_back(plan: &Plan) -> bool {
    plan.nodes.iter().any(|n| matches!(&n.kind, NodeKind::Switch(s) if s.notification.is_some()))
}

/// Returns for each node `true` if the node acts when a transmission begins at one of its ports: a host whose
/// connections take turns, and every switch if packets collect telemetry.
fn reporting(plan: &Plan) -> Vec<bool> {
    let collects = |f: &FlowPlan| f.transport.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().telemetry);
    let any = plan.flows.iter().any(collects);
    let mut reporting: Vec<bool> =
        plan.nodes.iter().map(|node| any && matches!(node.kind, NodeKind::Switch(_))).collect();
    for flow in plan.flows.iter().filter(|f| f.transport.as_ref().is_some_and(|tcp| tcp.takes_turns)) {
        reporting[usize::from(flow.from)] = true;
    }
    reporting
}
