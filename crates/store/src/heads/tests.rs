use super::*;

fn slot(seq: u64) -> HeadSlot {
    let session = SessionId::derived(&[b"one"]);
    HeadSlot { session, epoch: 9, seq: Seq(seq), crc: 77, revision: 3 }
}

fn heads() -> (tempfile::TempDir, Heads) {
    let dir = tempfile::tempdir().unwrap();
    let heads = Heads::open(&dir.path().join("heads")).unwrap();
    (dir, heads)
}

#[test]
fn a_slot_comes_back_as_it_was_put() {
    let (_dir, heads) = heads();

    heads.put(5, &slot(1));
    heads.put(3000, &slot(2));

    assert_eq!(heads.get(5), Some(slot(1)));
    assert_eq!(heads.get(4), None);
    assert_eq!(heads.get(9999), None);
    assert_eq!(heads.all(), [(5, slot(1)), (3000, slot(2))]);
    assert_eq!(heads.last_key(), 3000);
}

#[test]
fn a_cleared_slot_says_nothing_and_keeps_its_key_taken() {
    let (_dir, heads) = heads();
    heads.put(5, &slot(1));

    heads.clear(5).unwrap();

    assert_eq!(heads.all(), []);
    assert_eq!(heads.last_key(), 5);
}

#[test]
fn no_flipped_bit_gives_a_wrong_slot() {
    let good = slot(1).encode();

    for bit in 0..SLOT_BYTES * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(HeadSlot::decode(&bytes), None, "bit {bit}");
    }
}
