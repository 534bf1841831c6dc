//! Intermediate representation of configurations, independent of their language: ports, policies, classes and
//! conditions.
//!
//! Objects refer to each other by name, as in a router, so that a policy attached in several places exists once.
//! Equality ignores [`Place`](crate::Place)s in the text: two configurations are equal if their objects are.

mod config;
mod covering;
mod evaluate;
mod matching;
mod names;
mod platform;
mod policy;
mod queue;

pub use config::Config;
pub(crate) use covering::all_cover;
pub use matching::{AccessEntry, AccessList, ClassMap, Header, Match, Net, Net6, PortRange, same_interface};
pub use names::{application_ports, port_named, protocol_name, protocol_named, service_port};
pub use platform::Platform;
pub use policy::{
    Act, By, Class, CodeLimit, Counting, Curve, HfscClass, HtbClass, Limit, Mark, Medium, Peak, Police, Policy, Port,
    Priority, Profile, Rule, Scheduler, Shape, Share, Unit, Wred,
};
pub use queue::{Fair, Fq, FqCodel, Gred, GredProfile, Netem, Queue, Red, Sfq, Timed};
