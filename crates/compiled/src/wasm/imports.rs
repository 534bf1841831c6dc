//! The functions of the host that a module may import.

use super::data::Data;
use crate::{Failed, State};
use tailback_random::maths;
use wasmi::{Caller, Engine, Error, Extern, Linker, Memory};

/// Name of the module that a component imports functions from.
pub(super) const HOST: &str = "tailback";

/// Returns the memory of the module that calls.
fn memory(caller: &mut Caller<'_, Data>) -> Result<Memory, Error> {
    let found = caller.get_export("memory").and_then(Extern::into_memory);
    found.ok_or_else(|| Error::new("the module does not export its memory"))
}

/// Returns the text at an address, which ends with a zero.
fn text_at(caller: &mut Caller<'_, Data>, at: u32) -> Result<String, Error> {
    let memory = memory(caller)?;
    let bytes = memory.data(&*caller).get(at as usize..).unwrap_or_default();
    let length = bytes.iter().position(|byte| *byte == 0);
    let length = length.ok_or_else(|| Error::new(format!("the text at {at} does not end with a zero")))?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Returns the state of the instance that calls.
fn state<'a>(caller: &'a mut Caller<'_, Data>) -> &'a mut State {
    &mut caller.data_mut().state
}

/// Converts a refused call to an error that ends the call of the component.
fn allowed<T>(found: Result<T, Failed>) -> Result<T, Error> {
    found.map_err(|failed| Error::new(failed.to_string()))
}

/// Returns the host's functions.
///
/// # Errors
/// If two have the same name.
pub(super) fn linker(engine: &Engine) -> Result<Linker<Data>, Error> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(HOST, "fail", |mut caller: Caller<'_, Data>, at: u32| {
        let reason = text_at(&mut caller, at)?;
        state(&mut caller).fail(reason);
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(HOST, "random", |mut caller: Caller<'_, Data>| allowed(state(&mut caller).random()))?;
    linker.func_wrap(HOST, "below", |mut caller: Caller<'_, Data>, n: u64| allowed(state(&mut caller).below(n)))?;
    linker.func_wrap(HOST, "exponential", |mut caller: Caller<'_, Data>, mean: f64| {
        allowed(state(&mut caller).exponential(mean))
    })?;
    linker.func_wrap(HOST, "normal", |mut caller: Caller<'_, Data>| allowed(state(&mut caller).normal()))?;
    linker.func_wrap(HOST, "parameter", |mut caller: Caller<'_, Data>, name: u32, unit: u32, default: f64| {
        let name = text_at(&mut caller, name)?;
        allowed(state(&mut caller).parameter(&name, unit, default))
    })?;
    linker.func_wrap(HOST, "text", text)?;
    linker.func_wrap(HOST, "ln", maths::ln)?;
    linker.func_wrap(HOST, "ln_1p", maths::ln_1p)?;
    linker.func_wrap(HOST, "log2", maths::log2)?;
    linker.func_wrap(HOST, "exp", maths::exp)?;
    linker.func_wrap(HOST, "exp_m1", maths::exp_m1)?;
    linker.func_wrap(HOST, "sin", maths::sin)?;
    linker.func_wrap(HOST, "cos", maths::cos)?;
    linker.func_wrap(HOST, "ln_gamma", maths::ln_gamma)?;
    linker.func_wrap(HOST, "pow", maths::pow)?;
    Ok(linker)
}

/// Copies the text of a parameter with a zero at its end; returns its length, `u32::MAX` if the table does not have it. A text
/// that does not fit is cut off at `capacity`.
fn text(mut caller: Caller<'_, Data>, name: u32, buffer: u32, capacity: u32) -> Result<u32, Error> {
    let name = text_at(&mut caller, name)?;
    let Some(found) = allowed(state(&mut caller).text(&name))? else { return Ok(u32::MAX) };
    let copied = found.len().min((capacity as usize).saturating_sub(1));
    if capacity > 0 {
        let memory = memory(&mut caller)?;
        let place = memory.data_mut(&mut caller).get_mut(buffer as usize..).and_then(|rest| rest.get_mut(..=copied));
        let place = place.ok_or_else(|| Error::new(format!("the buffer at {buffer} is outside the memory")))?;
        place[..copied].copy_from_slice(&found.as_bytes()[..copied]);
        place[copied] = 0;
    }
    Ok(found.len() as u32)
}
