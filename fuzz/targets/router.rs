//! Router configurations: a text is read in each language and written in mqc and tc. It is also converted to a
//! scenario, which runs and is converted back. The same text is read as a traffic table, too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailback_router::{LANGUAGES, Options, Traffic, lift, lower, mqc, tc};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for language in LANGUAGES {
        let imported = (language.import)(text);
        for notice in imported.report.notices() {
            assert!(notice.line as usize <= text.lines().count() + 1, "{notice}");
        }
        let written = [mqc::export(&imported.config), tc::export(&imported.config)];
        let _ = (mqc::import(&written[0].text), tc::import(&written[1].text));
        let options = Options { rate: Some(1_000_000), ..Options::default() };
        if let Some(document) = lower(&imported.config, &Traffic::default(), &options).document {
            if let Some(scenario) = tailback_fuzz::scenario(&document.to_string()) {
                tailback_fuzz::exercise(&scenario);
            }
            let lifted = lift(&document, None);
            let _ = mqc::export(&lifted.config);
        }
    }
    let _ = Traffic::from_csv(text);
});
