use super::*;

fn check(report: ExitReport, expect: &str) {
    assert_eq!(report.to_string(), expect);
}

#[test]
fn an_exit_reads_as_one_line() {
    check(ExitReport { code: Some(3), ..ExitReport::default() }, "exit code 3");
    check(ExitReport { signal: Some(9), ..ExitReport::default() }, "killed by SIGKILL (9)");
    check(ExitReport { signal: Some(40), ..ExitReport::default() }, "killed by signal 40");
    let limit = Some(LimitHit::Memory { limit: 2 << 30, of_session: false });
    check(
        ExitReport { signal: Some(9), limit, ..ExitReport::default() },
        "killed by SIGKILL (9), ran out of the memory that it may use (limit 2048 MiB)",
    );
    check(ExitReport::lost(), "exit status unknown, keeper lost");
    check(
        ExitReport { code: Some(0), n_left: 2, ..ExitReport::default() },
        "exit code 0, 2 processes could not be ended",
    );
}
