//! Tailback's interface of compiled laws for Rust: machine code in a library, and WebAssembly.
//!
//! Copy this file next to the law, which implements [`QueueLaw`] and names it in [`queue_law!`]:
//!
//! ```ignore
//! mod tailback_law;
//! use tailback_law::*;
//!
//! struct Threshold { limit: u64 }
//!
//! impl QueueLaw for Threshold {
//!     const EVENTS: u32 = bit(ARRIVE);
//!     fn new(host: &Host) -> Result<Threshold, String> {
//!         Ok(Threshold { limit: host.number("limit", 20.0) as u64 })
//!     }
//!     fn answer(&mut self, call: &QueueCall, answer: &mut QueueAnswer, _host: &Host) -> Result<(), String> {
//!         if call.queue_packets >= self.limit { answer.verdict = DROP; }
//!         Ok(())
//!     }
//! }
//! queue_law!(Threshold);
//! ```
//!
//! `rustc -O --crate-type cdylib threshold.rs` makes a library, and with `--target wasm32-unknown-unknown` a module. A panic is
//! a fault of the law: it ends the run with its message. `tailback_law.h` has the rules of the interface.

#![allow(dead_code, clippy::all)]

#[cfg(not(target_family = "wasm"))]
use core::ffi::c_char;
use core::ffi::c_void;
use std::ffi::CString;

/// Version of the interface.
pub const ABI: u32 = 1;

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

/// No wake-up, and no limit.
pub const NEVER: u64 = u64::MAX;

/// Returns the bit of an event in [`QueueLaw::EVENTS`].
pub const fn bit(event: u32) -> u32 {
    1 << event
}

/// Arguments of a call. The fields of the packet are 0 unless it arrives or departs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct QueueCall {
    /// Current time, picoseconds since the start of the run.
    pub now_ps: u64,
    /// Time that a departing packet has waited, picoseconds.
    pub sojourn_ps: u64,
    /// Waiting packets: without an arriving one, and behind a departing one.
    pub queue_packets: u64,
    /// Buffer bytes of these packets.
    pub queue_bytes: u64,
    /// Limit of the queue, packets; [`NEVER`]: none.
    pub limit_packets: u64,
    /// Limit of the queue, buffer bytes; [`NEVER`]: none.
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
pub struct QueueAnswer {
    /// Time of the next [`TIMER`], not before now; [`NEVER`]: none.
    pub wake_ps: u64,
    /// [`PASS`], [`MARK`] or [`DROP`].
    pub verdict: u32,
    /// Zero.
    pub reserved: u32,
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

/// A queue law, for one queue.
pub trait QueueLaw: Sized {
    /// Events that the law is called for: `bit(DEPART)` and others.
    const EVENTS: u32;
    /// `false` if the law never answers [`MARK`].
    const MARKS: bool = true;
    /// Names of the state variables for time series.
    const PROBES: &'static [&'static str] = &[];
    /// Size of the law's variables in reports, bytes.
    const STATE_BYTES: u64 = size_of::<Self>() as u64;

    /// Makes the law of a queue, and reads its parameters: one of the scenario that is not read is refused.
    fn new(host: &Host) -> Result<Self, String>;
    /// Answers a call.
    fn answer(&mut self, call: &QueueCall, answer: &mut QueueAnswer, host: &Host) -> Result<(), String>;
    /// Returns the state variable with this number in [`QueueLaw::PROBES`].
    fn probe(&self, _number: u32) -> f64 {
        0.0
    }
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
    /// Draws a uniform number on [0, 1). Draws are made in [`QueueLaw::answer`] only.
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
    /// [`QueueLaw::new`] only.
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

    pub unsafe fn describe<Law: QueueLaw>(out: *mut Description) {
        let out = unsafe { &mut *out };
        (out.abi, out.events, out.marks, out.state_bytes) = (ABI, Law::EVENTS, Law::MARKS as u32, Law::STATE_BYTES);
        for (to, from) in out.probes[..227].iter_mut().zip(Law::PROBES.join(",").bytes()) {
            *to = from;
        }
    }

    pub unsafe fn create<Law: QueueLaw>(pointer: HostPointer, place: *mut *mut c_void) -> i32 {
        // A panic in WebAssembly ends the call at once, so that its message is stated before.
        #[cfg(target_family = "wasm")]
        std::panic::set_hook(Box::new(|info| host(core::ptr::null()).fail(&info.to_string())));
        guarded(pointer, |host| {
            let law = Box::new(Law::new(host)?);
            unsafe { *place = Box::into_raw(law).cast() };
            Ok(())
        })
    }

    pub unsafe fn answer<Law: QueueLaw>(
        this: *mut c_void,
        call: *const QueueCall,
        answer: *mut QueueAnswer,
        pointer: HostPointer,
    ) -> i32 {
        guarded(pointer, |host| unsafe { (*this.cast::<Law>()).answer(&*call, &mut *answer, host) })
    }

    pub unsafe fn probe<Law: QueueLaw>(this: *const c_void, number: u32) -> f64 {
        let probe = || unsafe { (*this.cast::<Law>()).probe(number) };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(probe)).unwrap_or(f64::NAN)
    }

    pub unsafe fn destroy<Law: QueueLaw>(this: *mut c_void) {
        let destroy = || drop(unsafe { Box::from_raw(this.cast::<Law>()) });
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(destroy));
    }
}

/// Exports the functions of a law; its name is that of the key `class` of the scenario.
#[macro_export]
macro_rules! queue_law {
    ($law:ident) => {
        const _: () = {
            use core::ffi::c_void;
            #[unsafe(export_name = concat!("tailback_", stringify!($law), "_describe"))]
            unsafe extern "C" fn describe(out: *mut Description) {
                unsafe { export::describe::<$law>(out) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($law), "_create"))]
            unsafe extern "C" fn create(host: export::HostPointer, place: *mut *mut c_void) -> i32 {
                unsafe { export::create::<$law>(host, place) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($law), "_answer"))]
            unsafe extern "C" fn answer(
                this: *mut c_void,
                call: *const QueueCall,
                answer: *mut QueueAnswer,
                host: export::HostPointer,
            ) -> i32 {
                unsafe { export::answer::<$law>(this, call, answer, host) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($law), "_probe"))]
            unsafe extern "C" fn probe(this: *const c_void, number: u32) -> f64 {
                unsafe { export::probe::<$law>(this, number) }
            }
            #[unsafe(export_name = concat!("tailback_", stringify!($law), "_destroy"))]
            unsafe extern "C" fn destroy(this: *mut c_void) {
                unsafe { export::destroy::<$law>(this) }
            }
        };
    };
}

/// Returns the address of 1024 bytes, in which the host places the records of a call.
#[cfg(target_family = "wasm")]
#[unsafe(export_name = "tailback_space")]
extern "C" fn space() -> *mut c_void {
    static mut SPACE: [u64; 128] = [0; 128];
    (&raw mut SPACE).cast()
}
