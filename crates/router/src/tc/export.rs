//! Export of a configuration as commands of `tc`.

use super::adapt::adapt;
use super::filters;
use crate::ir::{Act, Class, Config, Limit, Match, Netem, Police, Policy, Queue, Red, Rule, Scheduler, Share, Timed};
use crate::{Exported, Place, Report};
use core::fmt::Write as _;

/// Returns the configuration as a script of `tc`, and a report of approximations and unsupported features, which is
/// also in comments at the top of the script. If the configuration was imported from such a script, importing the
/// export gives an equal configuration.
pub fn export(config: &Config) -> Exported {
    let (config, report) = adapt(config);
    let mut text = String::new();
    for notice in report.notices() {
        let _ = writeln!(text, "# {}: {}", notice.level.name(), notice.message.replace('\n', " "));
    }
    let mut writer = Writer { config: &config, out: text, report, queues: 0 };
    for port in &config.ports {
        writer.queue(&port.root, &port.name, "root", 0);
    }
    Exported { text: writer.out, report: writer.report }
}

/// Names the device of a configuration that came from a scenario; `None`: eth0. A name of 1 to 15 bytes without slash,
/// colon and white space is valid (`dev_valid_name` of Linux); otherwise the report has an error.
pub fn name_device(config: &mut Config, name: Option<&str>) -> Report {
    let mut report = Report::default();
    let own = name.unwrap_or("eth0");
    let legal = !own.is_empty() && own.len() <= 15 && own != "." && own != "..";
    if !legal || own.chars().any(|c| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) {
        report.error(
            Place::default(),
            format!("`{own}` is not a valid device name"),
            "write 1 to 15 bytes without slash, colon and space, such as eth0",
        );
    }
    for port in &mut config.ports {
        if name.is_none() {
            report.assumed(port.at, format!("the device is called {own}"), "name it with --dev");
        }
        own.clone_into(&mut port.name);
    }
    report
}

/// Maximum nesting of policies.
const MAX_DEPTH: usize = 8;
/// Major numbers of disciplines whose handle is chosen here (shapers and gred) begin after this one.
const LEAF_HANDLES: u32 = 0x4000;

struct Writer<'a> {
    config: &'a Config,
    out: String,
    report: crate::Report,
    /// Number of handles after [`LEAF_HANDLES`] assigned so far.
    queues: u32,
}

/// Lines are written to memory, which does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        { let _ = writeln!($out, $($text)*); }
    };
}

impl Writer<'_> {
    /// Writes the shaper and the queue of a class at `place` of a device: `root`, or `parent` with a handle.
    fn queue(&mut self, class: &Class, device: &str, place: &str, depth: usize) {
        let is_policy = matches!(class.queue, Queue::Policy(_));
        let mut place = place.to_owned();
        if let Some(shape) = class.shape
            && let Share::Rate(rate) = shape.rate
        {
            self.queues += 1;
            let handle = LEAF_HANDLES + self.queues;
            let burst = shape.burst.unwrap_or(10 * 1024);
            let limit = if let Some(Limit::Bytes(bytes)) = class.limit { bytes } else { 1 << 20 };
            line!(
                self.out,
                "tc qdisc add dev {device} {place} handle {handle:x}: tbf rate {} burst {burst} limit {limit}",
                bits(rate)
            );
            if class.queue == Queue::Fifo && !matches!(class.limit, Some(Limit::Packets(_))) {
                return;
            }
            place = format!("parent {handle:x}:1");
        }
        if is_policy {
            if let Queue::Policy(name) = &class.queue
                && let Some(policy) = self.config.policy(name)
                && depth < MAX_DEPTH
            {
                self.policy(policy, device, &place, depth);
            }
            return;
        }
        match queue_text(class) {
            Some(text) => line!(self.out, "tc qdisc add dev {device} {place} {text}"),
            None if place == "root" && class.queue == Queue::Fifo => {
                line!(self.out, "tc qdisc add dev {device} root noqueue");
            }
            None if class.queue == Queue::Fifo => {}
            None => self.gred(class, device, &place),
        }
    }

    /// Writes a discipline of several RED queues, if the class has one.
    fn gred(&mut self, class: &Class, device: &str, place: &str) {
        let Queue::Gred(gred) = &class.queue else { return };
        self.queues += 1;
        let handle = LEAF_HANDLES + self.queues;
        let grio = if gred.grio { " grio" } else { "" };
        line!(
            self.out,
            "tc qdisc add dev {device} {place} handle {handle:x}: gred setup DPs {} default {}{grio}",
            gred.count,
            gred.default
        );
        for profile in &gred.profiles {
            let limit = profile.limit.map_or_else(String::new, |limit| format!(" limit {limit}"));
            let prio = profile.prio.map_or_else(String::new, |prio| format!(" prio {prio}"));
            line!(
                self.out,
                "tc qdisc change dev {device} {place} handle {handle:x}: gred{limit}{} DP {}{prio}",
                red_text(&profile.law),
                profile.dp
            );
        }
    }

    /// Writes the discipline of a policy, then its classes, its filters, and the queues of its classes.
    fn policy(&mut self, policy: &Policy, device: &str, place: &str, depth: usize) {
        // The handle is part of the policy's name, which `adapt` assigns for this device.
        let stated =
            policy.name.strip_prefix(&format!("{device}-")).and_then(|major| u32::from_str_radix(major, 16).ok());
        let Some(major) = stated.filter(|major| (1..0xffff).contains(major)) else {
            self.report.unsupported(policy.at, format!("the policy `{}` has no handle on {device}", policy.name), None);
            return;
        };
        let bands = policy.classes.len();
        match policy.scheduler {
            Scheduler::Htb => {
                let default = policy.default.as_deref().and_then(|class| class.split(':').nth(1));
                let default = default.map_or_else(String::new, |minor| format!(" default {minor}"));
                line!(self.out, "tc qdisc add dev {device} {place} handle {major:x}: htb{default}");
            }
            Scheduler::Hfsc => {
                let default = policy.default.as_deref().and_then(|class| class.split(':').nth(1));
                let default = default.map_or_else(String::new, |minor| format!(" default {minor}"));
                line!(self.out, "tc qdisc add dev {device} {place} handle {major:x}: hfsc{default}");
            }
            Scheduler::Drr => line!(self.out, "tc qdisc add dev {device} {place} handle {major:x}: drr"),
            Scheduler::Priority => {
                // Filters replace the priomap; all priorities are mapped to the default band.
                let band =
                    policy.classes.iter().position(|class| Some(&class.name) == policy.default.as_ref()).unwrap_or(0);
                let map = vec![band.to_string(); 16].join(" ");
                line!(
                    self.out,
                    "tc qdisc add dev {device} {place} handle {major:x}: prio bands {} priomap {map}",
                    bands.max(2)
                );
            }
            Scheduler::Ets => {
                let strict = policy.classes.iter().take_while(|class| class.quantum.is_none()).count();
                let quanta: String = policy
                    .classes
                    .iter()
                    .filter_map(|class| class.quantum)
                    .map(|n| format!(" {n}"))
                    .collect::<Vec<_>>()
                    .concat();
                let quanta = if quanta.is_empty() { quanta } else { format!(" quanta{quanta}") };
                line!(
                    self.out,
                    "tc qdisc add dev {device} {place} handle {major:x}: ets bands {bands} strict {strict}{quanta}"
                );
            }
            Scheduler::ClassBased => return,
        }
        for class in &policy.classes {
            let parent = class.parent.clone().unwrap_or_else(|| format!("{major:x}:"));
            if let Some(htb) = class.htb {
                let size =
                    |word: &str, bytes: Option<u64>| bytes.map_or_else(String::new, |bytes| format!(" {word} {bytes}"));
                let ceil = htb.ceil.map_or_else(String::new, |rate| format!(" ceil {}", bits(rate)));
                let prio = htb.prio.map_or_else(String::new, |prio| format!(" prio {prio}"));
                line!(
                    self.out,
                    "tc class add dev {device} parent {parent} classid {} htb rate {}{ceil}{}{}{prio}{}{}",
                    class.name,
                    bits(htb.rate),
                    size("burst", htb.burst),
                    size("cburst", htb.cburst),
                    size("quantum", htb.quantum),
                    super::counting::words(htb.counts)
                );
            } else if let Some(hfsc) = &class.hfsc {
                let curves = super::hfsc::words(hfsc);
                line!(self.out, "tc class add dev {device} parent {parent} classid {} hfsc{curves}", class.name);
            } else if policy.scheduler == Scheduler::Drr {
                let quantum = class.quantum.map_or_else(String::new, |bytes| format!(" quantum {bytes}"));
                line!(self.out, "tc class add dev {device} parent {parent} classid {} drr{quantum}", class.name);
            }
        }
        for (index, rule) in policy.rules.iter().enumerate() {
            self.filter(rule, device, major, index + 1);
        }
        for class in &policy.classes {
            self.queue(class, device, &format!("parent {}", class.name), depth + 1);
        }
    }

    /// Writes the filter of a rule at the discipline with that major number.
    fn filter(&mut self, rule: &Rule, device: &str, major: u32, prio: usize) {
        let conditions = match &rule.when {
            Match::All(all) => all.as_slice(),
            Match::Any => &[],
            one => core::slice::from_ref(one),
        };
        let police = rule.police.as_ref().map_or_else(String::new, police_text);
        if filters::never(conditions) {
            let message =
                format!("the filter to {} requires two values of one field, so it matches no packet", rule.class);
            self.report.warning(rule.at, message, "it was left out");
            return;
        }
        let head =
            |protocol: &str| format!("tc filter add dev {device} parent {major:x}: protocol {protocol} prio {prio}");
        match filters::text(conditions) {
            // Of these filters, only u32 and fw accept `police`; flower and matchall need it as an action, at the end.
            Some((protocol, text)) if !police.is_empty() && !text.starts_with("u32") && !text.contains(" fw") => {
                line!(self.out, "{} {text} flowid {} action{police}", head(protocol), rule.class);
            }
            Some((protocol, text)) => line!(self.out, "{} {text}{police} flowid {}", head(protocol), rule.class),
            None => self.report.unsupported(rule.at, format!("no filter of tc expresses {:?}", rule.when), None),
        }
    }
}

/// Formats a rate in the largest of mbit, kbit and bit that gives an integer.
fn bits(rate: u64) -> String {
    match rate {
        n if n > 0 && n % 1_000_000 == 0 => format!("{}mbit", n / 1_000_000),
        n if n > 0 && n % 1000 == 0 => format!("{}kbit", n / 1000),
        n => format!("{n}bit"),
    }
}

/// Returns the arguments of a policer, with a leading space; empty if its rate is not absolute.
fn police_text(police: &Police) -> String {
    let Share::Rate(rate) = police.rate else { return String::new() };
    let act = |acts: &[Act]| if acts.contains(&Act::Drop) { "drop" } else { "pass" };
    let burst = police.burst.unwrap_or(rate / 32);
    format!(" police rate {} burst {burst} conform-exceed {}/{}", bits(rate), act(&police.exceed), act(&police.conform))
}

/// Returns the arguments of a discipline without classes; `None`: it needs several commands, or is the default.
fn queue_text(class: &Class) -> Option<String> {
    let packets = || if let Some(Limit::Packets(n)) = class.limit { format!(" limit {n}") } else { String::new() };
    Some(match &class.queue {
        Queue::Fifo => match class.limit? {
            Limit::Packets(n) => format!("pfifo limit {n}"),
            Limit::Bytes(n) => format!("bfifo limit {n}"),
            Limit::Microseconds(_) | Limit::Percent(_) => return None,
        },
        Queue::Sfq(sfq) => {
            let word = |word: &str, value: Option<u64>| value.map_or_else(String::new, |n| format!(" {word} {n}"));
            format!(
                "sfq{}{}{}{}{}",
                packets(),
                word("quantum", sfq.quantum),
                word("perturb", sfq.perturb),
                word("divisor", sfq.divisor),
                word("depth", sfq.depth)
            )
        }
        Queue::FqCodel(own) => {
            let word = |word: &str, value: Option<u64>| value.map_or_else(String::new, |n| format!(" {word} {n}"));
            format!(
                "fq_codel{}{}{}{}",
                packets(),
                word("flows", own.flows),
                word("quantum", own.quantum),
                timed(own.law, "interval")
            )
        }
        Queue::Fq(own) => {
            let word = |word: &str, value: Option<u64>| value.map_or_else(String::new, |n| format!(" {word} {n}"));
            let refill = own.refill.map_or_else(String::new, |us| format!(" refill_delay {us}us"));
            format!(
                "fq{}{}{}{}{refill}{}",
                packets(),
                word("flow_limit", own.flow_limit.map(u64::from)),
                word("quantum", own.quantum),
                word("initial_quantum", own.initial),
                word("orphan_mask", own.queues.map(|queues| queues.saturating_sub(1)))
            )
        }
        Queue::Netem(own) => format!("netem{}{}", packets(), netem_text(own)),
        Queue::FqPie(law) => format!("fq_pie{}{}", packets(), timed(*law, "tupdate")),
        Queue::Codel(law) => format!("codel{}{}", packets(), timed(*law, "interval")),
        Queue::Pie(law) => format!("pie{}{}", packets(), timed(*law, "tupdate")),
        Queue::Red(red) => {
            let limit = if let Some(Limit::Bytes(n)) = class.limit { n } else { 1 << 20 };
            format!("red limit {limit}{}", red_text(red))
        }
        Queue::Gred(_) | Queue::Fair(_) | Queue::Policy(_) => return None,
    })
}

/// Returns the arguments of netem but for the limit, each with a leading space.
fn netem_text(netem: &Netem) -> String {
    let percent = |millionths: u32| format!("{}.{:04}%", millionths / 10_000, millionths % 10_000);
    let mut text = String::new();
    if netem.delay > 0 || netem.jitter > 0 {
        let _ = write!(text, " delay {}us", netem.delay);
    }
    if netem.jitter > 0 {
        let _ = write!(text, " {}us", netem.jitter);
    }
    if netem.normal {
        text.push_str(" distribution normal");
    }
    if netem.loss > 0 {
        let _ = write!(text, " loss {}", percent(netem.loss));
    }
    if let Some(bursts) = netem.bursts {
        let _ = write!(text, " loss gemodel {}", bursts.map(percent).join(" "));
    }
    if netem.ecn {
        text.push_str(" ecn");
    }
    if let Some(rate) = netem.rate {
        let _ = write!(text, " rate {}", bits(rate));
    }
    text
}

/// Returns the parameters of CoDel or PIE, each with a leading space; `interval` is the keyword of its period.
fn timed(law: Timed, interval: &str) -> String {
    let time = |word: &str, value: Option<u64>| value.map_or_else(String::new, |us| format!(" {word} {us}us"));
    let ecn = match law.ecn {
        Some(true) => " ecn",
        Some(false) => " noecn",
        None => "",
    };
    format!("{}{}{ecn}", time("target", law.target), time(interval, law.interval))
}

/// Returns the arguments of RED but for the limit, each with a leading space.
fn red_text(red: &Red) -> String {
    let word = |word: &str, value: Option<u64>| value.map_or_else(String::new, |n| format!(" {word} {n}"));
    let probability =
        red.probability.map_or_else(String::new, |p| format!(" probability {}.{:06}", p / 1_000_000, p % 1_000_000));
    let bandwidth = red.bandwidth.map_or_else(String::new, |rate| format!(" bandwidth {}", bits(rate)));
    format!(
        "{}{}{}{}{probability}{bandwidth}{}{}",
        word("min", red.min),
        word("max", red.max),
        word("avpkt", red.avpkt),
        word("burst", red.burst),
        if red.ecn { " ecn" } else { "" },
        if red.adaptive { " adaptive" } else { "" }
    )
}
