//! Differences in the time at which a shaper of Linux selects the next packet.

use super::state::Lower;
use crate::ir::{Class, Queue, Scheduler};

impl Lower<'_> {
    /// Reports how a `tbf` with an inner scheduler differs from the simulated shaper of `rate` bit/s. The simulated
    /// shaper dequeues a packet when there are tokens for the largest packet. tbf peeks at the next packet
    /// (`tbf_dequeue`, `net/sched/sch_tbf.c`) and sends it with the tokens of its own length: if a packet of a higher
    /// band arrives while tbf waits, prio selects that packet (`prio_peek`); other schedulers keep their selection
    /// (`qdisc_peek_dequeued`). docs/validation-linux.md compares both cases with the kernel.
    pub(super) fn look_ahead(&mut self, class: &Class, rate: u64) {
        // A shaper that counts from layer 3 is that of cake, not a tbf.
        let Queue::Policy(name) = &class.queue else { return };
        let Some(policy) = self.conditions.config.policy(name).filter(|_| self.linux && !class.counts.network) else {
            return;
        };
        let max_ms = (self.largest + u64::from(self.header)) as f64 * 8e3 / rate.max(1) as f64;
        let differs = if policy.scheduler == Scheduler::Priority {
            format!(
                "sends a packet of a higher band as soon as there are tokens for its own length; here it leaves up to {max_ms:.2} ms later"
            )
        } else {
            format!(
                "keeps the packet that it has selected when a preferred one arrives; here the preferred one leaves up to {max_ms:.2} ms earlier"
            )
        };
        self.report.warning(
            class.at,
            format!("tbf with an inner scheduler {differs}"),
            "use classes of htb at the root, which do not differ",
        );
    }
}
