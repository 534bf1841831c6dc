//! State and results of applications.

use super::session::Session;
use super::transfers::Transfers;
use crate::plan::{ApplicationPlan, Plan};
use std::collections::BTreeMap;
use tailback_measure::{Digest, Sketch};
use tailback_random::Rng;
use tailback_traffic::Application;
use tailback_units::{Size, Time};

/// All applications.
#[derive(Debug, Default)]
pub(crate) struct Applications {
    /// State by application, in the order of the plan.
    pub(super) all: Vec<State>,
    /// Role of each flow in an application; empty if there are no applications.
    pub(super) parts: Vec<Option<Part>>,
    /// Results by group of flows.
    pub(super) groups: Vec<Group>,
}

/// Results of a group, for pages and transfers begun after the warm-up unless stated otherwise.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub name: String,
    /// Pages or transfers begun.
    pub begun: u64,
    /// Pages with an abandoned exchange.
    pub failed: u64,
    /// Transfers refused because no connection was free.
    pub refused: u64,
    /// Completion times of pages without an abandoned exchange, or of transfers, picoseconds.
    pub times: Sketch,
    /// Times from a request to the arrival of the last byte of its response, picoseconds; empty for transfers.
    pub exchanges: Sketch,
    /// Completion times of transfers divided by those on an idle path, millionths.
    pub slowdowns: Sketch,
    /// Transfers by size, the smallest first; the last bin is open.
    pub sizes: Vec<SizeBin>,
    /// Pages or transfers that were completed after the warm-up, regardless of their start.
    pub completed: u64,
    /// Sum of the completion times of the `completed` pages or transfers, picoseconds.
    pub completed_time: u128,
}

/// Transfers in a range of sizes.
#[derive(Debug)]
pub(crate) struct SizeBin {
    /// Upper edge of the bin, payload bytes, inclusive; `u64::MAX`: the last, open bin.
    pub up_to: u64,
    /// Transfers begun after the warm-up, including refused ones.
    pub begun: u64,
    /// Completion times divided by those on an idle path, millionths, of transfers that are complete by the end.
    pub slowdowns: Sketch,
}

impl Group {
    /// Sets the upper edges of the size bins, in ascending order, and adds the open bin.
    pub(super) fn set_bins(&mut self, sizes: &[Size]) {
        let ends = sizes.iter().map(|size| size.0).chain([u64::MAX]);
        self.sizes = ends.map(|up_to| SizeBin { up_to, begun: 0, slowdowns: Sketch::new() }).collect();
    }

    /// Returns the bin of a size.
    pub(super) fn bin(&mut self, bytes: u64) -> &mut SizeBin {
        let at = self.sizes.partition_point(|bin| bin.up_to < bytes);
        &mut self.sizes[at]
    }

    /// Records a page or transfer that began at `began` and is completed at `now`.
    pub(super) fn complete(&mut self, began: Time, now: Time, warmup: Time) {
        if now >= warmup {
            self.completed += 1;
            self.completed_time += u128::from(now.since(began).0);
        }
        if began >= warmup {
            self.times.record(now.since(began).0);
        }
    }
}

/// Role of a flow in an application.
#[derive(Debug)]
pub(super) struct Part {
    /// Index of the application.
    pub(super) application: u32,
    /// Index of the session's channel, or of the slot for transfers, to which the flow belongs.
    pub(super) channel: u32,
    /// `true` if the flow carries responses.
    pub(super) response: bool,
    /// Time of the flow's pending event; an event at another time is stale.
    pub(super) due: Time,
    /// Without a transport: sequence number of the first packet of the last message sent.
    pub(super) first: u32,
    /// Without a transport: number of packets of the last message sent.
    pub(super) packets: u32,
    /// Without a transport: number of packets of the last message that have not arrived.
    pub(super) missing: u32,
    /// Without a transport: number of the last message among the recorded transfers of the flow, or
    /// [`Write::UNRECORDED`](crate::world::connections::Write).
    pub(super) number: u32,
    /// Without a transport: bytes of the last message.
    pub(super) bytes: u64,
}

/// State of an application.
#[derive(Debug)]
pub(super) enum State {
    Session(Session),
    Transfers(Transfers),
}

impl Applications {
    /// Returns the applications of a plan before their first events.
    pub fn new(plan: &Plan) -> Applications {
        let mut applications = Applications::default();
        if plan.applications.is_empty() {
            return applications;
        }
        applications.parts.resize_with(plan.flows.len(), || None);
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, application) in plan.applications.iter().enumerate() {
            let first = &plan.flows[application.first() as usize];
            let group = *groups.entry(&first.group).or_insert_with(|| {
                applications.groups.push(Group { name: first.group.clone(), ..Group::default() });
                applications.groups.len() - 1
            });
            let rng = Rng::named(plan.seed, &format!("application {}", first.name()));
            let mut part = |flow: u32, channel: usize, response| {
                let idle = Part {
                    application: index as u32,
                    channel: channel as u32,
                    response,
                    due: Time::NEVER,
                    first: 0,
                    packets: 0,
                    missing: 0,
                    number: 0,
                    bytes: 0,
                };
                assert!(applications.parts[flow as usize].replace(idle).is_none(), "a flow belongs to one application");
            };
            let law: &Application = application.law();
            applications.all.push(match (application, law) {
                (ApplicationPlan::Session { channels, .. }, law) => {
                    for (channel, [request, response]) in channels.iter().enumerate() {
                        part(*request, channel, false);
                        part(*response, channel, true);
                    }
                    let law = law.pages().expect("a session's application has pages");
                    State::Session(Session::new(law, rng, group, first.stop, channels))
                }
                (ApplicationPlan::Transfers { flows, .. }, Application::Transfers(law)) => {
                    flows.iter().enumerate().for_each(|(slot, flow)| part(*flow, slot, false));
                    applications.groups[group].set_bins(&law.bins);
                    State::Transfers(Transfers::new(law.clone(), rng, group, first.stop, flows))
                }
                (ApplicationPlan::Transfers { .. }, other) => panic!("{} is not a kind of transfers", other.kind()),
            });
        }
        applications
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns `true` if a flow belongs to an application.
    #[inline]
    pub fn has(&self, flow: u32) -> bool {
        self.parts.get(flow as usize).is_some_and(Option::is_some)
    }

    /// Adds the groups' results to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        for group in &self.groups {
            for n in [group.begun, group.failed, group.refused] {
                digest.u64(n);
            }
            for times in [&group.times, &group.exchanges, &group.slowdowns] {
                digest.sketch(times);
            }
        }
    }

    /// Returns the results by group of flows.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups
    }

    /// Returns the role of a flow; `None`: the flow belongs to no application.
    pub(super) fn part(&mut self, flow: u32) -> Option<&mut Part> {
        self.parts.get_mut(flow as usize)?.as_mut()
    }

    /// Returns the session of an application; `None`: the application makes transfers.
    pub(super) fn session(&mut self, application: u32) -> Option<&mut Session> {
        match &mut self.all[application as usize] {
            State::Session(session) => Some(session),
            State::Transfers(_) => None,
        }
    }
}
