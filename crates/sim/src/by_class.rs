//! One thing per class, the first one kept where its owner is.

use std::ops::{Index, IndexMut};

/// One per class, at least one, the highest first. Most ports have one class only, whose part then shares cache lines
/// with what else a packet touches instead of lying in a block of its own: with thousands of ports that is what a hop
/// waits for.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ByClass<T> {
    first: T,
    more: Vec<T>,
}

impl<T> ByClass<T> {
    /// As many as there are classes.
    pub fn new(mut of_classes: impl Iterator<Item = T>) -> ByClass<T> {
        let Some(first) = of_classes.next() else { unreachable!("there is at least one class") };
        ByClass { first, more: of_classes.collect() }
    }
    pub fn len(&self) -> usize {
        1 + self.more.len()
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.more)
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }
}

impl<T> Index<usize> for ByClass<T> {
    type Output = T;
    #[inline]
    fn index(&self, class: usize) -> &T {
        if class == 0 { &self.first } else { &self.more[class - 1] }
    }
}

impl<T> IndexMut<usize> for ByClass<T> {
    #[inline]
    fn index_mut(&mut self, class: usize) -> &mut T {
        if class == 0 { &mut self.first } else { &mut self.more[class - 1] }
    }
}
