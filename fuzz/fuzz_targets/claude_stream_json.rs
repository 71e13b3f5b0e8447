#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("claude_stream_json", data));
