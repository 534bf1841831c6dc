//! Properties of a change of any parameter at any time.

use super::every_parameter::{bases, valid};
use super::parameters::{Leaf, Schema, replaced};
use super::ride::{Ride, site, spec, traffic};
use crate::common::seeded;
use proptest::prelude::*;
use serde_json::Value;
use tailback_document::Path;
use tailback_qdisc::{Discipline, Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::Time;

/// Returns the sequence number and the buffer bytes of each waiting packet, in ascending order, and `true` if it is
/// marked.
fn waiting(q: &Discipline) -> Vec<(u32, u16, bool)> {
    let mut all = Vec::new();
    q.visit(&mut |packet| all.push((packet.seq, packet.size, packet.ecn() == tailback_qdisc::Ecn::Ce)));
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(seeded(16))]

    #[test]
    fn a_change_drops_and_marks_nothing_and_all_packets_leave_in_the_end(seed in any::<u64>()) {
        let schema = Schema::of::<Spec>();
        let traffic = traffic(seed, 400);
        let rng = &mut Rng::named(seed, "changes");
        let mut total_changes = 0;
        for base in bases() {
            let mut leaves = Vec::new();
            schema.visit(&schema.0, "", &Path::root(), Some(&base), &mut leaves);
            let first = spec(&base);
            let mut document = base.clone();
            let mut ride = Ride::new(&first, &site(), seed);
            let mut changes = 0;
            ride.serve(&traffic, |ride, now: Time| {
                if !rng.chance(0.05) || leaves.is_empty() {
                    return;
                }
                let Leaf { at, values, .. } = &leaves[rng.below(leaves.len() as u64) as usize];
                let value: &Value = &values[rng.below(values.len() as u64) as usize];
                let Some(changed) = replaced(&document, at, value) else { return };
                let Some(to) = valid(&changed).filter(|to| spec(&document).check_retune(to).is_ok()) else { return };
                let site = if rng.chance(0.3) { Site { packets: 5 + rng.below(30), ..site() } } else { site() };
                let before = waiting(&ride.q);
                ride.q.retune(now, &to, &site);
                assert_eq!(waiting(&ride.q), before, "{changed}");
                ride.q.probe(&mut |name, value| assert!(value.is_finite(), "{name} of {changed}"));
                document = changed;
                changes += 1;
            });
            total_changes += changes;
            prop_assert_eq!(ride.q.packets(), 0, "{} after {} changes", document, changes);
        }
        prop_assert!(total_changes > 1_000, "{}", total_changes);
    }
}
