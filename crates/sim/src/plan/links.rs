//! Links and the queues at their ends.

use super::{NodeId, NodePlan};
use std::collections::BTreeMap;
use std::fmt;
use tailback_qdisc::Accounting;
use tailback_units::{Dur, Rate};

/// A full-duplex link. Side 0 sends from `ends[0]`, side 1 from `ends[1]`.
#[derive(Clone, PartialEq)]
pub struct LinkPlan {
    /// The two nodes.
    pub ends: [NodeId; 2],
    /// Rate of each side.
    pub rate: [Rate; 2],
    /// Propagation delay.
    pub delay: Dur,
    /// Probability that a data frame is lost on the link, 0 to 1; control frames are not lost.
    pub loss: f64,
    /// Upper bound of the random additional delay of each side's frames (uniform from 0, drawn for each frame); frames
    /// stay in order.
    pub jitter: [Dur; 2],
    /// Bytes that the link carries for each frame in addition to the wire bytes; the sum must not be below the wire
    /// bytes. `None`: the link carries the wire bytes. Neither end of a link with an accounting may be a cut-through
    /// switch.
    pub accounting: Option<Accounting>,
    /// Egress queue of each side.
    pub queue: [QueuePlan; 2],
}

impl fmt::Debug for LinkPlan {
    /// Omits `accounting` if it is `None`, so that plans without it have the same text as before the field existed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkPlan { ends, rate, delay, loss, jitter, accounting, queue } = self;
        let mut shown = f.debug_struct("LinkPlan");
        let _ = shown.field("ends", ends).field("rate", rate).field("delay", delay);
        let _ = shown.field("loss", loss).field("jitter", jitter);
        if let Some(accounting) = accounting {
            let _ = shown.field("accounting", accounting);
        }
        shown.field("queue", queue).finish()
    }
}

/// Queues of one output port.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePlan {
    /// Discipline (kind and parameters), from `tailback_qdisc::registry`.
    pub discipline: tailback_qdisc::Spec,
    /// Limit of each class in buffer bytes; `u64::MAX` is unbounded.
    pub limits: Vec<u64>,
    /// Limit of each class in packets; `u64::MAX` is unbounded.
    pub places: Vec<u64>,
    /// Capacity of the transmit ring between the discipline and the transmitter in packets, at least 1; `None`: no
    /// ring.
    pub ring: Option<u32>,
    /// Shaper; `None`: no shaper.
    pub shaper: Option<ShaperPlan>,
}

/// A token bucket shaper: the bytes that leave in any interval of length t are at most burst + rate · t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperPlan {
    /// Token rate, above 0.
    pub rate: Rate,
    /// Bucket size in bytes, above 0.
    pub burst: u64,
    /// Bytes that the shaper counts for each packet in addition to buffer bytes.
    pub accounting: tailback_qdisc::Accounting,
}

/// Returns the names of all ports in the order of their numbers, two per link: `a->b`, and for further links between
/// the same two nodes, in the order of the links, `a->b#2`, `a->b#3`, …. Names seed random streams; adding a link
/// between other nodes changes neither.
pub fn port_names(nodes: &[NodePlan], links: &[LinkPlan]) -> Vec<String> {
    let mut count = BTreeMap::<[NodeId; 2], u32>::new();
    let names = links.iter().flat_map(|link| {
        let [a, b] = link.ends;
        let parallel = count.entry([a.min(b), a.max(b)]).or_default();
        *parallel += 1;
        let parallel = *parallel;
        [(a, b), (b, a)].map(|(from, to)| {
            let name = format!("{}->{}", nodes[usize::from(from)].name, nodes[usize::from(to)].name);
            if parallel > 1 { format!("{name}#{parallel}") } else { name }
        })
    });
    names.collect()
}
