//! CAKE: its options (tc-cake(8), iproute2's `q_cake.c`), and its approximation by a shaper, classes of HTB as tins,
//! and FlowQueue-CoDel in each tin.
//!
//! Tables and formulas are those of `net/sched/sch_cake.c`: `diffserv3`, `diffserv4`, `diffserv8`, `precedence`,
//! `cake_set_rate`, `cake_reconfigure`. Tins below their thresholds are served before tins above theirs, each group in
//! order of priority, as HTB serves leaf classes within their rates before those that borrow.

use super::args::{Args, Trouble};
use crate::ir::{
    Class, Counting, FqCodel, HtbClass, Limit, Match, Policy, Queue, Rule, Scheduler, Shape, Share, Timed,
};
use crate::{Place, Report};

/// Number of tins, and the table by which DSCPs select them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tins {
    BestEffort,
    Precedence,
    Eight,
    Four,
    #[default]
    Three,
}

/// Parameters of CAKE.
#[derive(Clone, Debug)]
pub(super) struct Cake {
    /// Rate in bit/s; `None`: unlimited.
    bandwidth: Option<u64>,
    tins: Tins,
    /// Target delay of CoDel in microseconds, before the adaptation to the rate of a tin.
    target: u64,
    /// Interval of CoDel in microseconds, before the adaptation.
    interval: u64,
    counts: Counting,
    /// `true` if each tin has a single queue instead of one per flow.
    blind: bool,
    /// Memory limit in bytes; `None`: computed from the rate.
    memory: Option<u64>,
    at: Place,
}

/// Presets of the round-trip time: name, target and interval in microseconds.
const PRESETS: [(&str, u64, u64); 8] = [
    ("datacentre", 5, 100),
    ("lan", 50, 1_000),
    ("metro", 500, 10_000),
    ("regional", 1_500, 30_000),
    ("internet", 5_000, 100_000),
    ("oceanic", 15_000, 300_000),
    ("satellite", 50_000, 1_000_000),
    ("interplanetary", 50_000_000, 1_000_000_000),
];
/// Framing keywords: name, overhead in bytes, line coding.
const FRAMINGS: [(&str, i32, Coding); 13] = [
    ("ipoa-vcmux", 8, Coding::Atm),
    ("ipoa-llcsnap", 16, Coding::Atm),
    ("bridged-vcmux", 24, Coding::Atm),
    ("bridged-llcsnap", 32, Coding::Atm),
    ("pppoa-vcmux", 10, Coding::Atm),
    ("pppoa-llc", 14, Coding::Atm),
    ("pppoe-vcmux", 32, Coding::Atm),
    ("pppoe-llcsnap", 40, Coding::Atm),
    ("pppoe-ptm", 30, Coding::Ptm),
    ("bridged-ptm", 22, Coding::Ptm),
    ("docsis", 18, Coding::None),
    ("ethernet", 38, Coding::Same),
    ("ether-vlan", 4, Coding::Same),
];

/// Line coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    None,
    Atm,
    /// 64b/65b.
    Ptm,
    /// The keyword does not change the coding.
    Same,
}

/// Length of a full frame in bytes (`psched_mtu`).
const FRAME: u64 = 1514;
/// Memory of a full frame in bytes (`skb->truesize` of many drivers).
const TRUE_SIZE: u64 = 2304;
/// Number of queues of a tin (`CAKE_QUEUES`).
const QUEUES: u64 = 1024;

/// Parses the arguments of `cake`.
pub(super) fn read(at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<Cake, Trouble> {
    let counts = Counting::default();
    let mut made = Cake {
        bandwidth: None,
        tins: Tins::Three,
        target: 5_000,
        interval: 100_000,
        counts,
        blind: false,
        memory: None,
        at,
    };
    let (mut overhead, mut stated, mut coding) = (0i32, false, Coding::None);
    let mut isolation = "triple-isolate";
    while let Some(word) = args.take() {
        let text = word.text.as_str();
        if let Some((_, target, interval)) = PRESETS.iter().find(|(name, ..)| *name == text) {
            (made.target, made.interval) = (*target, *interval);
            continue;
        }
        if let Some((name, bytes, own)) = FRAMINGS.iter().find(|(name, ..)| *name == text) {
            overhead += bytes;
            stated = true;
            coding = if *own == Coding::Same { coding } else { *own };
            match *name {
                "ethernet" => made.counts.least = 84,
                "docsis" => made.counts.least = 64,
                _ => {}
            }
            continue;
        }
        match text {
            "bandwidth" => made.bandwidth = Some(args.rate()?),
            "unlimited" => made.bandwidth = None,
            "rtt" => {
                made.interval = args.time()?.max(1);
                made.target = (made.interval / 20).max(1);
            }
            "besteffort" => made.tins = Tins::BestEffort,
            "precedence" => made.tins = Tins::Precedence,
            "diffserv8" => made.tins = Tins::Eight,
            "diffserv4" | "diffserv" => made.tins = Tins::Four,
            "diffserv3" => made.tins = Tins::Three,
            "flowblind" => (made.blind, isolation) = (true, ""),
            "flows" => (made.blind, isolation) = (false, ""),
            "triple-isolate" => (made.blind, isolation) = (false, "triple-isolate"),
            "dual-srchost" => (made.blind, isolation) = (false, "dual-srchost"),
            "dual-dsthost" => (made.blind, isolation) = (false, "dual-dsthost"),
            "srchost" | "dsthost" | "hosts" => {
                isolation = "";
                report.unsupported(word.at, format!("one queue per host (`{text}`): each flow has a queue here"), None);
            }
            "nat" => report.ignored(word.at, "the traffic table has the addresses before translation"),
            "nonat" | "nowash" | "split-gso" | "no-ack-filter" | "egress" | "via-ethernet" => {}
            "no-split-gso" => {
                report.unsupported(word.at, "GSO packets of up to 64 kB that are not split (`no-split-gso`)", None);
            }
            "wash" => report.warning(
                word.at,
                "`wash` clears DSCPs when packets leave, after all queues",
                "DSCPs are kept here",
            ),
            "ack-filter" | "ack-filter-aggressive" => report.warning(
                word.at,
                "superseded acknowledgements are dropped: the traffic table has no acknowledgements in this direction",
                "bulk data of the other direction is not simulated",
            ),
            "autorate-ingress" => {
                report.unsupported(
                    word.at,
                    "a rate that follows the arrival rate (`autorate-ingress`)",
                    Some("write `bandwidth`"),
                );
            }
            "ingress" => report.unsupported(
                word.at,
                "shaping of arrivals (`ingress`): here dropped packets do not count",
                Some("without drops the result is the same"),
            ),
            "memlimit" => made.memory = Some(args.size()?),
            "fwmark" => {
                let _ = args.word("mask")?;
                report.unsupported(word.at, "tins selected by firewall marks: here DSCPs select them", None);
            }
            "ptm" => coding = Coding::Ptm,
            "atm" => coding = Coding::Atm,
            "noatm" => coding = Coding::None,
            "raw" => (overhead, stated, coding) = (0, false, Coding::None),
            "conservative" => (overhead, stated, coding) = (48, true, Coding::Atm),
            "overhead" => {
                let at = args.at();
                overhead = i32::try_from(args.signed()?).unwrap_or(i32::MAX);
                if !(-64..=256).contains(&overhead) {
                    return Err(Trouble::wrong(
                        at,
                        format!("an overhead of {overhead} B is out of range"),
                        "write -64 to 256 bytes",
                    ));
                }
                stated = true;
            }
            "mpu" => made.counts.least = args.within("minimum length in bytes", 0, 256)? as u16,
            other => {
                return Err(Trouble::wrong(word.at, format!("`{other}` is not an option of cake"), "see tc-cake(8)"));
            }
        }
    }
    made.counts.overhead = if stated { overhead } else { 0 };
    made.counts.network = stated;
    made.counts.cells = coding == Coding::Atm;
    if coding == Coding::Ptm {
        // The kernel adds a byte per started 64 bytes (`cake_calc_overhead`); here the rate is reduced instead.
        made.bandwidth = made.bandwidth.map(|rate| rate / 65 * 64);
        report.warning(
            at,
            "64b/65b coding (`ptm`): the rate is multiplied by 64/65, and packets are not rounded up to the next byte",
            "the difference is below 1 B per packet",
        );
    }
    if !isolation.is_empty() {
        report.assumed(
            at,
            format!("each flow of the traffic table has its own host: `{isolation}` is fair among hosts first"),
            "write `flows`, or leave only the flows of one host in the table",
        );
    }
    report.warning(
        at,
        "cake's queues are simulated with CoDel but without BLUE, and tins above their thresholds borrow in order of priority",
        "the result differs only for unresponsive flows, and while several tins are above their thresholds",
    );
    Ok(made)
}

impl Cake {
    /// Returns the shaper before the tins; `None`: the rate is unlimited. Its burst of 1 byte stands for none: CAKE
    /// sends a packet once the transmission time of the previous one at the shaped rate is over.
    pub fn shape(&self) -> Option<Shape> {
        self.bandwidth.map(|rate| Shape { rate: Share::Rate(rate), burst: Some(1), excess: None, peak: false })
    }
    /// Returns the bytes per packet that the shaper accounts for.
    pub fn counts(&self) -> Counting {
        self.counts
    }
    /// Returns the queue of the only tin, with its limit; `None`: there are several tins.
    pub fn only(&self) -> Option<(Queue, Limit)> {
        (self.tins == Tins::BestEffort).then(|| (self.queue(self.bandwidth), self.limit()))
    }

    /// Returns the threshold of each tin as a fraction (numerator, denominator) of the bandwidth, by number of the tin,
    /// and the numbers of the tins in descending order of priority.
    fn thresholds(&self) -> (Vec<(u64, u64)>, Vec<usize>) {
        let eighths = || (0..8).map(|tin| (7u64.pow(tin), 8u64.pow(tin))).collect();
        match self.tins {
            Tins::BestEffort => (vec![(1, 1)], vec![0]),
            Tins::Precedence | Tins::Eight => (eighths(), (0..8).rev().collect()),
            Tins::Four => (vec![(1, 1), (1, 16), (1, 2), (1, 4)], vec![3, 2, 1, 0]),
            Tins::Three => (vec![(1, 1), (1, 16), (1, 4)], vec![2, 1, 0]),
        }
    }

    /// Returns the number of the tin, from 0, of a DSCP, 0 to 63.
    fn tin(&self, code: u8) -> usize {
        let class = code >> 3;
        let found = match self.tins {
            Tins::BestEffort => 0,
            Tins::Precedence => class,
            // LE is 1, CS1 to CS7 are 8 to 56 in steps of 8, AF11 to AF43 are 10 to 38, VA is 44 and EF is 46.
            Tins::Four => match code {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Tins::Three => match code {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Tins::Eight => match code {
                1 => 0,
                2 | 8 | 10 | 12 | 14 => 1,
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                4 | 18 | 20 | 22 => 4,
                16 => 5,
                32 | 40 | 44 | 46 => 6,
                48 | 56 => 7,
                _ => 2,
            },
        };
        usize::from(found)
    }

    /// Returns the queue of a tin at a rate in bit/s (`cake_set_rate`); `None`: unlimited.
    fn queue(&self, rate: Option<u64>) -> Queue {
        let bytes = rate.map(|rate| (rate / 8).max(64));
        let full = bytes.map_or(0, |bytes| FRAME * 1_000_000 / bytes);
        let target = (full * 3 / 2).max(self.target);
        let interval = (self.interval + target - self.target).max(2 * target);
        let law = Timed { target: Some(target), interval: Some(interval), ecn: Some(true), ..Timed::default() };
        if self.blind {
            return Queue::Codel(law);
        }
        let quantum = bytes.map_or(FRAME, |bytes| (bytes >> 12).clamp(300, FRAME));
        Queue::FqCodel(FqCodel { flows: Some(QUEUES), quantum: Some(quantum), batch: None, law })
    }

    /// Returns the limit in packets (`cake_reconfigure`): the stated memory, or four times the bandwidth-delay product
    /// but at least 4 MiB, over the memory of a packet; at most 10240 packets.
    fn limit(&self) -> Limit {
        let by_rate = self.bandwidth.map(|rate| {
            let bytes = u128::from(rate / 8) * u128::from(self.interval) / 250_000;
            u64::try_from(bytes).unwrap_or(u64::MAX).max(4 << 20)
        });
        let memory = self.memory.or(by_rate).unwrap_or(u64::MAX);
        Limit::Packets((memory / TRUE_SIZE).clamp(1, 10_240))
    }

    /// Returns the policy whose classes are the tins, in descending order of priority; with a bandwidth, a root class
    /// precedes them. `handle` returns the name of a class by its minor number.
    pub fn policy(&self, name: String, handle: &dyn Fn(u16) -> String) -> Policy {
        let (thresholds, order) = self.thresholds();
        let best = handle(best_effort(self.tins));
        let class_name = |tin: usize| handle(tin as u16 + 1);
        let mut policy = Policy { name, at: self.at, default: Some(best.clone()), ..Policy::default() };
        let root = handle(0xff);
        if let Some(rate) = self.bandwidth {
            policy.scheduler = Scheduler::Htb;
            // The root class lends to tins above their thresholds. Its rate is so high that it does not limit them: the
            // shaper before it limits their total rate.
            let whole =
                HtbClass { rate: rate.saturating_mul(10), burst: Some(1), cburst: Some(1), ..HtbClass::default() };
            policy.classes.push(Class { name: root.clone(), htb: Some(whole), at: self.at, ..Class::default() });
        } else {
            policy.scheduler = Scheduler::Drr;
        }
        for (rank, tin) in order.iter().enumerate() {
            let (part, whole) = thresholds.get(*tin).copied().unwrap_or((1, 1));
            let rate = self.bandwidth.map(|rate| {
                u64::try_from(u128::from(rate) * u128::from(part) / u128::from(whole)).unwrap_or(rate).max(512)
            });
            let htb = rate.zip(self.bandwidth).map(|(own, rate)| HtbClass {
                rate: own,
                ceil: Some(rate.saturating_mul(10)),
                burst: Some(1),
                cburst: Some(1),
                prio: Some(rank as u32),
                quantum: Some(FRAME),
                ..HtbClass::default()
            });
            policy.classes.push(Class {
                name: class_name(*tin),
                parent: htb.map(|_| root.clone()),
                htb,
                // Without a bandwidth, DRR serves the tins in proportion to their thresholds.
                quantum: self.bandwidth.is_none().then(|| 1024 * part / whole),
                queue: self.queue(rate),
                limit: Some(self.limit()),
                at: self.at,
                ..Class::default()
            });
            if class_name(*tin) == best {
                continue;
            }
            // One rule per DSCP, since a filter of tc matches one value.
            for code in (0..64).filter(|code| self.tin(*code) == *tin) {
                let when = Match::Dscp(vec![code]);
                policy.rules.push(Rule { when, class: class_name(*tin), police: None, at: self.at });
            }
        }
        policy
    }
}

/// Returns the minor number of the best-effort tin's class, from 1.
fn best_effort(tins: Tins) -> u16 {
    if tins == Tins::Eight { 3 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of `sch_cake.c`, row by row.
    #[test]
    fn tins_are_those_of_the_kernels_tables() {
        #[rustfmt::skip]
        let eight = [
            2, 0, 1, 2, 4, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2, 5, 2, 4, 2, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 3, 2,
            6, 2, 3, 2, 3, 2, 3, 2, 6, 2, 2, 2, 6, 2, 6, 2, 7, 2, 2, 2, 2, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2,
        ];
        #[rustfmt::skip]
        let four = [
            0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0,
            3, 0, 2, 0, 2, 0, 2, 0, 3, 0, 0, 0, 3, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        ];
        #[rustfmt::skip]
        let three = [
            0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
        ];
        for (word, table) in [("diffserv8", eight), ("diffserv4", four), ("diffserv3", three)] {
            let words = [super::super::shell::Word { text: word.to_owned(), at: Place::default() }];
            let parsed = read(Place::default(), &mut Args::new(&words, Place::default()), &mut Report::default());
            let cake = parsed.expect("an option");
            let tins: Vec<usize> = (0..64).map(|code| cake.tin(code)).collect();
            assert_eq!(tins, table, "{word}");
        }
    }
}
