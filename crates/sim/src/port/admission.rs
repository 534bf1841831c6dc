//! Queues behind an admission policy, and the idle periods that are reported to the policy.

use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Admission, Fate, Packet, Rule, Watch};
use tailback_random::Rng;
use tailback_units::Time;

/// Start of an idle period that is still to be reported to an admission policy.
#[derive(Debug)]
pub(crate) struct PendingIdle {
    /// The condition that the policy watches.
    pub(super) watch: Watch,
    /// Start of the idle period, if no packet arrives before that instant; [`Time::NEVER`]: no period is pending.
    pub(super) idle_from: Time,
}

/// Queue of one class behind an admission policy, at a port that nothing can stop.
#[derive(Debug)]
pub(crate) struct AdmissionQueue {
    pub(super) idle: PendingIdle,
    pub rule: Rule,
    pub(super) rng: Rng,
}

impl PendingIdle {
    /// Returns the state for a policy that watches `watch`.
    pub fn new(watch: Watch) -> PendingIdle {
        PendingIdle { watch, idle_from: Time::NEVER }
    }

    /// Reports an idle period to the policy if it has begun by `now`.
    #[inline]
    pub(super) fn report_idle(&mut self, now: Time, rule: &mut impl Admission) {
        if self.idle_from <= now {
            rule.idle(self.idle_from);
            self.idle_from = Time::NEVER;
        }
    }

    /// Passes a packet to the policy and returns its decision. `queue` is the backlog that the packet finds; the
    /// transmitter becomes (or became) free at `free`.
    #[inline]
    pub(super) fn admit(
        &mut self,
        now: Time,
        free: Time,
        packet: &Packet,
        queue: Backlog,
        rule: &mut impl Admission,
        rng: &mut Rng,
    ) -> Fate {
        self.report_idle(now, rule);
        let fate = rule.admit(now, packet, queue, rng);
        let joins = !matches!(fate, Fate::Dropped(_));
        match self.watch {
            Watch::Empty if joins => self.idle_from = free.max(now),
            // The idle period begins at the end of the packet's transmission, which is set when it is put onto the
            // link.
            Watch::Idle if joins => self.idle_from = Time::NEVER,
            Watch::Idle if free <= now => self.idle_from = now,
            _ => {}
        }
        fate
    }
}

impl AdmissionQueue {
    /// Returns an empty queue; `rng` is the random stream of the port.
    pub fn new(rule: Rule, rng: Rng) -> AdmissionQueue {
        AdmissionQueue { idle: PendingIdle::new(rule.watches()), rule, rng }
    }
}
