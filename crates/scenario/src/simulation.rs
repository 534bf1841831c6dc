//! A run that is stepped through: observed, changed, and exported as a scenario.

use crate::complaint::{Complaint, On};
use crate::document::{Change, State, Tunable};
use crate::error::ScenarioError;
use crate::origin::Origin;
use crate::scenario::{Scenario, build};
use crate::set::value_of;
use crate::tunable_keys::{is_tunable, last_key};
use crate::tuning::{Pair, Tuned, magnitude};
use serde_json::{Map, Value};
use tailback_document::{Path, Step};
use tailback_sim::plan::{Engine, Plan, TracePlan};
use tailback_sim::trace::{Row, Summary};
use tailback_sim::{Delivered, FlowView, NodeView, PortView, Report, Status, Untimely, View, World};
use tailback_units::{Dur, Size, Time};
use tailback_user::{Fault, Language};

/// Minimum time from a view of the network to the effect of a change made at that view: 1 ps.
pub const REACTION: Dur = Dur(1);

/// A run of one replication that is stepped through.
///
/// A view at an instant is taken after all events of that instant. A change or an injection made there takes effect
/// [`REACTION`] later at the earliest, and has that time in the scenario that [`Simulation::scenario`] exports: a run
/// of that scenario has the same digest.
#[derive(Debug)]
pub struct Simulation {
    scenario: Scenario,
    run: Setting,
    world: World,
    /// The document with the changes made so far.
    tuned: Tuned,
    /// Changes and injections made so far, in the order of the calls.
    made: Vec<Change>,
    /// Number of replays so far.
    replays: u32,
}

/// Settings of a run that replace those of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Seed of the replication.
    pub seed: u64,
    /// Event scheme; `None`: that of the scenario.
    pub engine: Option<Engine>,
    /// End of the warm-up; `None`: that of the scenario, and zero if it is "auto".
    pub warmup: Option<Time>,
    /// Selection of the rows of the packet trace; `None`: no trace.
    pub trace: Option<TracePlan>,
}

impl Setting {
    /// Returns the plan of the scenario with these settings.
    fn plan(&self, scenario: &Scenario) -> Plan {
        let plan = build(scenario, self.seed, self.engine);
        let trace = self.trace.clone().map(Box::new);
        Plan { warmup: self.warmup.unwrap_or(plan.warmup), trace, ..plan }
    }
}

impl Simulation {
    /// Returns a run of a scenario before its first event.
    pub fn new(scenario: &Scenario, run: Setting) -> Simulation {
        let plan = run.plan(scenario);
        let tuned = scenario.tuned();
        Simulation {
            scenario: scenario.clone(),
            run,
            world: World::with_factories(plan, scenario.factories()),
            tuned,
            made: Vec::new(),
            replays: 0,
        }
    }

    /// Returns the time up to which all events have been handled.
    pub fn now(&self) -> Time {
        self.world.now()
    }
    /// Returns the last instant of the run.
    pub fn end(&self) -> Time {
        self.world.end()
    }
    /// Returns the end of the warm-up.
    pub fn warmup(&self) -> Time {
        self.world.warmup()
    }
    /// Returns `true` if the end has been reached.
    pub fn is_done(&self) -> bool {
        self.world.is_done()
    }
    /// Returns the time of the next event; [`Time::NEVER`]: there is none. The event may have no effect.
    pub fn next_event(&self) -> Time {
        self.world.next_event()
    }
    /// Handles at most `budget` events at and before `t`; [`Status::Done`]: `t`, or the end of the run, is reached.
    pub fn advance(&mut self, t: Time, budget: u64) -> Status {
        self.world.advance(t, budget)
    }
    /// Handles all events at and before `t`, or before the end of the run if `t` is later.
    pub fn run_until(&mut self, t: Time) {
        self.world.run_until(t);
    }

    /// Handles events up to the next instant with rows of the packet trace: see [`World::advance_to_rows`].
    pub fn advance_to_rows(&mut self, t: Time, instants: u64) -> Status {
        self.world.advance_to_rows(t, instants)
    }

    /// Returns `true` if the scenario has user-defined components.
    pub fn has_user_code(&self) -> bool {
        self.scenario.has_user_code()
    }
    /// Returns `true` if the scenario has a user-defined component in this language.
    pub fn has_code_in(&self, language: Language) -> bool {
        self.scenario.has_code_in(language)
    }
    /// Returns the first fault of a user-defined component; the run has then ended. `None`: there has been no fault.
    pub fn fault(&self) -> Option<&Fault> {
        self.world.fault()
    }

    /// Returns the state of the whole network.
    pub fn view(&mut self) -> View {
        self.world.view()
    }
    /// Returns the state of a port, such as `sw1->sw2`; `None`: there is no such port.
    pub fn port(&mut self, name: &str) -> Option<PortView> {
        self.world.port_named(name).map(|port| self.world.port_view(port))
    }
    /// Returns the state of a flow, such as `data[2]`; `None`: there is no such flow.
    pub fn flow(&self, name: &str) -> Option<FlowView> {
        self.world.flow_named(name).map(|flow| self.world.flow_view(flow as usize))
    }
    /// Returns the state of a host or switch; `None`: there is no such node.
    pub fn node(&self, name: &str) -> Option<NodeView> {
        self.world.node_named(name).map(|node| self.world.node_view(usize::from(node)))
    }

    /// Changes tunable keys, all at the same time: pairs of a path as for `--set`, and a TOML value or plain text. The
    /// key `state` of a link, flow or host is "down" or "up", "stop" or "start", "storm" or "calm". Returns the time of
    /// the change: `at`, or [`REACTION`] from now. If all values equal the current ones, a change of keys other than
    /// `state` has no effect and is not recorded.
    ///
    /// # Errors
    /// If a key is not in `run.tunable`, a value is invalid or out of the key's bounds, a running network cannot follow
    /// the change, the scenario's own timeline has `set`, or `at` is before the time of an earlier change, not after
    /// the current time, or after the end of the run. Then nothing has changed.
    pub fn change<P: AsRef<str>, V: AsRef<str>>(
        &mut self,
        pairs: &[(P, V)],
        at: Option<Time>,
    ) -> Result<Time, ScenarioError> {
        let texts: Vec<(&str, &str)> = pairs.iter().map(|(path, value)| (path.as_ref(), value.as_ref())).collect();
        let at = at.unwrap_or(self.now() + REACTION);
        self.try_change(&texts, at).map_err(|complaints| located(complaints, &texts))?;
        Ok(at)
    }

    /// Makes a change as [`Simulation::change`]; the paths of complaints are those of `texts`.
    fn try_change(&mut self, texts: &[(&str, &str)], at: Time) -> Result<(), Vec<Complaint>> {
        self.check_time(at)?;
        let mut pairs: Vec<(&str, Value)> = Vec::new();
        let mut states = Vec::new();
        for &(path, value) in texts {
            let value = value_of(value.trim());
            let bounds = self.declared(path)?;
            if last_key(path) == "state" {
                states.extend(self.states(path, &value, at)?);
            } else {
                bounds.into_iter().try_for_each(|bound| within(&bound, path, &value))?;
                pairs.push((path, value));
            }
        }
        let mut tuned = self.tuned.clone();
        let mut made = Vec::new();
        let mut kinds = Vec::new();
        if !pairs.is_empty() {
            // The entries were compiled for the document's values, so that a later entry would undo this change.
            if self.scenario.document().timeline.iter().any(|change| change.set.is_some()) {
                let message = "the timeline of this scenario sets values itself".to_owned();
                return Err(vec![complaint("", message, "remove its entries with `set`, and make all changes here")]);
            }
            let given: Vec<Pair<'_>> = pairs.iter().map(|(path, value)| (*path, value)).collect();
            let found = tuned.set(&given)?;
            if !found.is_empty() {
                let set = pairs.into_iter().map(|(path, value)| (path.to_owned(), value)).collect::<Map<_, _>>();
                made.push(Change { at: Dur(at.0), set: Some(set), ..Change::default() });
            }
            kinds.extend(found);
        }
        for state in states {
            kinds.extend(self.scenario.changes_of(&state)?);
            made.push(state);
        }
        for kind in kinds {
            self.world.change(at, kind).map_err(|untimely| vec![untimely_change(untimely, at, &self.world)])?;
        }
        self.tuned = tuned;
        self.made.extend(made);
        Ok(())
    }

    /// Lets a flow send `bytes` of payload at `at`, or [`REACTION`] from now, in addition to its source. `flow` is the
    /// name of a single flow, such as `data[2]`. Returns the time of the injection.
    ///
    /// # Errors
    /// If there is no such flow, several flows have the name, an application drives the flow, `bytes` is not from 1 to
    /// 2^40, or `at` is not after the current time or is after the end of the run. Then nothing has changed.
    pub fn inject(&mut self, flow: &str, bytes: u64, at: Option<Time>) -> Result<Time, ScenarioError> {
        let at = at.unwrap_or(self.now() + REACTION);
        let send = Change { at: Dur(at.0), flow: Some(flow.to_owned()), send: Some(Size(bytes)), ..Change::default() };
        let done = self.scenario.changes_of(&send).and_then(|kinds| {
            kinds.into_iter().try_for_each(|kind| {
                self.world.change(at, kind).map_err(|untimely| vec![untimely_change(untimely, at, &self.world)])
            })
        });
        done.map_err(|complaints| located(complaints, &[(flow, &Size(bytes).to_string())]))?;
        self.made.push(send);
        Ok(at)
    }

    /// Records the data that arrives at a host from now on, for [`Simulation::take_delivered`]. Returns `false` if
    /// there is no such host.
    pub fn record_delivered(&mut self, host: &str) -> bool {
        let node = self.world.node_named(host);
        node.inspect(|node| self.world.record_delivered(*node)).is_some()
    }
    /// Returns the data that has arrived at recorded hosts since the last call, in order of time, each with the name of
    /// its flow.
    pub fn take_delivered(&mut self) -> Vec<(String, Delivered)> {
        let delivered = self.world.take_delivered();
        delivered.into_iter().map(|packet| (self.world.flow_name(packet.flow), packet)).collect()
    }

    /// Returns the plan of the run, whose random choices have been drawn.
    pub fn plan(&self) -> &Plan {
        self.world.plan()
    }
    /// Returns the rows of the packet trace since the last call, in order; without a trace, there are none.
    pub fn take_trace(&mut self) -> Vec<Row> {
        self.world.take_trace()
    }
    /// Returns the number and hash of the rows taken so far; `None`: the run writes no trace.
    pub fn trace_summary(&self) -> Option<&Summary> {
        self.world.trace_summary()
    }

    /// Moves to `t`. If `t` is before the current time, the run is replayed from its start with the changes for times
    /// up to `t`; later changes are discarded. Returns `true` if the run was replayed. Recording of delivered data ends
    /// with a replay, and the packet trace begins anew.
    pub fn jump(&mut self, t: Time) -> bool {
        if t >= self.now() {
            self.run_until(t);
            return false;
        }
        self.made.retain(|change| change.at.0 <= t.0);
        let scenario = self.scenario();
        self.world = World::with_factories(self.run.plan(&scenario), scenario.factories());
        self.tuned = self.scenario.tuned();
        for set in self.made.iter().filter_map(|change| change.set.as_ref()) {
            let pairs: Vec<Pair<'_>> = set.iter().map(|(path, value)| (path.as_str(), value)).collect();
            // Each of these changes was accepted when it was made.
            let _ = self.tuned.set(&pairs);
        }
        self.replays += 1;
        self.run_until(t);
        true
    }
    /// Returns the number of replays so far.
    pub fn replays(&self) -> u32 {
        self.replays
    }

    /// Returns `true` if the run has changes or injections; those that [`Simulation::jump`] discarded do not count.
    pub fn is_touched(&self) -> bool {
        !self.made.is_empty()
    }

    /// Returns the scenario with all changes made so far in its timeline: a run of it has the same digest as this run.
    ///
    /// # Panics
    /// Never, as each change was checked when it was made.
    pub fn scenario(&self) -> Scenario {
        self.scenario.with_timeline(&self.made).expect("each change has been checked")
    }

    /// Returns the results so far, as of a run that ends now.
    pub fn report(self) -> Report {
        self.world.report()
    }

    /// Checks that `at` is not before the last change with `set`.
    fn check_time(&self, at: Time) -> Result<(), Vec<Complaint>> {
        match self.made.iter().rev().find(|change| change.set.is_some()) {
            Some(last) if last.at.0 > at.0 => {
                let message = format!("the change at {} comes before one that was made for {}", Dur(at.0), last.at);
                Err(vec![complaint("", message, "make changes in the order of their times")])
            }
            _ => Ok(()),
        }
    }

    /// Returns the entries of `run.tunable` that cover the places that a path matches, one for each place.
    fn declared(&self, path: &str) -> Result<Vec<Tunable>, Vec<Complaint>> {
        let places = self.tuned.places(path).map_err(|message| {
            vec![complaint(path, message, "a path is written as for `--set`, such as `links[0].rate`")]
        })?;
        let tunable = &self.scenario.run().tunable;
        let mut found = Vec::new();
        for place in places {
            let covers = |tunable: &&Tunable| {
                self.tuned.places(&tunable.key).is_ok_and(|all| all.iter().any(|own| place.0.starts_with(&own.0)))
            };
            let Some(own) = tunable.iter().find(covers) else {
                let message = format!("`{place}` is not in `run.tunable`");
                let help = if is_tunable(path) {
                    format!("add \"{path}\" there before the run")
                } else {
                    "it is fixed during a run".to_owned()
                };
                return Err(vec![complaint(path, message, help)]);
            };
            found.push(own.clone());
        }
        Ok(found)
    }

    /// Returns entries of a timeline that set the state of the links, flows or hosts that a path matches.
    fn states(&self, path: &str, value: &Value, at: Time) -> Result<Vec<Change>, Vec<Complaint>> {
        let state: State = serde_json::from_value(value.clone()).map_err(|_| {
            let help =
                "write \"down\" or \"up\" of a link, \"stop\" or \"start\" of a flow, \"storm\" or \"calm\" of a host";
            vec![complaint(path, format!("{value} is not a state"), help)]
        })?;
        let places = self.tuned.places(path).map_err(|message| vec![complaint(path, message, "write another path")])?;
        let document = self.scenario.document();
        let entry = |place: &Path| {
            let change = Change { at: Dur(at.0), state: Some(state), ..Change::default() };
            match place.0.as_slice() {
                [Step::Key(section), Step::Index(i), _] if section == "links" => {
                    Some(Change { link: Some(document.links[*i].between.clone()), ..change })
                }
                [Step::Key(section), Step::Index(i), _] if section == "flows" => {
                    Some(Change { flow: Some(document.flows[*i].name.clone()), ..change })
                }
                [Step::Key(section), Step::Key(host), _] if section == "hosts" => {
                    let counted = document.hosts.get(host).is_some_and(|host| host.count.is_some());
                    Some(Change { host: Some(if counted { format!("{host}*") } else { host.clone() }), ..change })
                }
                _ => None,
            }
        };
        let found = places.iter().map(entry).collect::<Option<Vec<_>>>();
        found.ok_or_else(|| {
            vec![complaint(
                path,
                "only links, flows and hosts have a state".to_owned(),
                "write a path such as `links[0].state`",
            )]
        })
    }
}

/// Returns a complaint about the pair with the path `path`; empty: about the change as a whole.
fn complaint(path: &str, message: String, help: impl Into<String>) -> Complaint {
    let path = if path.is_empty() { Path::root() } else { Path(vec![Step::Key(path.to_owned())]) };
    Complaint { path, on: On::Value, message, help: Some(help.into()) }
}

/// Returns the complaint about a change that is not after the current time, or is after the end of the run.
fn untimely_change(untimely: Untimely, at: Time, world: &World) -> Complaint {
    let message = match untimely {
        Untimely::Past => format!("{} is not after the current time, {}", Dur(at.0), Dur(world.now().0)),
        Untimely::AfterTheEnd => format!("{} is after the end of the run, {}", Dur(at.0), Dur(world.end().0)),
    };
    complaint("", message, "a change takes effect after the current time and before the end of the run")
}

/// Locates complaints in the pairs of a change, as they were written.
fn located(complaints: Vec<Complaint>, texts: &[(&str, &str)]) -> ScenarioError {
    let mut origin = Origin::nowhere("<change>");
    for (path, value) in texts {
        origin.set("<change>", Path(vec![Step::Key((*path).to_owned())]), &format!("{path}={value}"), path.len() + 1);
    }
    ScenarioError::locate(complaints, &origin)
}

/// Refuses a value outside the bounds of its key; values without a magnitude are not refused.
fn within(bound: &Tunable, path: &str, value: &Value) -> Result<(), Vec<Complaint>> {
    let Some(size) = magnitude(value) else { return Ok(()) };
    let outside = |limit: &Option<Value>, beyond: fn(f64, f64) -> bool| {
        limit.as_ref().and_then(magnitude).is_some_and(|limit| beyond(size, limit))
    };
    if outside(&bound.min, |value, min| value < min) || outside(&bound.max, |value, max| value > max) {
        let shown = |limit: &Option<Value>| limit.as_ref().map_or_else(|| "no limit".to_owned(), Value::to_string);
        let help = format!("`run.tunable` allows {} to {}", shown(&bound.min), shown(&bound.max));
        return Err(vec![complaint(path, format!("{value} is out of the bounds of `{path}`"), help)]);
    }
    Ok(())
}
