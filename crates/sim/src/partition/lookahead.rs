//! Lookahead of links: the minimum time from the start of a transmission to its first effect at the other end.

use crate::control_frame::MIN_WIRE;
use crate::plan::{ChangeKind, Fabric, LinkPlan, NodeKind, Plan};
use tailback_units::{Dur, Rate};

/// Returns the lookahead of each link: the smaller value of its two directions. The value of a direction is the sum of
/// the transmission time of the shortest frame (towards a cut-through switch, at most that of the bytes that the switch
/// waits for), the propagation delay, and the latency of the receiving switch. If the timeline changes a link, its
/// highest rate and its shortest delay are used.
pub(super) fn of_links(plan: &Plan) -> Vec<Dur> {
    let shortest = shortest_frame(plan);
    let mut delay: Vec<Dur> = plan.links.iter().map(|link| link.delay).collect();
    let mut rate: Vec<[Rate; 2]> = plan.links.iter().map(|link| link.rate).collect();
    for change in &plan.timeline {
        match change.what {
            ChangeKind::LinkDelay(link, to) => delay[link as usize] = delay[link as usize].min(to),
            ChangeKind::LinkRate(link, to) => rate[link as usize].iter_mut().for_each(|rate| *rate = to.max(*rate)),
            ChangeKind::LinkRates(link, to) => {
                rate[link as usize].iter_mut().zip(to).for_each(|(rate, to)| *rate = to.max(*rate));
            }
            _ => {}
        }
    }
    let direction = |link: &LinkPlan, side: usize, rate: Rate| {
        let (latency, header) = match &plan.nodes[usize::from(link.ends[1 - side])].kind {
            NodeKind::Host(_) => (Dur::ZERO, u32::MAX),
            NodeKind::Switch(switch) => match switch.fabric {
                Fabric::CutThrough { header } => (switch.latency, header),
                _ => (switch.latency, u32::MAX),
            },
        };
        rate.clock().tx_time(shortest.min(header)) + latency
    };
    let smaller =
        |(l, link): (usize, &LinkPlan)| direction(link, 0, rate[l][0]).min(direction(link, 1, rate[l][1])) + delay[l];
    plan.links.iter().enumerate().map(smaller).collect()
}

/// Returns the length of the shortest frame on any link, wire bytes.
fn shortest_frame(plan: &Plan) -> u32 {
    let headers = plan.flows.iter().filter_map(|flow| Some(flow.transport.as_ref()?.header.0 as u32));
    let payload = headers.min().unwrap_or(1).min(1);
    let (_, wire) = plan.framing.lengths(payload);
    wire.min(u32::from(MIN_WIRE))
}
