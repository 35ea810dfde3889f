//! Looking at what the servers show (`docs/spec/visitor.md`, V2 and V3): all are asked how the
//! decision stands, and those that have more are asked for it.

use ostrakon_decide::Stage as Course;
use ostrakon_party::PartyId;
use ostrakon_protocol::decisions::{DecisionInfo, DecisionStage};

use super::look::{FIRST, Stage, Waiting};
use super::machine::{Purpose, Visitor};
use super::news::News;
use super::request::{Answer, Call};
use crate::time::Millis;

/// Records after which what was read is verified; the front end can repaint in between.
const CHUNK: usize = 8;
/// Once enough servers have answered, the others have so long.
const LATE: Millis = 1_500;
/// The pause after a server's word that there is news, and after its silence.
const AFTER_NEWS: Millis = 250;
const AFTER_SILENCE: Millis = 1_500;
/// While a server is to tell the news it is looked after so long all the same.
const DOZE: Millis = 40_000;

impl Visitor {
    /// When looking goes on.
    pub(crate) fn looks_at(&self) -> Option<Millis> {
        match &self.look.stage {
            Stage::Resting(at) => Some(*at),
            Stage::Asking(waiting) | Stage::Fetching(waiting) => waiting.until,
            Stage::Settling => Some(self.now),
        }
    }

    /// Does what is due of a look.
    pub(crate) fn read_on(&mut self) {
        if matches!(self.look.stage, Stage::Resting(at) if at <= self.now) {
            return self.ask_how_it_stands();
        }
        if self.look.is_over(self.now) {
            match self.look.stage {
                Stage::Asking(_) => self.ask_for_more(),
                _ => self.look.stage = Stage::Settling,
            }
        }
        if matches!(self.look.stage, Stage::Settling) {
            self.settle();
        }
    }

    fn ask_how_it_stands(&mut self) {
        self.look.number += 1;
        self.look.infos.fill(None);
        self.look.said.clear();
        let trusted = self.reading.trusted();
        self.look.stage = Stage::Asking(Waiting::of(&trusted));
        for party in trusted {
            self.ask(party, Purpose::Look(self.look.number), Call::Info(self.id));
        }
    }

    /// Asks those for records that have more, or that show what was opened.
    fn ask_for_more(&mut self) {
        let length = self.reading.length();
        let more = |party: &PartyId| {
            let info = self.look.infos[party.index()].as_ref();
            let closed = |info: &DecisionInfo| {
                matches!(info.stage, DecisionStage::Closed | DecisionStage::Done)
                    && self.reading.outcome().is_none()
            };
            info.is_some_and(|info| info.records > length || closed(info))
        };
        let parties: Vec<_> = self.reading.trusted().into_iter().filter(more).collect();
        if parties.is_empty() {
            self.look.stage = Stage::Settling;
            return;
        }
        self.look.stage = Stage::Fetching(Waiting::of(&parties));
        parties.into_iter().for_each(|party| self.fetch(party));
    }

    fn fetch(&mut self, party: PartyId) {
        let call = Call::Records { decision: self.id, from: self.reading.next_of(party) };
        self.ask(party, Purpose::Look(self.look.number), call);
    }

    /// What a server said during a look.
    pub(crate) fn seen(&mut self, party: PartyId, number: u64, answer: Answer) {
        if number != self.look.number {
            return;
        }
        let given = match (&self.look.stage, answer) {
            (Stage::Asking(_), Answer::Info(info)) => {
                self.look.infos[party.index()] = Some(*info);
                true
            }
            (Stage::Asking(_), Answer::Refused(refusal)) => {
                self.look.said.insert(party, Some(refusal));
                false
            }
            (Stage::Asking(_), _) => {
                self.look.said.insert(party, None);
                false
            }
            (Stage::Fetching(_), Answer::Records(page)) => {
                let before = self.reading.next_of(party);
                self.reading.show(party, page);
                let next = self.reading.next_of(party);
                let info = self.look.infos[party.index()].as_ref();
                if next > before && info.is_some_and(|info| info.records > next) {
                    return self.fetch(party);
                }
                true
            }
            _ => false,
        };
        let (believed, late) = (self.reading.believed(), self.now + LATE);
        if let Stage::Asking(waiting) | Stage::Fetching(waiting) = &mut self.look.stage {
            waiting.open.remove(&party);
            waiting.done += usize::from(given);
            if waiting.until.is_none() && waiting.done >= believed {
                waiting.until = Some(late);
            }
        }
    }

    /// Takes in some of what was shown.
    fn settle(&mut self) {
        let read = (0..CHUNK).take_while(|_| self.reading.settle(&mut self.rng)).count();
        if read > 0 {
            if let Err(doubt) = self.reading.verify(&mut self.rng) {
                return self.refuse(doubt);
            }
            let done = self.reading.length();
            self.tell(News::Verifying { done, all: self.look.most().max(done) });
        }
        if read < CHUNK {
            self.look_back();
        }
    }

    /// Everything is taken in that so many show.
    fn look_back(&mut self) {
        let look = &mut self.look;
        look.answered = look.infos.iter().flatten().count();
        look.silence = std::mem::take(&mut look.said);
        look.refusals.clear();
        for (party, info) in (0..).map(PartyId).zip(&look.infos) {
            let Some(info) = info else { continue };
            if let Some(refusal) = &info.refusal {
                look.refusals.insert(party, refusal.clone());
            }
            if !self.reading.distrusted().contains_key(&party) {
                self.reading.compare(party, info);
            }
        }
        look.stage = Stage::Resting(self.now + DOZE);
        look.ended = look.number;
        if let Some(doubt) = self.reading.doubt() {
            return self.refuse(doubt);
        }
        self.find_account();
        if self.reading.length() == 0 || self.look.answered == 0 {
            let is_shown = self.reading.is_more();
            self.tell(if is_shown { News::Alone } else { News::Away });
            self.look.pause(self.now, &mut self.draws);
        } else if self.keeping.has_noted(self.reading.length()) {
            self.looked();
        } else {
            self.keeping.want();
        }
    }

    /// What was read is written down.
    pub(crate) fn looked(&mut self) {
        if self.chain().is_some_and(|chain| chain.stage() == Course::Closed) {
            self.reading.open();
        }
        self.take_receipt();
        self.tell(News::Read);
        self.go_on(self.look.ended);
        let awaits = self.receipt.as_ref().is_some_and(|receipt| !receipt.is_complete());
        if awaits || self.doing().is_some() || !self.is_whole() {
            return self.look.pause(self.now, &mut self.draws);
        }
        self.look.pause = FIRST;
        self.wait_for_news();
    }

    /// Lets one server tell when there is more, each in turn.
    fn wait_for_news(&mut self) {
        if self.is_asked(Purpose::News) {
            return;
        }
        let trusted = self.reading.trusted();
        let party = trusted[self.look.turn % trusted.len()];
        self.look.turn += 1;
        let (from, opened) = (self.reading.length(), self.reading.opened());
        self.ask(party, Purpose::News, Call::News { decision: self.id, from, opened });
    }

    /// A server says that there is news, or nothing.
    pub(crate) fn heard(&mut self, answer: &Answer) {
        // One that answers at once and has nothing is not asked without a pause.
        let pause = match answer {
            Answer::Records(_) => AFTER_NEWS,
            _ => AFTER_SILENCE,
        };
        let varied = self.draws.between(pause * 3 / 4, pause * 5 / 4);
        self.look.rest(self.now + varied);
    }

    /// Asks the servers for a receipt that have not signed it.
    fn take_receipt(&mut self) {
        let receipt = self.visit().receipt(&self.account().verifying_key());
        let Some(receipt) = receipt else { return };
        let number = receipt.number;
        let receipt = self.receipt.get_or_insert(receipt);
        let signers: Vec<_> = receipt.signatures.iter().map(|word| word.party).collect();
        for party in (0u8..).map(PartyId).take(self.operators.keys.len()) {
            let purpose = Purpose::Receipt(party);
            if !signers.contains(&party) && !self.is_asked(purpose) {
                self.ask(party, purpose, Call::Receipt { decision: self.id, number });
            }
        }
    }

    /// A server has signed the receipt, or has not. A signature that does not hold is none.
    pub(crate) fn signed(&mut self, party: PartyId, answer: &Answer) {
        let (Answer::Acknowledged(word), Some(receipt)) = (answer, &mut self.receipt) else {
            return;
        };
        let word = ostrakon_decide::Acknowledgement { party, signature: word.signature };
        if receipt.add(&self.operators, word).is_err() {
            return;
        }
        self.tell(News::Signed);
        if self.keeping.pending().is_some() {
            // They need not be kept any longer, once enough have signed.
            self.keeping.want_more();
        }
    }
}
