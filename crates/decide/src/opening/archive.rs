//! An exported decision: everything that is needed to check it offline.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, Servers};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Stage};
use crate::draft::warning::{Warning, warnings};
use crate::draft::{Ballot, DecisionId};
use crate::opening::{Opening, Outcome, examine, shortage};
use crate::operators::Operators;
use crate::record::SignedRecord;
use crate::refused::Refused;

/// The format of archives. It grows with every change of what is in them.
pub const ARCHIVE_FORMAT: &str = "ostrakon-decision-1";

/// A server's opening in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedOpening {
    /// The server.
    pub party: PartyId,
    /// [`Opening::encode`], in base64url without padding.
    pub opening: String,
}

/// An exported decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// [`ARCHIVE_FORMAT`].
    pub format: String,
    /// Who kept it.
    pub servers: Servers,
    /// All records from the first, in base64url without padding.
    pub records: Vec<String>,
    /// The servers' openings, by party.
    pub openings: Vec<ArchivedOpening>,
}

/// What any version's file says of itself.
#[derive(Deserialize)]
struct Named {
    format: Option<String>,
    #[serde(rename = "records")]
    _records: serde::de::IgnoredAny,
    #[serde(rename = "servers")]
    _servers: serde::de::IgnoredAny,
}

/// How somebody took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The creator took the person off the list.
    Removed,
    /// The person had not accepted in time, and it went on without.
    Late,
    /// The person has not accepted.
    Invited,
    /// The person has accepted and not answered.
    Accepted,
    /// The person has answered, in the record of this number.
    Answered(u32),
    /// The person stayed away, and the assumed answers counted.
    Absent,
}

/// A person in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedPerson {
    /// As the draft calls it.
    pub name: String,
    /// How it took part.
    pub part: Part,
    /// Whether it says to have checked everything.
    pub verified: bool,
}

/// What an archive proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The decision.
    pub decision: DecisionId,
    /// The digest of the servers.
    pub servers: Digest,
    /// What was asked.
    pub question: String,
    /// What was decided.
    pub ballots: Vec<Ballot>,
    /// Who was asked.
    pub people: Vec<ReportedPerson>,
    /// How many servers stand in.
    pub threshold: u8,
    /// Until when to accept, in seconds since 1970.
    pub accept_by: u64,
    /// Whether it lapses if somebody has not accepted by then ([`Chain::needs_all`]).
    pub all_needed: bool,
    /// Until when to answer, in seconds since 1970.
    pub deadline: u64,
    /// How many must answer for a result.
    pub quorum: usize,
    /// Why it will lapse at the time to accept if nobody else accepts; nothing if it goes on, or
    /// answers are taken already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lapses: Option<String>,
    /// When it ended, by the clock of who ended it. Before the deadline: all had answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// What its result can tell more than it seems to.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// How far it came.
    pub stage: Stage,
    /// The result, if all three servers have opened it.
    pub outcome: Option<Outcome>,
    /// Why there will be none although it was closed: for whom too few servers stand in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<String>,
    /// How many records there are.
    pub records: u32,
    /// The digest of the last record.
    pub head: Digest,
}

impl Report {
    /// What a verified chain, its outcome and the openings amount to.
    pub fn new(chain: &Chain, outcome: Option<Outcome>, openings: &[(PartyId, Opening)]) -> Self {
        let draft = chain.draft();
        let absent = chain.close().map(|(_, absent)| absent.to_vec()).unwrap_or_default();
        let person = |(place, (person, standing)): (
            u16,
            (&crate::draft::Person, &crate::chain::Standing),
        )| {
            let part = match (standing.answered(), standing.key()) {
                _ if standing.is_late() => Part::Late,
                _ if standing.is_removed() => Part::Removed,
                (Some(number), _) => Part::Answered(number),
                _ if absent.contains(&place) => Part::Absent,
                (None, Some(_)) => Part::Accepted,
                (None, None) => Part::Invited,
            };
            ReportedPerson { name: person.name.clone(), part, verified: standing.has_verified() }
        };
        Self {
            decision: chain.id(),
            servers: chain.operators().digest,
            question: draft.question.clone(),
            ballots: draft.ballots.clone(),
            people: (0..).zip(draft.people.iter().zip(chain.people())).map(person).collect(),
            threshold: draft.threshold,
            accept_by: draft.accept_by,
            all_needed: chain.needs_all(),
            deadline: draft.deadline,
            quorum: chain.quorum(),
            lapses: (chain.stage() == Stage::Accepting)
                .then(|| chain.goes_on_without().err())
                .flatten(),
            ended_at: chain.ended_at(),
            warnings: warnings(draft, chain.remaining()),
            stage: chain.stage(),
            outcome,
            shortage: shortage(chain, openings),
            records: chain.length(),
            head: chain.head(),
        }
    }
}

fn refuse<T>(text: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Archive(text.into()))
}

/// Reads what [`Archive::new`] writes.
fn bytes(text: &str) -> Result<Vec<u8>, Refused> {
    BASE64URL_NOPAD.decode(text.as_bytes()).or_else(|_| refuse("it holds what is not base64url"))
}

impl Archive {
    /// An archive of these records (encoded) and openings.
    pub fn new(
        servers: Servers,
        records: impl IntoIterator<Item = impl AsRef<[u8]>>,
        openings: &[(PartyId, Opening)],
    ) -> Self {
        let records =
            records.into_iter().map(|record| BASE64URL_NOPAD.encode(record.as_ref())).collect();
        let mut openings: Vec<_> = openings
            .iter()
            .map(|(party, opening)| ArchivedOpening {
                party: *party,
                opening: BASE64URL_NOPAD.encode(&opening.encode()),
            })
            .collect();
        openings.sort_by_key(|opening| opening.party);
        Self { format: ARCHIVE_FORMAT.into(), servers, records, openings }
    }

    /// The file's text: JSON, always written in the same way.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("writing plain data into memory does not fail");
        text.push('\n');
        text
    }

    /// Reads and verifies an archive: every signature, every step, every opening. `pinned` is the
    /// digest of the servers from the decision's link, if the reader has it; without it the archive
    /// is only shown to be what *some* three servers kept.
    ///
    /// # Errors
    /// [`Refused`] says what does not hold. Every change of a single byte is an error.
    pub fn verify(
        text: &str,
        pinned: Option<&Digest>,
        rng: &mut impl CryptoRng,
    ) -> Result<Report, Refused> {
        let form = "it is not in the form in which archives are written";
        // A file of another version is not one that was changed.
        let named = serde_json::from_str::<Named>(text);
        match named.map(|named| named.format) {
            Ok(Some(format)) if format == ARCHIVE_FORMAT => {}
            Ok(Some(format)) => return Err(Refused::Version(format.chars().take(40).collect())),
            Ok(None) => return Err(Refused::Version("an early one without a name".into())),
            Err(_) => return refuse(form),
        }
        let Ok(archive) = serde_json::from_str::<Archive>(text) else {
            return refuse(form);
        };
        if archive.to_text() != text {
            return refuse(format!("{form}: it was changed after export"));
        }
        let Some(operators) = Operators::new(&archive.servers) else {
            return refuse("it does not name three servers");
        };
        if pinned.is_some_and(|digest| *digest != operators.digest) {
            return refuse("it is of other servers than the given link names");
        }
        let records =
            archive.records.iter().map(|record| bytes(record)).collect::<Result<Vec<_>, _>>()?;
        let examined = examine(operators, &records, rng)?;
        let openings = archive.openings()?;
        let parties: Vec<u8> = openings.iter().map(|(party, _)| party.0).collect();
        if !parties.is_sorted_by(|a, b| a < b) {
            return refuse("the servers' openings are not in order, or one is there twice");
        }
        let outcome = examined.outcome(&openings)?;
        Ok(Report::new(examined.chain(), outcome, &openings))
    }

    fn openings(&self) -> Result<Vec<(PartyId, Opening)>, Refused> {
        let read = |archived: &ArchivedOpening| {
            Ok((archived.party, Opening::decode(&bytes(&archived.opening)?)?))
        };
        self.openings.iter().map(read).collect()
    }

    /// The decision that the archive claims to be of, unverified.
    pub fn decision(&self) -> Option<DecisionId> {
        let first = bytes(self.records.first()?).ok()?;
        Some(SignedRecord::decode(&first).ok()?.record.decision)
    }
}
