//! A page that follows a session as the browser's own `EventSource` would.
//!
//! `EventSource` itself cannot show the secret that goes with a login's cookie, so the page
//! reads the stream by `fetch` and goes on from the last id that it has seen.
//!
//! Between the browser and the daemon stands a wire that is cut again and again, also in the
//! middle of an event; and the daemon is killed, and stopped, and started anew. What the page
//! has heard in the end is the log.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::browser_attack::{enter, with_pass};
use crate::serve_events::{home, new_session, prompt};

/// What passes of an answer's body before the wire is cut, one number for each that is opened;
/// later ones last. Small ones end before the first event, so that a reader has nothing new to
/// go on from; with none at all there is not even a head.
const LENGTHS: [Option<usize>; 7] =
    [Some(9_000), Some(40), Some(200), Some(12_345), None, Some(30_001), Some(0)];

/// A wire from the browser to the daemon of the day.
#[derive(Debug, Clone)]
struct Wire {
    address: SocketAddr,
    far_end: Arc<Mutex<Option<SocketAddr>>>,
    /// The heads of requests for events.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Wire {
    async fn lay() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let wire = Self { address, far_end: Arc::default(), asked: Arc::default() };
        let laid = wire.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(laid.clone().carry(near));
            }
        });
        wire
    }

    fn lead_to(&self, daemon: Option<&Daemon>) {
        let address = daemon.map(|daemon| daemon.address().parse().unwrap());
        *self.far_end.lock().unwrap() = address;
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// One connection. Nobody is at the other end while the daemon is away.
    async fn carry(self, mut near: TcpStream) -> Option<()> {
        let far_end = (*self.far_end.lock().unwrap())?;
        let mut far = TcpStream::connect(far_end).await.ok()?;
        let (mut from_near, mut to_near) = near.split();
        let (mut from_far, mut to_far) = far.split();
        // Of the answer that is on its way: whether its head has passed, and how much may follow.
        let answer = Mutex::new((false, usize::MAX));
        let outwards = async {
            let mut bytes = vec![0; 16 << 10];
            loop {
                let n_read = from_near.read(&mut bytes).await.ok().filter(|n| *n > 0)?;
                let said = &bytes[..n_read];
                *answer.lock().unwrap() = (false, self.note(said)?);
                to_far.write_all(said).await.ok()?;
            }
        };
        let inwards = async {
            let mut bytes = vec![0; 16 << 10];
            loop {
                let n_read = from_far.read(&mut bytes).await.ok().filter(|n| *n > 0)?;
                let said = &bytes[..n_read];
                let (is_in_body, left) = *answer.lock().unwrap();
                // The daemon writes a head at once.
                let n_head = if is_in_body { 0 } else { head_bytes(said) };
                let n_passed = n_read.min(left.saturating_add(n_head));
                to_near.write_all(&said[..n_passed]).await.ok()?;
                let left = left.saturating_sub(n_passed - n_head);
                if left == 0 {
                    return None;
                }
                *answer.lock().unwrap() = (true, left);
            }
        };
        // Whichever ends takes the other along: the wire is cut for both.
        tokio::select! { gone = outwards => gone, gone = inwards => gone }
    }

    /// How much of the answer's body may pass; none if there is to be no answer.
    fn note(&self, said: &[u8]) -> Option<usize> {
        let head = String::from_utf8_lossy(said);
        if !head.lines().next().unwrap_or_default().contains("/events") {
            return Some(usize::MAX);
        }
        let mut asked = self.asked.lock().unwrap();
        asked.push(head.to_ascii_lowercase());
        LENGTHS.get(asked.len() - 1).copied().unwrap_or(Some(usize::MAX))
    }
}

fn head_bytes(said: &[u8]) -> usize {
    said.windows(4).position(|four| four == b"\r\n\r\n").map_or(said.len(), |at| at + 4)
}

/// Starts the daemon at the other end of the wire.
fn start(home: &TestHome, wire: &Wire) -> Daemon {
    let daemon = Daemon::start_with(home, &["--allow-host", &wire.address.to_string()]);
    wire.lead_to(Some(&daemon));
    daemon
}

async fn head(daemon: &Daemon, session: &str) -> u64 {
    loop {
        let url = daemon.url(&format!("/v1/sessions/{session}"));
        let now: Value = daemon.client().get(url).send().await.unwrap().json().await.unwrap();
        if now["status"] == "idle" {
            return now["head"].as_u64().unwrap();
        }
        testkit::test_home::pause_between_polls().await;
    }
}

/// Says what is heard. An event counts when the empty line after it is there.
const FOLLOW: &str = r"
window.heard = [];
window.remarks = [];
window.isOpen = false;
const REMARKS = ['state_resync_required', 'daemon_stopping', 'stream_error', 'client_evicted'];
let lastId = '';
function take(block) {
  let [name, id, data] = ['message', undefined, []];
  for (const line of block.split('\n')) {
    const [, field, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
  if (id !== undefined) lastId = id;
  if (name === 'message' && data.length) heard.push([lastId, data.join('\n')]);
  if (REMARKS.includes(name)) remarks.push(name);
}
async function read() {
  const headers = { Accept: 'text/event-stream' };
  if (lastId) headers['Last-Event-ID'] = lastId;
  const answer = await fetch(args, { headers, cache: 'no-store' });
  if (!answer.ok) throw new Error(answer.status);
  window.isOpen = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop();
    blocks.forEach(take);
  }
}
(async () => {
  for (;;) {
    await read().catch(() => {});
    window.isOpen = false;
    await new Promise((done) => setTimeout(done, 50));
  }
})();
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_hears_every_event_once_over_a_bad_wire_and_restarts_of_the_daemon() {
    let home = home();
    let wire = Wire::lay().await;
    let daemon = start(&home, &wire);
    let session = new_session(&daemon, &home).await;
    let browser = Browser::start().await;
    let link = daemon.line().split_whitespace().find(|word| word.contains("#code=")).unwrap();
    enter(&browser, &link.replace(daemon.address(), &wire.address.to_string())).await;

    browser.run(&with_pass(FOLLOW), json!(format!("/v1/sessions/{session}/events"))).await;
    prompt(&daemon, &session, "flood 300").await;
    let is_cut_often = || wire.asked().len() > LENGTHS.len();
    assert!(until(PATIENCE, is_cut_often).await, "asked {} times", wire.asked().len());
    browser.until(&format!("heard.length >= {}", head(&daemon, &session).await)).await;

    // Killed in the middle of a turn, while the page listens.
    prompt(&daemon, &session, "slow 1000000 5").await;
    let n_heard = browser.run("return heard.length", Value::Null).await;
    browser.until(&format!("heard.length > {n_heard} + 10")).await;
    wire.lead_to(None);
    daemon.kill9();
    browser.until("!isOpen").await;
    let daemon = start(&home, &wire);
    prompt(&daemon, &session, "say after the crash").await;
    browser.until(&format!("heard.length >= {}", head(&daemon, &session).await)).await;

    // And asked to end.
    wire.lead_to(None);
    daemon.stop();
    browser.until("!isOpen").await;
    let daemon = start(&home, &wire);
    prompt(&daemon, &session, "say after the restart").await;
    let head = head(&daemon, &session).await;
    browser.until(&format!("heard.length >= {head}")).await;

    let heard = browser.run("return [heard, remarks, isOpen]", Value::Null).await;
    let exported = home.command(["sessions", "export", &session]).output().unwrap();
    let log = String::from_utf8(exported.stdout).unwrap();
    let words: Vec<_> = heard[0].as_array().unwrap().iter().map(|one| &one[1]).collect();
    assert_eq!(words, log.lines().collect::<Vec<_>>());
    for (n, one) in heard[0].as_array().unwrap().iter().enumerate() {
        let id = one[0].as_str().unwrap();
        assert!(id.starts_with(&format!("{}-", n + 1)), "{id} is the {n}th");
    }
    assert_eq!(heard[1], json!(["daemon_stopping"]));
    assert_eq!(heard[2], true, "still there");
    // By nothing but the id that the page kept, from the first event that it was given.
    let asked = wire.asked();
    assert!(asked.len() >= LENGTHS.len() + 3, "{asked:#?}");
    assert!(!asked[0].contains("last-event-id"), "{}", asked[0]);
    let resumes = |one: &&String| one.contains("last-event-id: ");
    let first = asked.iter().position(|one| resumes(&one)).expect("one that goes on");
    assert!(first <= LENGTHS.len() + 1, "a wire that was not cut came before: {asked:#?}");
    assert!(asked[first..].iter().all(|one| resumes(&one)), "{asked:#?}");
    assert!(asked.iter().all(|one| one.contains("x-switchyard-page: ")), "{asked:#?}");
    assert!(asked.iter().all(|one| one.contains("cookie: ")), "{asked:#?}");
}
