//! The handshake that every WebSocket of ours begins with.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::header_lists::list_items;
use crate::problem::Problem;

/// A client's request to go on as a WebSocket.
#[derive(Debug)]
pub(crate) struct Handshake {
    accept: HeaderValue,
    /// The subprotocol that was chosen, if the client has offered one.
    pub(crate) protocol: Option<&'static str>,
}

impl Handshake {
    /// None for a plain request. `protocols` are the supported subprotocols, the best first: a
    /// client that offers some expects one of them in the answer.
    pub(crate) fn read(
        headers: &HeaderMap,
        protocols: &[&'static str],
    ) -> Result<Option<Self>, Problem> {
        if !has_word(headers, &header::UPGRADE, "websocket") {
            return Ok(None);
        }
        let key = headers.get(header::SEC_WEBSOCKET_KEY);
        let is_known = headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|v| v == "13");
        let is_asked = has_word(headers, &header::CONNECTION, "upgrade");
        let (Some(key), true, true) = (key, is_known, is_asked) else {
            return Err(Problem::bad_request("this is no handshake of WebSocket version 13"));
        };
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        let accept = accept.map_err(Problem::internal)?;
        let is_offered = |name: &&str| has_word(headers, &header::SEC_WEBSOCKET_PROTOCOL, name);
        Ok(Some(Self { accept, protocol: protocols.iter().copied().find(is_offered) }))
    }

    /// The answer, after which `serve` has the connection.
    pub(crate) fn accept<F>(
        self,
        mut request: Request,
        serve: impl FnOnce(TokioIo<Upgraded>) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send,
    {
        let upgrade = hyper::upgrade::on(&mut request);
        task::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                serve(TokioIo::new(upgraded)).await;
            }
        });
        let headers = [
            (header::CONNECTION, HeaderValue::from_static("upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept),
        ];
        let protocol = self.protocol.map(|name| [(header::SEC_WEBSOCKET_PROTOCOL, name)]);
        (StatusCode::SWITCHING_PROTOCOLS, headers, protocol, Body::empty()).into_response()
    }
}

fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    list_items(headers, name, ',').any(|one| one.eq_ignore_ascii_case(word))
}
