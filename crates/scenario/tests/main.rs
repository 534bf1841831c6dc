//! The integration tests of this crate in one program: one link instead of 13.

mod ahead;
mod common;
mod datacentre;
mod documents;
mod drops;
mod edge;
mod fabrics;
mod mpls;
mod pfc;
mod plans;
mod runs;
mod studies;
mod trace_files;
mod warnings;
