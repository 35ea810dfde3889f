//! Which records of a decision are believed (`docs/spec/visitor.md`, V2): those that so many
//! servers show alike that one of them is honest. What fewer show is put aside until others show it
//! too, or show something else.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_decide::record::MOST_RECORDS;
use ostrakon_decide::{
    Chain, DecisionId, Examined, Opening, Operators, Outcome, Refused, Visit, operators,
};
use ostrakon_party::PartyId;
use ostrakon_protocol::decisions::{DecisionInfo, OpeningInfo, RecordsPage};
use rand_core::CryptoRng;

/// Why a server, or what the servers show, is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It does not hold.
    Refused(Refused),
    /// The servers show different histories.
    Different,
    /// A server has shown this record where two others show another one. Whoever signed it has
    /// signed two histories.
    Alone {
        /// Its number.
        number: u32,
        /// The record, as it was shown.
        record: Vec<u8>,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Different => write!(f, "the servers show different histories"),
            Self::Alone { number, record } => {
                let record = BASE64URL_NOPAD.encode(record);
                write!(f, "the server alone shows this record {number}: {record}")
            }
        }
    }
}

/// What was read of a decision.
pub struct Reading {
    /// What is believed, and verified.
    visit: Visit,
    /// The same records.
    records: Vec<Vec<u8>>,
    /// By party, what each server shows beyond those.
    tails: Vec<VecDeque<Vec<u8>>>,
    /// By party, what each server says that the servers have opened.
    openings: Vec<Vec<OpeningInfo>>,
    distrusted: BTreeMap<PartyId, Doubt>,
    /// Servers that must show the same.
    believed: usize,
    outcome: Option<Outcome>,
    proven: Vec<(PartyId, Opening)>,
    unresolved: Option<Refused>,
    /// What was found in openings that make no result: trying them again takes long and changes
    /// nothing.
    tried: Vec<(Vec<OpeningInfo>, Refused)>,
}

impl Reading {
    /// Of a decision of which nothing is read.
    pub fn new(operators: Operators, id: DecisionId) -> Self {
        let trust = operators::trust();
        let parties = trust.parties();
        let (records, distrusted, outcome, proven, unresolved, tried) = Default::default();
        Self {
            visit: Visit::new(operators, id),
            records,
            tails: vec![VecDeque::new(); parties],
            openings: vec![Vec::new(); parties],
            distrusted,
            believed: trust.believed(),
            outcome,
            proven,
            unresolved,
            tried,
        }
    }

    pub fn visit(&self) -> &Visit {
        &self.visit
    }

    pub fn chain(&self) -> Option<&Chain> {
        self.visit.chain()
    }

    /// The records that are believed.
    pub fn records(&self) -> &[Vec<u8>] {
        &self.records
    }

    pub fn length(&self) -> u32 {
        self.chain().map_or(0, Chain::length)
    }

    pub fn distrusted(&self) -> &BTreeMap<PartyId, Doubt> {
        &self.distrusted
    }

    /// The servers that have shown nothing wrong.
    pub fn trusted(&self) -> Vec<PartyId> {
        let all = (0..).map(PartyId).take(self.tails.len());
        all.filter(|party| !self.distrusted.contains_key(party)).collect()
    }

    /// Whether enough servers are trusted that one of them is honest.
    pub fn suffices(&self) -> bool {
        self.trusted().len() >= self.believed
    }

    /// Servers that must show the same.
    pub fn believed(&self) -> usize {
        self.believed
    }

    /// How many openings the server shows that shows most.
    pub fn opened(&self) -> usize {
        self.openings.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The number of the first record that a server is still to be asked for.
    pub fn next_of(&self, party: PartyId) -> u32 {
        self.length() + u32::try_from(self.tails[party.index()].len()).unwrap_or(u32::MAX)
    }

    /// Takes in what a server shows from [`Reading::next_of`] on. What is no text of bytes is no
    /// record, and nobody else shows it.
    pub fn show(&mut self, party: PartyId, page: RecordsPage) {
        let room = MOST_RECORDS.saturating_sub(self.next_of(party)) as usize;
        let decode = |text: &String| BASE64URL_NOPAD.decode(text.as_bytes()).unwrap_or_default();
        self.tails[party.index()].extend(page.records.iter().take(room).map(decode));
        self.openings[party.index()] = page.openings;
    }

    /// Whether a server shows more than is believed.
    pub fn is_more(&self) -> bool {
        self.trusted().iter().any(|party| !self.tails[party.index()].is_empty())
    }

    /// Two servers that show different records in one place, with nothing to tell whom to believe.
    pub fn conflict(&self) -> Option<(PartyId, PartyId)> {
        let trusted = self.trusted();
        let front = |party: &PartyId| self.tails[party.index()].front();
        let mut showing = trusted.iter().filter(|party| front(party).is_some());
        let one = showing.next()?;
        let another = showing.find(|party| front(party) != front(one))?;
        Some((*one, *another))
    }

    /// Takes in the next record that enough servers show alike. Whether there was one.
    pub fn settle(&mut self, rng: &mut impl CryptoRng) -> bool {
        let trusted = self.trusted();
        let showing = |record: &Vec<u8>| {
            let same = |party: &&PartyId| self.tails[party.index()].front() == Some(record);
            trusted.iter().filter(same).copied().collect::<Vec<_>>()
        };
        let fronts = trusted.iter().filter_map(|party| self.tails[party.index()].front());
        let mut shown = fronts.map(|record| (record, showing(record)));
        let Some((record, showing)) = shown.find(|(_, showing)| showing.len() >= self.believed)
        else {
            return false;
        };
        let record = record.clone();
        if let Err(refused) = self.visit.read(&record, rng) {
            for party in showing {
                self.distrust(party, Doubt::Refused(refused.clone()));
            }
            return false;
        }
        let number = self.length() - 1;
        for party in trusted {
            let other = self.tails[party.index()].pop_front().filter(|shown| *shown != record);
            if let Some(record) = other {
                self.distrust(party, Doubt::Alone { number, record });
            }
        }
        self.records.push(record);
        true
    }

    fn distrust(&mut self, party: PartyId, doubt: Doubt) {
        self.tails[party.index()].clear();
        self.distrusted.insert(party, doubt);
    }

    /// Verifies all steps that were taken in.
    ///
    /// # Errors
    /// A step that a person signed does not hold: it is no server's fault that shows it.
    pub fn verify(&mut self, rng: &mut impl CryptoRng) -> Result<(), Doubt> {
        self.visit.verify(rng).map_err(Doubt::Refused)
    }

    /// Does not believe a server any more that says to have another record where it ends.
    pub fn compare(&mut self, party: PartyId, info: &DecisionInfo) {
        let last = info.records.checked_sub(1).and_then(|last| self.visit.digest(last));
        if last.is_some_and(|digest| digest.to_hex() != info.head) {
            self.distrust(party, Doubt::Different);
        }
    }

    /// Why nothing is believed, if too few servers are left.
    pub fn doubt(&self) -> Option<Doubt> {
        let first = || self.distrusted.values().next().cloned();
        (!self.suffices()).then(|| first().unwrap_or(Doubt::Different))
    }

    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The openings of which the result came or, before, those that a trusted server shows.
    pub fn openings(&self) -> Vec<(PartyId, Opening)> {
        if self.outcome.is_some() {
            return self.proven.clone();
        }
        let shown = self.trusted().into_iter().map(|party| &self.openings[party.index()]);
        let most = shown.max_by_key(|openings| openings.len());
        most.map_or(Vec::new(), |openings| openings.iter().filter_map(decoded).collect())
    }

    /// Why there will be no result, once enough servers show openings that make none.
    pub fn unresolved(&self) -> Option<&Refused> {
        self.unresolved.as_ref()
    }

    /// Computes the result, as soon as a server shows what all have opened.
    pub fn open(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        let mut failures: Vec<(PartyId, Refused)> = Vec::new();
        for party in self.trusted() {
            let openings = self.openings[party.index()].clone();
            if openings.len() < self.tails.len() {
                continue;
            }
            match self.result(&openings) {
                Ok(outcome) => {
                    self.outcome = Some(outcome);
                    self.proven = openings.iter().filter_map(decoded).collect();
                    break;
                }
                Err(refused) => failures.push((party, refused)),
            }
        }
        failures.iter().for_each(|(party, refused)| self.blame(*party, refused));
        if self.outcome.is_some() {
            self.unresolved = None;
        } else if failures.len() >= self.believed && self.unresolved.is_none() {
            let honest = failures.iter().find(|(party, _)| !self.distrusted.contains_key(party));
            let found = honest.or(failures.first());
            self.unresolved = found.map(|(_, refused)| refused.clone());
        }
    }

    fn result(&mut self, openings: &[OpeningInfo]) -> Result<Outcome, Refused> {
        if let Some((_, refused)) = self.tried.iter().find(|(tried, _)| tried == openings) {
            return Err(refused.clone());
        }
        let read: Option<Vec<_>> = openings.iter().map(decoded).collect();
        let read = read.ok_or(Refused::Form);
        let result = read.and_then(|read| Examined::of(&self.visit)?.result(&read));
        result.inspect_err(|refused| self.tried.push((openings.to_vec(), refused.clone())))
    }

    /// Whose fault it is that the openings which `shower` shows make no result. Nobody's, if all of
    /// them hold and too few stand in for somebody. Each opening is verified by itself: a wrong one
    /// is its author's if the author or enough servers show it, and the shower's if enough show
    /// another one. Otherwise it is not certain yet. Servers take nothing from each other that is
    /// malformed, so that is the shower's, if no other shows it.
    fn blame(&mut self, shower: PartyId, refused: &Refused) {
        if matches!(refused, Refused::NoResult(_)) || self.distrusted.contains_key(&shower) {
            return;
        }
        let author = match refused {
            Refused::Opening { party, .. } => Some(PartyId(*party)),
            _ => None,
        };
        let shown = |party: PartyId| -> Vec<&OpeningInfo> {
            let of = |info: &&OpeningInfo| author.is_none_or(|author| info.party == author.0);
            self.openings[party.index()].iter().filter(of).collect()
        };
        let showing: Vec<_> =
            self.trusted().into_iter().filter(|party| !shown(*party).is_empty()).collect();
        let same: Vec<_> =
            showing.iter().filter(|party| shown(**party) == shown(shower)).copied().collect();
        let others = showing.len() - same.len();
        match author {
            Some(author) if same.contains(&author) || same.len() >= self.believed => {
                self.distrust(author, Doubt::Refused(refused.clone()));
            }
            _ if same.len() < self.believed && (author.is_none() || others >= self.believed) => {
                self.distrust(shower, Doubt::Refused(refused.clone()));
            }
            _ => {}
        }
    }
}

/// An opening as it travels, read; `None` if it is none.
fn decoded(info: &OpeningInfo) -> Option<(PartyId, Opening)> {
    let bytes = BASE64URL_NOPAD.decode(info.opening.as_bytes()).ok()?;
    Some((PartyId(info.party), Opening::decode(&bytes).ok()?))
}
