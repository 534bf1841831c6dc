//! What memory that is accounted by input sets aside: for each input, class by class, a reserve and the headroom for
//! what still comes after its sender was told to stop.

use crate::plan::{Fabric, LinkPlan, NodeId, NodeKind, Plan, SharedBufferPlan, SwitchPlan};
use tailback_units::Dur;

/// A PAUSE on the wire (802.3 Annex 31B), bytes.
const PAUSE_BYTES: u32 = 84;

/// Memory of a switch with a shared buffer, and what of it is set aside for its inputs, in buffer bytes; none for other
/// nodes. More set aside than there is could not be kept.
pub fn set_aside(plan: &Plan, node: NodeId) -> Option<(u64, u64)> {
    let NodeKind::Switch(switch) = &plan.nodes[usize::from(node)].kind else { return None };
    let Fabric::SharedBuffer(buffer) = switch.fabric else { return None };
    let leaves = |port: &u32| plan.links[*port as usize / 2].ends[*port as usize % 2] == node;
    let ports: Vec<u32> = (0..2 * plan.links.len() as u32).filter(leaves).collect();
    let inputs = of_inputs(plan, switch, buffer, &ports);
    let one = |headroom: &u64| headroom.saturating_add(buffer.reserve).saturating_mul(u64::from(plan.classes));
    Some((buffer.memory, inputs.iter().map(one).fold(0, u64::saturating_add)))
}

/// The headroom of each input of a switch, whose ports are those that leave it, by port; each class has so much.
pub(crate) fn of_inputs(plan: &Plan, switch: &SwitchPlan, buffer: SharedBufferPlan, ports: &[u32]) -> Vec<u64> {
    let input = |port: &u32| {
        let (link, side) = (&plan.links[*port as usize / 2], 1 - *port as usize % 2);
        buffer.headroom.unwrap_or_else(|| headroom(plan, switch, link, side))
    };
    ports.iter().map(input).collect()
}

/// Buffer bytes that may come from the sender of `link.ends[side]` after this switch has decided to stop it: while the
/// PAUSE waits for a frame and travels, until it takes effect, while the frame then under way ends, and what
/// was on the line and in the switch's own latency by then.
fn headroom(plan: &Plan, switch: &SwitchPlan, link: &LinkPlan, side: usize) -> u64 {
    let framing = plan.framing;
    let frame = (framing.mtu + framing.header).max(framing.min_frame) + framing.overhead;
    let response = switch.backpressure.as_ref().map_or(Dur::ZERO, |law| law.response_time);
    let pause = link.rate[1 - side].clock().tx_time(frame + PAUSE_BYTES);
    let time = pause + link.delay * 2 + response + switch.latency;
    let arrives = u128::from(time.0) * u128::from(link.rate[side].0) / 8_000_000_000_000;
    u64::try_from(arrives).unwrap_or(u64::MAX).saturating_add(2 * u64::from(frame))
}
