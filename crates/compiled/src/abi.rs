//! Layout of the records that pass between the host and a component.

#![allow(unsafe_code, reason = "records are handed over as bytes")]

use std::collections::BTreeMap;
use tailback_user::{
    CongestionAnswer, CongestionCall, CongestionOptions, QueueAnswer, QueueCall, QueueState, Role, SchedulerAnswer,
    SchedulerCall, SchedulerEvent, SourceAnswer, SourceCall, SourceEvent, lasting,
};

/// Version of the interface; a component of another version is refused.
pub const ABI: u32 = 1;

/// Size of the memory that a WebAssembly module lends to the host, bytes; schedulers lend more: see [`Space`].
pub const SPACE: usize = 1024;
/// Offset in this memory of the answer; the call, the description and the results of other functions are at 0.
pub const ANSWER_AT: usize = 512;

/// Memory that a WebAssembly module lends to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Size, bytes.
    pub bytes: usize,
    /// Offset of the answer.
    pub answer_at: usize,
}

impl Space {
    /// Returns the memory for a role. The call of a scheduler has the states of up to 250 queues behind it.
    pub const fn of(role: Role) -> Space {
        match role {
            Role::Scheduler => Space { bytes: 8192, answer_at: 7680 },
            Role::QueueLaw | Role::CongestionControl | Role::Source => Space { bytes: SPACE, answer_at: ANSWER_AT },
        }
    }
}

/// A record that can be copied byte by byte.
///
/// # Safety
///
/// The type has the layout of C, the alignment of `u64` and no padding, and all values of its bytes are valid.
pub unsafe trait Record {
    /// Returns the bytes of the record.
    fn bytes(&self) -> &[u8] {
        // SAFETY: by the contract of the trait all bytes are initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of_val(self)) }
    }
    /// Returns the bytes of the record, which may be changed.
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: by the contract of the trait all bytes are initialised, and all values are valid.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), size_of_val(self)) }
    }
}

// SAFETY: `repr(C)`, integers only, and `reserved` fills the record to a multiple of its alignment.
unsafe impl Record for QueueCall {}
// SAFETY: as above.
unsafe impl Record for QueueAnswer {}
// SAFETY: as above, with reals, of which all bits are valid.
unsafe impl Record for CongestionCall {}
// SAFETY: `repr(C)`, words of 64 bits only, of which all bits are valid.
unsafe impl Record for CongestionAnswer {}
// SAFETY: `repr(C)`, integers only, 40 bytes without padding.
unsafe impl Record for SchedulerCall {}
// SAFETY: `repr(C)`, integers only, and `reserved` fills the record to a multiple of its alignment.
unsafe impl Record for SchedulerAnswer {}
// SAFETY: as above.
unsafe impl Record for QueueState {}
// SAFETY: as above.
unsafe impl Record for SourceCall {}
// SAFETY: `repr(C)`, words of 64 bits only, of which all bits are valid.
unsafe impl Record for SourceAnswer {}
// SAFETY: words of 64 bits, of which all bits are valid: records one behind the other.
unsafe impl Record for [u64] {}

/// Properties of a class, as it states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Description {
    /// Version of the interface for which the component was compiled: [`ABI`].
    pub abi: u32,
    /// Number of the interface that the class implements: see [`role_number`].
    pub role: u32,
    /// Events that the class is called for, a bit each.
    pub events: u32,
    /// 1 if the class may mark packets, else 0.
    pub marks: u32,
    /// Size of the variables of an instance, bytes.
    pub state_bytes: u64,
    /// Names of the state variables for time series, separated by commas, followed by a zero.
    pub probes: [u8; 228],
    /// Properties of a congestion control, a bit each: see [`CongestionOptions`].
    pub options: u32,
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
    /// Properties of a congestion control, a bit each.
    pub options: u32,
    /// Size of the variables of an instance, bytes.
    pub state_bytes: usize,
    /// Names of the state variables for time series.
    pub probes: Vec<&'static str>,
}

/// Returns the number of a role in descriptions.
pub const fn role_number(role: Role) -> u32 {
    match role {
        Role::QueueLaw => 0,
        Role::Scheduler => 1,
        Role::CongestionControl => 2,
        Role::Source => 3,
    }
}

/// Returns the bits of the events that the classes of a role may be called for, and those that they must be called for.
fn event_bits(role: Role) -> (u32, u32) {
    let needed = match role {
        Role::QueueLaw | Role::CongestionControl => 0,
        Role::Scheduler => SchedulerEvent::Select.bit(),
        Role::Source => SourceEvent::Next.bit(),
    };
    ((1 << role.events().len()) - 1, needed)
}

impl Description {
    /// A description before the class has filled it in.
    pub const EMPTY: Description =
        Description { abi: 0, role: 0, events: 0, marks: 0, state_bytes: 0, probes: [0; 228], options: 0 };

    /// Returns the properties of a class that is to have this role.
    ///
    /// # Errors
    /// If the class was compiled for another version or role, or if a value is invalid.
    pub fn checked(&self, role: Role) -> Result<Properties, String> {
        if self.abi != ABI {
            return Err(format!("it has version {} of the interface, and this program has version {ABI}", self.abi));
        }
        if self.role != role_number(role) {
            let (name, number) = (role.name(), role_number(role));
            return Err(format!("it has the role {}, and a {name} has the role {number}", self.role));
        }
        let (known, needed) = event_bits(role);
        if self.events == 0 || self.events & !known != 0 {
            return Err(format!("its events are {:#x}; write a combination of the bits in {known:#x}", self.events));
        }
        if self.events & needed != needed {
            return Err(format!("its events are {:#x}; a {} needs the bits {needed:#x}", self.events, role.name()));
        }
        let largest = |allowed: Role, value: u32| if role == allowed { value } else { 0 };
        bits("marks", self.marks, largest(Role::QueueLaw, 1))?;
        bits("options", self.options, largest(Role::CongestionControl, OPTIONS))?;
        let probes = self.names()?;
        if role == Role::Source && !probes.is_empty() {
            return Err("it has probes, and the state variables of sources are not recorded".to_owned());
        }
        let state_bytes = usize::try_from(self.state_bytes).map_err(|error| error.to_string())?;
        Ok(Properties { events: self.events, marks: self.marks == 1, options: self.options, state_bytes, probes })
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

/// All bits of [`CongestionOptions`].
const OPTIONS: u32 = CongestionOptions::PACES
    | CongestionOptions::OWNS_RECOVERY
    | CongestionOptions::HANDLES_ECHOES
    | CongestionOptions::SAMPLES_RATE;

/// Refuses a field of a description with other bits than those in `known`.
fn bits(field: &str, value: u32, known: u32) -> Result<(), String> {
    match (value & !known, known) {
        (0, _) => Ok(()),
        (_, 0) => Err(format!("`{field}` is {value}; write 0 for a component of this role")),
        (_, 1) => Err(format!("`{field}` is {value}; write 0 or 1")),
        _ => Err(format!("`{field}` is {value:#x}; write a combination of the bits in {known:#x}")),
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
        ("tailback_description", layout!(Description: abi, role, events, marks, state_bytes, probes, options)),
        (
            "tailback_congestion_call",
            layout!(CongestionCall:
                now_ps, rtt_ps, srtt_ps, min_rtt_ps, cwnd, ssthresh, delivery_rate, event, delivered, advanced,
                in_flight_before, in_flight, lost, payload, window_limited, ece, recovering, round, app_limited, idle,
                reserved,
            ),
        ),
        ("tailback_congestion_answer", layout!(CongestionAnswer: cwnd, ssthresh, rate, wake_ps)),
        ("tailback_scheduler_call", layout!(SchedulerCall: now_ps, rate_bps, event, queue, size, wire, flow, queues)),
        ("tailback_queue_state", layout!(QueueState: packets, bytes, ready, reserved)),
        ("tailback_scheduler_answer", layout!(SchedulerAnswer: wake_ps, queue, reserved)),
        ("tailback_source_call", layout!(SourceCall: now_ps, bursts, event, reserved)),
        ("tailback_source_answer", layout!(SourceAnswer: at_ps, bytes)),
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
        let mut probes = [0; 228];
        probes[..13].copy_from_slice(b"count, length");
        Description { abi: ABI, role: 0, events: 6, marks: 1, state_bytes: 34, probes, options: 0 }
    }

    #[test]
    fn the_records_have_no_padding_and_fit_into_the_space_of_a_module() {
        assert_eq!((size_of::<QueueCall>(), size_of::<QueueAnswer>(), size_of::<Description>()), (88, 16, 256));
        assert_eq!(size_of::<QueueCall>(), 7 * 8 + 5 * 4 + 5 + 7);
        assert_eq!(size_of::<CongestionCall>(), 7 * 8 + 7 * 4 + 6 + 6);
        assert_eq!((size_of::<SchedulerCall>(), size_of::<QueueState>()), (2 * 8 + 6 * 4, 2 * 8 + 2 * 4));
        assert_eq!((size_of::<SourceCall>(), size_of::<SourceAnswer>()), (2 * 8 + 2 * 4, 2 * 8));
        let calls = [
            (Role::QueueLaw, size_of::<QueueCall>(), size_of::<QueueAnswer>()),
            (Role::CongestionControl, size_of::<CongestionCall>(), size_of::<CongestionAnswer>()),
            (Role::Source, size_of::<SourceCall>(), size_of::<SourceAnswer>()),
            (Role::Scheduler, size_of::<SchedulerCall>() + 250 * size_of::<QueueState>(), size_of::<SchedulerAnswer>()),
        ];
        for (role, call, answer) in calls {
            let space = Space::of(role);
            assert!(call.max(size_of::<Description>()) <= space.answer_at, "{role:?}");
            assert!(space.answer_at + answer <= space.bytes, "{role:?}");
        }
    }

    #[test]
    fn a_valid_description_gives_the_properties() {
        let found = description().checked(Role::QueueLaw).expect("it is valid");
        assert_eq!(
            found,
            Properties { events: 6, marks: true, options: 0, state_bytes: 34, probes: vec!["count", "length"] }
        );
    }

    #[test]
    fn an_invalid_description_is_refused_with_the_value() {
        type Change = fn(&mut Description);
        let cases: [(Change, &str); 9] = [
            (|d| d.abi = 2, "version 2 of the interface, and this program has version 1"),
            (|d| d.role = 7, "the role 7, and a queue-law has the role 0"),
            (|d| d.events = 0, "its events are 0x0"),
            (|d| d.events = 64, "its events are 0x40"),
            (|d| d.marks = 2, "`marks` is 2"),
            (|d| d.options = 1, "`options` is 1; write 0 for a component of this role"),
            (|d| d.probes = [b'a'; 228], "do not end with a zero"),
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
    fn each_role_has_its_events_and_options() {
        let with = |role, events, marks, options, probes| {
            let probes = if probes { description().probes } else { [0; 228] };
            let role_number = role_number(role);
            Description { abi: ABI, role: role_number, events, marks, state_bytes: 0, probes, options }.checked(role)
        };
        let found = with(Role::CongestionControl, 0xff, 0, 0xf, true).expect("it is valid");
        assert_eq!((found.events, found.options, found.probes.len()), (0xff, 0xf, 2));
        assert!(with(Role::Scheduler, 0x3f, 0, 0, true).is_ok());
        assert!(with(Role::Source, 3, 0, 0, false).is_ok());
        let refused = [
            (with(Role::CongestionControl, 0x100, 0, 0, false), "bits in 0xff"),
            (
                with(Role::CongestionControl, 1, 0, 0x10, false),
                "`options` is 0x10; write a combination of the bits in 0xf",
            ),
            (with(Role::CongestionControl, 1, 1, 0, false), "`marks` is 1; write 0"),
            (with(Role::Scheduler, 0x40, 0, 0, false), "bits in 0x3f"),
            (with(Role::Scheduler, 0x3b, 0, 0, false), "a scheduler needs the bits 0x4"),
            (with(Role::Source, 4, 0, 0, false), "bits in 0x3"),
            (with(Role::Source, 1, 0, 0, false), "a source needs the bits 0x2"),
            (with(Role::Source, 2, 0, 0, true), "sources are not recorded"),
        ];
        for (found, message) in refused {
            let error = found.expect_err(message);
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
