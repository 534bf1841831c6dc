//! Checksums of the Internet protocols and of Ethernet.

/// A sum of 16-bit words in ones' complement (RFC 1071).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes, which begin at an even offset; an odd last byte is padded with a zero.
    pub fn add(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<2>();
        self.0 += pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>();
        self.0 += rest.first().map_or(0, |last| u64::from(*last) << 8);
    }
    /// Returns the checksum: the complement of the folded sum.
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// Table of the CRC-32 of Ethernet by byte.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Initial state of a CRC-32.
pub(super) const CRC_START: u32 = u32::MAX;

/// Returns the state of a CRC-32 (IEEE 802.3 clause 3.2.9) after further bytes. The check value is the complement of the
/// last state, sent with the lowest byte first.
pub(super) fn crc32(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |crc, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_qdisc::congestion_notification::wire::check_sequence;

    #[test]
    fn the_example_of_rfc_1071_has_the_sum_ddf2() {
        // Section 3: 0001 f203 f4f5 f6f7 sum to ddf2.
        let mut sum = Sum::default();
        sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.checksum(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_the_upper_half_of_a_word() {
        let mut sum = Sum::default();
        sum.add(&[0x12, 0x34, 0x56]);
        assert_eq!(sum.checksum(), !(0x1234 + 0x5600));
    }

    #[test]
    fn the_check_value_of_the_nine_digits_is_that_of_the_catalogue() {
        // CRC-32/ISO-HDLC, check = cbf43926 (Cook, Catalogue of parametrised CRC algorithms).
        assert_eq!(!crc32(CRC_START, b"123456789"), 0xcbf4_3926);
        assert_eq!(!crc32(CRC_START, b"123456789"), check_sequence(b"123456789"));
    }
}
