//! Lengths of test packets.

/// Bytes on the wire of a packet of `size` buffer bytes: more by 4 to 40 bytes, and not in proportion, so that a
/// discipline that counts the wrong ones serves in another order.
pub fn wire(size: u16) -> u16 {
    size.saturating_add(4 + size % 37)
}
