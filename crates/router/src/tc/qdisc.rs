//! `tc qdisc`: disciplines and their parameters.

use super::args::{Args, Trouble};
use super::{Handle, Parent, Tables, Verb, class};
use crate::ir::{FqCodel, Gred, GredProfile, Limit, Queue, Red, Sfq, Shape, Share, Timed};
use crate::{Place, Report};

/// A discipline of a device.
#[derive(Clone, Debug)]
pub(super) struct Qdisc {
    pub major: u16,
    pub parent: Parent,
    pub kind: Kind,
    pub at: Place,
}

/// What a discipline is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Htb {
        default: u16,
    },
    Prio {
        bands: u16,
        map: [u16; 16],
    },
    Drr,
    Ets {
        strict: u16,
        quanta: Vec<u64>,
        bands: u16,
    },
    /// A queue without classes; with a shape it is TBF, in whose single class another discipline may hang.
    Leaf {
        queue: Queue,
        limit: Option<Limit>,
        shape: Option<Shape>,
    },
    /// What arrives; nothing is simulated there.
    Ingress,
}

/// The kernel's priomap of `prio`: skb priorities 0 to 15 to bands.
pub(super) const PRIOMAP: [u16; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
/// Handles of disciplines that were given none start here.
const UNNAMED: u16 = 0x8001;

pub(super) fn command(
    verb: Verb,
    args: &mut Args<'_>,
    tables: &mut Tables,
    report: &mut Report,
) -> Result<(), Trouble> {
    let at = args.start();
    let (mut device, mut parent, mut major) = (None, None, None);
    let mut kind_word = None;
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "dev" => {
                let _ = args.take();
                device = Some(args.word("name of the device")?.text.clone());
            }
            "root" => {
                let _ = args.take();
                parent = Some(Parent::Root);
            }
            "ingress" | "clsact" => {
                let _ = args.take();
                parent = Some(Parent::Class(Handle { major: u16::MAX, minor: 0xfff1 }));
                kind_word = Some(word);
                break;
            }
            "parent" => {
                let _ = args.take();
                parent = Some(Parent::Class(args.handle(None)?));
            }
            "handle" => {
                let _ = args.take();
                major = Some(args.handle(None)?.major);
            }
            "stab" | "overhead" | "linklayer" | "mtu" | "mpu" | "tsize" | "estimator" => {
                let _ = args.take();
                report.unsupported(
                    word.at,
                    format!("`{}` of a discipline", word.text),
                    Some("the frame's own length is counted"),
                );
                if word.text != "stab" && word.text != "estimator" {
                    let _ = args.take();
                }
            }
            _ => {
                kind_word = args.take();
                break;
            }
        }
    }
    let name = device.ok_or_else(|| Trouble::wrong(at, "the device is missing", "write `dev eth0`"))?;
    let device = tables.device(&name);
    let old = match (parent, major) {
        (_, Some(major)) if device.qdisc(major).is_some() => device.qdisc(major).cloned(),
        (Some(parent), _) => device.qdiscs.iter().find(|qdisc| qdisc.parent == parent).cloned(),
        _ => None,
    };
    if verb == Verb::Delete {
        match (old, parent) {
            (Some(old), _) => device.remove(old.major),
            // Scripts begin by clearing what may be there.
            (None, _) => report.ignored(at, "there is nothing to delete"),
        }
        return Ok(());
    }
    let word =
        kind_word.ok_or_else(|| Trouble::wrong(at, "the kind of discipline is missing", "write one, such as htb"))?;
    let parent = parent
        .or(old.as_ref().map(|old| old.parent))
        .ok_or_else(|| Trouble::wrong(at, "the place is missing", "write `root` or `parent 1:10`"))?;
    if let Parent::Class(class) = parent
        && word.text != "ingress"
        && word.text != "clsact"
        && !class::exists(device, class)
    {
        return Err(Trouble::wrong(
            at,
            format!("there is no class {class} on {name}"),
            "add it before what hangs in it",
        ));
    }
    if verb == Verb::Add && old.is_some() {
        let advice = "delete the old one first, or use `replace`";
        return Err(Trouble::wrong(at, "there is a discipline in that place, or with that handle, already", advice));
    }
    if verb == Verb::Change && old.is_none() {
        return Err(Trouble::wrong(at, "there is no discipline to change", "use `add` or `replace`"));
    }
    let kind = kind(word, args, old.as_ref().filter(|_| verb == Verb::Change), report)?;
    if let Some(left) = args.peek() {
        let message = format!("`{}` and what follows is not known of {}", left.text, word.text);
        report.unsupported(left.at, message, Some("it was left out"));
    }
    if let Some(old) = old {
        if verb == Verb::Change {
            if let Some(own) = device.qdiscs.iter_mut().find(|qdisc| qdisc.major == old.major) {
                own.kind = kind;
            }
            return Ok(());
        }
        device.remove(old.major);
    }
    let unused = (UNNAMED..=u16::MAX).find(|major| device.qdisc(*major).is_none()).unwrap_or(u16::MAX);
    let major =
        if matches!(kind, Kind::Ingress) { u16::MAX } else { major.filter(|major| *major > 0).unwrap_or(unused) };
    if let Parent::Class(class) = parent
        && class.major == major
        && !matches!(kind, Kind::Ingress)
    {
        return Err(Trouble::wrong(at, format!("{major:x}: cannot hang in its own class"), "give it another handle"));
    }
    device.qdiscs.push(Qdisc { major, parent, kind, at });
    Ok(())
}

fn kind(
    word: &super::shell::Word,
    args: &mut Args<'_>,
    old: Option<&Qdisc>,
    report: &mut Report,
) -> Result<Kind, Trouble> {
    let leaf = |queue: Queue, limit: Option<Limit>| Kind::Leaf { queue, limit, shape: None };
    Ok(match word.text.as_str() {
        "htb" => {
            let mut default = 0;
            loop {
                if args.is("default") {
                    default = args.hexadecimal()?;
                } else if args.is("r2q") || args.is("direct_qlen") || args.is("debug") {
                    let _ = args.number()?;
                } else {
                    break;
                }
            }
            Kind::Htb { default }
        }
        "prio" => prio(args)?,
        "drr" => Kind::Drr,
        "ets" => ets(args)?,
        "pfifo" | "bfifo" | "pfifo_head_drop" => {
            let bytes = word.text == "bfifo";
            if word.text == "pfifo_head_drop" {
                report.warning(
                    word.at,
                    "pfifo_head_drop drops the newest here",
                    "use discipline drop-head in the scenario",
                );
            }
            let limit = if args.is("limit") {
                Some(if bytes { Limit::Bytes(args.size()?) } else { Limit::Packets(args.number()?) })
            } else {
                None
            };
            leaf(Queue::Fifo, limit)
        }
        "pfifo_fast" => Kind::Prio { bands: 3, map: PRIOMAP },
        "tbf" => tbf(word.at, args)?,
        "sfq" => {
            let (mut sfq, mut limit) = (Sfq::default(), None);
            loop {
                if args.is("quantum") {
                    sfq.quantum = Some(args.size()?);
                } else if args.is("perturb") {
                    sfq.perturb = Some(args.number()?);
                } else if args.is("limit") {
                    limit = Some(Limit::Packets(args.number()?));
                } else if args.is("divisor") {
                    sfq.divisor = Some(args.number()?);
                } else if args.is("depth") {
                    sfq.depth = Some(args.number()?);
                } else if args.is("flows") {
                    let _ = args.number()?;
                } else if !args.is("headdrop") {
                    break;
                }
            }
            leaf(Queue::Sfq(sfq), limit)
        }
        "fq_codel" | "codel" | "pie" | "fq_pie" => timed(&word.text, args)?,
        "red" => {
            let (red, limit, _) = red(args, &mut Vec::new())?;
            check_red(&red, limit, word.at)?;
            leaf(Queue::Red(red), limit.map(Limit::Bytes))
        }
        "gred" => gred(word.at, args, old)?,
        "ingress" | "clsact" => Kind::Ingress,
        "noqueue" => leaf(Queue::Fifo, None),
        other => {
            let known = "htb, prio, drr, ets, tbf, sfq, red, gred, pfifo, bfifo, fq_codel, codel, pie, fq_pie";
            let trouble = Trouble::unsupported(word.at, format!("the discipline `{other}` has no counterpart"));
            return Err(Trouble { advice: Some(format!("known are: {known}")), ..trouble });
        }
    })
}

fn priomap(args: &mut Args<'_>, bands: u16, map: &mut [u16; 16]) -> Result<(), Trouble> {
    for band in map.iter_mut() {
        if args.peek().is_none_or(|word| !word.text.starts_with(|c: char| c.is_ascii_digit())) {
            break;
        }
        *band = args.within("band", 0, u64::from(bands.saturating_sub(1)))? as u16;
    }
    Ok(())
}

fn prio(args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut bands, mut map) = (3, PRIOMAP);
    loop {
        if args.is("bands") {
            bands = args.within("number of bands", 2, 16)? as u16;
        } else if args.is("priomap") {
            priomap(args, bands, &mut map)?;
        } else {
            break;
        }
    }
    let at = args.start();
    if map.iter().any(|band| *band >= bands) {
        return Err(Trouble::wrong(
            at,
            "the priomap names a band that there is not",
            "write a priomap for so few bands",
        ));
    }
    Ok(Kind::Prio { bands, map })
}

fn ets(args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut strict, mut quanta, mut bands, mut map) = (0, Vec::new(), None, [0; 16]);
    loop {
        if args.is("bands") {
            bands = Some(args.within("number of bands", 1, 16)? as u16);
        } else if args.is("strict") {
            strict = args.within("number of strict bands", 0, 16)? as u16;
        } else if args.is("quanta") {
            while quanta.len() < 16
                && args.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
            {
                quanta.push(args.size()?);
            }
        } else if args.is("priomap") {
            priomap(args, 16, &mut map)?;
        } else {
            break;
        }
    }
    let least = strict + quanta.len() as u16;
    let bands = bands.unwrap_or(least);
    if bands < least || bands == 0 {
        return Err(Trouble::wrong(
            args.start(),
            "there are fewer bands than strict bands and quanta",
            "write more `bands`",
        ));
    }
    Ok(Kind::Ets { strict, quanta, bands })
}

fn tbf(at: Place, args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut rate, mut burst, mut limit, mut latency) = (None, None, None, None);
    loop {
        if args.is("rate") {
            rate = Some(args.rate()?);
        } else if args.is("burst") || args.is("buffer") || args.is("maxburst") {
            burst = Some(args.size()?);
        } else if args.is("limit") {
            limit = Some(args.size()?);
        } else if args.is("latency") {
            latency = Some(args.time()?);
        } else if args.is("mpu") || args.is("mtu") || args.is("minburst") {
            let _ = args.size()?;
        } else if args.is("peakrate") || args.is("overhead") || args.is("linklayer") {
            return Err(Trouble::unsupported(args.at(), "peakrate, overhead and linklayer of tbf"));
        } else {
            break;
        }
    }
    let missing =
        |what: &str| Trouble::wrong(at, format!("tbf needs {what}"), "write `tbf rate 1mbit burst 10k latency 50ms`");
    let rate = rate.ok_or_else(|| missing("a rate"))?;
    let burst = burst.ok_or_else(|| missing("a burst"))?;
    let limit = match (limit, latency) {
        (Some(limit), _) => limit,
        // As tc computes it: what the rate carries in the latency, and the burst.
        (None, Some(latency)) => {
            u64::try_from(u128::from(rate) * u128::from(latency) / 8_000_000).unwrap_or(u64::MAX).saturating_add(burst)
        }
        (None, None) => return Err(missing("a limit or a latency")),
    };
    let shape = Shape { rate: Share::Rate(rate), burst: Some(burst), excess: None, peak: false };
    Ok(Kind::Leaf { queue: Queue::Fifo, limit: Some(Limit::Bytes(limit)), shape: Some(shape) })
}

fn timed(name: &str, args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut law, mut limit, mut flows, mut quantum) = (Timed::default(), None, None, None);
    loop {
        if args.is("limit") {
            limit = Some(Limit::Packets(args.number()?));
        } else if args.is("flows") {
            flows = Some(args.number()?);
        } else if args.is("quantum") {
            quantum = Some(args.size()?);
        } else if args.is("target") {
            law.target = Some(args.time()?);
        } else if args.is("interval") || args.is("tupdate") {
            law.interval = Some(args.time()?);
        } else if args.is("ecn") {
            law.ecn = Some(true);
        } else if args.is("noecn") {
            law.ecn = Some(false);
        } else if args.is("memory_limit")
            || args.is("drop_batch")
            || args.is("alpha")
            || args.is("beta")
            || args.is("ecn_prob")
        {
            let _ = args.word("value")?;
        } else if args.is("ce_threshold") {
            return Err(Trouble::unsupported(args.at(), "ce_threshold"));
        } else if !(args.is("bytemode")
            || args.is("nobytemode")
            || args.is("dq_rate_estimator")
            || args.is("no_dq_rate_estimator"))
        {
            break;
        }
    }
    let queue = match name {
        "fq_codel" => Queue::FqCodel(FqCodel { flows, quantum, law }),
        "codel" => Queue::Codel(law),
        "pie" => Queue::Pie(law),
        _ => Queue::FqPie(law),
    };
    Ok(Kind::Leaf { queue, limit, shape: None })
}

/// Parameters of RED; what else stands among them goes to `others`, each with its value.
fn red<'a>(args: &mut Args<'a>, others: &mut Vec<(&'a str, u64)>) -> Result<(Red, Option<u64>, Place), Trouble> {
    let (mut red, mut limit) = (Red::default(), None);
    let at = args.at();
    loop {
        if args.is("limit") {
            limit = Some(args.size()?);
        } else if args.is("min") {
            red.min = Some(args.size()?);
        } else if args.is("max") {
            red.max = Some(args.size()?);
        } else if args.is("avpkt") {
            red.avpkt = Some(args.size()?);
        } else if args.is("burst") {
            red.burst = Some(args.number()?);
        } else if args.is("probability") {
            red.probability = Some(args.millionths()?);
        } else if args.is("bandwidth") {
            red.bandwidth = Some(args.rate()?);
        } else if args.is("ecn") {
            red.ecn = true;
        } else if args.is("adaptive") {
            red.adaptive = true;
        } else if let Some(word) = args.peek().filter(|word| matches!(word.text.as_str(), "DP" | "prio" | "vq")) {
            let _ = args.take();
            others.push((word.text.as_str(), args.number()?));
        } else if !(args.is("harddrop") || args.is("nodrop")) {
            break;
        }
    }
    Ok((red, limit, at))
}

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
            "raise the limit: the queue is full before the average is there",
        ));
    }
    Ok(())
}

/// `gred setup DPs N default D [grio]`, then `change … gred limit … DP d …`
fn gred(at: Place, args: &mut Args<'_>, old: Option<&Qdisc>) -> Result<Kind, Trouble> {
    let (mut made, limit) = match old.map(|old| &old.kind) {
        Some(Kind::Leaf { queue: Queue::Gred(gred), limit, .. }) => (gred.clone(), *limit),
        _ => (Gred::default(), None),
    };
    if args.is("setup") || args.peek().is_some_and(|word| matches!(word.text.as_str(), "DPs" | "vqs")) {
        loop {
            if args.is("DPs") || args.is("vqs") {
                made.count = args.within("number of profiles", 1, 16)? as u32;
            } else if args.is("default") {
                made.default = args.within("profile", 0, 15)? as u32;
            } else if args.is("grio") {
                made.grio = true;
            } else if args.is("limit") {
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
        let (law, limit, _) = red(args, &mut others)?;
        let find = |name: &str| others.iter().find(|(own, _)| *own == name).and_then(|(_, n)| u32::try_from(*n).ok());
        let dp = find("DP")
            .or_else(|| find("vq"))
            .ok_or_else(|| Trouble::wrong(at, "the profile is missing", "write `DP 1`"))?;
        if dp >= made.count {
            return Err(Trouble::wrong(at, format!("there is no profile {dp}"), "raise DPs in the set-up"));
        }
        made.profiles.retain(|profile| profile.dp != dp);
        made.profiles.push(GredProfile { dp, limit, prio: find("prio"), law });
        made.profiles.sort_by_key(|profile| profile.dp);
    }
    Ok(Kind::Leaf { queue: Queue::Gred(made), limit, shape: None })
}
