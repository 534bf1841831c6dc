//! An instance of a component in its place.

use crate::{Code, Fault, Faults};
use tailback_units::Time;

/// An instance of a component in its place.
#[derive(Debug)]
pub struct Installed<L: ?Sized> {
    /// The instance.
    pub law: Box<L>,
    /// Time of the last call.
    pub called: Time,
    /// Name of the component and of its place, for faults.
    name: String,
    faults: Faults,
}

impl<L: ?Sized> Installed<L> {
    /// Returns an instance of `code` at `place`, which is notified of its name by `notify`; `None` if it could not be made,
    /// which is recorded in `faults`.
    pub fn new(
        made: Result<Box<L>, String>,
        notify: fn(&mut L, &str),
        code: &Code,
        place: &str,
        faults: &Faults,
    ) -> Option<Installed<L>> {
        let name = format!("`{}` of {} at {place}", code.class, code.file);
        match made {
            Ok(mut law) => {
                notify(&mut law, &name);
                Some(Installed { law, called: Time::ZERO, name, faults: faults.clone() })
            }
            Err(message) => {
                faults.record(Fault { component: name, call: "start", at: Time::ZERO, message });
                None
            }
        }
    }

    /// Records that the last call, `call`, has failed.
    #[cold]
    pub fn fail(&self, call: &'static str, message: String) {
        self.faults.record(Fault { component: self.name.clone(), call, at: self.called, message });
    }
}
