//! Digest of a result: a hash over its integers, for the comparison of runs.

use crate::Sketch;
use core::hash::Hasher;
use siphasher::sip128::{Hasher128, SipHasher13};

/// A 128-bit SipHash-1-3 (Aumasson and Bernstein 2012) of integers and texts in a canonical form: every integer in
/// eight or sixteen little-endian bytes, every text preceded by its length. It detects accidental differences, not
/// deliberate ones, since its key is public.
#[derive(Clone, Debug)]
pub struct Digest(SipHasher13);

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

impl Digest {
    /// Version of the digest. It changes with the hash, the order of its input and the names of random streams, so that
    /// digests of different versions never compare equal. Development versions before 0.1.0 had `tb1`, with the link's
    /// number in the names of ports' random streams.
    pub const VERSION: &str = "tb2";

    /// Returns an empty digest.
    pub fn new() -> Digest {
        Digest(SipHasher13::new_with_keys(0, 0))
    }

    /// Adds an integer.
    pub fn u64(&mut self, value: u64) {
        self.0.write(&value.to_le_bytes());
    }

    /// Adds a wide integer, such as a sum.
    pub fn u128(&mut self, value: u128) {
        self.0.write(&value.to_le_bytes());
    }

    /// Adds a text, such as a name, preceded by its length in bytes, so that adjacent texts are separated.
    pub fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.0.write(text.as_bytes());
    }

    /// Adds a sketch: count, sum, minimum, maximum, then index and count of each non-empty bucket.
    pub fn sketch(&mut self, sketch: &Sketch) {
        self.u64(sketch.count());
        self.u128(sketch.sum());
        self.u64(sketch.min().unwrap_or(u64::MAX));
        self.u64(sketch.max().unwrap_or(0));
        self.u64(sketch.buckets().count() as u64);
        for bucket in sketch.buckets() {
            self.u64(u64::from(bucket.index));
            self.u64(bucket.count);
        }
    }

    /// Returns the digest of the values added so far: `tb2:` and 32 lower-case hexadecimal digits.
    pub fn finish(&self) -> String {
        let hash = self.0.finish128();
        format!("{}:{:016x}{:016x}", Digest::VERSION, hash.h1, hash.h2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the digest of the values that `write` adds.
    fn digest_of(write: impl Fn(&mut Digest)) -> String {
        let mut digest = Digest::new();
        write(&mut digest);
        digest.finish()
    }

    #[test]
    fn the_digest_of_a_known_sequence_never_changes() {
        let result = digest_of(|d| {
            d.u64(1);
            d.u128(2);
            d.text("sw1->sw2");
        });
        assert_eq!(result, "tb2:06d3e43770e77ce8fc1a86f8df11172b");
    }

    #[test]
    fn order_boundaries_and_widths_all_change_the_digest() {
        let variants = [
            digest_of(|_| ()),
            digest_of(|d| d.u64(1)),
            digest_of(|d| d.u128(1)),
            digest_of(|d| {
                d.u64(1);
                d.u64(2);
            }),
            digest_of(|d| {
                d.u64(2);
                d.u64(1);
            }),
            digest_of(|d| {
                d.text("ab");
                d.text("c");
            }),
            digest_of(|d| {
                d.text("a");
                d.text("bc");
            }),
        ];
        for (i, a) in variants.iter().enumerate() {
            assert!(variants[..i].iter().all(|b| a != b), "variant {i} collides");
        }
    }

    #[test]
    fn sketches_with_equal_contents_have_equal_digests_for_any_history() {
        let mut up = Sketch::new();
        let mut down = Sketch::new();
        (1..60).for_each(|i| up.record(1 << i));
        (1..60).rev().for_each(|i| down.record(1 << i));
        assert_eq!(digest_of(|d| d.sketch(&up)), digest_of(|d| d.sketch(&down)));
        down.record(5);
        assert_ne!(digest_of(|d| d.sketch(&up)), digest_of(|d| d.sketch(&down)));
    }
}
