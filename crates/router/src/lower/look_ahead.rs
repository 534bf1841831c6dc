//! Differences in the time at which a shaper of Linux selects the next packet.

use super::state::Lower;
use crate::ir::{Class, Queue, Scheduler};

impl Lower<'_> {
    /// Reports the difference of a `tbf` around a scheduler. A shaper here dequeues a packet when there are tokens for
    /// the largest one. tbf peeks at the next packet (`tbf_dequeue`, `net/sched/sch_tbf.c`) and sends it with the
    /// tokens of its own length: prio selects another one when a packet of a higher band arrives (`prio_peek`), other
    /// schedulers keep their selection (`qdisc_peek_dequeued`). docs/validation-linux.md compares both with the kernel.
    pub(super) fn look_ahead(&mut self, class: &Class, rate: u64) {
        // cake, which counts from layer 3, has its own shaper.
        let Queue::Policy(name) = &class.queue else { return };
        let Some(policy) = self.conditions.config.policy(name).filter(|_| self.linux && !class.counts.network) else {
            return;
        };
        let most_ms = (self.largest + u64::from(self.header)) as f64 * 8e3 / rate.max(1) as f64;
        let differs = if policy.scheduler == Scheduler::Priority {
            format!(
                "sends a packet of a first band with the tokens of its own length; here it leaves up to {most_ms:.2} ms later"
            )
        } else {
            format!(
                "keeps the packet that it has taken when one comes that should go first; here that leaves up to {most_ms:.2} ms earlier"
            )
        };
        self.report.warning(
            class.at,
            format!("tbf around a scheduler {differs}"),
            "classes of htb at the root have no such wait",
        );
    }
}
