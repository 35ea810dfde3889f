//! Finding the cheater by opening seeds and computing again what they prescribe.
//!
//! A failed batch is opened whole: it depends on no input, and none of its masks has been given
//! out. In the online phase only the permutation and the mask of the pair in dispute are opened;
//! the batch's output is then never opened, so the permutation links nothing.

use ostrakon_crypto::Digest;
use ostrakon_kernels::{Prg, gather, permutation, zeroed_table};
use ostrakon_party::{Header, PartyId, Received, Roster, SignedHeader, wire};
use ostrakon_threeparty::Statement;
use serde::{Deserialize, Serialize};

use crate::batch::seeds::{BatchSeeds, PairSeed};
use crate::batch::set_equality::{self, Stage};
use crate::batch::shares::Stored;
use crate::batch::shuffle_pair::{self, Permuting};
use crate::batch::stages;
use crate::batch::statements::{coin_of, pair_statement, stated, sum_of};
use crate::coin::{self, seed_digest};
use crate::commitment;
use crate::messages::{
    self, BatchSpec, Kind, PairStatement, STAGES, Shape, Subject, TranscriptStatement,
};
use crate::pair::Pair;

/// What all parties said, by authenticated broadcast, in the preprocessing of a batch.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// About their seeds.
    pub statements: &'a [Received; 3],
    /// About what they sent and received.
    pub transcripts: &'a [Received; 3],
    /// Their contributions to the coin.
    pub coins: &'a [Received; 3],
    /// Their local sums.
    pub sums: &'a [Received; 3],
}

/// A failed batch, opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchEvidence {
    /// The batch seeds, by pair.
    seeds: [[u8; 32]; 3],
    statements: [Statement; 3],
    transcripts: [Statement; 3],
    coins: [Statement; 3],
    sums: [Statement; 3],
}

/// Whether an opening contradicts the commitment that it is for: a seed its statement, or as in
/// [`commitment::opening_fails`]. Both must hold.
pub fn opening_fails(commitment: &Statement, opening: &Statement) -> bool {
    let (c, o) = (&commitment.signed.header, &opening.signed.header);
    if (c.tag.step, o.tag.step) != (Kind::SeedStatement.step(), Kind::SeedOpening.step()) {
        return commitment::opening_fails::<Subject>(commitment, opening);
    }
    let stated = PairStatement::decode(&commitment.body).map(|pair| pair.batch);
    let opened = [&opening.body[..32], &opening.body[32..]].map(seed_digest);
    let same_run = c.from == o.from && c.tag.instance == o.tag.instance && c.session == o.session;
    same_run && stated != opened
}

fn owned(received: &[Received; 3]) -> [Statement; 3] {
    [0, 1, 2].map(|i: usize| Statement::from(&received[i]))
}

impl BatchEvidence {
    /// Of the opened seeds, by pair, and what was said.
    pub(crate) fn new(seeds: [[u8; 32]; 3], said: Said<'_>) -> Self {
        Self {
            seeds,
            statements: owned(said.statements),
            transcripts: owned(said.transcripts),
            coins: owned(said.coins),
            sums: owned(said.sums),
        }
    }

    pub(crate) fn proven(&self, roster: &Roster, subject: &Subject) -> Option<PartyId> {
        let Subject::Batch(spec) = subject else { return None };
        let kinds =
            [Kind::SeedStatement, Kind::TranscriptStatement, Kind::CoinOpening, Kind::SumOpening];
        let all = [&self.statements, &self.transcripts, &self.coins, &self.sums];
        for (kind, statements) in kinds.into_iter().zip(all) {
            for (i, statement) in statements.iter().enumerate() {
                let header = &statement.signed.header;
                let length = crate::messages::length(subject, kind.step()).admits(header.length);
                let content = crate::messages::content_is_wellformed(
                    subject,
                    roster,
                    &statement.signed,
                    &statement.body,
                );
                let in_place = header.tag == subject.tag(kind) && header.from.index() == i;
                if !(in_place && length && statement.holds(roster) && content) {
                    return None;
                }
            }
        }
        for pair in Pair::ALL {
            for member in pair.members() {
                let statement = stated(&self.statements[usize::from(member)].body, member, pair);
                if statement.batch != seed_digest(&self.seeds[pair.index()]) {
                    return None;
                }
            }
        }
        self.deviator(spec, roster)
    }

    /// Computes the batch from its seeds and returns the first party, in the order of the protocol,
    /// whose signed word differs.
    pub(crate) fn deviator(&self, spec: &BatchSpec, roster: &Roster) -> Option<PartyId> {
        let seeds = BatchSeeds(self.seeds.map(|seed| Some(PairSeed::opened(seed))));
        for pair in Pair::ALL {
            let right = pair_statement(spec, &roster.session.0, pair, seeds.of(pair));
            for member in pair.members() {
                if stated(&self.statements[usize::from(member)].body, member, pair) != right {
                    return Some(PartyId(member));
                }
            }
        }
        let transcripts: Vec<TranscriptStatement> =
            self.transcripts.iter().map(|s| wire::decode(&s.body).ok()).collect::<Option<_>>()?;
        let mut table = stages::input(spec, &seeds);
        let mut stages = Vec::new();
        let mut last = Digest([0; 32]);
        let (mut scratch, mut permuted) = (Stored::default(), Stored::default());
        for (stage, pair) in STAGES.into_iter().enumerate() {
            let before = stages::next_input(&seeds, stage, &table);
            let index = seeds.of(pair).permutation(spec.shape.rows);
            let permuting = Permuting { spec, seeds: &seeds, stage, index: &index, table: &before };
            let messages = pair.members().map(|member| permuting.message(member, &mut scratch));
            for (message, signed) in messages.iter().zip(exchanged(&transcripts, stage)?) {
                if signed.header.digest != Header::digest_of(message) {
                    return Some(signed.header.from);
                }
            }
            permuting.permute(&mut scratch, &mut permuted);
            let [message, other] = messages;
            let mut stored = Stored::of_message(message, spec.shape);
            stored.add(&other);
            stored.add(permuted.as_message());
            if stage == 2 {
                let table = stages::last_table(spec, &seeds, &index, &stored, &mut scratch);
                last = Header::digest_of(&table);
            }
            table = shuffle_pair::output(&seeds, stage, Some(stored));
            stages.push(Stage { before, after: table.clone() });
        }
        if let Some(liar) = [1, 2].into_iter().find(|party| transcripts[*party].last_table != last)
        {
            return Some(PartyId(liar as u8));
        }
        let coin = coin::joint_coin(self.coins.iter().map(|opening| &opening.body[..]));
        let stages: [Stage; 3] = stages.try_into().ok()?;
        let stated = [0, 1, 2].map(|party: usize| coin_of(&self.sums[party].body) == coin);
        (0..3u8).find_map(|party| {
            let i = usize::from(party);
            // A party is wrong about the coin only if both others contradict it; otherwise the coin
            // shown here is not the true one.
            let wrong_coin = !stated[i] && (0..3).all(|other| other == i || stated[other]);
            let right = set_equality::local_sums(party, spec, &seeds, &coin, &stages);
            let opened = [0, 1, 2].map(|stage| sum_of(&self.sums[i].body, stage));
            (wrong_coin || (stated[i] && right != opened)).then_some(PartyId(party))
        })
    }
}

/// The headers of a stage's two messages, if both members state the same: one of them is honest, so
/// these were exchanged. A cheater could state others afterwards, and what the honest member
/// computed from its message would look false.
fn exchanged(transcripts: &[TranscriptStatement], stage: usize) -> Option<[SignedHeader; 2]> {
    let [lower, higher] = STAGES[stage].members().map(|member| {
        let place = usize::from(messages::stages_of(member)[1] == stage);
        transcripts[usize::from(member)].stages[place]
    });
    let alike = lower.iter().zip(&higher).all(|(a, b)| a.header == b.header);
    alike.then_some(lower)
}

/// One of the three tables of the online phase, each the permutation of the one before it (Ruffle
/// Eq. 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delta {
    /// δ_02 = π_02(β ⊕ R_02), from P2 to P1; P0 sends the digest.
    D02,
    /// δ_01 = π_01(δ_02 ⊕ R_01), from P0 to P2; P1 sends the digest.
    D01,
    /// δ_12 = π_12(δ_01 ⊕ R_12), from P1 to P0; P2 sends the digest.
    D12,
}

impl Delta {
    /// The pair that computes it.
    pub fn pair(self) -> Pair {
        match self {
            Delta::D02 => Pair::P02,
            Delta::D01 => Pair::P01,
            Delta::D12 => Pair::P12,
        }
    }

    /// Who sends the table, and who its digest.
    pub fn senders(self) -> (u8, u8) {
        match self {
            Delta::D02 => (2, 0),
            Delta::D01 => (0, 1),
            Delta::D12 => (1, 2),
        }
    }

    /// The kinds of the two messages.
    pub fn kinds(self) -> (Kind, Kind) {
        match self {
            Delta::D02 => (Kind::Delta02, Kind::Delta02Digest),
            Delta::D01 => (Kind::Delta01, Kind::Delta01Digest),
            Delta::D12 => (Kind::Delta12, Kind::Delta12Digest),
        }
    }

    /// The table that it is computed from; `None` for β.
    pub fn before(self) -> Option<Delta> {
        match self {
            Delta::D02 => None,
            Delta::D01 => Some(Delta::D02),
            Delta::D12 => Some(Delta::D01),
        }
    }
}

/// `π(table ⊕ R)`. The table is left as `table ⊕ R`.
pub fn permute(shape: Shape, index: &[u32], mask: &Prg, table: &mut [u8]) -> Vec<u8> {
    mask.xor_at(0, table);
    let mut permuted = zeroed_table(table.len());
    gather(&mut permuted, table, shape.width as usize, index);
    permuted
}

/// Two signed statements about one δ that differ: one of their two makers cheated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Which table.
    pub delta: Delta,
    /// The header of the table that was sent.
    pub table: SignedHeader,
    /// The digest that the other one sent.
    pub digest: Statement,
}

impl Conflict {
    /// Whether both statements are genuine, of this run, and differ.
    #[must_use]
    pub fn holds(&self, roster: &Roster, subject: &Subject) -> bool {
        let ((table_from, digest_from), (table, digest)) =
            (self.delta.senders(), self.delta.kinds());
        let is = |signed: &SignedHeader, from, kind| {
            signed.header.from == PartyId(from)
                && signed.header.tag == subject.tag(kind)
                && roster.vouches(signed)
        };
        is(&self.table, table_from, table)
            && is(&self.digest.signed, digest_from, digest)
            && self.digest.holds(roster)
            && self.digest.body.len() >= 32
            && self.digest.body[..32] != self.table.header.digest.0
    }
}

/// A conflict, decided by the opened permutation and mask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuffleEvidence {
    /// The conflict.
    pub conflict: Conflict,
    /// The table that δ is computed from.
    pub input: Vec<u8>,
    /// That it is: the three signed votes on β's digest, or the two signed and equal statements on
    /// the δ before.
    pub agreed: Vec<Statement>,
    /// The seeds of the pair's permutation and mask, one after the other.
    pub seeds: Vec<u8>,
    /// The culprit's own statement about these seeds.
    pub statement: Statement,
}

impl ShuffleEvidence {
    pub(crate) fn proven(&self, roster: &Roster, subject: &Subject) -> Option<PartyId> {
        let Subject::Epoch(spec) = subject else { return None };
        let genuine = self.conflict.holds(roster, subject)
            && self.input.len() == spec.batch.shape.bytes()
            && self.input_is_agreed(roster, subject)
            && self.seeds_are_stated(roster, &Subject::Batch(spec.batch))
            && self.digest_is_of_the_input(roster, subject);
        if !genuine {
            return None;
        }
        // A cheater could state other seeds afterwards, by which the honest member's word would
        // look false: the culprit's own count.
        self.deviator(spec.batch.shape)
            .filter(|culprit| self.statement.signed.header.from == *culprit)
    }

    /// P2 makes its digest of δ_12 before it knows whether δ_01 is true, and names what it was
    /// computed from. What it made of another table than the agreed one says nothing against it
    /// (and P0, which signed two, is caught in the dispute about δ_01).
    fn digest_is_of_the_input(&self, roster: &Roster, subject: &Subject) -> bool {
        if self.conflict.delta != Delta::D12 {
            return true;
        }
        let named = messages::decode_digest_12(roster, subject, &self.conflict.digest.body);
        named.is_ok_and(|named| named.header.digest == Header::digest_of(&self.input))
    }

    fn input_is_agreed(&self, roster: &Roster, subject: &Subject) -> bool {
        let digest = Header::digest_of(&self.input);
        let said = |statement: &Statement, from: u8, kind: Kind| {
            let header = &statement.signed.header;
            header.from == PartyId(from)
                && header.tag == subject.tag(kind)
                && statement.holds(roster)
        };
        match self.conflict.delta.before() {
            None => {
                self.agreed.len() == 3
                    && (0..3).zip(&self.agreed).all(|(party, statement)| {
                        said(statement, party, Kind::TableVote) && statement.body == digest.0
                    })
            }
            // The sender's own digest message on the table before, or the header under which it
            // sent it, binds both.
            Some(before) => match &self.agreed[..] {
                [table, other] => {
                    let ((table_from, digest_from), (table_kind, digest_kind)) =
                        (before.senders(), before.kinds());
                    table.signed.header.from == PartyId(table_from)
                        && table.signed.header.tag == subject.tag(table_kind)
                        && roster.vouches(&table.signed)
                        && table.signed.header.digest == digest
                        && said(other, digest_from, digest_kind)
                        && other.body == digest.0
                }
                _ => false,
            },
        }
    }

    fn seeds_are_stated(&self, roster: &Roster, batch: &Subject) -> bool {
        let header = &self.statement.signed.header;
        let pair = self.conflict.delta.pair();
        let in_place = header.tag == batch.tag(Kind::SeedStatement) && pair.contains(header.from.0);
        let length = crate::messages::length(batch, header.tag.step).admits(header.length);
        if !in_place || !length || !self.statement.holds(roster) || self.seeds.len() != 64 {
            return false;
        }
        let statement = stated(&self.statement.body, header.from.0, pair);
        statement.permutation == seed_digest(&self.seeds[..32])
            && statement.mask == seed_digest(&self.seeds[32..])
    }

    /// Whose statement about δ is not what the seeds prescribe.
    pub fn deviator(&self, shape: Shape) -> Option<PartyId> {
        let [permutation_seed, mask_seed] =
            [0, 32].map(|at| <[u8; 32]>::try_from(&self.seeds[at..at + 32]).expect("two seeds"));
        let index = permutation::sample(&Prg::new(&permutation_seed), shape.rows as usize);
        let mask = Prg::new(&mask_seed);
        let right = Header::digest_of(&permute(shape, &index, &mask, &mut self.input.clone()));
        let (table_from, digest_from) = self.conflict.delta.senders();
        if self.conflict.table.header.digest != right {
            Some(PartyId(table_from))
        } else {
            Some(PartyId(digest_from))
        }
    }
}

#[cfg(test)]
mod tests;
