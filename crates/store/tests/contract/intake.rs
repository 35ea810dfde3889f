//! What participants hand in, one after the other and at the same time.

use std::collections::BTreeMap;

use ostrakon_store::Taken::{self, Different, Recorded, TooLate};
use ostrakon_store::{Change, Intake};

use crate::{P0, P1, Place, ROOM, assign, collecting, deliver, key, on_both, seal, submission};

on_both!(
    one_submission_per_slot_and_key_and_only_while_collecting,
    many_are_taken_in_at_once,
    of_several_at_the_same_time_one_stands,
    what_was_acknowledged_is_sealed_and_nothing_comes_later,
);

async fn one_submission_per_slot_and_key_and_only_while_collecting(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    deliver(&store, P1, 1, assign(P1, 1, vec![(4, key(2))])).await.unwrap();
    // A corrupt server may give a key a second slot.
    deliver(&store, P0, 3, assign(P0, 3, vec![(0, key(1))])).await.unwrap();
    let many = [
        submission(1, 1, b"a"),
        submission(1, 1, b"a"),
        submission(1, 1, b"b"),
        submission(0, 1, b"a"),
        submission(4, 1, b"a"),
        Intake::Issue { room: ROOM, epoch: 0, slot: 4, key: key(2) },
        Intake::Issue { room: ROOM, epoch: 0, slot: 4, key: key(1) },
        submission(4, 2, b"late"),
    ];
    let taken = store.take_in(&many).await.unwrap();
    assert_eq!(
        taken,
        [Recorded, Recorded, Different, Different, TooLate, Recorded, TooLate, Recorded]
    );
    assert_eq!(store.take_in(&many).await.unwrap(), taken, "it can be repeated");
    assert!(store.assignments(&ROOM, 0).await.unwrap()[2].issued);
    assert!(!store.assignments(&ROOM, 0).await.unwrap()[0].issued);

    // The cut leaves out P1's second announcement, and what was handed in by its force.
    deliver(&store, P0, 4, seal([4, 1, 0])).await.unwrap();
    let slots: Vec<_> = store.assignments(&ROOM, 0).await.unwrap().iter().map(|a| a.slot).collect();
    assert_eq!(slots, [0, 1]);
    assert_eq!(store.submissions(&ROOM, 0).await.unwrap().len(), 1);
    assert_eq!(store.take_in(&[submission(0, 1, b"a")]).await.unwrap(), [TooLate]);
}

async fn many_are_taken_in_at_once(place: Place) {
    let store = collecting(&place).await;
    let slots: Vec<_> = (0..200).map(|n| (u32::from(n), key(n))).collect();
    deliver(&store, P1, 0, assign(P1, 0, slots)).await.unwrap();
    let mut many: Vec<_> = (0..200_u8).map(|n| submission(n.into(), n, &[n; 3000])).collect();
    many.push(submission(3, 3, b"another"));
    many.extend((0..200_u8).map(|n| Intake::Issue {
        room: ROOM,
        epoch: 0,
        slot: n.into(),
        key: key(n),
    }));
    let taken = store.take_in(&many).await.unwrap();
    let different: Vec<_> = (0..taken.len()).filter(|i| taken[*i] != Recorded).collect();
    assert_eq!((different, taken[200]), (vec![200], Different));
    let rows = store.submissions(&ROOM, 0).await.unwrap();
    assert!(
        rows.iter().enumerate().all(|(n, row)| row.slot == n as u32 && row.body == [n as u8; 3000])
    );
    assert_eq!(rows.len(), 200);
    assert!(store.take_in(&[]).await.unwrap().is_empty());
}

async fn of_several_at_the_same_time_one_stands(place: Place) {
    let store = collecting(&place).await;
    let slots: Vec<_> = (0..100).map(|n| (u32::from(n), key(n))).collect();
    deliver(&store, P1, 0, assign(P1, 0, slots)).await.unwrap();
    // Every writer says something else in every slot; half of them go through the slots from the
    // other end.
    let writers: Vec<_> = (0..6_u8)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut many: Vec<_> =
                    (0..100).map(|n| submission(n.into(), n, &[writer; 40])).collect();
                if writer % 2 == 0 {
                    many.reverse();
                }
                let mut taken = store.take_in(&many).await.unwrap();
                if writer % 2 == 0 {
                    taken.reverse();
                }
                (writer, taken)
            })
        })
        .collect();
    let mut told = BTreeMap::new();
    for writer in writers {
        let (writer, taken) = writer.await.unwrap();
        for (slot, _) in taken.iter().enumerate().filter(|(_, taken)| **taken == Recorded) {
            assert_eq!(
                told.insert(slot as u32, writer),
                None,
                "two were told that slot {slot} is theirs"
            );
        }
    }
    assert_eq!(told.len(), 100);
    for row in store.submissions(&ROOM, 0).await.unwrap() {
        assert_eq!(row.body, [told[&row.slot]; 40]);
    }
}

async fn what_was_acknowledged_is_sealed_and_nothing_comes_later(place: Place) {
    let store = collecting(&place).await;
    let all: Vec<_> = (0..240).map(|n| (u32::from(n), key(n))).collect();
    // Slots from 120 on are assigned by an announcement that the cut leaves out.
    deliver(&store, P1, 0, assign(P1, 0, all[..120].to_vec())).await.unwrap();
    deliver(&store, P1, 1, assign(P1, 1, all[120..].to_vec())).await.unwrap();
    let writers: Vec<_> = (0..8_u8)
        .map(|part| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut told: Vec<(u32, Taken)> = Vec::new();
                for n in (0..240_u8).filter(|n| n % 8 == part) {
                    let taken = store.take_in(&[submission(n.into(), n, b"said")]).await.unwrap();
                    told.push((n.into(), taken[0]));
                }
                told
            })
        })
        .collect();
    while store.submissions(&ROOM, 0).await.unwrap().len() < 60 {
        tokio::task::yield_now().await;
    }
    deliver(&store, P0, 3, seal([3, 1, 0])).await.unwrap();
    let sealed: Vec<_> =
        store.submissions(&ROOM, 0).await.unwrap().iter().map(|row| row.slot).collect();
    let mut recorded = Vec::new();
    for writer in writers {
        let told = writer.await.unwrap();
        recorded.extend(told.iter().filter(|(_, taken)| *taken == Recorded).map(|(slot, _)| *slot));
    }
    recorded.sort_unstable();
    recorded.retain(|slot| *slot < 120);
    assert_eq!(recorded, sealed);
    let after: Vec<_> =
        store.submissions(&ROOM, 0).await.unwrap().iter().map(|row| row.slot).collect();
    assert_eq!(after, sealed);
    let void = Change::VoidEpoch { room: ROOM, epoch: 0, outcome: vec![] };
    assert!(deliver(&store, P0, 4, void).await.is_err(), "it was sealed");
}
