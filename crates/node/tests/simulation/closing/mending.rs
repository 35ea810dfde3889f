//! What a disk does to a board is found, shown to nobody, and mended from the other servers.

use std::time::Duration;

use futures::FutureExt;
use ostrakon_party::PartyId;
use ostrakon_protocol::BoardPage;
use ostrakon_protocol::ServiceError;
use ostrakon_store::{Database, Store};

use super::{Scene, inside};
use crate::checks::parties;

impl Scene {
    fn board(&self, party: PartyId) -> Result<BoardPage, ServiceError> {
        let room = self.room.id();
        let asked = self.deployment.call(party, |server| {
            async move { server.board(room, 0, Duration::ZERO).await }.boxed()
        });
        asked.expect("it runs")
    }

    /// What a server that has just started answers first; `None` if it refuses to show its board.
    fn first_answer(&self, party: PartyId) -> Option<BoardPage> {
        for _ in 0..10_000 {
            let asleep = self.deployment.service(party).is_none();
            match (!asleep).then(|| self.board(party)) {
                Some(Err(error)) if error.to_string().contains("damaged") => return None,
                Some(Ok(page)) => return Some(page),
                _ => self.deployment.executor.run_for(Duration::from_millis(1)),
            }
        }
        panic!("{party} never answers");
    }

    /// Stops a server, writes other bytes into the first entry of its board, and starts it again.
    fn change_entry(&self, party: PartyId, epoch: u64, bytes: &[u8]) {
        self.deployment.change_disk();
        self.deployment.stop(party);
        let (directory, room) = (self.deployment.data(party), self.room.id());
        tokio::runtime::Handle::current().block_on(async {
            let store = Store::open(&directory, &Database::Sqlite).await.unwrap();
            store.rewrite_entry(&room.0, epoch, bytes).await.unwrap();
            store.close().await;
        });
        self.deployment.start(party);
    }
}

#[test]
fn an_entry_that_a_disk_has_changed_is_shown_to_nobody_and_mended_from_another_server() {
    inside(|| {
        let scene = Scene::new(1, 6, 2);
        (0..3).for_each(|number| scene.join(number));
        assert!(scene.published_after(Duration::from_secs(60)).is_some());
        let first = scene.board(PartyId(0)).unwrap().entries.remove(0);
        let (epoch, sound) = (first.entry.epoch.number, ostrakon_party::wire::encode(&first.entry));
        // One byte of what was said, at all three.
        let mut changed = first.entry.clone();
        changed.accepted += 1;
        let changed = ostrakon_party::wire::encode(&changed);
        parties().for_each(|party| scene.change_entry(party, epoch, &changed));
        for party in parties() {
            // Also not before it has looked through its boards.
            let page = scene.first_answer(party);
            assert!(page.is_none_or(|page| page.entries.is_empty()), "{party} shows it");
        }
        scene.deployment.executor.run_for(Duration::from_secs(20));
        for party in parties() {
            let refused = scene.board(party).unwrap_err().to_string();
            assert!(refused.contains("damaged on this server's disk"), "{party}: {refused}");
        }
        // One of them has it again: the others take it from there.
        scene.change_entry(PartyId(2), epoch, &sound);
        scene.deployment.executor.run_for(Duration::from_secs(150));
        for party in parties() {
            let page = scene.board(party).unwrap();
            assert_eq!(page.entries[0].entry, first.entry, "{party}");
        }
        for party in [PartyId(0), PartyId(1)] {
            let audit = scene
                .deployment
                .call(party, |server| async move { server.audit(None, 100).await }.boxed());
            let records = audit.unwrap().unwrap();
            let of = |action: &str| records.iter().find(|record| record.action == action);
            assert!(of("board damaged").is_some(), "{party}");
            let mended = &of("board mended").expect("it is on record").detail;
            assert!(mended.contains("(server "), "the source is named: {mended}");
        }
        scene.deployment.end();
    });
}
