//! CoDel from the pseudo-code of RFC 8289, section 5.

mod tailback_law;
use tailback_law::*;

/// Decision of the dequeue about the packet before: one dequeue of the RFC may take several packets.
#[derive(PartialEq)]
enum After {
    Nothing,
    FirstDrop,
    Drop,
}

struct Codel {
    target_ps: u64,
    interval_ps: u64,
    mtu: u64,
    first_above_ps: Option<u64>,
    drop_next_ps: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    after: After,
}

impl Component for Codel {
    type Role = queue::Role;
    const EVENTS: u32 = bit(queue::DEPART) | bit(queue::EMPTY);
    const MARKS: bool = false;
    const PROBES: &'static [&'static str] = &["dropping", "count"];
    // As the built-in law counts: two times, a flag for one of them, two counters, a state and what was done before.
    const STATE_BYTES: u64 = 34;

    fn new(host: &Host) -> Result<Codel, String> {
        Ok(Codel {
            target_ps: host.duration("target", 5_000_000_000),
            interval_ps: host.duration("interval", 100_000_000_000),
            mtu: host.number("mtu", 1514.0) as u64,
            first_above_ps: None,
            drop_next_ps: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            after: After::Nothing,
        })
    }

    fn answer(&mut self, call: &queue::Call, answer: &mut queue::Answer, _host: &Host) -> Result<(), String> {
        if call.event == queue::DEPART {
            answer.verdict = self.depart(call);
        } else {
            self.empty(call.now_ps);
        }
        Ok(())
    }

    fn probe(&self, number: u32) -> f64 {
        if number == 0 { f64::from(u8::from(self.dropping)) } else { f64::from(self.count) }
    }
}

impl Codel {
    fn control_law(&self, t: u64) -> u64 {
        t + (self.interval_ps as f64 / f64::from(self.count).sqrt()) as u64
    }

    fn ok_to_drop(&mut self, call: &queue::Call) -> bool {
        if call.sojourn_ps < self.target_ps || call.queue_bytes <= self.mtu {
            self.first_above_ps = None;
            return false;
        }
        match self.first_above_ps {
            None => {
                self.first_above_ps = Some(call.now_ps + self.interval_ps);
                false
            }
            Some(first_above) => call.now_ps > first_above,
        }
    }

    fn depart(&mut self, call: &queue::Call) -> u32 {
        let ok = self.ok_to_drop(call);
        match core::mem::replace(&mut self.after, After::Nothing) {
            After::FirstDrop => {
                self.begin(call.now_ps);
                return queue::PASS;
            }
            After::Drop if ok => self.drop_next_ps = self.control_law(self.drop_next_ps),
            After::Drop => {}
            After::Nothing if self.dropping => {}
            After::Nothing if ok => {
                self.after = After::FirstDrop;
                return queue::DROP;
            }
            After::Nothing => return queue::PASS,
        }
        self.dropping &= ok;
        if self.dropping && call.now_ps >= self.drop_next_ps {
            self.count += 1;
            self.after = After::Drop;
            return queue::DROP;
        }
        queue::PASS
    }

    fn empty(&mut self, now: u64) {
        self.first_above_ps = None;
        if core::mem::replace(&mut self.after, After::Nothing) == After::FirstDrop {
            self.begin(now);
        } else {
            self.dropping = false;
        }
    }

    fn begin(&mut self, now: u64) {
        self.dropping = true;
        let delta = i64::from(self.count) - i64::from(self.lastcount);
        let recent = now < self.drop_next_ps + 16 * self.interval_ps;
        self.count = if delta > 1 && recent { delta as u32 } else { 1 };
        self.drop_next_ps = self.control_law(now);
        self.lastcount = self.count;
    }
}

component!(Codel);
