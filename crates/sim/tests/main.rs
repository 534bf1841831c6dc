//! The integration tests of this crate as one program, which is compiled and linked once.

mod admission;
mod applications;
mod back_pressure;
mod common;
mod conditioning;
mod congestion_notification;
mod crossbar_pressure;
mod golden;
mod headroom;
mod links;
mod observers;
mod parts;
mod pause;
mod queueing_theory;
mod rate_response;
mod records;
mod stalls;
mod stopped;
mod switch_models;
mod warm_up;
