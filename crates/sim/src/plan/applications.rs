//! Applications, which drive flows in place of the flows' traffic models.

use std::sync::Arc;
use tailback_traffic::Application;

/// An application and the flows, by index, that carry it. Its name, group, start and stop are those of its first flow.
/// A flow belongs to at most one application, and the flow's own traffic model is then not used.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationPlan {
    /// A client and its server.
    Session {
        /// Behaviour of the client: any kind except transfers.
        law: Arc<Application>,
        /// Pairs of flows, one for requests and one for responses: a pair for each concurrent request, at least one.
        /// All flows connect the two hosts of the first request flow.
        channels: Vec<[u32; 2]>,
    },
    /// Transfers, each on an idle one of these flows, all of which have a transport.
    Transfers {
        /// Sizes and arrivals of the transfers; must be of the kind transfers.
        law: Arc<Application>,
        /// Flows that carry transfers; at least one.
        flows: Vec<u32>,
    },
}

impl ApplicationPlan {
    /// Returns the index of the application's first flow.
    pub fn first(&self) -> u32 {
        match self {
            ApplicationPlan::Session { channels, .. } => channels[0][0],
            ApplicationPlan::Transfers { flows, .. } => flows[0],
        }
    }
    /// Returns the application's parameters.
    pub fn law(&self) -> &Arc<Application> {
        match self {
            ApplicationPlan::Session { law, .. } | ApplicationPlan::Transfers { law, .. } => law,
        }
    }
}
