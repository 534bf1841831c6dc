//! A frame whose payload is not stored.

/// Shortest Ethernet frame without the check sequence, bytes.
const SHORTEST: usize = 60;

/// A frame: headers, a payload of zeros, and a trailer, padded to the shortest Ethernet frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Synthetic {
    /// Headers.
    pub head: Vec<u8>,
    /// Bytes of the payload, all zero.
    pub zeros: usize,
    /// Bytes behind the payload.
    pub tail: Vec<u8>,
}

impl Synthetic {
    /// Returns the length of the frame without its check sequence, bytes.
    pub fn length(&self) -> usize {
        (self.head.len() + self.zeros + self.tail.len()).max(SHORTEST)
    }
    /// Writes the first `most` bytes of the frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>, most: usize) {
        let (start, length) = (out.len(), self.length().min(most));
        out.extend_from_slice(&self.head[..self.head.len().min(length)]);
        out.resize(start + (self.head.len() + self.zeros).min(length), 0);
        let room = length - (out.len() - start);
        out.extend_from_slice(&self.tail[..self.tail.len().min(room)]);
        out.resize(start + length, 0);
    }
    /// Returns `true` if the destination address is that of a group.
    pub fn is_to_group(&self) -> bool {
        self.head.first().is_some_and(|first| first & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_padded_to_the_shortest_and_cut_at_the_snap_length() {
        let frame = Synthetic { head: vec![1; 3], zeros: 2, tail: vec![9] };
        let written = |most| {
            let mut out = vec![7];
            frame.write(&mut out, most);
            out
        };
        assert_eq!(frame.length(), 60);
        assert_eq!(written(2), [7, 1, 1]);
        assert_eq!(written(4), [7, 1, 1, 1, 0]);
        assert_eq!(written(7), [7, 1, 1, 1, 0, 0, 9, 0]);
        assert_eq!(written(100).len(), 61);
    }
}
