//! A FIFO under enhanced random early detection: packets within a reservation are spared.

use crate::fifo::Fifo;
use crate::law::red::{self, Idle};
use crate::law::{Decision, rio};
use crate::signals::{Length, Signals, Threshold, inside};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Rate, Time};

/// Enhanced RED (Feng, Kandlur, Saha and Shin 1997): all packets make the average, but only those
/// that are not green, that is sent beyond a reservation, are chosen by it; green ones are dropped
/// when the queue is full, or above a threshold of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// RED of the packets that are not green; its `victim` is "tail". Default: that of the discipline `red`.
    pub red: red::Params,
    /// Average queue from which on green packets are dropped too, not below RED's `max`. Default:
    /// none, only a full queue drops them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub green_max: Option<Amount>,
}

impl Params {
    /// The queue at its site.
    pub fn build(&self, site: &Site) -> Ered {
        Ered {
            queue: Fifo::new(site),
            law: rio::Ered::new(&self.red, self.green_max, site.rate),
            ecn: self.red.ecn,
            idle_when_empty: self.red.idle == Idle::Original,
        }
    }
    /// RED makes sense, and green packets are no worse off than the others.
    pub fn check(&self) -> Result<(), Invalid> {
        self.red.check().map_err(|e| e.within("red"))?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "another victim may be within its reservation; leave it out"));
        }
        let mean = self.red.mean_packet.0 as f64;
        match (self.green_max, self.red.max) {
            (Some(green), Some(max)) if green.in_bytes(mean) < max.in_bytes(mean) => {
                Err(Invalid::new("green-max", format!("{green} is below RED's `max`; write at least {max}")))
            }
            (Some(green), None) => Err(Invalid::new(
                "red.max",
                format!("`green-max` is {green}, so `max` cannot follow the link; write it, too"),
            )),
            _ => Ok(()),
        }
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, site, f);
        if let Some(green) = self.green_max {
            let length = Length::of(green, self.red.count, self.red.mean_packet);
            f(Threshold { path: "green-max".to_owned(), derived: false, length, site: *site });
        }
    }
}

/// A FIFO with limits whose arriving packets the law marks or drops.
#[derive(Debug)]
pub struct Ered {
    queue: Fifo,
    law: rio::Ered,
    ecn: bool,
    /// Whether the link counts as idle once the queue is empty, rather than when it has sent all.
    idle_when_empty: bool,
}

impl Qdisc for Ered {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let precedence = packet.colour() as u8;
        let decision = self.law.arrive(now, self.queue.backlog(), packet.size, precedence, cx.rng);
        if self.queue.is_full(packet.size) {
            if precedence > 0 {
                self.law.red().forced();
            }
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        let packet = match decision {
            Decision::Pass => Some(packet),
            Decision::Early => {
                let markable = self.ecn && self.law.red().may_mark();
                cx.signal(packet, markable, Reason::Early)
            }
            Decision::Forced => {
                cx.drop(packet, Reason::Early);
                None
            }
        };
        if let Some(packet) = packet {
            self.queue.push(packet);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        if self.idle_when_empty && self.queue.packets() == 0 {
            self.law.red().idle(now);
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
        self.law.red().idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.red().set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(f);
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.state_bytes()
    }
}
