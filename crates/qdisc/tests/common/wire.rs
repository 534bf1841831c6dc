//! Wire lengths of test packets.

/// Returns the wire bytes of a packet of `size` buffer bytes: 4 to 40 more, not in proportion, so that a discipline
/// that counts the wrong length serves in another order.
pub fn wire(size: u16) -> u16 {
    size.saturating_add(4 + size % 37)
}
