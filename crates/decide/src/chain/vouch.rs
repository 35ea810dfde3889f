//! Who is left out is not the sequencer's word (spec, step 14): the other servers vouch for it.
//!
//! A record that leaves somebody out, or ends a decision for lack of people, holds only after both
//! other servers have said, each by its own clock, that the date has passed. Before that each of
//! them takes what people hand in and says that it holds it; what a server holds cannot be passed
//! over by a record that comes after its word.
//!
//! Whether a record is vouched for is judged by what its author knew of the others' logs, so all
//! servers judge it alike.

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Stage};
use crate::draft::Draft;
use crate::keys::KeyName;
use crate::operators::SERVERS;
use crate::record::{Content, SignedRecord};

/// The server that puts records into order. The others vouch.
const SEQUENCER: usize = 0;

/// How long a server waits for somebody whose record it held and the sequencer passed over, after
/// the date: seconds since it last held one.
pub const PATIENCE: u64 = 60;
/// After so many seconds it waits for nobody.
pub const DILATORY: u64 = 600;

/// Whether a server says that a date has passed. `latest` is when it last held a record of somebody
/// who is not in the chain yet; all in seconds since 1970, by the server's clock.
pub fn says_due(date: u64, latest: Option<u64>, now: u64) -> bool {
    let awaited = latest.is_some_and(|at| now < at.saturating_add(PATIENCE));
    now >= date && (!awaited || now >= date.saturating_add(DILATORY))
}

/// A date of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Date {
    /// Until then people accept.
    Accept,
    /// Until then they answer.
    Answer,
}

impl Date {
    /// Its number, for the disk.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The date with this number.
    pub fn of(number: u8) -> Option<Self> {
        [Date::Accept, Date::Answer].into_iter().find(|date| date.number() == number)
    }
}

impl Draft {
    /// When a date is, in seconds since 1970.
    pub fn date(&self, date: Date) -> u64 {
        match date {
            Date::Accept => self.accept_by,
            Date::Answer => self.deadline,
        }
    }
}

impl Chain {
    /// The date that the decision waits for.
    pub fn awaits(&self) -> Option<Date> {
        match self.stage() {
            Stage::Accepting => Some(Date::Accept),
            Stage::Answering => Some(Date::Answer),
            Stage::Closed | Stage::Lapsed | Stage::Cancelled => None,
        }
    }
}

/// What a server holds for somebody whom the sequencer has not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The server.
    pub by: PartyId,
    /// The number of the announcement by which it said so.
    pub announcement: u64,
    /// The person for whom the record speaks.
    pub person: u16,
    /// The head after which the record comes.
    pub previous: Digest,
    /// The signed record, encoded.
    pub record: Vec<u8>,
}

impl Held {
    /// The one-time key that the record would spend.
    pub fn spends(&self) -> Option<KeyName> {
        SignedRecord::decode(&self.record).ok()?.record.spends()
    }
}

/// Why a record is not vouched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unvouched {
    /// A server has not said that the date has passed.
    #[error("server {0} has not said that the date has passed by its clock")]
    Early(u8),
    /// A server holds what somebody handed in who is left out.
    #[error("server {by} holds what person {person} handed in, and the record passes it over")]
    Hides {
        /// The server.
        by: u8,
        /// The person's place in the draft.
        person: u16,
    },
}

/// What the servers have said of a decision that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouching {
    /// By date and server: the announcement by which it said that the date has passed.
    due: [[Option<u64>; SERVERS]; 2],
    held: Vec<Held>,
}

impl Vouching {
    /// A server said by this announcement that a date has passed. Its first word counts.
    pub fn note_due(&mut self, by: PartyId, date: Date, announcement: u64) {
        let said = self.due[usize::from(date.number())].get_mut(by.index());
        if let Some(said @ None) = said {
            *said = Some(announcement);
        }
    }

    /// Whether a server has said that a date has passed.
    pub fn is_due(&self, by: PartyId, date: Date) -> bool {
        self.due[usize::from(date.number())].get(by.index()).is_some_and(Option::is_some)
    }

    /// Whether every server that vouches has said so.
    pub fn all_say_due(&self, date: Date) -> bool {
        vouchers().all(|by| self.is_due(by, date))
    }

    /// What a server says to hold by this announcement, if it comes next in the chain and the
    /// server has not said it before. A server that has said that the date has passed takes nothing
    /// more.
    pub fn held(
        &self,
        chain: &Chain,
        (by, announcement): (PartyId, u64),
        signed: &SignedRecord,
    ) -> Option<Held> {
        let person = signed.record.speaks_for()?;
        let previous = signed.record.previous;
        let said = |held: &Held| (held.by, held.person) == (by, person);
        let late = chain.awaits().is_none_or(|date| self.is_due(by, date));
        let next = previous == chain.head() && chain.check(signed).is_ok();
        let new = next && !late && !self.held.iter().any(said);
        let held = Held { by, announcement, person, previous, record: signed.encode() };
        new.then_some(held)
    }

    /// Takes note of what a server holds.
    pub fn hold(&mut self, held: Held) {
        self.held.push(held);
    }

    /// What is held for a chain that ends so.
    pub fn waiting(&self, head: &Digest) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| held.previous == *head)
    }

    /// The chain has another head: what was held came after another one.
    pub fn moved(&mut self) {
        self.held.clear();
    }

    /// Whether a record, which the rules allow next, may stand although it leaves people out or
    /// ends the decision. `after` is how many announcements of each server its author knew. What is
    /// held counts if it is `takeable`.
    ///
    /// # Errors
    /// [`Unvouched`].
    pub fn check(
        &self,
        chain: &Chain,
        signed: &SignedRecord,
        after: &[u64],
        takeable: impl Fn(&Held) -> bool,
    ) -> Result<(), Unvouched> {
        let content = &signed.record.content;
        let left_out = signed.record.leaves_out();
        let lapses = matches!(content, Content::Lapse);
        let Some(date) = chain.awaits().filter(|_| lapses || !left_out.is_empty()) else {
            return Ok(());
        };
        let due = &self.due[usize::from(date.number())];
        let silent = vouchers().find(|by| {
            let known = after.get(by.index()).copied().unwrap_or(0);
            due[by.index()].is_none_or(|announcement| announcement >= known)
        });
        if let Some(by) = silent {
            return Err(Unvouched::Early(by.0));
        }
        let hidden = self.waiting(&signed.record.previous).find(|held| {
            let known = after.get(held.by.index()).is_some_and(|known| held.announcement < *known);
            known && (lapses || left_out.contains(&held.person)) && takeable(held)
        });
        hidden.map_or(Ok(()), |held| Err(Unvouched::Hides { by: held.by.0, person: held.person }))
    }
}

fn vouchers() -> impl Iterator<Item = PartyId> {
    (0u8..).map(PartyId).take(SERVERS).filter(|by| by.index() != SEQUENCER)
}
