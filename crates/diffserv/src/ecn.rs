//! The field for explicit congestion notification.

/// ECN code point of a packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: not ECN-capable, so that the packet can only be dropped.
    #[default]
    NotEct = 0b00,
    /// ECT(1): ECN-capable, of a low-latency transport (L4S, RFC 9331).
    Ect1 = 0b01,
    /// ECT(0): ECN-capable.
    Ect0 = 0b10,
    /// CE: congestion experienced.
    Ce = 0b11,
}
