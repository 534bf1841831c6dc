//! State that the stages of compilation share.

use crate::complaint::Complaints;
use crate::document::Document;
use tailback_document::Path;

/// The document to compile, and the errors found so far.
pub(super) struct Builder<'a> {
    pub(super) document: &'a Document,
    pub(super) complaints: Complaints,
}

/// Returns the path of an entry in a list at the document's root.
pub(super) fn entry(list: &str, index: usize) -> Path {
    Path::root().join(list).join(index)
}
