//! Texts that pass between the module and its host: arguments of exported functions, and the last result.

use std::cell::RefCell;

thread_local! {
    /// Answer, or text of the error, of the last call of an exported function that has an answer; kept until the next
    /// such call, so that the host can read it. Text in UTF-8, except that of `tailback_take_rows`.
    pub(crate) static RESULT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the text in the `len` bytes at `ptr`.
///
/// # Errors
/// If the bytes are not UTF-8.
///
/// # Safety
///
/// `ptr` is not null, even if `len` is 0, and `len` is at most `isize::MAX`. The `len` bytes at `ptr` are initialised
/// memory of one allocation. They are neither written nor freed while the text is used: the lifetime `'a` is chosen by
/// the caller and does not enforce this.
pub(crate) unsafe fn text_at<'a>(ptr: *const u8, len: usize) -> Result<&'a str, String> {
    // SAFETY: the contract above is that of `from_raw_parts`; bytes need no alignment.
    let bytes = unsafe { std::slice::from_raw_parts(ptr, len) };
    std::str::from_utf8(bytes).map_err(|error| format!("the text is not UTF-8: {error}"))
}
