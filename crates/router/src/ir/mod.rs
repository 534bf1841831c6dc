//! What a configuration says, whichever language said it: ports, policies, classes, and what they match.
//!
//! Things refer to each other by name, as they do in a router, so that a policy that hangs in many places exists once. Two
//! configurations are equal when they say the same; the [`Place`](crate::Place)s do not count.

mod covering;
mod matching;
mod names;
mod policy;
mod queue;

pub(crate) use covering::all_cover;
pub use matching::{AccessEntry, AccessList, ClassMap, Header, Match, Net, Net6, PortRange, same_interface};
pub use names::{application_ports, port_named, protocol_name, protocol_named, service_port};
pub use policy::{
    Act, By, Class, CodeLimit, Counting, Curve, HfscClass, HtbClass, Limit, Mark, Medium, Peak, Police, Policy, Port,
    Priority, Profile, Rule, Scheduler, Shape, Share, Unit, Wred,
};
pub use queue::{Fair, Fq, FqCodel, Gred, GredProfile, Netem, Queue, Red, Sfq, Timed};

use serde::Serialize;

/// All that a configuration says about queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Named conditions.
    pub class_maps: Vec<ClassMap>,
    /// Access lists.
    pub access_lists: Vec<AccessList>,
    /// Policies, which ports and classes name.
    pub policies: Vec<Policy>,
    /// Interfaces.
    pub ports: Vec<Port>,
    /// Policy for what comes in by a port that has none of its own, or is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// What a port does with what it sends if nothing is said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departure: Option<Class>,
    /// Whose words it has, where that is evident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<crate::mqc::Platform>,
}

impl Config {
    /// The policy of that name.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }
    /// The class map of that name.
    pub fn class_map(&self, name: &str) -> Option<&ClassMap> {
        self.class_maps.iter().find(|map| map.name == name)
    }
    /// The access list of that name or number.
    pub fn access_list(&self, name: &str) -> Option<&AccessList> {
        self.access_lists.iter().find(|list| list.name == name)
    }
    /// The port of that name, in any case.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name.eq_ignore_ascii_case(name))
    }
}
