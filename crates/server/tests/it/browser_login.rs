//! A login is good with the daemon that proves itself, and from browsers of its own user.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use server::guard::GuardSettings;
use server::principal::Principal;
use sha2::{Digest as _, Sha256};

use crate::stage::{Answer, LoggedIn, Setup, Stage};

const SAME_SITE: &str = "Sec-Fetch-Site: same-origin";
/// Not ours, and there on every machine.
const OTHER_USER: u32 = 65534;

/// A proof that does not hold, of the daemon's nonce and proof.
type Wrong<'a> = &'a dyn Fn(&str, &str) -> String;

/// What our page sends to come to a pass.
async fn post(stage: &Stage, path: &str, cookie: &str, body: Value) -> Answer {
    let body = body.to_string();
    let own = format!("Origin: http://{}", stage.host());
    let cookie = format!("Cookie: {cookie}");
    let length = format!("Content-Length: {}", body.len());
    let lines = ["Content-Type: application/json", &length, &own, SAME_SITE, &cookie];
    stage.say(stage.head("POST", path, &lines) + &body).await
}

fn proof(secret: &str, side: &str, host: &str, page: &str, daemon: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&Sha256::digest(secret)).unwrap();
    mac.update([side, host, page, daemon].join("\n").as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// The status of a request that shows a cookie and a pass.
async fn status(stage: &Stage, cookie: &str, pass: &str) -> u16 {
    let (cookie, pass) = (format!("Cookie: {cookie}"), format!("X-Switchyard-Page: {pass}"));
    stage.say(stage.head("GET", "/v1/things", &[SAME_SITE, &cookie, &pass])).await.status()
}

/// The pass that the page comes to by proving itself.
async fn prove(stage: &Stage, LoggedIn { cookie, secret, .. }: &LoggedIn) -> String {
    let asked = post(stage, "/v1/login/challenge", cookie, json!({ "nonce": "n" })).await.json();
    let nonce = asked["nonce"].as_str().unwrap();
    assert_eq!(asked["proof"], proof(secret, "daemon", &stage.host(), "n", nonce));
    let ours = proof(secret, "page", &stage.host(), "n", nonce);
    let body = json!({ "nonce": nonce, "proof": ours });
    let pass = post(stage, "/v1/login/prove", cookie, body.clone()).await.json();
    let again = post(stage, "/v1/login/prove", cookie, body).await;
    assert_eq!(again.status(), 401, "a proof counts once: {}", again.0);
    pass["pass"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_is_good_with_the_daemon_that_gave_it() {
    let stage = Stage::start().await;
    let login = stage.log_in().await;
    assert_eq!(status(&stage, &login.cookie, &login.pass).await, 200);
    assert_eq!(status(&stage, &login.cookie, &login.secret).await, 401, "the secret is no pass");
    let other = stage.log_in().await;
    assert_eq!(status(&stage, &login.cookie, &other.pass).await, 401, "of another login");

    // All that went over the wire while the page was there is worth nothing with the next one.
    let stage = stage.restart().await;
    let cookie = login.cookie.split_once('=').unwrap().1;
    let login = LoggedIn {
        cookie: format!("switchyard_session_{}={cookie}", stage.address.port()),
        ..login
    };
    assert_eq!(status(&stage, &login.cookie, &login.pass).await, 401);
    let pass = prove(&stage, &login).await;
    assert_eq!(status(&stage, &login.cookie, &pass).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_the_pages_own_proof_is_a_proof() {
    let stage = Stage::start().await;
    let login = stage.log_in().await;
    let host = stage.host();
    let secret = login.secret.as_str();
    let challenge = async || {
        let asked = json!({ "nonce": "n" });
        let asked = post(&stage, "/v1/login/challenge", &login.cookie, asked).await.json();
        (asked["nonce"].as_str().unwrap().to_owned(), asked["proof"].as_str().unwrap().to_owned())
    };
    let wrong: [Wrong<'_>; 5] = [
        &|_, daemons| daemons.to_owned(),
        &|nonce, _| proof("sy_other", "page", &host, "n", nonce),
        &|nonce, _| proof(secret, "page", "127.0.0.1:1", "n", nonce),
        &|nonce, _| proof(secret, "page", &host, "other", nonce),
        &|_, _| String::new(),
    ];
    for (n, wrong) in wrong.iter().enumerate() {
        let (nonce, daemons) = challenge().await;
        let body = json!({ "nonce": nonce, "proof": wrong(&nonce, &daemons) });
        let answer = post(&stage, "/v1/login/prove", &login.cookie, body).await;
        assert_eq!(answer.status(), 401, "{n}: {}", answer.0);
    }
    for nonce in [String::new(), "n".repeat(1000)] {
        let body = json!({ "nonce": nonce });
        let answer = post(&stage, "/v1/login/challenge", &login.cookie, body).await;
        assert_eq!(answer.status(), 400, "{}", answer.0);
    }
    let stranger = format!("switchyard_session_{}=sy_none", stage.address.port());
    for path in ["/v1/login/challenge", "/v1/login/prove"] {
        let body = json!({ "nonce": "n", "proof": "p" });
        assert_eq!(post(&stage, path, &stranger, body.clone()).await.status(), 401, "{path}");
        assert_eq!(post(&stage, path, "a=b", body).await.status(), 401, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_of_the_machine_can_use_no_login_at_all() {
    if !rustix::process::geteuid().is_root() {
        // Only root can be somebody else.
        return;
    }
    let stage = Stage::start().await;
    let login = stage.log_in().await;
    let lines = format!("Cookie: {}\r\nX-Switchyard-Page: {}", login.cookie, login.pass);
    let things = stage.head("GET", "/v1/things", &[SAME_SITE, &lines]);
    assert_eq!(stage.say(&things).await.status(), 200);
    assert_eq!(as_user(OTHER_USER, &stage, &things).status(), 403);

    let code = json!({ "code": stage.login.new_code(&Principal::local()).unwrap() }).to_string();
    let length = format!("Content-Length: {}", code.len());
    let kind = "Content-Type: application/json";
    let log_in = stage.head("POST", "/v1/login", &[kind, &length]) + &code;
    assert_eq!(as_user(OTHER_USER, &stage, &log_in).status(), 403, "a link is of no use either");
    assert_eq!(stage.say(&log_in).await.status(), 200, "and is not used up by it");
    // Tokens are anybody's who has them.
    let bearer = stage.head("GET", "/v1/things", &[&stage.bearer()]);
    assert_eq!(as_user(OTHER_USER, &stage, &bearer).status(), 200);

    let settings = GuardSettings { proxy_users: vec![OTHER_USER], ..GuardSettings::default() };
    let stage = Stage::with(Setup { settings, ..Setup::default() }).await;
    let lines = stage.login_lines().await;
    let things = stage.head("GET", "/v1/things", &[SAME_SITE, &lines]);
    assert_eq!(as_user(OTHER_USER, &stage, &things).status(), 200, "a proxy that was named");
}

/// What a process of that user is answered.
fn as_user(user: u32, stage: &Stage, request: &str) -> Answer {
    let script = "exec 3<>/dev/tcp/127.0.0.1/$1; printf %s \"$2\" >&3; cat <&3";
    let port = stage.address.port().to_string();
    let mut command = Command::new("bash");
    command.args(["-c", script, "-", &port, request]).current_dir("/").uid(user).gid(user);
    let output = command.stdin(Stdio::null()).output().unwrap();
    Answer(String::from_utf8_lossy(&output.stdout).into_owned())
}
