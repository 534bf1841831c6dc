//! FQ-CoDel: each flow's queue under controlled delay, new flows first.

use super::drr::{check_quantum, default_quantum};
use super::fair::{Buckets, ByFlow, Fifos, Key, NewOld, Weights};
use crate::law::codel::{self, Codel};
use crate::law::{Form, deliver};
use crate::retune::{Fixed, Retune};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tailback_document::Invalid;
use tailback_units::{Dur, Size, Time};

/// Flow-queue CoDel (RFC 8290): flows are assigned to queues by a hash, each with its own CoDel.
/// Deficit round robin serves the queues; queues that have just become busy are served first. If
/// the limit is exceeded, packets are dropped from the head of the longest queue until at most half of its bytes are
/// left, but at most `batch` packets at a time.
///
/// Differs from Linux unless `form` is "linux": CoDel does not drop while at most `mtu` bytes wait in the flow's own
/// queue, as in RFC 8289, instead of in all queues together; drops because of the limit do not increase CoDel's count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Number of queues, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one queue
    /// per flow. Default 1024.
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Wire bytes per queue and round, 1 B to 1 GB. Default 1514 B.
    pub quantum: Size,
    /// Acceptable standing delay of a queue, above 0s and at most `interval`. Default 5ms.
    pub target: Dur,
    /// Time for which the delay must stay above `target` before the first signal, at most 24h. Default 100ms.
    pub interval: Dur,
    /// Backlog of a queue up to which none of its packets is marked or dropped: the maximum packet
    /// size of the link, 1 B to 65535 B. Default 1514 B.
    pub mtu: Size,
    /// `true` if ECN-capable packets are marked instead of dropped. Default true.
    pub ecn: bool,
    /// Delay above which every ECN-capable packet is marked, in addition to the control law, at most 24h. Default: no
    /// such threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Dur>,
    /// Computation of the square root in the time to the next signal: "exact" (RFC 8289), or "newton", as in Linux and
    /// always in form "linux". Default "exact".
    pub root: codel::Root,
    /// Upper bound on the packets that are dropped after one search for the longest queue when the limit is exceeded, 1
    /// to 10000; a larger bound saves searches. Default 64.
    pub batch: u32,
    /// "published": RFC 8290; "linux": Linux 6.1 (`net/sched/sch_fq_codel.c`), in which of equally long queues the one with
    /// the lowest index loses packets at the limit, all queues together must have
    /// more than `mtu` bytes for a signal, a new queue that runs empty leaves the lists if there are no old ones, drops at
    /// the limit count as signals of the queue, and CoDel has its form "linux". Default "published".
    pub form: Form,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            buckets: Buckets::Hashed(1024),
            quantum: default_quantum(),
            target: Dur::from_ms(5),
            interval: Dur::from_ms(100),
            mtu: Size(1514),
            ecn: true,
            ce_threshold: None,
            root: codel::Root::Exact,
            batch: 64,
            form: Form::Published,
        }
    }
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> FqCodel {
        FqCodel {
            key: ByFlow::new(self.buckets, &Weights::new()),
            fifos: Fifos::default(),
            laws: Vec::new(),
            lists: NewOld::new(self.quantum.0),
            params: Arc::new(self.law().compared()),
            batch: self.batch,
            form: self.form,
            site: *site,
        }
    }
    /// Refuses parameters out of range, and an interval shorter than the target.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        check_quantum(self.quantum)?;
        if !(1..=10_000).contains(&self.batch) {
            return Err(Invalid::new("batch", format!("{} is out of range; write 1 to 10000", self.batch)));
        }
        self.law().check()
    }
    fn law(&self) -> codel::Params {
        let Params { target, interval, mtu, ecn, ce_threshold, root, form, .. } = *self;
        codel::Params { target, interval, mtu, ecn, ce_threshold, root, form }
    }
}

/// Flow-queue CoDel. O(1) per packet; when the limit is exceeded, one search of the non-empty queues for up to `batch`
/// drops.
#[derive(Debug)]
pub struct FqCodel {
    key: ByFlow,
    fifos: Fifos<Packet>,
    /// CoDel of each queue.
    laws: Vec<Codel>,
    lists: NewOld,
    /// Parameters of the laws of all queues.
    params: Arc<codel::Params>,
    batch: u32,
    form: Form,
    site: Site,
}

impl FqCodel {
    /// Drops from the head of the longest queue until at most half of its bytes are left or `batch` packets are
    /// dropped.
    fn make_room(&mut self, cx: &mut Cx<'_>) {
        let as_linux = self.form == Form::Linux;
        let longest = if as_linux {
            // Of queues with equal bytes always the first one, whose flows lose most (`fq_codel_drop`).
            self.fifos.first_longest()
        } else {
            self.fifos.occupied().next().map(|first| self.fifos.longest(first))
        };
        let Some(longest) = longest else { return };
        let bytes = self.fifos.bytes_of(longest);
        let kept = if as_linux { bytes.div_ceil(2) } else { bytes / 2 };
        let mut drops = 0;
        while drops < self.batch && (drops == 0 || self.fifos.bytes_of(longest) > kept) {
            let Some(packet) = self.fifos.pop_front(longest) else { break };
            cx.drop(packet, Reason::BufferFull);
            drops += 1;
        }
        if as_linux {
            self.laws[longest].add_drops(drops);
        }
    }
    /// Returns the next packet of the queue `slot` that the law does not drop. `None`: the queue is
    /// empty.
    fn take(&mut self, now: Time, slot: usize, cx: &mut Cx<'_>) -> Option<Packet> {
        let (law, fifos) = (&mut self.laws[slot], &mut self.fifos);
        let all = self.form == Form::Linux;
        let packet = deliver(law, now, cx, || {
            let (packet, left) = fifos.pop_and_count(slot)?;
            Some((packet, if all { fifos.backlog() } else { left }))
        });
        if packet.is_none() {
            law.empty(now);
        }
        packet
    }
}

/// Packets above a smaller limit are dropped at the next arrival; Linux (`fq_codel_change`) drops them at once.
impl Retune for FqCodel {
    fn adopt(&mut self, now: Time, fresh: FqCodel) {
        (self.params, self.batch, self.form, self.site) = (fresh.params, fresh.batch, fresh.form, fresh.site);
        self.lists.adopt(now, fresh.lists);
        for law in &mut self.laws {
            law.adopt(now, Codel::sharing(self.params.clone()));
        }
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        if slot >= self.laws.len() {
            self.laws.resize_with(slot + 1, || Codel::sharing(self.params.clone()));
        }
        self.fifos.push(slot, packet);
        self.lists.join(slot);
        while self.fifos.overflow(&self.site) {
            self.make_room(cx);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        loop {
            let slot = self.lists.current()?;
            if let Some(head) = self.fifos.head(slot)
                && !gate.admits(head.class(), head.dst)
            {
                return None;
            }
            match self.take(now, slot, cx) {
                Some(packet) => {
                    self.lists.sent(slot, packet.wire());
                    return Some(packet);
                }
                None => self.lists.empty(self.form),
            }
        }
    }
    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
        f("new_flows", self.lists.new_flows() as f64);
        f("dropping_flows", self.laws.iter().filter(|law| law.is_dropping()).count() as f64);
    }
    fn state_bytes(&self) -> usize {
        let laws: usize = self.laws.iter().map(Codel::state_bytes).sum();
        self.key.state_bytes() + self.fifos.state_bytes() + self.lists.state_bytes() + laws
    }
}
