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
            let mut line = vec![b'a'; n_bytes];
            assert_eq!(Survey::of(&line), Survey { is_ascii: true, has_control: false });
            line[place] = 0x1f;
            assert_eq!(Survey::of(&line), Survey { is_ascii: true, has_control: true });
            line[place] = 0x80;
            assert_eq!(Survey::of(&line), Survey { is_ascii: false, has_control: false });
        }
    }
}
