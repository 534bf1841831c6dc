//! The disciplines, one file or folder each. `managed` makes a discipline of a law of [`crate::law`] that decides about
//! arriving packets. `by_destination` is drop-tail for back-pressure that stops single destinations. `fair` is the
//! common part of the fair disciplines, `classes` that of the disciplines with classes, `levels` that of those
//! whose classes have no parameters of their own.

pub mod by_destination;
pub mod choke;
pub mod class_based;
mod classes;
pub mod cobalt;
pub mod codel;
pub mod drop_head;
pub mod drop_tail;
pub mod drr;
pub mod dualpi2;
pub mod fair;
pub mod fair_queue;
pub mod fair_queue_wred;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod fred;
pub mod hfsc;
pub mod htb;
mod levels;
pub mod managed;
pub mod netem;
pub mod priority;
pub mod red;
pub mod red_pd;
pub mod scfq;
pub mod sfb;
pub mod sfq;
pub mod sfq_red;
pub mod shaper;
pub mod stfq;
pub mod user;
pub mod user_scheduler;
pub mod virtual_clock;
pub mod weighted_tail_drop;
pub mod wf2q_plus;
pub mod wfq;
pub mod wrr;

pub(crate) use classes::Part;
