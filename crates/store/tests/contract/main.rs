//! What the store promises, on SQLite and on PostgreSQL alike, and what only one of them can break.

mod backends;
mod board;
mod epochs;
mod erasure;
mod generation;
mod intake;
mod intakes;
mod jobs;
mod logs;
mod opening;
mod place;
mod stock;

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;
use ostrakon_store::{Change, Error, Intake, Store, SubmissionRow};

use place::Place;

const ROOM: [u8; 16] = [7; 16];
const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

/// Runs each of these functions on both databases.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::place::Place::sqlite()).await })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::place::Place::postgres().await).await })*
        }
    };
}
pub(crate) use on_both;

fn key(n: u8) -> VerifyingKey {
    VerifyingKey([n; 32])
}

/// Announces and delivers `change` as announcement `number` of `author`.
async fn deliver(store: &Store, author: PartyId, number: u64, change: Change) -> Result<(), Error> {
    store.keep_announcement(author, number, Some(b"header"), b"body").await?;
    store.deliver(author, number, Some(&change)).await
}

/// A store with a room, a batch on disk and an epoch that collects with it; P0's next announcement
/// is number 3.
async fn collecting(place: &Place) -> Store {
    let store = place.open().await;
    let create = Change::CreateRoom { room: ROOM, descriptor: b"descriptor".to_vec(), author: P0 };
    deliver(&store, P0, 0, create).await.unwrap();
    deliver(&store, P0, 1, Change::PlanBatch { number: 5, engine: 1, rows: 6, width: 48 })
        .await
        .unwrap();
    store.put_batch(5, b"material".to_vec()).await.unwrap();
    deliver(
        &store,
        P0,
        2,
        Change::OpenEpoch { room: ROOM, epoch: 0, batch: 5, minimum: 2, at: 1000 },
    )
    .await
    .unwrap();
    store
}

fn assign(author: PartyId, announcement: u64, slots: Vec<(u32, VerifyingKey)>) -> Change {
    Change::Assign { room: ROOM, epoch: 0, author, announcement, slots, at: 2000 }
}

fn seal(cut: [u64; 3]) -> Change {
    Change::SealEpoch { room: ROOM, epoch: 0, cut: cut.to_vec() }
}

fn submission(slot: u32, owner: u8, body: &[u8]) -> Intake {
    Intake::Submission {
        room: ROOM,
        epoch: 0,
        row: SubmissionRow { slot, key: key(owner), body: body.to_vec() },
    }
}
