//! Forms of the code of a component.

/// Form of the code of a component, which follows from the name of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python source.
    Python,
    /// Machine code: a library that is loaded into the process.
    Native,
    /// A WebAssembly module.
    WebAssembly,
}

impl Language {
    /// Suffixes of files, and their languages. The last suffix is WebAssembly's text format.
    const SUFFIXES: [(&'static str, Language); 6] = [
        (".py", Language::Python),
        (".so", Language::Native),
        (".dylib", Language::Native),
        (".dll", Language::Native),
        (".wasm", Language::WebAssembly),
        (".wat", Language::WebAssembly),
    ];

    /// Returns the language of a file; `None`: its name has another suffix.
    pub fn of(file: &str) -> Option<Language> {
        Language::SUFFIXES.iter().find(|(suffix, _)| file.ends_with(suffix)).map(|(_, language)| *language)
    }
    /// Returns the name of the language: "python", "native" or "wasm".
    pub const fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Native => "native",
            Language::WebAssembly => "wasm",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn the_suffix_of_a_file_is_its_language() {
        let of = |file| Language::of(file).map(Language::name);
        assert_eq!(of("laws/red.py"), Some("python"));
        assert_eq!([of("libred.so"), of("libred.dylib"), of("red.dll")], [Some("native"); 3]);
        assert_eq!([of("red.wasm"), of("red.wat")], [Some("wasm"); 2]);
        assert_eq!([of("red.so.1"), of("py"), of("")], [None; 3]);
    }
}
