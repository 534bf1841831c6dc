//! Array with an element for each class.

use std::ops::{Index, IndexMut};

/// Array with an element for each class, at least one, the highest priority first. Class 0 is stored inline: most ports
/// have no other class, and its state then shares cache lines with the rest of the port. With thousands of ports,
/// cache misses take most of the time of a hop.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ByClass<T> {
    first: T,
    more: Vec<T>,
}

impl<T> ByClass<T> {
    /// Collects one element per class; `of_classes` must yield at least one.
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
