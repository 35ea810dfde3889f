//! What must hold of the host log, judged anew here: nothing in this file asks the servers' own
//! rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use ostrakon_broadcast::hosting::{Claim, Deed, MessageId, Poll, SignedAction};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_mixing::{RoomDescriptor, RoomId};
use ostrakon_party::PartyId;

use crate::deployment::Deployment;

/// What the actions so far amount to.
#[derive(Default)]
struct Rule {
    first: Option<VerifyingKey>,
    hosts: BTreeSet<VerifyingKey>,
    members: BTreeSet<VerifyingKey>,
    /// Who was a member at some time.
    ever: BTreeSet<VerifyingKey>,
    /// Invitations, and who has taken them.
    invitations: BTreeMap<VerifyingKey, Option<VerifyingKey>>,
}

impl Rule {
    fn admit(&mut self, key: VerifyingKey) {
        self.members.insert(key);
        self.ever.insert(key);
    }

    fn claim(&mut self, invitation: VerifyingKey, key: VerifyingKey) {
        let taken = self.invitations.get_mut(&invitation).expect("only an invitation is claimed");
        assert_eq!(*taken, None, "two devices have one invitation");
        *taken = Some(key);
        assert!(!self.ever.contains(&key), "one device has two places");
        self.admit(key);
    }

    fn take(&mut self, author: VerifyingKey, deed: &Deed) {
        match deed {
            Deed::Claim { key, .. } => return self.claim(author, *key),
            _ => assert!(self.hosts.contains(&author), "somebody acted who is no host"),
        }
        match deed {
            Deed::Host { key, active, .. } => {
                assert_eq!(Some(author), self.first, "a co-host has named a co-host");
                if *active {
                    self.hosts.insert(*key)
                } else {
                    self.hosts.remove(key)
                };
            }
            Deed::Admit { keys } => keys.iter().for_each(|key| self.admit(*key)),
            Deed::Invite { keys } => {
                for key in keys {
                    if let Some(taken) = *self.invitations.entry(*key).or_default() {
                        self.admit(taken);
                    }
                }
            }
            Deed::Dismiss { keys } => keys.iter().for_each(|key| self.dismiss(key)),
            _ => {}
        }
    }

    fn dismiss(&mut self, key: &VerifyingKey) {
        match self.invitations.get(key).copied() {
            Some(None) => drop(self.invitations.remove(key)),
            Some(Some(taken)) => drop(self.members.remove(&taken)),
            None => drop(self.members.remove(key)),
        }
    }
}

/// The host log of the room, as far as the servers have shown it.
pub struct Logs {
    deployment: Arc<Deployment>,
    servers: Digest,
    room: RoomId,
    open: bool,
    rule: Rule,
    actions: Vec<SignedAction>,
    head: Digest,
    /// How many actions each server has shown.
    shown: Vec<usize>,
}

impl Logs {
    pub fn new(deployment: &Arc<Deployment>, servers: Digest, room: &RoomDescriptor) -> Self {
        let hosts = room.host.into_iter().collect();
        Self {
            deployment: Arc::clone(deployment),
            servers,
            room: room.id(),
            open: room.admission.takes_all(),
            rule: Rule { first: room.host, hosts, ..Rule::default() },
            actions: Vec::new(),
            head: Digest([0; 32]),
            shown: deployment.parties().map(|_| 0).collect(),
        }
    }

    /// Reads on at a server that says that it has so many actions: the logs are one, and none
    /// becomes shorter. Whether they were read.
    pub fn read(&mut self, party: PartyId, length: u64) -> bool {
        let shown = self.shown[party.index()];
        assert!(shown as u64 <= length, "{party} forgot what hosts did");
        shown as u64 == length || self.read_from(party, shown)
    }

    /// Reads a server's whole log anew. Whether it answers.
    pub fn read_whole(&mut self, party: PartyId) -> bool {
        self.read_from(party, 0)
    }

    fn read_from(&mut self, party: PartyId, mut next: usize) -> bool {
        loop {
            let (room, from) = (self.room, next as u64);
            let page = self
                .deployment
                .call(party, |server| async move { server.actions(room, from).await }.boxed());
            let Some(Ok(page)) = page else { return false };
            if page.actions.is_empty() {
                assert!(next >= self.shown[party.index()], "{party} forgot what hosts did");
                self.shown[party.index()] = next;
                return true;
            }
            for action in page.actions {
                self.take(party, next, action);
                next += 1;
            }
        }
    }

    fn take(&mut self, party: PartyId, at: usize, signed: SignedAction) {
        if let Some(known) = self.actions.get(at) {
            assert_eq!(*known, signed, "{party} has another host log");
            return;
        }
        let action = &signed.action;
        assert_eq!(
            (action.number, action.previous),
            (at as u64, self.head),
            "the host log is a chain"
        );
        let digest = action.digest(&self.servers, &self.room);
        match Claim::of(&signed) {
            Some(claim) => assert!(
                claim.verifies(&self.servers, &self.room),
                "a claim that its keys did not sign"
            ),
            None => assert!(
                self.deployment.ledger.was_signed(&digest),
                "an action that no host has signed"
            ),
        }
        self.rule.take(action.author, &action.deed);
        self.head = digest;
        self.actions.push(signed);
    }

    /// Whether every server has shown all of it.
    pub fn are_equal(&self) -> bool {
        self.shown.iter().all(|shown| *shown == self.actions.len())
    }

    pub fn is_member(&self, key: &VerifyingKey) -> bool {
        self.open || self.rule.members.contains(key)
    }

    pub fn was_member(&self, key: &VerifyingKey) -> bool {
        self.open || self.rule.ever.contains(key)
    }

    pub fn members(&self) -> usize {
        self.rule.members.len()
    }

    pub fn is_host(&self, key: &VerifyingKey) -> bool {
        self.rule.hosts.contains(key)
    }

    /// Who has taken an invitation.
    pub fn taken_by(&self, invitation: &VerifyingKey) -> Option<VerifyingKey> {
        self.rule.invitations.get(invitation).copied().flatten()
    }

    /// Poll `id`, if that is one.
    pub fn poll(&self, id: u64) -> Option<&Poll> {
        match &self.actions.get(usize::try_from(id).ok()?)?.action.deed {
            Deed::Poll { poll } => Some(poll),
            _ => None,
        }
    }

    /// All polls.
    pub fn polls(&self) -> impl Iterator<Item = (u64, &Poll)> {
        (0..).zip(&self.actions).filter_map(|(id, signed)| match &signed.action.deed {
            Deed::Poll { poll } => Some((id, poll)),
            _ => None,
        })
    }

    /// What was erased.
    pub fn erased(&self) -> impl Iterator<Item = MessageId> {
        self.actions.iter().filter_map(|signed| match signed.action.deed {
            Deed::Erase { target } => Some(target),
            _ => None,
        })
    }

    /// An action that was taken.
    pub fn action(&self, number: u64) -> Option<&SignedAction> {
        self.actions.get(usize::try_from(number).ok()?)
    }

    /// The digest of an action that was taken.
    pub fn digest(&self, number: u64) -> Option<Digest> {
        Some(self.action(number)?.action.digest(&self.servers, &self.room))
    }

    pub fn length(&self) -> usize {
        self.actions.len()
    }
}
