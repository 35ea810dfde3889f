#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ostrakon_fuzz::exercise("graph_contribution", data));
