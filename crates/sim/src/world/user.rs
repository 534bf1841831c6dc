//! User-defined components: their instances, and their faults.

use super::World;
use super::source::UserSource;
use crate::plan::port_names;
use crate::port::Queue;
use std::sync::{Arc, Mutex};
use tailback_traffic::Model;
use tailback_user::{Factories, Fault, Installed, SourceLaw};

impl World {
    /// Makes the user-defined components of the plan that belong to this partition.
    pub(super) fn install_users(&mut self, factories: &dyn Factories) {
        self.install_queue_laws(factories);
        self.install_congestion_controls(factories);
        self.make_sources(factories);
    }

    /// Makes the queue laws of the ports.
    fn install_queue_laws(&mut self, factories: &dyn Factories) {
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

    /// Makes the congestion controls of the senders.
    fn install_congestion_controls(&mut self, factories: &dyn Factories) {
        for connection in 0..self.transports.outgoing.len() {
            let out = &self.transports.outgoing[connection];
            let flow = &self.plan.flows[out.flow as usize];
            if out.sender.has_user_code() && self.owns(flow.from) {
                let name = flow.name().to_string();
                self.transports.outgoing[connection].sender.install(factories, &name, &self.faults);
            }
        }
    }

    /// Makes the sources of the flows, which [`give_law`](super::source::give_law) gives to them when they start.
    fn make_sources(&mut self, factories: &dyn Factories) {
        for (index, flow) in (0u32..).zip(&self.plan.flows) {
            let Model::User(code) = &flow.model else { continue };
            if self.owns(flow.from) && !self.applications.has(index) {
                let place = flow.name().to_string();
                if let Some(made) =
                    Installed::new(factories.source(code), SourceLaw::placed, code, &place, &self.faults)
                {
                    self.user_sources.insert(index, UserSource::new(Arc::new(Mutex::new(made))));
                }
            }
        }
    }

    /// Returns the first fault of a user-defined component. `None`: there has been no fault. After a fault the results of
    /// the run are meaningless, and the caller ends it.
    pub fn fault(&self) -> Option<&Fault> {
        self.faults.first()
    }
}
