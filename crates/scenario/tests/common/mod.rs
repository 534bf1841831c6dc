//! Documents for several test files.

pub mod generated;
pub mod right;

/// Runs to the end; panics after a billion events, more than any test has, instead of running for ever.
pub fn to_end(world: &mut tailback_sim::World) {
    let ends = (0..1_000).any(|_| world.run(1 << 20) == tailback_sim::Status::Done);
    assert!(ends, "more than a billion events, at {} of the run", world.progress());
}
