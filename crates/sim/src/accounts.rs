//! A port's accounts by class, the first one kept where the hot path already is.

use crate::ledger::Count;
use std::ops::{Index, IndexMut};

/// One class's account at a port, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ClassAccount {
    pub arrived: Count,
    pub dropped: Count,
    /// Packets whose transmission has begun.
    pub started: Count,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Most buffer bytes waiting since the end of the warm-up.
    pub max: u64,
    /// Integral of the buffer bytes waiting over time, byte · picosecond. At a port that sends ahead it
    /// includes the future of those that wait.
    pub area: u128,
}

/// One account per class, at least one. Most ports have one class only, whose account then shares
/// cache lines with the port instead of lying in a block of its own: with thousands of ports that
/// is what a hop waits for.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Accounts {
    first: ClassAccount,
    more: Vec<ClassAccount>,
}

impl Accounts {
    pub fn new(classes: usize) -> Accounts {
        Accounts { first: ClassAccount::default(), more: vec![ClassAccount::default(); classes - 1] }
    }
    pub fn len(&self) -> usize {
        1 + self.more.len()
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ClassAccount> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }
}

impl Index<usize> for Accounts {
    type Output = ClassAccount;
    #[inline]
    fn index(&self, class: usize) -> &ClassAccount {
        if class == 0 { &self.first } else { &self.more[class - 1] }
    }
}

impl IndexMut<usize> for Accounts {
    #[inline]
    fn index_mut(&mut self, class: usize) -> &mut ClassAccount {
        if class == 0 { &mut self.first } else { &mut self.more[class - 1] }
    }
}
