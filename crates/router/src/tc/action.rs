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
    /// `true` if all matching packets are dropped.
    pub drop: bool,
    /// `true` if the next filter is evaluated although this one matches (`continue`).
    pub next: bool,
    /// `true` if the filter has an action or policer; otherwise it only selects a class.
    pub acts: bool,
    /// Packets to which the next action of the list applies.
    following: Following,
}

/// Packets, of those that an action does not drop, to which the next action of the list applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Following {
    #[default]
    All,
    /// Only those that conform to a policer, or only those that exceed it.
    Some,
    None,
}

/// Control of an action: what follows it (tc-actions(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// The next action; after the last one the filter matches.
    Pipe,
    /// The filter matches: no further action and no further filter.
    Pass,
    /// The packet is dropped.
    Drop,
    /// The next filter.
    Continue,
}

impl Control {
    /// Returns the control of that name; `None`: there is no such control, or it is unsupported.
    fn named(word: &str) -> Option<Control> {
        Some(match word {
            "pipe" => Control::Pipe,
            "ok" | "pass" => Control::Pass,
            "drop" | "shot" => Control::Drop,
            "continue" => Control::Continue,
            _ => return None,
        })
    }
}

impl Actions {
    /// Parses the rest of a filter after its conditions; returns the actions, and the class that it selects, if any.
    /// `major` is the major number of a class that is written without one. `report` gets remarks on parts that are
    /// left out.
    ///
    /// # Errors
    /// On a word or action that `tc` refuses or that is unsupported: then the whole filter is left out.
    pub fn read(args: &mut Args<'_>, major: u16, report: &mut Report) -> Result<(Actions, Option<Handle>), Trouble> {
        let (mut actions, mut target) = (Actions::default(), None);
        while let Some(word) = args.take() {
            match word.text.as_str() {
                "flowid" | "classid" => target = Some(args.handle(Some(major))?),
                "police" => actions.policer(args)?,
                "action" => actions.action(word.at, args, report)?,
                "skip_hw" | "skip_sw" | "verbose" => {}
                // The number under which other commands may refer to the action before it.
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
        self.acts = true;
        let (police, following) = policer(args)?;
        (self.police, self.following) = (Some(police), following);
        Ok(())
    }

    /// Parses the arguments of `action`, which is at `at`. As in the kernel (`tcf_action_exec`), the action is executed
    /// if the control of the one before is `pipe`, written or by default.
    fn action(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        self.acts = true;
        match self.following {
            Following::All => self.execute(at, args, report),
            Following::Some => Err(Trouble::unsupported(
                at,
                "an action after a policer that only conforming or only exceeding packets reach",
            )),
            Following::None => {
                report.warning(
                    at,
                    "this action is never executed: the one before it ends the list",
                    "write `pipe` after the one before it",
                );
                Actions::default().execute(at, args, report)
            }
        }
    }

    /// Parses an action that is executed, and its control.
    fn execute(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let kind = args.word("action")?;
        // The control by default (`parse_action_control_dflt` in the sources of `tc`).
        let default = match kind.text.as_str() {
            // The controls of a policer are among its arguments.
            "police" => return self.policer(args),
            "skbedit" => {
                self.skbedit(at, args)?;
                Control::Pipe
            }
            "pedit" => {
                self.pedit(at, args, report)?;
                Control::Pass
            }
            "mirred" => {
                self.mirred(at, args, report)?;
                if self.redirect.is_some() {
                    // Packets have left the device; `tc` takes no control here.
                    self.following = Following::None;
                    return Ok(());
                }
                Control::Pipe
            }
            // Checksums are not simulated.
            "csum" => {
                while args.peek().is_some_and(|word| !ends_csum(&word.text)) {
                    let _ = args.take();
                }
                Control::Pass
            }
            name => {
                let word = if name == "gact" { args.word("control of gact")? } else { kind };
                let unknown = || Trouble::unsupported(at, format!("the action `{}`", word.text));
                self.control(Control::named(&word.text).ok_or_else(unknown)?);
                return Ok(());
            }
        };
        let written = args.peek().and_then(|word| Control::named(&word.text));
        if written.is_some() {
            let _ = args.take();
        }
        self.control(written.unwrap_or(default));
        Ok(())
    }

    /// Applies the control of an action.
    fn control(&mut self, control: Control) {
        self.following = if control == Control::Pipe { Following::All } else { Following::None };
        self.drop |= control == Control::Drop;
        self.next |= control == Control::Continue;
    }

    /// `skbedit [priority HANDLE] [mark MARK[/MASK]]`
    fn skbedit(&mut self, at: Place, args: &mut Args<'_>) -> Result<(), Trouble> {
        let before = self.edits.len();
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
        if self.edits.len() == before {
            return Err(Trouble::unsupported(at, "skbedit without `priority` or `mark`"));
        }
        Ok(())
    }

    /// `pedit [ex] munge ip dsfield|tos|precedence set VALUE [retain MASK] [munge …]`, with `ip6 traffic_class` for
    /// IPv6. Each of these names is that of the whole DS field (`p_ip.c`, `p_ip6.c` of `tc`), value and mask are from 0
    /// to 255, and only the bits of the mask, by default all, are set.
    fn pedit(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let _ = args.take_if("ex");
        let mut is_empty = true;
        while args.take_if("munge") {
            is_empty = false;
            let at = args.at();
            let is_ds_field = if args.take_if("ip") {
                args.take_if("dsfield") || args.take_if("tos") || args.take_if("precedence")
            } else {
                args.take_if("ip6") && args.take_if("traffic_class")
            };
            if !is_ds_field {
                return Err(Trouble::unsupported(at, "pedit of a field other than the DS field"));
            }
            let command = args.word("command of pedit")?;
            match command.text.as_str() {
                "set" => {}
                "add" | "clear" | "invert" | "preserve" => {
                    return Err(Trouble::unsupported(command.at, format!("`{}` of pedit", command.text)));
                }
                other => {
                    let message = format!("`{other}` is not a command of pedit");
                    return Err(Trouble::wrong(command.at, message, "write `set 0xb8 retain 0xfc`"));
                }
            }
            let value = ds_field(args, "value")?;
            let mask = if args.take_if("retain") { ds_field(args, "mask")? } else { 0xff };
            if mask & 0xfc != 0xfc {
                return Err(Trouble::unsupported(at, "pedit of some bits of the DSCP only"));
            }
            if mask & 0x03 != 0 {
                report.unsupported(at, "the ECN bits that pedit sets", Some("write `retain 0xfc`"));
            }
            self.edits.push(Edit::Dscp(value >> 2));
        }
        if is_empty {
            return Err(Trouble::unsupported(at, "pedit without `munge`"));
        }
        Ok(())
    }

    /// `mirred egress redirect dev NAME`; copies by `mirred egress|ingress mirror dev NAME` are reported.
    fn mirred(&mut self, at: Place, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let is_ingress = args.take_if("ingress");
        let has_direction = is_ingress || args.take_if("egress");
        let mirror = args.take_if("mirror");
        if !has_direction || (!mirror && !args.take_if("redirect")) {
            return Err(Trouble::unsupported(at, "the action mirred without a direction, and `redirect` or `mirror`"));
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
        } else if is_ingress {
            // As if that device received the packets: its disciplines do not see them.
            return Err(Trouble::unsupported(at, format!("packets redirected to the ingress of `{}`", name.text)));
        } else {
            self.redirect = Some(name.text.clone());
        }
        Ok(())
    }
}

/// Takes a value or mask of the DS field, 0 to 255; `what` names it in the error.
fn ds_field(args: &mut Args<'_>, what: &str) -> Result<u8, Trouble> {
    let word = args.word(what)?;
    units::based(&word.text).and_then(|value| u8::try_from(value).ok()).ok_or_else(|| {
        let message = format!("`{}` is not a valid {what} of the DS field", word.text);
        Trouble::wrong(word.at, message, "write an integer from 0 to 255, such as 0xb8")
    })
}

/// Length of a full Ethernet frame without FCS, bytes.
const FRAME: u64 = 1514;

/// `true` if the word ends the arguments of `csum`.
fn ends_csum(word: &str) -> bool {
    matches!(word, "action" | "flowid" | "classid" | "index") || Control::named(word).is_some()
}

/// Parses the arguments of `police`: rate, burst, and the controls of conforming and exceeding packets. A control
/// without `conform-exceed` before it is that of exceeding packets.
///
/// By default conforming packets pass, and exceeding ones have the control `reclassify` (`m_police.c` of `tc`): the
/// kernel begins again with the first filter, where the packet exceeds again, and drops it after a few rounds
/// (`tcf_classify`). So they are dropped here.
fn policer(args: &mut Args<'_>) -> Result<(Police, Following), Trouble> {
    let at = args.at();
    // Bit/s and bytes.
    let (mut rate, mut burst) = (None, None);
    let (mut conform, mut exceed) = (Control::Pass, Control::Drop);
    let mut is_elsewhere = false;
    let named = |word: &str| Control::named(word).filter(|control| *control != Control::Continue);
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
            "index" => {
                let _ = args.take();
                let _ = args.number()?;
                is_elsewhere = true;
            }
            "mpu" | "overhead" | "linklayer" | "peakrate" | "avrate" | "pkts_rate" | "continue" => {
                return Err(Trouble::unsupported(word.at, format!("`{}` of a policer", word.text)));
            }
            "reclassify" => {
                let _ = args.take();
                exceed = Control::Drop;
            }
            "conform-exceed" => {
                let _ = args.take();
                let both = args.word("action")?;
                let (exceed_word, conform_word) =
                    both.text.split_once('/').map_or((both.text.as_str(), None), |(e, c)| (e, Some(c)));
                let unknown = || Trouble::unsupported(both.at, format!("the actions `{}`", both.text));
                exceed = match exceed_word {
                    "reclassify" => Control::Drop,
                    other => named(other).ok_or_else(unknown)?,
                };
                if let Some(word) = conform_word {
                    conform = named(word).ok_or_else(unknown)?;
                }
            }
            other => match named(other) {
                Some(control) => {
                    let _ = args.take();
                    exceed = control;
                }
                None => break,
            },
        }
    }
    if is_elsewhere && rate.is_none() {
        return Err(Trouble::unsupported(at, "a policer that another command defines (`index`)"));
    }
    let missing =
        |what: &str| Trouble::wrong(at, format!("a policer needs {what}"), "write `police rate 1mbit burst 10k drop`");
    let rate = rate.ok_or_else(|| missing("a rate"))?;
    let burst = Some(burst.ok_or_else(|| missing("a burst"))?);
    let passed = [conform, exceed].into_iter().filter(|control| *control != Control::Drop);
    let following = match (passed.clone().count(), passed.filter(|control| *control == Control::Pipe).count()) {
        (_, 0) => Following::None,
        (passed, piped) if passed == piped => Following::All,
        _ => Following::Some,
    };
    let act = |control| vec![if control == Control::Drop { Act::Drop } else { Act::Transmit }];
    let police = Police {
        rate: Share::Rate(rate),
        burst,
        peak: None,
        excess: None,
        conform: act(conform),
        exceed: act(exceed),
        violate: Vec::new(),
        counts: Counting::default(),
    };
    Ok((police, following))
}

/// Returns a policer that drops all packets, the effect of `action drop`. Rate (8 bit/s) and burst (1 byte) have no
/// effect, since both actions drop; they are the smallest that `tc`, which counts bytes, can express.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tc::shell::Word;

    /// Parses actions; returns them with the messages of the report.
    fn read(text: &str) -> Result<(Actions, Vec<String>), String> {
        let words = text.split_whitespace().map(|text| Word { text: text.to_owned(), at: Place::default() });
        let words: Vec<Word> = words.collect();
        let mut report = Report::default();
        let found = Actions::read(&mut Args::new(&words, Place::default()), 1, &mut report);
        let messages = report.notices().iter().map(|notice| notice.message.clone()).collect();
        found.map(|(actions, _)| (actions, messages)).map_err(|trouble| trouble.message)
    }

    /// Returns actions about which nothing is reported.
    fn quiet(text: &str) -> Actions {
        let (actions, messages) = read(text).unwrap_or_else(|message| panic!("{text}: {message}"));
        assert_eq!(messages, [""; 0], "{text}");
        actions
    }

    const MARK_1: Edit = Edit::Mark { value: 1, mask: u32::MAX };
    const MARK_2: Edit = Edit::Mark { value: 2, mask: u32::MAX };

    #[test]
    fn an_action_is_executed_if_the_control_before_it_is_pipe() {
        for first in ["skbedit mark 1 pipe", "skbedit mark 1", "skbedit mark 1 pipe index 7"] {
            assert_eq!(quiet(&format!("action {first} action skbedit mark 2")).edits, [MARK_1, MARK_2], "{first}");
        }
        // By default skbedit and mirror pipe, and pedit, csum and policers pass (m_*.c of iproute2).
        for first in ["skbedit mark 1 ok", "skbedit mark 1 pass", "skbedit mark 1 continue", "skbedit mark 1 drop"] {
            let (actions, messages) = read(&format!("action {first} action skbedit mark 2")).unwrap();
            assert_eq!((actions.edits, messages.len()), (vec![MARK_1], 1), "{first}");
            assert!(messages[0].contains("never executed"), "{messages:?}");
        }
        for first in
            ["pedit munge ip tos set 0x28 retain 0xfc", "csum ip", "gact ok", "police rate 1mbit burst 10k drop"]
        {
            let (actions, messages) = read(&format!("action {first} action skbedit mark 2")).unwrap();
            assert!(
                !actions.edits.contains(&MARK_2) && messages[0].contains("never executed"),
                "{first}: {messages:?}"
            );
        }
        for first in ["pedit munge ip tos set 0x28 retain 0xfc pipe", "csum ip and udp pipe", "gact pipe", "pipe"] {
            assert!(quiet(&format!("action {first} action skbedit mark 2")).edits.contains(&MARK_2), "{first}");
        }
    }

    #[test]
    fn controls_decide_the_fate_of_matching_packets() {
        let fate = |text: &str| {
            let actions = quiet(text);
            (actions.drop, actions.next)
        };
        assert_eq!(fate("action ok"), (false, false));
        assert_eq!(fate("action gact pass flowid 1:10"), (false, false));
        assert_eq!(fate("action drop"), (true, false));
        assert_eq!(fate("action skbedit mark 1 continue"), (false, true));
        assert_eq!(read("action reclassify").unwrap_err(), "the action `reclassify`");
    }

    #[test]
    fn an_action_after_a_policer_applies_to_the_packets_that_it_pipes() {
        let police = |controls: &str| format!("action police rate 1mbit burst 10k {controls} action skbedit mark 2");
        for all in ["conform-exceed drop/pipe", "conform-exceed pipe/pipe", "conform-exceed pipe/drop"] {
            assert_eq!(quiet(&police(all)).edits, [MARK_2], "{all}");
        }
        for some in ["conform-exceed ok/pipe", "pipe"] {
            assert!(read(&police(some)).unwrap_err().contains("only exceeding"), "{some}");
        }
        for none in ["", "drop", "conform-exceed drop/ok"] {
            let (actions, messages) = read(&police(none)).unwrap();
            assert!(actions.edits.is_empty() && messages[0].contains("never executed"), "{none}");
        }
    }

    #[test]
    fn exceeding_packets_are_dropped_by_default_and_have_the_control_without_conform_exceed() {
        let outcome = |controls: &str| {
            let police = quiet(&format!("police rate 1mbit burst 10k {controls}")).police.unwrap();
            (police.conform, police.exceed)
        };
        let (pass, drop) = (vec![Act::Transmit], vec![Act::Drop]);
        assert_eq!(outcome(""), (pass.clone(), drop.clone()));
        assert_eq!(outcome("reclassify"), (pass.clone(), drop.clone()));
        assert_eq!(outcome("conform-exceed reclassify/ok"), (pass.clone(), drop.clone()));
        assert_eq!(outcome("pass"), (pass.clone(), pass.clone()));
        assert_eq!(outcome("conform-exceed pass/drop"), (drop, pass));
        assert!(read("police rate 1mbit burst 10k conform-exceed drop/reclassify").is_err());
        assert!(read("police rate 1mbit burst 10k conform-exceed continue").is_err());
    }

    #[test]
    fn the_rate_of_a_policer_is_in_bits_and_its_burst_in_bytes() {
        let police = quiet("police rate 1mbit burst 10k mtu 2kb index 3").police.unwrap();
        assert_eq!((police.rate, police.burst), (Share::Rate(1_000_000), Some(10 * 1024)));
        assert_eq!(read("police index 3").unwrap_err(), "a policer that another command defines (`index`)");
        assert_eq!(read("police burst 10k").unwrap_err(), "a policer needs a rate");
    }

    #[test]
    fn pedit_sets_the_dscp_by_each_name_of_the_field() {
        for name in ["ip dsfield", "ip tos", "ip precedence", "ip6 traffic_class"] {
            assert_eq!(quiet(&format!("action pedit ex munge {name} set 0xb8 retain 0xfc")).edits, [Edit::Dscp(46)]);
        }
        let twice = quiet("action pedit munge ip tos set 0xb8 retain 0xfc munge ip tos set 0x28 retain 0xfc pipe");
        assert_eq!(twice.edits, [Edit::Dscp(46), Edit::Dscp(10)]);
    }

    #[test]
    fn pedit_that_sets_more_than_the_dscp_is_reported() {
        // Without `retain` all 8 bits are set, the two ECN bits to 0 here.
        let (actions, messages) = read("action pedit munge ip dsfield set 0xb8").unwrap();
        assert_eq!((actions.edits, messages), (vec![Edit::Dscp(46)], vec!["the ECN bits that pedit sets".to_owned()]));
    }

    #[test]
    fn each_fault_of_pedit_has_its_own_message() {
        for (arguments, message) in [
            ("munge ip ttl set 1", "pedit of a field other than the DS field"),
            ("munge ip6 tos set 1", "pedit of a field other than the DS field"),
            ("munge ip tos clear", "`clear` of pedit"),
            ("munge ip tos 0xb8", "`0xb8` is not a command of pedit"),
            ("munge ip tos set 256", "`256` is not a valid value of the DS field"),
            ("munge ip tos set 8 retain x", "`x` is not a valid mask of the DS field"),
            ("munge ip tos set 8 retain 0xe0", "pedit of some bits of the DSCP only"),
            ("index 3", "pedit without `munge`"),
        ] {
            assert_eq!(read(&format!("action pedit {arguments}")).unwrap_err(), message, "{arguments}");
        }
    }

    #[test]
    fn only_packets_redirected_to_the_egress_of_a_device_are_sent_by_it() {
        assert_eq!(quiet("action mirred egress redirect dev ifb0").redirect.as_deref(), Some("ifb0"));
        let refused = read("action mirred ingress redirect dev ifb0").unwrap_err();
        assert_eq!(refused, "packets redirected to the ingress of `ifb0`");
        assert!(read("action mirred redirect dev ifb0").is_err(), "without a direction");
        assert!(read("action mirred egress redirect ifb0").unwrap_err().contains("needs a device"));
        // The original packet of a mirrored one remains, and later actions apply to it.
        let (actions, messages) = read("action mirred ingress mirror dev m action skbedit mark 2").unwrap();
        assert_eq!((actions.redirect, actions.edits, messages.len()), (None, vec![MARK_2], 1));
        let (actions, messages) = read("action mirred egress redirect dev m action skbedit mark 2").unwrap();
        assert!(actions.edits.is_empty() && messages[0].contains("never executed"));
    }
}
