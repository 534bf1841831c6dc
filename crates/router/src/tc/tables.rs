//! Tables of disciplines, classes and filters, as in the kernel.

use super::action::Actions;
use super::cake::Cake;
use super::handle::Handle;
use super::netfilter::Rules;
use crate::Place;
use crate::ir::{Counting, HfscClass, HtbClass, Limit, Match, Peak, Queue, Shape};
use std::collections::BTreeMap;

/// Parent of a queueing discipline: the device, or a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    Root,
    Class(Handle),
}

/// Tables of all devices, by name.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) devices: BTreeMap<String, Device>,
    /// Names of the devices in the order of first occurrence.
    pub(super) order: Vec<String>,
    /// Firewall rules that modify packets.
    pub(super) firewall: Rules,
}

/// Tables of a device.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) qdiscs: Vec<Qdisc>,
    pub(super) classes: Vec<Class>,
    pub(super) filters: Vec<Filter>,
}

impl Device {
    /// Returns the discipline with that major number; `None`: there is none.
    pub(super) fn qdisc(&self, major: u16) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.major == major)
    }
    /// Returns the root discipline; `None`: there is none.
    pub(super) fn root(&self) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.parent == Parent::Root)
    }
    /// Removes a discipline with its classes, its filters, and its subtree.
    pub(super) fn remove(&mut self, major: u16) {
        let mut to_remove = vec![major];
        while let Some(major) = to_remove.pop() {
            self.qdiscs.retain(|qdisc| qdisc.major != major);
            self.classes.retain(|class| class.id.major != major);
            self.filters.retain(|filter| filter.hook != Hook::Qdisc(major));
            if major == u16::MAX {
                self.filters.retain(|filter| matches!(filter.hook, Hook::Qdisc(_)));
            }
            let below = |qdisc: &&Qdisc| matches!(qdisc.parent, Parent::Class(handle) if handle.major == major);
            to_remove.extend(self.qdiscs.iter().filter(below).map(|qdisc| qdisc.major));
        }
    }
}

impl Tables {
    /// Returns the tables of a device, which are empty for a new one.
    pub(super) fn device(&mut self, name: &str) -> &mut Device {
        if !self.devices.contains_key(name) {
            self.order.push(name.to_owned());
        }
        self.devices.entry(name.to_owned()).or_default()
    }
}

/// A discipline of a device.
#[derive(Clone, Debug)]
pub(super) struct Qdisc {
    pub major: u16,
    pub parent: Parent,
    pub kind: Kind,
    /// Size table, which applies to the discipline and its subtree.
    pub stab: Counting,
    pub at: Place,
}

/// Kind of a discipline, with its parameters.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Htb {
        /// Minor number of the default class; 0: none.
        default: u16,
        /// Divisor of rates in B/s for default quanta.
        r2q: u64,
    },
    Prio {
        bands: u16,
        /// Band, from 0, of each kernel priority, 0 to 15.
        map: [u16; 16],
    },
    Hfsc {
        /// Minor number of the default class; 0: none.
        default: u16,
    },
    Drr,
    Ets {
        /// Number of strict bands, which are the first.
        strict: u16,
        /// Quanta in bytes of the bands after them.
        quanta: Vec<u64>,
        bands: u16,
        /// Band, from 0, of each kernel priority.
        map: [u16; 16],
    },
    /// A classless discipline; with a shaper it is TBF, to whose single class another discipline may be attached.
    Leaf {
        queue: Queue,
        limit: Option<Limit>,
        shape: Option<Shaping>,
    },
    /// CAKE, to whose classes no discipline can be attached.
    Cake(Cake),
    /// `mq`: one discipline per transmit queue of the device, of which the first is simulated for all packets.
    Mq,
    /// An unsupported discipline: its classes and filters are accepted but have no effect.
    Opaque,
    /// `ingress` or `clsact`: filters of received packets, which are not simulated except for redirection.
    Ingress,
}

/// Shaper of a token bucket filter (TBF).
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaping {
    pub shape: Shape,
    pub peak: Option<Peak>,
    pub counts: Counting,
}

/// A class of a device.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub id: Handle,
    /// Minor number of the parent class; `None`: the parent is the discipline itself.
    pub parent: Option<u16>,
    pub htb: Option<HtbClass>,
    pub hfsc: Option<HfscClass>,
    /// Quantum of DRR in bytes; `None`: the default.
    pub quantum: Option<u64>,
    pub at: Place,
}

/// `true` if the class or band exists, so that a discipline can be attached to it.
pub(super) fn exists(device: &Device, class: Handle) -> bool {
    match device.qdisc(class.major).map(|qdisc| &qdisc.kind) {
        Some(Kind::Htb { .. } | Kind::Hfsc { .. } | Kind::Drr) => device.classes.iter().any(|own| own.id == class),
        Some(Kind::Prio { bands, .. } | Kind::Ets { bands, .. }) => (1..=*bands).contains(&class.minor),
        // A token bucket has one class.
        Some(Kind::Leaf { shape: Some(_), .. } | Kind::Leaf { queue: Queue::Netem(_), .. }) => class.minor <= 1,
        // The transmit queues of a device are the classes from 1; the classes of an unsupported discipline are unknown.
        Some(Kind::Mq | Kind::Opaque) => class.minor > 0,
        Some(Kind::Leaf { .. } | Kind::Cake(_) | Kind::Ingress) | None => false,
    }
}

/// Hook at which a filter is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    /// At a discipline, given by its major number.
    Qdisc(u16),
    /// On reception (`ingress`, or `parent ffff:`).
    Ingress,
    /// Before the root discipline (`clsact`).
    Egress,
}

/// A filter of a device.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub hook: Hook,
    /// Priority; filters with lower numbers are evaluated first.
    pub prio: u32,
    pub when: Match,
    /// Class of the packets that match (`flowid`); `None`: the filter states none.
    pub target: Option<Handle>,
    pub actions: Actions,
    pub at: Place,
}

/// Verb of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    Replace,
    Change,
    Delete,
}
