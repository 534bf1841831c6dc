//! Data of the host about an instance, and limits.

use crate::{Parameters, State};
use wasmi::{ResourceLimiter, StoreLimits, StoreLimitsBuilder};

/// Maximum number of steps of one call, about one for each instruction of the module.
pub const FUEL: u64 = 100_000_000;
/// Maximum size of the memory of an instance, bytes.
pub const MEMORY_BYTES: usize = 16 << 20;
/// Maximum number of entries of a module's table of functions.
const TABLE_ENTRIES: usize = 10_000;

/// Record of the host about an instance.
pub(super) struct Data {
    pub(super) state: State,
    limits: StoreLimits,
}

impl Data {
    /// Returns the data of an instance with these parameters.
    pub(super) fn new(parameters: Parameters) -> Data {
        // Growth beyond a limit ends the call, since few modules expect that their memory does not grow.
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY_BYTES).table_elements(TABLE_ENTRIES);
        let limits = limits.instances(1).memories(1).tables(1).trap_on_grow_failure(true).build();
        Data { state: State::new(parameters), limits }
    }

    /// Returns the limits of memory.
    pub(super) fn limits(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.limits
    }
}
