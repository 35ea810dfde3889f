//! The host log: the one rule by which actions are accepted, and what they amount to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::wire;
use serde::Serialize;

use super::action::{Action, Deed, SignedAction};
use super::claim::Claim;
use super::members::{Invitation, Members};
use super::message::MessageId;
use super::poll::{Poll, PollForm};
use super::refused::{InvalidDeed, MostActions, Refused};
use ostrakon_mixing::room::{Admission, RoomDescriptor, RoomId, Servers};

/// Actions of hosts in a room's log at most. Claims come on top, [`super::MOST_MEMBERS`] of them.
pub const MOST_ACTIONS: u64 = 20_000;
/// Bytes of all actions of hosts in a room's log at most, as the servers keep them.
pub const MOST_BYTES: usize = 8 << 20;
/// Co-hosts of a room at most, those included who may not act any more.
pub const MOST_HOSTS: usize = 32;

/// What hosts have noted about a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Marks {
    /// Pages do not show it.
    pub hidden: bool,
    /// A moderated projector shows it.
    pub approved: bool,
    /// It stands above the others.
    pub pinned: bool,
    /// It is answered.
    pub answered: bool,
    /// Its body is erased.
    pub erased: bool,
    /// The group that it belongs to.
    pub group: Option<String>,
}

/// A poll that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PollState {
    /// What was asked.
    pub poll: Poll,
    /// It does not count.
    pub withdrawn: bool,
    /// The options that the host has said are right.
    pub right: Option<BTreeSet<u8>>,
}

/// A co-host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// How the co-host is called; empty for the first host.
    pub name: String,
    /// May act.
    pub active: bool,
}

/// The host log of one room, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLog {
    servers: Digest,
    room: RoomId,
    first: Option<VerifyingKey>,
    admission: Admission,
    length: u64,
    bytes: usize,
    head: Digest,
    hosts: BTreeMap<VerifyingKey, Host>,
    members: Members,
    marks: BTreeMap<MessageId, Marks>,
    polls: BTreeMap<u64, PollState>,
    moderated: bool,
    spotlight: Option<MessageId>,
    minimum: u32,
    closed: bool,
    erased: bool,
}

impl HostLog {
    /// The empty log of a room.
    pub fn new(servers: &Servers, room: &RoomDescriptor) -> Self {
        let hosts = room
            .host
            .map(|key| (key, Host { name: String::new(), active: true }))
            .into_iter()
            .collect();
        Self {
            servers: servers.digest(),
            room: room.id(),
            first: room.host,
            admission: room.admission,
            length: 0,
            bytes: 0,
            head: Digest([0; 32]),
            hosts,
            members: Members::default(),
            marks: BTreeMap::new(),
            polls: BTreeMap::new(),
            moderated: false,
            spotlight: None,
            minimum: room.minimum,
            closed: false,
            erased: false,
        }
    }

    /// Whether the action may follow; nothing is changed.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, signed: &SignedAction) -> Result<(), Refused> {
        let action = &signed.action;
        if action.number != self.length || action.previous != self.head {
            return Err(Refused::NotNext { next: self.length });
        }
        if let Some(claim) = Claim::of(signed) {
            let timeless = InvalidDeed("a claim has no time: it must be zero".into());
            return if action.time == 0 { self.check_claim(&claim) } else { Err(timeless.into()) };
        }
        if self.length - self.members.claims() as u64 >= MOST_ACTIONS {
            return Err(MostActions("actions").into());
        }
        if self.bytes + size(signed) > MOST_BYTES {
            return Err(MostActions("bytes of actions").into());
        }
        // Who is a host is nobody's business who does not hold a key.
        let digest = action.digest(&self.servers, &self.room);
        if !action.author.verifies(&digest, &signed.signature) {
            return Err(Refused::Signature);
        }
        if !self.hosts.get(&action.author).is_some_and(|host| host.active) {
            return Err(Refused::NotHost);
        }
        action.deed.validate()?;
        self.check_deed(action)
    }

    /// Whether the claim may be taken now, wherever in the log that be.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check_claim(&self, claim: &Claim) -> Result<(), Refused> {
        if !claim.verifies(&self.servers, &self.room) {
            return Err(Refused::Signature);
        }
        if self.closed {
            return Err(Refused::Closed);
        }
        self.members.check_claim(&claim.invitation, &claim.key)
    }

    /// The claim in the next place of the log. It is not taken yet.
    pub fn place(&self, claim: &Claim) -> SignedAction {
        let deed = Deed::Claim { key: claim.key, signature: claim.key_signature };
        let (number, previous, author) = (self.length, self.head, claim.invitation);
        let action = Action { number, previous, author, time: 0, deed };
        SignedAction { action, signature: claim.invitation_signature }
    }

    fn check_deed(&self, action: &Action) -> Result<(), Refused> {
        let only_marks = action.deed.target().is_some()
            || matches!(
                action.deed,
                Deed::EraseAll | Deed::Host { .. } | Deed::Spotlight { .. } | Deed::Reveal { .. }
            );
        if self.closed && !only_marks {
            return Err(Refused::Closed);
        }
        match &action.deed {
            Deed::Host { key, .. } => {
                if Some(action.author) != self.first {
                    return Err(Refused::NotFirstHost);
                }
                if Some(*key) == self.first {
                    return Err(InvalidDeed("the first host stays host".into()).into());
                }
                if !self.hosts.contains_key(key) && self.hosts.len() >= MOST_HOSTS {
                    return Err(MostActions("co-hosts").into());
                }
                Ok(())
            }
            Deed::Admit { keys } => self.members.check_admit(keys),
            Deed::Invite { keys } => self.members.check_invite(keys),
            Deed::Poll { poll } => {
                let same = |other: &PollState| !other.withdrawn && other.poll.epoch == poll.epoch;
                if self.polls.values().any(same) {
                    return Err(InvalidDeed(
                        "another poll is answered in that epoch: take a later one".into(),
                    )
                    .into());
                }
                Ok(())
            }
            Deed::Withdraw { poll } if !self.polls.contains_key(poll) => {
                Err(InvalidDeed("there is no such poll".into()).into())
            }
            Deed::Reveal { poll, right } => Ok(self.check_reveal(*poll, right)?),
            Deed::Minimum { minimum } if *minimum == 0 || *minimum >= self.minimum => {
                Err(InvalidDeed(format!(
                    "the minimum can be lowered only, to 1 at least: it is {} now",
                    self.minimum
                ))
                .into())
            }
            _ => Ok(()),
        }
    }

    fn check_reveal(&self, poll: u64, right: &BTreeSet<u8>) -> Result<(), InvalidDeed> {
        let Some(PollForm::Choice { options, .. }) =
            self.polls.get(&poll).map(|state| &state.poll.form)
        else {
            return Err(InvalidDeed(
                "there is no such choice: right answers are said of a choice".into(),
            ));
        };
        match right.last() {
            Some(last) if usize::from(*last) < options.len() => Ok(()),
            _ => Err(InvalidDeed("the right answers must be options of the poll".into())),
        }
    }

    /// Takes the next action.
    ///
    /// # Errors
    /// [`Refused`]; then nothing is changed.
    pub fn apply(&mut self, signed: &SignedAction) -> Result<(), Refused> {
        self.check(signed)?;
        let action = &signed.action;
        match &action.deed {
            Deed::Hide { target, hidden } => self.mark(target).hidden = *hidden,
            Deed::Approve { target, approved } => self.mark(target).approved = *approved,
            Deed::Pin { target, pinned } => self.mark(target).pinned = *pinned,
            Deed::Answer { target, answered } => self.mark(target).answered = *answered,
            Deed::Group { target, group } => self.mark(target).group.clone_from(group),
            Deed::Erase { target } => self.mark(target).erased = true,
            Deed::Poll { poll } => {
                self.polls.insert(
                    action.number,
                    PollState { poll: poll.clone(), withdrawn: false, right: None },
                );
            }
            Deed::Withdraw { poll } => {
                self.polls.entry(*poll).and_modify(|state| state.withdrawn = true);
            }
            Deed::Host { key, name, active } => {
                self.hosts.insert(*key, Host { name: name.clone(), active: *active });
            }
            Deed::Admit { keys } => self.members.admit(keys),
            Deed::Invite { keys } => self.members.invite(keys),
            Deed::Claim { key, .. } => self.members.claim(&action.author, *key),
            Deed::Dismiss { keys } => self.members.dismiss(keys),
            Deed::Moderate { on } => self.moderated = *on,
            Deed::Close => self.closed = true,
            Deed::EraseAll => (self.closed, self.erased) = (true, true),
            Deed::Spotlight { target } => self.spotlight = *target,
            Deed::Minimum { minimum } => self.minimum = *minimum,
            Deed::Reveal { poll, right } => {
                self.polls.entry(*poll).and_modify(|state| state.right = Some(right.clone()));
            }
        }
        self.head = action.digest(&self.servers, &self.room);
        self.length += 1;
        self.bytes += if matches!(action.deed, Deed::Claim { .. }) { 0 } else { size(signed) };
        Ok(())
    }

    fn mark(&mut self, target: &MessageId) -> &mut Marks {
        self.marks.entry(*target).or_default()
    }

    /// The next action of this author, signed. It is not taken yet.
    pub fn act(&self, key: &SigningKey, time: u64, deed: Deed) -> SignedAction {
        let action = Action {
            number: self.length,
            previous: self.head,
            author: key.verifying_key(),
            time,
            deed,
        };
        let signature = key.sign(&action.digest(&self.servers, &self.room));
        SignedAction { action, signature }
    }

    /// Actions taken, claims included: the number of the next one.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The digest of the last action; zeros if there is none.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Whether the key may take part in the room.
    pub fn admits(&self, key: &VerifyingKey) -> bool {
        self.admission.takes_all() || self.members.active().contains(key)
    }

    /// The keys that may take part in a room of members: those that were admitted, and those that
    /// claimed an invitation.
    pub fn members(&self) -> &BTreeSet<VerifyingKey> {
        self.members.active()
    }

    /// Invitations by their keys, those included that were dismissed after they were claimed.
    pub fn invitations(&self) -> &BTreeMap<VerifyingKey, Invitation> {
        self.members.invitations()
    }

    /// The invitation that the key claimed, also if it was dismissed since.
    pub fn invitation_of(&self, key: &VerifyingKey) -> Option<&VerifyingKey> {
        self.members.invitation_of(key)
    }

    /// The keys that may take part because of this deed of this author, which was taken last.
    pub fn admitted_by(&self, author: &VerifyingKey, deed: &Deed) -> Vec<VerifyingKey> {
        match deed {
            Deed::Admit { keys } | Deed::Invite { keys } => self.members.standing_for(keys),
            Deed::Claim { .. } => self.members.standing_for(&[*author]),
            _ => Vec::new(),
        }
    }

    /// The keys that may take part, as they are now; `None` if everybody may.
    pub fn roster(&self) -> Option<Arc<BTreeSet<VerifyingKey>>> {
        (self.admission == Admission::Members).then(|| Arc::clone(self.members.active()))
    }

    /// The host and the co-hosts.
    pub fn hosts(&self) -> &BTreeMap<VerifyingKey, Host> {
        &self.hosts
    }

    /// What hosts have noted, by message.
    pub fn marks(&self) -> &BTreeMap<MessageId, Marks> {
        &self.marks
    }

    /// Polls by id.
    pub fn polls(&self) -> &BTreeMap<u64, PollState> {
        &self.polls
    }

    /// Whether the projector shows approved messages only.
    pub fn moderated(&self) -> bool {
        self.moderated
    }

    /// The message that projectors show alone, unless it is hidden or erased.
    pub fn spotlight(&self) -> Option<MessageId> {
        self.spotlight
    }

    /// The minimum that the next epoch is opened with ([`RoomDescriptor::minimum`]).
    pub fn minimum(&self) -> u32 {
        self.minimum
    }

    /// Whether a host has closed the room.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Whether the servers are to erase the bodies of all messages.
    pub fn all_erased(&self) -> bool {
        self.erased
    }

    /// Whether the servers are to erase the message's body.
    pub fn is_erased(&self, message: &MessageId) -> bool {
        self.erased || self.marks.get(message).is_some_and(|marks| marks.erased)
    }
}

fn size(signed: &SignedAction) -> usize {
    wire::encode(signed).len()
}

#[cfg(test)]
mod tests;
