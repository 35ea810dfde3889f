//! One address that wants a whole room.

use ostrakon_crypto::SigningKey;
use ostrakon_mixing::link::presence_digest;
use ostrakon_party::PartyId;
use ostrakon_protocol::Presence;

use crate::common::now;
use crate::common::rogue::{Rogue, answer, client, elsewhere};
use crate::common::servers::Servers;
use crate::common::speakers::Speakers;

/// Slots of the room.
const CAPACITY: u32 = 30;
/// Requests a second that an address has here: a slow machine sends more, too.
const REQUESTS: u32 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn one_address_cannot_take_all_slots_nor_all_of_the_servers_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    (0..3).for_each(|n| {
        servers.reconfigure(n, |config| config.limits.requests_per_address = REQUESTS)
    });
    servers.start_all();
    servers.ready().await;
    let links = servers.room_of(2, CAPACITY);
    let rogue = Rogue::new(&links, 1).await;
    let http = client(elsewhere(5));
    for server in 0..3u8 {
        let mut taken = 0;
        for n in 0..CAPACITY as u8 {
            let key = SigningKey::from_seed(&[
                100 + n,
                server,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
                7,
            ]);
            let time = now();
            let signature = key.sign(&presence_digest(&links[0].room, time, PartyId(server)));
            let presence = Presence { key: key.verifying_key(), time, signature };
            let (status, text) =
                answer(http.post(rogue.path(server.into(), "presence")).json(&presence)).await;
            match status.as_u16() {
                200 => taken += 1,
                429 => assert!(text.contains("address"), "{text}"),
                _ => panic!("{status} {text}"),
            }
        }
        assert_eq!(taken, 9, "nine of the ten slots that server {server} gives out");
    }
    // The seats that are left are enough for others to be heard.
    let speakers = Speakers::start(2, &links);
    let refused = exhaust(&rogue, &http).await;
    assert!(refused.contains("too many requests from this address"), "{refused}");
    let (status, text) = answer(rogue.http.get(rogue.path(0, "status"))).await;
    assert_eq!(status, 200, "others are not concerned: {text}");
    speakers.more(&servers, 1).await;
    speakers.end().await.check(&servers.boards(&links[0]).await[0]);
    servers.stop_all().await;
}

/// Sends what is refused anyway until it is refused for being too much.
async fn exhaust(rogue: &Rogue, http: &reqwest::Client) -> String {
    for _ in 0..100_000 {
        let garbage = http.post(rogue.path(0, "presence")).json(&"garbage");
        let (status, text) = answer(garbage).await;
        match status.as_u16() {
            422 => {}
            429 => return text,
            _ => panic!("{status} {text}"),
        }
    }
    panic!("an address may ask as much as it likes");
}
