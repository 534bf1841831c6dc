//! Congestion controls in Python.

use super::base::CongestionControl;
use super::failure::failure;
use super::instance::{Instance, made};
use core::fmt;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tailback_random::Rng;
use tailback_user::{Code, CongestionAnswer, CongestionCall, CongestionLaw, Role};

/// Arguments of a call of a congestion control, read-only.
#[pyclass(frozen, name = "CongestionCall", module = "tailback._native")]
pub struct Call(CongestionCall);

/// Defines getters: `fields` return fields of the record, `flags` those that are `True` if not 0, and `times` those in
/// picoseconds, also in seconds.
macro_rules! getters {
    (fields { $($name:ident: $type:ty),+ } flags { $($flag:ident),+ } times { $($ps:ident $s:ident),+ }) => {
        #[pymethods]
        impl Call {
            $(
                #[getter]
                fn $name(&self) -> $type {
                    self.0.$name
                }
            )+
            $(
                #[getter]
                fn $flag(&self) -> bool {
                    self.0.$flag != 0
                }
            )+
            $(
                #[getter]
                fn $ps(&self) -> u64 {
                    self.0.$ps
                }
                #[getter]
                fn $s(&self) -> f64 {
                    self.0.$ps as f64 * 1e-12
                }
            )+
            #[getter]
            fn rtt_ps(&self) -> Option<u64> {
                (self.0.rtt_ps != u64::MAX).then_some(self.0.rtt_ps)
            }
            #[getter]
            fn rtt_s(&self) -> Option<f64> {
                self.rtt_ps().map(|rtt| rtt as f64 * 1e-12)
            }
            #[getter]
            fn delivery_rate(&self) -> Option<f64> {
                (self.0.delivery_rate != 0.0).then_some(self.0.delivery_rate)
            }
            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}
getters! {
    fields {
        delivered: u32,
        advanced: u32,
        in_flight_before: u32,
        in_flight: u32,
        lost: u32,
        payload: u32
    }
    flags { window_limited, ece, recovering, round, app_limited, idle }
    times { now_ps now_s, srtt_ps srtt_s, min_rtt_ps min_rtt_s }
}

/// An instance of a class derived from `tailback.CongestionControl`.
pub struct PyControl {
    instance: Instance,
    class: Py<PyType>,
    code: Code,
}

impl PyControl {
    /// Makes an instance of `class` with the parameters of `code`, and binds its methods.
    pub fn new(class: &Bound<'_, PyType>, code: &Code) -> PyResult<PyControl> {
        let instance = PyControl::instance(class, code)?;
        Ok(PyControl { instance, class: class.clone().unbind(), code: code.clone() })
    }

    fn instance(class: &Bound<'_, PyType>, code: &Code) -> PyResult<Instance> {
        let events = Role::CongestionControl.events();
        Instance::new(&made(class, code)?, ("tailback.laws.congestion", "CongestionControl"), events)
    }

    /// Calls the method of the event; returns the window, the rate and the wake-up after it.
    fn call(
        &self,
        py: Python<'_>,
        call: &CongestionCall,
        last: &CongestionAnswer,
        rng: &mut Rng,
    ) -> PyResult<CongestionAnswer> {
        let control = self.instance.component(py).cast::<CongestionControl>()?;
        {
            let mut state = control.borrow_mut();
            (state.cwnd, state.ssthresh, state.rate) = (last.cwnd, last.ssthresh, last.rate);
        }
        self.instance.call(py, call.event, call.now_ps, Call(*call), last.wake_ps, rng)?;
        let state = control.borrow();
        let wake_ps = self.instance.wake_ps(py);
        Ok(CongestionAnswer { cwnd: state.cwnd, ssthresh: state.ssthresh, rate: state.rate, wake_ps })
    }
}

impl fmt::Debug for PyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PyControl")
    }
}

impl CongestionLaw for PyControl {
    fn placed(&mut self, name: &str) {
        self.instance.placed(name);
    }
    fn answer(
        &mut self,
        call: &CongestionCall,
        last: &CongestionAnswer,
        rng: &mut Rng,
    ) -> Result<CongestionAnswer, String> {
        Python::attach(|py| self.call(py, call, last, rng).map_err(|error| failure(py, error)))
    }
    fn renew(&mut self) -> Result<(), String> {
        Python::attach(|py| {
            let fresh = PyControl::instance(self.class.bind(py), &self.code).map_err(|error| failure(py, error))?;
            self.instance = self.instance.replaced_by(fresh);
            Ok(())
        })
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.instance.probe(f)
    }
}
