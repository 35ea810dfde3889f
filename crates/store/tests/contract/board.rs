//! Boards.

use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_store::{Error, NewEntry, Store};

use crate::{P0, P1, P2, Place, ROOM, collecting, deliver, on_both, seal};

on_both!(an_epoch_is_published_once, bodies_go_and_the_chain_stays);

fn entry(signer: &SigningKey, digest: Digest) -> NewEntry {
    let signatures = vec![(P0, signer.sign(&digest)), (P1, signer.sign(&digest))];
    NewEntry { digest, body: b"entry".to_vec(), published_on: 20_000, signatures }
}

async fn publish(store: &Store, entry: &NewEntry) {
    deliver(store, P0, 3, seal([3, 0, 0])).await.unwrap();
    store.settle_epoch(&ROOM, 0, b"published", Some(entry)).await.unwrap();
}

async fn an_epoch_is_published_once(place: Place) {
    let store = collecting(&place).await;
    let signer = SigningKey::from_seed(&[1; 32]);
    let digest = Digest([3; 32]);
    let entry = entry(&signer, digest);
    let early = store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await;
    assert!(matches!(early, Err(Error::State(_))), "not before it was sealed");
    assert_eq!(store.board_head(&ROOM).await.unwrap(), (0, None));
    assert!(
        store.add_signature(&ROOM, 0, P2, &signer.sign(&digest)).await.is_err(),
        "there is nothing to sign"
    );
    deliver(&store, P0, 3, seal([3, 0, 0])).await.unwrap();
    assert!(matches!(store.finish_epoch(&ROOM, 0, 8).await, Err(Error::State(_))));
    store.conclude_epoch(&ROOM, 0, b"found").await.unwrap();
    assert!(matches!(store.conclude_epoch(&ROOM, 0, b"else").await, Err(Error::State(_))));
    assert_eq!(store.epochs(1).await.unwrap()[0].conclusion.as_deref(), Some(&b"found"[..]));
    store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await.unwrap();
    let twice = store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await;
    assert!(matches!(twice, Err(Error::State(_))));
    store.add_signature(&ROOM, 0, P2, &signer.sign(&digest)).await.unwrap();
    store.add_signature(&ROOM, 0, P1, &signer.sign(&Digest([4; 32]))).await.unwrap();
    let entries = store.entries(&ROOM, 0, 10).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].position, entries[0].epoch, entries[0].published_on), (0, 0, 20_000));
    let parties: Vec<_> = entries[0].signatures.iter().map(|(party, _)| party.0).collect();
    assert_eq!(parties, [0, 1, 2]);
    assert_eq!(entries[0].signatures[1].1, signer.sign(&digest), "the first signature stands");
    assert_eq!(store.board_head(&ROOM).await.unwrap(), (1, Some(digest)));
    assert!(store.entries(&ROOM, 1, 10).await.unwrap().is_empty());
    store.finish_epoch(&ROOM, 0, 8).await.unwrap();
    assert_eq!(store.unpublished().await.unwrap(), []);
    assert!(store.submissions(&ROOM, 0).await.unwrap().is_empty());
}

async fn bodies_go_and_the_chain_stays(place: Place) {
    let store = collecting(&place).await;
    let signer = SigningKey::from_seed(&[1; 32]);
    let digest = Digest([3; 32]);
    publish(&store, &entry(&signer, digest)).await;
    assert!(store.entries_before(&ROOM, 20_000, 0, 10).await.unwrap().is_empty());
    let old = store.entries_before(&ROOM, 20_001, 0, 10).await.unwrap();
    assert_eq!(old.len(), 1);
    store.rewrite_entry(&ROOM, 0, b"erased").await.unwrap();
    let after = store.entries(&ROOM, 0, 10).await.unwrap();
    assert_eq!(
        (after[0].body.as_slice(), &after[0].signatures),
        (&b"erased"[..], &old[0].signatures)
    );
    assert_eq!(store.board_head(&ROOM).await.unwrap(), (1, Some(digest)));
    assert!(matches!(store.rewrite_entry(&ROOM, 1, b"none").await, Err(Error::State(_))));
}
