//! After the close: every server checks everything and opens its part, and whoever has the parts
//! computes the result (spec, steps 15 and 16).

pub mod archive;

use ostrakon_crypto::{Digest, Secret};
use ostrakon_onepass::{
    Absence, Closing, Layer as EngineLayer, PartialDecryption, Removed, Ristretto,
};
use ostrakon_party::{PartyId, wire};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Stage};
use crate::device::visit::Visit;
use crate::draft::function::Meaning;
use crate::keys::layers;
use crate::keys::shares::HeldShare;
use crate::keys::{KeyName, KeyStatement};
use crate::operators::{Operators, SERVERS};
use crate::record::SignedRecord;
use crate::refused::Refused;

/// A server's part as a helper for one absent person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    /// The person's place in the draft.
    pub person: u16,
    /// The partial decryption under the server's share of the person's one-time key.
    pub partial: Vec<u8>,
}

/// What a server announces after the close.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The digest of the record that closed the decision.
    pub close: Digest,
    /// Its partial decryption as an operator.
    pub layer: Vec<u8>,
    /// Its parts as a helper, for those of the absent whose shares it holds, ascending by person.
    /// For each of the absent as many servers' are needed as the draft's threshold says.
    pub absent: Vec<StandIn>,
}

impl Opening {
    /// Reads an opening; nothing in it is verified by that.
    ///
    /// # Errors
    /// [`Refused::Form`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Refused> {
        wire::decode(bytes).map_err(|_| Refused::Form)
    }

    /// The bytes that travel and are kept.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }
}

/// Why a server does not open yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotYet {
    /// It is not closed.
    #[error("the decision is not closed")]
    Open,
    /// Somebody is said to be absent before the deadline.
    #[error(
        "somebody is said to be absent, but the deadline has not passed by this server's clock: it waits until {0}"
    )]
    Deadline(u64),
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// One output for each ballot.
    pub outputs: Vec<u32>,
    /// What they say.
    pub meanings: Vec<Meaning>,
}

/// A decision whose whole history was verified.
pub struct Examined {
    chain: Chain,
    closing: Option<Closing<Ristretto>>,
}

/// Verifies a decision's whole history, from its first record on: what every server does before it
/// opens. It takes long.
///
/// # Errors
/// [`Refused`] names the record and the person.
pub fn examine(
    operators: Operators,
    records: impl IntoIterator<Item = impl AsRef<[u8]>>,
    rng: &mut impl CryptoRng,
) -> Result<Examined, Refused> {
    let mut visit = None;
    for record in records {
        let bytes = record.as_ref();
        if visit.is_none() {
            visit = Some(Visit::new(operators, SignedRecord::decode(bytes)?.record.decision));
        }
        let visit = visit.as_mut().expect("it was just begun");
        visit.read(bytes, rng)?;
    }
    let mut visit = visit.ok_or_else(|| Refused::NoResult("there are no records".into()))?;
    visit.verify(rng)?;
    Examined::of(&visit)
}

impl Examined {
    /// What a visit has read and verified.
    ///
    /// # Errors
    /// [`Refused`] if it has not verified everything.
    pub fn of(visit: &Visit) -> Result<Self, Refused> {
        let (chain, history) = visit.verified()?;
        let closing = match (chain.close(), history) {
            (Some((head, absent)), Some(history)) => {
                let choices: Vec<u16> =
                    chain.draft().ballots.iter().map(|ballot| u16::from(ballot.assumed)).collect();
                let absence = |person: &u16| {
                    let visitor = chain.visitor(*person).expect("the rules name people only");
                    Absence { visitor, choices: choices.clone() }
                };
                let absent: Vec<Absence> = absent.iter().map(absence).collect();
                Some(
                    history
                        .close(&head, &absent)
                        .map_err(|error| Refused::NoResult(error.to_string()))?,
                )
            }
            _ => None,
        };
        Ok(Self { chain: chain.clone(), closing })
    }

    /// What the records amount to.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Whether a server whose clock reads `now` (seconds since 1970) may open.
    ///
    /// # Errors
    /// [`NotYet`].
    pub fn may_open(&self, now: u64) -> Result<(), NotYet> {
        let (_, absent) = self.chain.close().ok_or(NotYet::Open)?;
        let deadline = self.chain.draft().deadline;
        if absent.is_empty() || now >= deadline { Ok(()) } else { Err(NotYet::Deadline(deadline)) }
    }

    /// The one-time keys of the absent, whose shares a helper needs, in the order of
    /// [`Chain::close`].
    pub fn absent_keys(&self) -> Vec<KeyName> {
        self.absentees().map(|(_, key)| key.name()).collect()
    }

    /// The absent by their places in the draft, ascending, with their keys.
    fn absentees(&self) -> impl Iterator<Item = (u16, &KeyStatement)> {
        let absent = self.chain.close().map(|(_, absent)| absent).unwrap_or_default();
        absent
            .iter()
            .filter_map(|person| Some((*person, self.chain.people()[usize::from(*person)].key()?)))
    }

    /// The layer of an absent person.
    fn layer_of(&self, person: u16) -> EngineLayer {
        EngineLayer::Visitor(self.chain.visitor(person).expect("the rules name people only"))
    }

    fn closing(&self) -> Result<(&Closing<Ristretto>, Digest), Refused> {
        let close = self.chain.close().map(|(digest, _)| digest);
        let ended = match self.chain.stage() {
            Stage::Lapsed => "it has lapsed",
            Stage::Cancelled => "it was cancelled",
            _ => "it is not closed",
        };
        self.closing.as_ref().zip(close).ok_or_else(|| Refused::NoResult(ended.into()))
    }

    /// The opening of the server that drew this for the draft ([`crate::Layer::of`]). `shares` are
    /// those that it holds of
    /// [`Examined::absent_keys`]; for whom it has none, or one that does not fit, it leaves its
    /// part out, and enough others must stand in. The caller has made sure by
    /// [`Examined::may_open`], and by writing it down, that the server opens this close and no
    /// other.
    ///
    /// # Errors
    /// [`Refused`] if it is not closed.
    pub fn open(
        &self,
        drawn: &Secret,
        party: PartyId,
        shares: &[HeldShare],
        rng: &mut impl CryptoRng,
    ) -> Result<Opening, Refused> {
        let (closing, close) = self.closing()?;
        let failed = |reason: String| Refused::Opening { party: party.0, reason };
        let key =
            layers::secret(drawn, self.chain.draft()).map_err(|error| failed(error.to_string()))?;
        let layer = closing
            .decrypt_as_operator(party.index(), &key, rng)
            .map_err(|error| failed(error.to_string()))?;
        let mut absent = Vec::new();
        for (person, key) in self.absentees() {
            let held =
                shares.iter().find(|held| held.statement() == key).and_then(HeldShare::share);
            let layer = self.layer_of(person);
            let partial = held
                .and_then(|held| closing.decrypt_as_helper(party.index(), layer, &held, rng).ok());
            absent.extend(partial.map(|partial| StandIn { person, partial: partial.to_bytes() }));
        }
        Ok(Opening { close, layer: layer.to_bytes(), absent })
    }

    /// Verifies the opening of a server.
    ///
    /// # Errors
    /// [`Refused::Opening`] says what is wrong with it.
    pub fn check_opening(&self, party: PartyId, opening: &Opening) -> Result<(), Refused> {
        self.removed(party, opening).map(|_| ())
    }

    fn removed(
        &self,
        party: PartyId,
        opening: &Opening,
    ) -> Result<Vec<Removed<Ristretto>>, Refused> {
        let (closing, close) = self.closing()?;
        let failed = |reason: String| Refused::Opening { party: party.0, reason };
        if opening.close != close {
            return Err(failed("it opens another close".into()));
        }
        if !opening.absent.is_sorted_by(|a, b| a.person < b.person) {
            return Err(failed(
                "its parts for the absent are not in order, or one is there twice".into(),
            ));
        }
        let ballots = self.chain.draft().ballots.len();
        let read = |bytes: &[u8]| {
            PartialDecryption::from_bytes(bytes, ballots).map_err(|error| failed(error.to_string()))
        };
        let operator = closing.verify_operator(party.index(), read(&opening.layer)?);
        let mut removed = vec![operator.map_err(|error| failed(error.to_string()))?];
        for part in &opening.absent {
            if self.absentees().all(|(person, _)| person != part.person) {
                return Err(failed("it stands in for somebody who was not absent".into()));
            }
            let helper = closing.verify_helper(
                party.index(),
                self.layer_of(part.person),
                read(&part.partial)?,
            );
            let name = self.chain.name(part.person);
            removed
                .push(helper.map_err(|_| failed(format!("its part for “{name}” does not hold")))?);
        }
        Ok(removed)
    }

    /// The result, from the openings of all three servers, of whom enough stand in for each of the
    /// absent.
    ///
    /// # Errors
    /// [`Refused`] if one is missing or does not hold, or says for whom too few stand in.
    pub fn result(&self, openings: &[(PartyId, Opening)]) -> Result<Outcome, Refused> {
        let (closing, _) = self.closing()?;
        let mut removed = Vec::new();
        for party in (0u8..).map(PartyId).take(SERVERS) {
            let own = openings.iter().find(|(of, _)| *of == party);
            let missing = || Refused::NoResult(format!("server {} has not opened it yet", party.0));
            removed.extend(self.removed(party, &own.ok_or_else(missing)?.1)?);
        }
        if let Some(shortage) = shortage(&self.chain, openings) {
            return Err(Refused::NoResult(shortage));
        }
        let outputs =
            closing.open(&removed).map_err(|error| Refused::NoResult(error.to_string()))?;
        let people = self.chain.remaining();
        let meaning = |(output, ballot): (&u32, &crate::draft::Ballot)| {
            ballot.function.meaning(people, ballot.options.len(), *output)
        };
        let meanings: Option<_> =
            outputs.iter().zip(&self.chain.draft().ballots).map(meaning).collect();
        let meanings = meanings
            .ok_or_else(|| Refused::NoResult("it is none of the function's outputs".into()))?;
        Ok(Outcome { outputs, meanings })
    }

    /// The same for whoever may come too early: `None` if a server has not opened yet, or if it is
    /// certain that there will be no result ([`shortage`]).
    ///
    /// # Errors
    /// [`Refused`] if an opening does not hold.
    pub fn outcome(&self, openings: &[(PartyId, Opening)]) -> Result<Option<Outcome>, Refused> {
        if openings.len() == SERVERS && shortage(&self.chain, openings).is_none() {
            return self.result(openings).map(Some);
        }
        openings.iter().try_for_each(|(party, opening)| self.check_opening(*party, opening))?;
        Ok(None)
    }
}

/// For whom too few servers stand in, and which do, if it is certain by these openings, which need
/// not be verified, that there will be no result: a sentence.
pub fn shortage(chain: &Chain, openings: &[(PartyId, Opening)]) -> Option<String> {
    let (_, absent) = chain.close()?;
    let needed = usize::from(chain.draft().threshold);
    let awaited = SERVERS.saturating_sub(openings.len());
    let standing_in = |person: u16| {
        let parts = |opening: &Opening| opening.absent.iter().any(|part| part.person == person);
        let servers = openings.iter().filter(move |(_, opening)| parts(opening));
        servers.map(|(party, _)| party.0.to_string()).collect::<Vec<_>>()
    };
    let standing = absent.iter().map(|person| (*person, standing_in(*person)));
    let mut short = standing.filter(|(_, servers)| servers.len() + awaited < needed);
    let (person, servers) = short.next()?;
    let name = chain.name(person);
    let who = match servers.as_slice() {
        [] => "no server".to_owned(),
        [one] => format!("only server {one}"),
        several => format!("only the servers {}", several.join(" and ")),
    };
    let silent = openings
        .iter()
        .filter(|(_, opening)| opening.absent.iter().all(|part| part.person != person));
    let mut silent: Vec<String> = silent.map(|(party, _)| format!("server {}", party.0)).collect();
    silent.sort();
    let others = match short.count() {
        0 => String::new(),
        others => format!("; so it is for {others} more of the absent"),
    };
    Some(format!(
        "{needed} servers have to stand in for “{name}”, who stayed away, but {who} did; {}, which signed for a share of that \
         person's key, gave no part{others}",
        silent.join(" and ")
    ))
}
