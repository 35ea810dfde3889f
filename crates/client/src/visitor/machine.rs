//! The state machine: what it knows, and what it has others do.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::{Secret, SigningKey, Stream};
use ostrakon_decide::{
    CertifiedKey, Chain, DecisionId, Invitation, Memory, Opening, Operators, Outcome, Receipt,
    Refused, SignedRecord, Visit,
};
use ostrakon_party::PartyId;

use super::handing::Handing;
use super::keeping::Keeping;
use super::look::Look;
use super::news::{Action, Deed, News};
use super::reading::{Doubt, Reading};
use super::request::{Answer, Call, Kind, Request};
use crate::pauses::Draws;
use crate::refusal::Refusal;
use crate::time::{Clock, Millis};

/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// Something that is to be done, with the answers that belong to it.
pub(crate) struct Wanted {
    pub deed: Deed,
    pub answers: Vec<u8>,
}

/// What a request that is not answered belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The look of this number.
    Look(u64),
    /// The wait for news.
    News,
    /// The attempt of this number.
    Deed(u64),
    /// This server's signature on the receipt.
    Receipt(PartyId),
}

struct Asked {
    party: PartyId,
    kind: Kind,
    purpose: Purpose,
}

/// A visitor of a decision (`docs/spec/visitor.md`).
pub struct Visitor {
    pub(crate) operators: Operators,
    pub(crate) id: DecisionId,
    pub(crate) invitation: Option<Invitation>,
    /// The device's account.
    pub(crate) device: SigningKey,
    /// The account under which it takes part, once that is known, if it is another one.
    pub(crate) acting: Option<Option<SigningKey>>,
    pub(crate) draws: Draws,
    pub(crate) rng: Stream,
    pub(crate) clock: Clock,
    pub(crate) now: Millis,
    /// The device's clock, as it stands.
    unix: Millis,
    pub(crate) reading: Reading,
    pub(crate) look: Look,
    pub(crate) keeping: Keeping,
    pub(crate) receipt: Option<Receipt>,
    /// What is to be done, the first one now.
    pub(crate) wanted: VecDeque<Wanted>,
    /// How far the first one is.
    pub(crate) handing: Option<Handing>,
    /// What tells the requests of one attempt from those of others.
    pub(crate) begun: u64,
    /// The one-time key with which the account accepts, once it is made.
    pub(crate) key: Option<CertifiedKey>,
    pub(crate) over: bool,
    asked: BTreeMap<u64, Asked>,
    next: u64,
    pub(crate) actions: VecDeque<Action>,
}

impl Visitor {
    /// A visitor under a device's account. `invitation` is that of the link; `seed` is 32 fresh
    /// random bytes, from which also one-time keys and the blinding of answers are drawn.
    pub fn new(
        operators: Operators,
        id: DecisionId,
        invitation: Option<Invitation>,
        device: SigningKey,
        seed: &Secret,
    ) -> Self {
        let part = |context| {
            let mut bytes = [0; 32];
            seed.fill(context, &[], &mut bytes);
            Secret::new(bytes)
        };
        let draws = Draws::new(part("ostrakon/v1/client/visitor pauses"));
        let secret = part("ostrakon/v1/client/visitor secrets");
        let rng = Stream::of(secret, "ostrakon/v1/client/visitor secrets");
        let (acting, clock, now, unix, keeping, receipt) = Default::default();
        let (wanted, handing, begun, key, over) = Default::default();
        let (asked, next, actions) = Default::default();
        Self {
            operators,
            id,
            invitation,
            device,
            acting,
            draws,
            rng,
            clock,
            now,
            unix,
            reading: Reading::new(operators, id),
            look: Look::new(operators.keys.len()),
            keeping,
            receipt,
            wanted,
            handing,
            begun,
            key,
            over,
            asked,
            next,
            actions,
        }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.at(now);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        if let Some(kind) = self.asked.get(&id).map(|asked| asked.kind) {
            self.answered(now, id, Answer::read(kind, status, body));
        }
    }

    /// What came of a request.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        // What is not waited for any more counts for nothing.
        let Some(Asked { party, purpose, .. }) = self.asked.remove(&id) else { return };
        self.at(now);
        match purpose {
            Purpose::Look(number) => self.seen(party, number, answer),
            Purpose::News => self.heard(&answer),
            Purpose::Deed(number) => self.told(party, number, answer),
            Purpose::Receipt(_) => self.signed(party, &answer),
        }
        self.step();
    }

    /// Lets the device remember what was seen and, if answers are to be given, fixes them and makes
    /// the record. `memory` is to be written down before [`Visitor::kept`] is called.
    pub fn keep(&mut self, memory: &mut Memory) {
        self.take_note(memory);
    }

    /// Whether what [`Visitor::keep`] has changed is written down. Otherwise nothing that depends
    /// on it leaves, and it is asked for again.
    pub fn kept(&mut self, now: Millis, written: bool) {
        self.at(now);
        self.noted(written);
        self.step();
    }

    /// Accepts.
    pub fn accept(&mut self, now: Millis) -> bool {
        self.want(now, Deed::Accept, Vec::new())
    }

    /// Gives one answer for each ballot. From here on they cannot be changed.
    pub fn answer(&mut self, now: Millis, answers: &[u8]) -> bool {
        self.want(now, Deed::Answer, answers.to_vec())
    }

    /// Does what only a creator or who takes part does besides. Like all deeds it waits for its
    /// turn; `false` if it is wanted already.
    pub fn carry_out(&mut self, now: Millis, deed: Deed) -> bool {
        self.want(now, deed, Vec::new())
    }

    fn want(&mut self, now: Millis, deed: Deed, answers: Vec<u8>) -> bool {
        self.at(now);
        if self.over || self.wanted.iter().any(|wanted| wanted.deed == deed) {
            return false;
        }
        self.wanted.push_back(Wanted { deed, answers });
        self.step();
        true
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        if self.over || self.keeping.is_asked() {
            return self.clock.outside(latest);
        }
        let times = [self.looks_at(), self.keeping.due(), self.hands_in_at()];
        self.clock.outside(times.into_iter().flatten().fold(latest, Millis::min))
    }

    /// What was read and verified; believe it after [`News::Read`] only.
    pub fn visit(&self) -> &Visit {
        self.reading.visit()
    }

    /// What the records amount to; `None` before the first.
    pub fn chain(&self) -> Option<&Chain> {
        self.reading.chain()
    }

    /// The records that were read.
    pub fn records(&self) -> &[Vec<u8>] {
        self.reading.records()
    }

    /// The account under which the device takes part.
    pub fn account(&self) -> &SigningKey {
        self.acting.as_ref().and_then(Option::as_ref).unwrap_or(&self.device)
    }

    /// The device's own account.
    pub fn device(&self) -> &SigningKey {
        &self.device
    }

    /// The account's place, once it takes part.
    pub fn person(&self) -> Option<u16> {
        self.chain()?.person(&self.account().verifying_key())
    }

    /// Servers that are not believed any more, and why.
    pub fn distrusted(&self) -> &BTreeMap<PartyId, Doubt> {
        self.reading.distrusted()
    }

    /// Two servers that show different histories, with nothing to tell whom to believe.
    pub fn conflict(&self) -> Option<(PartyId, PartyId)> {
        self.reading.conflict()
    }

    /// Whether enough servers answered at the last look, and none shows more than was read.
    pub fn is_whole(&self) -> bool {
        self.look.answered() >= self.reading.believed() && !self.reading.is_more()
    }

    /// By party, what servers said at the last look that do not tell how it stands; nothing, if
    /// they did not answer.
    pub fn silence(&self) -> &BTreeMap<PartyId, Option<Refusal>> {
        self.look.silence()
    }

    /// By party, why servers do not open what is closed, as they say.
    pub fn refusals(&self) -> &BTreeMap<PartyId, String> {
        self.look.refusals()
    }

    /// The answers that are fixed and not known to have arrived, as it was when it was last written
    /// down.
    pub fn pending(&self) -> Option<&[u8]> {
        self.keeping.pending()
    }

    /// The receipt for the answers, with the signatures that servers have given so far.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// The result, once there is one.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.reading.outcome()
    }

    /// What the servers have opened.
    pub fn openings(&self) -> Vec<(PartyId, Opening)> {
        self.reading.openings()
    }

    /// Why there will be no result, once two servers show openings that make none.
    pub fn unresolved(&self) -> Option<&Refused> {
        self.reading.unresolved()
    }

    /// What is done now.
    pub fn doing(&self) -> Option<Deed> {
        self.wanted.front().map(|wanted| wanted.deed)
    }

    /// What is to be done, the first one now.
    pub fn wanted(&self) -> impl Iterator<Item = Deed> + '_ {
        self.wanted.iter().map(|wanted| wanted.deed)
    }

    /// Whether this is done, or waits for its turn.
    pub fn is_wanted(&self, deed: Deed) -> bool {
        self.wanted.iter().any(|wanted| wanted.deed == deed)
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        // What is written down is about one state.
        if self.over || self.keeping.is_asked() {
            return;
        }
        self.read_on();
        self.hand_in();
        self.write_down();
    }

    fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    /// The device's clock, in seconds since 1970.
    pub(crate) fn seconds(&self) -> u64 {
        self.unix / 1_000
    }

    /// Finds out under which account the device takes part.
    pub(crate) fn find_account(&mut self) {
        if self.acting.is_none()
            && let Some(chain) = self.reading.chain()
        {
            let seed = chain.seed_of(&self.device);
            self.acting = Some(seed.map(|seed| SigningKey::from_seed(seed.expose())));
        }
    }

    /// Whether the first deed is in the chain.
    pub(crate) fn is_done(&self, deed: Deed) -> bool {
        let Some(chain) = self.chain() else { return false };
        let own = self.person().map(|person| &chain.people()[usize::from(person)]);
        match deed {
            Deed::Accept => own.is_some(),
            Deed::Answer => own.is_some_and(|own| own.answered().is_some()),
            Deed::Remove(person) => {
                chain.people().get(usize::from(person)).is_some_and(|one| one.is_removed())
            }
            Deed::Cancel => chain.stage() == ostrakon_decide::Stage::Cancelled,
            Deed::Verified => own.is_some_and(|own| own.has_verified()),
        }
    }

    pub(crate) fn tell(&mut self, news: News) {
        self.actions.push_back(Action::Tell(news));
    }

    /// What was found is not gone on with because a later look is better.
    pub(crate) fn refuse(&mut self, doubt: Doubt) {
        self.over = true;
        self.wanted.clear();
        self.handing = None;
        self.tell(News::Refused(doubt));
    }

    pub(crate) fn ask(&mut self, party: PartyId, purpose: Purpose, call: Call) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, Asked { party, kind: call.kind(), purpose });
        self.actions.push_back(Action::Ask(Request { id, party, call }));
    }

    pub(crate) fn is_asked(&self, purpose: Purpose) -> bool {
        self.asked.values().any(|asked| asked.purpose == purpose)
    }

    /// A record of this deed that can be the next one.
    pub(crate) fn fits(&self, record: &SignedRecord) -> bool {
        self.chain().is_some_and(|chain| chain.check(record).is_ok())
    }
}
