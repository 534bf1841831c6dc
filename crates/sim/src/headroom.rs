//! Memory that a switch with a shared buffer sets aside for its inputs: for each input and class a reserve, and
//! headroom for frames that arrive after their sender was notified to stop (IEEE 802.1Q annex N).

use crate::plan::{Fabric, LinkPlan, NodeId, NodeKind, Plan, SharedBufferPlan, SwitchPlan};
use tailback_units::Dur;

/// Length of a PAUSE frame on the wire (IEEE 802.3 annex 31B), bytes.
const PAUSE_BYTES: u32 = 84;

/// Returns the memory of a switch with a shared buffer and the sum of what is set aside for its inputs, both in buffer
/// bytes; `None`: another kind of node. If the sum exceeds the memory, frames can be lost although their input has
/// headroom left.
///
/// # Panics
/// If there is no such node.
pub fn set_aside(plan: &Plan, node: NodeId) -> Option<(u64, u64)> {
    let NodeKind::Switch(switch) = &plan.nodes[usize::from(node)].kind else { return None };
    let Fabric::SharedBuffer(buffer) = switch.fabric else { return None };
    let leaves = |port: &u32| plan.links[*port as usize / 2].ends[*port as usize % 2] == node;
    let ports: Vec<u32> = (0..2 * plan.links.len() as u32).filter(leaves).collect();
    let inputs = of_inputs(plan, switch, buffer, &ports);
    let one = |headroom: &u64| headroom.saturating_add(buffer.reserve).saturating_mul(u64::from(plan.classes));
    Some((buffer.memory, inputs.iter().map(one).fold(0, u64::saturating_add)))
}

/// Returns the headroom of each input of a switch, buffer bytes per class. `ports` are the output ports of the switch;
/// the result has the input from the same neighbour at the same position.
pub(crate) fn of_inputs(plan: &Plan, switch: &SwitchPlan, buffer: SharedBufferPlan, ports: &[u32]) -> Vec<u64> {
    let of_input = |port: &u32| {
        let (link, side) = (&plan.links[*port as usize / 2], 1 - *port as usize % 2);
        buffer.headroom.unwrap_or_else(|| headroom(plan, switch, link, side))
    };
    ports.iter().map(of_input).collect()
}

/// Returns the buffer bytes that may arrive from the neighbour `link.ends[side]` after this switch decides to stop it.
/// Frames continue to arrive while the PAUSE frame waits for the frame in transmission, is transmitted, travels to the
/// neighbour and waits for the response time; then until the frame that the neighbour is transmitting has been sent and
/// has passed the link and the switch's latency.
fn headroom(plan: &Plan, switch: &SwitchPlan, link: &LinkPlan, side: usize) -> u64 {
    let framing = plan.framing;
    let frame = (framing.mtu + framing.header).max(framing.min_frame) + framing.overhead;
    let response = switch.backpressure.as_ref().map_or(Dur::ZERO, |backpressure| backpressure.response_time);
    let pause = link.rate[1 - side].clock().tx_time(frame + PAUSE_BYTES);
    let time = pause + link.delay * 2 + response + switch.latency;
    let arrives = u128::from(time.0) * u128::from(link.rate[side].0) / 8_000_000_000_000;
    u64::try_from(arrives).unwrap_or(u64::MAX).saturating_add(2 * u64::from(frame))
}
