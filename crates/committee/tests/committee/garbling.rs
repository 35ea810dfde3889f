//! A member whose engine's messages are changed: the others stop, and say by name who it was.

use std::sync::Arc;

use crate::statistics::{ask, report};
use crate::world::World;
use ostrakon_authbits::Kind;
use ostrakon_crypto::SigningKey;
use ostrakon_party::{Channel, Header, Message, PartyId, Wrapping};

/// What becomes of the messages that a member's engine sends: the bodies that are others.
pub type Garble = Arc<dyn Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync>;

/// The channel of a member that garbles its messages, and signs what it has made of them.
pub struct Garbling {
    pub channel: Arc<dyn Channel>,
    pub key: SigningKey,
    pub garble: Garble,
}

impl Garbling {
    fn garbled(&self, to: PartyId, message: Message) -> Message {
        let Some(body) = (self.garble)(to, &message) else { return message };
        let (length, digest) = (body.len() as u64, Header::digest_of(&body));
        let header = Header { length, digest, ..message.signed.header };
        Message { signed: header.sign(&self.key), body: body.into(), depth: message.depth }
    }
}

impl Wrapping for Garbling {
    fn inner(&self) -> &dyn Channel {
        &*self.channel
    }

    fn post(&self, to: PartyId, message: Message) {
        self.channel.post(to, self.garbled(to, message));
    }

    fn offer(&self, to: PartyId, message: Message) {
        self.channel.offer(to, self.garbled(to, message));
    }
}

/// Attack: a member sends something else, to all alike or to one. Whoever's check fails names it;
/// whoever is only told that another one has stopped says no more than that.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_garbles_its_messages_is_named_and_nobody_honest() {
    const LIAR: usize = 1;
    let cases = [
        (Kind::BasePoints, None, "a message that means nothing"),
        (Kind::Trees, None, "keys that are not consistent"),
        (Kind::ColumnHashes, Some(PartyId(0)), "correlated bits that are not consistent"),
        (Kind::Decommitment, None, "were told different things"),
        (Kind::Opening, Some(PartyId(2)), "a message of a wrong length"),
    ];
    for (kind, only, what) in cases {
        let garble = move |to: PartyId, message: &Message| {
            let hit = message.signed.header.tag.step == kind.step();
            (hit && only.is_none_or(|only| only == to)).then(|| match kind {
                Kind::BasePoints => vec![0xff; message.body.len()],
                Kind::Opening => Vec::new(),
                _ => message.body.iter().map(|byte| byte ^ 1).collect(),
            })
        };
        let world = World::start_statistics_garbling(3, LIAR, Arc::new(garble)).await;
        let draft = ask(&world);
        world.create(&draft).await;
        for seed in [1, 2] {
            world.submit(&report(&world, &draft.draft, seed, 10)).await;
        }
        world.close(&draft).await;
        let why = world.stopped(&draft.draft.id(), LIAR).await;
        assert!(
            why.iter().any(|why| why.contains("m1") && why.contains(what)),
            "{kind:?}: {why:?}"
        );
        for why in why {
            let accused =
                ["m0", "m2", "P0", "P1", "P2"].into_iter().find(|name| why.contains(name));
            assert!(accused.is_none() || why.ends_with(" has stopped"), "{kind:?}: {why}");
        }
        world.stop().await;
    }
}
