//! Mean load over the measured time that sources with known rates offer to each port.

use super::paths::{paths, paths_through};
use std::collections::BTreeMap;
use tailback_sim::plan::{Among, ApplicationPlan, ChangeKind, Draw, FlowPlan, Place, Plan};
use tailback_traffic::{Application, Model};
use tailback_units::{Dur, Time};

/// Load offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    /// Load in wire bytes, bit/s.
    pub wire: f64,
    /// Load in bytes that buffers and shapers count, bit/s.
    pub buffer: f64,
    /// `true` if the load is a lower bound because packet sizes are not known.
    pub at_least: bool,
    /// `true` if the load is a mean over equal-cost paths, among which flows are divided.
    pub divided: bool,
    /// The flow with the largest share, and that share of `wire`, bit/s.
    pub largest: Option<(u32, f64)>,
}

/// Mean offered load of a group of flows over the measured time, before policing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Load in bytes that buffers, shapers and policers count, bit/s.
    pub buffer_bps: f64,
    /// Load in wire bytes, bit/s.
    pub wire_bps: f64,
}

/// Returns the offered load of each group of flows, by name; `None`: the load is not known, or depends on the state of
/// the network, as for a bulk transfer.
pub(crate) fn groups(plan: &Plan) -> BTreeMap<String, Option<Offered>> {
    let rates = Rates::new(plan);
    let mut found = BTreeMap::new();
    for (number, flow) in (0u32..).zip(&plan.flows) {
        let sum = found.entry(flow.group.clone()).or_insert(Some(Offered { buffer_bps: 0.0, wire_bps: 0.0 }));
        *sum = sum
            .zip(rates.sent(number, flow))
            .map(|(sum, own)| Offered { buffer_bps: sum.buffer_bps + own.buffer, wire_bps: sum.wire_bps + own.wire });
    }
    found
}

/// Offered load of a flow.
struct Stream {
    /// Load in wire bytes, bit/s.
    wire: f64,
    /// Load in buffer bytes, bit/s.
    buffer: f64,
    /// `true` if both loads are lower bounds.
    at_least: bool,
}

/// Returns the load of each port, by number. A flow is counted at the ports of its path up to and including the first
/// one that is `true` in `cut`; behind that port, its load depends on other traffic.
pub(super) fn loads(plan: &Plan, cut: &[bool]) -> Vec<Load> {
    let mut loads = vec![Load::default(); 2 * plan.links.len()];
    let rates = Rates::new(plan);
    for (number, flow) in (0u32..).zip(&plan.flows) {
        let Some(stream) = rates.of(number, flow) else { continue };
        let through = |port: u32| {
            if cut[port as usize] { 0.0 } else { 1.0 - plan.links[port as usize / 2].loss }
        };
        let hops = match flow.among.as_deref() {
            None => paths_through(plan, flow.from, flow.to, through),
            // With a permutation each host certainly sends, so the load of its first port is known if it has a single
            // link.
            Some(Among { draw: Draw::Permutation, .. }) => {
                paths(plan, flow.from, flow.to).into_iter().take(1).filter(|hop| !hop.divided).collect()
            }
            Some(_) => continue,
        };
        for hop in hops {
            let load = &mut loads[hop.port as usize];
            let wire = stream.wire * hop.share;
            load.wire += wire;
            load.buffer += stream.buffer * hop.share;
            load.at_least |= stream.at_least;
            load.divided |= hop.divided;
            if load.largest.is_none_or(|(_, largest)| wire > largest) {
                load.largest = Some((number, wire));
            }
        }
    }
    loads
}

/// Context of the computation of flow rates.
struct Rates<'a> {
    plan: &'a Plan,
    /// Payload rate of each flow that carries transfers, bit/s.
    transfers: BTreeMap<u32, f64>,
    /// Times at which the timeline starts (`true`) and stops (`false`) each flow.
    switched: BTreeMap<u32, Vec<(Time, bool)>>,
    /// For each policer the flows from which it may drop packets; `None`: all flows.
    policed: Vec<Option<&'a [u32]>>,
}

impl<'a> Rates<'a> {
    fn new(plan: &'a Plan) -> Rates<'a> {
        let mut transfers = BTreeMap::new();
        for application in &plan.applications {
            let ApplicationPlan::Transfers { law, flows } = application else { continue };
            let Application::Transfers(law) = &**law else { continue };
            let per_flow = law.mean_rate_bps() / flows.len() as f64;
            if per_flow.is_finite() {
                transfers.extend(flows.iter().map(|flow| (*flow, per_flow)));
            }
        }
        let mut switched: BTreeMap<u32, Vec<(Time, bool)>> = BTreeMap::new();
        for change in &plan.timeline {
            let (flow, on) = match change.what {
                ChangeKind::FlowStart(flow) => (flow, true),
                ChangeKind::FlowStop(flow) => (flow, false),
                _ => continue,
            };
            switched.entry(flow).or_default().push((change.at, on));
        }
        let drops = plan.conditioners.iter().filter(|c| c.police.is_some() || c.actions.iter().any(|a| a.drop));
        let policed = drops.map(|c| if c.place == Place::Source { c.flows.as_deref() } else { None }).collect();
        Rates { plan, transfers, switched, policed }
    }

    /// Returns the offered load of a flow; `None`: it is zero or not known, depends on the state of the network, or a
    /// policer may drop packets of the flow.
    fn of(&self, number: u32, flow: &FlowPlan) -> Option<Stream> {
        #[expect(clippy::ref_option_ref, reason = "what `any` passes")]
        let policed = |flows: &Option<&[u32]>| flows.is_none_or(|flows| flows.contains(&number));
        if self.policed.iter().any(policed) {
            return None;
        }
        self.sent(number, flow).filter(|stream| stream.wire > 0.0)
    }

    /// Returns the offered load of a flow before policing on its path; `None`: the load is not known, or depends on the
    /// state of the network.
    fn sent(&self, number: u32, flow: &FlowPlan) -> Option<Stream> {
        let (payload, burst) = match (&flow.transport, self.transfers.get(&number)) {
            (Some(tcp), Some(rate)) => (*rate, Bursts::Segments(tcp.segment.0 as u32, tcp.header.0 as u32)),
            (Some(_), None) => return None,
            // A trace that is not repeated has its mean rate only until it ends.
            (None, _) if matches!(&flow.model, Model::Trace(trace) if !trace.repeat) => return None,
            (None, _) => (flow.model.mean_rate_bps()?, Bursts::Of(flow.model.burst_bytes())),
        };
        let payload = payload * self.active(number, flow);
        let (wire, buffer, at_least) = burst.per_byte(self.plan);
        Some(Stream { wire: payload * wire, buffer: payload * buffer, at_least })
    }

    /// Returns the fraction of the measured time during which a flow's source is certainly active.
    fn active(&self, number: u32, flow: &FlowPlan) -> f64 {
        let (begin, end) = (self.plan.warmup, self.plan.end);
        let started = Time(flow.start.0.saturating_add(flow.start_spread.0));
        let mut changes = vec![(started, true)];
        changes.extend(self.switched.get(&number).into_iter().flatten().copied());
        changes.push((flow.stop, false));
        changes.sort_by_key(|(at, _)| *at);
        let (mut since, mut sum) = (None, Dur::ZERO);
        for (at, on) in changes.into_iter().filter(|(at, _)| *at <= flow.stop).chain([(end, false)]) {
            let at = at.min(end).max(begin);
            match (since, on) {
                (None, true) => since = Some(at),
                (Some(before), false) => {
                    sum += at.since(before);
                    since = None;
                }
                _ => {}
            }
        }
        sum.as_secs() / end.since(begin).as_secs()
    }
}

/// Packetisation of a flow.
enum Bursts {
    /// Bursts of this size in bytes; `None`: not known.
    Of(Option<u64>),
    /// Segments: largest payload, and headers of each, in bytes.
    Segments(u32, u32),
}

impl Bursts {
    /// Returns wire bytes and buffer bytes per byte of payload, and `true` if these are lower bounds. Packets whose size
    /// is not known are assumed to be full, since full packets have the smallest relative overhead.
    fn per_byte(&self, plan: &Plan) -> (f64, f64, bool) {
        let framing = plan.framing;
        let mtu = u64::from(framing.mtu);
        match *self {
            Bursts::Segments(segment, header) => {
                let (buffer, wire) = framing.lengths(segment + header);
                (f64::from(wire) / f64::from(segment), f64::from(buffer) / f64::from(segment), true)
            }
            Bursts::Of(None) => {
                let (buffer, wire) = framing.lengths(framing.mtu);
                (f64::from(wire) / mtu as f64, f64::from(buffer) / mtu as f64, true)
            }
            Bursts::Of(Some(burst)) => {
                let (full, remainder) = (burst / mtu, (burst % mtu) as u32);
                let (mut buffer, mut wire) = (0.0, 0.0);
                for (count, payload) in [(full as f64, framing.mtu), (f64::from(u8::from(remainder > 0)), remainder)] {
                    let (in_buffer, on_wire) = framing.lengths(payload);
                    buffer += count * f64::from(in_buffer);
                    wire += count * f64::from(on_wire);
                }
                (wire / burst as f64, buffer / burst as f64, false)
            }
        }
    }
}
