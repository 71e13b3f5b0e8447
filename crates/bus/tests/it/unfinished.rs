//! A worker that begins a line and does not end it.

use bus::switch::{PoolPlan, SwitchLimits};
use bus::{Bus, IoLimits, KernelSetup, PoolSetup};
use soak::PATIENCE;
use tokio::time::timeout;

use crate::stage::launch;

async fn answer_of(script: &str) -> serde_json::Value {
    let launch = launch("sh", ["-c", script]);
    let edges = IoLimits { line_timeout: 50, max_worker_line_bytes: 1000, ..IoLimits::default() };
    let bus = Bus::start(KernelSetup {
        pools: vec![PoolSetup::new(PoolPlan::fixed("p", "", 1), launch)],
        limits: SwitchLimits::default(),
        edges,
        record: None,
    });
    let bus = bus.unwrap();
    let mut port = bus.port(None).await.unwrap();
    port.sender.send(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await.unwrap();
    let answer = timeout(PATIENCE, port.receiver.receive()).await.unwrap();
    let answer = serde_json::from_slice(&answer.unwrap().unwrap()).unwrap();
    bus.abort().await.unwrap();
    answer
}

#[tokio::test]
async fn a_worker_that_stops_in_the_middle_of_a_line_is_ended_and_its_client_told_why() {
    let answer = answer_of(r#"read line; printf '{"id":1,"result"'; exec sleep 1000"#).await;

    assert_eq!(answer["error"]["code"], -32010, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("does not end a line"), "{message}");
}

#[tokio::test]
async fn a_worker_whose_line_has_no_end_is_ended() {
    let script = r#"read line; printf '{"method":"m","params":"'; yes | tr -d '\n'"#;

    let answer = answer_of(script).await;

    assert_eq!(answer["error"]["code"], -32010, "{answer}");
}
