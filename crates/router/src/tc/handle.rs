//! Handles of disciplines and classes.

/// A handle such as `1:10`: the discipline's major and the class's minor number, both written in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Handle {
    pub(super) major: u16,
    pub(super) minor: u16,
}

impl core::fmt::Display for Handle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:x}:{:x}", self.major, self.minor)
    }
}
