//! Instances of classes in machine code.

#![allow(unsafe_code, reason = "functions of the component are called through pointers")]

use super::host::Host;
use crate::abi::Record;
use crate::last_call::{Calls, outside_a_run};
use crate::{Instance, Parameters, State};
use core::ffi::c_void;
use core::fmt;
use std::any::Any;
use tailback_random::Rng;

/// Answer to a call: arguments are the instance, the call, the answer and the host.
pub type Answer = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *const Host) -> i32;
/// Value of a state variable by its number.
pub(super) type Probe = unsafe extern "C" fn(*const c_void, u32) -> f64;
/// Frees an instance.
pub(super) type Destroy = unsafe extern "C" fn(*mut c_void);

/// An instance that its class has made, and its functions.
pub struct Made {
    /// Name of the class in messages, such as "`Red` of red.so".
    pub name: String,
    /// The instance.
    pub this: *mut c_void,
    /// Answers calls.
    pub answer: Answer,
    /// Returns state variables. `None`: there are none.
    pub probe: Option<Probe>,
    /// Frees the instance. `None`: nothing is to be freed.
    pub destroy: Option<Destroy>,
    /// Value that is dropped after the instance, such as the memory of the instance.
    pub owner: Box<dyn Any + Send + Sync>,
}

/// An instance with its host.
pub struct NativeInstance {
    made: Made,
    host: Box<Host>,
    /// The state, which the component changes through the host's functions during its calls.
    state: *mut State,
    /// Place for records of the calls; `None`: none are kept.
    calls: Option<Calls>,
    /// Time of the last call.
    called_ps: u64,
}

// SAFETY: the component must allow that an instance is made, called and freed on different threads, one at a time, and that
// its state variables are read on several threads at a time (header, "Threads"). The state is used in calls only, which
// need exclusive access.
unsafe impl Send for NativeInstance {}
// SAFETY: as above.
unsafe impl Sync for NativeInstance {}

impl NativeInstance {
    /// Returns the instance that `make` makes with the host, which reads its parameters from `parameters`. `make` also
    /// returns the status of the making.
    ///
    /// # Errors
    /// If the making failed; the message describes the failure.
    ///
    /// # Safety
    ///
    /// The functions that `make` returns follow the rules of the interface, and are valid as long as its owner.
    pub unsafe fn new(
        parameters: Parameters,
        make: impl FnOnce(&Host) -> (Made, i32),
    ) -> Result<NativeInstance, String> {
        let state = Box::into_raw(Box::new(State::new(parameters)));
        let host = Box::new(Host::new(state));
        let (mut made, status) = make(&host);
        if status != 0 {
            // There is no instance to be freed.
            made.destroy = None;
        }
        let instance = NativeInstance { made, host, state, calls: None, called_ps: 0 };
        // SAFETY: the state is valid until the instance is dropped, and no call is in progress.
        unsafe { (*state).made(status) }?;
        Ok(instance)
    }
}

impl Instance for NativeInstance {
    fn placed(&mut self, name: &str, calls: &[&'static str]) {
        self.calls = Calls::of(name, calls);
    }

    #[inline]
    fn answer<C: Record + ?Sized, A: Record>(
        &mut self,
        number: u32,
        now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String> {
        self.called_ps = now_ps;
        let noted = self.calls.as_ref().map(|calls| calls.begin(number, now_ps));
        // SAFETY: the state is valid, and no reference to it exists during the call of the component, which uses it
        // through the host's functions.
        let status = unsafe {
            (*self.state).exchange(rng);
            let (call, answer) = (std::ptr::from_ref(call).cast(), std::ptr::from_mut(answer).cast());
            let status = (self.made.answer)(self.made.this, call, answer, &raw const *self.host);
            (*self.state).exchange(rng);
            status
        };
        drop(noted);
        // SAFETY: as above; the call has ended.
        unsafe { (*self.state).outcome(status) }
    }

    fn probe(&self, number: u32) -> Result<f64, String> {
        let noted = self.calls.as_ref().map(|calls| calls.begin_named("probes", Some(self.called_ps)));
        let probe = self.made.probe.ok_or("the library does not define the function of its probes")?;
        // SAFETY: by the rules of the interface; the function only reads.
        let value = unsafe { probe(self.made.this, number) };
        drop(noted);
        Ok(value)
    }
}

impl Drop for NativeInstance {
    fn drop(&mut self) {
        if let Some(destroy) = self.made.destroy {
            let _noted = outside_a_run(&self.made.name, "destroy");
            // SAFETY: the class has made the instance, which is freed once.
            unsafe { destroy(self.made.this) };
        }
        // SAFETY: the pointer is from `Box::into_raw` in `new`, and is freed once.
        drop(unsafe { Box::from_raw(self.state) });
    }
}

impl fmt::Debug for NativeInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeInstance")
    }
}
