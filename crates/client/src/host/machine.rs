//! The state machine: a host's deeds, one after the other (`docs/spec/hosting.md`, H1 to H4).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_broadcast::hosting::{Deed, SignedAction};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::RoomId;
use ostrakon_party::PartyId;

use super::book::Book;
use super::look::{Look, Next, Place};
use super::news::{Action, Failure, News, SCHEDULER};
use super::request::{Answer, Call, Kind, Request};
use crate::machine::Scene;
use crate::pauses::{Draws, Errand};
use crate::refusal::Refusal;
use crate::time::{Clock, Millis};

/// How often another action may come first.
const ATTEMPTS: u32 = 20;
/// How often the same action is sent while nobody knows what became of it.
const SENDINGS: u32 = 7;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// How far the first deed is.
enum Stage {
    /// The log is read to its end.
    Reading,
    /// The front end says what is to be done.
    Deciding,
    /// The front end writes it down.
    Keeping(SignedAction),
    /// The first server has it.
    Sent(SignedAction),
    /// It is looked what has its place.
    Looking(SignedAction),
    /// It is sent, or looked, again after a pause.
    Again(Option<SignedAction>),
}

/// The first deed.
struct Acting {
    deed: u64,
    stage: Stage,
    /// What an earlier run has left is not signed anew.
    left: bool,
    /// How often it was signed.
    signed: u32,
    /// How often it was sent since, or the log was looked at in vain.
    tried: u32,
    pause: Errand,
    /// What the first server said last, if anything.
    said: Option<Refusal>,
}

/// What a request that is not answered belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The look of this number.
    Look(u64),
    /// The sending of this number.
    Send(u64),
}

/// A host who acts in a room.
pub struct Host<B> {
    scene: Arc<Scene>,
    key: SigningKey,
    book: B,
    /// Whether the book is read to its end, or somebody else sees to that.
    is_read: bool,
    draws: Draws,
    clock: Clock,
    now: Millis,
    /// The device's clock, as it stands.
    unix: Millis,
    /// Deeds that wait, with what an earlier run has left of them.
    wanted: VecDeque<(u64, Option<SignedAction>)>,
    acting: Option<Acting>,
    look: Look,
    deeds: u64,
    sendings: u64,
    asked: BTreeMap<u64, (PartyId, Kind, Purpose)>,
    next: u64,
    actions: VecDeque<Action>,
}

impl<B: Book> Host<B> {
    /// A host by its key. `followed` says that somebody else reads the book, too: then nothing is
    /// read before something is signed. `seed` is 32 fresh random bytes.
    pub fn new(scene: Arc<Scene>, key: SigningKey, book: B, followed: bool, seed: Secret) -> Self {
        let look = Look::new(scene.servers.keys.len(), scene.servers.digest(), scene.id);
        let (clock, now, unix, wanted, acting, deeds) = Default::default();
        let (sendings, asked, next, actions) = Default::default();
        let (is_read, draws) = (followed, Draws::new(seed));
        Self {
            scene,
            key,
            book,
            is_read,
            draws,
            clock,
            now,
            unix,
            wanted,
            acting,
            look,
            deeds,
            sendings,
            asked,
            next,
            actions,
        }
    }

    /// Does something, when its turn comes; what, is then asked ([`Action::Decide`]). The deed's
    /// number, by which it is told of.
    pub fn act(&mut self, now: Millis) -> u64 {
        self.want(now, None)
    }

    /// Finds out what became of an action that an earlier run has written down, and sends it if
    /// nothing has its place. The deed's number.
    pub fn resume(&mut self, now: Millis, left: SignedAction) -> u64 {
        self.want(now, Some(left))
    }

    fn want(&mut self, now: Millis, left: Option<SignedAction>) -> u64 {
        self.at(now);
        let deed = self.deeds;
        self.deeds += 1;
        self.wanted.push_back((deed, left));
        self.step();
        deed
    }

    /// What [`Action::Decide`] asked for; nothing, if it is given up.
    pub fn decided(&mut self, now: Millis, deed: Option<Deed>) {
        self.at(now);
        if let Some(Acting { stage: Stage::Deciding, .. }) = &self.acting {
            self.sign(deed);
        }
        self.step();
    }

    /// Whether what [`Action::Keep`] asked for is written down. Otherwise nothing leaves.
    pub fn kept(&mut self, now: Millis, written: bool) {
        self.at(now);
        if let Some(Acting { stage: Stage::Keeping(signed), .. }) = &self.acting {
            let signed = signed.clone();
            if written {
                self.send(signed);
            } else {
                self.fail(Failure::NotKept);
            }
        }
        self.step();
    }

    /// Time has passed.
    pub fn wake(&mut self, now: Millis) {
        self.at(now);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        let Some((_, kind, _)) = self.asked.get(&id) else { return };
        self.answered(now, id, Answer::read(*kind, status, body));
    }

    /// What came of a request.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        // What is not waited for any more counts for nothing.
        let Some((party, _, purpose)) = self.asked.remove(&id) else { return };
        self.at(now);
        match purpose {
            Purpose::Look(number) if number == self.look.number() => self.shown(party, answer),
            Purpose::Send(number) if number == self.sendings => self.told(answer),
            _ => {}
        }
        self.step();
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        let due = self.acting.as_ref().and_then(|acting| match &acting.stage {
            Stage::Reading | Stage::Looking(_) => self.look.due(),
            Stage::Again(_) => acting.pause.due(),
            Stage::Deciding | Stage::Keeping(_) | Stage::Sent(_) => None,
        });
        self.clock.outside(due.map_or(latest, |due| due.min(latest)))
    }

    /// The host log, as far as it is read.
    pub fn book(&self) -> &B {
        &self.book
    }

    /// The room.
    pub fn room(&self) -> &RoomId {
        self.scene.id()
    }

    fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        let Some(acting) = &mut self.acting else { return self.begin() };
        match &acting.stage {
            Stage::Reading | Stage::Looking(_)
                if self.look.is_over(self.now, self.scene.believed) =>
            {
                self.looked();
            }
            Stage::Again(_) if acting.pause.due().is_some_and(|due| due <= self.now) => {
                acting.pause.asked();
                match std::mem::replace(&mut acting.stage, Stage::Reading) {
                    Stage::Again(Some(signed)) => self.send(signed),
                    _ => self.look_for(None),
                }
            }
            _ => {}
        }
    }

    /// Begins with the next deed (H1).
    fn begin(&mut self) {
        let Some((deed, left)) = self.wanted.pop_front() else { return };
        let (signed, tried, pause, said) = (0, 0, Errand::new(), None);
        let (stage, is_left) = (Stage::Deciding, left.is_some());
        self.acting = Some(Acting { deed, stage, left: is_left, signed, tried, pause, said });
        if left.is_none() && self.is_read {
            self.decide();
        } else {
            self.look_for(left);
        }
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(acting) = &mut self.acting {
            acting.stage = stage;
        }
    }

    /// Begins a look, for the place of an action or for the log's end (H3).
    fn look_for(&mut self, sought: Option<SignedAction>) {
        let from = self.look.begin(sought.clone(), &self.book);
        for party in self.scene.parties() {
            self.ask(party, Purpose::Look(self.look.number()), Call::Actions { from });
        }
        self.stage(sought.map_or(Stage::Reading, Stage::Looking));
    }

    fn shown(&mut self, party: PartyId, answer: Answer) {
        let actions = match answer {
            Answer::Actions(actions) => Some(actions),
            _ => None,
        };
        match self.look.shown(party.index(), actions, &mut self.book) {
            Next::More(from) => {
                self.ask(party, Purpose::Look(self.look.number()), Call::Actions { from });
            }
            Next::Forged(why) => self.tell(News::Forged { party, why }),
            Next::Rest => {}
        }
    }

    /// A look is over.
    fn looked(&mut self) {
        let Some(acting) = &mut self.acting else { return };
        let Stage::Looking(signed) = &acting.stage else {
            if self.look.read() > 0 {
                self.is_read = true;
                return self.decide();
            }
            self.tell(News::Unshown);
            return self.try_again(None, Failure::Unshown);
        };
        let (signed, left) = (signed.clone(), acting.left);
        let said = acting.said.clone();
        match self.look.place() {
            Place::Ours => self.taken(signed.action.number),
            Place::Taken if left => self.fail(Failure::Overtaken),
            Place::Taken => self.decide(),
            // Left by an earlier run, and nobody shows it: it is sent if servers answer at all.
            Place::Open if left && acting.tried == 0 && self.look.read() > 0 => self.send(signed),
            Place::Open => self.try_again(Some(signed), Failure::Unknown(said)),
        }
    }

    /// Asks what is to be done, seen what the log is now.
    fn decide(&mut self) {
        let Some(acting) = &mut self.acting else { return };
        let deed = acting.deed;
        if acting.signed == ATTEMPTS {
            return self.fail(Failure::Busy);
        }
        (acting.stage, acting.tried) = (Stage::Deciding, 0);
        self.actions.push_back(Action::Decide { deed });
    }

    /// Signs for the next place of the log, and has that written down (H2).
    fn sign(&mut self, deed: Option<Deed>) {
        let Some(deed) = deed else { return self.fail(Failure::GivenUp) };
        match self.book.act(&self.key, self.unix / 1_000, deed) {
            Ok(signed) => {
                if let Some(acting) = &mut self.acting {
                    acting.signed += 1;
                    acting.stage = Stage::Keeping(signed.clone());
                }
                self.actions.push_back(Action::Keep(Box::new(signed)));
            }
            Err(refused) => self.fail(Failure::Declined(refused)),
        }
    }

    /// Gives the action to the first server: the same bytes each time (H4).
    fn send(&mut self, signed: SignedAction) {
        let Some(acting) = &mut self.acting else { return };
        acting.tried += 1;
        acting.stage = Stage::Sent(signed.clone());
        self.sendings += 1;
        self.ask(SCHEDULER, Purpose::Send(self.sendings), Call::Act(Box::new(signed)));
    }

    /// What the first server said to it.
    fn told(&mut self, answer: Answer) {
        let Some(acting) = &mut self.acting else { return };
        let Stage::Sent(signed) = &acting.stage else { return };
        let (signed, deed) = (signed.clone(), acting.deed);
        let said = match answer {
            Answer::Taken => {
                let number = signed.action.number;
                if self.book.length() == number {
                    // It was signed for this place, so that it follows.
                    let _ = self.book.take(vec![signed]);
                }
                return self.taken(number);
            }
            Answer::Refused(refusal) if !refusal.passes() && !refusal.is_overtaken() => {
                return self.fail(Failure::Server(refusal));
            }
            Answer::Refused(refusal) => Some(refusal),
            Answer::Actions(_) | Answer::Nothing => None,
        };
        acting.said.clone_from(&said);
        if said.as_ref().is_none_or(Refusal::passes) {
            self.tell(News::Unanswered { deed, said });
        }
        self.look_for(Some(signed));
    }

    /// After a pause it is sent again, or the log is looked at again; unless that was often enough.
    fn try_again(&mut self, signed: Option<SignedAction>, failure: Failure) {
        let Some(acting) = &mut self.acting else { return };
        // What is sent is counted when it is.
        acting.tried += u32::from(signed.is_none());
        if acting.tried >= SENDINGS {
            return self.fail(failure);
        }
        acting.stage = Stage::Again(signed);
        acting.pause.again(self.now, &mut self.draws);
    }

    fn taken(&mut self, number: u64) {
        if let Some(Acting { deed, .. }) = self.acting.take() {
            self.tell(News::Taken { deed, number });
        }
        self.begin();
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(Acting { deed, .. }) = self.acting.take() {
            self.tell(News::Failed { deed, failure });
        }
        self.begin();
    }

    fn tell(&mut self, news: News) {
        self.actions.push_back(Action::Tell(news));
    }

    fn ask(&mut self, party: PartyId, purpose: Purpose, call: Call) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, call.kind(), purpose));
        self.actions.push_back(Action::Ask(Request { id, party, call }));
    }
}
