//! User-defined components: their instances, and their faults.

use super::World;
use crate::plan::port_names;
use crate::port::Queue;
use tailback_user::{Factories, Fault};

impl World {
    /// Makes the user-defined components of the plan that belong to this partition.
    pub(super) fn install_users(&mut self, factories: &dyn Factories) {
        let has_user = |port: &mut crate::port::Port| {
            let mut found = false;
            if let Queue::General(general) = &mut port.queue {
                general.each_user(|_, _| found = true);
            }
            found
        };
        if !self.ports.iter_mut().any(has_user) {
            return;
        }
        let names = port_names(&self.plan.nodes, &self.plan.links);
        for (port, name) in names.iter().enumerate() {
            if !self.owns(self.ports[port].from) {
                continue;
            }
            if let Queue::General(general) = &mut self.ports[port].queue {
                general.each_user(|user, rng| user.install(factories, name, &self.faults, rng));
            }
        }
    }

    /// Returns the first fault of a user-defined component. `None`: there has been no fault. After a fault the results of
    /// the run are meaningless, and the caller ends it.
    pub fn fault(&self) -> Option<&Fault> {
        self.faults.first()
    }
}
