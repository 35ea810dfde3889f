//! A prepared batch as one server keeps it.

use std::sync::OnceLock;

use bytes::Bytes;
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, Received, Roster, wire};
use ostrakon_threeparty::Statement;
use serde::{Deserialize, Serialize};

use crate::batch::seeds::{BatchSeeds, PairSeed};
use crate::batch::statements::stated;
use crate::messages::{self, BatchSpec, Kind, PairStatement, Subject};
use crate::pair::Pair;

/// A batch that has passed all checks. Not `Clone`; an epoch consumes it.
pub struct Stock {
    /// What it is.
    pub spec: BatchSpec,
    /// The seeds of the party's two pairs.
    pub seeds: BatchSeeds,
    /// All parties' signed statements about the pairs' seeds.
    pub statements: [Statement; 3],
    /// All parties' signed statements about the messages of the preprocessing; those of P1 and P2
    /// state the digest of `[α_out]_12`.
    pub transcripts: [Statement; 3],
    /// The rows of `[α_out]_12`; P0 has none.
    pub last: Option<Bytes>,
    /// The digest of `[α_out]_12`, stated by P1 and P2.
    pub last_digest: Digest,
    party: u8,
    permutations: [OnceLock<Vec<u32>>; 2],
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    party: u8,
    spec: BatchSpec,
    seeds: [[u8; 32]; 2],
    statements: [Statement; 3],
    transcripts: [Statement; 3],
    last_digest: Digest,
}

impl Stock {
    pub(crate) fn new(
        party: u8,
        spec: BatchSpec,
        seeds: BatchSeeds,
        statements: &[Received; 3],
        transcripts: &[Received; 3],
        last: Option<Bytes>,
        last_digest: Digest,
    ) -> Self {
        let owned =
            |received: &[Received; 3]| [0, 1, 2].map(|i: usize| Statement::from(&received[i]));
        let (statements, transcripts) = (owned(statements), owned(transcripts));
        Self {
            spec,
            seeds,
            statements,
            transcripts,
            last,
            last_digest,
            party,
            permutations: Default::default(),
        }
    }

    /// What is stated about a pair. Both members state the same.
    pub fn stated(&self, pair: Pair) -> PairStatement {
        let member = pair.members()[0];
        stated(&self.statements[usize::from(member)].body, member, pair)
    }

    /// The permutation of a pair that the party is in, made when it is first asked for.
    pub fn permutation(&self, pair: Pair) -> &[u32] {
        let place = usize::from(Pair::of_party(self.party)[1] == pair);
        self.permutations[place]
            .get_or_init(|| self.seeds.of(pair).permutation(self.spec.shape.rows))
    }

    /// Makes the permutations ahead of time, while nothing waits for them. They take 8 bytes for
    /// each row.
    pub fn warm(&self) {
        for pair in Pair::of_party(self.party) {
            self.permutation(pair);
        }
    }

    /// Bytes for a file that only this server may read: a header, then the rows of `[α_out]_12`
    /// where there are any.
    pub fn to_bytes(&self) -> Vec<u8> {
        let seed = |pair| *self.seeds.of(pair).expose();
        let header = wire::encode(&Encoded {
            party: self.party,
            spec: self.spec,
            seeds: Pair::of_party(self.party).map(seed),
            statements: self.statements.clone(),
            transcripts: self.transcripts.clone(),
            last_digest: self.last_digest,
        });
        let mut bytes =
            Vec::with_capacity(8 + header.len() + self.last.as_ref().map_or(0, Bytes::len));
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(self.last.as_deref().unwrap_or(&[]));
        bytes
    }

    /// Reads what [`Stock::to_bytes`] wrote, and checks that it is whole and of this roster.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8], roster: &Roster) -> Result<Self, wire::Malformed> {
        let length = bytes.first_chunk::<8>().ok_or(wire::Malformed)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| wire::Malformed)?;
        let rest = &bytes[8..];
        let header: Encoded = wire::decode(rest.get(..length).ok_or(wire::Malformed)?)?;
        let table = &rest[length..];
        let holds_last = header.party != 0;
        let expected = if holds_last { header.spec.shape.bytes() } else { 0 };
        let subject = Subject::Batch(header.spec);
        let genuine = header.party <= 2
            && header.spec.shape.is_valid()
            && said(&subject, Kind::SeedStatement, &header.statements, roster)
            && said(&subject, Kind::TranscriptStatement, &header.transcripts, roster);
        if !genuine || table.len() != expected {
            return Err(wire::Malformed);
        }
        let mut seeds = [None, None, None];
        for (pair, seed) in Pair::of_party(header.party).into_iter().zip(header.seeds) {
            seeds[pair.index()] = Some(PairSeed::opened(seed));
        }
        Ok(Self {
            spec: header.spec,
            seeds: BatchSeeds(seeds),
            statements: header.statements,
            transcripts: header.transcripts,
            last: holds_last.then(|| Bytes::copy_from_slice(table)),
            last_digest: header.last_digest,
            party: header.party,
            permutations: Default::default(),
        })
    }
}

/// Whether these are the parties' own statements of that kind, in order. Their tags name the batch
/// with its shape.
fn said(batch: &Subject, kind: Kind, statements: &[Statement; 3], roster: &Roster) -> bool {
    (0..).zip(statements).all(|(party, statement)| {
        let header = &statement.signed.header;
        header.from == PartyId(party)
            && header.tag == batch.tag(kind)
            && messages::length(batch, kind.step()).admits(header.length)
            && statement.holds(roster)
    })
}
