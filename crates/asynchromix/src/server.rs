//! A server from its founding on: what a driver runs.

use std::sync::Arc;

use ostrakon_agreement::{Params, ServerKeys};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::{PartyId, SessionId};

use crate::disk::Disk;
use crate::founding::{Beginning, Coin, Founder};
use crate::message::Message;
use crate::room::Room;
use crate::service::{Effects, Event, Parts, Service, Told};
use crate::visit::{Answer, Ask, Standing};

/// One server: it founds the ledger with the others, or goes on with what is on its disk.
pub struct Server {
    room: Arc<Room>,
    me: PartyId,
    identity: Secret,
    randomness: Secret,
    founder: Founder,
    service: Option<Service<ServerKeys>>,
    longest: usize,
}

impl Server {
    /// Starts with what is on the disk; `identity` is the seed of its identity
    /// key, `randomness` is fresh at every start.
    pub fn start(
        room: Arc<Room>,
        me: PartyId,
        identity: &Secret,
        disk: &Disk,
        randomness: Secret,
    ) -> (Self, Effects) {
        let signing = Arc::new(SigningKey::from_seed(identity.expose()));
        let nonce = randomness.derive("ostrakon/v1/asynchromix/disk", &[]);
        let (founder, mut effects) =
            Founder::start(Arc::clone(&room), me, signing, disk, *nonce.expose());
        let longest = room.longest() + (1 << 20);
        let identity = identity.clone();
        let mut server = Self { room, me, identity, randomness, founder, service: None, longest };
        effects.extend(server.begin(disk));
        (server, effects)
    }

    /// Handles one event.
    pub fn handle(&mut self, event: Event<'_>) -> Effects {
        let mut effects = match event {
            // Only what founding may say is read twice.
            Event::Server(from, bytes) if Message::is_of_founding(bytes) => {
                Message::decode(bytes, self.longest)
                    .map_or_else(|_| Effects::default(), |m| self.founder.receive(from, &m))
            }
            Event::Tick => self.founder.tick(),
            _ => Effects::default(),
        };
        match &mut self.service {
            Some(service) => effects.extend(service.handle(event)),
            None => effects.extend(self.begin(&Disk::default())),
        }
        effects
    }

    /// Answers a device's visit; `reached` are the servers with which there is a link. The answer
    /// leaves after the effects' writes are durable.
    pub fn visit(&mut self, ask: Ask, reached: Vec<PartyId>) -> (Effects, Answer) {
        match &mut self.service {
            Some(service) => service.visit(ask, reached),
            None => {
                let standing = Standing { reached, ..Standing::default() };
                let answer = Answer { standing, entries: Vec::new(), replies: Vec::new() };
                (Effects::default(), answer)
            }
        }
    }

    /// This server's number.
    #[must_use]
    pub fn me(&self) -> PartyId {
        self.me
    }

    /// The service, once the ledger has begun.
    #[must_use]
    pub fn service(&self) -> Option<&Service<ServerKeys>> {
        self.service.as_ref()
    }

    /// What the server waits for before the ledger begins.
    #[must_use]
    pub fn founder(&self) -> &Founder {
        &self.founder
    }

    fn begin(&mut self, disk: &Disk) -> Effects {
        let Some((beginning, coin)) = self.founder.begin() else { return Effects::default() };
        let Coin { keys, secret } = coin;
        let session = SessionId(self.room.digest());
        let params = Params::new(session, &keys.digest(), *self.room.trust())
            .expect("a room's trust promises delivery");
        let identities = self.room.identities().clone();
        let signing = || SigningKey::from_seed(self.identity.expose());
        let parts = Parts {
            room: Arc::clone(&self.room),
            params,
            keys: ServerKeys::new(self.me, signing(), identities, keys, Some(secret)),
            signing: Arc::new(signing()),
            randomness: self.randomness.derive("ostrakon/v1/asynchromix/service", &[]),
        };
        let (mut service, mut effects) = match beginning {
            Beginning::Founded => Service::found(parts),
            Beginning::Restored => Service::restore(parts, disk),
            Beginning::Lost => Service::restore(parts, &Disk::default()),
        };
        if beginning == Beginning::Lost {
            // The disk is empty, so nothing can be restored from it: it asks at once.
            let nonce = self.randomness.derive("ostrakon/v1/asynchromix/readmission", &[]);
            effects.told.retain(|told| *told != Told::DataLost);
            effects.extend(service.handle(Event::Readmit(*nonce.expose())));
        }
        self.service = Some(service);
        effects
    }
}
