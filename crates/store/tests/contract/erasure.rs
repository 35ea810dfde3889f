//! What was erased is in no file of an SQLite store.

use ostrakon_crypto::Digest;
use ostrakon_store::{Change, NewEntry, Store};

use crate::{P0, deliver};

const EPOCHS: u64 = 60;
const ROOMS: u64 = 3;

/// Of lengths, and in rooms whose rows lie between each other's, with which SQLite leaves copies of
/// rows behind unless the bodies are on pages of their own.
fn body(place: u64) -> Vec<u8> {
    let length = [900, 1000][(place % 2) as usize];
    format!("said {place:04}. ").into_bytes().into_iter().cycle().take(length).collect()
}

fn room(place: u64) -> [u8; 16] {
    [(place * 5 % ROOMS) as u8; 16]
}

async fn publish(store: &Store, number: &mut u64, place: u64) {
    let (room, epoch) = (room(place), place / ROOMS);
    let changes = [
        Change::PlanBatch { number: place, engine: 1, rows: 6, width: 48 },
        Change::OpenEpoch { room, epoch, batch: place, minimum: 2, at: 1000 + place },
        Change::SealEpoch { room, epoch, cut: vec![0; 3] },
    ];
    for change in changes {
        deliver(store, P0, *number, change).await.unwrap();
        *number += 1;
    }
    store.conclude_epoch(&room, epoch, &body(place)).await.unwrap();
    let digest = Digest([place as u8; 32]);
    let entry = NewEntry { digest, body: body(place), published_on: 1, signatures: Vec::new() };
    store.settle_epoch(&room, epoch, b"published", Some(&entry)).await.unwrap();
    store.finish_epoch(&room, epoch, 8).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_is_nowhere_in_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &"sqlite".parse().unwrap()).await.unwrap();
    let mut number = 0;
    for place in 0..ROOMS {
        let create = Change::CreateRoom {
            room: room(place),
            descriptor: b"descriptor".to_vec(),
            author: P0,
        };
        deliver(&store, P0, number, create).await.unwrap();
        number += 1;
    }
    for place in 0..EPOCHS {
        publish(&store, &mut number, place).await;
    }
    for place in 0..EPOCHS {
        let (room, epoch) = (room(place), place / ROOMS);
        assert_eq!(store.entry_of(&room, epoch).await.unwrap(), Some(body(place)));
        let found = store.conclusion_of(&room, epoch).await.unwrap();
        assert!(found.is_none_or(|found| found == body(place)));
        store.rewrite_entry(&room, epoch, b"erased").await.unwrap();
        store.rewrite_conclusion(&room, epoch, b"erased").await.unwrap();
    }
    assert_eq!(store.conclusions_before(&room(0), 1000).await.unwrap(), []);
    assert_eq!(store.conclusions_before(&room(0), u64::MAX).await.unwrap().len(), 8);
    while !store.scrub().await.unwrap() {}
    let files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        let left: Vec<_> =
            bytes.windows(9).filter(|window| window.starts_with(b"said 0")).collect();
        let left = left.iter().map(|window| String::from_utf8_lossy(window)).collect::<Vec<_>>();
        assert!(left.is_empty(), "{}: {left:?}", file.display());
    }
}
