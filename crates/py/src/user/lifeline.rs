//! End of a worker process with the process that has started it.

use pyo3::prelude::*;
use std::io::{ErrorKind, Read, stdin};
use std::thread;

/// Aborts this process as soon as its standard input is closed, which happens when the process at the other end of the pipe
/// has ended, also by SIGKILL. A thread waits for it without the interpreter lock, since a component may hold the lock for
/// ever.
#[pyfunction]
pub fn abort_at_end_of_input() {
    thread::spawn(|| {
        let mut bytes = [0; 64];
        loop {
            match stdin().read(&mut bytes) {
                Ok(0) => std::process::abort(),
                Err(error) if error.kind() != ErrorKind::Interrupted => std::process::abort(),
                _ => {}
            }
        }
    });
}
