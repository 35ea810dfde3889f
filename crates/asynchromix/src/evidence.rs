//! What convicts a server that lied while stock was prepared (spec V9): the records of the batch
//! that was burnt, each under its author's signature. Whoever has the room's description recomputes
//! the batch from them, and needs to believe nobody.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript};
use ostrakon_party::{PartyId, wire};
use ostrakon_robust::offline::{Case, Complaint, Deviation, Record, Verdict};
use serde::{Deserialize, Serialize};

use crate::description::{Description, Unsound};
use crate::room::Room;

/// The name of the files' format.
const FORMAT: &str = "ostrakon-mix-evidence-1";
/// Bytes of the longest file that is read.
pub const LONGEST_FILE: usize = 64 << 20;

/// What a member shows of a batch that does not come out, under its signature: its complaint, or
/// its seed with the dealings that it received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The record ([`Record`]).
    pub record: Vec<u8>,
    /// Its author's signature on the batch's name and the record. The name binds all members'
    /// commitments: nobody can put what an honest member showed beside other seeds.
    pub signature: Signature,
}

impl Shown {
    /// Shows a record of the batch of this name.
    #[must_use]
    pub fn sign(name: &Digest, record: &Record, signing: &SigningKey) -> Self {
        let record = record.to_bytes();
        let signature = signing.sign(&Self::statement(name, &record));
        Self { record, signature }
    }

    fn statement(name: &Digest, record: &[u8]) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/shown record");
        transcript.field(&name.0).field(record);
        transcript.finish()
    }
}

/// What a server did, in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// It showed another seed than it had committed to.
    OtherSeed,
    /// It gave a server false numbers to work with.
    FalseNumbers,
    /// It sent a server a false result.
    FalseResult,
    /// It complained although nothing was wrong.
    FalseComplaint,
}

impl Deed {
    /// For people who have never heard of seeds and shares.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Deed::OtherSeed => "did not keep to what it had bound itself to before a round",
            Deed::FalseNumbers => "gave another server false numbers when a round was prepared",
            Deed::FalseResult => "told another server a false result when a round was prepared",
            Deed::FalseComplaint => "stopped the preparation of a round without a cause",
        }
    }
}

impl From<Deviation> for Deed {
    fn from(deviation: Deviation) -> Self {
        match deviation {
            Deviation::Seed => Deed::OtherSeed,
            Deviation::Dealt(..) => Deed::FalseNumbers,
            Deviation::Sent(..) => Deed::FalseResult,
            Deviation::Groundless => Deed::FalseComplaint,
        }
    }
}

/// A batch that a complaint has burnt, with what its members have shown of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burnt {
    /// The batch.
    pub batch: u64,
    /// Members' commitments, by position.
    commitments: Vec<Digest>,
    /// The position of who complained.
    complainer: usize,
    complaint: Shown,
    /// What members have shown, by position.
    reveals: BTreeMap<usize, Shown>,
}

impl Burnt {
    /// A batch on which a member complains; `None` unless the complaint is one, and signed.
    pub(crate) fn new(
        room: &Room,
        batch: u64,
        commitments: Vec<Digest>,
        (complainer, complaint): (usize, &Shown),
    ) -> Option<Self> {
        let complaint = complaint.clone();
        let burnt = Self { batch, commitments, complainer, complaint, reveals: BTreeMap::new() };
        let sound = burnt.complaint().is_some()
            && burnt.signed(room, complainer, &burnt.name(room), &burnt.complaint);
        sound.then_some(burnt)
    }

    /// Takes what a member shows; whether it is its first reveal, and signed.
    pub(crate) fn show(&mut self, room: &Room, position: usize, shown: &Shown) -> bool {
        let new = !self.reveals.contains_key(&position)
            && matches!(Record::from_bytes(&shown.record), Some(Record::Reveal(_)))
            && self.signed(room, position, &self.name(room), shown);
        if new {
            self.reveals.insert(position, shown.clone());
        }
        new
    }

    /// The complaint, with who complained.
    pub(crate) fn complaint(&self) -> Option<(usize, Complaint)> {
        match Record::from_bytes(&self.complaint.record)? {
            Record::Complaint(complaint) => Some((self.complainer, complaint)),
            _ => None,
        }
    }

    /// Whether a member has shown what it has.
    #[must_use]
    pub fn has_shown(&self, position: usize) -> bool {
        self.reveals.contains_key(&position)
    }

    /// The members that have not shown what they have. That names nobody: the net may be slow.
    #[must_use]
    pub fn lacking(&self, room: &Room) -> Vec<PartyId> {
        let members = room.committee_of(self.batch).members().iter().enumerate();
        members.filter(|(at, _)| !self.has_shown(*at)).map(|(_, member)| *member).collect()
    }

    fn name(&self, room: &Room) -> Digest {
        room.subject_of(self.batch).name(&room.shuffle_of(self.batch), &self.commitments)
    }

    fn signed(&self, room: &Room, position: usize, name: &Digest, shown: &Shown) -> bool {
        let member = room.committee_of(self.batch).members().get(position);
        let statement = Shown::statement(name, &shown.record);
        member
            .is_some_and(|member| room.identities()[*member].verifies(&statement, &shown.signature))
    }

    /// Who deviated, if all records are their authors'.
    pub(crate) fn verdict(&self, room: &Room) -> Option<Verdict> {
        let (complainer, complaint) = self.complaint()?;
        let subject = room.subject_of(self.batch);
        let reveal = |(at, shown): (&usize, &Shown)| match Record::from_bytes(&shown.record)? {
            Record::Reveal(reveal) => Some((*at, reveal)),
            _ => None,
        };
        let reveals = self.reveals.iter().map(reveal).collect::<Option<BTreeMap<_, _>>>()?;
        let case = Case {
            commitments: &self.commitments,
            complainer: *subject.committee.members().get(complainer)?,
            complaint: &complaint,
            reveals: &reveals,
        };
        subject.judge(&room.shuffle_of(self.batch), &case)
    }

    /// Whom this convicts in the eyes of somebody who has nothing but the room's description, and
    /// of what; `None` if it does not. Takes as long as the batch took to prepare.
    #[must_use]
    pub fn convicts(&self, room: &Room) -> Option<(PartyId, Deed)> {
        if self.commitments.len() != room.committee_of(self.batch).size() {
            return None;
        }
        let name = self.name(room);
        let mut all = self.reveals.iter().chain([(&self.complainer, &self.complaint)]);
        if !all.all(|(at, shown)| self.signed(room, *at, &name, shown)) {
            return None;
        }
        self.verdict(room).map(|verdict| (verdict.culprit, verdict.deviation.into()))
    }
}

/// Who was convicted, of what, and by what evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conviction {
    /// What the server did.
    pub deed: Deed,
    /// What shows it.
    pub evidence: Burnt,
}

/// Evidence as a file that anybody can judge who has the room's link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFile {
    format: String,
    /// The room, as its servers show it: the link's digest says whether it is the right one.
    pub room: Description,
    /// Burnt batches ([`Burnt`]), base64url.
    evidence: Vec<String>,
}

/// Why a file shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum NoEvidence {
    /// It is none.
    #[error("this is no file of evidence: {0}")]
    Malformed(String),
    /// Its description of the room is not sound.
    #[error("the file's description of the room is not sound: {0}")]
    Room(#[from] Unsound),
    /// It is about another room.
    #[error("the file is about another room than the link names")]
    Elsewhere,
    /// Something in it convicts nobody.
    #[error(
        "the evidence convicts nobody: it was changed, or somebody put it together who could not \
         sign it"
    )]
    Unproven,
}

impl EvidenceFile {
    /// A file of all that is known.
    pub fn new<'a>(room: Description, evidence: impl IntoIterator<Item = &'a Burnt>) -> Self {
        let encode = |burnt: &Burnt| BASE64URL_NOPAD.encode(&wire::encode(burnt));
        let evidence = evidence.into_iter().map(encode).collect();
        Self { format: FORMAT.to_owned(), room, evidence }
    }

    /// Reads a file; nothing of it has been judged.
    ///
    /// # Errors
    /// [`NoEvidence::Malformed`].
    pub fn read(text: &str) -> Result<Self, NoEvidence> {
        let malformed = |what: &str| NoEvidence::Malformed(what.to_owned());
        if text.len() > LONGEST_FILE {
            return Err(malformed("it is too long"));
        }
        let file: Self = serde_json::from_str(text).map_err(|e| malformed(&e.to_string()))?;
        if file.format == FORMAT { Ok(file) } else { Err(malformed("its format is another one")) }
    }

    /// What the file has, burnt batch by burnt batch.
    ///
    /// # Errors
    /// [`NoEvidence::Malformed`].
    pub fn evidence(&self) -> Result<Vec<Burnt>, NoEvidence> {
        let read = |text: &String| {
            let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
            wire::decode(&bytes).ok()
        };
        let read: Option<Vec<Burnt>> = self.evidence.iter().map(read).collect();
        read.ok_or_else(|| NoEvidence::Malformed("its evidence cannot be read".to_owned()))
    }

    /// Whom the file convicts in the room that a link names, and of what.
    ///
    /// # Errors
    /// [`NoEvidence`]: also if any part of it shows nothing, or there is none.
    pub fn judge(&self, link: &Digest) -> Result<BTreeMap<PartyId, Deed>, NoEvidence> {
        let room = self.room.room()?;
        if room.digest() != *link {
            return Err(NoEvidence::Elsewhere);
        }
        let judged = self.evidence()?.into_iter().map(|burnt| burnt.convicts(&room));
        let judged: Option<BTreeMap<_, _>> = judged.collect();
        judged.filter(|judged| !judged.is_empty()).ok_or(NoEvidence::Unproven)
    }
}
