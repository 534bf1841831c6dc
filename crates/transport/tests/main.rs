//! The integration tests of this crate as one program, which is compiled and linked once.

mod bbr;
mod bbr3_steps;
mod bbr_reference;
mod bbr_steps;
mod by_hand;
mod common;
mod control_steps;
mod controls;
mod cubic;
mod datacentre;
mod dctcp;
mod delivery;
mod hpcc;
mod ledbat;
mod loops;
mod marking;
mod oracles;
mod parameters;
mod ranges;
mod receiver;
mod timeline;
mod user;
