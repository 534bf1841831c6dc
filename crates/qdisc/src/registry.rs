//! All disciplines, one line each.

use crate::classify::Match;
use crate::discipline::managed::{Build, Managed};
use crate::discipline::user::Build as _;
use crate::discipline::{
    Part, choke, class_based, cobalt, codel, drop_head, drop_tail, drr, dualpi2, fair_queue, fair_queue_wred, fq,
    fq_codel, fq_pie, fred, hfsc, htb, netem, priority, red, red_pd, scfq, sfb, sfq, sfq_red, shaper, stfq, user,
    user_scheduler, virtual_clock, weighted_tail_drop, wf2q_plus, wfq, wrr,
};
use crate::law;
use crate::retune::{Fixed, Retune, other_kind};
use crate::signals::{Signals, Threshold};
use crate::{Cx, Gate, Packet, Qdisc, Site};
use tailback_document::{Invalid, Path};
use tailback_units::{Rate, Time};
use tailback_user::{Code, Install, Role};

/// Generates the enum of parameters ([`Spec`]) and the enum of states ([`Discipline`]) from one list.
macro_rules! disciplines {
    ($($name:literal => $variant:ident($params:path => $state:ty)),+ $(,)?) => {
        tailback_document::kinds! {
            /// A queue discipline and its parameters.
            pub enum Spec { $($name => $variant($params)),+ }
        }

        /// State of a queue discipline. Calls are dispatched by one `match`, without an indirect call per packet.
        #[derive(Debug)]
        pub enum Discipline {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($state),
            )+
        }

        impl Spec {
            /// Returns the discipline in its initial state at `site`. The parameters must have passed `check`.
            pub fn build(&self, site: &Site) -> Discipline {
                match self { $(Spec::$variant(params) => Discipline::$variant(params.build(site)),)+ }
            }
            /// Refuses parameters that are out of range or contradict each other.
            ///
            /// # Errors
            /// If a parameter is invalid; the error names the parameter and says what to write.
            pub fn check(&self) -> Result<(), Invalid> {
                match self { $(Spec::$variant(params) => params.check(),)+ }
            }
            /// Refuses parameters `to` that a discipline built from `self` cannot take while it runs: those of another
            /// kind, or with another value of a fixed parameter (see [`Discipline::retune`]). `self` and `to` must have
            /// passed `check`.
            ///
            /// # Errors
            /// If such a parameter differs: the error names it and says why it is fixed.
            pub fn check_retune(&self, to: &Spec) -> Result<(), Invalid> {
                match (self, to) {
                    $((Spec::$variant(params), Spec::$variant(to)) => params.check_retune(to),)+
                    _ => Err(other_kind(self.kind(), to.kind())),
                }
            }
        }

        impl Retune for Discipline {
            fn adopt(&mut self, now: Time, fresh: Discipline) {
                match (self, fresh) {
                    $((Discipline::$variant(q), Discipline::$variant(fresh)) => q.adopt(now, fresh),)+
                    _ => debug_assert!(false, "the kinds differ"),
                }
            }
        }

        impl Signals for Spec {
            fn marks(&self) -> bool {
                match self { $(Spec::$variant(params) => params.marks(),)+ }
            }
            fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
                match self { $(Spec::$variant(params) => params.each_threshold(site, f),)+ }
            }
        }

        impl Qdisc for Discipline {
            // Without inlining, each port calls a function to reach its drop-tail queue, and the benchmark `lan-a1`
            // executes 2 % more instructions.
            #[inline(always)]
            fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
                match self { $(Discipline::$variant(q) => q.enqueue(now, packet, cx),)+ }
            }
            #[inline]
            fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
                match self { $(Discipline::$variant(q) => q.dequeue(now, gate, cx),)+ }
            }
            fn head(&self) -> Option<&Packet> {
                match self { $(Discipline::$variant(q) => q.head(),)+ }
            }
            fn packets(&self) -> u64 {
                match self { $(Discipline::$variant(q) => q.packets(),)+ }
            }
            fn visit(&self, f: &mut dyn FnMut(&Packet)) {
                match self { $(Discipline::$variant(q) => q.visit(f),)+ }
            }
            fn next_wakeup(&self) -> Option<Time> {
                match self { $(Discipline::$variant(q) => q.next_wakeup(),)+ }
            }
            fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
                match self { $(Discipline::$variant(q) => q.wake(now, cx),)+ }
            }
            fn watches_idle(&self) -> bool {
                match self { $(Discipline::$variant(q) => q.watches_idle(),)+ }
            }
            fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
                match self { $(Discipline::$variant(q) => q.idle(now, cx),)+ }
            }
            fn set_rate(&mut self, rate: Rate) {
                match self { $(Discipline::$variant(q) => q.set_rate(rate),)+ }
            }
            fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Discipline::$variant(q) => q.probe(f),)+ }
            }
            fn state_bytes(&self) -> usize {
                match self { $(Discipline::$variant(q) => q.state_bytes(),)+ }
            }
            fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn Install)) {
                match self { $(Discipline::$variant(q) => q.each_user(f),)+ }
            }
        }
    };
}

disciplines! {
    "drop-tail" => DropTail(drop_tail::Params => drop_tail::DropTail),
    "drop-head" => DropHead(drop_head::Params => drop_tail::DropTail),
    "red" => Red(red::Params => red::Red),
    "blue" => Blue(law::blue::Params => Managed<law::blue::Blue>),
    "sfb" => Sfb(sfb::Params => sfb::Sfb),
    "codel" => Codel(codel::Params => codel::Codel),
    "pie" => Pie(law::pie::Params => Managed<law::pie::Pie>),
    "drr" => Drr(drr::Params => drr::Drr),
    "sfq" => Sfq(sfq::Params => sfq::Sfq),
    "wfq" => Wfq(wfq::Params => wfq::Wfq),
    "wf2q-plus" => Wf2qPlus(wf2q_plus::Params => wf2q_plus::Wf2qPlus),
    "virtual-clock" => VirtualClock(virtual_clock::Params => virtual_clock::VirtualClock),
    "scfq" => Scfq(scfq::Params => scfq::Scfq),
    "stfq" => Stfq(stfq::Params => stfq::Stfq),
    "sfq-red" => SfqRed(sfq_red::Params => sfq_red::SfqRed),
    "fred" => Fred(fred::Params => fred::Fred),
    "sred" => Sred(law::sred::Params => Managed<law::sred::Sred>),
    "choke" => Choke(choke::Params => choke::Choke),
    "red-pd" => RedPd(red_pd::Params => Managed<red_pd::RedPd>),
    "fq-codel" => FqCodel(fq_codel::Params => fq_codel::FqCodel),
    "fq-pie" => FqPie(fq_pie::Params => fq_pie::FqPie),
    "cobalt" => Cobalt(cobalt::Params => cobalt::Cobalt),
    "dualpi2" => DualPi2(dualpi2::Params => dualpi2::DualPi2),
    "pi" => Pi(law::pi::Params => Managed<law::pi::Pi>),
    "rem" => Rem(law::rem::Params => Managed<law::rem::Rem>),
    "avq" => Avq(law::avq::Params => Managed<law::avq::Avq>),
    "rio" => Rio(law::rio::Params => Managed<law::rio::RioByColour>),
    "ered" => Ered(law::ered::Params => Managed<law::ered::Ered>),
    "priority" => Priority(priority::Params => priority::Priority),
    "class-based" => ClassBased(class_based::Params => class_based::ClassBased),
    "fair-queue" => FairQueue(fair_queue::Params => fair_queue::FairQueue),
    "wrr" => Wrr(wrr::Params => wrr::Wrr),
    "htb" => Htb(htb::Params => htb::Htb),
    "shaper" => Shaper(shaper::Params => shaper::Shaper),
    "wred" => Wred(law::wred::Params => Managed<law::wred::WredByKind>),
    "weighted-tail-drop" => WeightedTailDrop(weighted_tail_drop::Params => weighted_tail_drop::WeightedTailDrop),
    "fair-queue-wred" => FairQueueWred(fair_queue_wred::Params => fair_queue_wred::FairQueueWred),
    "fq" => Fq(fq::Params => fq::Fq),
    "netem" => Netem(netem::Params => netem::Netem),
    "hfsc" => Hfsc(hfsc::Params => hfsc::Hfsc),
    "user" => User(user::Params => user::User),
    "user-scheduler" => UserScheduler(user_scheduler::Params => user_scheduler::UserScheduler),
}

impl Default for Spec {
    fn default() -> Spec {
        Spec::DropTail(drop_tail::Params::default())
    }
}

impl Default for Discipline {
    /// Returns an unbounded FIFO.
    fn default() -> Discipline {
        Spec::default().build(&Site::default())
    }
}

impl Discipline {
    /// Replaces the parameters and the site at `now`: keeps the state (waiting packets, averages, probabilities,
    /// timers, deficits, tags, tokens), and computes anew the values that follow from parameters and site alone.
    /// [`Spec::check_retune`] must have accepted the parameters; another kind changes nothing (debug builds panic).
    ///
    /// The change itself drops and marks no packet: a queue above a new limit refuses arriving packets, or drops
    /// waiting ones by its own rule at the next arrival. Afterwards the caller reads [`Qdisc::next_wakeup`], as after
    /// the other methods.
    pub fn retune(&mut self, now: Time, spec: &Spec, site: &Site) {
        self.adopt(now, spec.build(site));
    }
}

impl Spec {
    /// Returns `true` if back-pressure may stop single destinations in this discipline.
    pub fn selects_destinations(&self) -> bool {
        // A queue whose single destinations can be stopped is a `ByDestination`, which has neither a limit in packets
        // nor a victim other than the arriving packet.
        *self == Spec::default()
    }

    /// Passes every match in this discipline and in those inside it to `f`, with the path of the match; `at` is the
    /// path of this discipline.
    pub fn each_match(&mut self, at: &Path, f: &mut dyn FnMut(&Path, &mut Match)) {
        let mut part = |place: String, matches: Option<&mut Match>, inner: Option<&mut Spec>| {
            let place = at.join_path(&Path::parse(&place).unwrap_or_default());
            if let Some(matches) = matches {
                f(&place.join("match"), matches);
            }
            if let Some(inner) = inner {
                inner.each_match(&place.join("discipline"), f);
            }
        };
        self.each_part(&mut part);
    }

    /// Passes the code of each user-defined law and scheduler, in this discipline and in those inside it, to `f` with its
    /// path; `at` is the path of this discipline.
    pub fn each_code(&mut self, at: &Path, f: &mut dyn FnMut(&Path, Role, &mut Code)) {
        match self {
            Spec::User(code) => return f(at, Role::QueueLaw, code),
            Spec::UserScheduler(params) => f(&at.join("scheduler"), Role::Scheduler, &mut params.scheduler),
            _ => {}
        }
        self.each_part(&mut |place, _, inner| {
            let place = at.join_path(&Path::parse(&place).unwrap_or_default());
            if let Some(inner) = inner {
                inner.each_code(&place.join("discipline"), f);
            }
        });
    }

    /// Returns `true` if this discipline, or one inside it, depends on code points or on the traffic class of labels.
    pub fn reads_code_point(&self) -> bool {
        let mut reads = match self {
            Spec::FairQueue(_) => true,
            Spec::FairQueueWred(_) => true,
            Spec::WeightedTailDrop(params) => params.by != law::wred::By::Colour,
            Spec::Wred(params) => params.by != law::wred::By::Colour,
            _ => false,
        };
        self.clone().each_part(&mut |_, matches, inner| {
            reads |= matches.is_some_and(|matches| matches.reads_code_point());
            reads |= inner.is_some_and(|inner| inner.reads_code_point());
        });
        reads
    }

    /// Visits the classes of the discipline with their path, match and inner discipline.
    fn each_part(&mut self, part: &mut Part<'_>) {
        match self {
            Spec::Priority(params) => params.each_part(part),
            Spec::ClassBased(params) => params.each_part(part),
            Spec::Wrr(params) => params.each_part(part),
            Spec::Htb(params) => params.each_part(part),
            Spec::Hfsc(params) => params.each_part(part),
            Spec::Shaper(params) => params.each_part(part),
            Spec::UserScheduler(params) => params.each_part(part),
            _ => (),
        }
    }
}

/// Implements [`Signals`] for disciplines that decide by flow or by a full buffer and never mark.
macro_rules! without_signals {
    ($($params:path),+ $(,)?) => {
        $(
            impl Signals for $params {
                fn marks(&self) -> bool {
                    false
                }
                fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
            }
        )+
    };
}
without_signals! {
    drop_tail::Params,
    drop_head::Params,
    drr::Params,
    sfq::Params,
    wfq::Params,
    wf2q_plus::Params,
    virtual_clock::Params,
    scfq::Params,
    stfq::Params,
    fair_queue::Params,
    fq::Params,
}

/// Implements [`Signals`] for disciplines that may mark but have no threshold on a queue that the checks can use.
macro_rules! without_thresholds {
    ($($params:path),+ $(,)?) => {
        $(
            impl Signals for $params {
                fn marks(&self) -> bool {
                    self.ecn
                }
                fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
            }
        )+
    };
}
// COBALT and FQ-CoDel have a target delay, which the checks cannot compare with the limit: in COBALT Blue drops packets
// before the limit, and in FQ-CoDel a packet may wait longer than its own queue takes, since other flows are served.
without_thresholds! {
    law::sfb::Params,
    law::sred::Params,
    law::avq::Params,
    law::cobalt::Params,
    fq_codel::Params,
    netem::Params,
}

/// Implements [`Fixed`] for parameters all of which may change during a run.
macro_rules! all_tunable {
    ($($params:path),+ $(,)?) => { $(impl Fixed for $params {})+ };
}
all_tunable! {
    drop_head::Params,
    codel::Params,
    cobalt::Params,
    dualpi2::Params,
    netem::Params,
    law::blue::Params,
    law::pie::Params,
    law::pi::Params,
    law::rem::Params,
    law::sred::Params,
}
