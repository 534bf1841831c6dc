//! Messages of congestion points and tags as bytes, compared with frames that are written by hand.

use tailback_qdisc::congestion_notification::cp::{Spec, bcn, qcn};
use tailback_qdisc::congestion_notification::wire::{
    BcnMessage, CN_TAG_LENGTH, COPIED, Cnm, Format, Malformed, RATE_LIMITED_LENGTH, RateLimitedTag, check_sequence,
};

const HOST: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
const BRIDGE: [u8; 6] = [0x02, 0, 0, 0, 0xff, 0x07];

#[test]
fn the_check_sequence_is_crc_32() {
    // The check value of CRC-32/ISO-HDLC.
    assert_eq!(check_sequence(b"123456789"), 0xcbf4_3926);
}

#[test]
fn a_bcn_message_has_the_slides_fields_in_their_order_and_is_the_shortest_frame() {
    let mut copied = [0; COPIED];
    copied[..6].copy_from_slice(&[9, 8, 7, 6, 5, 4]);
    let message = BcnMessage {
        destination: HOST,
        source: BRIDGE,
        control: 0xe000,
        version: 1,
        point: 0x1234,
        offset: -12,
        growth: 4,
        timestamp: 0xabcd,
        copied,
    };
    let bytes = message.encode();
    let expected = [
        0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0xff, 0x07, // addresses
        0x81, 0x00, 0xe0, 0x00, // Q-tag of priority 7
        0x88, 0xb5, // EtherType
        0x10, 0x00, // version 1
        0x12, 0x34, // CPID
        0xff, 0xf4, // Qoff -12
        0x00, 0x04, // Qdelta 4
        0xab, 0xcd, // timestamp
        9, 8, 7, 6, 5, 4,
    ];
    assert_eq!(bytes.len(), 64);
    assert_eq!(bytes[..expected.len()], expected);
    assert_eq!(bytes[60..], check_sequence(&bytes[..60]).to_le_bytes());
    assert_eq!(BcnMessage::decode(&bytes), Ok(message));
    let mut broken = bytes;
    broken[20] ^= 1;
    assert_eq!(BcnMessage::decode(&broken), Err(Malformed::Check));
    assert_eq!(BcnMessage::decode(&bytes[..3]), Err(Malformed::Short));
    assert_eq!(Cnm::decode(&bytes), Err(Malformed::EtherType(0x88b5)));
}

#[test]
fn tags_name_the_congestion_point_in_sixteen_bits() {
    let tag = RateLimitedTag { version: 0, solicit: true, point: 0xbeef, timestamp: 0x0102 };
    let bytes = tag.encode();
    assert_eq!(bytes, [0x89, 0x04, 0x00, 0x01, 0xbe, 0xef, 0x01, 0x02]);
    assert_eq!(RateLimitedTag::decode(&bytes), Ok(tag));
    assert_eq!(RateLimitedTag::decode(&[0x08, 0, 0, 0, 0, 0, 0, 0]), Err(Malformed::EtherType(0x0800)));
    assert_eq!((RATE_LIMITED_LENGTH, CN_TAG_LENGTH), (8, 4));
}

#[test]
fn a_cnm_has_the_fields_of_802_1qau_in_their_order() {
    let message = Cnm {
        destination: HOST,
        source: BRIDGE,
        control: 0xc000,
        flow: Some(0x0042),
        version: 0,
        feedback: 0x2a,
        point: 0x0200_0000_ff07_0003,
        offset: -300,
        growth: 17,
        priority: 3,
        sampled_destination: [2, 0, 0, 0, 0, 9],
        msdu: vec![0x45; 64],
    };
    let bytes = message.encode();
    let expected = [
        0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0xff, 0x07, // addresses
        0x81, 0x00, 0xc0, 0x00, // Q-tag of priority 6
        0x22, 0xe9, 0x00, 0x42, // CN-TAG
        0x22, 0xe7, // EtherType
        0x00, 0x2a, // version 0, six reserved bits, |Fb| 42
        0x02, 0, 0, 0, 0xff, 0x07, 0x00, 0x03, // CPID
        0xfe, 0xd4, // Qoff -300
        0x00, 0x11, // Qdelta 17
        0x60, 0x00, // priority 3
        2, 0, 0, 0, 0, 9, // destination of the sampled frame
        0x00, 0x40, // 64 bytes of the frame copied
        0x45,
    ];
    assert_eq!(bytes.len(), 114);
    assert_eq!(bytes[..expected.len()], expected);
    assert_eq!(Cnm::decode(&bytes), Ok(message.clone()));

    // A short message is padded, and a long copy is cut off.
    let short = Cnm { flow: None, msdu: vec![7; 3], ..message.clone() };
    assert_eq!(short.encode().len(), 64);
    assert_eq!(Cnm::decode(&short.encode()), Ok(short));
    let long = Cnm { msdu: vec![7; 1500], ..message };
    assert_eq!(Cnm::decode(&long.encode()).map(|read| read.msdu), Ok(vec![7; 64]));
}

#[test]
fn the_length_of_a_message_depends_on_its_format_the_sampled_frame_and_the_cn_tag() {
    let (bcn, cnm) = (Format::of(&Spec::Bcn(bcn::Params::default())), Format::of(&Spec::Qcn(qcn::Params::default())));
    assert_eq!((bcn.length(1518, true), bcn.length(64, false)), (64, 64));
    // A full frame with a CN-TAG, a full frame without, and a minimum frame with a CN-TAG, whose payload has 46 bytes.
    assert_eq!((cnm.length(1518, true), cnm.length(1518, false), cnm.length(64, true)), (114, 110, 96));
}

#[test]
fn every_field_of_a_message_and_a_tag_keeps_to_its_bits() {
    // Fields with all bits set next to fields with none.
    let cnm = |ones: bool, flow: Option<u16>| {
        let (word, inverse) = if ones { (u16::MAX, 0) } else { (0, u16::MAX) };
        Cnm {
            destination: [word as u8; 6],
            source: [inverse as u8; 6],
            control: word,
            flow,
            version: (inverse & 0xf) as u8,
            feedback: (word & 0x3f) as u8,
            point: if ones { 0 } else { u64::MAX },
            offset: word as i16,
            growth: inverse as i16,
            priority: (word & 7) as u8,
            sampled_destination: [inverse as u8; 6],
            msdu: vec![word as u8; 46],
        }
    };
    for message in [cnm(true, None), cnm(false, Some(0)), cnm(true, Some(0x22e7)), cnm(false, None)] {
        let bytes = message.encode();
        // 18 bytes of addresses, Q-tag and EtherType, 24 of fields, 46 of the frame, 4 of the check sequence, and 4 of
        // the CN-TAG.
        assert_eq!(bytes.len(), if message.flow.is_some() { 96 } else { 92 });
        assert_eq!(Cnm::decode(&bytes), Ok(message));
        // A frame that ends too early is refused even if its check sequence is right.
        for length in 0..bytes.len() - 4 {
            let mut short = bytes[..length].to_vec();
            short.extend(check_sequence(&bytes[..length]).to_le_bytes());
            assert_eq!(Cnm::decode(&short), Err(Malformed::Short), "{length} bytes");
        }
    }
    for version in [0, 1, 15] {
        for solicit in [false, true] {
            let tag = RateLimitedTag { version, solicit, point: !u16::from(version), timestamp: u16::from(version) };
            let bytes = tag.encode();
            assert_eq!(bytes[2..4], [version << 4, u8::from(solicit)]);
            assert_eq!(RateLimitedTag::decode(&bytes), Ok(tag));
            assert!((0..8).all(|length| RateLimitedTag::decode(&bytes[..length]) == Err(Malformed::Short)));
            let message = BcnMessage {
                destination: HOST,
                source: BRIDGE,
                control: 0xffff,
                version,
                point: 1,
                offset: i16::MIN,
                growth: -1,
                timestamp: 0x8001,
                copied: [version; COPIED],
            };
            assert_eq!(BcnMessage::decode(&message.encode()), Ok(message));
        }
    }
}

#[test]
fn a_notification_message_copies_up_to_64_bytes_and_is_no_shorter_than_the_shortest_frame() {
    let (bcn, cnm) = (Format::Bcn, Format::Cnm);
    // The 18 bytes of addresses, Q-tag and EtherType are not copied; the message without the copy has 46 bytes.
    for (sampled, plain, tagged) in [
        (0, 64, 64),
        (18, 64, 64),
        (31, 64, 64),
        (32, 64, 64),
        (33, 64, 65),
        (36, 64, 68),
        (37, 65, 69),
        (81, 109, 113),
        (82, 110, 114),
        (83, 110, 114),
        (9000, 110, 114),
    ] {
        assert_eq!((cnm.length(sampled, false), cnm.length(sampled, true)), (plain, tagged), "{sampled} bytes");
        assert_eq!((bcn.length(sampled, false), bcn.length(sampled, true)), (64, 64));
    }
}

/// IEEE 802.3: a frame has at least 64 bytes. With 6 + 6 bytes of addresses, a Q-tag of 4, an EtherType, and 24 + 2 bytes
/// of the message, 20 bytes are missing before the check sequence of 4 bytes.
#[test]
fn a_cnm_without_a_payload_is_padded_with_zeros_to_64_bytes() {
    let message = Cnm {
        destination: HOST,
        source: BRIDGE,
        control: 0xc000,
        flow: None,
        version: 0,
        feedback: 1,
        point: 2,
        offset: 3,
        growth: 4,
        priority: 5,
        sampled_destination: [2, 0, 0, 0, 0, 9],
        msdu: vec![],
    };
    let bytes = message.encode();
    assert_eq!(bytes.len(), 64);
    assert_eq!(bytes[42..60], [0; 18]);
    assert_eq!(Cnm::decode(&bytes), Ok(message));
}
