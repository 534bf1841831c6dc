//! MPLS labels at the ports of switches.

use super::builder::Builder;
use super::links::LinkOf;
use super::nodes::{Node, Nodes, What};
use crate::document::{FramingTable, Mpls, Tunnel};
use tailback_document::Path;
use tailback_qdisc::Packet;
use tailback_sim::plan::{self, LabelPlan};

/// Upper bound on the depth of a label stack; a larger number indicates an error.
const MAX_LABELS: u8 = 8;

impl<'a> Builder<'a> {
    /// Returns the ports that push labels.
    pub(super) fn labels(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>], framing: &FramingTable) -> Vec<LabelPlan> {
        let mut plans = Vec::new();
        for (number, link) in links.iter().enumerate() {
            for side in [0, 1] {
                let (node, to) = (nodes.get(link.ends[side]), nodes.get(link.ends[1 - side]));
                let Some((path, mpls)) = port_labels(nodes, node, to) else { continue };
                self.check_depth(&path.join("labels"), mpls.labels, framing);
                plans.push(LabelPlan {
                    port: 2 * number as u32 + side as u32,
                    labels: mpls.labels,
                    tunnel: match mpls.mode {
                        Tunnel::Uniform => plan::Tunnel::Uniform,
                        Tunnel::Pipe => plan::Tunnel::Pipe,
                        Tunnel::ShortPipe => plan::Tunnel::ShortPipe,
                    },
                    exp: Box::new(mpls.exp.table()),
                });
            }
        }
        plans
    }

    /// Checks the number of labels: at least 1, and such that the longest frame with its labels has at most 65535
    /// bytes.
    fn check_depth(&mut self, path: &Path, labels: u8, framing: &FramingTable) {
        let longest = (framing.mtu.0 + framing.header.0).max(framing.min_frame.0) + framing.overhead.0;
        let limit = (u64::from(u16::MAX).saturating_sub(longest) / u64::from(Packet::LABEL)).min(u64::from(MAX_LABELS));
        if labels > 0 && u64::from(labels) <= limit {
            return;
        }
        let help = if limit == 0 {
            format!("frames of {longest} bytes leave no room for labels; give `network.framing` a smaller `mtu`")
        } else {
            format!("write a number from 1 to {limit}, or remove `mpls`; an MPLS VPN uses 2")
        };
        self.complaints.value(path.clone(), format!("a stack of {labels} labels is out of range"), help);
    }
}

/// Returns the labels that a switch pushes towards a neighbour: those under its name, otherwise those under a pattern
/// or group that matches it.
fn port_labels<'a>(nodes: &Nodes<'a>, node: &Node<'a>, to: &Node<'a>) -> Option<(Path, &'a Mpls)> {
    let What::Switch(switch) = node.what else { return None };
    let several = || switch.ports.iter().find(|(key, _)| nodes.fits(key, to));
    let found = switch.ports.get_key_value(&to.name).or_else(several);
    let (key, port) = found?;
    Some((node.path().join("ports").join(key.as_str()).join("mpls"), port.mpls.as_ref()?))
}
