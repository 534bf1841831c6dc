//! An instance of a class of the user, and calls of its methods.

use super::base::Component;
use super::failure::failure;
use super::monitor::InCall;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use tailback_compiled::last_call::{Calls, outside_a_run};
use tailback_random::Rng;
use tailback_user::{Code, lasting};

/// An instance of a class of the user.
#[derive(Debug)]
pub struct Instance {
    /// The instance, as its base class.
    component: Py<Component>,
    /// Methods of the instance by the number of the event; `None`: the class does not have the method.
    methods: Vec<Option<Py<PyAny>>>,
    /// Names of the events.
    events: Vec<&'static str>,
    /// Place for records of the calls; `None`: none are kept.
    calls: Option<Calls>,
    /// State variables for time series: the name in reports, and the attribute.
    probes: Vec<(&'static str, Py<PyString>)>,
}

impl Instance {
    /// Binds the methods of `instance` for the events called `events`. `base`: module and name of the class whose methods do
    /// nothing.
    pub fn new(instance: &Bound<'_, PyAny>, base: (&str, &str), events: Vec<&'static str>) -> PyResult<Instance> {
        let class = instance.get_type();
        let base = instance.py().import(base.0)?.getattr(base.1)?;
        let method = |event: &str| -> PyResult<Option<Py<PyAny>>> {
            let overridden = !class.getattr(event)?.is(&base.getattr(event)?);
            overridden.then(|| Ok(instance.getattr(event)?.unbind())).transpose()
        };
        let names: Vec<Bound<'_, PyString>> = instance.getattr("probes")?.extract()?;
        let probes = names.into_iter().map(|name| Ok((lasting(name.to_str()?), name.unbind())));
        Ok(Instance {
            component: instance.cast::<Component>()?.clone().unbind(),
            methods: events.iter().map(|event| method(event)).collect::<PyResult<_>>()?,
            events,
            calls: None,
            probes: probes.collect::<PyResult<_>>()?,
        })
    }

    /// Notes the name of the instance and its place.
    pub fn placed(&mut self, name: &str) {
        self.calls = Calls::of(name, &self.events);
    }

    /// Returns the instance `fresh` in the place of this one.
    pub fn replaced_by(&mut self, fresh: Instance) -> Instance {
        Instance { calls: self.calls.take(), ..fresh }
    }

    /// Returns the instance as its base class.
    pub fn component<'py>(&self, py: Python<'py>) -> &Bound<'py, Component> {
        self.component.bind(py)
    }

    /// Calls the method of the event with the number `event` at `now_ps` with `call`; returns its result. `None`: the class does not have
    /// the method. `wake_ps` is the wake-up before the call.
    pub fn call<'py, C: PyClass + Into<PyClassInitializer<C>>>(
        &self,
        py: Python<'py>,
        event: u32,
        now_ps: u64,
        call: C,
        wake_ps: u64,
        rng: &mut Rng,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let component = self.component.bind(py);
        // An expired timer has no time any more.
        component.borrow_mut().wake_ps = wake_ps;
        let Some(method) = self.methods.get(event as usize).and_then(Option::as_ref) else { return Ok(None) };
        let call = Bound::new(py, call)?;
        component.borrow_mut().draws.exchange(rng);
        let in_call = InCall::begin(self.calls.as_ref().map(|calls| calls.begin(event, now_ps)));
        let result = method.bind(py).call1((call,));
        drop(in_call);
        component.borrow_mut().draws.exchange(rng);
        result.map(Some)
    }

    /// Returns the wake-up after a call.
    pub fn wake_ps(&self, py: Python<'_>) -> u64 {
        self.component.bind(py).borrow().wake_ps
    }

    /// Passes the state variables to `f`.
    ///
    /// # Errors
    /// If an attribute cannot be read, or is no number; the message describes the failure.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        for (number, (name, _)) in self.probes.iter().enumerate() {
            f(name, self.variable(number)?);
        }
        Ok(())
    }

    /// Returns the state variable with this number.
    ///
    /// # Errors
    /// If there is none, or if the attribute cannot be read, or is no number; the message describes the failure.
    pub fn variable(&self, number: usize) -> Result<f64, String> {
        let (_, attribute) = self.probes.get(number).ok_or_else(|| format!("there is no state variable {number}"))?;
        Python::attach(|py| {
            let _in_call = InCall::begin(self.calls.as_ref().map(|calls| calls.begin_named("probes", None)));
            let value = self.component.bind(py).getattr(attribute.bind(py)).and_then(|value| value.extract());
            value.map_err(|error| failure(py, error))
        })
    }
}

/// Returns an instance of `class`, made with the parameters of `code` before the run.
pub fn made<'py>(class: &Bound<'py, PyType>, code: &Code) -> PyResult<Bound<'py, PyAny>> {
    let parameters = PyDict::new(class.py());
    for (name, value) in &code.parameters {
        parameters.set_item(name, python(class.py(), value)?)?;
    }
    let name = format!("`{}` of {}", code.class, code.file);
    let _in_call = InCall::begin(outside_a_run(&name, "__init__"));
    class.call((), Some(&parameters))
}

/// Returns a value of a document as a Python object.
fn python<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}
