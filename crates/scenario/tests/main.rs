//! The integration tests of this crate as one program, which is compiled and linked once.

mod ahead;
mod common;
mod datacentre;
mod documents;
mod drops;
mod edge;
mod fabrics;
mod golden;
mod ledbat;
mod mpls;
mod parameters;
mod pfc;
mod plans;
mod runs;
mod simulation;
mod studies;
mod trace_files;
mod warnings;
