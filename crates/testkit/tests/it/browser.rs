//! The browser that other tests look through.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::proc;
use testkit::test_home::{PATIENCE, wait_until};

const PAGE: &str = "data:text/html,<title>one</title><input id=field><button id=button>go</button>\
    <script>button.onclick = () => setTimeout(() => document.title = field.value, 50)</script>";

/// The browser below this process, and where it keeps its profile, by its command line.
fn find() -> (u32, PathBuf) {
    let profile = |pid: u32| {
        let line = proc::command_line(pid);
        let flag = line.split(' ').find_map(|word| word.strip_prefix("--user-data-dir="));
        flag.filter(|_| !line.contains("--type=")).map(PathBuf::from)
    };
    let below = proc::descendants(std::process::id());
    let found = below.into_iter().find_map(|pid| Some((pid, profile(pid)?)));
    found.unwrap()
}

/// An address that a browser lets remember things.
fn a_web_site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi";
            let _ = client.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

/// One test for all of it: there must be no second browser below this process.
#[tokio::test]
async fn a_page_can_be_used_like_by_a_person_and_nothing_is_left_of_it() {
    let browser = Browser::start().await;
    browser.open(PAGE).await;

    assert_eq!(browser.run("return args.a + args.b", json!({"a": 1, "b": 2})).await, json!(3));
    let later = "return await new Promise((done) => setTimeout(() => done([null, 'ü']), 1))";
    assert_eq!(browser.run(later, Value::Null).await, json!([null, "ü"]));
    let thrown = browser.try_run("throw new TypeError('not so')", Value::Null).await;
    assert!(thrown.unwrap_err().0.contains("not so"));

    browser.type_into("#field", "two").await;
    browser.click("#button").await;
    browser.until("document.title === 'two'").await;
    assert!(browser.url().await.starts_with("data:text/html"));
    assert!(browser.text().await.contains("go"));

    browser.run("console.log('a word')", Value::Null).await;
    let said = browser.console().await;
    assert!(said.iter().any(|line| line.contains("a word")), "{said:?}");

    let (pid, profile) = find();
    let mut processes = proc::descendants(pid);
    processes.push(pid);
    let picture = profile.join("picture.png");
    browser.screenshot(&picture).await;
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    assert!(processes.len() > 3, "{processes:?}");

    let other = a_web_site();
    browser.open(&other).await;
    let remember = "document.cookie = 'a=b'; localStorage.setItem('a', 'b'); window.open()";
    browser.run(remember, Value::Null).await;
    assert_eq!(browser.tabs().await.len(), 2);
    drop(browser);
    let browser = Browser::start().await;
    assert_eq!(find(), (processes[processes.len() - 1], profile.clone()), "the same processes");
    browser.open(&other).await;
    let remembered = "return [document.cookie, localStorage.getItem('a')]";
    assert_eq!(browser.run(remembered, Value::Null).await, json!(["", null]));
    assert_eq!(browser.tabs().await.len(), 1);
    assert_eq!(browser.console().await, [""; 0]);

    // Also when a test fails.
    let failing = tokio::spawn(async move {
        browser.run("there.is.no.such.thing", Value::Null).await;
    });
    assert!(failing.await.unwrap_err().is_panic());
    let are_gone = || !processes.iter().any(|pid| proc::is_alive(*pid));
    assert!(wait_until(PATIENCE, are_gone), "still alive: {processes:?}");
    assert!(wait_until(PATIENCE, || !Path::exists(&profile)), "{profile:?}");
}
