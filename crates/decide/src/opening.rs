//! After the close: every server checks everything and opens its part, and whoever has the parts computes the result (spec, steps 15
//! and 16).

use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_onepass::{
    Absence, Closing, KeyShare, Layer as EngineLayer, PartialDecryption, PartialError, Removed, Ristretto,
};
use ostrakon_party::{PartyId, wire};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Stage};
use crate::function::Meaning;
use crate::keys::KeyName;
use crate::layers;
use crate::operators::{Operators, SERVERS};
use crate::record::SignedRecord;
use crate::refused::Refused;
use crate::shares::HeldShare;
use crate::visit::Visit;

/// What a server announces after the close.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The digest of the record that closed the decision.
    pub close: Digest,
    /// Its partial decryption as an operator.
    pub layer: Vec<u8>,
    /// If somebody was absent, its partial decryption as a helper; as many as the draft's threshold are needed.
    pub absent: Option<Vec<u8>>,
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

/// Verifies a decision's whole history, from its first record on: what every server does before it opens. It takes long.
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
                let choices: Vec<u16> = chain.draft().ballots.iter().map(|ballot| u16::from(ballot.assumed)).collect();
                let absence = |person: &u16| {
                    let visitor = chain.visitor(*person).expect("the rules name people only");
                    Absence { visitor, choices: choices.clone() }
                };
                let absent: Vec<Absence> = absent.iter().map(absence).collect();
                Some(history.close(&head, &absent).map_err(|error| Refused::NoResult(error.to_string()))?)
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

    /// The one-time keys of the absent, whose shares a helper needs, in the order of [`Chain::close`].
    pub fn absent_keys(&self) -> Vec<KeyName> {
        let absent = self.chain.close().map(|(_, absent)| absent).unwrap_or_default();
        let name = |person: &u16| Some(self.chain.people()[usize::from(*person)].key()?.name());
        absent.iter().filter_map(name).collect()
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

    /// The opening of the server with this identity. `shares` are those that it holds of [`Examined::absent_keys`]; if one is missing,
    /// it opens as an operator only, and enough others must stand in. The caller has
    /// made sure by [`Examined::may_open`], and by writing it down, that the server opens this close and no other.
    ///
    /// # Errors
    /// [`Refused`] if it is not closed, or a share is wrong.
    pub fn open(
        &self,
        identity: &SigningKey,
        party: PartyId,
        shares: &[HeldShare],
        rng: &mut impl CryptoRng,
    ) -> Result<Opening, Refused> {
        let (closing, close) = self.closing()?;
        let failed = |reason: String| Refused::Opening { party: party.0, reason };
        let partial = |error: PartialError| failed(error.to_string());
        let key = layers::secret(identity, self.chain.draft()).map_err(|error| failed(error.to_string()))?;
        let layer = closing.decrypt_as_operator(party.index(), &key, rng).map_err(partial)?.to_bytes();
        let names = self.absent_keys();
        if names.is_empty() {
            return Ok(Opening { close, layer, absent: None });
        }
        let mut own: Vec<(EngineLayer, KeyShare<Ristretto>)> = Vec::new();
        for (visitor, name) in closing.absent().iter().zip(self.names_by_visitor(closing)) {
            let held = shares.iter().find(|held| held.statement().name() == name).and_then(HeldShare::share);
            let Some(held) = held else { return Ok(Opening { close, layer, absent: None }) };
            own.push((EngineLayer::Visitor(*visitor), held));
        }
        let shares: Vec<_> = own.iter().map(|(layer, share)| (*layer, share)).collect();
        let absent = closing.decrypt_as_helper(party.index(), &[], &shares, rng).map_err(partial)?.to_bytes();
        Ok(Opening { close, layer, absent: Some(absent) })
    }

    /// The names of the absentees' keys in the engine's order.
    fn names_by_visitor(&self, closing: &Closing<Ristretto>) -> Vec<KeyName> {
        let people: Vec<_> = self.chain.asked().collect();
        let name = |visitor: &usize| Some(people.get(*visitor)?.1.key()?.name());
        closing.absent().iter().filter_map(name).collect()
    }

    /// Verifies the opening of a server.
    ///
    /// # Errors
    /// [`Refused::Opening`] says what is wrong with it.
    pub fn check_opening(&self, party: PartyId, opening: &Opening) -> Result<(), Refused> {
        self.removed(party, opening).map(|_| ())
    }

    fn removed(&self, party: PartyId, opening: &Opening) -> Result<Vec<Removed<Ristretto>>, Refused> {
        let (closing, close) = self.closing()?;
        let failed = |reason: String| Refused::Opening { party: party.0, reason };
        let partial = |error: PartialError| failed(error.to_string());
        if opening.close != close {
            return Err(failed("it opens another close".into()));
        }
        let ballots = self.chain.draft().ballots.len();
        let read =
            |bytes: &[u8]| PartialDecryption::from_bytes(bytes, ballots).map_err(|error| failed(error.to_string()));
        let mut removed = vec![closing.verify_operator(party.index(), read(&opening.layer)?).map_err(partial)?];
        if let Some(absent) = &opening.absent {
            removed.push(closing.verify_helper(party.index(), &[], read(absent)?).map_err(partial)?);
        }
        Ok(removed)
    }

    /// The result, from the openings of all three servers, of whom enough stand in if somebody was absent.
    ///
    /// # Errors
    /// [`Refused`] if one is missing or does not hold.
    pub fn result(&self, openings: &[(PartyId, Opening)]) -> Result<Outcome, Refused> {
        let (closing, _) = self.closing()?;
        let mut removed = Vec::new();
        for party in (0u8..).map(PartyId).take(SERVERS) {
            let own = openings.iter().find(|(of, _)| *of == party);
            let (_, own) = own.ok_or_else(|| Refused::NoResult(format!("server {} has not opened it yet", party.0)))?;
            removed.extend(self.removed(party, own)?);
        }
        let outputs = closing.open(&removed).map_err(|error| Refused::NoResult(error.to_string()))?;
        let people = self.chain.remaining();
        let meaning = |(output, ballot): (&u32, &crate::draft::Ballot)| {
            ballot.function.meaning(people, ballot.options.len(), *output)
        };
        let meanings: Option<_> = outputs.iter().zip(&self.chain.draft().ballots).map(meaning).collect();
        let meanings = meanings.ok_or_else(|| Refused::NoResult("it is none of the function's outputs".into()))?;
        Ok(Outcome { outputs, meanings })
    }
}
