//! Components whose decisions are machine code that the Python process has compiled.

#![allow(unsafe_code, reason = "the component states the address of its code")]

use super::failure::traceback;
use super::instance::{Instance as Object, made};
use core::ffi::c_void;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tailback_compiled::abi::{Properties, Record};
use tailback_compiled::native::{Answer, Made, NativeInstance, addresses};
use tailback_compiled::{Component, Instance, Make, Parameters};
use tailback_random::Rng;
use tailback_user::{Code, lasting};

/// A class derived from `tailback.laws.native.NativeComponent`, with the parameters of its instances.
#[derive(Debug)]
struct Class {
    /// The class in Python.
    python: Py<PyType>,
    code: Code,
    properties: Arc<Properties>,
}

/// An instance of such a class.
#[derive(Debug)]
pub struct Machine {
    code: NativeInstance,
    /// The object, for its state variables.
    object: Object,
}

/// Returns an instance of `class` with the parameters of `code`, as a component of any role. `None`: the class is not derived
/// from `tailback.laws.native.NativeComponent`.
pub fn component(class: &Bound<'_, PyType>, code: &Code) -> Result<Option<Component<Machine>>, String> {
    let py = class.py();
    let properties = properties(class, code).map_err(|error| traceback(py, &error))?;
    let Some(properties) = properties else { return Ok(None) };
    let class = Class { python: class.clone().unbind(), code: code.clone(), properties: Arc::new(properties) };
    Component::of(&Arc::new(class), Parameters::default()).map(Some)
}

/// Returns the properties of a class. `None`: it is not derived from `NativeComponent`.
fn properties(class: &Bound<'_, PyType>, code: &Code) -> PyResult<Option<Properties>> {
    let base = class.py().import("tailback.laws.native")?.getattr("NativeComponent")?;
    if !class.is_subclass(&base)? {
        return Ok(None);
    }
    let (events, marks, options) =
        code.loaded.as_ref().map_or((0, false, 0), |loaded| (loaded.events, loaded.marks, loaded.options));
    let probes: Vec<String> = class.getattr("probes")?.extract()?;
    let probes = probes.iter().map(|name| lasting(name)).collect();
    let state_bytes = class.getattr("state_bytes")?.extract()?;
    Ok(Some(Properties { events, marks, options, state_bytes, probes }))
}

impl Machine {
    /// Returns an instance of a class in Python as an instance in machine code.
    fn new(instance: &Bound<'_, PyAny>) -> PyResult<Machine> {
        // The engine calls no method of the object.
        let object = Object::new(instance, ("tailback.laws.native", "NativeComponent"), Vec::new())?;
        let address: usize = instance.getattr("answer")?.extract()?;
        if address == 0 {
            return Err(PyValueError::new_err("answer is 0; write the address of the compiled function"));
        }
        let (this, owner) = state(&instance.getattr("state")?)?;
        // SAFETY: the class states that a function of the interface is at this address, and keeps it there.
        let answer = unsafe { std::mem::transmute::<*const c_void, Answer>(address as *const c_void) };
        // Without a function `destroy`, the name is in no message.
        let make = |_: &_| (Made { name: String::new(), this, answer, probe: None, destroy: None, owner }, 0);
        // SAFETY: as above.
        let code = unsafe { NativeInstance::new(Parameters::default(), make) }.map_err(PyValueError::new_err)?;
        Ok(Machine { code, object })
    }
}

/// Returns the address of an instance's variables, and the value that keeps them in their place.
fn state(state: &Bound<'_, PyAny>) -> PyResult<(*mut c_void, Box<dyn Any + Send + Sync>)> {
    if state.is_none() {
        return Ok((std::ptr::null_mut(), Box::new(())));
    }
    let buffer = PyUntypedBuffer::get(state)?;
    if buffer.readonly() || !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err(
            "state is read-only or not contiguous; write an array of numpy or a bytearray",
        ));
    }
    // The buffer is only dropped, which the lock makes `Sync`.
    Ok((buffer.buf_ptr(), Box::new(Mutex::new(buffer))))
}

impl Make for Class {
    type Instance = Machine;

    fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// The object reads the parameters of the class, which are not those of the argument.
    fn instance(&self, _: Parameters) -> Result<Machine, String> {
        Python::attach(|py| {
            let machine = made(self.python.bind(py), &self.code).and_then(|instance| Machine::new(&instance));
            machine.map_err(|error| traceback(py, &error))
        })
    }
}

impl Instance for Machine {
    fn placed(&mut self, name: &str, calls: &[&'static str]) {
        self.code.placed(name, calls);
        self.object.placed(name);
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
        self.code.answer(number, now_ps, call, answer, rng)
    }

    fn probe(&self, number: u32) -> Result<f64, String> {
        self.object.variable(number as usize)
    }
}

/// Returns the addresses of the functions of the host, for laws in machine code, by their names in `tailback_host` of the
/// header. Those that use the random stream or report a failure take the context of the host as their first argument.
#[pyfunction]
pub fn host_functions() -> BTreeMap<&'static str, usize> {
    addresses().into_iter().collect()
}
