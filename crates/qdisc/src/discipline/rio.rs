//! A FIFO under random early detection by colour: RED with In and Out.

use crate::fifo::Fifo;
use crate::law::red::{self, Count, Idle, Red};
use crate::law::{Backlog, Decision, rio};
use crate::signals::{Signals, Threshold, inside};
use crate::state::QUEUE;
use crate::{Colour, Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Fraction, Rate, Size, Time};

/// RED with In and Out (Clark and Fang 1998): a RED for each colour that a meter has given packets.
/// Green ones are judged by the average of what waits of green, the others by that of all that is
/// no worse than themselves, so that out-of-profile packets are dropped first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// RED of green packets ("in"). A table has the defaults of the discipline `red`. Default: 40 and
    /// 70 packets, max-p 0.02, weight 0.002, averaged in packets, neither gentle nor spaced by `wait`.
    pub green: red::Params,
    /// RED of yellow packets ("out"), by the average of green and yellow ones. Default: 10 and 30
    /// packets, max-p 0.5, else as green.
    pub yellow: red::Params,
    /// RED of red packets, by the average of all. Default: red packets are treated as yellow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<red::Params>,
}

/// A level as Clark and Fang have it.
fn level(min: u64, max: u64, max_p: f64) -> red::Params {
    red::Params {
        min: Some(Amount::packets(min)),
        max: Some(Amount::packets(max)),
        max_p: Fraction(max_p),
        weight: Some(0.002),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ..red::Params::default()
    }
}

impl Default for Params {
    fn default() -> Params {
        Params { green: level(40, 70, 0.02), yellow: level(10, 30, 0.5), red: None }
    }
}

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Rio {
        let levels: Vec<red::Params> = self.levels().into_iter().map(|(_, level)| level.clone()).collect();
        Rio {
            queue: Fifo::new(site),
            law: rio::Rio::new(&levels, site.rate),
            ecn: levels.iter().map(|level| level.ecn).collect(),
            waiting: vec![Backlog::default(); levels.len()],
            idle_when_empty: self.green.idle == Idle::Original,
        }
    }
    /// Each level makes sense by itself, drops what arrives, and counts idle time as the others do.
    pub fn check(&self) -> Result<(), Invalid> {
        for (name, level) in self.levels() {
            level.check().map_err(|e| e.within(name))?;
            if level.victim != Victim::Tail {
                let field = format!("{name}.victim");
                return Err(Invalid::new(&field, "another victim may be of a better colour; leave it out"));
            }
            if level.idle != self.green.idle {
                return Err(Invalid::new(
                    format!("{name}.idle"),
                    "the link is idle for all colours; write as in `green`",
                ));
            }
        }
        Ok(())
    }
    fn levels(&self) -> Vec<(&'static str, &red::Params)> {
        let mut levels = vec![("green", &self.green), ("yellow", &self.yellow)];
        levels.extend(self.red.as_ref().map(|red| ("red", red)));
        levels
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.levels().iter().any(|(_, level)| level.ecn)
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        self.levels().into_iter().for_each(|(name, level)| inside(name, level, site, f));
    }
}

/// A FIFO with limits whose arriving packets the RED of their colour marks or drops.
#[derive(Debug)]
pub struct Rio {
    queue: Fifo,
    law: rio::Rio,
    /// By level: whether it marks.
    ecn: Vec<bool>,
    /// By level: what waits of it and of better ones.
    waiting: Vec<Backlog>,
    /// Whether the link counts as idle once the queue is empty, rather than when it has sent all.
    idle_when_empty: bool,
}

impl Rio {
    /// The level of a colour: the last one if there is none of its own.
    fn level(&self, colour: Colour) -> usize {
        (colour as usize).min(self.waiting.len() - 1)
    }
}

impl Qdisc for Rio {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let level = self.level(packet.colour());
        let decision = self.law.arrive(now, &self.waiting, packet.size, level as u8, cx.rng);
        if self.queue.is_full(packet.size) {
            self.law.forced(level as u8);
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let packet = match decision {
            Decision::Pass => Some(packet),
            Decision::Early => {
                let markable = self.ecn[level] && self.law.levels()[level].may_mark();
                cx.signal(packet, markable, Reason::Early)
            }
            Decision::Forced => {
                cx.drop(packet, Reason::Early);
                None
            }
        };
        let Some(packet) = packet else { return };
        for waiting in &mut self.waiting[level..] {
            waiting.packets += 1;
            waiting.bytes += u64::from(packet.size);
        }
        self.queue.push(packet);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        let level = self.level(packet.colour());
        for waiting in &mut self.waiting[level..] {
            waiting.packets -= 1;
            waiting.bytes -= u64::from(packet.size);
        }
        if self.idle_when_empty && self.queue.packets() == 0 {
            self.law.idle(now);
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn watches_idle(&self) -> bool {
        !self.idle_when_empty
    }
    fn idle(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        const NAMES: [[&str; 2]; 3] = [
            ["green_average", "green_probability"],
            ["yellow_average", "yellow_probability"],
            ["red_average", "red_probability"],
        ];
        for (law, [average, probability]) in self.law.levels().iter().zip(NAMES) {
            f(average, law.average());
            f(probability, law.probability());
        }
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.levels().iter().map(Red::state_bytes).sum::<usize>() + size_of_val(self.waiting.as_slice())
    }
}
