//! Any cut of the stream gives the same body.

use super::*;

const CHUNKED: &[u8] =
    b"5\r\nhello\r\n1\r\n,\r\n0A;name=value\r\n to you\r\n!\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1";
const TEXT: &[u8] = b"hello, to you\r\n!";

fn chunked() -> Body {
    Body::Chunked(Chunked::default())
}

#[test]
fn a_chunked_body_comes_out_whole_however_it_is_cut() {
    for first in 0..CHUNKED.len() {
        for second in first..CHUNKED.len() {
            let (mut body, mut out, mut n_taken) = (chunked(), Vec::new(), 0);
            for piece in [&CHUNKED[..first], &CHUNKED[first..second], &CHUNKED[second..]] {
                n_taken += body.take(piece, &mut out).unwrap();
            }
            assert_eq!(out, TEXT, "cut at {first} and {second}");
            assert!(body.is_done());
            assert_eq!(&CHUNKED[n_taken..], b"HTTP/1.1");
        }
    }
}

#[test]
fn a_body_with_a_length_leaves_what_follows_alone() {
    let (mut body, mut out) = (Body::Length(5), Vec::new());
    assert_eq!(body.take(b"hel", &mut out).unwrap(), 3);
    assert!(!body.is_done());
    assert_eq!(body.take(b"lo HTTP", &mut out).unwrap(), 2);
    assert_eq!(out, b"hello");
    assert!(body.is_done());
}

#[test]
fn what_is_not_chunked_is_refused() {
    for bytes in [&b"x\r\n"[..], b"\r\n", b"2\r\nabc\r\n", &[b'1'; 300]] {
        assert!(chunked().take(bytes, &mut Vec::new()).is_err(), "{bytes:?}");
    }
}
