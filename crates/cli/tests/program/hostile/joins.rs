//! More participants than a room has slots for.

use ostrakon_crypto::SigningKey;
use ostrakon_mixing::link::presence_digest;
use ostrakon_party::PartyId;
use ostrakon_protocol::Presence;
use tokio::task::JoinSet;

use super::resident;
use crate::common::nightly;
use crate::common::now;
use crate::common::rogue::{Rogue, answer, client, elsewhere};
use crate::common::servers::Servers;
use crate::common::speakers::Speakers;

/// Addresses from which they come, each with a task of its own.
const ADDRESSES: u8 = 20;
/// Bytes by which a server may grow. Ten thousand times the joins take no more.
const GROWTH: u64 = 64 << 20;

fn joins() -> u32 {
    if nightly() { 1_000_000 } else { 1_000 }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_as_like_may_try_to_join() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let links = servers.room_of(2, 90);
    let speakers = Speakers::start(2, &links);
    speakers.more(&servers, 1).await;
    let before: Vec<u64> = (0..3).map(|n| resident(servers.process(n))).collect();
    let rogue = Rogue::new(&links, 1).await;
    let mut tasks = JoinSet::new();
    for address in 0..ADDRESSES {
        let (room, path) = (links[0].room, rogue.path(usize::from(address) % 3, "presence"));
        tasks.spawn(async move {
            let http = client(elsewhere(20 + address));
            let (mut joined, mut refused) = (0, 0);
            for n in 0..joins() / u32::from(ADDRESSES) {
                let mut seed = [address; 32];
                seed[..4].copy_from_slice(&n.to_le_bytes());
                let (key, time) = (SigningKey::from_seed(&seed), now());
                let signature = key.sign(&presence_digest(&room, time, PartyId(address % 3)));
                let presence = Presence { key: key.verifying_key(), time, signature };
                match answer(http.post(&path).json(&presence)).await.0.as_u16() {
                    200 => joined += 1,
                    429 => refused += 1,
                    other => panic!("{other}"),
                }
            }
            (joined, refused)
        });
    }
    let (mut joined, mut refused) = (0, 0);
    while let Some(done) = tasks.join_next().await {
        let (some, others) = done.expect("every answer is one of the two");
        joined += some;
        refused += others;
    }
    assert_eq!(joined + refused, joins() / u32::from(ADDRESSES) * u32::from(ADDRESSES));
    assert!(refused > joined, "{joined} joined, {refused} were refused");
    for (n, before) in before.into_iter().enumerate() {
        let grown = resident(servers.process(n)).saturating_sub(before);
        assert!(grown < GROWTH, "server {n} has grown by {} MiB", grown >> 20);
    }
    // The crowd is forgotten when it does not return, and those who spoke before go on.
    speakers.more(&servers, 1).await;
    speakers.end().await.check(&servers.boards(&links[0]).await[0]);
    servers.stop_all().await;
}
