//! Founding: the coin's key is made with all servers present, and the ledger begins when everybody
//! has heard of everybody's disk (spec V1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_agreement::coin::{CoinKeys, CoinSecret};
use ostrakon_agreement::dkg::{Attempts, DkgMessage, DkgStep, Founding, Outcome};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_party::{PartyId, PartySet, wire};

use crate::disk::{Disk, Key, Write};
use crate::message::{DiskNonce, Message};
use crate::room::Room;
use crate::service::{Effects, Told};

/// How the ledger begins at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// All servers are there, with the disks that they had when the key was made.
    Founded,
    /// What was written is on the disk.
    Restored,
    /// The others have begun with another disk of this server: what it said with that is forgotten,
    /// so it takes part only as one that is readmitted.
    Lost,
}

/// The coin's key, at one server.
pub struct Coin {
    /// The public keys.
    pub keys: CoinKeys,
    /// The own share.
    pub secret: CoinSecret,
}

/// A server's part in founding. It goes on after the ledger has begun, for those who have not come
/// so far, or have lost their data.
pub struct Founder {
    room: Arc<Room>,
    me: PartyId,
    attempts: Attempts,
    number: u32,
    key: Option<Digest>,
    /// Until the ledger begins.
    coin: Option<Coin>,
    nonce: [u8; 32],
    signing: Arc<SigningKey>,
    /// The first nonce that was heard of each server.
    heard: BTreeMap<PartyId, DiskNonce>,
    /// Who has heard of this server's disk.
    confirmed: BTreeSet<PartyId>,
    begun: bool,
    lost: bool,
    answered: BTreeSet<PartyId>,
}

impl Founder {
    /// Begins, or goes on with what is on the disk. `nonce` is fresh.
    pub fn start(
        room: Arc<Room>,
        me: PartyId,
        signing: Arc<SigningKey>,
        disk: &Disk,
        nonce: [u8; 32],
    ) -> (Self, Effects) {
        let mut effects = Effects::default();
        let founding = Founding {
            session: room.digest(),
            trust: *room.trust(),
            me,
            signing: Arc::clone(&signing),
            identities: room.identities().clone(),
        };
        let attempt = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Attempt(number) => Some((*number, value.clone())),
            _ => None,
        };
        let written: BTreeMap<u32, Vec<u8>> = disk.0.iter().filter_map(attempt).collect();
        let number = written.keys().next_back().copied().unwrap_or(0);
        let (attempts, step) = Attempts::resume(founding, &written);
        let known = disk.0.get(&Key::Nonce).and_then(|nonce| nonce[..].try_into().ok());
        if known.is_none() {
            effects.writes.push(Write::Put(Key::Nonce, nonce.to_vec()));
        }
        let heard = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Heard(party) => Some((*party, wire::decode(value).ok()?)),
            _ => None,
        };
        let mut founder = Self {
            room,
            me,
            attempts,
            number,
            key: None,
            coin: None,
            nonce: known.unwrap_or(nonce),
            signing,
            heard: disk.0.iter().filter_map(heard).collect(),
            confirmed: BTreeSet::new(),
            begun: disk.0.keys().any(|key| matches!(key, Key::Ledger(_))),
            lost: false,
            answered: BTreeSet::new(),
        };
        founder.absorb(number, step, &mut effects);
        (founder, effects)
    }

    /// How the ledger begins now, with the coin's key; once.
    pub fn begin(&mut self) -> Option<(Beginning, Coin)> {
        let others = self.room.servers() - 1;
        let beginning = if self.begun {
            Beginning::Restored
        } else if self.lost {
            Beginning::Lost
        } else if self.confirmed.len() == others && self.heard.len() == others {
            Beginning::Founded
        } else {
            return None;
        };
        let coin = self.coin.take()?;
        self.begun = true;
        Some((beginning, coin))
    }

    /// Handles a message of another server.
    pub fn receive(&mut self, from: PartyId, message: &Message) -> Effects {
        let mut effects = Effects::default();
        match message {
            Message::Dkg(bytes) => {
                let attempt = DkgMessage::decode(bytes).map_or(0, |message| message.attempt());
                self.reach(attempt, &mut effects);
                let step = self.attempts.handle(from, bytes);
                self.absorb(attempt, step, &mut effects);
                if self.key.is_some() && self.answered.insert(from) {
                    self.tell(from, &mut effects);
                }
            }
            Message::Coin { key, disk, heard } => {
                self.coin_of(from, *key, *disk, *heard, &mut effects);
            }
            _ => {}
        }
        effects
    }

    /// Says again what others may lack.
    pub fn tick(&mut self) -> Effects {
        let mut effects = Effects::default();
        self.answered.clear();
        if !self.begun {
            for party in self.others() {
                self.tell(party, &mut effects);
            }
        }
        effects
    }

    /// Whom this server waits for, to tell the operator.
    #[must_use]
    pub fn awaited(&self) -> PartySet {
        if self.key.is_none() {
            return self.attempts.current().awaited();
        }
        let heard =
            |party: &PartyId| self.confirmed.contains(party) && self.heard.contains_key(party);
        self.others().filter(|party| !heard(party)).collect()
    }

    fn others(&self) -> impl Iterator<Item = PartyId> + use<> {
        let me = self.me;
        PartySet::all(self.room.servers()).iter().filter(move |party| *party != me)
    }

    /// Says everything that this server has said.
    fn tell(&self, to: PartyId, effects: &mut Effects) {
        for said in self.attempts.current().said() {
            effects.send(to, &Message::Dkg(said.clone().into()));
        }
        if let Some(key) = self.key {
            let disk = DiskNonce::sign(&self.room, &key, self.nonce, &self.signing);
            let heard = self.heard.get(&to).copied();
            effects.send(to, &Message::Coin { key, disk, heard });
        }
    }

    /// Comes to an attempt that others have begun.
    fn reach(&mut self, attempt: u32, effects: &mut Effects) {
        const MOST: u32 = 64;
        while self.number < attempt.min(MOST) {
            let Some(step) = self.attempts.next_attempt() else { return };
            self.number += 1;
            self.absorb(self.number, step, effects);
        }
    }

    fn absorb(&mut self, attempt: u32, step: DkgStep, effects: &mut Effects) {
        if let Some((attempt, bytes)) = step.write {
            effects.writes.push(Write::Put(Key::Attempt(attempt), bytes));
        }
        for bytes in step.sends {
            for party in self.others() {
                effects.send(party, &Message::Dkg(bytes.clone().into()));
            }
        }
        match step.outcome {
            Some(Outcome::Finished(finished)) if self.key.is_none() => {
                // The record is durable before the key is used.
                effects.writes.push(Write::Put(Key::Attempt(attempt), finished.record));
                self.key = Some(finished.keys.digest());
                self.coin = Some(Coin { keys: finished.keys, secret: finished.secret });
                for party in self.others() {
                    self.tell(party, effects);
                }
            }
            Some(Outcome::Failed(failure)) => {
                let what = "spoilt an attempt at the coin's key";
                effects.told.push(Told::Fault(failure.culprit(), what));
                self.reach(attempt + 1, effects);
            }
            _ => {}
        }
    }

    fn coin_of(
        &mut self,
        from: PartyId,
        key: Digest,
        disk: DiskNonce,
        heard: Option<DiskNonce>,
        effects: &mut Effects,
    ) {
        let Some(own) = self.key else { return };
        if key != own {
            // All n signed one key, so this one lies, or is of another founding.
            effects.told.push(Told::Fault(from, "another key of the coin"));
            return;
        }
        if !disk.is_of(&self.room, &own, from) {
            effects.told.push(Told::Fault(from, "a nonce that it has not signed"));
            return;
        }
        if !self.heard.contains_key(&from) && !self.begun {
            self.heard.insert(from, disk);
            effects.writes.push(Write::Put(Key::Heard(from), wire::encode(&disk)));
            self.tell(from, effects);
        }
        // What this server has not signed it never said: one that lies cannot make it doubt its
        // disk. What it has signed and does not remember was on a disk that is lost.
        let heard = heard.filter(|heard| heard.is_of(&self.room, &own, self.me));
        match heard {
            Some(heard) if heard.nonce == self.nonce => {
                self.confirmed.insert(from);
            }
            Some(_) => self.lost = true,
            None => {}
        }
        let lacks = heard.is_none_or(|heard| heard.nonce != self.nonce) || self.begun;
        if lacks && self.answered.insert(from) {
            self.tell(from, effects);
        }
    }
}
