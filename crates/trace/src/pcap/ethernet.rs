//! Ethernet headers: addresses, tags, MPLS labels.

use tailback_qdisc::congestion_notification::Tag;
use tailback_qdisc::congestion_notification::wire::{Mac, Q_TAG, RateLimitedTag};

/// EtherType of IPv4.
const IPV4: u16 = 0x0800;
/// EtherType of MPLS.
const MPLS: u16 = 0x8847;
/// First label that is not reserved (RFC 3032).
const FIRST_LABEL: u32 = 16;
/// Time to live of a label.
const TTL: u32 = 64;

/// Header of a frame that carries an IP packet.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub destination: Mac,
    pub source: Mac,
    /// Priority in an IEEE 802.1Q tag; `None`: there is no tag.
    pub priority: Option<u8>,
    /// Rate-limited tag, and its time stamp.
    pub limited: Option<(Tag, u16)>,
    /// Label stack; `None`: there is none.
    pub labels: Option<Labels>,
}

/// A label stack whose entries have the same label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    /// Number of entries, at least 1.
    pub count: u8,
    /// Index from which the label is derived.
    pub index: u32,
    /// Traffic class field, 0 to 7.
    pub class: u8,
}

impl Header {
    /// Writes the header, up to the IP header.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.destination);
        out.extend_from_slice(&self.source);
        if let Some(priority) = self.priority {
            put(out, Q_TAG);
            put(out, u16::from(priority) << 13);
        }
        if let Some((tag, timestamp)) = self.limited {
            let tag = RateLimitedTag { version: 0, solicit: tag.solicit, point: tag.point, timestamp };
            out.extend_from_slice(&tag.encode());
        }
        let Some(labels) = self.labels.filter(|labels| labels.count > 0) else { return put(out, IPV4) };
        put(out, MPLS);
        let label = (FIRST_LABEL + labels.index) & 0xf_ffff;
        for entry in 1..=labels.count {
            let bottom = u32::from(entry == labels.count);
            let word = label << 12 | u32::from(labels.class & 7) << 9 | bottom << 8 | TTL;
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

fn put(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Header = Header {
        destination: [2, 0, 0, 0, 0, 2],
        source: [2, 0, 0, 0, 0, 1],
        priority: None,
        limited: None,
        labels: None,
    };

    fn written(header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.write(&mut out);
        out
    }

    #[test]
    fn an_untagged_frame_has_addresses_and_the_type_of_ipv4() {
        assert_eq!(written(&PLAIN), [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    }

    #[test]
    fn a_priority_is_in_the_upper_three_bits_of_a_tag_without_a_vlan() {
        assert_eq!(written(&Header { priority: Some(5), ..PLAIN })[12..], [0x81, 0x00, 0xa0, 0x00, 0x08, 0x00]);
    }

    #[test]
    fn the_last_label_of_a_stack_has_the_bottom_bit() {
        // RFC 3032: label (20 bits), traffic class (3), bottom of stack (1), time to live (8). Label 19, class 5.
        let labels = Some(Labels { count: 2, index: 3, class: 5 });
        let expected = [0x88, 0x47, 0x00, 0x01, 0x3a, 0x40, 0x00, 0x01, 0x3b, 0x40];
        assert_eq!(written(&Header { labels, ..PLAIN })[12..], expected);
    }

    #[test]
    fn a_rate_limited_tag_precedes_the_type_of_the_packet() {
        let limited = Some((Tag { point: 7, solicit: true }, 0x0102));
        let expected = [0x89, 0x04, 0x00, 0x01, 0x00, 0x07, 0x01, 0x02, 0x08, 0x00];
        assert_eq!(written(&Header { limited, ..PLAIN })[12..], expected);
    }
}
