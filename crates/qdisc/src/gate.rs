//! The traffic that back-pressure stops at a port.

/// Mask of all classes.
const ANY_CLASS: u8 = 0xff;

/// The stopped traffic. A packet passes if its port, its class and its destination (within its class) are open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// `true` if the port is stopped.
    port: bool,
    /// Mask of the stopped classes.
    classes: u8,
    /// Destinations with the mask of the classes stopped for them, sorted by destination, one entry
    /// each.
    destinations: Vec<(u16, u8)>,
}

impl Gate {
    /// Opens the port, all classes and all destinations.
    pub fn open_all(&mut self) {
        self.port = false;
        self.classes = 0;
        self.destinations.clear();
    }
    /// Stops the port.
    pub fn close_port(&mut self) {
        self.port = true;
    }
    /// Stops a class, 0 to 7.
    pub fn close_class(&mut self, class: u8) {
        self.classes |= 1 << class;
    }
    /// Stops a destination in one class, 0 to 7. `None`: in all classes.
    pub fn close_destination(&mut self, destination: u16, class: Option<u8>) {
        let mask = class.map_or(ANY_CLASS, |c| 1 << c);
        match self.destinations.binary_search_by_key(&destination, |d| d.0) {
            Ok(i) => self.destinations[i].1 |= mask,
            Err(i) => self.destinations.insert(i, (destination, mask)),
        }
    }
    /// Returns `true` if nothing is stopped.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.port && self.classes == 0 && self.destinations.is_empty()
    }
    /// Returns `true` if neither the port nor the class is stopped.
    #[inline]
    pub fn admits_class(&self, class: u8) -> bool {
        !self.port && self.classes & (1 << class) == 0
    }
    /// Returns `true` if any single destination is stopped.
    #[inline]
    pub fn selects_destinations(&self) -> bool {
        !self.destinations.is_empty()
    }
    /// Returns `true` if the destination is not stopped for packets of `class`.
    #[inline]
    pub fn admits_destination(&self, class: u8, destination: u16) -> bool {
        match self.destinations.binary_search_by_key(&destination, |d| d.0) {
            Ok(i) => self.destinations[i].1 & (1 << class) == 0,
            Err(_) => true,
        }
    }
    /// Returns `true` if a packet of `class` to `destination` passes.
    #[inline]
    pub fn admits(&self, class: u8, destination: u16) -> bool {
        self.admits_class(class) && self.admits_destination(class, destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_class_or_destination_stops_no_other_traffic() {
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
