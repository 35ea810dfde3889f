//! What must hold, whatever happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use ostrakon_broadcast::{Archive, RoomId, Servers};
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;

use crate::deployment::Deployment;

/// What was seen of the boards so far.
pub struct Boards {
    deployment: Arc<Deployment>,
    servers: Servers,
    /// The longest board of each room: entries' digests.
    longest: BTreeMap<RoomId, Vec<Digest>>,
    /// How many entries each server has shown.
    shown: BTreeMap<(RoomId, PartyId), usize>,
}

/// All servers.
pub fn parties() -> impl Iterator<Item = PartyId> {
    (0..3).map(PartyId)
}

impl Boards {
    pub fn new(deployment: &Arc<Deployment>, servers: Servers) -> Self {
        Self { deployment: Arc::clone(deployment), servers, longest: BTreeMap::new(), shown: BTreeMap::new() }
    }

    /// A room's board at a server, checked: signed by two and chained, the beginning of the longest or the longest itself, never
    /// shorter than before, and without a message twice. `None` if the server does not answer.
    pub fn read(&mut self, room: RoomId, party: PartyId) -> Option<Vec<String>> {
        let text = self.deployment.call(party, |server| async move { server.archive(room).await }.boxed())?.ok()?;
        let archive = Archive::verify(&text, Some(&self.servers.digest())).expect("an archive verifies");
        let digests: Vec<_> = archive.entries.iter().map(|signed| signed.entry.digest(&self.servers)).collect();
        let longest = self.longest.entry(room).or_default();
        let common = longest.len().min(digests.len());
        assert_eq!(longest[..common], digests[..common], "the boards of {room:?} differ at {party}");
        if digests.len() > longest.len() {
            longest.clone_from(&digests);
        }
        let shown = self.shown.insert((room, party), digests.len()).unwrap_or(0);
        assert!(shown <= digests.len(), "{party} forgot entries that it had shown");
        let messages = archive.entries.iter().flat_map(|signed| signed.entry.bodies());
        let mut messages: Vec<_> =
            messages.map(|text| String::from_utf8(text.to_vec()).expect("only texts are said")).collect();
        messages.sort();
        // A cheater hands in two messages in an epoch, which differ in the last letter.
        let name =
            |text: &String| text.strip_prefix("cheat ").map_or(text.clone(), |name| name[..name.len() - 1].to_owned());
        for pair in messages.windows(2) {
            assert_ne!(name(&pair[0]), name(&pair[1]), "a message is published twice");
        }
        messages.retain(|text| !text.starts_with("cheat "));
        Some(messages)
    }

    /// Whom the servers have on record for misbehaviour.
    pub fn blamed(&self, by: PartyId) -> Vec<(PartyId, String)> {
        let faults = self.deployment.call(by, |server| async move { server.faults().await }.boxed());
        let faults = faults.and_then(Result::ok).unwrap_or_default();
        faults.into_iter().map(|fault| (PartyId(fault.culprit), fault.what)).collect()
    }
}
