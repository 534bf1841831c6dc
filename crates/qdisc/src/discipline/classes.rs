//! Common part of the disciplines with classes: an inner discipline per class, a common limit, and the table that
//! classifies packets.

use crate::classify::{Classifier, Match};
use crate::law::Backlog;
use crate::retune::{Retune, fixed};
use crate::state::{INDEX, bytes_of};
use crate::{Cx, Discipline, Dropped, Gate, Packet, Qdisc, Reason, Site, Spec, check};
use tailback_document::{Checked, Invalid};
use tailback_units::{Amount, Rate, Time};

/// Delegates methods of [`Qdisc`] to the field `classes`. With `waking` these are the methods for timers and idle
/// links, with `inner` those that concern only the inner disciplines, and with `all` all methods except `enqueue`, `dequeue`
/// and `state_bytes`.
macro_rules! as_classes {
    (waking) => {
        fn next_wakeup(&self) -> Option<Time> {
            self.classes.next_wakeup()
        }
        fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
            self.classes.wake(now, cx);
        }
        fn watches_idle(&self) -> bool {
            self.classes.watches_idle()
        }
        fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
            self.classes.idle(now, cx);
        }
    };
    (all) => {
        fn packets(&self) -> u64 {
            self.classes.packets()
        }
        fn visit(&self, f: &mut dyn FnMut(&Packet)) {
            self.classes.visit(f);
        }
        super::classes::as_classes!(inner);
        super::classes::as_classes!(waking);
    };
    (inner) => {
        fn set_rate(&mut self, rate: tailback_units::Rate) {
            self.classes.set_rate(rate);
        }
        fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
            self.classes.probe(f);
        }
        fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
            self.classes.each_user(f);
        }
    };
}
pub(super) use as_classes;

/// Upper bound on the classes of one discipline: their indices and that of the default class fit into a byte.
pub const MAX_CLASSES: usize = 250;

/// Visitor of the parts of a discipline, with the path of the part, its match and its inner discipline. `None`: the
/// part has no match, or no inner discipline other than a FIFO.
pub(crate) type Part<'a> = dyn FnMut(String, Option<&mut Match>, Option<&mut Spec>) + 'a;

/// Default limit of a class, packets.
pub const DEFAULT_LIMIT: u64 = 64;

/// Returns `site` with this limit of a class, unless that of `site` is smaller; `None`: a limit of `default` packets.
pub(super) fn site_within(site: &Site, limit: Option<Amount>, default: u64) -> Site {
    match limit.unwrap_or(Amount::packets(default)) {
        Amount::Bytes(bytes) => Site { bytes: site.bytes.min(bytes), ..*site },
        Amount::Millipackets(thousandths) => Site { packets: site.packets.min(thousandths / 1_000), ..*site },
    }
}

/// Refuses a limit that admits no packet, or that is not a whole number of packets.
pub(super) fn check_limit(field: &str, limit: Option<Amount>) -> Result<(), Invalid> {
    match limit {
        Some(Amount::Bytes(0) | Amount::Millipackets(0)) => {
            Err(Invalid::new(field, "a limit of 0 drops every packet; write \"1packet\" or more"))
        }
        Some(amount @ Amount::Millipackets(n)) if n % 1_000 != 0 => Err(Invalid::new(
            field,
            format!("`{amount}` is not a whole number of packets; write one, such as \"64packets\""),
        )),
        _ => Ok(()),
    }
}

/// Checks the match, the limit and the inner discipline of a class; `field` is the path of the class.
pub(super) fn check_class(
    field: &str,
    matches: &Match,
    limit: Option<Amount>,
    inner: Option<&Spec>,
) -> Result<(), Invalid> {
    matches.check().map_err(|e| joined(&format!("{field}.match"), e))?;
    check_limit(&format!("{field}.limit"), limit)?;
    inner.map_or(Ok(()), |spec| Checked::check(spec).map_err(|e| joined(&format!("{field}.discipline"), e)))
}

/// Refuses an inner discipline that the present one cannot become during a run. `None`: a FIFO.
pub(super) fn check_inside_retune(field: &str, from: Option<&Spec>, to: Option<&Spec>) -> Result<(), Invalid> {
    let plain = Spec::default();
    let checked = from.unwrap_or(&plain).check_retune(to.unwrap_or(&plain));
    checked.map_err(|e| joined(&joined_path(field, "discipline"), e))
}

/// Refuses another number of classes in `list`, another name, parent or match of a class, and an inner discipline that
/// the present one cannot become.
pub(super) fn check_classes_retune<'a>(
    list: &str,
    from: impl ExactSizeIterator<Item = Identity<'a>>,
    to: impl ExactSizeIterator<Item = Identity<'a>>,
) -> Result<(), Invalid> {
    fixed(list, from.len(), to.len(), "packets wait in each class")?;
    for (i, (from, to)) in from.zip(to).enumerate() {
        let field = |key: &str| format!("{list}[{i}].{key}");
        fixed(&field("name"), from.name, to.name, Identity::NAME_FIXED)?;
        fixed(&field("parent"), from.parent, to.parent, Identity::PARENT_FIXED)?;
        fixed(&field("match"), from.matches, to.matches, Identity::MATCH_FIXED)?;
        check_inside_retune(&format!("{list}[{i}]"), from.discipline, to.discipline)?;
    }
    Ok(())
}

/// The properties of a class that are fixed during a run, and its inner discipline. `None`: the class has no such
/// property; no discipline is a FIFO.
pub(super) struct Identity<'a> {
    pub name: Option<&'a String>,
    pub parent: Option<&'a String>,
    pub matches: Option<&'a Match>,
    pub discipline: Option<&'a Spec>,
}

/// Reasons why the properties are fixed.
impl Identity<'_> {
    pub const NAME_FIXED: &'static str = "it identifies the class";
    pub const PARENT_FIXED: &'static str = "the hierarchy of the classes is fixed";
    pub const MATCH_FIXED: &'static str = "it decides which packets wait in the class";
}

/// Returns the path of `key` in the table at `field`, which may be the root.
fn joined_path(field: &str, key: &str) -> String {
    if field.is_empty() { key.to_owned() } else { format!("{field}.{key}") }
}

/// Returns the error with `field` prefixed to its path, which may begin with an index or be empty.
pub(super) fn joined(field: &str, e: Invalid) -> Invalid {
    let dot = if e.path.is_empty() || e.path.starts_with('[') { "" } else { "." };
    Invalid::new(format!("{field}{dot}{}", e.path), e.message)
}

/// Refuses too many classes, and two classes with the same name.
pub(super) fn check_names<'a>(list: &str, names: impl IntoIterator<Item = Option<&'a String>>) -> Result<(), Invalid> {
    let mut seen: Vec<&str> = Vec::new();
    for (i, name) in names.into_iter().enumerate() {
        check::within(list, (i + 1) as f64, 0.0, MAX_CLASSES as f64)?;
        let Some(name) = name else { continue };
        if seen.contains(&name.as_str()) {
            let field = format!("{list}[{i}].name");
            return Err(Invalid::new(field, format!("the name `{name}` is used twice; give each class its own name")));
        }
        seen.push(name);
    }
    Ok(())
}

/// The discipline inside a class, with its backlog.
#[derive(Debug)]
pub(super) struct Inside {
    queue: Discipline,
    backlog: Backlog,
    watches_idle: bool,
    /// Expiry of the queue's timer, as read after the last call to the queue; [`Time::NEVER`]: not set.
    due: Time,
}

impl Inside {
    /// Returns the discipline of `spec` at `site`. `None`: a FIFO.
    pub fn new(spec: Option<&Spec>, site: &Site) -> Inside {
        let queue = spec.map_or_else(|| Spec::default().build(site), |spec| spec.build(site));
        let due = queue.next_wakeup().unwrap_or(Time::NEVER);
        Inside { watches_idle: queue.watches_idle(), queue, backlog: Backlog::default(), due }
    }
    /// Subtracts dropped packets from the backlog.
    fn subtract(&mut self, dropped: &[Dropped]) {
        for Dropped { packet, .. } in dropped {
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.size);
        }
    }
}

impl Retune for Inside {
    fn adopt(&mut self, now: Time, fresh: Inside) {
        self.queue.adopt(now, fresh.queue);
        self.due = self.queue.next_wakeup().unwrap_or(Time::NEVER);
    }
}

/// Classes, each with an inner discipline, under one limit.
#[derive(Debug)]
pub(super) struct Classes {
    classifier: Classifier,
    inside: Vec<Inside>,
    /// Backlog of all classes.
    backlog: Backlog,
    site: Site,
    /// Class of the packet in service. `None`: no packet is in service.
    served: Option<usize>,
    watches_idle: bool,
    /// Earliest expiry of the classes' timers; [`Time::NEVER`]: no timer is set. It is stored, since reading every
    /// timer per packet is expensive with many classes.
    due: Time,
}

/// Keeps the classifier: matches are fixed during a run, and so is each discipline's interest in idle links.
impl Retune for Classes {
    fn adopt(&mut self, now: Time, fresh: Classes) {
        for (inside, fresh) in self.inside.iter_mut().zip(fresh.inside) {
            inside.adopt(now, fresh);
        }
        self.site = fresh.site;
        self.due = self.inside.iter().map(|inside| inside.due).min().unwrap_or(Time::NEVER);
    }
}

impl Classes {
    /// Returns empty classes: `classifier` selects the class, `inside` are the inner disciplines,
    /// and the limits of `site` hold for all classes together.
    pub fn new(classifier: Classifier, inside: Vec<Inside>, site: &Site) -> Classes {
        let watches_idle = inside.iter().any(|inside| inside.watches_idle);
        let due = inside.iter().map(|inside| inside.due).min().unwrap_or(Time::NEVER);
        Classes { classifier, inside, backlog: Backlog::default(), site: *site, served: None, watches_idle, due }
    }
    /// Returns the index of a packet's class.
    #[inline]
    pub fn class(&self, packet: &Packet) -> usize {
        self.classifier.class(packet)
    }
    /// Returns the number of classes.
    pub fn len(&self) -> usize {
        self.inside.len()
    }
    /// Returns the backlog of a class.
    #[inline]
    pub fn backlog_of(&self, class: usize) -> Backlog {
        self.inside[class].backlog
    }
    /// Returns `true` if a packet of `size` bytes would exceed the common limit; `aside` are packets that the classes have
    /// passed on and that still wait.
    #[inline]
    pub fn is_full(&self, aside: Backlog, size: u16) -> bool {
        self.site.is_full(self.backlog.packets + aside.packets, self.backlog.bytes + aside.bytes, size)
    }
    /// Passes a packet to a class, or drops it if the common limit would be exceeded; returns `true` if the class was
    /// empty and no longer is.
    #[inline]
    pub fn enqueue(&mut self, class: usize, now: Time, packet: Packet, cx: &mut Cx<'_>) -> bool {
        if self.is_full(Backlog::default(), packet.size) {
            cx.drop(packet, Reason::BufferFull);
            return false;
        }
        let inside = &mut self.inside[class];
        let before = inside.backlog;
        let dropped = cx.dropped.len();
        inside.backlog.packets += 1;
        inside.backlog.bytes += u64::from(packet.size);
        inside.queue.enqueue(now, packet, cx);
        inside.subtract(&cx.dropped[dropped..]);
        let after = inside.backlog;
        self.update_backlog(before, after);
        self.read_timer(class);
        before.packets == 0 && after.packets > 0
    }
    /// Removes and returns the next packet of a class. `None`: no packet of the class may leave
    /// now.
    #[inline]
    pub fn dequeue(&mut self, class: usize, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        let inside = &mut self.inside[class];
        if inside.backlog.packets == 0 {
            return None;
        }
        let before = inside.backlog;
        let dropped = cx.dropped.len();
        let packet = inside.queue.dequeue(now, gate, cx);
        inside.subtract(&cx.dropped[dropped..]);
        if let Some(packet) = &packet {
            inside.backlog.packets -= 1;
            inside.backlog.bytes -= u64::from(packet.size);
            self.served = Some(class);
        }
        let after = inside.backlog;
        self.update_backlog(before, after);
        self.read_timer(class);
        packet
    }
    /// Returns the packet that `dequeue` would return for a class, if it is known.
    pub fn head(&self, class: usize) -> Option<&Packet> {
        self.inside[class].queue.head()
    }
    /// Notes that the transmitter is free. If it has just sent the last packet of a class, the class is idle from `now`
    /// on. Must be called before the next packet is chosen.
    #[inline]
    pub fn transmitted(&mut self, now: Time, cx: &mut Cx<'_>) {
        let Some(class) = self.served.take() else { return };
        let inside = &mut self.inside[class];
        if inside.watches_idle && inside.backlog.packets == 0 {
            inside.queue.idle(now, cx);
            self.read_timer(class);
        }
    }
    /// Notes that the transmitter has sent the last packet of a class, which is empty, and is free. This is for
    /// disciplines that hold one packet per class outside its queue, for which [`Classes::transmitted`] would report too
    /// early.
    pub fn class_idle(&mut self, class: usize, now: Time, cx: &mut Cx<'_>) {
        let inside = &mut self.inside[class];
        if inside.watches_idle {
            inside.queue.idle(now, cx);
            self.read_timer(class);
        }
    }
    /// Reads the timer of a class after a call to its queue.
    #[inline]
    fn read_timer(&mut self, class: usize) {
        let inside = &mut self.inside[class];
        let due = inside.queue.next_wakeup().unwrap_or(Time::NEVER);
        if due != inside.due {
            inside.due = due;
            self.due = self.inside.iter().map(|inside| inside.due).min().unwrap_or(Time::NEVER);
        }
    }
    /// Updates the backlog of all classes when that of one class changes.
    #[inline]
    fn update_backlog(&mut self, before: Backlog, after: Backlog) {
        self.backlog.packets = self.backlog.packets - before.packets + after.packets;
        self.backlog.bytes = self.backlog.bytes - before.bytes + after.bytes;
    }
    /// Returns the number of packets that wait in all classes.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.backlog.packets
    }
    /// Returns the buffer bytes that wait in all classes.
    pub fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.inside.iter().for_each(|inside| inside.queue.visit(f));
    }
    pub fn next_wakeup(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }
    pub fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        for class in 0..self.inside.len() {
            let inside = &mut self.inside[class];
            if inside.due <= now {
                let (before, dropped) = (inside.backlog, cx.dropped.len());
                inside.queue.wake(now, cx);
                inside.subtract(&cx.dropped[dropped..]);
                let after = inside.backlog;
                self.update_backlog(before, after);
                self.read_timer(class);
            }
        }
    }
    pub fn watches_idle(&self) -> bool {
        self.watches_idle
    }
    pub fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.served = None;
        for class in 0..self.inside.len() {
            let inside = &mut self.inside[class];
            if inside.watches_idle && inside.backlog.packets == 0 {
                inside.queue.idle(now, cx);
                self.read_timer(class);
            }
        }
    }
    pub fn set_rate(&mut self, rate: Rate) {
        self.site.rate = rate;
        for class in 0..self.inside.len() {
            self.inside[class].queue.set_rate(rate);
            self.read_timer(class);
        }
    }
    /// Passes each place for a user's law to `f`.
    pub fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        for class in 0..self.inside.len() {
            self.inside[class].queue.each_user(f);
            self.read_timer(class);
        }
    }
    /// Returns the size of the classes' state and counters in bytes.
    pub fn state_bytes(&self) -> usize {
        let classes: usize =
            self.inside.iter().map(|inside| inside.queue.state_bytes() + bytes_of!(inside; backlog)).sum();
        classes + bytes_of!(self; backlog) + INDEX
    }
    /// Reports the waiting packets of the first 16 classes.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        const NAMES: [&str; 16] = [
            "class_1_packets",
            "class_2_packets",
            "class_3_packets",
            "class_4_packets",
            "class_5_packets",
            "class_6_packets",
            "class_7_packets",
            "class_8_packets",
            "class_9_packets",
            "class_10_packets",
            "class_11_packets",
            "class_12_packets",
            "class_13_packets",
            "class_14_packets",
            "class_15_packets",
            "class_16_packets",
        ];
        for (inside, name) in self.inside.iter().zip(NAMES) {
            f(name, inside.backlog.packets as f64);
        }
    }
}
