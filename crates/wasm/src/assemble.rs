//! Export for hosts that load users' components from WebAssembly text.

use crate::memory::text_at;
use crate::stepping::answer;

/// Assembles the WebAssembly text (`.wat`) in the `len` bytes at `at`, UTF-8. The answer is the binary module, as the
/// native program makes it of the same text.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_assemble(at: *const u8, len: usize) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    answer(text.and_then(|text| wat::parse_str(text).map_err(|error| error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tailback_result_len, tailback_result_ptr};

    /// Assembles a text; returns the status and the answer.
    fn assembled(text: &str) -> (u32, Vec<u8>) {
        // SAFETY: the text is initialised memory, and the answer is kept until the next call.
        unsafe {
            let status = tailback_assemble(text.as_ptr(), text.len());
            (status, std::slice::from_raw_parts(tailback_result_ptr(), tailback_result_len()).to_vec())
        }
    }

    #[test]
    fn a_text_becomes_a_module_and_a_wrong_text_names_its_place() {
        // The empty module is the magic number and version 1 (WebAssembly specification, 5.5.16).
        assert_eq!(assembled("(module)"), (0, b"\0asm\x01\0\0\0".to_vec()));
        let (status, message) = assembled("(module\n  (nonsense))");
        let message = String::from_utf8(message).expect("messages are UTF-8");
        assert_eq!(status, 1);
        assert!(message.contains(":2:4"), "{message}");
    }
}
