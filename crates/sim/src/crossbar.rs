//! A crossbar fabric: frames wait at the inputs and cross one at a time per input and output.
//!
//! With one FIFO per input the head of line blocks what is behind it, which limits uniform traffic
//! to 2 − √2 = 58.6 % of the outputs (Karol, Hluchyj and Morgan 1987); with one queue per output at
//! each input it does not.

use std::collections::VecDeque;
use tailback_qdisc::Packet;

/// The inputs and outputs of one switch, by local port number.
#[derive(Debug)]
pub(crate) struct Crossbar {
    pub inputs: Vec<Input>,
    /// Per output: the input being carried, and the input to ask first next time (round robin).
    pub outputs: Vec<Output>,
    /// Whether each input keeps one queue per output and class.
    virtual_queues: bool,
    classes: usize,
    /// Limit of each input in buffer bytes.
    limit: u64,
    /// Crossing speed relative to the output's rate.
    pub speedup: f64,
}

#[derive(Debug, Default)]
pub(crate) struct Input {
    queues: Vec<VecDeque<(usize, Packet)>>,
    pub bytes: u64,
    /// The frame that is crossing, and its output.
    pub crossing: Option<(usize, Packet)>,
}

#[derive(Debug, Default)]
pub(crate) struct Output {
    pub busy: bool,
    next: usize,
}

impl Crossbar {
    pub fn new(ports: usize, classes: usize, virtual_queues: bool, limit: u64, speedup: f64) -> Crossbar {
        let queues = if virtual_queues { ports * classes } else { 1 };
        let input = || Input { queues: (0..queues).map(|_| VecDeque::new()).collect(), ..Input::default() };
        Crossbar {
            inputs: (0..ports).map(|_| input()).collect(),
            outputs: (0..ports).map(|_| Output::default()).collect(),
            virtual_queues,
            classes,
            limit,
            speedup,
        }
    }

    /// Takes a frame at an input for an output, or returns it when the input is full.
    pub fn accept(&mut self, input: usize, output: usize, packet: Packet) -> Result<(), Packet> {
        let size = u64::from(packet.size);
        let class = usize::from(packet.class()).min(self.classes - 1);
        let queue = if self.virtual_queues { output * self.classes + class } else { 0 };
        let input = &mut self.inputs[input];
        if input.bytes + size > self.limit {
            return Err(packet);
        }
        input.bytes += size;
        input.queues[queue].push_back((output, packet));
        Ok(())
    }

    /// The next frame to start crossing to a free `output`: round robin over the inputs that are
    /// idle and whose head goes there, the highest class first within an input. `room` has a bit for
    /// each class that the output has room for.
    pub fn start(&mut self, output: usize, room: u8) -> Option<usize> {
        if self.outputs[output].busy {
            return None;
        }
        let n = self.inputs.len();
        let first = self.outputs[output].next;
        for input in (0..n).map(|k| (first + k) % n) {
            if !self.wants(input, output) {
                continue;
            }
            let range = if self.virtual_queues { output * self.classes..(output + 1) * self.classes } else { 0..1 };
            let fits = |p: &Packet| room & (1 << p.class()) != 0;
            let head = |q: &VecDeque<(usize, Packet)>| q.front().is_some_and(|(to, p)| *to == output && fits(p));
            let Some(queue) = range.into_iter().find(|q| head(&self.inputs[input].queues[*q])) else { continue };
            let frame = self.inputs[input].queues[queue].pop_front();
            self.inputs[input].crossing = frame;
            self.outputs[output].busy = true;
            self.outputs[output].next = (input + 1) % n;
            return Some(input);
        }
        None
    }

    /// Whether the first frame of an idle `input`, or of one of its virtual queues, goes to `output`.
    pub fn wants(&self, input: usize, output: usize) -> bool {
        let input = &self.inputs[input];
        let head = |q: &VecDeque<(usize, Packet)>| q.front().is_some_and(|(to, _)| *to == output);
        let range = if self.virtual_queues { output * self.classes..(output + 1) * self.classes } else { 0..1 };
        input.crossing.is_none() && input.queues[range].iter().any(head)
    }

    /// Ends the crossing of `input`: its output and frame.
    pub fn finish(&mut self, input: usize) -> Option<(usize, Packet)> {
        let (output, packet) = self.inputs[input].crossing.take()?;
        self.inputs[input].bytes -= u64::from(packet.size);
        self.outputs[output].busy = false;
        Some((output, packet))
    }

    /// Visits every frame at the inputs.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        for input in &self.inputs {
            input.queues.iter().flatten().chain(&input.crossing).for_each(|(_, packet)| f(packet));
        }
    }
}
