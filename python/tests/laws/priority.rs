//! Strict priority: the first queue that is ready sends.

mod tailback_law;
use tailback_law::*;

struct Priority;

impl Component for Priority {
    type Role = scheduler::Role;
    const EVENTS: u32 = bit(scheduler::SELECT);

    fn new(_: &Host) -> Result<Priority, String> {
        Ok(Priority)
    }

    fn answer(&mut self, call: &scheduler::Call, answer: &mut scheduler::Answer, _: &Host) -> Result<(), String> {
        if let Some(first) = call.queues.iter().position(|queue| queue.ready == 1) {
            answer.queue = first as u32;
        }
        Ok(())
    }
}

component!(Priority);
