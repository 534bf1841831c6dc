//! A shaper over another discipline: hierarchical shaping.

use super::classes::{Part, check_inside_retune, joined};
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::state::bytes_of;
use crate::{Accounting, Burst, Cx, Discipline, Gate, Packet, Qdisc, Reason, Site, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::TokenBucket;
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Rate, Time};

/// A token bucket between the link and another discipline, the child policy. A packet is taken from the child policy
/// only when the bucket holds the tokens of the largest packet so far, or, in form "linux", of that packet, so that in
/// any interval of length t at most `burst` + `rate` · t bytes leave. Percentages in the child policy refer to `rate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Rate after shaping, above 0. Default "1Gbit/s".
    #[serde(default = "gigabit")]
    pub rate: Rate,
    /// Burst size: largest number of bytes that leave back to back; a larger packet leaves when the
    /// bucket is full. Default: 4 ms at `rate`, at least 1600 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Overhead: bytes that the bucket counts for a packet in addition to its buffer bytes. Default
    /// "0B".
    #[serde(default)]
    pub accounting: Accounting,
    /// Tokens for which a packet waits: "largest", those of the largest packet so far, or "linux", its own, as in the
    /// `tbf` of Linux. Default "largest".
    #[serde(default)]
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
    /// Child policy. Default: a FIFO with tail drop, with the limits of the class or port of the
    /// shaper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Tokens for which a packet waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Those of the largest packet so far: any packet that the child policy then chooses may leave. A packet larger than
    /// the bucket leaves when the bucket is full.
    #[default]
    Largest,
    /// Its own, as in Linux (`tbf_dequeue`). A FIFO and `priority` show their next packet; others pass it to the shaper,
    /// which keeps it until it may leave, and it no longer counts in their limits. A packet larger than the bucket is
    /// dropped when it arrives (`tbf_enqueue`).
    Linux,
}

fn gigabit() -> Rate {
    Rate(1_000_000_000)
}

/// Lower bound of the default burst, bytes: room for a full Ethernet frame.
const MIN_BURST: u64 = 1600;
/// Default burst, as a time at the rate.
const BURST: Burst = Burst::Time(Dur::from_ms(4));

/// Returns the token bucket of a shaper, with the default burst if `burst` is `None`.
pub fn bucket(rate: Rate, burst: Option<Burst>) -> TokenBucket {
    TokenBucket::new(rate, burst.map_or_else(|| BURST.at(rate).max(MIN_BURST), |burst| burst.at(rate)))
}

/// Refuses a rate of 0, and a burst or an overhead out of range.
///
/// # Errors
/// If a parameter is invalid; the error names the parameter and says what to write.
pub fn check(rate: Rate, burst: Option<Burst>, accounting: Accounting) -> Result<(), Invalid> {
    if rate.0 == 0 {
        return Err(Invalid::new("rate", "the rate is zero; write a rate above 0bit/s"));
    }
    burst.map_or(Ok(()), |burst| burst.check("burst"))?;
    accounting.check("accounting")
}

impl Params {
    /// Returns the shaper with an empty child policy; `site` has the limits and the link.
    pub fn build(&self, site: &Site) -> Shaper {
        let inner = Site { rate: self.rate.min(site.rate), ..*site };
        let child = self.discipline.as_deref().map_or_else(Spec::default, Clone::clone);
        Shaper {
            child: Box::new(child.build(&inner)),
            bucket: bucket(self.rate, self.burst),
            rate: self.rate,
            accounting: self.accounting,
            form: self.form,
            largest: 0,
            kept: None,
            wake_at: None,
            site: *site,
        }
    }
    /// Refuses parameters out of range, and an invalid child policy.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check(self.rate, self.burst, self.accounting)?;
        self.discipline.as_deref().map_or(Ok(()), |spec| Checked::check(spec).map_err(|e| joined("discipline", e)))
    }
    /// Visits the inner discipline with its path.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        f(String::new(), None, self.discipline.as_deref_mut());
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        any_marks([&self.discipline])
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        if let Some(spec) = &self.discipline {
            inside("discipline", &**spec, &Site { rate: self.rate.min(site.rate), ..*site }, f);
        }
    }
}

/// Reason why `form` is fixed during a run.
const FORM_FIXED: &str = "the shaper may keep a packet of its child policy";

/// A discipline whose packets leave when a token bucket holds their tokens.
#[derive(Debug)]
pub struct Shaper {
    child: Box<Discipline>,
    bucket: TokenBucket,
    rate: Rate,
    accounting: Accounting,
    form: Form,
    /// Bytes counted for the largest packet so far.
    largest: u32,
    /// Form "linux": packet that the child policy has passed on before it may leave.
    kept: Option<Packet>,
    /// Time at which the bucket will hold the tokens for which a packet waits. `None`: no packet waits for tokens.
    wake_at: Option<Time>,
    /// Limits of the port or class, a kept packet included.
    site: Site,
}

/// Differs from Linux (`tbf_change`), which fills the bucket: here the tokens are kept, up to the new burst.
impl Retune for Shaper {
    fn adopt(&mut self, now: Time, fresh: Shaper) {
        self.child.adopt(now, *fresh.child);
        let mut changes = self.bucket.adopt(now, &fresh.bucket);
        if self.accounting != fresh.accounting {
            changes = true;
            self.largest = 0;
            self.child.visit(&mut |packet| self.largest = self.largest.max(fresh.accounting.bytes(packet)));
        }
        if changes && self.wake_at.is_some() {
            self.wake_at = Some(now);
        }
        (self.rate, self.accounting, self.site) = (fresh.rate, fresh.accounting, fresh.site);
    }
}

impl Shaper {
    /// Returns the bytes for which the bucket must hold tokens before the next packet leaves. `None`: no packet may
    /// leave now.
    fn need(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<u32> {
        if self.form == Form::Largest {
            // A packet larger than the bucket leaves when the bucket is full; the level of the bucket is then negative.
            return Some(u64::from(self.largest).min(self.bucket.depth()) as u32);
        }
        if self.kept.is_none() && self.child.head().is_none() {
            self.kept = self.child.dequeue(now, gate, cx);
        }
        let next = self.kept.as_ref().or_else(|| self.child.head())?;
        // As above, if the burst has been reduced since the packet arrived.
        Some(u64::from(self.accounting.bytes(next)).min(self.bucket.depth()) as u32)
    }
    /// Returns `true` if a packet of `size` bytes would exceed the limits, a kept packet included. With a limit in bytes it
    /// is O(n).
    fn is_full(&self, size: u16) -> bool {
        let mut bytes = 0;
        if self.site.bytes != u64::MAX {
            self.visit(&mut |packet| bytes += u64::from(packet.size));
        }
        self.site.is_full(self.packets(), bytes, size)
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("form", self.form, to.form, FORM_FIXED)?;
        check_inside_retune("", self.discipline.as_deref(), to.discipline.as_deref())
    }
}

impl Qdisc for Shaper {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let bytes = self.accounting.bytes(&packet);
        if self.form == Form::Linux && u64::from(bytes) > self.bucket.depth() {
            cx.drop(packet, Reason::Policed);
            return;
        }
        if self.kept.is_some() && self.is_full(packet.size) {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        self.largest = self.largest.max(bytes);
        self.child.enqueue(now, packet, cx);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.packets() == 0 {
            return None;
        }
        self.bucket.fill(now);
        let need = self.need(now, gate, cx)?;
        if !self.bucket.holds(need) {
            self.wake_at = self.bucket.ready_at(need);
            return None;
        }
        let packet = match self.kept.take_if(|packet| gate.admits(packet.class(), packet.dst)) {
            Some(packet) => packet,
            None if self.kept.is_some() => return None,
            None => self.child.dequeue(now, gate, cx)?,
        };
        self.bucket.charge(self.accounting.bytes(&packet));
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.child.packets() + u64::from(self.kept.is_some())
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.kept.iter().for_each(&mut *f);
        self.child.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        [self.wake_at, self.child.next_wakeup()].into_iter().flatten().min()
    }
    fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.wake_at = self.wake_at.filter(|at| *at > now);
        if self.child.next_wakeup().is_some_and(|at| at <= now) {
            self.child.wake(now, cx);
        }
    }
    fn watches_idle(&self) -> bool {
        self.child.watches_idle()
    }
    fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.child.idle(now, cx);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.child.set_rate(self.rate.min(rate));
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("tokens_bytes", self.bucket.bytes() as f64);
        self.child.probe(f);
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        self.child.each_user(f);
    }
    fn state_bytes(&self) -> usize {
        self.child.state_bytes() + self.bucket.state_bytes() + bytes_of!(self; largest, wake_at)
    }
}
