//! Traffic conditioning (RFC 2475 section 2.3.3): meters colour packets where a flow enters the network and at the
//! ports of switches, and policers drop packets that do not conform.
//!
//! Without conditioners, conditioning costs one comparison for each generated and each forwarded packet.

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
    /// By flow: conditioner at the flow's entry to the network, or [`NONE`]; empty if no flow has one.
    source: Vec<u32>,
    /// By port: conditioners of packets about to be queued there, in the order of the plan; empty if no port has any.
    egress: Vec<Vec<u32>>,
    /// By port: conditioners of packets that arrive over its link, in the order of the plan; empty if no port has any.
    ingress: Vec<Vec<u32>>,
}

/// State of a conditioner.
#[derive(Debug)]
pub(crate) struct Rule {
    pub plan: ConditionerPlan,
    /// Classifier that puts the packets of this conditioner into class 0; `None`: all packets are conditioned.
    matches: Option<Classifier>,
    /// Meters by flow; if all flows share one meter, it has the key 0.
    pub meters: BTreeMap<u32, Meter>,
    /// Packets generated after the warm-up by the colour that the meter gave them: green, yellow, red; buffer bytes.
    pub metered: [Count; 3],
    /// Packets generated after the warm-up that the conditioner dropped; buffer bytes.
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

    /// Returns the meter of `key` (a flow, or 0 if all flows share one meter); creates the meter at its first use.
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
            // All senders whose flows share a meter are in one partition, so any of them will do.
            Place::Source => match self.plan.flows.as_ref() {
                Some(flows) => flows.first().map_or(0, |flow| plan.flows[*flow as usize].from),
                None => plan.flows.first().map_or(0, |flow| flow.from),
            },
        }
    }

    /// Returns `true` if the conditioner applies to a packet: its flow and its class map match.
    fn applies_to(&self, packet: &Packet) -> bool {
        self.plan.flows.as_ref().is_none_or(|flows| flows.binary_search(&packet.flow()).is_ok())
            && self.matches.as_ref().is_none_or(|matches| matches.class(packet) == 0)
    }

    /// Meters and colours a packet, and applies the action for its colour. Returns `false` if the packet is dropped.
    fn condition(&mut self, now: Time, packet: &mut Packet) -> bool {
        let key = if self.plan.per_flow { packet.flow() } else { 0 };
        let bytes = self.plan.accounting.bytes(packet);
        let meter = self.meter(key);
        let colour = meter.marker.mark(now, bytes, incoming(packet.colour()), &mut meter.rng);
        packet.set_colour(outgoing(colour));
        let action = self.plan.actions[colour as usize];
        let passes = !action.drop && self.plan.police.is_none_or(|best_dropped| colour < best_dropped);
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
            self.metered[colour as usize].add(u64::from(packet.size));
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
        let mut conditioning = Conditioning::default();
        for (index, conditioner) in plan.conditioners.iter().enumerate() {
            let index = index as u32;
            match conditioner.place {
                Place::Source => {
                    conditioning.source.resize(plan.flows.len(), NONE);
                    let all: Vec<u32> = (0..plan.flows.len() as u32).collect();
                    for flow in conditioner.flows.as_ref().unwrap_or(&all) {
                        conditioning.source[*flow as usize] = index;
                    }
                }
                Place::Egress { port } | Place::Ingress { port } => {
                    let side = if matches!(conditioner.place, Place::Egress { .. }) {
                        &mut conditioning.egress
                    } else {
                        &mut conditioning.ingress
                    };
                    side.resize(2 * plan.links.len(), Vec::new());
                    side[port as usize].push(index);
                }
            }
            conditioning.rules.push(Rule::new(conditioner, plan.seed));
        }
        conditioning
    }

    /// Returns the index of the conditioner at a flow's entry to the network, or [`NONE`].
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

    /// Applies the conditioner `rule` to a packet that enters the network. Returns `false` if the packet is dropped.
    pub fn enter(&mut self, rule: u32, now: Time, packet: &mut Packet) -> bool {
        self.rules[rule as usize].condition(now, packet)
    }
    /// Conditions a packet that is about to be queued at `port`. Returns `false` if the packet is dropped.
    pub fn egress(&mut self, port: u32, now: Time, packet: &mut Packet) -> bool {
        Self::first_match(&mut self.rules, &self.egress[port as usize], now, packet)
    }
    /// Conditions a packet that arrives over the link of `port`. Returns `false` if the packet is dropped.
    pub fn ingress(&mut self, port: u32, now: Time, packet: &mut Packet) -> bool {
        Self::first_match(&mut self.rules, &self.ingress[port as usize], now, packet)
    }

    /// Applies the first of the conditioners `at_port` whose flows and class map match a packet, if there is one.
    /// Returns `false` if the packet is dropped.
    fn first_match(rules: &mut [Rule], at_port: &[u32], now: Time, packet: &mut Packet) -> bool {
        let first = at_port.iter().find(|rule| rules[**rule as usize].applies_to(packet));
        first.is_none_or(|rule| rules[*rule as usize].condition(now, packet))
    }
}

/// Returns the meter's form of a packet's colour.
fn incoming(colour: Colour) -> Metered {
    match colour {
        Colour::Green => Metered::Green,
        Colour::Yellow => Metered::Yellow,
        Colour::Red => Metered::Red,
    }
}

/// Returns the packet's form of a meter's colour.
fn outgoing(colour: Metered) -> Colour {
    match colour {
        Metered::Green => Colour::Green,
        Metered::Yellow => Colour::Yellow,
        Metered::Red => Colour::Red,
    }
}
