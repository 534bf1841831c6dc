//! Messages of congestion points and tags of rate limiters as bytes.
//!
//! There are two formats: that of BCN (D. Bergamasco and R. Pan, *Backward Congestion Notification Version 2.0*, IEEE
//! 802.1, September 2005) and that of IEEE 802.1Qau (IEEE 802.1Q, clause 33). The engine uses only the lengths of the
//! frames; the functions here encode and decode the bytes for traces. All numbers are big-endian, except the check
//! sequence.
//!
//! The slides of BCN give the fields and their order, but few widths. The other widths are chosen here so that a
//! message is the shortest Ethernet frame; the doc comments of the constants state them.

use super::cp::Spec;

/// A MAC address.
pub type Mac = [u8; 6];

/// EtherType of IEEE 802.1Q's tag for priority and VLAN.
pub const Q_TAG: u16 = 0x8100;
/// EtherType of BCN's rate-limited tag (IEEE registration).
pub const RATE_LIMITED: u16 = 0x8904;
/// EtherType of BCN's messages: that of IEEE 802 for local experiments, since BCN has no registered one.
pub const BCN: u16 = 0x88b5;
/// EtherType of 802.1Qau's tag (CN-TAG).
pub const CN_TAG: u16 = 0x22e9;
/// EtherType of 802.1Qau's congestion notification message (CNM).
pub const CNM: u16 = 0x22e7;

/// Length of both addresses, the Q-tag and the EtherType, bytes.
const HEADER: usize = 18;
/// Length of the frame check sequence, bytes.
const FCS: usize = 4;
/// Length of the copy of the sampled frame in BCN's message, bytes: the slides state "first N bytes"; with this N the
/// message has 64 bytes.
pub const COPIED: usize = 32;
/// Length of BCN's fields between EtherType and copy, bytes: version, CPID, Qoff, Qdelta and timestamp, two bytes each.
const BCN_FIELDS: usize = 10;
/// Length of BCN's message with the check sequence, bytes.
pub const BCN_LENGTH: usize = HEADER + BCN_FIELDS + COPIED + FCS;
/// Length of a CNM's fields before the copy of the sampled frame's payload, bytes (802.1Q, clause 33.4).
const CNM_FIELDS: usize = 24;
/// Upper bound on the bytes of the sampled frame's payload in a CNM.
pub const MAX_MSDU: usize = 64;
/// Bytes that BCN's tag adds to a frame: EtherType, version with the Solicit bit, CPID and timestamp.
pub const RATE_LIMITED_LENGTH: usize = 8;
/// Bytes that a CN-TAG adds to a frame: EtherType and flow identifier.
pub const CN_TAG_LENGTH: usize = 4;

/// Error of decoding bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// There are fewer bytes than the format requires.
    Short,
    /// The EtherType is that of another format.
    EtherType(u16),
    /// The frame check sequence does not match the bytes.
    Check,
}

/// Format of a congestion point's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// That of BCN and ECM.
    Bcn,
    /// That of IEEE 802.1Qau.
    Cnm,
}

impl Format {
    /// Returns the format of a law.
    pub fn of(spec: &Spec) -> Format {
        if matches!(spec, Spec::Qcn(_)) { Format::Cnm } else { Format::Bcn }
    }
    /// Returns the length in bytes, with the check sequence, of a message about a frame of `sampled` bytes that has a
    /// tag (`tagged`) or not. A CNM includes a copy of the start of the frame's payload, and the returned tag.
    pub fn length(self, sampled: u16, tagged: bool) -> u16 {
        let length = match self {
            Format::Bcn => BCN_LENGTH,
            Format::Cnm => {
                let msdu = usize::from(sampled).saturating_sub(HEADER).min(MAX_MSDU);
                (HEADER + CNM_FIELDS + msdu + FCS + if tagged { CN_TAG_LENGTH } else { 0 }).max(64)
            }
        };
        length as u16
    }
}

/// BCN's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BcnMessage {
    /// Source address of the sampled frame.
    pub destination: Mac,
    /// The congestion point's address.
    pub source: Mac,
    /// Priority and VLAN in the Q-tag of the message.
    pub control: u16,
    /// Version, 0 to 15.
    pub version: u8,
    /// CPID: the congestion point's number.
    pub point: u16,
    /// Qoff = Qeq − Q, in the unit of the congestion point. A message of July 2005 has its level here, −4 to 4. If this
    /// and `growth` are 0, the message is BCN(0,0): stop.
    pub offset: i16,
    /// Qdelta: the queue's growth since the previous sample, in the unit of `offset`.
    pub growth: i16,
    /// Timestamp of the sampled frame, or of the congestion point; the slides give no unit.
    pub timestamp: u16,
    /// First bytes of the sampled frame.
    pub copied: [u8; COPIED],
}

impl BcnMessage {
    /// Returns the bytes of the frame with the check sequence.
    pub fn encode(&self) -> [u8; BCN_LENGTH] {
        let mut writer = Writer::default();
        writer.header(self.destination, self.source, self.control);
        writer.u16(BCN);
        writer.u16(u16::from(self.version & 0xf) << 12);
        writer.u16(self.point);
        writer.u16(self.offset as u16);
        writer.u16(self.growth as u16);
        writer.u16(self.timestamp);
        writer.bytes(&self.copied);
        writer.finish().try_into().unwrap_or_else(|_| unreachable!("all fields have fixed widths"))
    }
    /// Reads a frame with its check sequence.
    ///
    /// # Errors
    /// If the check sequence is wrong, bytes are missing, or an EtherType is that of another format.
    pub fn decode(frame: &[u8]) -> Result<BcnMessage, Malformed> {
        let mut reader = Reader::checked(frame)?;
        let (destination, source, control) = reader.header()?;
        reader.expect(BCN)?;
        Ok(BcnMessage {
            destination,
            source,
            control,
            version: (reader.u16()? >> 12) as u8,
            point: reader.u16()?,
            offset: reader.u16()? as i16,
            growth: reader.u16()? as i16,
            timestamp: reader.u16()?,
            copied: reader.array()?,
        })
    }
}

/// BCN's rate-limited tag, between a frame's addresses (and Q-tag) and its own EtherType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitedTag {
    /// Version, 0 to 15.
    pub version: u8,
    /// The Solicit bit of July 2005, the lowest reserved bit; not in version 2.
    pub solicit: bool,
    /// CPID: the congestion point that last slowed the limiter.
    pub point: u16,
    /// Time at which the frame left its limiter; the slides give no unit.
    pub timestamp: u16,
}

impl RateLimitedTag {
    /// Returns the bytes of the tag; the frame's own EtherType follows them.
    pub fn encode(&self) -> [u8; RATE_LIMITED_LENGTH] {
        let mut writer = Writer::default();
        writer.u16(RATE_LIMITED);
        writer.u16(u16::from(self.version & 0xf) << 12 | u16::from(self.solicit));
        writer.u16(self.point);
        writer.u16(self.timestamp);
        writer.0.try_into().unwrap_or_else(|_| unreachable!("all fields have fixed widths"))
    }
    /// Reads a tag.
    ///
    /// # Errors
    /// If bytes are missing, or the EtherType is that of another format.
    pub fn decode(bytes: &[u8]) -> Result<RateLimitedTag, Malformed> {
        let mut reader = Reader(bytes);
        reader.expect(RATE_LIMITED)?;
        let flags = reader.u16()?;
        let (point, timestamp) = (reader.u16()?, reader.u16()?);
        Ok(RateLimitedTag { version: (flags >> 12) as u8, solicit: flags & 1 != 0, point, timestamp })
    }
}

/// 802.1Qau's message (802.1Q, clause 33.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cnm {
    /// Source address of the sampled frame.
    pub destination: Mac,
    /// The congestion point's address.
    pub source: Mac,
    /// Priority and VLAN in the Q-tag of the message.
    pub control: u16,
    /// The flow identifier of the sampled frame's CN-TAG, returned to its reaction point. `None`: the frame had no tag.
    pub flow: Option<u16>,
    /// Version, 0 to 15; 0 is the standard's.
    pub version: u8,
    /// |Fb|, 0 to 63.
    pub feedback: u8,
    /// CPID: by convention the bridge's address and the port's number.
    pub point: u64,
    /// Qoff in units of 64 bytes, two's complement.
    pub offset: i16,
    /// Qdelta in units of 64 bytes, two's complement.
    pub growth: i16,
    /// Priority of the sampled frame, 0 to 7.
    pub priority: u8,
    /// Destination address of the sampled frame.
    pub sampled_destination: Mac,
    /// First bytes of the sampled frame's payload, at most [`MAX_MSDU`]; more are cut off.
    pub msdu: Vec<u8>,
}

impl Cnm {
    /// Returns the bytes of the frame with the check sequence, padded to at least 64 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let msdu = &self.msdu[..self.msdu.len().min(MAX_MSDU)];
        let mut writer = Writer::default();
        writer.header(self.destination, self.source, self.control);
        if let Some(flow) = self.flow {
            writer.u16(CN_TAG);
            writer.u16(flow);
        }
        writer.u16(CNM);
        writer.u16(u16::from(self.version & 0xf) << 12 | u16::from(self.feedback & 0x3f));
        writer.bytes(&self.point.to_be_bytes());
        writer.u16(self.offset as u16);
        writer.u16(self.growth as u16);
        writer.u16(u16::from(self.priority & 7) << 13);
        writer.bytes(&self.sampled_destination);
        writer.u16(msdu.len() as u16);
        writer.bytes(msdu);
        writer.0.resize(writer.0.len().max(64 - FCS), 0);
        writer.finish()
    }
    /// Reads a frame with its check sequence.
    ///
    /// # Errors
    /// If the check sequence is wrong, bytes are missing, or an EtherType is that of another format.
    pub fn decode(frame: &[u8]) -> Result<Cnm, Malformed> {
        let mut reader = Reader::checked(frame)?;
        let (destination, source, control) = reader.header()?;
        let flow = match reader.u16()? {
            CN_TAG => {
                let flow = reader.u16()?;
                reader.expect(CNM)?;
                Some(flow)
            }
            CNM => None,
            other => return Err(Malformed::EtherType(other)),
        };
        let first = reader.u16()?;
        let point = u64::from_be_bytes(reader.array()?);
        let (offset, growth) = (reader.u16()? as i16, reader.u16()? as i16);
        let priority = (reader.u16()? >> 13) as u8;
        let sampled_destination = reader.array()?;
        let length = usize::from(reader.u16()?);
        let msdu = reader.0.get(..length).ok_or(Malformed::Short)?.to_vec();
        let (version, feedback) = ((first >> 12) as u8, (first & 0x3f) as u8);
        let message = Cnm {
            destination,
            source,
            control,
            flow,
            version,
            feedback,
            point,
            offset,
            growth,
            priority,
            sampled_destination,
            msdu,
        };
        Ok(message)
    }
}

/// Returns the check sequence of Ethernet (IEEE 802.3 clause 3.2.9: CRC-32, least significant bit
/// first).
pub fn check_sequence(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Encoder of big-endian fields.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }
    fn header(&mut self, destination: Mac, source: Mac, control: u16) {
        self.bytes(&destination);
        self.bytes(&source);
        self.u16(Q_TAG);
        self.u16(control);
    }
    /// Returns the bytes with the check sequence appended, lowest byte first.
    fn finish(mut self) -> Vec<u8> {
        let check = check_sequence(&self.0);
        self.bytes(&check.to_le_bytes());
        self.0
    }
}

/// Decoder of big-endian fields; it holds the bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Verifies the check sequence of a frame and returns a reader of the bytes before it.
    fn checked(frame: &'a [u8]) -> Result<Reader<'a>, Malformed> {
        let (body, check) = frame.split_last_chunk::<FCS>().ok_or(Malformed::Short)?;
        if check_sequence(body) == u32::from_le_bytes(*check) { Ok(Reader(body)) } else { Err(Malformed::Check) }
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*first)
    }
    fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }
    fn expect(&mut self, ether_type: u16) -> Result<(), Malformed> {
        let found = self.u16()?;
        if found == ether_type { Ok(()) } else { Err(Malformed::EtherType(found)) }
    }
    fn header(&mut self) -> Result<(Mac, Mac, u16), Malformed> {
        let (destination, source) = (self.array()?, self.array()?);
        self.expect(Q_TAG)?;
        Ok((destination, source, self.u16()?))
    }
}
