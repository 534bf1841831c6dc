//! Names of state variables, which live as long as the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());

/// Returns a name that lives as long as the program, for [`crate::QueueLaw::probe`]; equal names are stored once.
pub fn lasting(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name.to_owned(), lasting);
    lasting
}
