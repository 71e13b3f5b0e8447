#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("pi_rpc", data));
