//! A server that has lost its data takes part again as one that remembers nothing (spec 6).

use std::collections::BTreeMap;

use ostrakon_party::{PartyId, wire};

use crate::block::{Certificate, ReadmissionVote};
use crate::keys::Keys;

use super::Ledger;
use crate::dag::disk::{Key, Write};
use crate::dag::message::{Answer, Ask, Message, Petition};
use crate::dag::step::{Output, Phase, Step};

/// What a server that lost its data has gathered.
#[derive(Clone, Debug, Default)]
pub(super) struct Lost {
    /// Whether the disk says that the data are lost, and the nonce if there is one.
    pub asked: Option<Option<[u8; 32]>>,
    ask: Option<Ask>,
    answers: BTreeMap<PartyId, Answer>,
}

impl<K: Keys> Ledger<K> {
    /// Falls silent: the data are older than what was said.
    pub(super) fn lose(&mut self, step: &mut Step) {
        if self.phase == Phase::Lost {
            return;
        }
        self.phase = Phase::Lost;
        self.author.abandon();
        let nonce = *self.lost.asked.get_or_insert(None);
        step.writes.push(Write::Put(Key::Lost, wire::encode(&nonce)));
        if nonce.is_none() {
            step.outputs.push(Output::DataLost);
        }
    }

    /// Begins to ask for readmission, whatever the data are.
    pub(super) fn ask_readmission(&mut self, nonce: [u8; 32], step: &mut Step) {
        self.lost = Lost { asked: Some(Some(nonce)), ..Lost::default() };
        self.phase = Phase::Running;
        self.lose(step);
        self.pace_readmission(step);
    }

    /// Asks, or shows the answers. The question follows the agreed incarnation.
    pub(super) fn pace_readmission(&mut self, step: &mut Step) {
        let Some(Some(nonce)) = self.lost.asked else { return };
        let now = self.agreed.incarnations[self.me.index()].number;
        let Some(incarnation) = now.checked_add(1) else { return };
        let ask = Ask { nonce, incarnation };
        if self.lost.ask != Some(ask) {
            self.lost.ask = Some(ask);
            self.lost.answers.clear();
        }
        if self.lost.answers.len() >= self.params.quorum() {
            let answers = self.lost.answers.clone().into_iter().collect();
            self.send_all(&Message::Petition(Petition { ask, answers }), step);
        } else {
            self.send_all(&Message::Ask(ask), step);
        }
    }

    /// Shows a server that lost its data the highest certificate. A server that does not take part
    /// itself has none to show.
    pub(super) fn answer(&self, from: PartyId, ask: Ask, step: &mut Step) {
        let now = self.agreed.incarnations[from.index()].number;
        if self.phase != Phase::Running || Some(ask.incarnation) != now.checked_add(1) {
            return;
        }
        let highest = self.highest_certificate();
        let statement = Answer::statement(&self.params, from, &ask, highest);
        let signature = self.keys.sign(&statement);
        let answer = Answer { ask, highest: highest.cloned(), signature };
        self.send(from, &Message::Answer(answer), step);
    }

    fn highest_certificate(&self) -> Option<&Certificate> {
        let held = self.graph.round(self.graph.top()).next().map(|held| &held.certificate);
        let waiting = self.waiting.last_key_value().map(|(_, certificate)| certificate);
        held.into_iter().chain(waiting).max_by_key(|certificate| certificate.block.round)
    }

    pub(super) fn receive_answer(&mut self, from: PartyId, answer: Answer, step: &mut Step) {
        let asked = self.phase == Phase::Lost && self.lost.ask == Some(answer.ask);
        let enough = self.lost.answers.len() >= self.params.quorum();
        if asked && !enough && answer.verifies(&self.params, &self.keys, from, self.me) {
            self.lost.answers.insert(from, answer);
            if self.lost.answers.len() == self.params.quorum() {
                self.pace_readmission(step);
            }
        }
    }

    /// Votes to readmit a server that shows the answers of q others. A server that restarts on the
    /// way has other answers, so another R₀, under the same nonce: what it shows now counts. It was
    /// silent since before it drew the nonce, so each of them is past all its votes.
    pub(super) fn receive_petition(&mut self, from: PartyId, petition: &Petition) {
        let now = self.agreed.incarnations[from.index()].number;
        let vote = ReadmissionVote {
            party: from,
            incarnation: petition.ask.incarnation,
            from: petition.from(),
            nonce: petition.ask.nonce,
        };
        let said = self.agreed.readmissions.get(&(from, self.me)) == Some(&vote);
        if self.phase != Phase::Running || said || Some(vote.incarnation) != now.checked_add(1) {
            return;
        }
        if petition.verifies(&self.params, &self.keys, from) {
            self.author.owe_readmission(vote);
        }
    }

    /// Heeds what was agreed on this server: it takes part again if that answers its own question,
    /// and falls silent if somebody else has taken its place.
    pub(super) fn heed_incarnation(&mut self, step: &mut Step) {
        let agreed = self.agreed.incarnations[self.me.index()];
        if agreed.number <= self.incarnation.number {
            return;
        }
        if self.phase == Phase::Lost && self.lost.asked == Some(Some(agreed.nonce)) {
            self.incarnation = agreed;
            self.lost.asked = None;
            self.phase = Phase::Running;
            step.writes.push(Write::Put(Key::Incarnation, wire::encode(&agreed)));
            step.writes.push(Write::Put(Key::Founded, Vec::new()));
            step.writes.push(Write::Delete(Key::Lost));
            step.outputs.push(Output::Started);
        } else {
            self.lose(step);
        }
    }
}
