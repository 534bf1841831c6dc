//! What may leave a port just now: the effect of back-pressure on a discipline.

/// Every destination, in a closed pair.
const ANY_CLASS: u8 = 0xff;

/// The traffic that is stopped. A packet passes when neither its port, nor its class, nor its
/// destination (within its class) is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    port: bool,
    classes: u8,
    /// (class mask, destination), sorted by destination and one entry each.
    destinations: Vec<(u16, u8)>,
}

impl Gate {
    /// Lets everything pass again.
    pub fn open_all(&mut self) {
        self.port = false;
        self.classes = 0;
        self.destinations.clear();
    }
    /// Stops everything.
    pub fn close_port(&mut self) {
        self.port = true;
    }
    /// Stops a class.
    pub fn close_class(&mut self, class: u8) {
        self.classes |= 1 << class;
    }
    /// Stops a destination, in one class or (none) in all.
    pub fn close_destination(&mut self, destination: u16, class: Option<u8>) {
        let mask = class.map_or(ANY_CLASS, |c| 1 << c);
        match self.destinations.binary_search_by_key(&destination, |d| d.0) {
            Ok(i) => self.destinations[i].1 |= mask,
            Err(i) => self.destinations.insert(i, (destination, mask)),
        }
    }
    /// Whether nothing is stopped.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.port && self.classes == 0 && self.destinations.is_empty()
    }
    /// Whether a class may send to some destination.
    #[inline]
    pub fn admits_class(&self, class: u8) -> bool {
        !self.port && self.classes & (1 << class) == 0
    }
    /// Whether any destination is stopped on its own.
    #[inline]
    pub fn selects_destinations(&self) -> bool {
        !self.destinations.is_empty()
    }
    /// Whether a destination is not stopped on its own, for packets of `class`.
    #[inline]
    pub fn admits_destination(&self, class: u8, destination: u16) -> bool {
        match self.destinations.binary_search_by_key(&destination, |d| d.0) {
            Ok(i) => self.destinations[i].1 & (1 << class) == 0,
            Err(_) => true,
        }
    }
    /// Whether a packet of `class` to `destination` passes.
    #[inline]
    pub fn admits(&self, class: u8, destination: u16) -> bool {
        self.admits_class(class) && self.admits_destination(class, destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_stops_what_it_names_and_nothing_else() {
        let mut gate = Gate::default();
        assert!(gate.is_open() && gate.admits(0, 1));
        gate.close_class(1);
        assert!(gate.admits(0, 1) && !gate.admits(1, 1));
        gate.close_destination(7, Some(0));
        assert!(!gate.admits(0, 7) && gate.admits(0, 8) && gate.admits(2, 7));
        gate.close_destination(7, None);
        assert!(!gate.admits(2, 7) && gate.admits(2, 8));
        gate.close_port();
        assert!(!gate.admits(2, 8));
        gate.open_all();
        assert!(gate.is_open());
    }
}
