//! Instances of classes in WebAssembly.

use super::data::{Data, FUEL, MEMORY_BYTES};
use super::module::Module;
use crate::abi::{Description, Record, Space};
use crate::{Instance, Parameters};
use core::fmt;
use std::sync::{Mutex, PoisonError};
use tailback_random::Rng;
use tailback_user::Role;
use wasmi::{Error, Memory, Store, TrapCode, TypedFunc, WasmParams, WasmResults};

/// A module in memory of its own.
struct Running {
    store: Store<Data>,
    instance: wasmi::Instance,
    memory: Memory,
    /// Address of the memory that the module lends to the host.
    space: usize,
    /// Offset of the answer in this memory.
    answer_at: usize,
}

impl Running {
    /// Makes a module in memory of its own, without an instance of a class.
    fn new(module: &Module, role: Role, parameters: Parameters) -> Result<Running, String> {
        let mut store = Store::new(module.engine(), Data::new(parameters));
        store.limiter(|data| data.limits());
        refuel(&mut store);
        let instance = module.linker().instantiate_and_start(&mut store, module.parsed());
        let instance = instance.map_err(|error| format!("at its start: {}", failed(&mut store, &error)))?;
        let memory = instance.get_memory(&store, "memory").ok_or("it does not export its memory as `memory`")?;
        let lend = instance.get_typed_func::<(), u32>(&store, "tailback_space");
        let lend = lend.map_err(|error| format!("it does not define the function `tailback_space`: {error}"))?;
        refuel(&mut store);
        let space = lend.call(&mut store, ());
        let space = space.map_err(|error| format!("in `tailback_space`: {}", failed(&mut store, &error)))?;
        let Space { bytes, answer_at } = Space::of(role);
        let end = u64::from(space) + bytes as u64;
        if !space.is_multiple_of(8) || end > memory.data_size(&store) as u64 {
            return Err(format!("`tailback_space` returned {space}; {bytes} bytes at a multiple of 8 are needed"));
        }
        Ok(Running { store, instance, memory, space: space as usize, answer_at })
    }

    /// Returns the function `tailback_CLASS_FUNCTION`. `None`: the module does not define it.
    fn function<Arguments: WasmParams, Results: WasmResults>(
        &self,
        class: &str,
        function: &str,
    ) -> Result<Option<TypedFunc<Arguments, Results>>, String> {
        let symbol = format!("tailback_{class}_{function}");
        let Some(found) = self.instance.get_func(&self.store, &symbol) else { return Ok(None) };
        let typed = found.typed(&self.store);
        typed
            .map(Some)
            .map_err(|_| format!("the function `{symbol}` has other arguments or results than the interface's"))
    }

    /// Calls a function.
    fn call<Arguments: WasmParams, Results: WasmResults>(
        &mut self,
        function: &TypedFunc<Arguments, Results>,
        arguments: Arguments,
    ) -> Result<Results, String> {
        refuel(&mut self.store);
        function.call(&mut self.store, arguments).map_err(|error| failed(&mut self.store, &error))
    }

    /// Returns `length` bytes at an offset in the memory that the module lends.
    fn lent(&mut self, offset: usize, length: usize) -> &mut [u8] {
        let at = self.space + offset;
        // The memory does not shrink.
        &mut self.memory.data_mut(&mut self.store)[at..at + length]
    }

    /// Returns the address of an offset in the memory that the module lends.
    fn address(&self, offset: usize) -> u32 {
        (self.space + offset) as u32
    }
}

/// Sets the number of steps that the next call may take.
fn refuel(store: &mut Store<Data>) {
    // The engine is configured to count steps.
    let _ = store.set_fuel(FUEL);
}

/// Returns the reason why a call failed.
#[cold]
fn failed(store: &mut Store<Data>, error: &Error) -> String {
    let trap = match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => format!("the call took more than {FUEL} steps"),
        Some(TrapCode::GrowthOperationLimited) => format!("its memory would grow beyond {MEMORY_BYTES} bytes"),
        Some(code) => format!("trap: {}", code.trap_message()),
        None => error.to_string(),
    };
    match store.data_mut().state.outcome(0) {
        Err(reason) => format!("{reason} ({trap})"),
        Ok(()) => trap,
    }
}

/// Fills in a description of the class `name` of a module.
///
/// # Errors
/// If the module cannot be started, or if the function fails. `Ok(None)`: there is no class of this name.
pub(super) fn describe(module: &Module, role: Role, name: &str) -> Result<Option<Description>, String> {
    let mut running = Running::new(module, role, Parameters::default())?;
    let Some(function) = running.function::<u32, ()>(name, "describe")? else { return Ok(None) };
    let at = running.address(0);
    running.lent(0, size_of::<Description>()).fill(0);
    running.call(&function, at).map_err(|reason| format!("in `describe`: {reason}"))?;
    let mut description = Description::EMPTY;
    description.bytes_mut().copy_from_slice(running.lent(0, size_of::<Description>()));
    let missing = |function: &str| format!("it does not define the function `tailback_{name}_{function}`");
    running.function::<(u32, u32), i32>(name, "create")?.ok_or_else(|| missing("create"))?;
    running.function::<(u32, u32, u32, u32), i32>(name, "answer")?.ok_or_else(|| missing("answer"))?;
    let probe = running.function::<(u32, u32), f64>(name, "probe")?;
    if probe.is_none() && description.probes[0] != 0 {
        return Err(missing("probe"));
    }
    Ok(Some(description))
}

/// An instance of a class, with a memory of its own.
pub struct WasmInstance {
    running: Mutex<Running>,
    /// Address of the instance.
    this: u32,
    answer: TypedFunc<(u32, u32, u32, u32), i32>,
    probe: Option<TypedFunc<(u32, u32), f64>>,
}

impl WasmInstance {
    /// Makes an instance of the class `name` of a module.
    ///
    /// # Errors
    /// If the class refuses the parameters.
    pub(super) fn new(module: &Module, role: Role, name: &str, parameters: Parameters) -> Result<WasmInstance, String> {
        let mut running = Running::new(module, role, parameters)?;
        let missing = "a function of the class is missing";
        let create = running.function::<(u32, u32), i32>(name, "create")?.ok_or(missing)?;
        let answer = running.function(name, "answer")?.ok_or(missing)?;
        let probe = running.function(name, "probe")?;
        running.lent(0, 4).fill(0);
        let at = running.address(0);
        let status = running.call(&create, (0, at)).map_err(|reason| format!("in `create`: {reason}"))?;
        running.store.data_mut().state.made(status)?;
        let this = u32::from_le_bytes(running.lent(0, 4).try_into().map_err(|_| missing)?);
        Ok(WasmInstance { running: Mutex::new(running), this, answer, probe })
    }
}

impl Instance for WasmInstance {
    fn answer<C: Record + ?Sized, A: Record>(
        &mut self,
        _number: u32,
        _now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        let place = running.answer_at;
        let (call_at, answer_at) = (running.address(0), running.address(place));
        running.lent(0, size_of_val(call)).copy_from_slice(call.bytes());
        running.lent(place, size_of::<A>()).copy_from_slice(answer.bytes());
        running.store.data_mut().state.exchange(rng);
        let status = running.call(&self.answer, (self.this, call_at, answer_at, 0));
        running.store.data_mut().state.exchange(rng);
        running.store.data_mut().state.outcome(status?)?;
        answer.bytes_mut().copy_from_slice(running.lent(place, size_of::<A>()));
        Ok(())
    }

    fn probe(&self, number: u32) -> Result<f64, String> {
        let probe = self.probe.as_ref().ok_or("the module does not define the function of its probes")?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.call(probe, (self.this, number))
    }
}

impl fmt::Debug for WasmInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WasmInstance")
    }
}
