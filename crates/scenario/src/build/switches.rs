//! Switches: model, latency, watchdog and back-pressure.

use super::builder::Builder;
use super::nodes::Nodes;
use crate::document::{
    Addresses, BackPressure, Detection, Document, FramingTable, Notify, Response, Scope, Signal, Switch, SwitchModel,
};
use tailback_document::{Checked, Path};
use tailback_qdisc::Spec;
use tailback_qdisc::Victim;
use tailback_sim::plan::{self, Fabric, SwitchPlan};
use tailback_units::Dur;

impl Document {
    /// Returns the back-pressure of a switch: its own, otherwise the network's; `None`: it has none, or its scope is
    /// "none".
    pub(super) fn backpressure_of<'a>(&'a self, switch: &'a Switch) -> Option<&'a BackPressure> {
        switch.backpressure.as_ref().or(self.backpressure.as_ref()).filter(|found| found.scope != Scope::None)
    }
    /// Returns the scope of a switch's back-pressure; [`Scope::None`] without back-pressure.
    pub(super) fn scope_of(&self, switch: &Switch) -> Scope {
        self.backpressure_of(switch).map_or(Scope::None, |found| found.scope)
    }
}

/// `true` if a discipline is a FIFO and drops only at arrival.
fn keeps_order(discipline: &Spec) -> bool {
    match discipline {
        Spec::DropTail(params) => params.victim == Victim::Tail,
        Spec::Red(params) => params.victim == Victim::Tail,
        _ => false,
    }
}

impl<'a> Builder<'a> {
    /// Returns one plan per switch, in the order of the switches in `nodes`.
    pub(super) fn switches(&mut self, nodes: &Nodes<'a>, framing: &FramingTable) -> Vec<SwitchPlan> {
        if let Some(backpressure) = &self.document.backpressure {
            self.check_backpressure(&Path::root().join("backpressure"), backpressure);
        }
        let mut plans = Vec::new();
        for node in &nodes.list {
            let Some(switch) = node.switch() else { continue };
            if let Some(backpressure) = &switch.backpressure {
                self.check_backpressure(&node.path().join("backpressure"), backpressure);
            }
            self.check_crossbar(node.path().join("model"), switch);
            if matches!(switch.model, SwitchModel::SharedBuffer(_)) {
                self.check_shared_buffer(&node.path(), switch);
            }
            let end = self.document.run.duration;
            if switch.latency >= end && end > Dur::ZERO {
                self.complaints.value(
                    node.path().join("latency"),
                    format!("frames would take {} through this switch, but the run ends after {end}", switch.latency),
                    "shorten it: typical latencies are \"500ns\" to \"50us\"",
                );
            }
            if let Some(watchdog) = &switch.watchdog {
                for (key, time) in [("after", watchdog.after), ("restore", watchdog.restore)] {
                    if time == Dur::ZERO {
                        self.complaints.value(
                            node.path().join("watchdog").join(key),
                            "the time is zero",
                            "write a time above zero, such as \"1ms\"",
                        );
                    }
                }
            }
            plans.push(SwitchPlan {
                watchdog: switch.watchdog.as_ref().map(|w| plan::Watchdog { after: w.after, restore: w.restore }),
                latency: switch.latency,
                fabric: self.fabric(&node.path().join("model"), &switch.model, framing),
                backpressure: self.document.backpressure_of(switch).and_then(planned),
                notification: switch.congestion_notification.clone().map(Box::new),
                limiters: switch.rate_limiters.as_ref().map(|limiters| Box::new(limiters.plan())),
            });
        }
        plans
    }

    /// Checks the back-pressure of a crossbar switch.
    fn check_crossbar(&mut self, path: Path, switch: &Switch) {
        let Some(law) = self.document.backpressure_of(switch) else { return };
        let by_class = matches!(law.scope, Scope::Class | Scope::ClassDestination);
        match &switch.model {
            SwitchModel::InputFifo(_) if law.scope != Scope::Plain => self.complaints.value(
                path,
                "frames of all classes and destinations share one FIFO per input and cannot be stopped separately",
                "use scope \"plain\", or the model \"virtual-output-queues\", or `backpressure = { scope = \"none\" }` for this switch",
            ),
            SwitchModel::VirtualOutputQueues(model) if model.output_buffer.is_none() && by_class => {
                self.complaints.value(
                    path,
                    "all classes share an input's memory, so that congestion cannot be attributed to one class",
                    "give each queue a limit, such as `output-buffer = \"50kB\"`, or use scope \"plain\" or \"destination\"",
                );
            }
            SwitchModel::VirtualOutputQueues(model)
                if model.output_buffer.is_none()
                    && law.scope == Scope::Destination
                    && law.addresses == Addresses::FilteringDatabase =>
            {
                self.complaints.value(
                    path,
                    "all outputs share an input's memory, so that congestion cannot be attributed to one output",
                    "give each queue a limit, such as `output-buffer = \"50kB\"`, or use `addresses = \"buffer\"`",
                );
            }
            _ => {}
        }
    }

    /// Checks the options that memory accounted by ingress excludes.
    fn check_shared_buffer(&mut self, path: &Path, switch: &Switch) {
        if matches!(self.document.scope_of(switch), Scope::Destination | Scope::ClassDestination) {
            self.complaints.value(
                path.join("model"),
                "memory accounted by ingress does not separate destinations",
                "use back-pressure of scope \"class\" or \"plain\", or another model",
            );
        }
        if switch.rate_limiters.is_some() {
            self.complaints.key(
                path.join("rate-limiters"),
                "memory accounted by ingress requires FIFO queues, but those of rate limiters are served round robin",
                "configure them at the hosts instead, or use another model",
            );
        }
        let discipline = switch.discipline.as_ref().unwrap_or(&self.document.network.discipline);
        let own = switch.ports.values().filter_map(|port| port.discipline.as_ref());
        if let Some(other) = own.chain([discipline]).find(|d| !keeps_order(d)) {
            self.complaints.value(
                path.join("model"),
                format!("memory accounted by ingress requires FIFO queues, and `{}` is not one", other.kind()),
                "use \"drop-tail\" or \"red\" with drops at the tail, or another model",
            );
        }
    }

    /// Checks the model of a switch; returns its plan.
    fn fabric(&mut self, path: &Path, model: &SwitchModel, framing: &FramingTable) -> Fabric {
        self.complaints.invalid(path, model.check());
        match model {
            SwitchModel::OutputQueued(_) => Fabric::OutputQueued,
            SwitchModel::SharedMemory(model) => {
                self.check_holds_a_frame(path.join("memory"), model.memory, framing);
                Fabric::SharedMemory { memory: model.memory.0, alpha: model.alpha }
            }
            SwitchModel::SharedBuffer(model) => {
                self.check_holds_a_frame(path.join("memory"), model.memory, framing);
                Fabric::SharedBuffer(plan::SharedBufferPlan {
                    memory: model.memory.0,
                    shift: model.shift,
                    reserve: model.reserve.0,
                    resume: model.resume.0,
                    headroom: model.headroom.map(|size| size.0),
                })
            }
            SwitchModel::InputFifo(model) => {
                self.check_holds_a_frame(path.join("buffer"), model.buffer, framing);
                Fabric::InputFifo { buffer: model.buffer.0 }
            }
            SwitchModel::VirtualOutputQueues(model) => {
                self.check_holds_a_frame(path.join("buffer"), model.buffer, framing);
                if let Some(size) = model.output_buffer {
                    self.check_holds_a_frame(path.join("output-buffer"), size, framing);
                }
                Fabric::VirtualOutputQueues {
                    buffer: model.buffer.0,
                    output_buffer: model.output_buffer.map_or(u64::MAX, |size| size.0),
                    speedup: model.speedup,
                }
            }
            SwitchModel::CutThrough(model) => {
                Fabric::CutThrough { header: u32::try_from(model.header.0).unwrap_or(u32::MAX) }
            }
        }
    }

    /// Checks the parameters of back-pressure, and that its signal can convey its response and scope.
    fn check_backpressure(&mut self, path: &Path, backpressure: &BackPressure) {
        self.complaints.invalid(&path.join("detection"), backpressure.detection.check());
        self.complaints.invalid(&path.join("response"), backpressure.response.check());
        self.complaints.invalid(&path.join("signal"), backpressure.signal.check());
        if matches!((&backpressure.response, &backpressure.signal), (Response::Rate(_), Signal::Mac(_))) {
            self.complaints.value(
                path.join("response"),
                "PAUSE frames can stop traffic, but not request a lower rate",
                "use `response = { kind = \"block\" }`, or `signal = { kind = \"on-off\" }`",
            );
        }
        let by_destination = matches!(backpressure.scope, Scope::Destination | Scope::ClassDestination);
        if by_destination && matches!(backpressure.signal, Signal::Mac(_)) {
            self.complaints.value(
                path.join("signal"),
                "PAUSE frames carry no destination addresses",
                "use scope \"plain\" (802.3x) or \"class\" (802.1Qbb), or `signal = { kind = \"on-off\" }`",
            );
        }
    }
}

/// Returns the engine's back-pressure; `None`: it is disabled.
fn planned(backpressure: &BackPressure) -> Option<plan::BackPressure> {
    Some(plan::BackPressure {
        scope: match backpressure.scope {
            Scope::None => return None,
            Scope::Plain => plan::Scope::Plain,
            Scope::Class => plan::Scope::Class,
            Scope::Destination => plan::Scope::Destination,
            Scope::ClassDestination => plan::Scope::ClassDestination,
        },
        detection: match &backpressure.detection {
            Detection::Watermark(d) => plan::Detection::Watermark { high: d.high.0, low: d.low.0 },
            Detection::FillRate(d) => {
                plan::Detection::FillRate { high: d.high.0, low: d.low.0, window: d.window, horizon: d.horizon }
            }
        },
        notify: match backpressure.notify {
            Notify::All => plan::Notify::All,
            Notify::Feeding => plan::Notify::Feeding,
        },
        addresses: match backpressure.addresses {
            Addresses::Buffer => plan::Addresses::Buffer,
            Addresses::FilteringDatabase => plan::Addresses::FilteringDatabase,
        },
        partition: backpressure.partition,
        response: match &backpressure.response {
            Response::Block(_) => plan::Response::Block,
            Response::Rate(r) => plan::Response::Rate {
                decrease: r.decrease.0,
                floor: r.floor.0,
                increase: r.increase.0,
                interval: r.interval,
            },
        },
        signal: match &backpressure.signal {
            Signal::OnOff(_) => plan::Signal::OnOff,
            Signal::Mac(mac) => plan::Signal::Mac { quanta: mac.quanta },
        },
        response_time: backpressure.response_time,
        end_stations: backpressure.end_stations,
    })
}
