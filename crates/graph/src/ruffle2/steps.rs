//! Every message: its step, its addressing, and the rule that its body obeys.
//!
//! The wire table of `docs/spec/ruffle2.md` is this file in prose.

use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_party::{Header, Length, Recipient, Step};

/// Added to a statement's step for its echo (authenticated broadcast, round 2).
const ECHO: u16 = 0x8000;

/// The kinds of messages, in the order of the protocol. Numbers are part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[expect(missing_docs, reason = "the wire table in docs/spec/ruffle2.md says what each of them is")]
pub enum Kind {
    SeedStatement = 0x0601,
    PairKey = 0x0602,
    PairContribution = 0x0603,
    Holding = 0x0604,
    DealtSeeds = 0x0605,
    ShufflePair1 = 0x0611,
    ShufflePair2 = 0x0612,
    ShufflePair3 = 0x0613,
    TranscriptStatement = 0x0620,
    CoinCommitment = 0x0630,
    CoinOpening = 0x0631,
    SumCommitment = 0x0640,
    SumOpening = 0x0641,
    SeedOpening = 0x0648,
    Lists = 0x0650,
    Forward = 0x0651,
    Vote = 0x0652,
    Opening = 0x0660,
    OpeningDigest = 0x0661,
    ReaderSeeds = 0x0662,
    Delta1 = 0x0670,
    Delta1Digest = 0x0671,
    Delta2 = 0x0672,
    Delta2Digest = 0x0673,
    Delta3 = 0x0674,
    Delta3Digest = 0x0675,
    Product = 0x0680,
    LevelCommitment = 0x0681,
    LevelOpening = 0x0682,
    LevelProduct = 0x0683,
    Accusation = 0x0f01,
}

/// The kinds that are statements to everybody; all others go to one server.
const TO_ALL: [Kind; 15] = [
    Kind::SeedStatement,
    Kind::PairKey,
    Kind::Holding,
    Kind::TranscriptStatement,
    Kind::CoinCommitment,
    Kind::CoinOpening,
    Kind::SumCommitment,
    Kind::SumOpening,
    Kind::SeedOpening,
    Kind::Lists,
    Kind::Vote,
    Kind::ReaderSeeds,
    Kind::LevelCommitment,
    Kind::LevelOpening,
    Kind::Accusation,
];

/// Tables with the digests by which a second server vouches for them.
pub const VOUCHED: [(Kind, Kind); 4] = [
    (Kind::Opening, Kind::OpeningDigest),
    (Kind::Delta1, Kind::Delta1Digest),
    (Kind::Delta2, Kind::Delta2Digest),
    (Kind::Delta3, Kind::Delta3Digest),
];

impl Kind {
    /// Kinds whose bodies are tables, as long as the graph is large; all others are short.
    pub const TABLES: [Kind; 9] = [
        Kind::ShufflePair1,
        Kind::ShufflePair2,
        Kind::ShufflePair3,
        Kind::Opening,
        Kind::Delta1,
        Kind::Delta2,
        Kind::Delta3,
        Kind::Product,
        Kind::LevelProduct,
    ];

    /// The step number on the wire.
    pub fn step(self) -> Step {
        Step(self as u16)
    }

    /// The step of the echo of such a statement.
    pub fn echo(self) -> Step {
        Step(self as u16 | ECHO)
    }

    /// The Shuffle-Pair message of stage 0, 1 or 2.
    pub fn shuffle_pair(stage: usize) -> Kind {
        [Kind::ShufflePair1, Kind::ShufflePair2, Kind::ShufflePair3][stage]
    }
}

/// Whether a message of this step may be addressed so.
#[must_use]
pub fn addressed_rightly(header: &Header) -> bool {
    let step = header.tag.step;
    let to_all = step.0 & ECHO != 0 || TO_ALL.iter().any(|kind| kind.step() == step);
    match header.to {
        Recipient::One(to) => !to_all && to != header.from,
        Recipient::All => to_all,
    }
}

/// Bytes of the salt at the end of a Shuffle-Pair message. The third server sees the digest of the
/// message and could compute all else in it from a guess of the permutation.
pub const SALT: usize = 32;

/// Bytes of a digest.
pub const DIGEST: u64 = 32;

/// What a body must be.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its length.
    pub length: Length,
    /// Whether these bytes may be one.
    pub content: fn(&[u8]) -> bool,
}

impl Rule {
    /// So many bytes, whatever they are.
    pub fn exactly(bytes: u64) -> Self {
        Self { length: Length::Exactly(bytes), content: |_| true }
    }

    /// At most so many bytes, whatever they are; the receiver reads them afterwards.
    pub fn at_most(bytes: u64) -> Self {
        Self { length: Length::AtMost(bytes), content: |_| true }
    }

    /// So many elements of a field, each in its canonical form.
    pub fn table<F: WordField>(elements: usize) -> Self {
        let length = Length::Exactly((elements * ELEMENT_BYTES) as u64);
        Self { length, content: F::are_canonical }
    }

    /// The same, with a salt behind them.
    pub fn salted_table<F: WordField>(elements: usize) -> Self {
        let length = Length::Exactly((elements * ELEMENT_BYTES + SALT) as u64);
        Self { length, content: |body| F::are_canonical(&body[..body.len() - SALT]) }
    }
}
