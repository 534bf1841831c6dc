//! Where a shaper of Linux chooses the next packet at another time than a shaper here.

use super::Lower;
use crate::ir::{Class, Queue, Scheduler};

impl Lower<'_> {
    /// Says what differs of a `tbf` around a scheduler. A shaper here asks for a packet once there are tokens for the largest. tbf
    /// looks at the next packet (`tbf_dequeue`, `net/sched/sch_tbf.c`) and sends it with the tokens of its own length: prio names
    /// another one when one of a first band arrives (`prio_peek`), other schedulers keep the one that they have named
    /// (`qdisc_peek_dequeued`). docs/validation-linux.md has both against the kernel.
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
