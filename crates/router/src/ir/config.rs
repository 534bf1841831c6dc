//! A complete configuration.

use super::{AccessList, Class, ClassMap, Platform, Policy, Port};
use serde::Serialize;

/// The parts of a configuration that affect queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Class maps: named conditions.
    pub class_maps: Vec<ClassMap>,
    /// Access lists.
    pub access_lists: Vec<AccessList>,
    /// Policies, to which ports and classes refer by name.
    pub policies: Vec<Policy>,
    /// Interfaces.
    pub ports: Vec<Port>,
    /// Name of the input policy of ports without one of their own, and of unknown ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// Treatment of the packets that ports without a policy send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departure: Option<Class>,
    /// Platform; `None`: the text does not reveal it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
}

impl Config {
    /// Returns the policy of that name; `None`: there is no such policy.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }
    /// Returns the class map of that name; `None`: there is no such class map.
    pub fn class_map(&self, name: &str) -> Option<&ClassMap> {
        self.class_maps.iter().find(|map| map.name == name)
    }
    /// Returns the access list of that name or number; `None`: there is no such list.
    pub fn access_list(&self, name: &str) -> Option<&AccessList> {
        self.access_lists.iter().find(|list| list.name == name)
    }
    /// Returns the port of that name, ignoring ASCII case; `None`: there is no such port.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name.eq_ignore_ascii_case(name))
    }
}
