//! Switch memory accounted by input. When an input has used up its share, the neighbour behind it is stopped before a
//! frame must be dropped (IEEE 802.1Qbb).
//!
//! Each input and class has a reserve, a share of the free memory, and headroom for frames that arrive between the
//! decision to stop the neighbour and the effect of that decision:
//!
//! ```text
//! reserve ─▶ shared, up to (memory − reserves − headroom − shared in use) / 2^shift ─▶ headroom ─▶ lost
//!                                                  └ the neighbour is stopped here
//! ```

use crate::plan::SharedBufferPlan;

/// State of a switch's memory. All amounts are in buffer bytes.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct SharedBuffer {
    /// Memory in use by input, then by class.
    inputs: Box<[Input]>,
    /// Size of the shared pool: the memory without reserves and headroom.
    pool: u64,
    /// Part of the pool in use.
    shared: u64,
    /// Reserve of each input and class.
    reserve: u64,
    /// Distance below the threshold at which a stopped neighbour is resumed.
    resume: u64,
    /// Exponent of the dynamic threshold: the threshold is the free part of the pool divided by 2^shift.
    shift: u8,
    /// Number of classes.
    classes: u8,
    /// Number of entries of `inputs` whose neighbour is stopped.
    stopped: u32,
}

// A frame touches two cache lines: that of `SharedBuffer` and that of its `Input`.
const _: () = assert!(size_of::<SharedBuffer>() == 64 && size_of::<Input>() == 32);

/// Memory in use by frames of one class from one input.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Input {
    /// Bytes in the reserve and the pool.
    bytes: u64,
    /// Bytes in headroom.
    in_headroom: u64,
    /// Size of the headroom.
    headroom: u64,
    /// `true` if the neighbour behind the input is stopped for this class.
    stopped: bool,
}

/// Notification to the neighbour that follows from an admission or a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowControl {
    Unchanged,
    Stop,
    Resume,
}

impl SharedBuffer {
    /// Returns an empty memory; `headroom` has the headroom of each input, buffer bytes per class.
    pub fn new(plan: SharedBufferPlan, classes: u8, headroom: &[u64]) -> SharedBuffer {
        let input =
            |bytes: &u64| std::iter::repeat_n(Input { headroom: *bytes, ..Input::default() }, usize::from(classes));
        let inputs: Box<[Input]> = headroom.iter().flat_map(input).collect();
        let mut buffer = SharedBuffer {
            inputs,
            pool: 0,
            shared: 0,
            reserve: plan.reserve,
            resume: 0,
            shift: 0,
            classes,
            stopped: 0,
        };
        buffer.retune(plan);
        buffer
    }

    /// Returns the index in `inputs` of an input and class.
    #[inline]
    fn place(&self, slot: usize, class: usize) -> usize {
        slot * usize::from(self.classes) + class
    }

    /// Returns the bytes of the pool that a class of an input may use now.
    fn threshold(&self) -> u64 {
        self.pool.saturating_sub(self.shared) >> self.shift
    }

    /// Replaces the size of the memory, the dynamic threshold and the distance below it; reserves and headroom stay.
    /// Even if the new parameters permit it, a stopped neighbour is not resumed before one of its frames leaves.
    pub fn retune(&mut self, plan: SharedBufferPlan) {
        let set_aside = self.inputs.iter().map(|input| input.headroom.saturating_add(self.reserve));
        self.pool = plan.memory.saturating_sub(set_aside.fold(0, u64::saturating_add));
        (self.shift, self.resume) = (plan.shift, plan.resume);
    }

    /// Returns the memory in use: in reserves, in the pool and in headroom.
    pub fn used(&self) -> u64 {
        self.inputs.iter().map(|input| input.bytes + input.in_headroom).sum()
    }

    /// Returns the memory in use by a class of an input, and the use at which the neighbour is stopped.
    pub fn level(&self, slot: usize, class: usize) -> (u64, u64) {
        let input = &self.inputs[self.place(slot, class)];
        (input.bytes + input.in_headroom, self.threshold() + self.reserve)
    }

    /// Returns `true` if a frame of `size` bytes would be admitted without a stop of the neighbour behind its input.
    /// Freed memory can turn the answer from `false` to `true`, but not from `true` to `false`.
    #[inline]
    pub fn admits_without_stop(&self, slot: usize, class: usize, size: u64) -> bool {
        let input = &self.inputs[self.place(slot, class)];
        let before = input.bytes.saturating_sub(self.reserve);
        let shared = (input.bytes + size).saturating_sub(self.reserve);
        let threshold = self.pool.saturating_sub(self.shared + (shared - before)) >> self.shift;
        input.in_headroom == 0 && (shared == 0 || shared < threshold)
    }

    /// Admits a frame of `size` bytes from the input `slot` (its index among the node's ports). Returns
    /// [`FlowControl::Stop`] if the neighbour is to be stopped; `None`: there is no room for the frame.
    pub fn admit(&mut self, slot: usize, class: usize, size: u64) -> Option<FlowControl> {
        let (threshold, reserve) = (self.threshold(), self.reserve);
        let input = &mut self.inputs[self.place(slot, class)];
        let before = input.bytes.saturating_sub(reserve);
        let shared = (input.bytes + size).saturating_sub(reserve);
        if shared > threshold && shared > 0 {
            if input.in_headroom + size > input.headroom {
                return None;
            }
            input.in_headroom += size;
        } else {
            input.bytes += size;
            self.shared += shared - before;
        }
        let (taken, in_headroom) = (input.bytes.saturating_sub(reserve), input.in_headroom > 0);
        // The threshold follows from the memory that is free after the admission.
        let stops = in_headroom || (taken > 0 && taken >= self.threshold());
        let input = &mut self.inputs[self.place(slot, class)];
        let stops = stops && !input.stopped;
        input.stopped |= stops;
        self.stopped += u32::from(stops);
        Some(if stops { FlowControl::Stop } else { FlowControl::Unchanged })
    }

    /// Releases the memory of a frame of `size` bytes that leaves: headroom first. Returns [`FlowControl::Resume`] if
    /// the neighbour is to be resumed.
    pub fn release(&mut self, slot: usize, class: usize, size: u64) -> FlowControl {
        let (reserve, resume) = (self.reserve, self.resume);
        let input = &mut self.inputs[self.place(slot, class)];
        let from_headroom = size.min(input.in_headroom);
        let before = input.bytes.saturating_sub(reserve);
        input.in_headroom -= from_headroom;
        input.bytes -= size - from_headroom;
        let shared = input.bytes.saturating_sub(reserve);
        self.shared -= before - shared;
        let (stopped, in_headroom) = (input.stopped, input.in_headroom);
        let resumes = stopped && in_headroom == 0 && (shared == 0 || shared + resume <= self.threshold());
        self.inputs[self.place(slot, class)].stopped &= !resumes;
        self.stopped -= u32::from(resumes);
        if resumes { FlowControl::Resume } else { FlowControl::Unchanged }
    }

    /// Returns `true` if the neighbour behind an input is stopped.
    pub fn stops(&self, slot: usize, class: usize) -> bool {
        self.inputs[self.place(slot, class)].stopped
    }

    /// Returns `true` if any neighbour is stopped.
    pub fn stops_any(&self) -> bool {
        self.stopped > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: SharedBufferPlan =
        SharedBufferPlan { memory: 100_000, shift: 1, reserve: 4_000, resume: 3_000, headroom: Some(10_000) };

    #[test]
    fn an_input_uses_its_reserve_then_shared_memory_up_to_half_of_the_free_pool_then_headroom() {
        let mut buffer = SharedBuffer::new(PLAN, 1, &[10_000, 10_000]);
        // The pool is 100 kB − 2 · 14 kB = 72 kB. With a shift of 1, a single input that uses s of it is stopped once
        // s ≥ (72 kB − s) / 2: at s = 24 kB.
        let mut used = 0;
        while buffer.admit(0, 0, 1000).expect("there is room") == FlowControl::Unchanged {
            used += 1000;
        }
        // The last frame, which caused the stop, has been admitted too.
        assert_eq!(used + 1000, 4_000 + 24_000);
        assert!(buffer.stops(0, 0) && !buffer.stops(1, 0));
        // Further frames go to the headroom of 10 kB, which holds ten frames.
        let in_headroom = (0..20).take_while(|_| buffer.admit(0, 0, 1000).is_some()).count();
        assert_eq!(in_headroom, 10);
        assert_eq!(buffer.used(), 38_000);
        assert!(buffer.admit(1, 0, 1000).is_some(), "another input has its own reserve");
    }

    #[test]
    fn a_neighbour_resumes_when_the_headroom_is_empty_and_the_shared_part_is_below_the_threshold_by_the_offset() {
        let mut buffer = SharedBuffer::new(PLAN, 1, &[10_000, 10_000]);
        while buffer.admit(0, 0, 1000).expect("there is room") == FlowControl::Unchanged {}
        buffer.admit(0, 0, 1000).unwrap();
        // The 29 frames are one in the headroom and 28 in the reserve and the pool (24 kB). They are released in turn.
        let mut actions = (0..29).map(|_| buffer.release(0, 0, 1000));
        // After the frame in the headroom, s + 3 kB ≤ (72 kB − s)/2 first holds for s = 22 kB, after two more frames.
        let resumed_after = actions.position(|action| action == FlowControl::Resume).unwrap();
        assert_eq!(resumed_after, 2);
        assert!(actions.all(|action| action == FlowControl::Unchanged));
        assert_eq!((buffer.used(), buffer.shared), (0, 0));
    }
}
