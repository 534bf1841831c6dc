//! Record of the last call of a component, in memory that another process reads.
//!
//! If the environment variable `TAILBACK_LAST_CALL` has the path of a file, or [`record_in`] has been called, each call of a
//! component in machine code or in Python is noted there before it begins, so that the process that has started this one can name the call that has crashed or does not
//! return. The file has 64 words of 64 bits in the byte order of the machine; in a longer file, such a record follows for
//! each further thread with components.
//!
//! | words | |
//! |---|---|
//! | 0 | number of calls begun and ended: odd during a call |
//! | 1 | simulated time of the call, picoseconds; 2^64 - 1 for one outside a run, such as `create` |
//! | 2, 3 | name of the call, such as `arrive` |
//! | 4 to 63 | name of the component and its place |
//!
//! Names are UTF-8, end at the first zero byte, and are cut off if they are longer. Calls on threads without a record are not
//! noted, nor are those in WebAssembly, which cannot end the process.

#![allow(unsafe_code, reason = "the file is mapped into memory, since a note must survive a crash at once")]
#![allow(
    clippy::disallowed_methods,
    reason = "a note of the calls, on which no run depends, is wanted by the environment"
)]

use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the environment variable.
pub const VARIABLE: &str = "TAILBACK_LAST_CALL";
/// Time of a call outside a run.
pub const NO_TIME: u64 = u64::MAX;
/// Words of a record.
pub const WORDS: usize = 64;
/// Words for the name of a call.
const CALL_WORDS: usize = 2;

/// The mapped file.
#[derive(Debug)]
pub struct Record {
    map: MmapRaw,
    /// Threads that have a record, a bit each.
    taken: AtomicU64,
}

/// A component whose calls are noted.
#[derive(Debug)]
pub struct Calls {
    /// Name of the component and its place.
    component: Vec<u64>,
    /// Names of the calls by their numbers.
    names: Vec<[u64; CALL_WORDS]>,
}

/// A call in progress; its end is noted when this value is dropped.
#[derive(Debug)]
pub struct Call(Option<&'static [AtomicU64]>);

impl Record {
    /// Maps a file of this layout.
    ///
    /// # Errors
    /// If the file cannot be written or mapped.
    pub fn open(path: &Path) -> std::io::Result<Record> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = WORDS * 8;
        if file.metadata()?.len() < bytes as u64 {
            file.set_len(bytes as u64)?;
        }
        Ok(Record::of(MmapOptions::new().map_raw(&file)?))
    }

    /// Returns the records of a mapped file.
    fn of(map: MmapRaw) -> Record {
        Record { map, taken: AtomicU64::new(0) }
    }

    /// Returns the words of all records.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to pages, writable, has this length, and lives as long as `self`; other threads and
        // processes use the words as atomic numbers only.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast(), self.map.len() / 8) }
    }

    /// Takes a record for a thread, with its number. `None`: all are taken.
    fn take(&self) -> Option<(usize, &[AtomicU64])> {
        self.words().chunks_exact(WORDS).enumerate().take(u64::BITS as usize).find(|(number, _)| {
            let bit = 1 << number;
            self.taken.fetch_or(bit, Ordering::Relaxed) & bit == 0
        })
    }
}

/// Record of the current thread; it is free again at the end of the thread.
struct Mine(Option<(usize, &'static [AtomicU64])>);

impl Drop for Mine {
    fn drop(&mut self) {
        if let (Some((number, _)), Some(record)) = (self.0, of_process()) {
            record.taken.fetch_and(!(1 << number), Ordering::Relaxed);
        }
    }
}

thread_local! {
    static MINE: Mine = Mine(of_process().and_then(Record::take));
}

/// Records of this process, once they are known.
static RECORD: OnceLock<Option<Record>> = OnceLock::new();

/// Notes the calls of this process in the file behind a descriptor, which must be open for reading and writing, whatever the
/// environment variable says.
///
/// # Errors
/// If the file cannot be mapped, or calls have been noted elsewhere already.
#[cfg(unix)]
pub fn record_in(descriptor: std::os::fd::RawFd) -> std::io::Result<()> {
    let record = Record::of(MmapOptions::new().map_raw(descriptor)?);
    RECORD.set(Some(record)).map_err(|_| std::io::Error::other("calls are recorded already"))
}

/// Returns the records of this process. `None`: the environment variable is not set, or its file cannot be mapped.
fn of_process() -> Option<&'static Record> {
    let open = || Record::open(Path::new(&std::env::var_os(VARIABLE)?)).ok();
    RECORD.get_or_init(open).as_ref()
}

/// Returns a text in at most `most` words, with at least one zero byte at its end unless it is cut off.
fn words(text: &str, most: usize) -> Vec<u64> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let word = |chunk: &[u8]| {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(padded)
    };
    bytes.chunks(8).take(most).map(word).collect()
}

/// Returns the name of a call in its words.
fn call_words(name: &str) -> [u64; CALL_WORDS] {
    let mut found = [0; CALL_WORDS];
    for (to, from) in found.iter_mut().zip(words(name, CALL_WORDS)) {
        *to = from;
    }
    found
}

impl Calls {
    /// Returns the calls of a component with this name and place. `None`: there is no record.
    pub fn of(name: &str, calls: &[&str]) -> Option<Calls> {
        of_process().map(|_| Calls::named(name, calls))
    }
    /// Returns the calls of a component with this name and place.
    fn named(name: &str, calls: &[&str]) -> Calls {
        let component = words(name, WORDS - CALL_WORDS - 2);
        Calls { component, names: calls.iter().map(|call| call_words(call)).collect() }
    }

    /// Notes the begin of a call in the record of this thread.
    fn note(&self, call: [u64; CALL_WORDS], now_ps: Option<u64>) -> Call {
        let mine = MINE.try_with(|mine| mine.0).ok().flatten().map(|(_, record)| record);
        if let Some(record) = mine {
            self.write(record, call, now_ps);
        }
        Call(mine)
    }
    /// Notes the begin of a call; `now_ps` is `None` at the time of the call before.
    fn write(&self, record: &[AtomicU64], call: [u64; CALL_WORDS], now_ps: Option<u64>) {
        if let Some(now_ps) = now_ps {
            record[1].store(now_ps, Ordering::Relaxed);
        }
        for (word, value) in record[2..].iter().zip(call.iter().chain(&self.component)) {
            word.store(*value, Ordering::Relaxed);
        }
        record[0].fetch_add(1, Ordering::Release);
    }

    /// Notes the call with this number at `now_ps`, until the result is dropped.
    pub fn begin(&self, number: u32, now_ps: u64) -> Call {
        self.note(self.names.get(number as usize).copied().unwrap_or_default(), Some(now_ps))
    }
    /// Notes a call with this name, which has no number; `None`: the time is that of the call before on this thread.
    pub fn begin_named(&self, call: &str, now_ps: Option<u64>) -> Call {
        self.note(call_words(call), now_ps)
    }
}

/// Notes a call outside a run, such as `create`, of the component with this name, until the result is dropped. `None`: there
/// is no record.
pub fn outside_a_run(name: &str, call: &str) -> Option<Call> {
    Calls::of(name, &[]).map(|calls| calls.note(call_words(call), Some(NO_TIME)))
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(record) = self.0 {
            record[0].fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a new file of `records` records.
    fn file(name: &str, records: usize) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("tailback-{name}-{}", std::process::id()));
        std::fs::write(&path, vec![0; records * WORDS * 8]).expect("the folder is writable");
        path
    }

    #[test]
    fn the_file_names_the_component_the_call_and_the_time_while_the_call_lasts() {
        let path = file("last-call", 1);
        let record: &'static Record = Box::leak(Box::new(Record::open(&path).expect("the file exists")));
        let (_, mine) = record.take().expect("it is free");
        let read = || std::fs::read(&path).expect("the file exists");
        let word = |file: &[u8], at: usize| u64::from_ne_bytes(file[8 * at..8 * at + 8].try_into().expect("8 bytes"));
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8(bytes[..end].to_vec()).expect("names are UTF-8")
        };
        Calls::named("a component with quite a long name", &[]).write(mine, call_words("start"), Some(5));
        drop(Call(Some(mine)));
        let calls = Calls::named("`Red` of red.so at s->b", &["start", "arrive"]);
        calls.write(mine, calls.names[1], Some(77));
        let found = read();
        assert_eq!([word(&found, 0), word(&found, 1)], [3, 77]);
        assert_eq!([text(&found[16..32]), text(&found[32..])], ["arrive", "`Red` of red.so at s->b"]);
        drop(Call(Some(mine)));
        assert_eq!(word(&read(), 0), 4);
        calls.write(mine, call_words("probes"), None);
        let found = read();
        assert_eq!([word(&found, 0), word(&found, 1)], [5, 77]);
        assert_eq!(text(&found[16..32]), "probes");
        std::fs::remove_file(&path).expect("the file exists");
    }

    #[test]
    fn each_thread_has_a_record_of_its_own_as_long_as_there_are_some() {
        let path = file("last-calls", 3);
        let record = Record::open(&path).expect("the file exists");
        let numbers: Vec<_> = (0..4).map(|_| record.take().map(|(number, _)| number)).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2), None]);
        record.taken.fetch_and(!2, Ordering::Relaxed);
        assert_eq!(record.take().map(|(number, _)| number), Some(1));
        std::fs::remove_file(&path).expect("the file exists");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_off() {
        assert_eq!(words(&"x".repeat(1000), 60).len(), 60);
        assert_eq!(words("12345678", 60), [u64::from_ne_bytes(*b"12345678"), 0]);
    }
}
