//! Hash of a file with a component.

use crate::abi::ABI;
use core::fmt::Write;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the file, the version of the interface, and the form of the code with its platform, in hexadecimal.
pub(crate) fn of(form: &str, file: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{form} {ABI}\n"));
    hash.update(file);
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_digest_is_sha_256_of_form_version_and_file() {
        // printf 'wasm 1\nabc' | sha256sum
        assert_eq!(super::of("wasm", b"abc"), "1cd571ba56dc258db16a3de28569cd55a93a381def374611409227d2deb9a9cf");
        assert_ne!(super::of("wasm", b"abc"), super::of("native", b"abc"));
    }
}
