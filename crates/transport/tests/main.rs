//! The integration tests of this crate in one program: one link instead of 14.

mod bbr;
mod common;
mod controls;
mod cubic;
mod datacentre;
mod dctcp;
mod delivery;
mod hpcc;
mod layers;
mod loops;
mod marking;
mod oracles;
mod parameters;
mod receiver;
mod timeline;
