//! Tailback's interface of compiled components for Rust: queue laws, schedulers, congestion controls and traffic sources, in
//! machine code in a library, and in WebAssembly.
//!
//! Copy this file next to the component, which implements [`Component`] and is exported by [`component!`]:
//!
//! ```ignore
//! mod tailback_law;
//! use tailback_law::*;
//!
//! struct Threshold { limit: u64 }
//!
//! impl Component for Threshold {
//!     type Role = queue::Role;
//!     const EVENTS: u32 = bit(queue::ARRIVE);
//!     fn new(host: &Host) -> Result<Threshold, String> {
//!         Ok(Threshold { limit: host.number("limit", 20.0) as u64 })
//!     }
//!     fn answer(&mut self, call: &queue::Call, answer: &mut queue::Answer, _host: &Host) -> Result<(), String> {
//!         if call.queue_packets >= self.limit { answer.verdict = queue::DROP; }
//!         Ok(())
//!     }
//! }
//! component!(Threshold);
//! ```
//!
//! The modules [`queue`], [`scheduler`], [`congestion`] and [`source`] have the events and the records of each role.
//! `rustc -O --crate-type cdylib threshold.rs` makes a library, and with `--target wasm32-unknown-unknown` a module. A panic is
//! a fault of the component: it ends the run with its message. `tailback_law.h` has the rules of the interface.

#![allow(dead_code, clippy::all)]

#[cfg(not(target_family = "wasm"))]
use core::ffi::c_char;
use core::ffi::c_void;
use std::ffi::CString;

/// Version of the interface.
pub const ABI: u32 = 1;

/// No wake-up, no limit, no sample, and no burst.
pub const NEVER: u64 = u64::MAX;

/// Returns the bit of an event in [`Component::EVENTS`].
pub const fn bit(event: u32) -> u32 {
    1 << event
}

/// A component: an instance for one queue, port, connection or flow.
pub trait Component: Sized {
    /// [`queue::Role`], [`scheduler::Role`], [`congestion::Role`] or [`source::Role`].
    type Role: Role;
    /// Events that the component is called for: `bit(queue::DEPART)` and others.
    const EVENTS: u32;
    /// `false` if a queue law never answers [`queue::MARK`]; without effect in other roles.
    const MARKS: bool = true;
    /// Options of a congestion control: [`congestion::PACES`] and others.
    const OPTIONS: u32 = 0;
    /// Names of the state variables for time series; sources have none.
    const PROBES: &'static [&'static str] = &[];
    /// Size of the component's variables in reports, bytes.
    const STATE_BYTES: u64 = size_of::<Self>() as u64;

    /// Makes an instance, and reads its parameters: one of the scenario that is not read is refused.
    fn new(host: &Host) -> Result<Self, String>;
    /// Answers a call. Before it, the answer has the values that leave everything as it is.
    fn answer(
        &mut self,
        call: &<Self::Role as Role>::Call,
        answer: &mut <Self::Role as Role>::Answer,
        host: &Host,
    ) -> Result<(), String>;
    /// Returns the state variable with this number in [`Component::PROBES`].
    fn probe(&self, _number: u32) -> f64 {
        0.0
    }
}

/// Role of a component.
pub trait Role {
    /// Arguments of a call.
    type Call: ?Sized;
    /// Answer to a call.
    type Answer;
    /// Number of the role in descriptions.
    const NUMBER: u32;

    /// Returns the record of a call.
    ///
    /// # Safety
    ///
    /// A record of this role is at the address, and stays there unchanged as long as the result is used.
    unsafe fn call<'a>(record: *const c_void) -> &'a Self::Call;
}

/// Defines the type `Role` of a module with `Call` and `Answer`, whose calls have a fixed size.
macro_rules! role {
    ($number:literal) => {
        /// This role.
        pub struct Role;

        impl super::Role for Role {
            type Call = Call;
            type Answer = Answer;
            const NUMBER: u32 = $number;

            unsafe fn call<'a>(record: *const core::ffi::c_void) -> &'a Call {
                unsafe { &*record.cast() }
            }
        }
    };
}

/// Queue laws.
pub mod queue {
    role!(0);

    /// The run begins: called once, before the first packet.
    pub const START: u32 = 0;
    /// A packet arrives.
    pub const ARRIVE: u32 = 1;
    /// A packet has been taken from the head of the queue for transmission.
    pub const DEPART: u32 = 2;
    /// A packet was wanted for transmission, and none waits.
    pub const EMPTY: u32 = 3;
    /// The time of the wake-up has come.
    pub const TIMER: u32 = 4;
    /// The transmitter has become free, and the queue is empty.
    pub const IDLE: u32 = 5;

    /// The packet is queued, or sent.
    pub const PASS: u32 = 0;
    /// The packet is marked if it is ECN-capable, and dropped if it is not (RFC 3168, section 7).
    pub const MARK: u32 = 1;
    /// The packet is dropped.
    pub const DROP: u32 = 2;

    /// Arguments of a call. The fields of the packet are 0 unless it arrives or departs.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Call {
        /// Current time, picoseconds since the start of the run.
        pub now_ps: u64,
        /// Time that a departing packet has waited, picoseconds.
        pub sojourn_ps: u64,
        /// Waiting packets: without an arriving one, and behind a departing one.
        pub queue_packets: u64,
        /// Buffer bytes of these packets.
        pub queue_bytes: u64,
        /// Limit of the queue, packets; [`super::NEVER`]: none.
        pub limit_packets: u64,
        /// Limit of the queue, buffer bytes; [`super::NEVER`]: none.
        pub limit_bytes: u64,
        /// Rate of the link, bit/s; it may change during the run.
        pub rate_bps: u64,
        /// Event: [`START`] and others.
        pub event: u32,
        /// Buffer bytes of the packet.
        pub size: u32,
        /// Payload bytes of the packet.
        pub payload: u32,
        /// Index of the packet's flow; each direction of a connection has its own.
        pub flow: u32,
        /// Number within the flow; in acknowledgements the next one expected.
        pub sequence: u32,
        /// Class, 0 (highest) to 7.
        pub traffic_class: u8,
        /// ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
        pub ecn: u8,
        /// Code point, 0 to 63.
        pub dscp: u8,
        /// 0 green, 1 yellow, 2 red.
        pub colour: u8,
        /// 1: there is no room for the arriving packet, which is dropped whatever the verdict.
        pub full: u8,
        /// Zero.
        pub reserved: [u8; 7],
    }

    /// Answer to a call: before it, PASS and the wake-up of the previous answer.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Answer {
        /// Time of the next [`TIMER`], not before now; [`super::NEVER`]: none.
        pub wake_ps: u64,
        /// [`PASS`], [`MARK`] or [`DROP`].
        pub verdict: u32,
        /// Zero.
        pub reserved: u32,
    }
}

/// Schedulers.
pub mod scheduler {
    use core::ffi::c_void;

    /// The run begins: called once, before the first packet.
    pub const START: u32 = 0;
    /// A packet has been admitted to a queue.
    pub const ARRIVED: u32 = 1;
    /// The link is free: the scheduler chooses a queue. Every scheduler has this event.
    pub const SELECT: u32 = 2;
    /// A packet has been taken from the chosen queue for transmission.
    pub const SENT: u32 = 3;
    /// The time of the wake-up has come.
    pub const TIMER: u32 = 4;
    /// The transmitter has become free, and all queues are empty.
    pub const IDLE: u32 = 5;

    /// No queue.
    pub const NONE: u32 = u32::MAX;

    /// Arguments of a call. `queue`, `size`, `wire` and `flow` are those of the packet that has arrived or is sent, else 0.
    #[derive(Debug)]
    #[repr(C)]
    pub struct Call {
        /// Current time, picoseconds since the start of the run.
        pub now_ps: u64,
        /// Rate of the link, bit/s; it may change during the run.
        pub rate_bps: u64,
        /// Event: [`SELECT`] and others.
        pub event: u32,
        /// Index of the packet's queue.
        pub queue: u32,
        /// Buffer bytes of the packet.
        pub size: u32,
        /// Bytes of the packet on the link.
        pub wire: u32,
        /// Index of the packet's flow.
        pub flow: u32,
        /// Number of queues, at most 250.
        pub number: u32,
        /// States of the queues, in the order of the scenario.
        pub queues: [Queue],
    }

    /// State of a queue.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Queue {
        /// Waiting packets.
        pub packets: u64,
        /// Buffer bytes of these packets.
        pub bytes: u64,
        /// 1: the queue may be chosen; 0: no packet waits, or no packet may leave now.
        pub ready: u32,
        /// Zero.
        pub reserved: u32,
    }

    /// Answer to a call: before it, [`NONE`] and the wake-up of the previous answer.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Answer {
        /// Time of the next [`TIMER`], not before now; [`super::NEVER`]: none.
        pub wake_ps: u64,
        /// Chosen queue, which is ready; [`NONE`]: no packet is sent now. Read after [`SELECT`] only.
        pub queue: u32,
        /// Zero.
        pub reserved: u32,
    }

    /// This role.
    pub struct Role;

    impl super::Role for Role {
        type Call = Call;
        type Answer = Answer;
        const NUMBER: u32 = 1;

        unsafe fn call<'a>(record: *const c_void) -> &'a Call {
            // `number` is behind two times of 8 bytes and five numbers of 4 bytes. The states follow the record.
            let number = unsafe { record.byte_add(2 * 8 + 5 * 4).cast::<u32>().read() };
            unsafe { &*(core::ptr::slice_from_raw_parts(record.cast::<Queue>(), number as usize) as *const Call) }
        }
    }
}

/// Congestion controls.
pub mod congestion {
    role!(2);

    /// The connection opens, before its first segment.
    pub const START: u32 = 0;
    /// A segment is acknowledged, outside loss recovery unless [`OWNS_RECOVERY`].
    pub const ACKNOWLEDGED: u32 = 1;
    /// Acknowledgements indicate a loss, and recovery begins.
    pub const LOST: u32 = 2;
    /// The receiver echoes a mark; once per window. Never with [`HANDLES_ECHOES`].
    pub const MARKED: u32 = 3;
    /// The retransmission timer has expired for a segment for the first time.
    pub const TIMEOUT: u32 = 4;
    /// A segment is transmitted.
    pub const SENT: u32 = 5;
    /// The time of the wake-up has come.
    pub const TIMER: u32 = 6;
    /// The last reduction was spurious; the sender has restored the window.
    pub const SPURIOUS: u32 = 7;

    /// Option: the control sets a pacing rate.
    pub const PACES: u32 = 1;
    /// Option: it sets the window in loss recovery and after a timeout, too; else the sender does.
    pub const OWNS_RECOVERY: u32 = 2;
    /// Option: it responds to `ece` by itself.
    pub const HANDLES_ECHOES: u32 = 4;
    /// Option: acknowledgements carry samples of the delivery rate.
    pub const SAMPLES_RATE: u32 = 8;

    /// Arguments of a call. Fields that an event does not have are 0.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Call {
        /// Current time, picoseconds since the start of the run.
        pub now_ps: u64,
        /// Sample of the round-trip time, picoseconds; [`super::NEVER`]: no sample.
        pub rtt_ps: u64,
        /// Smoothed round-trip time (RFC 6298), picoseconds; 0 before the first acknowledgement.
        pub srtt_ps: u64,
        /// Minimum round-trip time, picoseconds; 0 before the first acknowledgement.
        pub min_rtt_ps: u64,
        /// Congestion window, segments.
        pub cwnd: f64,
        /// Slow-start threshold, segments; infinite before the first congestion unless one is set.
        pub ssthresh: f64,
        /// Sample of the delivery rate, segments per second; 0: no sample.
        pub delivery_rate: f64,
        /// Event: [`ACKNOWLEDGED`] and others.
        pub event: u32,
        /// Segments newly acknowledged, cumulatively or selectively.
        pub delivered: u32,
        /// Segments by which the cumulative acknowledgement advances.
        pub advanced: u32,
        /// Segments outstanding before the acknowledgement.
        pub in_flight_before: u32,
        /// Segments outstanding after it; FlightSize (RFC 5681) for losses, marks and timeouts.
        pub in_flight: u32,
        /// Segments newly considered lost since the last acknowledgement that was reported.
        pub lost: u32,
        /// Payload of a full segment, bytes.
        pub payload: u32,
        /// 1: the window, not the application or the receiver, limits the sender.
        pub window_limited: u8,
        /// 1: the acknowledgement echoes a mark.
        pub ece: u8,
        /// 1: the sender is in loss recovery.
        pub recovering: u8,
        /// 1: the acknowledgement ends a round trip.
        pub round: u8,
        /// 1: the application limited the sample of the delivery rate.
        pub app_limited: u8,
        /// 1: no segment was outstanding before the transmission.
        pub idle: u8,
        /// Zero.
        pub reserved: [u8; 6],
    }

    /// Answer to a call: before it, the present values.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Answer {
        /// Congestion window, segments, 1 to 1e9.
        pub cwnd: f64,
        /// Slow-start threshold, segments, 1 or more, or infinite.
        pub ssthresh: f64,
        /// Pacing rate, segments per second, with [`PACES`]; 0: segments leave as the window allows.
        pub rate: f64,
        /// Time of the next [`TIMER`], not before now; [`super::NEVER`]: none.
        pub wake_ps: u64,
    }
}

/// Traffic sources.
pub mod source {
    role!(3);

    /// The source starts; the answer is ignored.
    pub const START: u32 = 0;
    /// The next burst is wanted. Every source has this event.
    pub const NEXT: u32 = 1;

    /// Arguments of a call.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Call {
        /// Time of the last burst, picoseconds; before the first one, of the start.
        pub now_ps: u64,
        /// Number of bursts so far.
        pub bursts: u64,
        /// Event: [`NEXT`] or [`START`].
        pub event: u32,
        /// Zero.
        pub reserved: u32,
    }

    /// Answer to a call: before it, [`super::NEVER`] and 0.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Answer {
        /// Time of the next burst, picoseconds, not before the last one; [`super::NEVER`]: there is none.
        pub at_ps: u64,
        /// Payload of the burst, 1 to 2^40 bytes.
        pub bytes: u64,
    }
}

/// Properties of a class.
#[repr(C)]
pub struct Description {
    abi: u32,
    role: u32,
    events: u32,
    marks: u32,
    state_bytes: u64,
    probes: [u8; 228],
    options: u32,
}

/// Functions of the host.
pub struct Host(#[cfg(not(target_family = "wasm"))] *const Table);

/// Table of the host's functions.
#[cfg(not(target_family = "wasm"))]
#[repr(C)]
pub struct Table {
    context: *mut c_void,
    fail: unsafe extern "C" fn(*mut c_void, *const c_char),
    random: unsafe extern "C" fn(*mut c_void) -> f64,
    below: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    exponential: unsafe extern "C" fn(*mut c_void, f64) -> f64,
    normal: unsafe extern "C" fn(*mut c_void) -> f64,
    parameter: unsafe extern "C" fn(*mut c_void, *const c_char, u32, f64) -> f64,
    text: unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, u32) -> u32,
    ln: unsafe extern "C" fn(f64) -> f64,
    ln_1p: unsafe extern "C" fn(f64) -> f64,
    log2: unsafe extern "C" fn(f64) -> f64,
    exp: unsafe extern "C" fn(f64) -> f64,
    exp_m1: unsafe extern "C" fn(f64) -> f64,
    sin: unsafe extern "C" fn(f64) -> f64,
    cos: unsafe extern "C" fn(f64) -> f64,
    ln_gamma: unsafe extern "C" fn(f64) -> f64,
    pow: unsafe extern "C" fn(f64, f64) -> f64,
}

#[cfg(target_family = "wasm")]
mod import {
    use core::ffi::c_char;
    #[link(wasm_import_module = "tailback")]
    unsafe extern "C" {
        pub fn fail(reason: *const c_char);
        pub fn random() -> f64;
        pub fn below(n: u64) -> u64;
        pub fn exponential(mean: f64) -> f64;
        pub fn normal() -> f64;
        pub fn parameter(name: *const c_char, unit: u32, otherwise: f64) -> f64;
        pub fn text(name: *const c_char, buffer: *mut c_char, capacity: u32) -> u32;
        pub fn ln(x: f64) -> f64;
        pub fn ln_1p(x: f64) -> f64;
        pub fn log2(x: f64) -> f64;
        pub fn exp(x: f64) -> f64;
        pub fn exp_m1(x: f64) -> f64;
        pub fn sin(x: f64) -> f64;
        pub fn cos(x: f64) -> f64;
        pub fn ln_gamma(x: f64) -> f64;
        pub fn pow(x: f64, y: f64) -> f64;
    }
}

/// Calls a function of the host that needs the state of the instance.
macro_rules! with_state {
    ($host:expr, $name:ident $(, $argument:expr)*) => {{
        #[cfg(target_family = "wasm")]
        let found = unsafe { import::$name($($argument),*) };
        #[cfg(not(target_family = "wasm"))]
        let found = unsafe { ((*$host.0).$name)((*$host.0).context $(, $argument)*) };
        found
    }};
}

/// Defines functions of numbers.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+);)+) => {
        $(
            $(#[$doc])*
            pub fn $name(&self $(, $argument: f64)+) -> f64 {
                #[cfg(target_family = "wasm")]
                let found = unsafe { import::$name($($argument),+) };
                #[cfg(not(target_family = "wasm"))]
                let found = unsafe { ((*self.0).$name)($($argument),+) };
                found
            }
        )+
    };
}

impl Host {
    /// Draws a uniform number on [0, 1). Draws are made in [`Component::answer`] only.
    pub fn random(&self) -> f64 {
        with_state!(self, random)
    }
    /// Draws a uniform integer on [0, n); n is above 0.
    pub fn below(&self, n: u64) -> u64 {
        with_state!(self, below, n)
    }
    /// Draws an exponentially distributed number with this mean.
    pub fn exponential(&self, mean: f64) -> f64 {
        with_state!(self, exponential, mean)
    }
    /// Draws a number with the standard normal distribution.
    pub fn normal(&self) -> f64 {
        with_state!(self, normal)
    }

    /// Returns a parameter that is a number; `otherwise` if the scenario does not state it. Parameters are read in
    /// [`Component::new`] only.
    pub fn number(&self, name: &str, otherwise: f64) -> f64 {
        self.parameter(name, 0, otherwise)
    }
    /// Returns a parameter such as "5ms", in picoseconds.
    pub fn duration(&self, name: &str, otherwise_ps: u64) -> u64 {
        self.parameter(name, 1, otherwise_ps as f64) as u64
    }
    /// Returns a parameter such as "10Mbit/s", in bit/s.
    pub fn rate(&self, name: &str, otherwise_bps: u64) -> u64 {
        self.parameter(name, 2, otherwise_bps as f64) as u64
    }
    /// Returns a parameter such as "9kB", in bytes.
    pub fn size(&self, name: &str, otherwise: u64) -> u64 {
        self.parameter(name, 3, otherwise as f64) as u64
    }
    /// Returns a parameter that is true or false.
    pub fn flag(&self, name: &str, otherwise: bool) -> bool {
        self.parameter(name, 4, f64::from(u8::from(otherwise))) != 0.0
    }
    fn parameter(&self, name: &str, unit: u32, otherwise: f64) -> f64 {
        let name = c_text(name);
        with_state!(self, parameter, name.as_ptr(), unit, otherwise)
    }
    /// Returns a parameter that is text. `None`: the scenario does not state it.
    pub fn text(&self, name: &str) -> Option<String> {
        let name = c_text(name);
        let mut buffer = vec![0u8; 256];
        loop {
            let capacity = buffer.len() as u32;
            let length = with_state!(self, text, name.as_ptr(), buffer.as_mut_ptr().cast(), capacity);
            if length == u32::MAX {
                return None;
            }
            if length < capacity {
                buffer.truncate(length as usize);
                return Some(String::from_utf8_lossy(&buffer).into_owned());
            }
            buffer.resize(length as usize + 1, 0);
        }
    }

    functions! {
        /// Returns the natural logarithm. This function and the following have the same bits on every platform.
        ln(x);
        /// Returns ln(1 + x).
        ln_1p(x);
        /// Returns the logarithm to base 2.
        log2(x);
        /// Returns e to the power x.
        exp(x);
        /// Returns exp(x) - 1.
        exp_m1(x);
        /// Returns the sine of x radians.
        sin(x);
        /// Returns the cosine of x radians.
        cos(x);
        /// Returns the logarithm of the gamma function.
        ln_gamma(x);
        /// Returns x to the power y.
        pow(x, y);
    }

    fn fail(&self, reason: &str) {
        let reason = c_text(reason);
        with_state!(self, fail, reason.as_ptr())
    }
}

/// Returns a text with a zero at its end, without zeros inside.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Functions behind the exported ones.
pub mod export {
    use super::*;

    #[cfg(not(target_family = "wasm"))]
    pub type HostPointer = *const Table;
    #[cfg(target_family = "wasm")]
    pub type HostPointer = *const c_void;

    fn host(_pointer: HostPointer) -> Host {
        Host(
            #[cfg(not(target_family = "wasm"))]
            _pointer,
        )
    }

    /// Calls `work`; returns the status, after stating the reason of a failure or a panic.
    fn guarded(pointer: HostPointer, work: impl FnOnce(&Host) -> Result<(), String>) -> i32 {
        let host = host(pointer);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&host)));
        let reason = match done {
            Ok(Ok(())) => return 0,
            Ok(Err(reason)) => reason,
            Err(panic) => match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
                (Some(text), _) => format!("panic: {text}"),
                (_, Some(text)) => format!("panic: {text}"),
                _ => "panic".to_owned(),
            },
        };
        host.fail(&reason);
        1
    }

    pub unsafe fn describe<C: Component>(out: *mut Description) {
        let out = unsafe { &mut *out };
        (out.abi, out.role, out.events, out.options) = (ABI, C::Role::NUMBER, C::EVENTS, C::OPTIONS);
        out.marks = (C::MARKS && C::Role::NUMBER == <queue::Role as Role>::NUMBER) as u32;
        out.state_bytes = C::STATE_BYTES;
        for (to, from) in out.probes[..227].iter_mut().zip(C::PROBES.join(",").bytes()) {
            *to = from;
        }
    }

    pub unsafe fn create<C: Component>(pointer: HostPointer, place: *mut *mut c_void) -> i32 {
        // A panic in WebAssembly ends the call at once, so that its message is stated before.
        #[cfg(target_family = "wasm")]
        std::panic::set_hook(Box::new(|info| host(core::ptr::null()).fail(&info.to_string())));
        guarded(pointer, |host| {
            let instance = Box::new(C::new(host)?);
            unsafe { *place = Box::into_raw(instance).cast() };
            Ok(())
        })
    }

    pub unsafe fn answer<C: Component>(
        this: *mut c_void,
        call: *const c_void,
        answer: *mut c_void,
        pointer: HostPointer,
    ) -> i32 {
        guarded(pointer, |host| unsafe { (*this.cast::<C>()).answer(C::Role::call(call), &mut *answer.cast(), host) })
    }

    pub unsafe fn probe<C: Component>(this: *const c_void, number: u32) -> f64 {
        let probe = || unsafe { (*this.cast::<C>()).probe(number) };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(probe)).unwrap_or(f64::NAN)
    }

    pub unsafe fn destroy<C: Component>(this: *mut c_void) {
        let destroy = || drop(unsafe { Box::from_raw(this.cast::<C>()) });
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(destroy));
    }
}

/// Exports the functions of a component; its name is that of the key `class` of the scenario.
#[macro_export]
macro_rules! component {
    ($class:ident) => {
        const _: () = {
            use core::ffi::c_void;
            #[unsafe(export_name = concat!("tailback_", stringify!($class), "_describe"))]
            unsafe extern "C" fn describe(out: *mut Description) {
                unsafe { export::describe::<$class>(out) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($class), "_create"))]
            unsafe extern "C" fn create(host: export::HostPointer, place: *mut *mut c_void) -> i32 {
                unsafe { export::create::<$class>(host, place) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($class), "_answer"))]
            unsafe extern "C" fn answer(
                this: *mut c_void,
                call: *const c_void,
                answer: *mut c_void,
                host: export::HostPointer,
            ) -> i32 {
                unsafe { export::answer::<$class>(this, call, answer, host) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($class), "_probe"))]
            unsafe extern "C" fn probe(this: *const c_void, number: u32) -> f64 {
                unsafe { export::probe::<$class>(this, number) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($class), "_destroy"))]
            unsafe extern "C" fn destroy(this: *mut c_void) {
                unsafe { export::destroy::<$class>(this) }
            }
        };
    };
}

/// Returns the address of 8192 bytes, in which the host places the records of a call.
#[cfg(target_family = "wasm")]
#[unsafe(export_name = "tailback_space")]
extern "C" fn space() -> *mut c_void {
    static mut SPACE: [u64; 1024] = [0; 1024];
    (&raw mut SPACE).cast()
}
