//! Actions of a filter in addition to the selection of a class: `police` and the actions of tc-actions(8).

use super::args::{Args, Trouble};
use super::handle::Handle;
use super::units;
use crate::ir::{Act, Counting, Police, Share};
use crate::{Place, Report};

/// A modification of a packet or its metadata, which later filters observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Sets the bits of the firewall mark under the mask.
    Mark { value: u32, mask: u32 },
    /// Sets the DSCP, 0 to 63.
    Dscp(u8),
    /// Sets the kernel's priority of the packet (`skb->priority`), which may be the handle of a class.
    Priority(Handle),
}

/// Actions of a filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Actions {
    /// Policer; `None`: the filter has none.
    pub police: Option<Police>,
    /// Modifications of the packet, in order.
    pub edits: Vec<Edit>,
    /// Device to which packets are redirected; `None`: they are not.
    pub redirect: Option<String>,
    /// `true` if all packets are dropped.
    pub drop: bool,
    /// `true` if the next filter is evaluated although this one matches (`continue`).
    pub next: bool,
    /// `true` if the filter has an action or policer; otherwise it only selects a class.
    pub any: bool,
}

impl Actions {
    /// Parses the rest of a filter after its conditions; returns the actions, and the class that it selects, if any.
    /// `major` is the major number of a class that is written without one.
    pub fn read(args: &mut Args<'_>, major: u16, report: &mut Report) -> Result<(Actions, Option<Handle>), Trouble> {
        let (mut actions, mut target) = (Actions::default(), None);
        while let Some(word) = args.take() {
            match word.text.as_str() {
                "flowid" | "classid" => target = Some(args.handle(Some(major))?),
                "police" => actions.policer(args)?,
                "action" => actions.action(word.at, args, report)?,
                "skip_hw" | "skip_sw" | "verbose" => {}
                // `action pass flowid …` may be followed by an index.
                "index" => {
                    let _ = args.number()?;
                }
                other => return Err(Trouble::unsupported(word.at, format!("`{other}` of a filter"))),
            }
        }
        Ok((actions, target))
    }

    /// Parses the arguments of `police`.
    fn policer(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        self.any = true;
        self.police = Some(policer(args)?);
        Ok(())
    }

    /// Parses the arguments of `action`, which is at `at`.
    fn action(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        self.any = true;
        let kind = args.word("action")?;
        match kind.text.as_str() {
            "police" => self.policer(args)?,
            "skbedit" => self.skbedit(args)?,
            "pedit" => self.pedit(args)?,
            "mirred" => self.mirred(at, args, report)?,
            "csum" => {
                while args.peek().is_some_and(|word| !is_end(&word.text)) {
                    let _ = args.take();
                }
            }
            "gact" => {}
            word if self.control(word) => {}
            other => return Err(Trouble::unsupported(at, format!("the action `{other}`"))),
        }
        // A control keyword may follow: it continues with the next action or the next filter, or ends the evaluation.
        if let Some(word) = args.peek()
            && self.control(&word.text)
        {
            let _ = args.take();
        }
        Ok(())
    }

    /// Applies a control keyword, which may be an action or follow one; `false`: the word is no such keyword.
    fn control(&mut self, word: &str) -> bool {
        match word {
            "ok" | "pass" | "pipe" => {}
            "drop" | "shot" => self.drop = true,
            "continue" => self.next = true,
            _ => return false,
        }
        true
    }

    /// `skbedit [priority HANDLE] [mark MARK[/MASK]]`
    fn skbedit(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        while let Some(word) = args.peek() {
            match word.text.as_str() {
                "priority" => {
                    let _ = args.take();
                    self.edits.push(Edit::Priority(args.handle(None)?));
                }
                "mark" => {
                    let _ = args.take();
                    let word = args.word("mark")?;
                    let (value, mask) = word.text.split_once('/').unwrap_or((&word.text, "0xffffffff"));
                    let number = |text: &str| units::based(text).and_then(|n| u32::try_from(n).ok());
                    let found = number(value).zip(number(mask));
                    let wrong = || {
                        Trouble::wrong(
                            word.at,
                            "this is not a valid firewall mark",
                            "write MARK or MARK/MASK, integers of 32 bits, such as 10 or 0x10/0xff",
                        )
                    };
                    let (value, mask) = found.ok_or_else(wrong)?;
                    self.edits.push(Edit::Mark { value: value & mask, mask });
                }
                "queue_mapping" | "inheritdsfield" | "ptype" => {
                    return Err(Trouble::unsupported(word.at, format!("`{}` of skbedit", word.text)));
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// `pedit ex munge ip dsfield set 0xb8 [retain 0xfc]`
    fn pedit(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        let at = args.at();
        let other = || Trouble::unsupported(at, "pedit of a field other than the DS field");
        let _ = args.take_if("ex");
        while args.take_if("munge") || args.take_if("pedit") {
            if !(args.take_if("ip") || args.take_if("ip6")) {
                return Err(other());
            }
            if !(args.take_if("dsfield")
                || args.take_if("tos")
                || args.take_if("precedence")
                || args.take_if("traffic_class"))
            {
                return Err(other());
            }
            if !args.take_if("set") {
                return Err(other());
            }
            let word = args.word("value")?;
            let value = units::based(&word.text).filter(|value| *value < 256).ok_or_else(other)?;
            let retain = if args.take_if("retain") {
                let word = args.word("mask")?;
                units::based(&word.text).ok_or_else(other)?
            } else {
                0xff
            };
            if retain & 0xfc != 0xfc {
                return Err(Trouble::unsupported(at, "pedit of some bits of the DSCP only"));
            }
            self.edits.push(Edit::Dscp((value >> 2) as u8));
        }
        Ok(())
    }

    /// `mirred egress redirect|mirror dev NAME`
    fn mirred(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let _ = args.take_if("ingress") || args.take_if("egress");
        let mirror = args.take_if("mirror");
        if !mirror && !args.take_if("redirect") {
            return Err(Trouble::unsupported(at, "the action mirred without `redirect` or `mirror`"));
        }
        if !args.take_if("dev") {
            return Err(Trouble::wrong(at, "mirred needs a device", "write `mirred egress redirect dev ifb0`"));
        }
        let name = args.word("name of the device")?;
        if mirror {
            report.unsupported(
                at,
                format!("mirrored copies to `{}`", name.text),
                Some("only the original packets are simulated"),
            );
        } else {
            self.redirect = Some(name.text.clone());
        }
        Ok(())
    }
}

/// Length of a full Ethernet frame without FCS, bytes.
const FRAME: u64 = 1514;

/// `true` if the word ends the arguments of `csum`.
fn is_end(word: &str) -> bool {
    matches!(word, "action" | "flowid" | "classid" | "pipe" | "ok" | "pass" | "continue" | "drop" | "shot" | "index")
}

/// Parses the arguments of `police`.
fn policer(args: &mut Args<'_>) -> Result<Police, Trouble> {
    let at = args.at();
    let (mut rate, mut burst) = (None, None);
    let (mut conform, mut exceed) = (vec![Act::Transmit], vec![Act::Drop]);
    let act = |word: &str| match word {
        "drop" | "shot" => Some(Act::Drop),
        "ok" | "pass" | "pipe" => Some(Act::Transmit),
        _ => None,
    };
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "rate" => {
                let _ = args.take();
                rate = Some(args.rate()?);
            }
            "burst" | "buffer" | "maxburst" => {
                let _ = args.take();
                burst = Some(args.size()?);
            }
            "mtu" => {
                let _ = args.take();
                if args.size()? < FRAME {
                    return Err(Trouble::unsupported(
                        word.at,
                        "a policer whose `mtu` is below 1514 B: longer packets always exceed",
                    ));
                }
            }
            "mpu" | "overhead" | "linklayer" => {
                return Err(Trouble::unsupported(word.at, format!("`{}` of a policer", word.text)));
            }
            "conform-exceed" => {
                let _ = args.take();
                let both = args.word("action")?;
                let (first, second) =
                    both.text.split_once('/').map_or((both.text.as_str(), None), |(e, c)| (e, Some(c)));
                let unknown = || Trouble::unsupported(both.at, format!("the actions `{}`", both.text));
                exceed = vec![act(first).ok_or_else(unknown)?];
                if let Some(second) = second {
                    conform = vec![act(second).ok_or_else(unknown)?];
                }
            }
            "peakrate" | "avrate" | "pkts_rate" | "reclassify" | "continue" => {
                return Err(Trouble::unsupported(word.at, format!("`{}` of a policer", word.text)));
            }
            other => match act(other) {
                Some(act) => {
                    let _ = args.take();
                    exceed = vec![act];
                }
                None => break,
            },
        }
    }
    let missing =
        |what: &str| Trouble::wrong(at, format!("a policer needs {what}"), "write `police rate 1mbit burst 10k drop`");
    let rate = rate.ok_or_else(|| missing("a rate"))?;
    let burst = Some(burst.ok_or_else(|| missing("a burst"))?);
    Ok(Police {
        rate: Share::Rate(rate),
        burst,
        peak: None,
        excess: None,
        conform,
        exceed,
        violate: Vec::new(),
        counts: Counting::default(),
    })
}

/// Returns a policer that drops all packets, the effect of `action drop`.
pub(super) fn drop_all() -> Police {
    Police {
        rate: Share::Rate(8),
        burst: Some(1),
        peak: None,
        excess: None,
        conform: vec![Act::Drop],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: Counting::default(),
    }
}
