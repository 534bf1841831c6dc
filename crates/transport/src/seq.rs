//! Serial-number arithmetic on segment numbers (RFC 1982), correct if the two numbers are less than 2^31 apart.

/// Returns `true` if segment `a` is before segment `b`.
#[inline]
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Returns the later of two segments.
#[inline]
pub(crate) fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_segment_numbers_survives_the_wrap() {
        assert!(before(u32::MAX, 0) && before(u32::MAX - 5, 7) && !before(0, u32::MAX));
        assert_eq!(later(u32::MAX, 3), 3);
    }
}
