//! A switch's memory accounted by the input that frames came by: when an input's share runs out, the
//! neighbour behind it is stopped before anything is lost (802.1Qbb).
//!
//! Each input and class has a reserve, a share of what is free, and headroom for what arrives between the
//! decision to stop the neighbour and its effect:
//!
//! ```text
//! reserve ─▶ shared, up to (memory − reserves − headroom − shared in use) / 2^shift ─▶ headroom ─▶ lost
//!                                                  └ the neighbour is stopped here
//! ```

use crate::plan::SharedBufferPlan;

/// The memory of a switch at work. All amounts in buffer bytes.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct SharedBuffer {
    /// By input and class.
    inputs: Box<[Input]>,
    /// What inputs share: the memory without reserves and headroom.
    pool: u64,
    /// Of it, in use.
    shared: u64,
    /// What each input and class has to itself.
    reserve: u64,
    /// How far below its threshold an input's class must fall before its neighbour goes on.
    resume: u64,
    /// An input's class may take one part in two to this power of what is free.
    shift: u8,
    classes: u8,
    /// How many inputs and classes are stopped.
    stopped: u32,
}

// For each frame its memory and its input: two cache lines.
const _: () = assert!(size_of::<SharedBuffer>() == 64 && size_of::<Input>() == 32);

/// What frames of a class from an input take.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Input {
    /// In the reserve and the shared part.
    bytes: u64,
    /// In headroom.
    beyond: u64,
    headroom: u64,
    stopped: bool,
}

/// What a frame's coming or going means for the neighbour that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Stays,
    Stop,
    Go,
}

impl SharedBuffer {
    /// `headroom` by input, each class having so much.
    pub fn new(plan: SharedBufferPlan, classes: u8, headroom: &[u64]) -> SharedBuffer {
        let input =
            |bytes: &u64| std::iter::repeat_n(Input { headroom: *bytes, ..Input::default() }, usize::from(classes));
        let inputs: Box<[Input]> = headroom.iter().flat_map(input).collect();
        let one = |input: &Input| input.headroom.saturating_add(plan.reserve);
        let set_aside = inputs.iter().map(one).fold(0, u64::saturating_add);
        SharedBuffer {
            inputs,
            pool: plan.memory.saturating_sub(set_aside),
            shared: 0,
            reserve: plan.reserve,
            resume: plan.resume,
            shift: plan.shift,
            classes,
            stopped: 0,
        }
    }

    #[inline]
    fn place(&self, slot: usize, class: usize) -> usize {
        slot * usize::from(self.classes) + class
    }

    /// What an input and class may take of the shared part now.
    fn threshold(&self) -> u64 {
        self.pool.saturating_sub(self.shared) >> self.shift
    }

    /// Whether a frame of `size` would be admitted without its neighbour being stopped. It would be all the more if less
    /// of the memory were in use.
    #[inline]
    pub fn stays(&self, slot: usize, class: usize, size: u64) -> bool {
        let input = &self.inputs[self.place(slot, class)];
        let before = input.bytes.saturating_sub(self.reserve);
        let shared = (input.bytes + size).saturating_sub(self.reserve);
        let left = self.pool.saturating_sub(self.shared + (shared - before)) >> self.shift;
        input.beyond == 0 && (shared == 0 || shared < left)
    }

    /// A frame of `size` comes; none if there is no room for it.
    pub fn admit(&mut self, slot: usize, class: usize, size: u64) -> Option<Turn> {
        let (threshold, reserve) = (self.threshold(), self.reserve);
        let input = &mut self.inputs[self.place(slot, class)];
        let before = input.bytes.saturating_sub(reserve);
        let shared = (input.bytes + size).saturating_sub(reserve);
        if shared > threshold && shared > 0 {
            if input.beyond + size > input.headroom {
                return None;
            }
            input.beyond += size;
        } else {
            input.bytes += size;
            self.shared += shared - before;
        }
        let (taken, beyond) = (input.bytes.saturating_sub(reserve), input.beyond > 0);
        // By what is free now that the frame is in.
        let stops = beyond || (taken > 0 && taken >= self.threshold());
        let input = &mut self.inputs[self.place(slot, class)];
        let stops = stops && !input.stopped;
        input.stopped |= stops;
        self.stopped += u32::from(stops);
        Some(if stops { Turn::Stop } else { Turn::Stays })
    }

    /// A frame that was admitted leaves.
    pub fn release(&mut self, slot: usize, class: usize, size: u64) -> Turn {
        let (reserve, resume) = (self.reserve, self.resume);
        let input = &mut self.inputs[self.place(slot, class)];
        let from_beyond = size.min(input.beyond);
        let before = input.bytes.saturating_sub(reserve);
        input.beyond -= from_beyond;
        input.bytes -= size - from_beyond;
        let shared = input.bytes.saturating_sub(reserve);
        self.shared -= before - shared;
        let (stopped, beyond) = (input.stopped, input.beyond);
        let goes = stopped && beyond == 0 && (shared == 0 || shared + resume <= self.threshold());
        self.inputs[self.place(slot, class)].stopped &= !goes;
        self.stopped -= u32::from(goes);
        if goes { Turn::Go } else { Turn::Stays }
    }

    /// Whether the neighbour behind an input is stopped.
    pub fn stops(&self, slot: usize, class: usize) -> bool {
        self.inputs[self.place(slot, class)].stopped
    }

    /// Whether any neighbour is stopped.
    pub fn stops_any(&self) -> bool {
        self.stopped > 0
    }

    /// All bytes in use.
    #[cfg(test)]
    fn used(&self) -> u64 {
        self.inputs.iter().map(|input| input.bytes + input.beyond).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: SharedBufferPlan =
        SharedBufferPlan { memory: 100_000, shift: 1, reserve: 4_000, resume: 3_000, headroom: Some(10_000) };

    #[test]
    fn an_input_takes_its_reserve_then_half_of_what_is_free_then_headroom() {
        let mut buffer = SharedBuffer::new(PLAN, 1, &[10_000, 10_000]);
        // The pool is 100 kB less twice 14 kB; with a shift of 1 an input stops at a third of it.
        let mut held = 0;
        while buffer.admit(0, 0, 1000).expect("there is room") == Turn::Stays {
            held += 1000;
        }
        assert_eq!(held + 1000, 4_000 + 24_000);
        assert!(buffer.stops(0, 0) && !buffer.stops(1, 0));
        // At the threshold of 24 kB the next goes to headroom, of which there are ten frames.
        let more = (0..20).take_while(|_| buffer.admit(0, 0, 1000).is_some()).count();
        assert_eq!(more, 10);
        assert_eq!(buffer.used(), 38_000);
        assert!(buffer.admit(1, 0, 1000).is_some(), "another input has its own");
    }

    #[test]
    fn a_neighbour_goes_on_when_headroom_is_empty_and_the_share_is_the_offset_below_its_threshold() {
        let mut buffer = SharedBuffer::new(PLAN, 1, &[10_000, 10_000]);
        while buffer.admit(0, 0, 1000).expect("there is room") == Turn::Stays {}
        buffer.admit(0, 0, 1000).unwrap();
        let mut turns = (0..29).map(|_| buffer.release(0, 0, 1000));
        // One from headroom; then s + 3 kB ≤ (72 kB − s)/2 first holds for s = 22 kB.
        let go = turns.position(|turn| turn == Turn::Go).unwrap();
        assert_eq!(go, 2);
        assert!(turns.all(|turn| turn == Turn::Stays));
        assert_eq!((buffer.used(), buffer.shared), (0, 0));
    }
}
