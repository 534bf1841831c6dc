//! Constant bit rate: equal packets at even intervals with a random phase, each late by a random time.

mod tailback_law;
use tailback_law::*;

struct Cbr {
    interval_ps: u64,
    bytes: u64,
    /// Upper bound of the lateness; 0: none.
    jitter_ps: u64,
    /// Nominal time of the next packet.
    next_ps: u64,
}

impl Component for Cbr {
    type Role = source::Role;
    const EVENTS: u32 = bit(source::START) | bit(source::NEXT);

    fn new(host: &Host) -> Result<Cbr, String> {
        let interval_ps = host.duration("interval", 1_000_000_000);
        let jitter_ps = (host.number("jitter", 0.0) * interval_ps as f64) as u64;
        Ok(Cbr { interval_ps, bytes: host.size("packet", 1000), jitter_ps, next_ps: 0 })
    }

    fn answer(&mut self, call: &source::Call, answer: &mut source::Answer, host: &Host) -> Result<(), String> {
        if call.event == source::START {
            self.next_ps = call.now_ps + host.below(self.interval_ps);
            return Ok(());
        }
        let late_ps = if self.jitter_ps > 0 { host.below(self.jitter_ps + 1) } else { 0 };
        *answer = source::Answer { at_ps: self.next_ps + late_ps, bytes: self.bytes };
        self.next_ps += self.interval_ps;
        Ok(())
    }
}

component!(Cbr);
