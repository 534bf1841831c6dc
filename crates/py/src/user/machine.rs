//! Queue laws whose decisions are machine code that the Python process has compiled.

#![allow(unsafe_code, reason = "the law states the address of its code")]

use super::queue::PyLaw;
use core::ffi::c_void;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tailback_compiled::native::{Answer, Made, NativeInstance, addresses};
use tailback_compiled::{Instance, Parameters};
use tailback_random::Rng;
use tailback_user::{QueueAnswer, QueueCall, QueueLaw, Role};

/// An instance of a class derived from `tailback.NativeLaw`.
#[derive(Debug)]
struct MachineLaw {
    /// The object, for its state variables.
    object: PyLaw,
    code: NativeInstance,
}

/// Returns the queue law of an instance, in machine code if its class is derived from `tailback.NativeLaw`.
pub fn queue_law(instance: &Bound<'_, PyAny>) -> PyResult<Box<dyn QueueLaw>> {
    let object = PyLaw::new(instance)?;
    let base = instance.py().import("tailback.laws.native")?.getattr("NativeLaw")?;
    if !instance.is_instance(&base)? {
        return Ok(Box::new(object));
    }
    let address: usize = instance.getattr("answer")?.extract()?;
    if address == 0 {
        return Err(PyValueError::new_err("answer is 0; write the address of the compiled function"));
    }
    let state = PyUntypedBuffer::get(&instance.getattr("state")?)?;
    if state.readonly() || !state.is_c_contiguous() {
        return Err(PyBufferError::new_err(
            "state is read-only or not contiguous; write an array of numpy or a bytearray",
        ));
    }
    // SAFETY: the class states that a function of the interface is at this address, and keeps it there.
    let answer = unsafe { std::mem::transmute::<*const c_void, Answer>(address as *const c_void) };
    let this = state.buf_ptr();
    // The buffer keeps the memory of the state in its place. It is only dropped, which the lock makes `Sync`.
    let owner = Box::new(Mutex::new(state));
    let make = |_: &_| (Made { name: String::new(), this, answer, probe: None, destroy: None, owner }, 0);
    // SAFETY: as above.
    let code = unsafe { NativeInstance::new(Parameters::default(), make) }.map_err(PyValueError::new_err)?;
    Ok(Box::new(MachineLaw { object, code }))
}

impl QueueLaw for MachineLaw {
    fn placed(&mut self, name: &str) {
        self.code.placed(name, &Role::QueueLaw.events());
        self.object.placed(name);
    }
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        let mut answer = QueueAnswer { wake_ps, verdict: 0, reserved: 0 };
        self.code.answer(call.event, call.now_ps, call, &mut answer, rng)?;
        Ok(answer)
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.object.probe(f)
    }
    fn state_bytes(&self) -> usize {
        self.object.state_bytes()
    }
}

/// Returns the addresses of the functions of the host, for laws in machine code, by their names in `tailback_host` of the
/// header. Those that use the random stream or report a failure take the context of the host as their first argument.
#[pyfunction]
pub fn host_functions() -> BTreeMap<&'static str, usize> {
    addresses().into_iter().collect()
}
