//! Random tests that can be repeated; the tests of other crates include this file.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a configuration for `cases` random cases and prints its seed, with which a failed run can be repeated.
#[allow(clippy::disallowed_methods, reason = "the seed of a random test is new in each run")]
pub fn seeded(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().build_hasher().finish(),
    };
    println!("PROPTEST_RNG_SEED={seed} repeats this run");
    ProptestConfig { rng_seed: RngSeed::Fixed(seed), ..config }
}
