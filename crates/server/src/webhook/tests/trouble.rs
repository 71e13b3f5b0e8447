//! Receivers that are down, slow, hostile or somewhere else.

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use soak::PATIENCE;
use tokio::net::TcpListener;

use super::receiver::over_tls;
use super::*;

fn is(body: &Value, name: &str) -> bool {
    body["session"] == session(name).as_str()
}

#[tokio::test]
async fn a_receiver_that_fails_gets_it_later_under_the_same_id() {
    let receiver = Receiver::start(|_, n| Reply::Status([500, 404, 200][n.min(2)])).await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce(&receiver.url(), &APPROVALS);

    let _listed = stage.ask("a", 1);
    receiver.nth(2).await;
    stage.end().await;

    let all = receiver.all();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|one| one.event_id == all[0].event_id && one.body == all[0].body));
}

#[tokio::test]
async fn a_receiver_that_is_not_there_yet_gets_everything_when_it_comes() {
    let reserved = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let mut stage = Stage::new(&["a", "b"]).await;
    let pace = DeliveryPace { max_tries: 1000, ..quick() };
    stage.announce_with(json!({ "url": format!("http://{address}/hook") }), pace);
    let _listed = (stage.ask("a", 1), stage.ask("b", 1));

    // Whenever it comes up, before or after the first tries: nothing is lost.
    tokio::task::yield_now().await;
    let listener = TcpListener::bind(address).await.unwrap();
    let receiver = Receiver::on(listener, |_, _| Reply::Status(200));

    receiver.nth(1).await;
    stage.end().await;
    assert_eq!(receiver.all().len(), 2);
}

#[tokio::test]
async fn a_question_that_is_answered_before_it_is_delivered_is_not_announced() {
    let receiver = Receiver::start(|received, _| match &received.body["type"] {
        Value::String(kind) if kind == "permission_requested" => Reply::Status(503),
        _ => Reply::Status(200),
    })
    .await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce_with(
        json!({ "url": receiver.url() }),
        DeliveryPace { max_tries: 1000, ..quick() },
    );
    let listed = stage.ask("a", 1);
    receiver.nth(1).await;

    stage.answer("a", 1).await;
    drop(listed);

    let is_resolved = |one: &receiver::Received| one.body["type"] == "permission_resolved";
    let waiting = async {
        while !receiver.all().iter().any(is_resolved) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    // A second question shows that nothing of the first is left in between.
    let _next = stage.ask("a", 2);
    let n_now = receiver.all().len();
    receiver.nth(n_now + 1).await;
    stage.end().await;

    let all = receiver.all();
    let resolved_at = all.iter().position(is_resolved).unwrap();
    let first = json!(request_id("a", 1));
    let is_late = |one: &receiver::Received| one.body["requestId"] == first;
    assert!(!all[resolved_at + 1..].iter().any(is_late), "{all:#?}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Receiver::start(|_, _| Reply::Status(200)).await;
    let to = elsewhere.url();
    let receiver = Receiver::start(move |_, n| match n {
        0 => Reply::RedirectTo(to.clone()),
        _ => Reply::Status(200),
    })
    .await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce(&receiver.url(), &APPROVALS);

    let _listed = stage.ask("a", 1);
    receiver.nth(1).await;
    stage.end().await;

    assert_eq!((receiver.all().len(), elsewhere.all().len()), (2, 0));
}

#[tokio::test]
async fn a_receiver_that_hangs_on_one_session_is_left_and_the_others_are_announced() {
    let receiver = Receiver::start(|received, _| match is(&received.body, "a") {
        true => Reply::Hang,
        false => Reply::Status(200),
    })
    .await;
    let mut stage = Stage::new(&["a", "b"]).await;
    let pace = DeliveryPace { whole: Duration::from_millis(300), max_tries: 3, ..quick() };
    stage.announce_with(json!({ "url": receiver.url() }), pace);

    let _listed = (stage.ask("a", 1), stage.ask("b", 1));
    receiver.nth(3).await;
    stage.end().await;

    let of = |name: &str| receiver.all().iter().filter(|one| is(&one.body, name)).count();
    assert_eq!((of("a"), of("b")), (3, 1));
}

#[tokio::test]
async fn what_is_refused_for_good_is_given_up_after_so_many_tries() {
    let receiver = Receiver::start(|received, _| match is(&received.body, "a") {
        true => Reply::Status(500),
        false => Reply::Status(200),
    })
    .await;
    let mut stage = Stage::new(&["a", "b"]).await;
    stage.announce(&receiver.url(), &APPROVALS);
    let _listed = stage.ask("a", 1);
    let max_tries = usize::try_from(quick().max_tries).unwrap();
    receiver.nth(max_tries - 1).await;

    // Changes of the list do not bring it back.
    for number in 0..20 {
        let n_before = receiver.all().len();
        let listed = stage.ask("b", number);
        receiver.nth(n_before).await;
        drop(listed);
    }
    stage.end().await;

    let n_tries = receiver.all().iter().filter(|one| is(&one.body, "a")).count();
    assert_eq!(n_tries, max_tries);
}

#[tokio::test]
async fn a_receiver_that_wants_no_more_is_not_asked_twice() {
    let receiver = Receiver::start(|received, _| match is(&received.body, "a") {
        true => Reply::Status(410),
        false => Reply::Status(200),
    })
    .await;
    let mut stage = Stage::new(&["a", "b"]).await;
    stage.announce(&receiver.url(), &APPROVALS);

    let _first = stage.ask("a", 1);
    receiver.nth(0).await;
    let _second = (stage.ask("b", 1), stage.ask("b", 2));
    receiver.nth(2).await;
    stage.end().await;

    assert_eq!(receiver.all().len(), 3);
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let receiver = Receiver::start(|_, _| Reply::Endless).await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce(&receiver.url(), &APPROVALS);

    let _listed = (stage.ask("a", 1), stage.ask("a", 2));
    receiver.nth(1).await;
    stage.end().await;

    assert_eq!(receiver.all().len(), 2, "each delivered once");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let receiver = over_tls(config, |_, _| Reply::Status(200)).await;
    let url = receiver.url().replace("http://127.0.0.1", "https://localhost");
    let mut stage = Stage::new(&["a"]).await;
    std::fs::write(stage.dir.path().join("ca.pem"), certificate.pem()).unwrap();
    let _listed = stage.ask("a", 1);

    let table: WebhookTable =
        serde_json::from_value(json!({ "url": url, "secret_file": "secret" })).unwrap();
    let sender = WebhookSender::new(&table.check(stage.dir.path()).unwrap()).unwrap();
    let writer = AnnouncementWriter::new(stage.context.clone(), "http://x");
    let subject = AnnouncementSubject {
        session: session("a"),
        topic: WebhookTopic::PermissionRequested,
        cause: AnnouncementCause::Question(request_id("a", 1)),
    };
    let announcement = writer.write(&subject).await.unwrap().unwrap();
    let refused = sender.send(&announcement).await;
    let is_distrust =
        matches!(&refused, DeliveryAttempt::Failed { why, .. } if why.contains("certificate"));
    assert!(is_distrust, "{refused:?}");
    assert!(receiver.all().is_empty());

    stage.announce_with(json!({ "url": url, "ca_file": "ca.pem" }), quick());
    receiver.nth(0).await;
    stage.end().await;
}
