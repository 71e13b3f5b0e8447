use serde_json::Value;
use store::EventLog as _;
use wire::{Draft, Json, Millis, TurnId};

use super::*;
use crate::events::frame_buffer::FrameEncoding;
use crate::events::query::Cursor;
use crate::events::testing;
use crate::events::testing::One;

/// Frames until the stream ends, or for as long as there are any.
async fn all(reader: &mut EventReader) -> (Vec<Value>, Option<StreamEnd>) {
    let mut frames = Vec::new();
    loop {
        let mut buffer = FrameBuffer::new(FrameEncoding::Object);
        let next =
            tokio::time::timeout(std::time::Duration::from_secs(1), reader.next(&mut buffer));
        let Ok(ending) = next.await else { return (frames, None) };
        frames
            .extend(buffer.frames().map(|(_, text)| serde_json::from_str::<Value>(text).unwrap()));
        if ending.is_some() {
            return (frames, ending);
        }
    }
}

fn names(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["event"].as_str().unwrap()).collect()
}

fn seqs(frames: &[Value]) -> Vec<u64> {
    let told = frames.iter().filter(|frame| frame.get("id").is_some());
    told.map(|frame| frame["data"]["seq"].as_u64().unwrap()).collect()
}

fn draft(kind: Kind) -> Draft {
    Draft { at: Millis(1), turn: None, kind, payload: Json::trusted("{}") }
}

#[tokio::test(start_paused = true)]
async fn a_stream_opens_with_what_it_is_and_tells_the_log() {
    let one = One::new().await;
    let mut reader = one.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Cut).await;

    let (frames, _) = all(&mut reader).await;

    assert_eq!(frames[0]["event"], "stream");
    assert_eq!(frames[0]["data"]["session"], one.id.as_str());
    assert_eq!(frames[0]["data"]["after"], 0);
    assert_eq!(frames[0]["data"]["head"], one.record().await.head.0);
    assert_eq!(seqs(&frames), (1..=one.record().await.head.0).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_useless_cursor_is_told_and_everything_follows() {
    let one = One::new().await;
    let head = one.record().await.head.0;
    for (cursor, reason) in
        [("999", "beyond_head"), ("1-1", "other_epoch"), ("rubbish", "unreadable")]
    {
        let mut reader =
            one.reader(Cursor::parse(cursor), StreamFormat::Acp, StreamUntil::Cut).await;

        let (frames, _) = all(&mut reader).await;

        assert_eq!(names(&frames[..2]), ["stream", "state_resync_required"], "{cursor}");
        assert_eq!(frames[1]["data"]["reason"], reason);
        assert_eq!(frames[1]["data"]["head"], head);
        assert_eq!(seqs(&frames), (1..=head).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_dropped_in_any_wait_loses_nothing() {
    let one = One::new().await;
    let head = one.record().await.head.0;
    let mut reader = one.reader(Cursor::parse("80"), StreamFormat::Ui, StreamUntil::Cut).await;
    let (_, _) = all(&mut reader).await;

    // Each of these waits and is dropped before anything comes.
    for _ in 0..3 {
        let mut buffer = FrameBuffer::new(FrameEncoding::Object);
        let waiting = reader.next(&mut buffer);
        assert!(tokio::time::timeout(std::time::Duration::ZERO, waiting).await.is_err());
        assert!(buffer.text.is_empty());
    }
    one.append(vec![draft(Kind::Error)]).await;

    let (frames, _) = all(&mut reader).await;
    assert_eq!(names(&frames), ["error"]);
    assert!(frames[0]["id"].as_str().unwrap().starts_with(&format!("{}-", head + 1)));
}

#[tokio::test(start_paused = true)]
async fn what_was_let_go_is_read_again() {
    let one = One::new().await;
    let many = (0..3000).map(|_| draft(Kind::AgentStderr)).collect();
    one.append(many).await;
    let head = one.record().await.head.0;
    let mut reader = one.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Cut).await;

    let mut frames = Vec::new();
    while seqs(&frames).last() != Some(&head) {
        let mut buffer = FrameBuffer::new(FrameEncoding::Object);
        assert_eq!(reader.next(&mut buffer).await, None);
        assert!(buffer.n_frames() <= BUFFER_FRAMES && buffer.text.len() <= 2 * BUFFER_BYTES);
        frames
            .extend(buffer.frames().map(|(_, text)| serde_json::from_str::<Value>(text).unwrap()));
        reader.drop_read_ahead(0);
    }

    assert_eq!(seqs(&frames), (1..=head).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_ends_its_streams() {
    let one = One::new().await;
    let mut reader = one.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Cut).await;
    all(&mut reader).await;

    let log = one.log.clone();
    let id = one.id;
    let deleting = tokio::spawn(async move { log.delete(id).await });

    let (_, ending) = all(&mut reader).await;
    assert_eq!(ending, Some(StreamEnd::SessionDeleted));
    assert!(deleting.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_stream_until_idle_ends_when_all_is_told_and_nothing_runs() {
    let one = One::new().await;
    let mut reader = one.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Idle).await;

    let (frames, ending) = all(&mut reader).await;

    assert_eq!(ending, Some(StreamEnd::Done("idle")));
    assert_eq!(seqs(&frames).last(), Some(&one.record().await.head.0));
}

#[tokio::test(start_paused = true)]
async fn a_stream_until_a_turn_ends_with_the_end_of_that_turn() {
    let one = One::new().await;
    let log = testing::events();
    let is_end = |event: &&Event| event.kind == Kind::TurnEnded;
    let end = log.iter().filter(is_end).nth(1).unwrap();

    let mut reader =
        one.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Turn(end.turn.unwrap())).await;
    let (frames, ending) = all(&mut reader).await;
    assert_eq!(ending, Some(StreamEnd::Done("turn_ended")));
    assert_eq!(seqs(&frames).last(), Some(&end.seq.0));

    // Whoever has seen the end already is not kept waiting for it.
    let after = Cursor::parse(&end.seq.0.to_string());
    let mut reader =
        one.reader(after, StreamFormat::Acp, StreamUntil::Turn(end.turn.unwrap())).await;
    let (_, ending) = all(&mut reader).await;
    assert_eq!(ending, Some(StreamEnd::Done("turn_ended")));

    let unknown = TurnId::from_entropy(&[9; 64]);
    let mut reader = one.reader(after, StreamFormat::Ui, StreamUntil::Turn(unknown)).await;
    let (_, ending) = all(&mut reader).await;
    assert_eq!(ending, Some(StreamEnd::Done("turn_ended")));
}
