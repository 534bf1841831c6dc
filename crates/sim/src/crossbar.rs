//! A crossbar fabric: frames wait at the inputs and cross one at a time per input and output.
//!
//! With one FIFO per input the head of line blocks what is behind it, which limits uniform traffic
//! to 2 − √2 = 58.6 % of the outputs (Karol, Hluchyj and Morgan 1987); with one queue per output at
//! each input it does not.
//!
//! A switch with back-pressure watches the inputs: an input's memory as a whole, or, where each of its queues has a
//! limit of its own, each of these.

use crate::detector::{Detector, Episode, Turn};
use crate::plan::Detection;
use std::collections::VecDeque;
use tailback_qdisc::Packet;
use tailback_units::Time;

/// The inputs and outputs of one switch, by local port number.
#[derive(Debug)]
pub(crate) struct Crossbar {
    pub inputs: Vec<Input>,
    /// Per output: the input being carried, and the input to ask first next time (round robin).
    pub outputs: Vec<Output>,
    classes: usize,
    limits: Limits,
    /// Crossing speed relative to the output's rate.
    pub speedup: f64,
}

/// What an input may hold. All in buffer bytes; `u64::MAX` is unbounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Whether each input keeps one queue per output and class, rather than one for all.
    pub virtual_queues: bool,
    /// Of all of an input.
    pub memory: u64,
    /// Of each of its queues.
    pub queue: u64,
    /// Whether each destination in a queue has the queue's limit to itself.
    pub partition: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Input {
    queues: Vec<Waiting>,
    pub bytes: u64,
    /// Most of them, since the end of the warm-up.
    pub max: u64,
    /// The frame that is crossing, and its output.
    pub crossing: Option<(usize, Packet)>,
    /// Watches the whole memory.
    detector: Option<Detector>,
}

/// One queue at an input.
#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<(usize, Packet)>,
    /// Of its frames and of one from it that is crossing.
    bytes: u64,
    /// The same by destination, where each has a limit of its own.
    by_destination: Vec<(u16, u64)>,
    /// Watches it.
    detector: Option<Detector>,
}

#[derive(Debug, Default)]
pub(crate) struct Output {
    pub busy: bool,
    next: usize,
}

/// A frame at an input, as back-pressure sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub input: usize,
    pub output: usize,
    pub class: u8,
    pub destination: u16,
}

impl Waiting {
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
        let input = || Input { queues: (0..queues).map(|_| Waiting::default()).collect(), ..Input::default() };
        Crossbar {
            inputs: (0..ports).map(|_| input()).collect(),
            outputs: (0..ports).map(|_| Output::default()).collect(),
            classes,
            limits,
            speedup,
        }
    }

    /// From now on the queues are watched, where they have limits, or else the memory of the inputs.
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

    /// Whether the queues are watched by themselves.
    pub fn watches_queues(&self) -> bool {
        self.limits.queue != u64::MAX
    }

    /// Takes new thresholds, as fractions of the limits.
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

    fn queue_of(&self, output: usize, class: u8) -> usize {
        let class = usize::from(class).min(self.classes - 1);
        if self.limits.virtual_queues { output * self.classes + class } else { 0 }
    }

    /// Takes a frame at an input for an output, or returns it when the input is full.
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

    /// The next frame to start crossing to a free `output`: round robin over the inputs that are
    /// idle and whose head goes there, the highest class first within an input. `admits` says what the output has room
    /// for. A frame whose destination alone is stopped (`selects`) is passed over in a queue by output, as if that kept
    /// its destinations apart; in a FIFO of all outputs it blocks.
    pub fn start(&mut self, output: usize, selects: bool, admits: impl Fn(&Packet) -> bool) -> Option<usize> {
        if self.outputs[output].busy {
            return None;
        }
        let n = self.inputs.len();
        let first = self.outputs[output].next;
        let depth = if selects && self.limits.virtual_queues { usize::MAX } else { 1 };
        for input in (0..n).map(|k| (first + k) % n) {
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

    /// The queues of an input in which frames for `output` wait, the highest class first.
    fn queues_to(&self, output: usize) -> std::ops::Range<usize> {
        if self.limits.virtual_queues { output * self.classes..(output + 1) * self.classes } else { 0..1 }
    }

    /// Whether the first frame of an idle `input`, or of one of its virtual queues, goes to `output`.
    pub fn wants(&self, input: usize, output: usize) -> bool {
        let range = self.queues_to(output);
        let input = &self.inputs[input];
        let head = |q: &Waiting| q.frames.front().is_some_and(|(to, _)| *to == output);
        input.crossing.is_none() && input.queues[range].iter().any(head)
    }

    /// Ends the crossing of `input`: its output and frame.
    pub fn finish(&mut self, input: usize) -> Option<(usize, Packet)> {
        let (output, packet) = self.inputs[input].crossing.take()?;
        let (queue, size) = (self.queue_of(output, packet.class()), u64::from(packet.size));
        self.inputs[input].bytes -= size;
        self.inputs[input].queues[queue].take(packet.dst, size);
        self.outputs[output].busy = false;
        Some((output, packet))
    }

    /// Judges what a frame that has come to a place, or gone from it, shares a limit with. Also the destination that this
    /// limit is for, if it is for one.
    pub fn observe(&mut self, now: Time, place: Place) -> Option<(Turn, Option<u16>)> {
        let (queue, partition) = (self.queue_of(place.output, place.class), self.limits.partition);
        let input = &mut self.inputs[place.input];
        if let Some(detector) = &mut input.detector {
            return Some((detector.observe(now, input.bytes, None), None));
        }
        let waiting = &mut input.queues[queue];
        let (level, of) = match partition {
            true => (waiting.bytes_to(place.destination), Some(place.destination)),
            false => (waiting.bytes, None),
        };
        Some((waiting.detector.as_mut()?.observe(now, level, of), of))
    }

    /// The detector of a place.
    pub fn detector(&mut self, place: Place) -> Option<&mut Detector> {
        let queue = self.queue_of(place.output, place.class);
        let input = &mut self.inputs[place.input];
        input.detector.as_mut().or(input.queues[queue].detector.as_mut())
    }

    /// The destinations of the frames that share a limit with one at a place, in no order that means anything.
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

    /// What stands at an input: of each queue that is watched, its output and class (none for the whole memory) and its
    /// episodes.
    pub fn standing(&self, input: usize) -> impl Iterator<Item = (Option<(usize, u8)>, &Episode)> {
        let (input, classes) = (&self.inputs[input], self.classes);
        let whole = input.detector.iter().flat_map(|d| &d.episodes).map(|episode| (None, episode));
        let queues = input.queues.iter().enumerate().filter_map(|(q, waiting)| Some((q, waiting.detector.as_ref()?)));
        let parts = queues.flat_map(move |(q, detector)| {
            detector.episodes.iter().map(move |episode| (Some((q / classes, (q % classes) as u8)), episode))
        });
        whole.chain(parts)
    }

    /// Maxima start anew.
    pub fn end_warmup(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.max = input.bytes);
    }

    /// Visits every frame at the inputs.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        for input in &self.inputs {
            let waiting = input.queues.iter().flat_map(|q| &q.frames);
            waiting.chain(&input.crossing).for_each(|(_, packet)| f(packet));
        }
    }
}
