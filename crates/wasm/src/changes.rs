//! What has changed in a host log since the page looked at it before: a long log is not written out
//! anew for each action.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_broadcast::hosting;
use ostrakon_broadcast::hosting::{Action, Deed, MessageId, PollForm};
use ostrakon_crypto::VerifyingKey;
use serde::Serialize;

use crate::inner;

/// What actions were about.
#[derive(Default)]
pub struct Touched {
    marks: BTreeSet<MessageId>,
    polls: BTreeSet<u64>,
    keys: BTreeSet<VerifyingKey>,
    /// Invitations that were claimed, with the keys that did. This is not forgotten.
    claims: BTreeMap<VerifyingKey, VerifyingKey>,
}

impl Touched {
    /// What was noted, which is forgotten.
    pub fn take(&mut self) -> Self {
        let claims = self.claims.clone();
        std::mem::replace(self, Self { claims, ..Self::default() })
    }

    /// Takes note of an action that a log has taken.
    pub fn note(&mut self, action: &Action) {
        self.marks.extend(action.deed.target());
        match &action.deed {
            Deed::Poll { .. } => drop(self.polls.insert(action.number)),
            Deed::Withdraw { poll } | Deed::Reveal { poll, .. } => drop(self.polls.insert(*poll)),
            Deed::Admit { keys } | Deed::Invite { keys } | Deed::Dismiss { keys } => {
                // An invitation and the key that claimed it stand and fall together.
                let of = |pair: &(&VerifyingKey, &VerifyingKey)| {
                    keys.contains(pair.0) || keys.contains(pair.1)
                };
                self.keys.extend(self.claims.iter().filter(of).flat_map(|pair| [pair.0, pair.1]));
                self.keys.extend(keys);
            }
            Deed::Claim { key, .. } => {
                self.keys.extend([action.author, *key]);
                self.claims.insert(action.author, *key);
            }
            _ => {}
        }
    }

    /// As if everything in `log` were new.
    #[cfg(test)]
    pub fn everything(log: &hosting::HostLog) -> Self {
        Self {
            marks: log.marks().keys().copied().collect(),
            polls: log.polls().keys().copied().collect(),
            keys: log.members().iter().chain(log.invitations().keys()).copied().collect(),
            claims: BTreeMap::new(),
        }
    }
}

#[derive(Serialize)]
struct HostView<'a> {
    key: String,
    name: &'a str,
    active: bool,
}

#[derive(Serialize)]
struct MarksView<'a> {
    #[serde(flatten)]
    message: MessageId,
    #[serde(flatten)]
    marks: &'a hosting::Marks,
}

#[derive(Serialize)]
struct PollView<'a> {
    number: u64,
    question: &'a str,
    form: &'a PollForm,
    epoch: u64,
    withdrawn: bool,
    right: Option<&'a BTreeSet<u8>>,
}

#[derive(Serialize)]
struct MemberView {
    key: String,
    active: bool,
}

#[derive(Serialize)]
struct InvitationView {
    key: String,
    number: u32,
    claimed: Option<String>,
    active: bool,
}

#[derive(Serialize)]
struct Changes<'a> {
    length: u64,
    head: String,
    closed: bool,
    erased: bool,
    moderated: bool,
    minimum: u32,
    spotlight: Option<MessageId>,
    hosts: Vec<HostView<'a>>,
    members: Vec<MemberView>,
    invitations: Vec<InvitationView>,
    marks: Vec<MarksView<'a>>,
    polls: Vec<PollView<'a>>,
}

fn host_view<'a>((key, host): (&VerifyingKey, &'a hosting::Host)) -> HostView<'a> {
    HostView { key: key.to_hex(), name: &host.name, active: host.active }
}

fn poll_view(number: u64, state: &hosting::PollState) -> PollView<'_> {
    let hosting::PollState { poll, withdrawn, right } = state;
    PollView {
        number,
        question: &poll.question,
        form: &poll.form,
        epoch: poll.epoch,
        withdrawn: *withdrawn,
        right: right.as_ref(),
    }
}

/// Touched keys that are invitations, in the order in which they were made; those that are
/// forgotten are not among them.
fn invitations(log: &hosting::HostLog, keys: &BTreeSet<VerifyingKey>) -> Vec<InvitationView> {
    let shown = |key: &VerifyingKey| {
        let invitation = log.invitations().get(key)?;
        let claimed = invitation.claimed.map(|key| key.to_hex());
        Some(InvitationView {
            key: key.to_hex(),
            number: invitation.number,
            claimed,
            active: invitation.active,
        })
    };
    let mut shown: Vec<_> = keys.iter().filter_map(shown).collect();
    shown.sort_unstable_by_key(|invitation| invitation.number);
    shown
}

/// The parts of `log` that were touched, and what is whole in any case, as JSON.
pub fn changes(log: &hosting::HostLog, touched: &Touched) -> String {
    let member =
        |key: &VerifyingKey| MemberView { key: key.to_hex(), active: log.members().contains(key) };
    let marks = |message: &MessageId| {
        Some(MarksView { message: *message, marks: log.marks().get(message)? })
    };
    let poll = |number: &u64| Some(poll_view(*number, log.polls().get(number)?));
    inner::json(&Changes {
        length: log.length(),
        head: log.head().to_hex(),
        closed: log.closed(),
        erased: log.all_erased(),
        moderated: log.moderated(),
        minimum: log.minimum(),
        spotlight: log.spotlight(),
        hosts: log.hosts().iter().map(host_view).collect(),
        members: touched
            .keys
            .iter()
            .filter(|key| !log.invitations().contains_key(key))
            .map(member)
            .collect(),
        invitations: invitations(log, &touched.keys),
        marks: touched.marks.iter().filter_map(marks).collect(),
        polls: touched.polls.iter().filter_map(poll).collect(),
    })
}
