//! What hosts do in a run, who tries to do it without being one, and what must have come of it in
//! the end.

use std::collections::BTreeSet;

use futures::FutureExt;
use ostrakon_broadcast::hosting::{Action, Claim, Deed, MessageId, SignedAction, is_ballot};
use ostrakon_broadcast::outbox::BallotState;
use ostrakon_client::Scene;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};

use super::{Arc, Mutex, OUTSIDE, PlainClient, Random, Run, ServiceError};
use crate::engine::trust;
use crate::host::{Desk, Host, SCHEDULER, Wish, about, nobody};
use crate::line::Line;

/// The seed of the key of the first host (0) or of the co-host (1).
fn host_seed(seed: u64, number: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    Random::new(seed ^ (0x4057 + number)).fill(&mut bytes);
    bytes
}

/// The key of the first host (0) or of the co-host (1).
pub fn host_key(seed: u64, number: u64) -> SigningKey {
    SigningKey::from_seed(&host_seed(seed, number))
}

impl Run {
    /// Lets a host sit down at its device.
    pub(super) fn seat_host(&mut self) {
        let number = self.hosts.len() as u64;
        let seed = host_seed(self.setting.seed, number);
        let scene = Scene::new((*self.servers).clone(), (*self.room).clone());
        let trust = trust(self.servers.keys.len());
        let host = Host {
            // Hosts' lines are told apart from participants'.
            line: Line { number: 100 + number, deployment: Arc::clone(&self.deployment) },
            desk: Arc::new(Mutex::new(Desk::new(seed))),
            room: Arc::clone(&self.room),
            servers: Arc::clone(&self.servers),
            // How rows are made is none of a host's concern.
            scene: Arc::new(scene.with(&PlainClient, trust)),
        };
        self.deployment.executor.spawn(OUTSIDE, host.clone().act().boxed());
        self.hosts.push(host);
    }

    fn wish(&mut self, host: usize, wish: Wish) {
        self.hosts[host].desk.lock().unwrap().wishes.push_back(wish);
    }

    fn some_host(&mut self) -> usize {
        self.random.below(self.hosts.len() as u64) as usize
    }

    /// Lets a newcomer in: its key is admitted, or it has a link, perhaps one that somebody else
    /// has, too.
    pub(super) fn let_in(
        &mut self,
        key: VerifyingKey,
        number: u64,
        cheats: bool,
    ) -> Option<SigningKey> {
        if !self.setting.members {
            return None;
        }
        // The first two say each other's words in a swapped run.
        if cheats || number < 2 || self.random.chance(40) {
            self.wish(0, Wish::Do(Deed::Admit { keys: vec![key] }));
            return None;
        }
        if !self.links.is_empty() && self.random.chance(35) {
            return self.links.last().map(SigningKey::from_seed);
        }
        let mut seed = [0; 32];
        self.random.fill(&mut seed);
        self.links.push(seed);
        let link = SigningKey::from_seed(&seed);
        self.wish(0, Wish::Do(Deed::Invite { keys: vec![link.verifying_key()] }));
        Some(link)
    }

    /// A host does something, or somebody tries to who is none.
    pub(super) fn host_step(&mut self) {
        let host = self.some_host();
        match self.random.below(20) {
            0..5 => self.wish(host, Wish::Ask),
            5 => self.wish(host, Wish::Withdraw),
            6..11 => {
                let Some(target) = self.some_message() else { return };
                let deed = about(&mut self.random, target);
                self.wish(host, Wish::Do(deed));
            }
            11..13 => {
                let Some(target) = self.some_message() else { return };
                self.wish(host, Wish::Do(Deed::Erase { target }));
            }
            13..16 => self.change_people(),
            16..18 => self.change_hosts(),
            _ => self.intrude(),
        }
    }

    /// A text on the board.
    fn some_message(&mut self) -> Option<MessageId> {
        let texts: Vec<_> = self
            .boards
            .all(self.room.id())
            .filter(|(_, body)| !is_ballot(body))
            .map(|(id, _)| id)
            .collect();
        (!texts.is_empty()).then(|| texts[self.random.below(texts.len() as u64) as usize])
    }

    /// Somebody is dismissed, or taken back.
    fn change_people(&mut self) {
        if !self.setting.members {
            let on = self.random.chance(50);
            return self.wish(0, Wish::Do(Deed::Moderate { on }));
        }
        let who = self.someone();
        let (key, invitation) = {
            let device = self.participants[who].device.lock().unwrap();
            (device.key.verifying_key(), device.invitation.as_ref().map(SigningKey::verifying_key))
        };
        if !self.logs.was_member(&key) {
            return;
        }
        let deed = match (self.logs.is_member(&key), invitation) {
            // Two of one class would wait for a third.
            (true, _) if self.logs.members() < 5 => return,
            (true, Some(invitation)) if self.random.chance(50) => {
                Deed::Dismiss { keys: vec![invitation] }
            }
            (true, _) => Deed::Dismiss { keys: vec![key] },
            (false, Some(invitation)) => Deed::Invite { keys: vec![invitation] },
            (false, None) => Deed::Admit { keys: vec![key] },
        };
        self.wish(0, Wish::Do(deed));
    }

    /// There is a co-host, or not any more.
    fn change_hosts(&mut self) {
        if self.hosts.len() == 1 {
            self.seat_host();
        }
        let key = host_key(self.setting.seed, 1).verifying_key();
        let active = !self.logs.is_host(&key);
        self.wish(0, Wish::Do(Deed::Host { key, name: "a co-host".into(), active }));
    }

    /// Somebody without the right to do so claims what was claimed, or acts as a host.
    fn intrude(&mut self) {
        let (servers, room) = (self.servers.digest(), self.room.id());
        let stranger = nobody(self.random.next());
        let number = self.random.below(self.logs.length() as u64 + 1);
        let party = self.server();
        match self.random.below(3) {
            0 => {
                let taken = |link: &SigningKey| self.logs.taken_by(&link.verifying_key()).is_some();
                let Some(link) = self.links.iter().map(SigningKey::from_seed).find(taken) else {
                    return;
                };
                let claim = Claim::sign(&servers, &room, &link, &stranger);
                let answer = self.deployment.call(SCHEDULER, |server| {
                    async move { server.claim(room, claim).await }.boxed()
                });
                assert!(!matches!(answer, Some(Ok(_))), "an invitation is claimed a second time");
            }
            1 => {
                // In the next place, which is the one that could be taken; in the name of a host or
                // in its own.
                let number = self.logs.length() as u64;
                let previous = number
                    .checked_sub(1)
                    .and_then(|last| self.logs.digest(last))
                    .unwrap_or(Digest([0; 32]));
                let host = self.random.chance(50).then_some(self.room.host).flatten();
                let author = host.unwrap_or_else(|| stranger.verifying_key());
                let action = Action { number, previous, author, time: 5, deed: Deed::EraseAll };
                let signature = stranger.sign(&action.digest(&servers, &room));
                self.is_refused(party, SignedAction { action, signature });
            }
            _ => {
                let Some(mut changed) = self.logs.action(number).cloned() else { return };
                changed.action.deed = Deed::EraseAll;
                self.is_refused(party, changed);
            }
        }
    }

    fn is_refused(&self, party: ostrakon_party::PartyId, action: SignedAction) {
        let room = self.room.id();
        let answer = self
            .deployment
            .call(party, |server| async move { server.act(room, action).await }.boxed());
        assert!(!matches!(answer, Some(Ok(_))), "an action is taken that no host has signed");
        let elsewhere = matches!(answer, Some(Err(ServiceError::Elsewhere(_))));
        assert!(
            answer.is_none() || elsewhere == (party != SCHEDULER),
            "only the first server takes actions"
        );
    }

    /// Whether all that hosts wanted is done, everywhere.
    pub(super) fn is_hosted(&mut self) -> bool {
        let done = self.hosts.iter().all(|host| host.desk.lock().unwrap().is_done());
        if !done || !self.logs.are_equal() {
            return false;
        }
        let erased: BTreeSet<_> = self.logs.erased().collect();
        let room = self.room.id();
        self.deployment.parties().all(|party| {
            let left = self.boards.read_whole(room, party);
            left.is_some_and(|left| left.iter().all(|(id, _)| !erased.contains(id)))
        })
    }

    /// What hosts, devices and participants were told is so.
    pub(super) fn check_promises(&mut self) {
        let read: Vec<_> =
            self.deployment.parties().filter(|party| self.logs.read_whole(*party)).collect();
        if !read.contains(&SCHEDULER) {
            return;
        }
        let ledger = Arc::clone(&self.deployment.ledger);
        for (number, digest) in ledger.actions() {
            assert_eq!(
                self.logs.digest(number),
                Some(digest),
                "what a host was told is not in the host log"
            );
        }
        for (invitation, key) in ledger.claims() {
            assert_eq!(
                self.logs.taken_by(&invitation),
                Some(key),
                "an invitation is not the device's that was told so"
            );
        }
        let published: BTreeSet<_> =
            self.boards.all(self.room.id()).map(|(_, body)| body).collect();
        for participant in &self.participants {
            for ballot in participant.device.lock().unwrap().outbox.ballots().values() {
                let there = published.contains(&ballot.body);
                match ballot.state {
                    BallotState::Counted => {
                        assert!(there, "an answer is taken for counted that is not published")
                    }
                    BallotState::Missed | BallotState::Doubted => {
                        assert!(!there, "an answer is taken for missed that is published")
                    }
                    BallotState::Waiting | BallotState::Sent => {}
                }
            }
        }
    }
}
