use super::*;

fn session(name: &str) -> SessionId {
    SessionId::derived(&[name.as_bytes()])
}

fn seqs(batch: &NoticeBatch) -> Vec<u64> {
    let seq = |note: &NoticeEntry| match note.notice {
        Notice::TurnEnded(seq) | Notice::Answered(seq) => seq.0,
        Notice::Halted { .. } => 0,
    };
    batch.notes.iter().map(seq).collect()
}

#[test]
fn a_reader_goes_on_where_it_was() {
    let notices = Notices::default();
    notices.add(session("a"), Notice::TurnEnded(Seq(1)));
    let first = notices.after(0);
    notices.add(session("b"), Notice::Answered(Seq(2)));
    notices.add(session("a"), Notice::TurnEnded(Seq(3)));

    let second = notices.after(first.next);

    assert_eq!((seqs(&first), seqs(&second)), (vec![1], vec![2, 3]));
    assert_eq!(notices.after(second.next), NoticeBatch { notes: vec![], n_missed: 0, next: 3 });
    assert_eq!(notices.next_number(), 3);
}

#[test]
fn a_reader_that_is_too_slow_is_told_what_it_missed() {
    let notices = Notices::default();
    let n_notes = MAX_NOTICES as u64 + 10;
    for seq in 1..=n_notes {
        notices.add(session("a"), Notice::TurnEnded(Seq(seq)));
    }

    let batch = notices.after(3);

    assert_eq!((batch.n_missed, batch.notes.len(), batch.next), (7, MAX_NOTICES, n_notes));
    assert_eq!(seqs(&batch)[0], 11);
}

#[tokio::test]
async fn no_wake_up_is_lost_between_reading_and_waiting() {
    let notices = std::sync::Arc::new(Notices::default());
    let writer = {
        let notices = notices.clone();
        tokio::spawn(async move {
            for seq in 1..=1000 {
                notices.add(session("a"), Notice::TurnEnded(Seq(seq)));
                tokio::task::yield_now().await;
            }
        })
    };
    let (mut next, mut read) = (0, Vec::new());
    while read.len() < 1000 {
        notices.wait_after(next).await;
        let batch = notices.after(next);
        next = batch.next;
        read.extend(seqs(&batch));
    }
    writer.await.unwrap();
    assert_eq!(read, (1..=1000).collect::<Vec<_>>());
}
