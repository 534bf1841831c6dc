//! Classless disciplines and their parameters.

use super::args::{Args, Rate, Trouble};
use super::counting::Counts;
use super::shell::Word;
use super::tables::{Kind, Qdisc, Shaping};
use crate::ir::{Fq, FqCodel, Gred, GredProfile, Limit, Peak, Queue, Red, Sfq, Shape, Share, Timed};
use crate::{Place, Report};

/// Parses a classless discipline by its kind; `old` is the discipline that `change` modifies.
pub(super) fn kind(
    word: &Word,
    args: &mut Args<'_>,
    old: Option<&Qdisc>,
    report: &mut Report,
) -> Result<Kind, Trouble> {
    let leaf = |queue: Queue, limit: Option<Limit>| Kind::Leaf { queue, limit, shape: None };
    Ok(match word.text.as_str() {
        "pfifo" | "bfifo" | "pfifo_head_drop" => {
            let bytes = word.text == "bfifo";
            if word.text == "pfifo_head_drop" {
                report.unsupported(
                    word.at,
                    "`pfifo_head_drop` drops the oldest packet: here the arriving one is dropped",
                    Some("use the discipline drop-head in the scenario"),
                );
            }
            let limit = if args.take_if("limit") {
                Some(if bytes { Limit::Bytes(args.size()?) } else { Limit::Packets(args.number()?) })
            } else {
                None
            };
            leaf(Queue::Fifo, limit)
        }
        "tbf" => tbf(word.at, args)?,
        "sfq" => sfq(args, report)?,
        "fq_codel" | "codel" | "pie" | "fq_pie" => timed(&word.text, args, report)?,
        "red" => {
            let (red, limit, _) = red(args, &mut Vec::new(), report)?;
            check_red(&red, limit, word.at)?;
            leaf(Queue::Red(red), limit.map(Limit::Bytes))
        }
        "gred" => gred(word.at, args, old, report)?,
        "fq" => fq(word.at, args, report)?,
        "netem" => super::netem::read(args, report)?,
        other => {
            let known = "htb, hfsc, prio, drr, ets, tbf, cake, sfq, fq, red, gred, pfifo, bfifo, fq_codel, codel, pie, fq_pie, netem";
            report.unsupported(
                word.at,
                format!("the discipline `{other}` is not supported and is left out"),
                Some(&format!("supported are: {known}")),
            );
            while args.take().is_some() {}
            Kind::Opaque
        }
    })
}

/// Parses `fq` (tc-fq(8), `fq_init` in `net/sched/sch_fq.c`) for forwarded packets: these have no socket, so that a
/// hash of the flow selects the queue, and they are not paced.
fn fq(at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut fq, mut limit) = (Fq::default(), 10_000);
    loop {
        let own = args.at();
        if args.take_if("limit") {
            limit = args.number()?;
        } else if args.take_if("flow_limit") {
            fq.flow_limit = Some(args.within("limit in packets per flow", 1, u64::from(u32::MAX))? as u32);
        } else if args.take_if("quantum") {
            fq.quantum = Some(args.size()?);
        } else if args.take_if("initial_quantum") {
            fq.initial = Some(args.size()?);
        } else if args.take_if("refill_delay") {
            fq.refill = Some(args.time()?);
        } else if args.take_if("orphan_mask") {
            fq.queues = Some(args.within("orphan mask", 0, u64::from(u32::MAX))?.saturating_add(1));
        } else if args.take_if("buckets") {
            // Number of lookup trees: flows in the same tree remain separate.
            let _ = args.number()?;
        } else if args.take_if("pacing")
            || args.take_if("nopacing")
            || args.take_if("horizon_cap")
            || args.take_if("horizon_drop")
        {
        } else if args.take_if("horizon") || args.take_if("timer_slack") || args.take_if("offload_horizon") {
            let _ = args.time()?;
        } else if args.take_if("low_rate_threshold") {
            let _ = args.rate()?;
        } else if args.take_if("maxrate") || args.take_if("defrate") || args.take_if("ce_threshold") {
            let value = args.word("value")?;
            report.unsupported(
                own,
                format!("a maximum rate per flow, or CE marks above a delay, of {}", value.text),
                None,
            );
        } else if args.take_if("bands") || args.take_if("priomap") || args.take_if("weights") {
            while args.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit())) {
                let _ = args.take();
            }
            report.unsupported(
                own,
                "bands of fq: all flows are in one band here",
                Some("attach fq to the classes of prio or drr instead"),
            );
        } else {
            break;
        }
    }
    report.assumed(
        at,
        "fq has only forwarded packets, which it does not pace, and all flows are in one band, as before Linux 6.7",
        "for a host that paces its own connections, set `pacing` of the transport in the scenario",
    );
    Ok(Kind::Leaf { queue: Queue::Fq(fq), limit: Some(Limit::Packets(limit.max(1))), shape: None })
}

/// Parses `sfq` (tc-sfq(8)).
fn sfq(args: &mut Args<'_>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut sfq, mut limit) = (Sfq::default(), None);
    let mut red: Option<Place> = None;
    loop {
        let at = args.at();
        if args.take_if("quantum") {
            sfq.quantum = Some(args.size()?);
        } else if args.take_if("perturb") {
            sfq.perturb = Some(args.number()?);
        } else if args.take_if("limit") {
            limit = Some(Limit::Packets(args.number()?));
        } else if args.take_if("divisor") {
            sfq.divisor = Some(args.number()?);
        } else if args.take_if("depth") {
            sfq.depth = Some(args.number()?);
        } else if args.take_if("flows") {
            sfq.flows = Some(args.number()?);
        } else if args.take_if("headdrop") {
            sfq.head = true;
        } else if args.take_if("redflowlimit") || args.take_if("min") || args.take_if("max") || args.take_if("avpkt") {
            let _ = (args.size()?, red.get_or_insert(at));
        } else if args.take_if("burst") || args.take_if("probability") {
            let _ = (args.word("value")?, red.get_or_insert(at));
        } else if args.take_if("ecn") || args.take_if("harddrop") {
            let _ = red.get_or_insert(at);
        } else {
            break;
        }
    }
    if let Some(at) = red {
        report.unsupported(
            at,
            "RED in each queue of sfq: here packets are dropped only at sfq's limit",
            Some("use fq_codel to keep queues short"),
        );
    }
    Ok(Kind::Leaf { queue: Queue::Sfq(sfq), limit, shape: None })
}

/// Parses `tbf` (tc-tbf(8)).
fn tbf(at: Place, args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut rate, mut burst, mut limit, mut latency) = (None, None, None, None);
    let (mut peak, mut counts) = (None, Counts::default());
    loop {
        let own = args.at();
        if args.take_if("rate") {
            rate = Some((own, args.rate_or_part()?));
        } else if args.take_if("burst") || args.take_if("buffer") || args.take_if("maxburst") {
            burst = Some(args.size()?);
        } else if args.take_if("limit") {
            limit = Some(args.size()?);
        } else if args.take_if("latency") {
            latency = Some(args.time()?);
        } else if args.take_if("minburst") {
            counts.mtu = Some(args.size()?);
        } else if args.take_if("peakrate") {
            peak = Some(args.rate()?);
        } else if !counts.take(args, false)? {
            break;
        }
    }
    let missing =
        |what: &str| Trouble::wrong(at, format!("tbf needs {what}"), "write `tbf rate 1mbit burst 10k latency 50ms`");
    let (own, rate) = rate.ok_or_else(|| missing("a rate"))?;
    let burst = burst.ok_or_else(|| missing("a burst"))?;
    let bits = match rate {
        Rate::Bits(bits) => bits,
        Rate::Part(_) if limit.is_none() => {
            return Err(Trouble::unsupported(
                own,
                "`latency` with a rate in percent, so that the limit in bytes is unknown",
            ));
        }
        Rate::Part(_) => 0,
    };
    let rate = match rate {
        Rate::Bits(bits) => Share::Rate(bits),
        Rate::Part(part) if part % 10_000 == 0 => Share::Percent(part / 10_000),
        Rate::Part(_) => return Err(Trouble::unsupported(own, "a rate with a fraction of a percent")),
    };
    // tc computes the limit in bytes as rate × latency + burst; with a peak rate, the smaller of the two results
    // (`q_tbf.c`).
    let carried = |rate: u64, us: u64| u64::try_from(u128::from(rate) * u128::from(us) / 8_000_000).unwrap_or(u64::MAX);
    let peak = match (peak, counts.mtu) {
        (Some(rate), Some(burst)) => Some(Peak { rate, burst }),
        (Some(_), None) => {
            return Err(Trouble::wrong(
                at,
                "a peakrate needs `minburst` or `mtu`",
                "write `peakrate 4mbit minburst 1540`",
            ));
        }
        (None, _) => None,
    };
    let limit = match (limit, latency) {
        (Some(limit), _) => limit,
        (None, Some(latency)) => {
            let own = carried(bits, latency).saturating_add(burst);
            peak.map_or(own, |peak| own.min(carried(peak.rate, latency).saturating_add(peak.burst)))
        }
        (None, None) => return Err(missing("a limit or a latency")),
    };
    let shape = Shape { rate, burst: Some(burst), excess: None, peak: false };
    let shape = Some(Shaping { shape, peak, counts: counts.made });
    Ok(Kind::Leaf { queue: Queue::Fifo, limit: Some(Limit::Bytes(limit)), shape })
}

/// Memory of a packet of 1514 B in bytes, which the kernel counts against memory limits (`skb->truesize`): 2048 B of
/// data and 256 B of metadata. It depends on the driver.
const TRUE_SIZE: u64 = 2304;

/// Parses `fq_codel`, `codel`, `pie` or `fq_pie`, whose options have the same names.
fn timed(name: &str, args: &mut Args<'_>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut law, mut limit, mut made) = (Timed::default(), None, FqCodel::default());
    let (mut alpha, mut beta, mut memory) = (None, None, None);
    loop {
        let at = args.at();
        if args.take_if("limit") {
            limit = Some(Limit::Packets(args.number()?));
        } else if args.take_if("flows") {
            made.flows = Some(args.number()?);
        } else if args.take_if("quantum") {
            made.quantum = Some(args.size()?);
        } else if args.take_if("target") {
            law.target = Some(args.time()?);
        } else if args.take_if("interval") || args.take_if("tupdate") {
            law.interval = Some(args.time()?);
        } else if args.take_if("ecn") {
            law.ecn = Some(true);
        } else if args.take_if("noecn") {
            law.ecn = Some(false);
        } else if args.take_if("alpha") {
            alpha = Some(args.within("gain", 0, 32)? as u32);
        } else if args.take_if("beta") {
            beta = Some(args.within("gain", 0, 32)? as u32);
        } else if args.take_if("drop_batch") {
            made.batch = Some(args.within("number of packets", 1, 10_000)?);
        } else if args.take_if("ce_threshold") {
            law.ce_threshold = Some(args.time()?);
        } else if args.take_if("memory_limit") {
            memory = Some((at, args.size()?));
        } else if args.take_if("bytemode") {
            law.byte_mode = true;
        } else if args.take_if("nobytemode") {
            law.byte_mode = false;
        } else if args.take_if("dq_rate_estimator") {
            report.unsupported(
                at,
                "the delay estimate from the departure rate (`dq_rate_estimator`)",
                Some("the delay is measured by time stamps here"),
            );
        } else if args.take_if("ecn_prob") || args.take_if("ce_threshold_selector") {
            let value = args.word("value")?;
            report.unsupported(at, format!("a selection of the packets that may be marked, {}", value.text), None);
        } else if !args.take_if("no_dq_rate_estimator") {
            break;
        }
    }
    if alpha.is_some() || beta.is_some() {
        // `pie_params_init`.
        law.gains = Some((alpha.unwrap_or(2), beta.unwrap_or(20)));
    }
    let packets = if let Some(Limit::Packets(n)) = limit { n } else { 10_240 };
    if let Some((at, memory)) = memory
        && memory < packets.saturating_mul(TRUE_SIZE)
    {
        report.unsupported(
            at,
            "`memory_limit`: the memory of a packet depends on the driver",
            Some("use `limit` in packets; a full frame takes about 2300 B"),
        );
    }
    if name == "fq_pie" && (made.flows.is_some() || made.quantum.is_some()) {
        report.unsupported(args.start(), "`flows` and `quantum` of fq_pie: 1024 flows and 1514 B are used", None);
    }
    made.law = law;
    let queue = match name {
        "fq_codel" => Queue::FqCodel(made),
        "codel" => Queue::Codel(law),
        "pie" => Queue::Pie(law),
        _ => Queue::FqPie(law),
    };
    Ok(Kind::Leaf { queue, limit, shape: None })
}

/// Parses the parameters of RED; returns them with the limit in bytes and their place. Options of GRED (`DP`, `prio`)
/// are added to `others`, each with its value.
fn red<'a>(
    args: &mut Args<'a>,
    others: &mut Vec<(&'a str, u64)>,
    report: &mut Report,
) -> Result<(Red, Option<u64>, Place), Trouble> {
    let (mut red, mut limit) = (Red::default(), None);
    let at = args.at();
    loop {
        let own = args.at();
        if args.take_if("limit") {
            limit = Some(args.size()?);
        } else if args.take_if("min") {
            red.min = Some(args.size()?);
        } else if args.take_if("max") {
            red.max = Some(args.size()?);
        } else if args.take_if("avpkt") {
            red.avpkt = Some(args.size()?);
        } else if args.take_if("burst") {
            red.burst = Some(args.number()?);
        } else if args.take_if("probability") {
            red.probability = Some(args.millionths()?);
        } else if args.take_if("bandwidth") {
            red.bandwidth = Some(args.rate()?);
        } else if args.take_if("ecn") {
            red.ecn = true;
        } else if args.take_if("adaptive") {
            red.adaptive = true;
        } else if let Some(word) = args.peek().filter(|word| matches!(word.text.as_str(), "DP" | "prio" | "vq")) {
            let _ = args.take();
            others.push((word.text.as_str(), args.number()?));
        } else if args.take_if("harddrop") {
            red.hard = true;
        } else if args.take_if("nodrop") {
            report.unsupported(own, "`nodrop` of red: packets that are not ECN-capable are dropped here", None);
        } else if args.take_if("qevent") {
            return Err(Trouble::unsupported(
                own,
                "`qevent` of red: further actions on packets that it drops or marks",
            ));
        } else {
            break;
        }
    }
    Ok((red, limit, at))
}

/// Checks the thresholds of RED as `tc` and the kernel do.
fn check_red(red: &Red, limit: Option<u64>, at: Place) -> Result<(), Trouble> {
    let need = |what: &str| {
        Trouble::wrong(at, format!("red needs {what}"), "write `red limit 400k min 30k max 90k avpkt 1000 burst 55`")
    };
    let limit = limit.ok_or_else(|| need("a limit"))?;
    if red.avpkt.is_none() {
        return Err(need("avpkt"));
    }
    if let (Some(min), Some(max)) = (red.min, red.max)
        && min >= max
    {
        return Err(Trouble::wrong(at, format!("min {min} is not below max {max}"), "write the lower number as min"));
    }
    if red.max.is_some_and(|max| max > limit) {
        return Err(Trouble::wrong(
            at,
            "max is above limit",
            "raise `limit`: the queue overflows before the average reaches max",
        ));
    }
    Ok(())
}

/// `gred setup DPs N default D [grio]`, then `change … gred limit … DP d …`
fn gred(at: Place, args: &mut Args<'_>, old: Option<&Qdisc>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut made, limit) = match old.map(|old| &old.kind) {
        Some(Kind::Leaf { queue: Queue::Gred(gred), limit, .. }) => (gred.clone(), *limit),
        _ => (Gred::default(), None),
    };
    if args.take_if("setup") || args.peek().is_some_and(|word| matches!(word.text.as_str(), "DPs" | "vqs")) {
        loop {
            if args.take_if("DPs") || args.take_if("vqs") {
                made.count = args.within("number of profiles", 1, 16)? as u32;
            } else if args.take_if("default") {
                made.default = args.within("profile", 0, 15)? as u32;
            } else if args.take_if("grio") {
                made.grio = true;
            } else if args.take_if("limit") {
                let _ = args.size()?;
            } else {
                break;
            }
        }
    } else {
        if made.count == 0 {
            return Err(Trouble::wrong(at, "gred has not been set up", "write `gred setup DPs 3 default 2` first"));
        }
        let mut others = Vec::new();
        let (law, limit, _) = red(args, &mut others, report)?;
        let find = |name: &str| others.iter().find(|(own, _)| *own == name).and_then(|(_, n)| u32::try_from(*n).ok());
        let dp = find("DP")
            .or_else(|| find("vq"))
            .ok_or_else(|| Trouble::wrong(at, "the profile is missing", "write `DP 1`"))?;
        if dp >= made.count {
            return Err(Trouble::wrong(at, format!("there is no profile {dp}"), "raise `DPs` of `gred setup`"));
        }
        made.profiles.retain(|profile| profile.dp != dp);
        made.profiles.push(GredProfile { dp, limit, prio: find("prio"), law });
        made.profiles.sort_by_key(|profile| profile.dp);
    }
    Ok(Kind::Leaf { queue: Queue::Gred(made), limit, shape: None })
}
