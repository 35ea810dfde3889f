//! From a decision whose people are all known to the engine's session (spec, step 10).

use std::sync::Arc;

use ostrakon_crypto::Digest;
use ostrakon_onepass::{self as onepass, Ristretto};

use crate::draft::{Ballot, Draft};
use crate::keys::layers::Layer;
use crate::keys::{InvalidKey, KeyStatement, threshold_helpers};
use crate::operators::Operators;

/// What a session is made of: everything that everybody must see alike.
pub(crate) struct Roster<'a> {
    pub operators: &'a Operators,
    pub draft: &'a Draft,
    pub layers: &'a [Layer],
    /// The digest of the record by which everybody's key is known.
    pub begins: &'a Digest,
    /// The people who are asked, by their place in the draft, with their keys.
    pub people: Vec<(u16, Arc<KeyStatement>)>,
}

/// A ballot's table for so many people.
pub(crate) fn table(
    ballot: &Ballot,
    people: usize,
) -> Result<onepass::Ballot, onepass::SessionError> {
    let options = ballot.options.len();
    let values = u16::try_from(options).unwrap_or(u16::MAX);
    onepass::Ballot::new(values, people, ballot.function.table(people, options))
}

impl Roster<'_> {
    /// The digest that everything in the engine is bound to.
    fn id(&self, ballots: &[onepass::Ballot]) -> onepass::SessionId {
        let mut transcript = self.operators.transcript("ostrakon/v1/decide/session");
        transcript
            .field(&self.draft.digest().0)
            .field(&self.begins.0)
            .number(self.people.len() as u64);
        for (person, key) in &self.people {
            transcript.number(u64::from(*person));
            key.add_to(&mut transcript);
        }
        for layer in self.layers {
            let commitments: Vec<u8> =
                layer.commitments.iter().flat_map(|commitment| commitment.0).collect();
            transcript.number(u64::from(layer.party.0)).field(&commitments);
        }
        for ballot in ballots {
            let outputs: Vec<u8> =
                ballot.outputs().iter().flat_map(|output| output.to_le_bytes()).collect();
            transcript.number(u64::from(ballot.values())).field(&outputs);
        }
        onepass::SessionId(transcript.finish())
    }

    /// The engine's session; the keys' proofs have been verified.
    pub fn session(&self) -> Result<onepass::Session<Ristretto>, String> {
        let tables = self.draft.ballots.iter().map(|ballot| table(ballot, self.people.len()));
        let ballots = tables.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let id = self.id(&ballots);
        let shown = |error: InvalidKey| error.to_string();
        let visitors = self
            .people
            .iter()
            .map(|(_, key)| key.layer_key())
            .collect::<Result<_, _>>()
            .map_err(shown)?;
        let layers = self.layers.iter().map(|layer| layer.layer_key(self.draft.threshold));
        let layers = layers.collect::<Result<_, _>>().map_err(shown)?;
        let helpers = threshold_helpers(self.draft.threshold).map_err(shown)?;
        onepass::Session::new(id, visitors, layers, helpers, ballots)
            .map_err(|error| error.to_string())
    }
}
