//! Handing in (`docs/spec/visitor.md`, V5): a record is made after what was read, and given to the
//! server that puts records into order; whatever that says, others hold it unless two servers show
//! that the chain has gone on.

use ostrakon_decide::keys::GRACE;
use ostrakon_decide::{Content, Invitation, Person, Refused, Seat, SignedRecord, Stage as Course};
use ostrakon_party::PartyId;

use super::handing::{Handing, Stage, Verdict};
use super::machine::{Purpose, Visitor};
use super::making::{Maker, Making};
use super::news::{Deed, Failure, News, SEQUENCER};
use super::request::{Answer, Call};
use crate::pauses::Errand;
use crate::time::Millis;

/// How often a record is made or handed in before it is given up.
const ATTEMPTS: u32 = 200;
/// How often it is looked whether two servers show what the first server says to have.
const LOOKS: u32 = 5;
/// Once a server holds the record, the other one has so long.
const LATE: Millis = 1_500;

impl Visitor {
    /// When handing in goes on.
    pub(crate) fn hands_in_at(&self) -> Option<Millis> {
        let handing = self.handing.as_ref()?;
        match &handing.stage {
            Stage::Making(making) => making.due(),
            Stage::Others { until, .. } => *until,
            Stage::Again => handing.pause.due(),
            _ => None,
        }
    }

    /// Does what is due of what is to be done.
    pub(crate) fn hand_in(&mut self) {
        if self.over {
            return;
        }
        if self.handing.is_none() && !self.wanted.is_empty() {
            self.begun += 1;
            let (number, stage) = (self.begun, Stage::Reading(self.look.number()));
            let (attempts, record) = Default::default();
            let pause = Errand::new();
            self.handing = Some(Handing { number, stage, attempts, pause, record });
            self.look.hurry(self.now);
            self.read_on();
        }
        let now = self.now;
        let Some(handing) = &mut self.handing else { return };
        let number = handing.number;
        match &mut handing.stage {
            Stage::Again if handing.pause.due().is_some_and(|due| due <= now) => {
                handing.stage = Stage::Reading(self.look.number());
                self.look.hurry(now);
                self.read_on();
            }
            Stage::Others { until: Some(until), .. } if *until <= now => self.conclude(),
            Stage::Making(making) => {
                let calls = making.calls(now);
                for (party, call) in calls {
                    self.ask(party, Purpose::Deed(number), call);
                }
            }
            _ => {}
        }
    }

    /// Whether answers are to be fixed.
    pub(crate) fn is_fixing(&self) -> bool {
        self.handing.as_ref().is_some_and(|handing| matches!(handing.stage, Stage::Fixing))
    }

    /// It was looked what there is.
    pub(crate) fn go_on(&mut self, look: u64) {
        let length = self.reading.length();
        let Some(deed) = self.doing() else { return };
        if self.is_done(deed) {
            self.wanted.pop_front();
            self.handing = None;
            self.tell(News::Done(deed));
            return self.hand_in();
        }
        let Some(handing) = &mut self.handing else { return };
        match &mut handing.stage {
            Stage::Reading(after) | Stage::Watching { after, .. } if look <= *after => {
                self.look.hurry(self.now);
            }
            Stage::Reading(_) => self.prepare(deed),
            Stage::Watching { length: before, left, .. } if length <= *before => {
                *left -= 1;
                if *left == 0 {
                    self.ask_others();
                }
            }
            // Somebody else's record came first. Who met somebody comes back at another time.
            Stage::Watching { .. } => self.try_again(),
            _ => {}
        }
    }

    /// Makes the record, or has made what belongs to it.
    fn prepare(&mut self, deed: Deed) {
        let Some(handing) = &mut self.handing else { return };
        handing.attempts += 1;
        if handing.attempts > ATTEMPTS {
            return self.fail(Failure::Busy);
        }
        let before = handing.record.take();
        if deed != Deed::Answer
            && let Some(record) = before.filter(|record| self.fits(record))
        {
            return self.post(record);
        }
        match deed {
            Deed::Answer => {
                self.stage(Stage::Fixing);
                self.keeping.want_more();
            }
            Deed::Accept => self.take_place(),
            Deed::Remove(person) => self.say(Content::Remove { person }),
            Deed::Cancel => self.say(Content::Cancel),
            Deed::Verified => self.say(Content::Verified),
        }
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(handing) = &mut self.handing {
            handing.stage = stage;
        }
    }

    /// Accepts, with a one-time key that is made at first.
    fn take_place(&mut self) {
        let owner = self.account().verifying_key();
        let seat = self.visit().seat(&owner, self.invited());
        let draft = self.chain().filter(|chain| chain.stage() == Course::Accepting);
        let terms = draft.map(|chain| {
            let draft = chain.draft();
            (draft.threshold, draft.deadline.saturating_add(2 * GRACE))
        });
        let (terms, key) = match (seat, terms) {
            (Ok(_), Some(terms)) => (terms, self.key.clone()),
            (Err(refused), _) => return self.fail(Failure::Refused(refused)),
            (Ok(_), None) => {
                let text = "nobody can join this decision any more";
                return self.fail(Failure::Refused(Refused::Device(text.into())));
            }
        };
        let Some(key) = key else {
            self.stage(Stage::Making(Box::new(Making::new(terms))));
            return self.make_key();
        };
        match self.visit().accept(self.account(), key, self.invited(), self.seconds()) {
            Ok(record) => self.post(record),
            Err(refused) => self.fail(Failure::Refused(refused)),
        }
    }

    /// The link's invitation, if there is a place for it: otherwise the account may have one.
    fn invited(&self) -> Option<&Invitation> {
        let invitation = self.invitation.as_ref()?;
        let seat = Seat::Invitation(invitation.key().verifying_key());
        let is_seat = |person: &Person| person.seat == seat;
        self.chain()?.draft().people.iter().any(is_seat).then_some(invitation)
    }

    /// Goes on with the one-time key; accepts once it is certified.
    fn make_key(&mut self) {
        let Self { operators, rng, acting, device, handing, .. } = self;
        let owner = acting.as_ref().and_then(Option::as_ref).unwrap_or(device);
        let Some(Handing { stage: Stage::Making(making), .. }) = handing else { return };
        match making.proceed(&mut Maker { operators, owner, rng }) {
            Ok(Some(key)) => {
                self.key = Some(key);
                self.take_place();
            }
            Ok(None) => self.hand_in(),
            Err(invalid) => self.fail(Failure::Key(invalid)),
        }
    }

    /// Says something of the account's, or of the creator's.
    fn say(&mut self, content: Content) {
        let Some(chain) = self.chain() else { return };
        let key = match content {
            Content::Verified => self.account(),
            _ => self.device(),
        };
        let record = chain.next(key, self.seconds(), content);
        match chain.check(&record) {
            Ok(()) => self.post(record),
            Err(refused) => self.fail(Failure::Refused(refused)),
        }
    }

    /// Gives a record to the first server.
    pub(crate) fn post(&mut self, record: SignedRecord) {
        let Some(handing) = &mut self.handing else { return };
        self.begun += 1;
        let (number, bytes) = (self.begun, record.encode());
        handing.number = number;
        (handing.stage, handing.record) = (Stage::First, Some(record));
        let call = Call::Append { decision: self.id, record: bytes };
        self.ask(SEQUENCER, Purpose::Deed(number), call);
    }

    /// What a server said to what was asked for a deed.
    pub(crate) fn told(&mut self, party: PartyId, number: u64, answer: Answer) {
        let (now, length, look) = (self.now, self.reading.length(), self.look.number());
        let Some(handing) = self.handing.as_mut().filter(|one| one.number == number) else {
            return;
        };
        match &mut handing.stage {
            Stage::Making(making) => match making.answered(now, party, answer, &mut self.draws) {
                Ok(()) => self.make_key(),
                Err(failure) => self.fail(failure),
            },
            Stage::First => match Verdict::of(answer) {
                first @ (Verdict::Taken | Verdict::Overtaken) => {
                    let (left, after) = (LOOKS, look);
                    handing.stage = Stage::Watching { length, left, after, first };
                    self.look.hurry(now);
                }
                first => {
                    handing.stage = Stage::Watching { length, left: 0, after: look, first };
                    self.ask_others();
                }
            },
            Stage::Others { open, said, until, .. } => {
                let verdict = Verdict::of(answer);
                if matches!(verdict, Verdict::Taken) {
                    until.get_or_insert(now + LATE);
                }
                said.push(verdict);
                *open -= 1;
                if *open == 0 {
                    self.conclude();
                }
            }
            _ => {}
        }
    }

    /// Gives the record to the other servers, if it is one that they hold.
    fn ask_others(&mut self) {
        let all = (0u8..).map(PartyId).take(self.operators.keys.len());
        let others: Vec<_> = all.filter(|party| *party != SEQUENCER).collect();
        let Some(handing) = &mut self.handing else { return };
        let stage = std::mem::replace(&mut handing.stage, Stage::Again);
        let Stage::Watching { first, .. } = stage else { return };
        let (number, record) = (handing.number, handing.record.clone());
        let held = record.filter(|record| record.record.speaks_for().is_some());
        let open = held.as_ref().map_or(0, |_| others.len());
        handing.stage = Stage::Others { open, first, said: Vec::new(), until: None };
        let Some(record) = held else { return self.conclude() };
        for party in others {
            let call = Call::Append { decision: self.id, record: record.encode() };
            self.ask(party, Purpose::Deed(number), call);
        }
    }

    /// All servers have answered that were asked.
    fn conclude(&mut self) {
        let (Some(deed), Some(handing)) = (self.doing(), &mut self.handing) else { return };
        let stage = std::mem::replace(&mut handing.stage, Stage::Again);
        let Stage::Others { first, said, .. } = stage else { return };
        let any = |what: fn(&Verdict) -> bool| said.iter().any(what);
        let held = any(|one| matches!(one, Verdict::Taken));
        let refused = any(|one| matches!(one, Verdict::Refused(_)));
        let silent = said.iter().all(|one| matches!(one, Verdict::Silent));
        match first {
            _ if held => self.tell(News::Held(deed)),
            // A refusal is believed if a second server refuses, or nobody else says anything.
            Verdict::Refused(refusal) if refused || silent => {
                return self.fail(Failure::Server { party: SEQUENCER, refusal });
            }
            Verdict::Silent | Verdict::Taken if silent => self.tell(News::NotTaken(deed)),
            _ => {}
        }
        self.try_again();
    }

    /// It is tried again after a pause that grows.
    fn try_again(&mut self) {
        let Some(handing) = &mut self.handing else { return };
        handing.stage = Stage::Again;
        handing.pause.again(self.now, &mut self.draws);
    }

    /// The first deed is given up.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.handing = None;
        if let Some(wanted) = self.wanted.pop_front() {
            self.tell(News::Failed(wanted.deed, failure));
        }
        self.hand_in();
    }

    /// All deeds are given up.
    pub(crate) fn drop_all(&mut self, failure: &Failure) {
        self.handing = None;
        while let Some(wanted) = self.wanted.pop_front() {
            self.tell(News::Failed(wanted.deed, failure.clone()));
        }
    }
}
