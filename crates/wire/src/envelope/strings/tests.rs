//! Every byte at every place.

use super::*;

fn is_stop(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\')
}

#[test]
fn every_byte_is_told_apart_wherever_it_stands() {
    for byte in 0..=u8::MAX {
        for around in [b'a', 0xff, byte] {
            for place in 0..BLOCK {
                let mut block = [around; BLOCK];
                block[place] = byte;
                let bits = stops_in_block(&block);
                for (n, byte) in block.iter().enumerate() {
                    assert_eq!(bits >> n & 1 == 1, is_stop(*byte), "{byte} at {n}");
                }
                let word: [u8; 8] = block[..8].try_into().unwrap();
                let stops = stops_in_word(u64::from_le_bytes(word)).to_le_bytes();
                assert_eq!(stops, word.map(|byte| if is_stop(byte) { 0x80 } else { 0 }));
            }
        }
    }
}

#[test]
fn one_byte_among_many_is_seen() {
    for n_bytes in 1..70 {
        for place in 0..n_bytes {
            for byte in 0..=u8::MAX {
                for around in [b' ', b'a', 0x7f, 0x80, 0xff] {
                    let mut line = vec![around; n_bytes];
                    line[place] = byte;
                    let survey = LineSurvey { is_ascii: line.is_ascii(), has_control: byte < b' ' };
                    assert_eq!(LineSurvey::of(&line), survey, "{byte} at {place} among {around}");
                }
            }
        }
    }
}
