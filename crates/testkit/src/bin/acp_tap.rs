//! `acp-tap OUT.ndjson -- CMD ARGS…`: stands between two peers and writes down what they say.
//!
//! In: the arguments. Out: what [`testkit::tap`] passes on. It is a program because the peers
//! start each other by a command line.

use std::io::Write as _;

fn main() {
    match testkit::tap::run(std::env::args_os().skip(1)) {
        // Not a return: a thread may still wait for the client's next line.
        Ok(code) => std::process::exit(code),
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "acp-tap: {problem}");
            std::process::exit(2);
        }
    }
}
