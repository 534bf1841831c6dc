//! Random networks that combine all features: pause storms, TCP and RDMA under every congestion control, links from 1
//! to 100 Mbit/s, loss, jitter, every change of the timeline, applications, disciplines, back-pressure,
//! congestion points, rate limiters, meters, switch models, labels and time series.
//!
//! `network` generates the document of a seed, `judge` checks the properties of its runs, `coverage` checks that every
//! kind of each feature occurs.
//!
//! The ordinary test has the same networks in each run; the long test (`make validate`) draws its first seed and prints
//! it. A failure prints the network's seed and the smallest document found that still fails. `TAILBACK_FUZZ_SEED=n
//! TAILBACK_FUZZ=1 cargo test -p tailback-parallel --test random_networks` repeats the failure of seed n.

#![allow(clippy::disallowed_methods, reason = "settings of the test come from the environment")]

mod capture;
mod coverage;
mod draw;
mod flows;
mod judge;
mod network;
mod shrink;
mod switching;
mod timeline;
mod trace;
mod why;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// First seed of the ordinary test.
const FIRST: u64 = 1;
/// Number of networks of the ordinary test.
const ORDINARY: u32 = 300;
/// Number of networks of the long test.
const LONG: u32 = 10_000;

/// Reads an integer from an environment variable; `None`: the variable is not set.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number")))
}

/// Judges the networks of `count` seeds from `first` on, on all processors; panics with the failure of the lowest seed.
/// `TAILBACK_FUZZ_SEED` and `TAILBACK_FUZZ` replace `first` and `count`.
fn judge_all(first: u64, count: u32) {
    let first = variable("TAILBACK_FUZZ_SEED").unwrap_or(first);
    let count = variable("TAILBACK_FUZZ").unwrap_or(u64::from(count));
    // Written directly to stderr, without the capture of test output, so that a run that passes prints its seed too.
    writeln!(std::io::stderr(), "{count} random networks from TAILBACK_FUZZ_SEED={first} on")
        .expect("stderr takes text");
    let (next, hops) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<(u64, String)>> = Mutex::new(None);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let mut known = failed.lock().expect("no thread panics while it holds the lock");
            // After a failure, networks with lower numbers are still judged, so that the failure that is reported does
            // not depend on the threads.
            if number >= count || known.as_ref().is_some_and(|(earlier, _)| *earlier < number) {
                return;
            }
            drop(known);
            match fault(first.wrapping_add(number)) {
                Ok(hops_of_network) => hops.fetch_add(hops_of_network, Ordering::Relaxed),
                Err(failure) => {
                    known = failed.lock().expect("no thread panics while it holds the lock");
                    if known.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        *known = Some((number, failure));
                    }
                    return;
                }
            };
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    if let Some((number, failure)) = failed.into_inner().expect("no thread panicked while it held the lock") {
        let seed = first.wrapping_add(number);
        panic!(
            "network {} of {count}, TAILBACK_FUZZ_SEED={seed} TAILBACK_FUZZ=1: {failure}\n{}",
            number + 1,
            smallest(seed)
        );
    }
    if count >= 100 {
        why::covered();
    }
    let hops = hops.into_inner();
    assert!(
        count < 100 || hops > 100 * count,
        "{hops} packets on links in {count} networks: the networks carry hardly any traffic"
    );
}

/// Judges the network of a seed; returns the number of its packet-hops.
///
/// # Errors
/// The violated property.
fn fault(seed: u64) -> Result<u64, String> {
    let scenario = judge::scenario(&network::document(seed)).map_err(|refusal| format!("refused: {refusal}"))?;
    judge::judge(&scenario)
}

/// Returns the failure and the text of the smallest document found that fails as the document of a seed does.
fn smallest(seed: u64) -> String {
    let fails =
        |document: &serde_json::Value| judge::scenario(document).is_ok_and(|scenario| judge::judge(&scenario).is_err());
    let document = network::document(seed);
    if !fails(&document) {
        return document.to_string();
    }
    // Silences the panic messages of the trials.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let smallest = shrink::shrink(&document, fails);
    std::panic::set_hook(hook);
    let scenario = judge::scenario(&smallest).expect("a document that fails is valid");
    format!("{}\n{}", judge::judge(&scenario).expect_err("the smallest document fails"), scenario.to_toml())
}

#[test]
fn random_networks_have_the_same_report_with_either_engine_in_parts_and_on_threads() {
    judge_all(FIRST, ORDINARY);
}

#[test]
#[ignore = "long: `make validate`"]
fn ten_thousand_new_networks_have_the_same_report_with_either_engine_in_parts_and_on_threads() {
    // The hash keys of the standard library are random in each process; the shift keeps the seed below 2^63.
    judge_all(RandomState::new().build_hasher().finish() >> 1, LONG);
}
