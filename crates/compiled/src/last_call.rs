//! Record of the last call of a component, in a file that outlives a crash of this process.
//!
//! If the environment variable `TAILBACK_LAST_CALL` has the path of a file, each call of a component in machine code is
//! noted there before it begins, so that another process can name the call that has crashed or does not return. The
//! file has [`FILE_BYTES`] bytes; numbers have 64 bits in the byte order of the machine:
//!
//! ```text
//! word 0               version of this layout, 1
//! word 1               used bytes of the area of names
//! word 8 · (1 + slot)  slot of a thread, 0 to 62, eight words:
//!   + 0                calls begun and ended: odd during a call
//!   + 1                time of the call, picoseconds since the start of the run
//!   + 2                name of the component and its place
//!   + 3                name of the call
//!   + 4                identifier of the thread that owns the slot, from 1 on; 0: the slot is free
//! byte 4096            area of names, UTF-8
//! ```
//!
//! A name is the offset of its first byte in the area of names times 2^16, plus its length in bytes; 0: unknown.

#![allow(unsafe_code, reason = "the file is mapped into memory, since a write must survive a crash at once")]
#![allow(
    clippy::disallowed_methods,
    reason = "a note of the calls, on which no run depends, is wanted by the environment"
)]

use memmap2::{MmapOptions, MmapRaw};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Name of the environment variable.
pub const VARIABLE: &str = "TAILBACK_LAST_CALL";
/// Size of the file.
pub const FILE_BYTES: usize = 1 << 20;
/// Offset of the area of names.
const NAMES_AT: usize = 4096;
/// Number of slots.
const SLOTS: usize = 63;
/// Words of a slot.
const SLOT_WORDS: usize = 8;

/// The mapped file.
#[derive(Debug)]
pub struct Record {
    map: MmapRaw,
    /// Names that have been written, and their words.
    names: Mutex<BTreeMap<String, u64>>,
    threads: AtomicU64,
}

/// A component whose calls are noted.
#[derive(Debug)]
pub struct Calls {
    record: &'static Record,
    component: u64,
    /// Names of the calls by their numbers.
    names: Vec<u64>,
}

/// A call in progress; its end is noted when this value is dropped.
#[derive(Debug)]
pub struct Call(Option<&'static [AtomicU64]>);

impl Record {
    /// Maps a file, which is created if necessary.
    ///
    /// # Errors
    /// If the file cannot be written or mapped.
    pub fn open(path: &Path) -> std::io::Result<Record> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len(FILE_BYTES as u64)?;
        let map = MmapOptions::new().len(FILE_BYTES).map_raw(&file)?;
        let record = Record { map, names: Mutex::default(), threads: AtomicU64::new(0) };
        let used = record.words()[1].load(Ordering::Relaxed);
        record.words()[1].store(used.min((FILE_BYTES - NAMES_AT) as u64), Ordering::Relaxed);
        record.words()[0].store(1, Ordering::Release);
        Ok(record)
    }

    /// Returns the words before the area of names.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to pages, writable, longer than `NAMES_AT`, and lives as long as `self`; other
        // processes and threads use these words as atomic numbers only.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast(), NAMES_AT / 8) }
    }

    /// Writes a name, unless it has been written; returns its word. 0: there is no room.
    fn name(&self, name: &str) -> u64 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = names.get(name) {
            return *word;
        }
        let used = self.words()[1].load(Ordering::Relaxed) as usize;
        let length = name.len().min(u16::MAX.into());
        let Some(room) = (FILE_BYTES - NAMES_AT).checked_sub(used + length) else { return 0 };
        debug_assert!(room < FILE_BYTES);
        for (at, byte) in (NAMES_AT + used..).zip(&name.as_bytes()[..length]) {
            // SAFETY: the byte is inside the mapping, by the check above, and only the holder of the lock writes names.
            unsafe { self.map.as_mut_ptr().add(at).write(*byte) };
        }
        self.words()[1].store((used + length) as u64, Ordering::Release);
        let word = (used as u64) << 16 | length as u64;
        names.insert(name.to_owned(), word);
        word
    }

    /// Takes a free slot for a thread. `None`: all are taken.
    fn take_slot(&self) -> Option<&[AtomicU64]> {
        let me = 1 + self.threads.fetch_add(1, Ordering::Relaxed);
        let taken = |slot: &&[AtomicU64]| slot[4].compare_exchange(0, me, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.words()[SLOT_WORDS..].chunks_exact(SLOT_WORDS).take(SLOTS).find(taken)
    }
}

/// Slot of the current thread in the process's record; it is freed at the end of the thread.
struct Slot(Option<&'static [AtomicU64]>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot[4].store(0, Ordering::Release);
        }
    }
}

thread_local! {
    static SLOT: Slot = Slot(of_process().and_then(Record::take_slot));
}

/// Returns the record of this process. `None`: the environment variable is not set, or its file cannot be mapped.
fn of_process() -> Option<&'static Record> {
    static RECORD: OnceLock<Option<Record>> = OnceLock::new();
    let open = || Record::open(Path::new(&std::env::var_os(VARIABLE)?)).ok();
    RECORD.get_or_init(open).as_ref()
}

impl Calls {
    /// Returns the calls of a component with this name and place. `None`: there is no record.
    pub fn of(name: &str, calls: &[&str]) -> Option<Calls> {
        let record = of_process()?;
        let component = record.name(name);
        Some(Calls { record, component, names: calls.iter().map(|call| record.name(call)).collect() })
    }

    /// Notes the call with this number at `now_ps`.
    #[inline]
    pub fn begin(&self, number: u32, now_ps: u64) -> Call {
        let slot = SLOT.try_with(|slot| slot.0).ok().flatten();
        if let Some(slot) = slot {
            slot[1].store(now_ps, Ordering::Relaxed);
            slot[2].store(self.component, Ordering::Relaxed);
            slot[3].store(self.names.get(number as usize).copied().unwrap_or(0), Ordering::Relaxed);
            slot[0].fetch_add(1, Ordering::Release);
        }
        Call(slot)
    }

    /// Notes a call with this name, which has no number.
    pub fn begin_named(&self, call: &str, now_ps: u64) -> Call {
        let found = self.begin(u32::MAX, now_ps);
        if let Some(slot) = found.0 {
            slot[3].store(self.record.name(call), Ordering::Relaxed);
        }
        found
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot[0].fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name that a word stands for.
    fn name_of(file: &[u8], word: u64) -> String {
        let at = NAMES_AT + (word >> 16) as usize;
        String::from_utf8(file[at..at + (word & 0xffff) as usize].to_vec()).expect("names are UTF-8")
    }

    #[test]
    fn the_file_names_the_component_the_call_and_the_time_while_the_call_lasts() {
        let path = std::env::temp_dir().join(format!("tailback-last-call-{}", std::process::id()));
        let record: &'static Record = Box::leak(Box::new(Record::open(&path).expect("the folder is writable")));
        let slot = record.take_slot().expect("no slot is taken");
        let calls = Calls {
            record,
            component: record.name("`Red` of red.so at s->b"),
            names: ["start", "arrive"].map(|call| record.name(call)).to_vec(),
        };
        assert_eq!(record.name("arrive"), calls.names[1], "a name is written once");
        let read = || std::fs::read(&path).expect("the file exists");
        let word = |file: &[u8], at: usize| u64::from_ne_bytes(file[8 * at..8 * at + 8].try_into().expect("8 bytes"));
        slot[1].store(77, Ordering::Relaxed);
        slot[2].store(calls.component, Ordering::Relaxed);
        slot[3].store(calls.names[1], Ordering::Relaxed);
        slot[0].fetch_add(1, Ordering::Release);
        let file = read();
        assert_eq!(file.len(), FILE_BYTES);
        assert_eq!([0, 8, 9, 12].map(|at| word(&file, at)), [1, 1, 77, 1]);
        assert_eq!(name_of(&file, word(&file, 10)), "`Red` of red.so at s->b");
        assert_eq!(name_of(&file, word(&file, 11)), "arrive");
        drop(Call(Some(slot)));
        assert_eq!(word(&read(), 8), 2);
        std::fs::remove_file(&path).expect("the file exists");
    }

    #[test]
    fn names_without_room_are_unknown() {
        let path = std::env::temp_dir().join(format!("tailback-last-call-full-{}", std::process::id()));
        let record = Record::open(&path).expect("the folder is writable");
        let long = "x".repeat(usize::from(u16::MAX));
        let written = (0..20).map(|number| record.name(&format!("{number}{long}"))).filter(|word| *word != 0).count();
        assert_eq!(written, (FILE_BYTES - NAMES_AT) / usize::from(u16::MAX));
        std::fs::remove_file(&path).expect("the file exists");
    }
}
