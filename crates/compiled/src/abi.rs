//! Layout of the records that pass between the host and a component.

#![allow(unsafe_code, reason = "records are handed over as bytes")]

use std::collections::BTreeMap;
use tailback_user::{QueueAnswer, QueueCall, QueueEvent, Role, lasting};

/// Version of the interface; a component of another version is refused.
pub const ABI: u32 = 1;

/// Size of the memory that a WebAssembly module lends to the host, bytes.
pub const SPACE: usize = 1024;
/// Offset in this memory of the answer; the call, the description and the results of other functions are at 0.
pub const ANSWER_AT: usize = 512;

/// A record that can be copied byte by byte.
///
/// # Safety
///
/// The type has the layout of C and no padding, and all values of its bytes are valid.
pub unsafe trait Record: Copy {
    /// Returns the bytes of the record.
    fn bytes(&self) -> &[u8] {
        // SAFETY: by the contract of the trait all bytes are initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
    /// Returns the bytes of the record, which may be changed.
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: by the contract of the trait all bytes are initialised, and all values are valid.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), size_of::<Self>()) }
    }
}

// SAFETY: `repr(C)`, integers only, and `reserved` fills the record to a multiple of its alignment.
unsafe impl Record for QueueCall {}
// SAFETY: as above.
unsafe impl Record for QueueAnswer {}

/// Properties of a class, as it states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Description {
    /// Version of the interface for which the component was compiled: [`ABI`].
    pub abi: u32,
    /// Number of the interface that the class implements: 0 is a queue law.
    pub role: u32,
    /// Events that the class is called for, a bit each.
    pub events: u32,
    /// 1 if the class may mark packets, else 0.
    pub marks: u32,
    /// Size of the variables of an instance, bytes.
    pub state_bytes: u64,
    /// Names of the state variables for time series, separated by commas, followed by a zero.
    pub probes: [u8; 232],
}

// SAFETY: `repr(C)`, integers only, 256 bytes without padding.
unsafe impl Record for Description {}

/// Properties of a class that have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Events that the class is called for, a bit each.
    pub events: u32,
    /// `true` if the class may mark packets.
    pub marks: bool,
    /// Size of the variables of an instance, bytes.
    pub state_bytes: usize,
    /// Names of the state variables for time series.
    pub probes: Vec<&'static str>,
}

/// Returns the number of a role in descriptions.
pub const fn role_number(role: Role) -> u32 {
    match role {
        Role::QueueLaw => 0,
    }
}

impl Description {
    /// A description before the class has filled it in.
    pub const EMPTY: Description =
        Description { abi: 0, role: 0, events: 0, marks: 0, state_bytes: 0, probes: [0; 232] };

    /// Returns the properties of a class that is to have this role.
    ///
    /// # Errors
    /// If the class was compiled for another version or role, or if a value is invalid.
    pub fn checked(&self, role: Role) -> Result<Properties, String> {
        if self.abi != ABI {
            return Err(format!("it has version {} of the interface, and this program has version {ABI}", self.abi));
        }
        if self.role != role_number(role) {
            return Err(format!("it has the role {}, and here the role is {}", self.role, role_number(role)));
        }
        let known = QueueEvent::ALL.iter().fold(0, |bits, event| bits | event.bit());
        if self.events == 0 || self.events & !known != 0 {
            return Err(format!("its events are {:#x}; write a combination of the bits in {known:#x}", self.events));
        }
        if self.marks > 1 {
            return Err(format!("`marks` is {}; write 0 or 1", self.marks));
        }
        let state_bytes = usize::try_from(self.state_bytes).map_err(|error| error.to_string())?;
        Ok(Properties { events: self.events, marks: self.marks == 1, state_bytes, probes: self.names()? })
    }

    /// Returns the names of the state variables.
    fn names(&self) -> Result<Vec<&'static str>, String> {
        let length = self.probes.iter().position(|byte| *byte == 0);
        let length = length.ok_or("the names of its probes do not end with a zero")?;
        let text = std::str::from_utf8(&self.probes[..length]);
        let text = text.map_err(|error| format!("the names of its probes are not UTF-8: {error}"))?;
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        match names.as_slice() {
            [""] => Ok(Vec::new()),
            names if names.contains(&"") => Err(format!("a probe in `{text}` has no name")),
            names => Ok(names.iter().map(|name| lasting(name)).collect()),
        }
    }
}

/// Returns the name and offset of each field of a record; the last entry has the size of the record.
macro_rules! layout {
    ($record:ty: $($field:ident),+ $(,)?) => {
        vec![$((stringify!($field), core::mem::offset_of!($record, $field)),)+ ("", size_of::<$record>())]
    };
}

/// Returns the fields of the records by the record's name in the header, with their offsets; the last entry of each has the
/// size.
pub fn layouts() -> BTreeMap<&'static str, Vec<(&'static str, usize)>> {
    BTreeMap::from([
        ("tailback_description", layout!(Description: abi, role, events, marks, state_bytes, probes)),
        ("tailback_queue_answer", layout!(QueueAnswer: wake_ps, verdict, reserved)),
        (
            "tailback_queue_call",
            layout!(QueueCall:
                now_ps, sojourn_ps, queue_packets, queue_bytes, limit_packets, limit_bytes, rate_bps, event, size, payload,
                flow, sequence, traffic_class, ecn, dscp, colour, full, reserved,
            ),
        ),
    ])
}

/// Returns the names of the classes that a file defines, sorted: NAME of each `tailback_NAME_describe` in its bytes.
pub fn classes(file: &[u8]) -> Vec<String> {
    const BEFORE: &[u8] = b"tailback_";
    const AFTER: &[u8] = b"_describe";
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut found = Vec::new();
    for start in (0..file.len()).filter(|at| file[*at..].starts_with(BEFORE)) {
        let rest = &file[start + BEFORE.len()..];
        let symbol = &rest[..rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())];
        if let Some(name) = symbol.strip_suffix(AFTER).filter(|name| !name.is_empty()) {
            found.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a valid description.
    fn description() -> Description {
        let mut probes = [0; 232];
        probes[..13].copy_from_slice(b"count, length");
        Description { abi: ABI, role: 0, events: 6, marks: 1, state_bytes: 34, probes }
    }

    #[test]
    fn the_records_have_no_padding_and_fit_into_the_space_of_a_module() {
        assert_eq!((size_of::<QueueCall>(), size_of::<QueueAnswer>(), size_of::<Description>()), (88, 16, 256));
        assert_eq!(size_of::<QueueCall>(), 7 * 8 + 5 * 4 + 5 + 7);
        assert!(size_of::<QueueCall>().max(size_of::<Description>()) <= ANSWER_AT);
        assert!(ANSWER_AT + size_of::<QueueAnswer>() <= SPACE);
    }

    #[test]
    fn a_valid_description_gives_the_properties() {
        let found = description().checked(Role::QueueLaw).expect("it is valid");
        assert_eq!(found, Properties { events: 6, marks: true, state_bytes: 34, probes: vec!["count", "length"] });
    }

    #[test]
    fn an_invalid_description_is_refused_with_the_value() {
        type Change = fn(&mut Description);
        let cases: [(Change, &str); 8] = [
            (|d| d.abi = 2, "version 2 of the interface, and this program has version 1"),
            (|d| d.role = 7, "the role 7"),
            (|d| d.events = 0, "its events are 0x0"),
            (|d| d.events = 64, "its events are 0x40"),
            (|d| d.marks = 2, "`marks` is 2"),
            (|d| d.probes = [b'a'; 232], "do not end with a zero"),
            (|d| d.probes[0] = 0xff, "not UTF-8"),
            (|d| d.probes[6] = b',', "a probe in `count,,length` has no name"),
        ];
        for (change, message) in cases {
            let mut changed = description();
            change(&mut changed);
            let error = changed.checked(Role::QueueLaw).expect_err(message);
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn the_classes_of_a_file_are_those_with_a_description() {
        let file =
            b"\0tailback_Red_describe\0tailback_Red_answer\0_tailback_my_law_describe\0tailback__describe\0tailback_";
        assert_eq!(classes(file), ["Red", "my_law"]);
    }
}
