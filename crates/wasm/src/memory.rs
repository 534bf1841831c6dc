//! Texts at the border of the module: those of the host, and the last answer.

use std::cell::RefCell;

thread_local! {
    /// The last answer, kept until the next call.
    pub(crate) static RESULT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the text in the `len` bytes at `at`.
///
/// # Safety
///
/// The `len` bytes at `at` are initialised memory, and unchanged while the text is used.
pub(crate) unsafe fn text_at<'a>(at: *const u8, len: usize) -> Result<&'a str, String> {
    // SAFETY: by the contract above.
    let bytes = unsafe { std::slice::from_raw_parts(at, len) };
    std::str::from_utf8(bytes).map_err(|error| format!("the text is not UTF-8: {error}"))
}
