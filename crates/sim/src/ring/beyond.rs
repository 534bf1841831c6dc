//! What exceeds a ring, in blocks of one size, so that those of one line serve another.

use std::collections::VecDeque;
use std::mem::{MaybeUninit, replace};
use tailback_qdisc::Packet;

/// Packets of a block, 4 kB.
const BLOCK: usize = 128;

/// Room for a packet.
pub(super) type Place = MaybeUninit<Packet>;

/// Packets in order.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    blocks: VecDeque<Box<[Place; BLOCK]>>,
    /// Packets taken out of the first block, whose places are before the oldest one's.
    taken: usize,
    len: usize,
}

impl Beyond {
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The place of a packet that comes last, to be written to at once.
    pub fn push_back(&mut self) -> &mut Place {
        let at = self.taken + self.len;
        self.len += 1;
        if at == BLOCK * self.blocks.len() {
            self.blocks.push_back(Box::new([const { MaybeUninit::uninit() }; BLOCK]));
        }
        &mut self.blocks[at / BLOCK][at % BLOCK]
    }

    /// Takes the oldest packet.
    pub fn pop_front(&mut self) -> Option<Place> {
        self.len = self.len.checked_sub(1)?;
        let packet = replace(&mut self.blocks[0][self.taken], MaybeUninit::uninit());
        self.taken += 1;
        if self.taken == BLOCK {
            self.taken = 0;
            self.blocks.pop_front();
        }
        Some(packet)
    }

    /// Takes the packet that was put last.
    pub fn pop_back(&mut self) -> Option<Place> {
        self.len = self.len.checked_sub(1)?;
        let at = self.taken + self.len;
        let packet = replace(&mut self.blocks[at / BLOCK][at % BLOCK], MaybeUninit::uninit());
        if at.is_multiple_of(BLOCK) {
            self.blocks.pop_back();
        }
        Some(packet)
    }

    /// The packet at `index`, 0 being the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Place> {
        let at = self.taken + index;
        (index < self.len).then(|| &self.blocks[at / BLOCK][at % BLOCK])
    }
    pub fn back_mut(&mut self) -> Option<&mut Place> {
        let at = self.taken + self.len.checked_sub(1)?;
        Some(&mut self.blocks[at / BLOCK][at % BLOCK])
    }
}
