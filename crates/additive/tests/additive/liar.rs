//! A corrupt server that stands by its lies.
//!
//! A saboteur changes what a server sends, and the server's own code finds the change in what peers
//! state of it, and confesses. A liar also changes what that code reads, so that it goes on.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_additive::three::messages::Kind;
use ostrakon_crypto::SigningKey;
use ostrakon_party::{Channel, Header, Message, Party, PartyId, SignedHeader, Tag, Wrapping, wire};
use ostrakon_testkit::{Network, World};
use ostrakon_threeparty::protocol::echo;

use crate::world::is;

type Rewrite = Arc<dyn Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync>;

/// How the servers of a run are connected.
pub trait Wiring {
    /// The network.
    fn network(&self) -> &Network;

    /// A server's end of it.
    fn end(&self, world: &World, party: Party) -> Party;
}

impl Wiring for Network {
    fn network(&self) -> &Network {
        self
    }

    fn end(&self, _: &World, party: Party) -> Party {
        party
    }
}

/// A network on which one server lies.
pub struct Lies {
    network: Network,
    party: PartyId,
    rewrite: Rewrite,
}

impl Lies {
    /// `rewrite` sees each of the server's messages and returns the new body, or `None`.
    pub fn new(
        party: u8,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self { network: Network::default(), party: PartyId(party), rewrite: Arc::new(rewrite) }
    }
}

impl Deref for Lies {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network
    }
}

impl Wiring for Lies {
    fn network(&self) -> &Network {
        &self.network
    }

    fn end(&self, world: &World, party: Party) -> Party {
        if party.id != self.party {
            return party;
        }
        let liar = Liar {
            inner: self.network.channel(party.id),
            keys: (0..3).map(|id| world.key(PartyId(id))).collect(),
            me: party.id,
            rewrite: self.rewrite.clone(),
            tables: Mutex::default(),
            statements: Mutex::default(),
        };
        Party::new(party.id, party.roster.clone(), world.key(party.id), Arc::new(liar))
    }
}

struct Liar {
    inner: Arc<dyn Channel>,
    keys: Vec<Arc<SigningKey>>,
    me: PartyId,
    rewrite: Rewrite,
    /// By tag: what its code has signed, and what was sent instead.
    tables: Mutex<BTreeMap<Tag, (SignedHeader, SignedHeader)>>,
    /// By peer: the statement that it has sent, and the one that this server's code is shown.
    statements: Mutex<BTreeMap<PartyId, (SignedHeader, SignedHeader)>>,
}

impl Liar {
    fn with_body(&self, message: &Message, body: Vec<u8>) -> Message {
        let (length, digest) = (body.len() as u64, Header::digest_of(&body));
        let header = Header { length, digest, ..message.signed.header };
        let signed = header.sign(&self.keys[header.from.index()]);
        Message { signed, body: body.into(), depth: message.depth }
    }

    fn outgoing(&self, to: PartyId, message: Message) -> Message {
        let tables = &mut *self.tables.lock().unwrap();
        if is(&message, Kind::TableStatement) {
            let mut headers: Vec<SignedHeader> = wire::decode(&message.body).unwrap();
            for header in &mut headers {
                if let Some((_, sent)) = tables.get(&header.header.tag) {
                    *header = *sent;
                }
            }
            return self.with_body(&message, wire::encode(&headers));
        }
        if message.signed.header.tag.step == echo(Kind::TableStatement.step()) {
            // It echoes what peers have sent, not what it was shown.
            let statements = self.statements.lock().unwrap();
            let mut headers: [SignedHeader; 2] = wire::decode(&message.body).unwrap();
            for header in &mut headers {
                if let Some((theirs, _)) = statements.get(&header.header.from) {
                    *header = *theirs;
                }
            }
            return self.with_body(&message, wire::encode(&headers));
        }
        let Some(body) = (self.rewrite)(to, &message) else { return message };
        let sent = self.with_body(&message, body);
        tables.insert(sent.signed.header.tag, (message.signed, sent.signed));
        sent
    }

    fn incoming(&self, message: Message) -> Message {
        let statements = &mut *self.statements.lock().unwrap();
        if is(&message, Kind::TableStatement) {
            let mut headers: Vec<SignedHeader> = wire::decode(&message.body).unwrap();
            for header in headers.iter_mut().filter(|h| h.header.from == self.me) {
                if let Some((own, _)) = self.tables.lock().unwrap().get(&header.header.tag) {
                    *header = *own;
                }
            }
            let shown = self.with_body(&message, wire::encode(&headers));
            statements.insert(message.signed.header.from, (message.signed, shown.signed));
            return shown;
        }
        if message.signed.header.tag.step == echo(Kind::TableStatement.step()) {
            let mut headers: [SignedHeader; 2] = wire::decode(&message.body).unwrap();
            for header in &mut headers {
                if let Some((_, shown)) = statements.get(&header.header.from) {
                    *header = *shown;
                }
            }
            return self.with_body(&message, wire::encode(&headers));
        }
        message
    }
}

impl Wrapping for Liar {
    fn inner(&self) -> &dyn Channel {
        &*self.inner
    }

    fn post(&self, to: PartyId, message: Message) {
        self.inner.post(to, self.outgoing(to, message));
    }

    fn offer(&self, to: PartyId, message: Message) {
        self.inner.offer(to, self.outgoing(to, message));
    }

    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        self.inner.collect(from, tag, limit).map(|message| self.incoming(message)).boxed()
    }
}
