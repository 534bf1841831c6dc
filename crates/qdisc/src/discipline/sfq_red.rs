//! Stochastic fairness queueing with RED in each bucket.

use super::drr::check_quantum;
use super::fair::{Buckets, ByFlow, Fifos, Key, Round, Weights};
use crate::law::red::{self, Red};
use crate::law::{Backlog, Decision};
use crate::retune::{Fixed, Retune};
use crate::signals::{Signals, Threshold, inside};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Size, Time};

/// Stochastic fairness queueing with random early detection in each bucket: flows are assigned by a
/// hash to buckets, which take turns; each bucket has an equal part of the limit and its own RED.
/// Feng, Kandlur, Saha and Shin (INFOCOM 2001) compare it with stochastic fair Blue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Number of buckets to which flows are assigned by a hash, 1 to 2^20. Each bucket may hold one
    /// packet even if its part of the limit is smaller. Default 46.
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: u32,
    /// Wire bytes per bucket and round, 1 B to 1 GB. Default: one packet per bucket and round,
    /// whatever its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// RED of each bucket; its thresholds are those of one bucket, its `victim` must be "tail".
    /// Default: the defaults of the discipline `red`.
    pub red: red::Params,
}

impl Default for Params {
    fn default() -> Params {
        Params { buckets: 46, quantum: None, red: red::Params::default() }
    }
}

impl Params {
    /// Returns the discipline with empty buckets; the limits of `site` hold for all buckets together.
    pub fn build(&self, site: &Site) -> SfqRed {
        SfqRed {
            key: ByFlow::new(Buckets::Hashed(self.buckets), &Weights::new()),
            fifos: Fifos::default(),
            laws: (0..self.buckets).map(|_| Red::new(&self.red, site.rate)).collect(),
            round: Round::default(),
            quantum: self.quantum.map(|q| q.0),
            ecn: self.red.ecn,
            share: self.share(site),
            site: *site,
        }
    }
    /// Returns the limits of one bucket.
    fn share(&self, site: &Site) -> Site {
        let part = |whole: u64| if whole == u64::MAX { whole } else { whole / u64::from(self.buckets) };
        Site { bytes: part(site.bytes), packets: part(site.packets), rate: site.rate }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        Buckets::Hashed(self.buckets).check("buckets")?;
        self.quantum.map_or(Ok(()), check_quantum)?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "only arriving packets are dropped; leave `victim` out"));
        }
        self.red.check().map_err(|e| e.within("red"))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, &self.share(site), f);
    }
}

/// Stochastic fairness queueing with RED. O(1) per packet.
///
/// A bucket is idle once its last packet has been taken from it; its average ages as if the whole
/// link were free for this bucket.
#[derive(Debug)]
pub struct SfqRed {
    key: ByFlow,
    fifos: Fifos<Packet>,
    laws: Vec<Red>,
    round: Round,
    quantum: Option<u64>,
    ecn: bool,
    /// Limits of one bucket.
    share: Site,
    /// Limits of all buckets together.
    site: Site,
}

impl Retune for SfqRed {
    fn adopt(&mut self, now: Time, fresh: SfqRed) {
        for (law, fresh) in self.laws.iter_mut().zip(fresh.laws) {
            law.adopt(now, fresh);
        }
        (self.quantum, self.ecn) = (fresh.quantum, fresh.ecn);
        (self.share, self.site) = (fresh.share, fresh.site);
        let quantum = self.quantum;
        self.round.limit_deficits(|_| quantum);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        Buckets::Hashed(self.buckets).check_retune("buckets", Buckets::Hashed(to.buckets))?;
        self.red.check_retune(&to.red).map_err(|e| e.within("red"))
    }
}

impl Qdisc for SfqRed {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        let backlog = Backlog { packets: self.fifos.packets_of(slot), bytes: self.fifos.bytes_of(slot) };
        let law = &mut self.laws[slot];
        let decision = law.arrive(now, backlog, packet.size, cx.rng);
        // A bucket may hold one packet even if its part of the limit is smaller.
        let beyond_share = backlog.packets > 0 && self.share.is_full(backlog.packets, backlog.bytes, packet.size);
        if beyond_share || self.site.is_full(self.fifos.packets(), self.fifos.bytes(), packet.size) {
            law.forced();
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let markable = decision == Decision::Early && self.ecn && law.may_mark();
        let packet = match decision {
            Decision::Pass => Some(packet),
            Decision::Early | Decision::Forced => cx.signal(packet, markable, Reason::Early),
        };
        if let Some(packet) = packet {
            self.fifos.push(slot, packet);
            self.round.join(slot);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let (fifos, quantum) = (&self.fifos, self.quantum);
        let slot = self.round.next(|slot| Some(fifos.head(slot)?.wire()), |_| quantum)?;
        let head = fifos.head(slot)?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = self.fifos.pop_front(slot)?;
        let more = self.fifos.packets_of(slot) > 0;
        self.round.sent(packet.wire(), more, quantum.is_none());
        if !more {
            self.laws[slot].idle(now);
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.fifos.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.fifos.visit(f);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.laws.iter_mut().for_each(|law| law.set_rate(rate));
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("flows", self.fifos.occupied().len() as f64);
        f("largest_average", self.laws.iter().map(Red::average).fold(0.0, f64::max));
    }
    fn state_bytes(&self) -> usize {
        let laws: usize = self.laws.iter().map(Red::state_bytes).sum();
        self.key.state_bytes() + self.fifos.state_bytes() + self.round.state_bytes() + laws
    }
}
