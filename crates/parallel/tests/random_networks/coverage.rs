//! Coverage: the networks of the ordinary test include every kind of every feature.

use crate::judge::scenario;
use crate::network::document;
use crate::switching::queue::kinds;
use crate::timeline::{CHANGES, name};
use std::collections::BTreeMap;
use tailback_diffserv::Meter;
use tailback_qdisc::congestion_notification::{LimitersSpec, cp, rp};
use tailback_scenario::build;
use tailback_sim::plan::{BackPressure, Detection, Fabric, NodeKind, Plan, Response, Scope, Signal};
use tailback_traffic::{Application, Model};
use tailback_transport::{Cc, Recovery};

/// Numbers of occurrences by family of features and name of the kind.
#[derive(Default)]
struct Seen(BTreeMap<(&'static str, &'static str), u32>);

impl Seen {
    /// Counts an occurrence.
    fn add(&mut self, family: &'static str, name: &'static str) {
        *self.0.entry((family, name)).or_default() += 1;
    }

    /// Counts the scope, detection, response and signal of back-pressure.
    fn backpressure(&mut self, backpressure: &BackPressure) {
        self.add(
            "scope",
            match backpressure.scope {
                Scope::Plain => "plain",
                Scope::Class => "class",
                Scope::Destination => "destination",
                Scope::ClassDestination => "class-destination",
            },
        );
        self.add(
            "law",
            match backpressure.detection {
                Detection::Watermark { .. } => "watermark",
                Detection::FillRate { .. } => "fill-rate",
            },
        );
        self.add(
            "law",
            match backpressure.response {
                Response::Block => "block",
                Response::Rate { .. } => "rate",
            },
        );
        self.add(
            "law",
            match backpressure.signal {
                Signal::OnOff => "on-off",
                Signal::Mac { .. } if backpressure.end_stations => "mac for hosts, too",
                Signal::Mac { .. } => "mac",
            },
        );
    }

    /// Counts the kinds of rate limiters.
    fn limiters(&mut self, spec: &LimitersSpec) {
        self.add("reaction", spec.law.kind());
        self.add("limited queue", if spec.aqm.is_some() { "with queue management" } else { "without" });
    }

    /// Counts the kinds of all features of a plan.
    fn plan(&mut self, plan: &Plan) {
        for node in &plan.nodes {
            match &node.kind {
                NodeKind::Host(host) => host.limiters.iter().for_each(|spec| self.limiters(spec)),
                NodeKind::Switch(switch) => {
                    self.add(
                        "model",
                        match switch.fabric {
                            Fabric::OutputQueued => "output-queued",
                            Fabric::SharedMemory { .. } => "shared-memory",
                            Fabric::SharedBuffer(_) => "shared-buffer",
                            Fabric::InputFifo { .. } => "input-fifo",
                            Fabric::VirtualOutputQueues { .. } => "virtual-output-queues",
                            Fabric::CutThrough { .. } => "cut-through",
                        },
                    );
                    switch.backpressure.iter().for_each(|backpressure| self.backpressure(backpressure));
                    switch.limiters.iter().for_each(|spec| self.limiters(spec));
                    switch.notification.iter().for_each(|spec| self.add("point", spec.kind()));
                    switch.watchdog.iter().for_each(|_| self.add("switch", "watchdog"));
                }
            }
        }
        for link in &plan.links {
            link.queue.iter().for_each(|queue| self.add("discipline", queue.discipline.kind()));
            if link.rate[0] != link.rate[1] {
                self.add("link", "asymmetric");
            }
        }
        for flow in &plan.flows {
            self.add("source", flow.model.kind());
            if let Some(tcp) = &flow.transport {
                self.add("control", tcp.congestion_control.kind());
                self.add("recovery", tcp.recovery.kind());
                self.add("transport", if tcp.takes_turns { "rdma" } else { "tcp" });
            }
        }
        plan.applications.iter().for_each(|application| self.add("application", application.law().kind()));
        plan.conditioners.iter().for_each(|conditioner| self.add("meter", conditioner.meter.kind()));
        plan.timeline.iter().for_each(|change| self.add("change", name(&change.what)));
        plan.labels.iter().for_each(|_| self.add("link", "labelled"));
        if plan.sample.is_some() {
            self.add("run", "sampled");
        }
    }
}

/// A kind that is never drawn would never be tested.
#[test]
fn every_kind_of_every_feature_is_drawn_at_least_three_times() {
    let (mut seen, mut refused) = (Seen::default(), BTreeMap::new());
    for seed in (crate::FIRST..).take(crate::ORDINARY as usize) {
        match scenario(&document(seed)) {
            Ok(scenario) => seen.plan(&build(&scenario, 1, None)),
            // One seed for each message suffices.
            Err(refusal) => drop(refused.insert(refusal, seed)),
        }
    }
    let refused: Vec<String> = refused.iter().map(|(refusal, seed)| format!("network {seed}: {refusal}")).collect();
    assert!(refused.is_empty(), "{} networks are refused:\n{}", refused.len(), refused.join("\n"));
    let disciplines = kinds();
    let [sources, controls] = [Model::NAMES, Cc::NAMES].map(without_users);
    let families: [(&str, &[&str]); 17] = [
        ("discipline", &disciplines),
        ("meter", Meter::NAMES),
        ("source", &sources),
        ("application", Application::NAMES),
        ("control", &controls),
        ("recovery", Recovery::NAMES),
        ("point", cp::Spec::NAMES),
        ("reaction", rp::Spec::NAMES),
        ("change", &CHANGES),
        ("scope", &["plain", "class", "destination", "class-destination"]),
        ("law", &["watermark", "fill-rate", "block", "rate", "on-off", "mac", "mac for hosts, too"]),
        (
            "model",
            &["output-queued", "shared-memory", "shared-buffer", "input-fifo", "virtual-output-queues", "cut-through"],
        ),
        ("limited queue", &["with queue management", "without"]),
        ("transport", &["tcp", "rdma"]),
        ("link", &["asymmetric", "labelled"]),
        ("switch", &["watchdog"]),
        ("run", &["sampled"]),
    ];
    let wanted = families.iter().flat_map(|(family, names)| names.iter().map(|name| (*family, *name)));
    let missing: Vec<_> = wanted.filter(|wanted| seen.0.get(wanted).is_none_or(|count| *count < 3)).collect();
    assert!(missing.is_empty(), "drawn fewer than three times: {missing:?}");
}

/// Returns the names without those of the user's components, which need files.
fn without_users(names: &'static [&'static str]) -> Vec<&'static str> {
    names.iter().copied().filter(|name| *name != "user").collect()
}
