//! Layout of the records of a component, for its host.

use core::mem::offset_of;
use tailback_compiled::abi::Space;
use tailback_user::{
    CongestionAnswer, CongestionCall, QueueAnswer, QueueCall, Role, SchedulerAnswer, SchedulerCall, SourceAnswer,
    SourceCall,
};

/// Sizes and offsets of the records of a role, so that a host need not know the roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of the memory that a module lends to the host, bytes.
    pub space: u32,
    /// Offset of the answer in this memory; the call is at 0.
    pub answer_at: u32,
    /// Size of the answer, bytes.
    pub answer: u32,
    /// Offset of the number of the event in the call; the time of the call is at 0.
    pub event_at: u32,
}

impl Layout {
    /// Returns the layout of the records of a role.
    pub const fn of(role: Role) -> Layout {
        let (answer, event_at) = match role {
            Role::QueueLaw => (size_of::<QueueAnswer>(), offset_of!(QueueCall, event)),
            Role::Scheduler => (size_of::<SchedulerAnswer>(), offset_of!(SchedulerCall, event)),
            Role::CongestionControl => (size_of::<CongestionAnswer>(), offset_of!(CongestionCall, event)),
            Role::Source => (size_of::<SourceAnswer>(), offset_of!(SourceCall, event)),
        };
        let Space { bytes, answer_at } = Space::of(role);
        Layout { space: bytes as u32, answer_at: answer_at as u32, answer: answer as u32, event_at: event_at as u32 }
    }

    /// Returns the input of [`Task::Create`](super::Task::Create): the four numbers in their order, 4 bytes each.
    pub fn input(self) -> [u8; 16] {
        let Layout { space, answer_at, answer, event_at } = self;
        let mut input = [0; 16];
        for (place, number) in input.chunks_exact_mut(4).zip([space, answer_at, answer, event_at]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        input
    }
}
