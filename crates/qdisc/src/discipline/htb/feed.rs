//! Classes that take turns, in the order of their indices.

use crate::state::bytes_of;

/// A set of classes by their indices, which are at most 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set([u64; 4]);

impl Set {
    fn insert(&mut self, class: u8) {
        self.0[usize::from(class / 64)] |= 1 << (class % 64);
    }
    fn remove(&mut self, class: u8) {
        self.0[usize::from(class / 64)] &= !(1 << (class % 64));
    }
    fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }
    /// Returns the first class from `class` on.
    fn from(&self, class: u8) -> Option<u8> {
        let first = usize::from(class / 64);
        (first..4).find_map(|word| {
            let mask = if word == first { u64::MAX << (class % 64) } else { u64::MAX };
            let found = self.0[word] & mask;
            (found != 0).then(|| (word * 64) as u8 + found.trailing_zeros() as u8)
        })
    }
}

/// Classes of one priority that take turns (`struct htb_prio` in Linux): those of one level that may send, or the
/// children that borrow from one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    members: Set,
    /// Class whose turn it is, a member. `None`: the turn of the last member is over.
    turn: Option<u8>,
    /// Class that has left the feed in its turn; its turn continues if it returns before the feed is served.
    absent: Option<u8>,
}

impl Feed {
    /// Adds a class.
    pub fn insert(&mut self, class: u8) {
        self.members.insert(class);
    }
    /// Removes a class; if it is its turn, the turn passes to the next one (`htb_remove_class_from_row`).
    pub fn remove(&mut self, class: u8) {
        if self.turn == Some(class) {
            self.pass();
        }
        self.members.remove(class);
    }
    /// Removes a class, and notes that it is its turn, if so (`htb_deactivate_prios`).
    pub fn suspend(&mut self, class: u8) {
        if self.turn == Some(class) {
            (self.turn, self.absent) = (None, Some(class));
        }
        self.members.remove(class);
    }
    /// Returns `true` if no class may be served.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
    /// Returns the class whose turn it is. `None`: the turn of the last one is over.
    pub fn current(&mut self) -> Option<u8> {
        if let Some(class) = self.absent.take().filter(|_| self.turn.is_none()) {
            self.turn = self.members.from(class);
        }
        self.turn
    }
    /// Passes the turn to the next class.
    pub fn pass(&mut self) {
        self.turn = self.turn.and_then(|class| class.checked_add(1)).and_then(|next| self.members.from(next));
    }
    /// Gives the turn to the first class.
    pub fn rewind(&mut self) {
        self.turn = self.members.from(0);
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; members, turn, absent)
    }
}

#[cfg(test)]
mod tests {
    use super::Feed;

    fn feed(classes: &[u8]) -> Feed {
        let mut made = Feed::default();
        for class in classes {
            made.insert(*class);
        }
        made
    }

    #[test]
    fn turns_pass_in_the_order_of_the_classes_and_end_after_the_last() {
        let mut feed = feed(&[200, 3, 70]);
        assert_eq!(feed.current(), None);
        feed.rewind();
        for class in [3, 70, 200] {
            assert_eq!(feed.current(), Some(class));
            feed.pass();
        }
        assert_eq!(feed.current(), None);
    }

    #[test]
    fn a_removed_class_passes_its_turn_and_a_suspended_one_keeps_it() {
        let mut feed = feed(&[1, 2, 3]);
        feed.rewind();
        feed.remove(1);
        feed.insert(1);
        assert_eq!(feed.current(), Some(2));
        feed.suspend(2);
        feed.insert(2);
        assert_eq!(feed.current(), Some(2));
        feed.suspend(2);
        assert_eq!(feed.current(), Some(3));
    }
}
