//! The host log: the one rule by which actions are accepted, and what they amount to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::wire;
use serde::Serialize;

use super::action::{Action, Deed, InvalidDeed, MessageId, SignedAction};
use super::poll::Poll;
use crate::room::{Admission, RoomDescriptor, RoomId, Servers};

/// Actions in a room's log at most.
pub const MOST_ACTIONS: u64 = 20_000;
/// Bytes of all actions in a room's log at most, as the servers keep them.
pub const MOST_BYTES: usize = 8 << 20;
/// Members of a room at most.
pub const MOST_MEMBERS: usize = 20_000;
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
}

/// A co-host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// How the co-host is called; empty for the first host.
    pub name: String,
    /// May act.
    pub active: bool,
}

/// Why an action is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another action has this place.
    #[error("another action came first: read the log again and act on what it says (the next number is {next})")]
    NotNext {
        /// The number of the next action.
        next: u64,
    },
    /// The author is no host of the room, or not any more.
    #[error("the signer is not a host of this room")]
    NotHost,
    /// Only the room's first host may do this.
    #[error("only the first host of the room may name co-hosts")]
    NotFirstHost,
    /// The signature is not the author's.
    #[error("the signature is not the author's on this action, this room and these servers")]
    Signature,
    /// See [`InvalidDeed`].
    #[error(transparent)]
    Deed(#[from] InvalidDeed),
    /// The room is closed.
    #[error("the room is closed: it takes marks and erasures only")]
    Closed,
    /// The log is full.
    #[error(transparent)]
    Full(#[from] MostActions),
}

/// A bound of the log is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the room has as many {0} as it can have")]
pub struct MostActions(pub &'static str);

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
    /// Shared with whoever keeps it as it was at some time.
    members: Arc<BTreeSet<VerifyingKey>>,
    marks: BTreeMap<MessageId, Marks>,
    polls: BTreeMap<u64, PollState>,
    moderated: bool,
    closed: bool,
    erased: bool,
}

impl HostLog {
    /// The empty log of a room.
    pub fn new(servers: &Servers, room: &RoomDescriptor) -> Self {
        let hosts = room.host.map(|key| (key, Host { name: String::new(), active: true })).into_iter().collect();
        Self {
            servers: servers.digest(),
            room: room.id(),
            first: room.host,
            admission: room.admission,
            length: 0,
            bytes: 0,
            head: Digest([0; 32]),
            hosts,
            members: Arc::default(),
            marks: BTreeMap::new(),
            polls: BTreeMap::new(),
            moderated: false,
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
        if self.length >= MOST_ACTIONS {
            return Err(MostActions("actions").into());
        }
        if self.bytes + size(signed) > MOST_BYTES {
            return Err(MostActions("bytes of actions").into());
        }
        if action.number != self.length || action.previous != self.head {
            return Err(Refused::NotNext { next: self.length });
        }
        if !self.hosts.get(&action.author).is_some_and(|host| host.active) {
            return Err(Refused::NotHost);
        }
        action.deed.validate()?;
        self.check_deed(action)?;
        let digest = action.digest(&self.servers, &self.room);
        if action.author.verifies(&digest, &signed.signature) { Ok(()) } else { Err(Refused::Signature) }
    }

    fn check_deed(&self, action: &Action) -> Result<(), Refused> {
        let only_marks = action.deed.target().is_some() || matches!(action.deed, Deed::EraseAll | Deed::Host { .. });
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
            Deed::Admit { keys } if self.members.len() + keys.len() > MOST_MEMBERS => {
                Err(MostActions("members").into())
            }
            Deed::Poll { poll } => {
                let same = |other: &PollState| !other.withdrawn && other.poll.epoch == poll.epoch;
                if self.polls.values().any(same) {
                    return Err(InvalidDeed("another poll is answered in that epoch: take a later one".into()).into());
                }
                Ok(())
            }
            Deed::Withdraw { poll } if !self.polls.contains_key(poll) => {
                Err(InvalidDeed("there is no such poll".into()).into())
            }
            _ => Ok(()),
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
                self.polls.insert(action.number, PollState { poll: poll.clone(), withdrawn: false });
            }
            Deed::Withdraw { poll } => {
                self.polls.entry(*poll).and_modify(|state| state.withdrawn = true);
            }
            Deed::Host { key, name, active } => {
                self.hosts.insert(*key, Host { name: name.clone(), active: *active });
            }
            Deed::Admit { keys } => Arc::make_mut(&mut self.members).extend(keys),
            Deed::Dismiss { keys } => {
                let members = Arc::make_mut(&mut self.members);
                for key in keys {
                    members.remove(key);
                }
            }
            Deed::Moderate { on } => self.moderated = *on,
            Deed::Close => self.closed = true,
            Deed::EraseAll => (self.closed, self.erased) = (true, true),
        }
        self.head = action.digest(&self.servers, &self.room);
        self.length += 1;
        self.bytes += size(signed);
        Ok(())
    }

    fn mark(&mut self, target: &MessageId) -> &mut Marks {
        self.marks.entry(*target).or_default()
    }

    /// The next action of this author, signed. It is not taken yet.
    pub fn act(&self, key: &SigningKey, time: u64, deed: Deed) -> SignedAction {
        let action = Action { number: self.length, previous: self.head, author: key.verifying_key(), time, deed };
        let signature = key.sign(&action.digest(&self.servers, &self.room));
        SignedAction { action, signature }
    }

    /// Actions taken: the number of the next one.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The digest of the last action; zeros if there is none.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Whether the key may take part in the room.
    pub fn admits(&self, key: &VerifyingKey) -> bool {
        self.admission == Admission::Open || self.members.contains(key)
    }

    /// The keys that were admitted.
    pub fn members(&self) -> &BTreeSet<VerifyingKey> {
        &self.members
    }

    /// The keys that may take part, as they are now; `None` if everybody may.
    pub fn roster(&self) -> Option<Arc<BTreeSet<VerifyingKey>>> {
        (self.admission == Admission::Members).then(|| Arc::clone(&self.members))
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
mod tests {
    use super::*;
    use ostrakon_party::SessionId;

    struct Scene {
        servers: Servers,
        room: RoomDescriptor,
        host: SigningKey,
        log: HostLog,
    }

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn scene(admission: Admission) -> Scene {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: vec![key(1).verifying_key()] };
        let host = key(7);
        let room = RoomDescriptor { host: Some(host.verifying_key()), admission, ..RoomDescriptor::new("r") };
        let log = HostLog::new(&servers, &room);
        Scene { servers, room, host, log }
    }

    fn poll(epoch: u64) -> Deed {
        let form = super::super::PollForm::Text;
        Deed::Poll { poll: Poll { question: "What?".into(), form, epoch } }
    }

    const TARGET: MessageId = MessageId { epoch: 3, index: 0 };

    #[test]
    fn actions_amount_to_what_was_done_last() {
        let Scene { host, mut log, .. } = scene(Admission::Open);
        let deeds = [
            Deed::Hide { target: TARGET, hidden: true },
            Deed::Hide { target: TARGET, hidden: false },
            Deed::Pin { target: TARGET, pinned: true },
            Deed::Group { target: TARGET, group: Some("food".into()) },
            poll(8),
            Deed::Withdraw { poll: 4 },
            Deed::Moderate { on: true },
            Deed::Erase { target: TARGET },
        ];
        for deed in deeds {
            log.apply(&log.act(&host, 5, deed)).unwrap();
        }
        let marks = Marks { pinned: true, erased: true, group: Some("food".into()), ..Marks::default() };
        assert_eq!(log.marks()[&TARGET], marks);
        assert!(log.polls()[&4].withdrawn && log.moderated() && log.is_erased(&TARGET));
        assert!(!log.is_erased(&MessageId { epoch: 3, index: 1 }));
        log.apply(&log.act(&host, 6, Deed::EraseAll)).unwrap();
        assert!(log.closed() && log.is_erased(&MessageId { epoch: 9, index: 1 }));
    }

    #[test]
    fn only_hosts_act_and_only_the_first_names_others() {
        let Scene { host, mut log, .. } = scene(Admission::Open);
        let co_host = |active| Deed::Host { key: key(8).verifying_key(), name: "Kleon".into(), active };
        let pin = || Deed::Pin { target: TARGET, pinned: true };
        assert_eq!(log.apply(&log.act(&key(8), 5, pin())), Err(Refused::NotHost));
        log.apply(&log.act(&host, 5, co_host(true))).unwrap();
        log.apply(&log.act(&key(8), 5, pin())).unwrap();
        let another = Deed::Host { key: key(9).verifying_key(), name: "Nikias".into(), active: true };
        assert_eq!(log.apply(&log.act(&key(8), 5, another)), Err(Refused::NotFirstHost));
        log.apply(&log.act(&host, 5, co_host(false))).unwrap();
        assert_eq!(log.apply(&log.act(&key(8), 5, pin())), Err(Refused::NotHost));
        let own = Deed::Host { key: host.verifying_key(), name: "me".into(), active: false };
        assert!(matches!(log.apply(&log.act(&host, 5, own)), Err(Refused::Deed(_))));
    }

    #[test]
    fn no_action_is_invented_changed_reordered_or_moved_to_another_room() {
        let Scene { servers, room, host, mut log } = scene(Admission::Open);
        let first = log.act(&host, 5, Deed::Pin { target: TARGET, pinned: true });
        let mut changed = first.clone();
        changed.action.deed = Deed::Pin { target: TARGET, pinned: false };
        assert_eq!(log.apply(&changed), Err(Refused::Signature));
        let mut forged = first.clone();
        forged.signature = key(8).sign(&first.action.digest(&servers.digest(), &room.id()));
        assert_eq!(log.apply(&forged), Err(Refused::Signature));
        let mut elsewhere = HostLog::new(&servers, &RoomDescriptor { nonce: [1; 16], ..room.clone() });
        assert_eq!(elsewhere.apply(&first), Err(Refused::Signature));
        let other = Servers { session: SessionId(Digest([8; 32])), ..servers };
        assert_eq!(HostLog::new(&other, &room).apply(&first), Err(Refused::Signature));
        log.apply(&first).unwrap();
        assert_eq!(log.apply(&first), Err(Refused::NotNext { next: 1 }), "a replay");
        let second = log.act(&host, 5, Deed::Moderate { on: true });
        let mut fork = HostLog::new(&log_servers(), &room);
        fork.apply(&fork.act(&host, 6, Deed::Pin { target: TARGET, pinned: true })).unwrap();
        assert_eq!(fork.apply(&second), Err(Refused::NotNext { next: 1 }), "it continues another history");
    }

    fn log_servers() -> Servers {
        scene(Admission::Open).servers
    }

    #[test]
    fn members_are_those_that_were_admitted_and_not_dismissed() {
        let Scene { host, mut log, .. } = scene(Admission::Members);
        let keys = |seeds: &[u8]| seeds.iter().map(|seed| key(*seed).verifying_key()).collect();
        assert!(!log.admits(&key(1).verifying_key()));
        log.apply(&log.act(&host, 5, Deed::Admit { keys: keys(&[1, 2]) })).unwrap();
        log.apply(&log.act(&host, 5, Deed::Dismiss { keys: keys(&[2]) })).unwrap();
        assert!(log.admits(&key(1).verifying_key()) && !log.admits(&key(2).verifying_key()));
        assert!(scene(Admission::Open).log.admits(&key(2).verifying_key()));
        let many = Deed::Admit { keys: vec![key(1).verifying_key(); 257] };
        assert!(matches!(log.apply(&log.act(&host, 5, many)), Err(Refused::Deed(_))));
    }

    #[test]
    fn an_epoch_answers_one_poll_and_a_closed_room_takes_marks_only() {
        let Scene { host, mut log, .. } = scene(Admission::Open);
        log.apply(&log.act(&host, 5, poll(8))).unwrap();
        assert!(matches!(log.apply(&log.act(&host, 5, poll(8))), Err(Refused::Deed(_))));
        log.apply(&log.act(&host, 5, Deed::Withdraw { poll: 0 })).unwrap();
        log.apply(&log.act(&host, 5, poll(8))).unwrap();
        assert!(matches!(log.apply(&log.act(&host, 5, Deed::Withdraw { poll: 7 })), Err(Refused::Deed(_))));
        log.apply(&log.act(&host, 5, Deed::Close)).unwrap();
        assert_eq!(log.apply(&log.act(&host, 5, poll(9))), Err(Refused::Closed));
        log.apply(&log.act(&host, 5, Deed::Hide { target: TARGET, hidden: true })).unwrap();
    }

    #[test]
    fn a_room_without_a_host_takes_no_actions() {
        let Scene { servers, room, host, .. } = scene(Admission::Open);
        let mut log = HostLog::new(&servers, &RoomDescriptor { host: None, ..room });
        assert_eq!(log.apply(&log.act(&host, 5, Deed::Close)), Err(Refused::NotHost));
    }
}
