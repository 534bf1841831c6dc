//! Crossbar fabric: frames wait at the inputs, and each input and each output transfers one frame at a time.
//!
//! With one FIFO per input, head-of-line blocking limits uniform traffic to 2 − √2 = 58.6 % of the output capacity in
//! the limit of many ports (Karol, Hluchyj and Morgan 1987); with virtual output queues there is no such limit.
//!
//! A switch with back-pressure detects congestion at the inputs: in each queue of an input if queues have limits of
//! their own, otherwise in the input's memory as a whole.

use crate::detector::{Detector, Episode, Transition};
use crate::plan::Detection;
use std::collections::VecDeque;
use tailback_qdisc::Packet;
use tailback_units::Time;

/// Inputs and outputs of a switch, by the index of the port among the node's ports.
#[derive(Debug)]
pub(crate) struct Crossbar {
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Number of classes.
    classes: usize,
    limits: Limits,
    /// Rate of a transfer divided by the output's rate, at least 1.
    pub speedup: f64,
}

/// Limits of each input, in buffer bytes; `u64::MAX`: unbounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// `true`: each input has a queue per output and class (virtual output queues); `false`: one FIFO.
    pub virtual_queues: bool,
    /// Memory of an input.
    pub memory: u64,
    /// Limit of each queue of an input.
    pub queue: u64,
    /// `true`: the limit of a queue applies to each destination separately.
    pub partition: bool,
}

/// Input of a switch: its queues, and the frame in transfer.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Queues by output, then by class; one queue if the input is a FIFO.
    queues: Vec<InputQueue>,
    /// Buffer bytes of all frames of the input, including one that is in transfer.
    pub bytes: u64,
    /// Maximum of `bytes` since the end of the warm-up.
    pub max: u64,
    /// Output and frame of the transfer in progress.
    pub crossing: Option<(usize, Packet)>,
    /// Detector of the whole memory; `None`: the queues have detectors, or congestion is not detected.
    detector: Option<Detector>,
}

/// A queue at an input, with the frames for one output and class, or all frames of a FIFO.
#[derive(Debug, Default)]
struct InputQueue {
    /// Waiting frames in order of arrival, each with its output.
    frames: VecDeque<(usize, Packet)>,
    /// Buffer bytes of the queue's frames, including one that is in transfer.
    bytes: u64,
    /// Destinations (node indices) and their buffer bytes; empty unless the limit applies to each destination.
    by_destination: Vec<(u16, u64)>,
    detector: Option<Detector>,
}

/// State of an output.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// `true` if a frame is being transferred to the output.
    pub busy: bool,
    /// Input that round robin considers first.
    next: usize,
}

/// Input, output, class and destination of a frame, which identify the limits to which the frame is subject.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub input: usize,
    pub output: usize,
    pub class: u8,
    pub destination: u16,
}

impl InputQueue {
    /// Returns the buffer bytes of frames to `destination`; 0 unless the limit applies to each destination.
    fn bytes_to(&self, destination: u16) -> u64 {
        self.by_destination.iter().find(|(to, _)| *to == destination).map_or(0, |(_, bytes)| *bytes)
    }
    fn add(&mut self, destination: u16, size: u64, by_destination: bool) {
        self.bytes += size;
        if by_destination {
            match self.by_destination.iter_mut().find(|(to, _)| *to == destination) {
                Some((_, bytes)) => *bytes += size,
                None => self.by_destination.push((destination, size)),
            }
        }
    }
    fn take(&mut self, destination: u16, size: u64) {
        self.bytes -= size;
        if let Some((_, bytes)) = self.by_destination.iter_mut().find(|(to, _)| *to == destination) {
            *bytes -= size;
        }
    }
}

impl Crossbar {
    pub fn new(ports: usize, classes: usize, limits: Limits, speedup: f64) -> Crossbar {
        let queues = if limits.virtual_queues { ports * classes } else { 1 };
        let input = || Input { queues: (0..queues).map(|_| InputQueue::default()).collect(), ..Input::default() };
        Crossbar {
            inputs: (0..ports).map(|_| input()).collect(),
            outputs: (0..ports).map(|_| Output::default()).collect(),
            classes,
            limits,
            speedup,
        }
    }

    /// Adds detectors: one for each queue if queues have limits, otherwise one for the memory of each input.
    pub fn watch(&mut self, detection: Detection) {
        let Limits { memory, queue, .. } = self.limits;
        for input in &mut self.inputs {
            if self.limits.queue == u64::MAX {
                input.detector = Some(Detector::new(detection, memory));
            } else {
                input.queues.iter_mut().for_each(|q| q.detector = Some(Detector::new(detection, queue)));
            }
        }
    }

    /// Returns `true` if the queues have detectors of their own.
    pub fn watches_queues(&self) -> bool {
        self.limits.queue != u64::MAX
    }

    /// Sets a new limit of the memory of each input; waiting frames are kept.
    pub fn set_memory(&mut self, memory: u64) {
        self.limits.memory = memory;
        for detector in self.inputs.iter_mut().filter_map(|input| input.detector.as_mut()) {
            detector.set_limit(memory);
        }
    }

    /// Sets new thresholds, as fractions of the limits.
    pub fn set_thresholds(&mut self, high: f64, low: f64) {
        let Limits { memory, queue, .. } = self.limits;
        for input in &mut self.inputs {
            if let Some(detector) = &mut input.detector {
                detector.set_thresholds(high, low, memory);
            }
            for detector in input.queues.iter_mut().filter_map(|q| q.detector.as_mut()) {
                detector.set_thresholds(high, low, queue);
            }
        }
    }

    /// Returns the index of an input's queue for an output and a class; 0 with one FIFO per input.
    fn queue_of(&self, output: usize, class: u8) -> usize {
        let class = usize::from(class).min(self.classes - 1);
        if self.limits.virtual_queues { output * self.classes + class } else { 0 }
    }

    /// Queues a frame at an input.
    ///
    /// # Errors
    /// The frame, if it would exceed the limit of the input, of its queue or of its destination.
    pub fn accept(&mut self, input: usize, output: usize, packet: Packet) -> Result<(), Packet> {
        let size = u64::from(packet.size);
        let (queue, limits) = (self.queue_of(output, packet.class()), self.limits);
        let input = &mut self.inputs[input];
        let waiting = &mut input.queues[queue];
        let level = if limits.partition { waiting.bytes_to(packet.dst) } else { waiting.bytes };
        if input.bytes + size > limits.memory || level + size > limits.queue {
            return Err(packet);
        }
        input.bytes += size;
        input.max = input.max.max(input.bytes);
        waiting.add(packet.dst, size, limits.partition);
        waiting.frames.push_back((output, packet));
        Ok(())
    }

    /// Starts the next transfer to `output` if the output is free: round robin over the idle inputs whose head-of-line
    /// frame goes there, the highest class first within an input. `admits` returns `true` if the output has room for a
    /// frame. `selects`: only some destinations are stopped; frames that are not admitted are then skipped in a virtual
    /// output queue, whereas they block a FIFO. Returns the input that sends; `None`: no frame can be transferred.
    pub fn start(&mut self, output: usize, selects: bool, admits: impl Fn(&Packet) -> bool) -> Option<usize> {
        if self.outputs[output].busy {
            return None;
        }
        let n = self.inputs.len();
        let first = self.outputs[output].next;
        let depth = if selects && self.limits.virtual_queues { usize::MAX } else { 1 };
        for input in (0..n).map(|offset| (first + offset) % n) {
            if !self.wants(input, output) {
                continue;
            }
            let passes = |(to, p): &(usize, Packet)| *to == output && admits(p);
            let place = |q: usize| Some((q, self.inputs[input].queues[q].frames.iter().take(depth).position(passes)?));
            let Some((queue, place)) = self.queues_to(output).find_map(place) else { continue };
            let frame = self.inputs[input].queues[queue].frames.remove(place);
            self.inputs[input].crossing = frame;
            self.outputs[output].busy = true;
            self.outputs[output].next = (input + 1) % n;
            return Some(input);
        }
        None
    }

    /// Returns the indices of the queues of an input that may have frames for `output`, the highest class first.
    fn queues_to(&self, output: usize) -> std::ops::Range<usize> {
        if self.limits.virtual_queues { output * self.classes..(output + 1) * self.classes } else { 0..1 }
    }

    /// Returns `true` if `input` transfers no frame and the first frame of one of its queues goes to `output`.
    pub fn wants(&self, input: usize, output: usize) -> bool {
        let range = self.queues_to(output);
        let input = &self.inputs[input];
        let head = |q: &InputQueue| q.frames.front().is_some_and(|(to, _)| *to == output);
        input.crossing.is_none() && input.queues[range].iter().any(head)
    }

    /// Ends the transfer of `input`. Returns the output and the frame; `None`: there is no transfer.
    pub fn finish(&mut self, input: usize) -> Option<(usize, Packet)> {
        let (output, packet) = self.inputs[input].crossing.take()?;
        let (queue, size) = (self.queue_of(output, packet.class()), u64::from(packet.size));
        self.inputs[input].bytes -= size;
        self.inputs[input].queues[queue].take(packet.dst, size);
        self.outputs[output].busy = false;
        Some((output, packet))
    }

    /// Compares the occupancy at a place with the detector's thresholds, after the arrival or departure of a frame.
    /// Returns the transition, and the destination if each destination has its own limit; `None`: there is no detector.
    pub fn observe(&mut self, now: Time, place: Place) -> Option<(Transition, Option<u16>)> {
        let (queue, partition) = (self.queue_of(place.output, place.class), self.limits.partition);
        let input = &mut self.inputs[place.input];
        if let Some(detector) = &mut input.detector {
            return Some((detector.observe(now, input.bytes, None), None));
        }
        let waiting = &mut input.queues[queue];
        let (level, destination) = if partition {
            (waiting.bytes_to(place.destination), Some(place.destination))
        } else {
            (waiting.bytes, None)
        };
        Some((waiting.detector.as_mut()?.observe(now, level, destination), destination))
    }

    /// Returns the occupancy that the detector of a place observes, buffer bytes.
    pub fn level(&self, place: Place) -> u64 {
        let input = &self.inputs[place.input];
        if input.detector.is_some() {
            return input.bytes;
        }
        let waiting = &input.queues[self.queue_of(place.output, place.class)];
        if self.limits.partition { waiting.bytes_to(place.destination) } else { waiting.bytes }
    }

    /// Returns the detector of a place; `None`: congestion is not detected.
    pub fn detector(&mut self, place: Place) -> Option<&mut Detector> {
        let queue = self.queue_of(place.output, place.class);
        let input = &mut self.inputs[place.input];
        input.detector.as_mut().or(input.queues[queue].detector.as_mut())
    }

    /// Returns the destinations (node indices) of the frames that the detector of a place counts, sorted.
    pub fn destinations(&self, place: Place) -> Vec<u16> {
        let input = &self.inputs[place.input];
        let queues = if self.watches_queues() {
            let queue = self.queue_of(place.output, place.class);
            queue..queue + 1
        } else {
            0..input.queues.len()
        };
        let waiting = input.queues[queues.clone()].iter().flat_map(|q| &q.frames);
        let crossing = input.crossing.iter().filter(|(to, p)| queues.contains(&self.queue_of(*to, p.class())));
        let mut found: Vec<u16> = waiting.chain(crossing).map(|(_, packet)| packet.dst).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the congestion episodes in progress at an input, each with the output and class of its queue; `None`:
    /// the episode concerns the whole memory.
    pub fn episodes(&self, input: usize) -> impl Iterator<Item = (Option<(usize, u8)>, &Episode)> {
        let (input, classes) = (&self.inputs[input], self.classes);
        let whole = input.detector.iter().flat_map(|d| &d.episodes).map(|episode| (None, episode));
        let queues = input.queues.iter().enumerate().filter_map(|(q, waiting)| Some((q, waiting.detector.as_ref()?)));
        let parts = queues.flat_map(move |(q, detector)| {
            detector.episodes.iter().map(move |episode| (Some((q / classes, (q % classes) as u8)), episode))
        });
        whole.chain(parts)
    }

    /// Ends the warm-up: resets the maxima.
    pub fn end_warmup(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.max = input.bytes);
    }

    /// Passes every frame at the inputs to `f`.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        for input in &self.inputs {
            let waiting = input.queues.iter().flat_map(|q| &q.frames);
            waiting.chain(&input.crossing).for_each(|(_, packet)| f(packet));
        }
    }
}
