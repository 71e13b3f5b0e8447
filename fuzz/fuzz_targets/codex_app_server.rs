#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("codex_app_server", data));
