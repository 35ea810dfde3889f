//! What a host erases is gone from every server, while all of them run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::hosting::{Deed, HostLog, MessageId};
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::EngineKind;
use ostrakon_party::PartyId;

use super::{Scene, inside};
use crate::checks::parties;

/// Erasing, and emptying what the databases keep of it, takes seconds.
const GONE: Duration = Duration::from_secs(20);

impl Scene {
    /// Goes on in a room that this key hosts.
    fn in_a_room_of(mut self, host: &SigningKey) -> Self {
        let settings = serde_json::json!({
            "name": "a hosted room", "payload": 64, "capacity": 12, "seconds": 6, "minimum": 2,
            "host": host.verifying_key().to_hex(),
        });
        let settings = serde_json::from_value(settings).expect("a room's settings");
        let info = self
            .deployment
            .call(PartyId(1), |server| async move { server.create_room(settings).await }.boxed());
        let info = info.expect("P1 answers").expect("a room is created");
        self.room = Arc::new(info.descriptor);
        self.deployment.executor.run_for(Duration::from_secs(3));
        self
    }

    /// The messages on a server's board, with their places.
    fn said(&self, party: PartyId) -> Vec<(MessageId, Vec<u8>)> {
        let room = self.room.id();
        let page = self.deployment.call(party, |server| {
            async move { server.board(room, 0, Duration::ZERO).await }.boxed()
        });
        let page = page.expect("it answers").expect("its board is sound");
        let entries = page.entries.into_iter().map(|signed| signed.entry);
        let of = |entry: ostrakon_broadcast::Entry| {
            let epoch = entry.epoch.number;
            let there = (0..).zip(entry.messages);
            there.filter_map(move |(index, message)| {
                Some((MessageId { epoch, index }, message.body()?.to_vec()))
            })
        };
        entries.flat_map(of).collect()
    }
}

/// Whether these bytes are in any file below a directory.
fn is_in(directory: &Path, text: &[u8]) -> bool {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text);
    entries.into_iter().any(|path| match path.is_dir() {
        true => is_in(&path, text),
        false => std::fs::read(&path).is_ok_and(holds),
    })
}

#[test]
fn what_a_host_erases_is_at_no_server_any_more() {
    inside(|| {
        let host = SigningKey::from_seed(&[77; 32]);
        // With an engine that mixes: what the plain one is handed in is on the disks as it is.
        let mixer = Some(EngineKind::Ruffle);
        let scene = Scene::mixed(1, (6, 2, 12, 64), mixer).in_a_room_of(&host);
        (0..3).for_each(|number| scene.join(number));
        assert!(scene.published_after(Duration::from_secs(60)).is_some());
        let said = scene.said(PartyId(0));
        assert_eq!(said.len(), 3, "everybody was heard in the first epoch");
        let (target, erased) = said[1].clone();
        let left = [said[0].clone(), said[2].clone()];
        let holds = |party| is_in(&scene.deployment.data(party), &erased);
        assert!(parties().all(holds), "it is on every disk");

        let log = HostLog::new(&scene.servers, &scene.room);
        let now = scene.deployment.executor.now_ms() / 1000;
        let (room, action) = (scene.room.id(), log.act(&host, now, Deed::Erase { target }));
        let taken = scene
            .deployment
            .call(PartyId(0), |server| async move { server.act(room, action).await }.boxed());
        taken.expect("P0 answers").expect("the host may do so");
        scene.deployment.executor.run_for(GONE);
        for party in parties() {
            assert_eq!(scene.said(party), left, "the others stay, and it is gone, at {party}");
            assert!(!holds(party), "it is on the disk of {party}");
        }
        scene.deployment.end();
    });
}
