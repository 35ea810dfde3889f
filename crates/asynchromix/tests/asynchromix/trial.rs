//! What members show of a burnt batch, and how the agreed state judges it: record by record.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::evidence::{Burnt, Deed, EvidenceFile, NoEvidence, Shown};
use ostrakon_asynchromix::room::BURNT;
use ostrakon_asynchromix::state::{Change, State};
use ostrakon_asynchromix::word::Word;
use ostrakon_asynchromix::{Card, Description};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{PartyId, wire};
use ostrakon_robust::Tape;
use ostrakon_robust::message::{Part, StepId};
use ostrakon_robust::offline::{
    Batch, Complaint, Deviation, Event, Record, Reveal, Shuffle, Verdict,
};
use serde::Serialize;

use crate::world::{SHAPE, id, room, signing};

/// Who lies in most of these.
const LIAR: usize = 3;

/// A batch that all members have prepared and nobody has said to be right.
struct Trial {
    room: Arc<Room>,
    state: State,
    number: u64,
    name: Digest,
    commitments: Vec<Digest>,
    batches: Vec<Batch<Shuffle>>,
}

impl Trial {
    fn new(room: Arc<Room>, number: u64) -> Trial {
        let state = State::new(&room);
        Trial::of(room, state, number)
    }

    fn of(room: Arc<Room>, mut state: State, number: u64) -> Trial {
        let (subject, recipe) = (room.subject_of(number), room.shuffle_of(number));
        let members = subject.committee.members().to_vec();
        let mut tape = Tape::new(&Secret::new([1; 32]));
        let mut commits = Vec::new();
        let mut batches = Vec::new();
        for (me, member) in members.iter().enumerate() {
            let key = Arc::new(signing(member.index()));
            let seed = Secret::new([member.0 + 40; 32]);
            let (batch, record) = Batch::new(subject.clone(), recipe.clone(), me, key, seed);
            commits.push((*member, record));
            batches.push(batch);
        }
        let mut flights = VecDeque::new();
        let mut commitments = Vec::new();
        for (member, record) in commits {
            drop(state.apply(&room, member, &Word::Batch(number, record.to_bytes())));
            let Record::Commit(digest) = record else { panic!("a commitment comes first") };
            commitments.push(digest);
            for (me, batch) in batches.iter_mut().enumerate() {
                let step = batch.ordered(member, Record::Commit(digest), &mut tape);
                flights.extend(step.sends.into_iter().map(|(to, bytes)| (members[me], to, bytes)));
            }
        }
        while let Some((from, to, bytes)) = flights.pop_front() {
            let at = subject.committee.position(to).unwrap();
            let step = batches[at].handle(from, &bytes, &mut tape);
            flights.extend(step.sends.into_iter().map(|(next, bytes)| (to, next, bytes)));
        }
        let name = subject.name(&recipe, &commitments);
        Trial { room, state, number, name, commitments, batches }
    }

    fn members(&self) -> Vec<PartyId> {
        self.room.committee_of(self.number).members().to_vec()
    }

    fn shown(&self, of: PartyId, record: &Record) -> Shown {
        Shown::sign(&self.name, record, &signing(of.index()))
    }

    fn say(&mut self, author: PartyId, shown: &Shown) -> Vec<Change> {
        self.state.apply(&self.room, author, &Word::Show(self.number, shown.clone()))
    }

    /// A member complains; what all members have then to show.
    fn burn(&mut self, by: PartyId) -> Vec<(PartyId, Shown)> {
        let complaint = groundless();
        let shown = self.shown(by, &complaint);
        assert_eq!(self.say(by, &shown)[0], Change::Burnt(self.number));
        let mut tape = Tape::new(&Secret::new([2; 32]));
        let mut reveals = Vec::new();
        for (member, batch) in self.members().into_iter().zip(&mut self.batches) {
            let step = batch.ordered(by, complaint.clone(), &mut tape);
            let reveal = step.outputs.into_iter().find_map(|event| match event {
                Event::Propose(record) => Some(record),
                _ => None,
            });
            reveals.push((member, reveal.unwrap()));
        }
        reveals.into_iter().map(|(of, record)| (of, self.shown(of, &record))).collect()
    }

    fn convicted(&self) -> Vec<(PartyId, Deed)> {
        let convicted = self.state.stock.convicted().iter();
        convicted.map(|(party, of)| (*party, of.deed)).collect()
    }

    fn evidence(&self, of: PartyId) -> &Burnt {
        &self.state.stock.convicted()[&of].evidence
    }
}

fn groundless() -> Record {
    let step = StepId { phase: 0, part: Part::Deal };
    Record::Complaint(Complaint { step, messages: Vec::new() })
}

fn seed_of(shown: &Shown) -> Reveal {
    match Record::from_bytes(&shown.record) {
        Some(Record::Reveal(reveal)) => reveal,
        _ => panic!("not a reveal"),
    }
}

/// Whoever stops a batch without a cause is convicted once all have shown what they have; its sets
/// prepare nothing more, and what is under way with it is given up.
#[test]
fn a_groundless_complaint_convicts_its_author() {
    for n in [4, 5] {
        let mut trial = Trial::new(room(n, SHAPE), 0);
        let liar = id(LIAR);
        let mut last = Vec::new();
        for (member, shown) in trial.burn(liar) {
            assert!(last.is_empty() && trial.convicted().is_empty());
            last = trial.say(member, &shown);
        }
        let verdict = Verdict { culprit: liar, deviation: Deviation::Groundless };
        assert_eq!(last[0], Change::Judged(0, Some(verdict)));
        assert_eq!(trial.convicted(), [(liar, Deed::FalseComplaint)]);
        assert_eq!(trial.evidence(liar).convicts(&trial.room), Some((liar, Deed::FalseComplaint)));
        let with = |number: &u64| trial.room.committee_of(*number).position(liar).is_some();
        let stock = &trial.state.stock;
        assert!(!stock.batches.keys().any(with), "something is prepared with it");
        assert_eq!(stock.batches.len(), if n == 5 { 2 } else { 0 });
        assert!(last[1..].iter().all(|change| matches!(change, Change::Dropped(_))), "{last:?}");
    }
}

/// A seed that was not committed to convicts by itself, whoever else is silent; what is shown in
/// another's name, twice, or without a signature is nothing.
#[test]
fn what_counts_as_shown() {
    let mut trial = Trial::new(room(4, SHAPE), 0);
    let liar = id(LIAR);
    let shown = trial.burn(liar);
    let (first, second) = (shown[0].0, shown[1].0);
    assert!(trial.say(second, &shown[0].1).is_empty(), "another's");
    let mut unsigned = shown[1].1.clone();
    unsigned.record[1] ^= 1;
    assert!(trial.say(second, &unsigned).is_empty(), "unsigned");
    let elsewhere = Shown::sign(&Digest([1; 32]), &groundless(), &signing(second.index()));
    assert!(trial.say(second, &elsewhere).is_empty(), "of another batch");
    let lacking = |trial: &Trial| trial.state.stock.burnt()[&0].lacking(&trial.room);
    assert_eq!(lacking(&trial), trial.members());
    assert!(trial.say(first, &shown[0].1).is_empty());
    assert_eq!(lacking(&trial), trial.members()[1..]);
    // The first one counts.
    let other = Record::Reveal(Reveal { seed: Secret::new([9; 32]), deals: Vec::new() });
    let twice = trial.shown(first, &other);
    assert!(trial.say(first, &twice).is_empty(), "twice");
    let false_seed = trial.shown(liar, &other);
    let verdict = Verdict { culprit: liar, deviation: Deviation::Seed };
    assert_eq!(trial.say(liar, &false_seed)[0], Change::Judged(0, Some(verdict)));
    assert_eq!(trial.convicted(), [(liar, Deed::OtherSeed)]);
    let evidence = trial.evidence(liar);
    assert_eq!(evidence.convicts(&trial.room), Some((liar, Deed::OtherSeed)));
}

/// Evidence as a liar would write it.
#[derive(Serialize)]
struct Forged {
    batch: u64,
    commitments: Vec<Digest>,
    complainer: usize,
    complaint: Shown,
    reveals: BTreeMap<usize, Shown>,
}

impl Forged {
    fn read(&self) -> Burnt {
        wire::decode(&wire::encode(self)).unwrap()
    }
}

/// A liar that signs other records afterwards cannot put those of honest members beside them:
/// beside other commitments what they complained of would look right, and they like liars.
#[test]
fn records_beside_other_commitments_convict_nobody() {
    let mut trial = Trial::new(room(4, SHAPE), 0);
    let honest = id(0);
    let shown = trial.burn(honest);
    let complaint = trial.shown(honest, &groundless());
    let reveals = (0..4).map(|at| (at, shown[at].1.clone())).collect();
    let commitments = trial.commitments.clone();
    let mut forged = Forged { batch: 0, commitments, complainer: 0, complaint, reveals };
    // (It did complain without a cause here: what is shown is that the rest is in order.)
    assert_eq!(forged.read().convicts(&trial.room), Some((honest, Deed::FalseComplaint)));
    let subject = trial.room.subject_of(0);
    let seed = Secret::new([77; 32]);
    let key = Arc::new(signing(LIAR));
    let (_, other) =
        Batch::new(subject.clone(), trial.room.shuffle_of(0), LIAR, Arc::clone(&key), seed.clone());
    let Record::Commit(other) = other else { panic!("a commitment comes first") };
    forged.commitments[LIAR] = other;
    let name = subject.name(&trial.room.shuffle_of(0), &forged.commitments);
    let reveal = Record::Reveal(Reveal { seed, deals: seed_of(&shown[LIAR].1).deals });
    forged.reveals.insert(LIAR, Shown::sign(&name, &reveal, &key));
    assert_eq!(forged.read().convicts(&trial.room), None);
}

/// Members that complain and show nothing are not named, keep at most so many batches waiting, and
/// it is told that batches are spoilt.
#[test]
fn who_complains_and_shows_nothing_is_not_named() {
    let room = room(4, SHAPE);
    let mut state = State::new(&room);
    for number in 0..5 {
        let mut trial = Trial::of(Arc::clone(&room), state, number);
        let shown = trial.burn(id(LIAR));
        for (member, shown) in &shown[..LIAR] {
            assert!(trial.say(*member, shown).is_empty());
        }
        state = trial.state;
        assert!(state.stock.burnt().len() <= BURNT);
        assert_eq!(u64::from(state.stock.spoilt()), number + 1);
    }
    assert!(state.stock.convicted().is_empty());
}

/// A file of evidence is judged with the room's link alone.
#[test]
fn a_file_is_judged_by_whoever_has_the_link() {
    let description = |nonce| Description {
        name: "Agora".into(),
        nonce: Digest([nonce; 32]),
        corrupt: 1,
        servers: (0..4).map(card).collect(),
        shape: SHAPE,
        admitted: None,
    };
    let own = description(1);
    let room = Arc::new(own.room().unwrap());
    let mut trial = Trial::new(Arc::clone(&room), 0);
    let liar = id(LIAR);
    for (member, shown) in trial.burn(liar) {
        drop(trial.say(member, &shown));
    }
    let file = EvidenceFile::new(own, [trial.evidence(liar)]);
    let text = serde_json::to_string(&file).unwrap();
    let judged = EvidenceFile::read(&text).unwrap().judge(&room.digest()).unwrap();
    assert_eq!(judged, BTreeMap::from([(liar, Deed::FalseComplaint)]));
    let link = description(2).room().unwrap().digest();
    assert!(matches!(file.judge(&link), Err(NoEvidence::Elsewhere)));
    let elsewhere = EvidenceFile::new(description(2), [trial.evidence(liar)]);
    assert!(matches!(elsewhere.judge(&link), Err(NoEvidence::Unproven)));
    assert!(EvidenceFile::read(&text.replace("evidence-1", "evidence-2")).is_err());
    assert!(matches!(EvidenceFile::read("{}"), Err(NoEvidence::Malformed(_))));
}

fn card(i: usize) -> Card {
    let (url, mesh) = (format!("http://s{i}.test"), format!("s{i}.test:1"));
    Card::sign(&format!("s{i}"), &url, &mesh, &signing(i))
}
