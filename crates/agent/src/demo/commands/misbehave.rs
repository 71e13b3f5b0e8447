//! Commands that misbehave in the protocol.
//!
//! In: arguments. Out: bytes that a client must survive, with good messages around them.
//! Nothing here is remembered for a replay, and a flood is limited only by how fast it is read.

use super::client::{absolute, report};
use super::tools::{ALL, PretendedCall, request};
use crate::demo::connection::{FRAME_BYTES, update_line};
use crate::demo::turn::DemoTurn;
use serde_json::json;
use std::io::Write as _;

/// Asks something under the id of the prompt that is being answered.
pub(super) async fn collide(turn: &DemoTurn) {
    let path = absolute(turn, "README.md");
    let params = json!({ "sessionId": turn.session, "path": path }).to_string();
    let answer = turn.connection.call_as(turn.id.as_str(), "fs/read_text_file", &params).await;
    turn.say(report(&answer)).await;
}

/// The line of an update, cut in two where the text of its chunk belongs.
fn frame_of_chunk(turn: &DemoTurn) -> (Vec<u8>, Vec<u8>) {
    let line = turn.chunk_line("@");
    // The last one, because the session id before it could contain the mark too.
    let (head, tail) = line.rsplit_once('@').unwrap_or((&line, ""));
    (head.as_bytes().to_vec(), tail.as_bytes().to_vec())
}

/// Sends numbered chunks. Lines are put together by copying, many of them into each frame: this is
/// also the source of the benchmarks, and must not be what they measure.
pub(super) async fn flood(turn: &DemoTurn, n_chunks: u64, n_bytes: usize) {
    let (head, tail) = frame_of_chunk(turn);
    let dots = vec![b'.'; n_bytes];
    let mut frame = Vec::with_capacity(FRAME_BYTES);
    for n in 1..=n_chunks {
        frame.extend_from_slice(&head);
        let start = frame.len();
        // Writing to a vector cannot fail.
        let _ = write!(frame, "chunk {n}");
        // One byte is left for the newline, which is two in JSON.
        let rest = n_bytes.saturating_sub(frame.len() - start + 1);
        frame.extend_from_slice(&dots[..rest]);
        frame.extend_from_slice(b"\\n");
        frame.extend_from_slice(&tail);
        if frame.len() + head.len() + tail.len() + n_bytes > FRAME_BYTES {
            let full = std::mem::replace(&mut frame, Vec::with_capacity(FRAME_BYTES));
            turn.raw(full).await;
        }
    }
    if !frame.is_empty() {
        turn.raw(frame).await;
    }
}

pub(super) async fn big(turn: &DemoTurn, n_bytes: usize) {
    let (mut line, tail) = frame_of_chunk(turn);
    let end = line.len() + n_bytes;
    line.resize(end, b'x');
    line.extend_from_slice(&tail);
    turn.raw(line).await;
}

pub(super) async fn garbage(turn: &DemoTurn) {
    turn.say("before garbage\n").await;
    let good = turn.chunk_line("good line with CRLF\n");
    let with_bom = turn.chunk_line("line after a byte order mark\n");
    turn.raw("Loading plugins... done\n").await;
    turn.raw("[]\n42\nnull\n\"text\"\n{}\n").await;
    turn.raw("{\"jsonrpc\":\"2.0\",\"method\":\"session/upd\n").await;
    turn.raw("\n   \n\r\n").await;
    turn.raw(good.trim_end().to_owned() + "\r\n").await;
    turn.raw(format!("\u{feff}{with_bom}")).await;
    turn.say("after garbage\n").await;
}

pub(super) async fn bad_utf8(turn: &DemoTurn) {
    turn.say("before bad utf-8\n").await;
    let (mut line, tail) = frame_of_chunk(turn);
    // A lone continuation byte, an overlong slash, a surrogate, and a cut sequence.
    line.extend_from_slice(b"\x80 \xc0\xaf \xed\xa0\x80 \xe2\x82");
    line.extend_from_slice(&tail);
    turn.raw(line).await;
    turn.say("after bad utf-8\n").await;
}

pub(super) async fn deep(turn: &DemoTurn, depth: usize) {
    let text = json!(format!("{depth} arrays deep\n"));
    let update = format!(
        "{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":{text}}},\
         \"_meta\":{{\"deep\":{}{}}}}}",
        "[".repeat(depth),
        "]".repeat(depth),
    );
    turn.raw(update_line(&turn.session, &update)).await;
}

pub(super) async fn dup_id(turn: &DemoTurn) {
    let id = turn.connection.state().calls.next_id();
    let call = PretendedCall::new(turn, "execute", None);
    let question = request(turn, &call, ALL).to_string();
    let path = absolute(turn, "README.md");
    let file = json!({ "sessionId": turn.session, "path": path }).to_string();
    // Each answer is reported at once: whoever answers may want to see the other one's answer
    // first.
    let told = async |which: &str, method: &str, params: &str| {
        let answer = turn.connection.call_as(&id, method, params).await;
        turn.say(format!("{which} {}", report(&answer))).await;
    };
    tokio::join!(
        told("first", "session/request_permission", &question),
        told("second", "fs/read_text_file", &file),
    );
}
