//! Every message of the protocols: its step, the length that it must have, and how it is laid out.
//!
//! The wire table of `docs/spec/ruffle.md` is this file in prose. A length or a content that a
//! third person can see to be wrong is evidence against whoever signed it
//! ([`crate::fault::Evidence::Malformed`]); the rules are therefore functions of public things
//! alone.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{
    Header, Instance, InstanceKind, Length, PartyId, Recipient, Roster, SignedHeader, Step, Tag,
    wire,
};
use ostrakon_threeparty::protocol::{echo, echoed, half, steps};
use ostrakon_threeparty::seal::slots_ascend;
use serde::{Deserialize, Serialize};

use crate::pair::Pair;
use crate::params::{MAX_ROWS, MAX_WIDTH, SALT, WEIGHT_BYTES};

pub use ostrakon_threeparty::seal::{DETAILS_ENTRY, LIST_ENTRY, class_of};

/// Rows and bytes per row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Rows, at least 1.
    pub rows: u32,
    /// Bytes of a row, a multiple of 8.
    pub width: u32,
}

impl Shape {
    /// Whether the limits hold.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let rows = (1..=MAX_ROWS).contains(&self.rows);
        rows && (8..=MAX_WIDTH).contains(&self.width) && self.width.is_multiple_of(8)
    }

    /// Bytes of a table.
    pub fn bytes(&self) -> usize {
        self.rows as usize * self.width as usize
    }
}

/// How the batch's input masks α are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Inputs {
    /// One stream per pair: for tables that the servers share already.
    Stream,
    /// Per-slot seeds with commitments: every row is a participant's ([`crate::slots`]).
    Slots,
}

/// A batch of preprocessed material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchSpec {
    /// Its number, never used twice in a session.
    pub number: u64,
    /// The table's shape.
    pub shape: Shape,
    /// The kind of its masks.
    pub inputs: Inputs,
}

impl BatchSpec {
    /// The preprocessing run. Shape and kind are part of its name, so every signature of the run
    /// covers them.
    pub fn instance(&self) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/ruffle/batch scope");
        self.write(&mut transcript);
        Instance {
            kind: InstanceKind::Batch,
            scope: half(&transcript.finish()),
            number: self.number,
        }
    }

    fn write(&self, transcript: &mut Transcript) {
        transcript
            .number(self.number)
            .number(u64::from(self.shape.rows))
            .number(u64::from(self.shape.width))
            .number(self.inputs as u64);
    }
}

/// An epoch: one use of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpochSpec {
    /// Digest of all that the servers agreed on beforehand; covered by the participants'
    /// signatures.
    pub context: Digest,
    /// The epoch's number within whatever the context names.
    pub number: u64,
    /// The batch that it uses up.
    pub batch: BatchSpec,
    /// The least number of accepted slots outside any one class ([`class_of`]).
    pub minimum: u32,
    /// Whether a server that is proved honest finishes after a fault.
    pub robust: bool,
}

impl EpochSpec {
    /// The online run.
    pub fn instance(&self) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/ruffle/epoch scope");
        transcript.field(&self.context.0).number(self.number).number(u64::from(self.minimum));
        transcript.number(u64::from(self.robust));
        self.batch.write(&mut transcript);
        Instance {
            kind: InstanceKind::Epoch,
            scope: half(&transcript.finish()),
            number: self.number,
        }
    }
}

/// What a run is about: everything public that its messages' rules depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// The shared-key set-up.
    Setup,
    /// The preprocessing of a batch.
    Batch(BatchSpec),
    /// The use of a batch.
    Epoch(EpochSpec),
}

impl Subject {
    /// The run.
    pub fn instance(&self) -> Instance {
        match self {
            Subject::Setup => Instance { kind: InstanceKind::Setup, scope: [0; 16], number: 0 },
            Subject::Batch(spec) => spec.instance(),
            Subject::Epoch(spec) => spec.instance(),
        }
    }

    /// The table's shape; nothing in a set-up.
    pub fn shape(&self) -> Shape {
        match self {
            Subject::Setup => Shape { rows: 0, width: 0 },
            Subject::Batch(spec) => spec.shape,
            Subject::Epoch(spec) => spec.batch.shape,
        }
    }

    /// The tag of a kind of message.
    pub fn tag(&self, kind: Kind) -> Tag {
        Tag { instance: self.instance(), step: kind.step(), sequence: 0 }
    }
}

/// The kinds of messages, in the order of the protocols. Numbers are part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[expect(missing_docs, reason = "the wire table in docs/spec/ruffle.md says what each of them is")]
pub enum Kind {
    SetupKey = steps::SETUP_KEY.0,
    SetupContribution = steps::SETUP_CONTRIBUTION.0,
    SetupKeyDigests = steps::SETUP_KEY_DIGESTS.0,
    CoinCommitment = steps::COIN_COMMITMENT.0,
    CoinOpening = steps::COIN_OPENING.0,
    SeedStatement = 0x0201,
    ShufflePair1 = 0x0211,
    ShufflePair2 = 0x0212,
    ShufflePair3 = 0x0213,
    TranscriptStatement = 0x0220,
    SumCommitment = 0x0230,
    SumOpening = 0x0231,
    SeedOpening = 0x0240,
    SubmissionList = steps::SUBMISSION_LIST.0,
    ConflictDetails = steps::CONFLICT_DETAILS.0,
    Forward = steps::FORWARD.0,
    SealVote = steps::SEAL_VOTE.0,
    Pads = 0x0305,
    TableVote = 0x0306,
    Delta02 = 0x0311,
    Delta02Digest = 0x0312,
    Delta01 = 0x0313,
    Delta01Digest = 0x0314,
    Delta12 = 0x0315,
    Delta12Digest = 0x0316,
    Dispute = 0x0321,
    DisputeMaterial = 0x0322,
    Ready = 0x0331,
    Certificate = 0x0332,
    LastSeed = 0x0333,
    LastTable = 0x0334,
    SealStanding = 0x0340,
    TrustedSubmissions = 0x0341,
    TrustedSlots = 0x0342,
    TrustedMasks = 0x0343,
    TrustedTable = 0x0344,
    Accusation = steps::ACCUSATION.0,
}

impl Kind {
    /// The step number on the wire.
    pub fn step(self) -> Step {
        Step(self as u16)
    }

    /// The step of the echo of such a statement.
    pub fn echo(self) -> Step {
        echo(self.step())
    }

    /// The Shuffle-Pair message of stage 0, 1 or 2.
    pub fn shuffle_pair(stage: usize) -> Kind {
        [Kind::ShufflePair1, Kind::ShufflePair2, Kind::ShufflePair3][stage]
    }
}

impl From<Kind> for Step {
    fn from(kind: Kind) -> Step {
        kind.step()
    }
}

/// The kinds of messages that go to one party; all others are statements to everybody.
const TO_ONE: [Kind; 18] = [
    Kind::SetupContribution,
    Kind::ShufflePair1,
    Kind::ShufflePair2,
    Kind::ShufflePair3,
    Kind::Forward,
    Kind::Pads,
    Kind::Delta02,
    Kind::Delta02Digest,
    Kind::Delta01,
    Kind::Delta01Digest,
    Kind::Delta12,
    Kind::Delta12Digest,
    Kind::LastSeed,
    Kind::LastTable,
    Kind::TrustedSubmissions,
    Kind::TrustedSlots,
    Kind::TrustedMasks,
    Kind::TrustedTable,
];

/// Whether a message of this step may be addressed so. A statement to everybody that is addressed
/// to one party could be shown to the third one as nothing of its business.
#[must_use]
pub fn addressed_rightly(header: &Header) -> bool {
    let to_one = TO_ONE.iter().any(|kind| kind.step() == header.tag.step);
    match header.to {
        Recipient::One(to) => to_one && to != header.from,
        Recipient::All => !to_one,
    }
}

/// Whether two different messages of this step contradict each other. In a set-up and in the online
/// phase, which are resumed after a crash, only those do whose content is a function of what the
/// sender keeps; an echo, say, repeats what a peer said, and a peer may say other things to a
/// server that was restarted. Batches are never resumed: everything said in them binds, but for
/// accusations.
#[must_use]
pub fn binds(tag: &Tag) -> bool {
    let is = |kind: &Kind| kind.step() == tag.step;
    match tag.instance.kind {
        InstanceKind::Setup => {
            return [Kind::SetupKey, Kind::CoinCommitment, Kind::CoinOpening].iter().any(is);
        }
        InstanceKind::Batch => return !is(&Kind::Accusation),
        _ => {}
    }
    let durable = [
        Kind::SubmissionList,
        Kind::ConflictDetails,
        Kind::SealVote,
        Kind::Pads,
        Kind::TableVote,
        Kind::Delta02,
        Kind::Delta02Digest,
        Kind::Delta01,
        Kind::Delta01Digest,
        Kind::Delta12,
        Kind::Delta12Digest,
        Kind::Ready,
        Kind::LastSeed,
        Kind::LastTable,
        Kind::SealStanding,
    ];
    durable.iter().any(is)
}

/// Bytes of the opening of local sums: nonce, the coin that they were computed with, three words.
pub const SUM_OPENING: usize = 32 + 32 + 3 * 8;
/// Most bytes of structured statements whose size does not depend on the table.
const STATEMENT: u64 = 4096;

/// The length that a message of this step must have.
pub fn length(subject: &Subject, step: Step) -> Length {
    use Length::{AtMost, Exactly};
    let shape = subject.shape();
    let rows = u64::from(shape.rows);
    let table = shape.bytes() as u64;
    if echoed(step).is_some() {
        return AtMost(STATEMENT);
    }
    let is = |kind: Kind| step == kind.step();
    let digests = [
        Kind::SetupKey,
        Kind::SetupContribution,
        Kind::CoinCommitment,
        Kind::SumCommitment,
        Kind::SealVote,
        Kind::TableVote,
        Kind::Delta02Digest,
        Kind::Delta01Digest,
        Kind::Ready,
        Kind::LastSeed,
    ];
    if digests.into_iter().any(is) {
        Exactly(32)
    } else if [Kind::SetupKeyDigests, Kind::CoinOpening, Kind::SeedOpening].into_iter().any(is) {
        Exactly(64)
    } else if is(Kind::SumOpening) {
        Exactly(SUM_OPENING as u64)
    } else if is(Kind::SeedStatement) {
        Exactly(2 * PairStatement::BYTES as u64)
    } else if (0..3).any(|stage| is(Kind::shuffle_pair(stage))) {
        Exactly(table + rows * WEIGHT_BYTES as u64 + SALT as u64)
    } else if [Kind::Delta02, Kind::Delta01, Kind::Delta12, Kind::LastTable].into_iter().any(is) {
        Exactly(table)
    } else if is(Kind::Pads) || is(Kind::TrustedMasks) {
        Exactly(rows * 32)
    } else if is(Kind::SubmissionList) {
        AtMost(rows * LIST_ENTRY as u64)
    } else if is(Kind::ConflictDetails) {
        AtMost(rows * DETAILS_ENTRY as u64)
    } else if is(Kind::Forward) || is(Kind::TrustedSubmissions) {
        AtMost(table + rows * 80 + 16)
    } else if is(Kind::TrustedSlots) {
        AtMost(rows * 5 + 16)
    } else if is(Kind::TrustedTable) {
        AtMost(table)
    } else if is(Kind::Accusation) {
        AtMost(2 * table + rows * DETAILS_ENTRY as u64 + (64 << 10))
    } else {
        AtMost(STATEMENT)
    }
}

/// What a member of a pair states about the pair's seeds of a batch before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairStatement {
    /// Digest of the batch seed, from which all others follow.
    pub batch: Digest,
    /// Digest of the seed of the permutation.
    pub permutation: Digest,
    /// Digest of the seed of the mask R.
    pub mask: Digest,
    /// Digest of the seed of the last stage's fresh share.
    pub last: Digest,
    /// Root over the pair's slots; zeros where there are none.
    pub slots: Digest,
}

impl PairStatement {
    /// Length on the wire.
    pub const BYTES: usize = 5 * 32;

    fn digests(&self) -> [Digest; 5] {
        [self.batch, self.permutation, self.mask, self.last, self.slots]
    }

    /// A member's statement about both of its pairs.
    pub fn encode(statements: &[PairStatement; 2]) -> Vec<u8> {
        statements.iter().flat_map(|s| s.digests()).flat_map(|d| d.0).collect()
    }

    /// Reads what [`PairStatement::encode`] writes; the length must have been checked.
    pub fn decode(body: &[u8]) -> [PairStatement; 2] {
        let digest = |i: usize| Digest(body[32 * i..32 * i + 32].try_into().expect("32 bytes"));
        [0, 5].map(|at| PairStatement {
            batch: digest(at),
            permutation: digest(at + 1),
            mask: digest(at + 2),
            last: digest(at + 3),
            slots: digest(at + 4),
        })
    }
}

/// What a party states about the Shuffle-Pair messages that it sent and received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptStatement {
    /// For each of its two stages, in order: the signed headers of the lower and the higher
    /// member's message.
    pub stages: [[SignedHeader; 2]; 2],
    /// Digest of its share `[α_out]_12`; zeros from P0, which does not hold it.
    pub last_table: Digest,
}

/// The pair that permutes in each stage (Ruffle Fig. 3).
pub const STAGES: [Pair; 3] = [Pair::P02, Pair::P01, Pair::P12];

/// The stages in which a party takes part.
pub fn stages_of(party: u8) -> [usize; 2] {
    match party {
        0 => [0, 1],
        1 => [1, 2],
        _ => [0, 2],
    }
}

impl TranscriptStatement {
    /// Whether every header is what it is said to be: a member's signed message of that stage.
    #[must_use]
    pub fn is_wellformed(&self, subject: &Subject, roster: &Roster, from: PartyId) -> bool {
        let stages = stages_of(from.0).into_iter().zip(&self.stages);
        stages.into_iter().all(|(stage, headers)| {
            let pair = STAGES[stage];
            pair.members().into_iter().zip(headers).all(|(member, signed)| {
                let header = &signed.header;
                header.from == PartyId(member)
                    && header.to == Recipient::One(PartyId(pair.other(member)))
                    && header.tag == subject.tag(Kind::shuffle_pair(stage))
                    && roster.vouches(signed)
            })
        }) && (from.0 != 0 || self.last_table == Digest([0; 32]))
    }
}

/// Reads P2's statement about δ_12: its digest, then P0's signed header of the δ_01 that it was
/// computed from. Returns that header.
///
/// # Errors
/// [`wire::Malformed`] if the header is not P0's, of this run, to P2.
pub fn decode_digest_12(
    roster: &Roster,
    subject: &Subject,
    body: &[u8],
) -> Result<SignedHeader, wire::Malformed> {
    let named: SignedHeader = wire::decode(body.get(32..).ok_or(wire::Malformed)?)?;
    let header = &named.header;
    let address = (header.from, header.to, header.tag);
    let expected = (PartyId(0), Recipient::One(PartyId(2)), subject.tag(Kind::Delta01));
    if address != expected || !roster.vouches(&named) {
        return Err(wire::Malformed);
    }
    Ok(named)
}

/// Whether the content of a signed message of right length, which is no echo, obeys its step's
/// rule. Steps whose bodies mean something whatever they are (digests, seeds, tables) have none.
#[must_use]
pub fn content_is_wellformed(
    subject: &Subject,
    roster: &Roster,
    signed: &SignedHeader,
    body: &[u8],
) -> bool {
    let header = &signed.header;
    let step = header.tag.step;
    if step == Kind::TranscriptStatement.step() {
        return wire::decode::<TranscriptStatement>(body)
            .is_ok_and(|statement| statement.is_wellformed(subject, roster, header.from));
    }
    if step == Kind::Delta12Digest.step() {
        return decode_digest_12(roster, subject, body).is_ok();
    }
    if step == Kind::SubmissionList.step() {
        return slots_ascend(body, LIST_ENTRY, subject.shape().rows);
    }
    if step == Kind::ConflictDetails.step() {
        return slots_ascend(body, DETAILS_ENTRY, subject.shape().rows);
    }
    true
}
