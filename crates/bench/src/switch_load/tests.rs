//! What is counted is what it claims to be: every message goes through.

use super::*;

#[test]
fn every_request_and_every_answer_goes_through() {
    let mut load = SwitchLoad::new(Kind::RoundTrips, 200, 3).unwrap();

    let out = load.run(3);

    assert_eq!(load.n_messages(), 2 * N_SESSIONS);
    let mut n_asked = 0;
    let mut answers = Vec::new();
    for output in &out {
        match output {
            SwitchOutput::ToWorker { worker, .. } if *worker == load.worker => n_asked += 1,
            SwitchOutput::ToClient { client: CLIENT, line } => answers.push(line.clone()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(n_asked, N_SESSIONS);
    assert_eq!(answers.len(), N_SESSIONS);
    for (session, answer) in answers.iter().enumerate() {
        let expected = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"s{session:06}-0000000004\",");
        assert!(answer.starts_with(expected.as_bytes()), "{answer:?}");
        let n_bytes = Request::new(session, 200).n_answer_bytes();
        assert_eq!(answer.len(), n_bytes);
    }
}

#[test]
fn every_update_reaches_the_client() {
    let mut load = SwitchLoad::new(Kind::Updates, 200, 2).unwrap();

    let out = load.run(2);

    let is_update = |output: &SwitchOutput| matches!(output, SwitchOutput::ToClient { client: CLIENT, line } if line.len() == 200);
    assert_eq!(load.n_messages(), N_SESSIONS);
    assert_eq!(out.len(), N_SESSIONS);
    assert!(out.iter().all(is_update), "{:?}", out.first());
}
