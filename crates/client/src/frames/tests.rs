use proptest::prelude::*;

use super::{Frame, Frames};

const STREAM: &str = "retry: 1000\n\nevent: stream\ndata: {\"a\":1}\n\n: still here\n\n\
    id: 8-9f\r\ndata: {\"seq\":8,\"text\":\"é\"}\r\n\r\nid: 9-9f\ndata: one\ndata: two\n\n";

fn cut(pieces: &[&[u8]]) -> Vec<Frame> {
    let (mut frames, mut cut) = (Vec::new(), Frames::default());
    for piece in pieces {
        cut.push(piece, &mut frames).unwrap();
    }
    frames
}

#[test]
fn a_stream_is_cut_into_its_frames() {
    let frames = cut(&[STREAM.as_bytes()]);
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[0].event.as_deref(), Some("stream"));
    assert_eq!(frames[1].id.as_deref(), Some("8-9f"));
    assert_eq!(frames[1].data, "{\"seq\":8,\"text\":\"é\"}");
    assert_eq!(frames[2].data, "one\ntwo");
}

proptest! {
    #[test]
    fn a_stream_that_is_cut_anywhere_gives_the_same_frames(at in 0..STREAM.len(), more in 0..STREAM.len()) {
        let (a, b) = (at.min(more), at.max(more));
        let bytes = STREAM.as_bytes();
        prop_assert_eq!(cut(&[&bytes[..a], &bytes[a..b], &bytes[b..]]), cut(&[bytes]));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        cut(&[&bytes]);
    }
}
