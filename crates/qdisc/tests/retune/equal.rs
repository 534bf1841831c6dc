//! A change to equal parameters changes nothing.

use super::every_parameter::bases;
use super::ride::{Ride, assert_equal, site, spec, traffic};
use crate::common::seeded;
use crate::every_discipline::documents;
use proptest::prelude::*;
use tailback_random::Rng;

/// Fails at the first difference of two states. The message has only the text around the difference, since states may
/// be long.
fn assert_same_state(a: &str, b: &str, context: &str) {
    if let Some(at) = a.bytes().zip(b.bytes()).position(|(a, b)| a != b) {
        let near = |text: &str| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
        panic!("{context}:\n{}\n{}", near(a), near(b));
    }
}

proptest! {
    #![proptest_config(seeded(3))]

    #[test]
    fn a_change_to_equal_parameters_at_any_time_changes_nothing(seed in any::<u64>()) {
        let traffic = traffic(seed, 400);
        for document in documents().into_iter().chain(bases()) {
            let spec = spec(&document);
            spec.check_retune(&spec).expect("equal parameters");
            let mut unchanged = Ride::new(&spec, &site(), seed);
            unchanged.serve(&traffic, |_, _| {});
            let mut retuned = Ride::new(&spec, &site(), seed);
            let rng = &mut Rng::named(seed, "changes");
            retuned.serve(&traffic, |ride, now| {
                if rng.chance(0.1) {
                    let before = format!("{:?}", ride.q);
                    ride.q.retune(now, &spec, &site());
                    assert_same_state(&before, &format!("{:?}", ride.q), &document.to_string());
                }
            });
            assert_equal(&retuned.log, &unchanged.log, &document.to_string());
        }
    }
}
