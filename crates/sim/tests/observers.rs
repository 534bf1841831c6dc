//! Runs that call an observer at regular intervals.

use crate::common::*;
use std::ops::ControlFlow;
use tailback_sim::World;
use tailback_units::{Dur, Time};

/// A packet of 1000 B every millisecond from time zero on, which takes 0.1 ms on the link.
fn steady() -> Net {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 80);
    net.flow(a, b, 0, cbr(1000, 8_000_000));
    net.plan.end = ms(100);
    net
}

#[test]
fn an_observer_is_called_after_all_events_of_its_instants_and_changes_no_result() {
    let net = steady();
    let mut world = World::new(net.routed());
    let mut seen = Vec::new();
    let ended = world.run_observed(ms(35), Dur::from_us(10_000), |world| {
        seen.push((world.now(), world.view().flows["a->b 0"].offered.packets));
        ControlFlow::Continue(())
    });
    assert_eq!(ended, ControlFlow::Continue(()));
    // The packet that is generated at the instant itself is counted.
    assert_eq!(seen, [(ms(10), 11), (ms(20), 21), (ms(30), 31)]);
    assert_eq!(world.now(), ms(35));
    world.run_to_end();
    assert_eq!(world.report().digest, net.run().digest);
}

#[test]
fn an_observer_that_breaks_ends_the_step_at_its_instant() {
    let mut world = World::new(steady().routed());
    let ended = world.run_observed(ms(100), Dur::from_us(3_000), |world| {
        if world.now() >= ms(9) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((ended, world.now()), (ControlFlow::Break(()), ms(9)));
}

#[test]
fn an_interval_beyond_the_end_gives_no_call_and_a_call_can_be_at_the_end() {
    for (every, calls) in [(Dur(u64::MAX), 0), (Dur::from_us(100_000), 1), (Dur::from_us(40_000), 2)] {
        let mut world = World::new(steady().routed());
        let mut count = 0;
        let ended = world.run_observed(Time::NEVER, every, |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((ended, count, world.now()), (ControlFlow::Continue(()), calls, ms(100)));
    }
}

#[test]
#[should_panic(expected = "an observer needs an interval")]
fn an_interval_of_zero_is_refused() {
    let _ = World::new(steady().routed()).run_observed(ms(1), Dur::ZERO, |_| ControlFlow::Continue(()));
}
