//! Traffic conditioning (RFC 2475 section 2.3.3): meters colour packets where a flow enters the network and at the
//! ports of switches, and policers drop packets that do not conform.
//!
//! Without conditioners the cost is one comparison for each generated and each forwarded packet.

use crate::ledger::Count;
use crate::plan::{ConditionerPlan, Place, Plan};
use std::collections::BTreeMap;
use tailback_diffserv::{Colour as Metered, Marker, Shows};
use tailback_qdisc::classify::Classifier;
use tailback_qdisc::{Colour, Packet};
use tailback_random::Rng;
use tailback_units::Time;

/// Index that refers to no conditioner.
pub(crate) const NONE: u32 = u32::MAX;

/// All conditioners of a world.
#[derive(Debug, Default)]
pub(crate) struct Conditioning {
    /// Conditioners in the order of the plan.
    pub rules: Vec<Rule>,
    /// Conditioner at the entry of each flow; empty if no flow has one.
    source: Vec<u32>,
    /// By port: conditioners of packets about to be queued there; empty if no port has any.
    egress: Vec<Vec<u32>>,
    /// By port: conditioners of packets that arrive over its link; empty if no port has any.
    ingress: Vec<Vec<u32>>,
}

/// State of a conditioner.
#[derive(Debug)]
pub(crate) struct Rule {
    pub plan: ConditionerPlan,
    /// Classifier whose class 0 are the packets of this conditioner; `None`: all packets.
    matches: Option<Classifier>,
    /// Meters by flow; under key 0 if all flows share one meter.
    pub meters: BTreeMap<u32, Meter>,
    /// Measured packets by the colour that the meter gave them: green, yellow, red.
    pub metered: [Count; 3],
    /// Measured packets that the conditioner dropped.
    pub dropped: Count,
    /// Seed of the run, from which the meters' random streams derive.
    seed: u64,
}

/// Meter with its random stream.
#[derive(Debug)]
pub(crate) struct Meter {
    marker: Marker,
    rng: Rng,
}

impl Rule {
    fn new(plan: &ConditionerPlan, seed: u64) -> Rule {
        let mut rule = Rule {
            plan: plan.clone(),
            matches: plan.matches.as_ref().map(|matches| Classifier::new([(matches, 0)], 1)),
            meters: BTreeMap::new(),
            metered: [Count::default(); 3],
            dropped: Count::default(),
            seed,
        };
        if !rule.plan.per_flow {
            rule.meter(0);
        } else if let (Place::Source, Some(flows)) = (&plan.place, &plan.flows) {
            for flow in flows {
                rule.meter(*flow);
            }
        }
        rule
    }

    /// Returns the meter of `key` (a flow, or 0 if all flows share one), which it creates at the first use.
    fn meter(&mut self, key: u32) -> &mut Meter {
        let (plan, seed) = (&self.plan, self.seed);
        self.meters.entry(key).or_insert_with(|| Meter {
            marker: plan.meter.build(),
            rng: Rng::named(seed, &format!("meter {} {key}", plan.name)),
        })
    }

    /// Returns the node that runs the meter of `key`: a flow, or 0 for the meter of all flows.
    pub fn node(&self, key: u32, plan: &Plan) -> u16 {
        let end = |port: u32, side: u32| plan.links[port as usize / 2].ends[((port % 2) ^ side) as usize];
        match self.plan.place {
            Place::Egress { port } => end(port, 0),
            Place::Ingress { port } => end(port, 1),
            Place::Source if self.plan.per_flow => plan.flows[key as usize].from,
            // All sources of a shared meter are in one partition.
            Place::Source => match self.plan.flows.as_ref() {
                Some(flows) => flows.first().map_or(0, |flow| plan.flows[*flow as usize].from),
                None => plan.flows.first().map_or(0, |flow| flow.from),
            },
        }
    }

    /// Returns `true` if the conditioner applies to a packet, by its flow and its class map.
    fn applies_to(&self, packet: &Packet) -> bool {
        self.plan.flows.as_ref().is_none_or(|flows| flows.binary_search(&packet.flow()).is_ok())
            && self.matches.as_ref().is_none_or(|matches| matches.class(packet) == 0)
    }

    /// Colours a packet and applies the action of that colour. Returns `true` if the packet passes.
    fn judge(&mut self, now: Time, packet: &mut Packet) -> bool {
        let key = if self.plan.per_flow { packet.flow() } else { 0 };
        let bytes = self.plan.accounting.bytes(packet);
        let meter = self.meter(key);
        let found = meter.marker.mark(now, bytes, incoming(packet.colour()), &mut meter.rng);
        packet.set_colour(outgoing(found));
        let action = self.plan.actions[found as usize];
        let passes = !action.drop && self.plan.police.is_none_or(|worst| found < worst);
        if let Some(dscp) = action.dscp {
            packet.code = dscp;
        }
        if let Some(precedence) = action.precedence {
            packet.code = packet.dscp() & 0b111 | precedence << 3;
        }
        if let Some(class) = action.class {
            packet.set_class(class);
        }
        if packet.measured() {
            self.metered[found as usize].add(u64::from(packet.size));
            if !passes {
                self.dropped.add(u64::from(packet.size));
            }
        }
        passes
    }
}

impl Meter {
    /// Passes each state variable of the meter to `f`, with its name.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.marker.probe(f);
    }
}

impl Conditioning {
    /// Returns the conditioners of a plan.
    pub fn new(plan: &Plan) -> Conditioning {
        let mut made = Conditioning::default();
        for (index, conditioner) in plan.conditioners.iter().enumerate() {
            let index = index as u32;
            match conditioner.place {
                Place::Source => {
                    made.source.resize(plan.flows.len(), NONE);
                    let all: Vec<u32> = (0..plan.flows.len() as u32).collect();
                    for flow in conditioner.flows.as_ref().unwrap_or(&all) {
                        made.source[*flow as usize] = index;
                    }
                }
                Place::Egress { port } | Place::Ingress { port } => {
                    let side = if matches!(conditioner.place, Place::Egress { .. }) {
                        &mut made.egress
                    } else {
                        &mut made.ingress
                    };
                    side.resize(2 * plan.links.len(), Vec::new());
                    side[port as usize].push(index);
                }
            }
            made.rules.push(Rule::new(conditioner, plan.seed));
        }
        made
    }

    /// Returns the conditioner at a flow's entry, or [`NONE`].
    pub fn of_flow(&self, flow: u32) -> u32 {
        self.source.get(flow as usize).copied().unwrap_or(NONE)
    }
    /// Returns `true` if any port has conditioners in front of its queue.
    #[inline]
    pub fn at_egress(&self) -> bool {
        !self.egress.is_empty()
    }
    /// Returns `true` if any port has conditioners at the end of its link.
    #[inline]
    pub fn at_ingress(&self) -> bool {
        !self.ingress.is_empty()
    }

    /// Conditions a packet that enters the network. Returns `true` if it passes.
    pub fn enter(&mut self, rule: u32, now: Time, packet: &mut Packet) -> bool {
        self.rules[rule as usize].judge(now, packet)
    }
    /// Conditions a packet that is about to be queued at `port`. Returns `true` if it passes.
    pub fn egress(&mut self, port: u32, now: Time, packet: &mut Packet) -> bool {
        Self::first_match(&mut self.rules, &self.egress[port as usize], now, packet)
    }
    /// Conditions a packet that arrives over the link of `port`. Returns `true` if it passes.
    pub fn ingress(&mut self, port: u32, now: Time, packet: &mut Packet) -> bool {
        Self::first_match(&mut self.rules, &self.ingress[port as usize], now, packet)
    }

    /// Applies the first of the conditioners `here` that applies to a packet, if there is one. Returns `true` if the
    /// packet passes.
    fn first_match(rules: &mut [Rule], here: &[u32], now: Time, packet: &mut Packet) -> bool {
        let found = here.iter().find(|rule| rules[**rule as usize].applies_to(packet));
        found.is_none_or(|rule| rules[*rule as usize].judge(now, packet))
    }
}

fn incoming(colour: Colour) -> Metered {
    match colour {
        Colour::Green => Metered::Green,
        Colour::Yellow => Metered::Yellow,
        Colour::Red => Metered::Red,
    }
}

fn outgoing(colour: Metered) -> Colour {
    match colour {
        Metered::Green => Colour::Green,
        Metered::Yellow => Colour::Yellow,
        Metered::Red => Colour::Red,
    }
}
