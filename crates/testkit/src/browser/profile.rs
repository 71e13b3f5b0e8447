//! A profile within a browser that runs: cookies, storage and caches that no other profile sees.
//!
//! `WebDriver` cannot make one. Chromium's developer tools can (a "browser context", which private
//! windows are too), but only over a connection to the browser as a whole, so a profile is made
//! over a short connection of its own.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::test_home::PATIENCE;

#[derive(Debug)]
pub(super) struct BrowserProfile {
    id: String,
    /// The tab that was there first, by the name that `WebDriver` has for it too.
    pub(super) tab: String,
}

impl BrowserProfile {
    /// A new profile with an empty tab. An old one goes, with all of its tabs.
    pub(super) async fn create(debugger: &str, old: Option<Self>) -> Self {
        let mut browser = DevToolsConnection::open(debugger).await;
        let made = browser.call("Target.createBrowserContext", json!({})).await;
        let id = made["browserContextId"].as_str().expect("a profile has an id").to_owned();
        let tab = browser.new_tab(&id).await;
        if let Some(old) = old {
            let old = json!({ "browserContextId": old.id });
            browser.call("Target.disposeBrowserContext", old).await;
        }
        Self { id, tab }
    }

    /// Another tab. One that `WebDriver` opens would be in no profile of ours.
    pub(super) async fn new_tab(&self, debugger: &str) -> String {
        DevToolsConnection::open(debugger).await.new_tab(&self.id).await
    }
}

struct DevToolsConnection {
    socket: WebSocketStream<TcpStream>,
    n_calls: u64,
}

impl DevToolsConnection {
    async fn open(debugger: &str) -> Self {
        let about = crate::daemon::client(None).get(format!("http://{debugger}/json/version"));
        let about: Value = about.send().await.unwrap().json().await.unwrap();
        let address = about["webSocketDebuggerUrl"].as_str().expect("the browser's own address");
        let stream = TcpStream::connect(debugger).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(address, stream).await.unwrap();
        Self { socket, n_calls: 0 }
    }

    async fn new_tab(&mut self, profile: &str) -> String {
        let tab = json!({ "url": "about:blank", "browserContextId": profile });
        let made = self.call("Target.createTarget", tab).await;
        made["targetId"].as_str().expect("a tab has an id").to_owned()
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = tokio::time::timeout(PATIENCE, self.answer(method, params)).await;
        answer.unwrap_or_else(|_| panic!("the browser does not answer {method}"))
    }

    async fn answer(&mut self, method: &str, params: Value) -> Value {
        self.n_calls += 1;
        let call = json!({ "id": self.n_calls, "method": method, "params": params });
        self.socket.send(Message::text(call.to_string())).await.unwrap();
        while let Some(said) = self.socket.next().await {
            let said: Value = match said.unwrap() {
                Message::Text(text) => serde_json::from_str(&text).unwrap(),
                _ => continue,
            };
            if said["id"] == self.n_calls {
                assert_eq!(said["error"], Value::Null, "{method}");
                return said["result"].clone();
            }
        }
        panic!("the browser ended during {method}");
    }
}
