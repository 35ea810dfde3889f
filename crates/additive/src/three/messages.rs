//! Every message of the engine: its step, the length that it must have, and how it is addressed.
//!
//! The wire table of `docs/spec/clarion.md` is this file in prose. The rules are functions of
//! public things alone, so that a third person judges a signed message as its receiver does.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{
    Header, Instance, InstanceKind, Length, PartyId, Recipient, Roster, SignedHeader, Step, Tag,
    wire,
};
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::{echoed, half, steps};
use ostrakon_threeparty::seal::{DETAILS_ENTRY, LIST_ENTRY, slots_ascend};
use serde::{Deserialize, Serialize};

use super::{P1, P2, P3};
use crate::client::{REGISTRATION_BYTES, SUBMISSION_OVERHEAD, occasion, signed_for};
use crate::params::{MAX_ROWS, MAX_WIDTH, SALT, WORD};

/// An occasion of registering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RegistrationSpec {
    /// Digest of all that the servers agreed on beforehand; covered by the signatures.
    pub context: Digest,
    /// Its number, never used twice in a session.
    pub number: u64,
    /// Registration numbers are below this.
    pub slots: u32,
    /// The servers' public registration keys, by party.
    pub keys: [[u8; 32]; 3],
}

/// An epoch: one use of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpochSpec {
    /// Digest of all that the servers agreed on beforehand; covered by the participants'
    /// signatures.
    pub context: Digest,
    /// The epoch's number within whatever the context names.
    pub number: u64,
    /// The batch of keys that it uses up.
    pub batch: u64,
    /// The round of the participants' seeds.
    pub round: u64,
    /// Slots are below this.
    pub slots: u32,
    /// Bytes of a row, a multiple of 8.
    pub width: u32,
    /// The least number of accepted slots outside any one class.
    pub minimum: u32,
}

impl EpochSpec {
    /// What participants sign beside slot and content.
    pub fn signed(&self) -> Digest {
        signed_for(&self.context, self.round)
    }

    /// The run. Everything above is part of its name, so every signature of the run covers it.
    pub fn instance(&self) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/epoch scope");
        transcript.field(&self.context.0).number(self.number).number(self.batch).number(self.round);
        for value in [self.slots, self.width, self.minimum] {
            transcript.number(u64::from(value));
        }
        let scope = half(&transcript.finish());
        Instance { kind: InstanceKind::Epoch, scope, number: self.number }
    }
}

impl RegistrationSpec {
    /// What participants sign beside number and content.
    pub fn occasion(&self) -> Digest {
        occasion(&self.context, &self.keys)
    }

    /// The run. Its name is without the keys, which are in all that participants sign in it.
    pub fn instance(&self) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/registration scope");
        transcript.field(&self.context.0).number(self.number).number(u64::from(self.slots));
        let scope = half(&transcript.finish());
        Instance { kind: InstanceKind::Issue, scope, number: self.number }
    }
}

/// What a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// The set-up of the engine's pair keys, by the number of the attempt.
    Setup(u64),
    /// The agreement on the keys of one batch, by its number.
    Keys(u64),
    /// The agreement on registrations.
    Registration(RegistrationSpec),
    /// The use of a batch.
    Epoch(EpochSpec),
}

impl Subject {
    /// Whether the limits hold.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Subject::Setup(_) | Subject::Keys(_) => true,
            Subject::Registration(spec) => (1..=MAX_ROWS).contains(&spec.slots),
            Subject::Epoch(spec) => {
                (1..=MAX_ROWS).contains(&spec.slots)
                    && (8..=MAX_WIDTH).contains(&spec.width)
                    && spec.width.is_multiple_of(WORD as u32)
            }
        }
    }

    /// The run.
    pub fn instance(&self) -> Instance {
        // Other runs than those of other engines in the same session.
        let scope = *b"clarion\0\0\0\0\0\0\0\0\0";
        match self {
            Subject::Setup(attempt) => {
                Instance { kind: InstanceKind::Setup, scope, number: *attempt }
            }
            Subject::Keys(number) => Instance { kind: InstanceKind::Batch, scope, number: *number },
            Subject::Registration(spec) => spec.instance(),
            Subject::Epoch(spec) => spec.instance(),
        }
    }

    /// The tag of a kind of message.
    pub fn tag(&self, kind: Kind) -> Tag {
        Tag { instance: self.instance(), step: kind.step(), sequence: 0 }
    }

    fn slots(&self) -> u64 {
        match self {
            Subject::Setup(_) | Subject::Keys(_) => 0,
            Subject::Registration(spec) => u64::from(spec.slots),
            Subject::Epoch(spec) => u64::from(spec.slots),
        }
    }

    /// Most bytes of a table with its column and its salt.
    fn table(&self) -> u64 {
        match self {
            Subject::Epoch(spec) => {
                self.slots() * (u64::from(spec.width) + WORD as u64) + SALT as u64
            }
            _ => 0,
        }
    }

    /// Most bytes that a forwarded submission or registration takes.
    fn submitted(&self) -> u64 {
        match self {
            // With a registration, where participants register with the epoch.
            Subject::Epoch(spec) => {
                u64::from(spec.width) + (SUBMISSION_OVERHEAD + REGISTRATION_BYTES) as u64 + 16
            }
            _ => 3 * 32 + 3 * (32 + 64 + 16 + 2) + 64 + 16,
        }
    }
}

/// The kinds of messages that are this engine's own. Numbers are part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
#[expect(missing_docs, reason = "the wire table in docs/spec/clarion.md says what each of them is")]
pub enum Kind {
    SeedStatement = 0x0401,
    Delta = 0x0411,
    Z2 = 0x0412,
    Z1 = 0x0413,
    S = 0x0414,
    TableStatement = 0x0420,
    WordsFG = 0x0431,
    WordsU = 0x0432,
    WordsA = 0x0433,
    WordsL = 0x0434,
    WordsYZ = 0x0435,
    WordsB = 0x0436,
    WordsM = 0x0437,
    DigestFG = 0x0441,
    DigestU = 0x0442,
    DigestA = 0x0443,
    DigestL = 0x0444,
    DigestYZ = 0x0445,
    DigestB = 0x0446,
    DigestM = 0x0447,
    Ready = 0x0451,
    Collection = 0x0452,
    OpenB = 0x0453,
    OpenD = 0x0454,
    OpenZ1 = 0x0455,
    Abort = 0x0461,
    Withdrawn = 0x0462,
    Lacking = 0x0501,
    Seeds = 0x0502,
    Registered = 0x0503,
    RegistrationKey = 0x0504,
}

impl Kind {
    /// The step number on the wire.
    pub fn step(self) -> Step {
        Step(self as u16)
    }
}

impl From<Kind> for Step {
    fn from(kind: Kind) -> Step {
        kind.step()
    }
}

/// A table of the mix: who sends it to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRoute {
    /// The message.
    pub kind: Kind,
    /// Its sender.
    pub from: u8,
    /// Its receiver.
    pub to: u8,
}

/// The four tables (E6 to E8).
pub const TABLES: [TableRoute; 4] = [
    TableRoute { kind: Kind::Delta, from: P3, to: P2 },
    TableRoute { kind: Kind::Z2, from: P2, to: P1 },
    TableRoute { kind: Kind::Z1, from: P1, to: P2 },
    TableRoute { kind: Kind::S, from: P2, to: P1 },
];

/// Check words: who sends them to whom, and who makes them a second time (E11, E12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRoute {
    /// The message.
    pub kind: Kind,
    /// The second maker's digest of it.
    pub digest: Kind,
    /// Who sends the words.
    pub from: u8,
    /// Who sends the digest.
    pub second: u8,
    /// Who receives both.
    pub to: u8,
    /// Words a row.
    pub columns: usize,
}

const fn route(kind: Kind, digest: Kind, [from, to]: [u8; 2], columns: usize) -> WordRoute {
    WordRoute { kind, digest, from, second: 3 - from - to, to, columns }
}

/// F and G, with which P1 checks z2.
pub const FG: WordRoute = route(Kind::WordsFG, Kind::DigestFG, [P3, P1], 2);
/// U, which Y answers.
pub const U: WordRoute = route(Kind::WordsU, Kind::DigestU, [P3, P2], 1);
/// A, which B answers.
pub const A: WordRoute = route(Kind::WordsA, Kind::DigestA, [P2, P1], 1);
/// L, which M answers.
pub const L: WordRoute = route(Kind::WordsL, Kind::DigestL, [P1, P3], 1);
/// Y and Z, with which P3 checks z1.
pub const YZ: WordRoute = route(Kind::WordsYZ, Kind::DigestYZ, [P2, P3], 2);
/// B and B′, with which P2 checks Δ.
pub const B: WordRoute = route(Kind::WordsB, Kind::DigestB, [P1, P2], 2);
/// M, with which P1 checks S.
pub const M: WordRoute = route(Kind::WordsM, Kind::DigestM, [P3, P1], 1);
/// All of them.
pub const WORDS: [WordRoute; 7] = [FG, U, A, L, YZ, B, M];

/// Most bytes of structured statements whose size does not depend on the table.
const STATEMENT: u64 = 4096;

/// Whether a message of this step goes to one party.
fn goes_to_one(step: Step) -> bool {
    let is = |kind: &Kind| kind.step() == step;
    let routes = TABLES.iter().any(|table| is(&table.kind))
        || WORDS.iter().any(|words| is(&words.kind) || is(&words.digest));
    let opened = [Kind::OpenB, Kind::OpenD, Kind::OpenZ1, Kind::Seeds];
    let common = [steps::SETUP_CONTRIBUTION, steps::FORWARD];
    routes || opened.iter().any(is) || common.contains(&step)
}

/// The length that a step of this engine's own must have.
fn own_length(subject: &Subject, step: Step) -> Option<Length> {
    use Length::{AtMost, Exactly};
    let is = |kind: Kind| step == kind.step();
    let slots = subject.slots();
    let words = WORDS.iter().find(|words| is(words.kind));
    let digest = WORDS.iter().any(|words| is(words.digest));
    let table = TABLES.iter().any(|table| is(table.kind)) || is(Kind::OpenZ1);
    let hashes = [Kind::Ready, Kind::OpenB, Kind::OpenD, Kind::Registered, Kind::RegistrationKey];
    let hash = hashes.into_iter().any(is);
    Some(if let Some(words) = words {
        AtMost(slots * (words.columns * WORD) as u64)
    } else if table {
        AtMost(subject.table())
    } else if digest || hash {
        Exactly(32)
    } else if is(Kind::SeedStatement) {
        Exactly(2 * PairStatement::BYTES as u64)
    } else if is(Kind::Lacking) {
        AtMost(ABOUT as u64 + slots * LACKING_ENTRY as u64)
    } else if is(Kind::Seeds) {
        AtMost(slots * SEEDS_ENTRY as u64)
    } else if is(Kind::Withdrawn) {
        Exactly(0)
    } else if is(Kind::Abort) {
        AtMost(abort_limit(subject))
    } else if is(Kind::TableStatement) || is(Kind::Collection) {
        AtMost(STATEMENT)
    } else {
        return None;
    })
}

/// Most bytes with which a server says why it stops: enough for evidence that holds a list.
pub fn abort_limit(subject: &Subject) -> u64 {
    subject.slots() * DETAILS_ENTRY as u64 + (64 << 10)
}

/// The length that a step common to all engines must have.
fn common_length(subject: &Subject, step: Step) -> Length {
    use Length::{AtMost, Exactly};
    let slots = subject.slots();
    match step {
        steps::SETUP_KEY
        | steps::SETUP_CONTRIBUTION
        | steps::COIN_COMMITMENT
        | steps::SEAL_VOTE => Exactly(32),
        steps::SETUP_KEY_DIGESTS | steps::COIN_OPENING => Exactly(64),
        steps::SUBMISSION_LIST => AtMost(slots * LIST_ENTRY as u64),
        steps::CONFLICT_DETAILS => AtMost(slots * DETAILS_ENTRY as u64),
        steps::FORWARD => AtMost(slots * (subject.submitted() + 8) + 16),
        steps::ACCUSATION => AtMost(64 << 10),
        // An echo; or a step that nobody waits for.
        _ => AtMost(STATEMENT),
    }
}

/// Bytes with which a list of lacking seeds begins: the digest of the accepted list.
pub const ABOUT: usize = 32;
/// Bytes of an entry of the list of lacking seeds: number, and a bit for each of the two seeds.
pub const LACKING_ENTRY: usize = 4 + 1;
/// Bytes of an entry of the seeds given to a holder who lacks them: number, seed.
pub const SEEDS_ENTRY: usize = 4 + 32;

/// The tables that a party states (E9): those that it sends or receives, in order.
pub fn stated_by(party: u8) -> impl Iterator<Item = TableRoute> {
    TABLES.into_iter().filter(move |table| table.from == party || table.to == party)
}

/// Reads a statement about tables.
///
/// # Errors
/// [`wire::Malformed`] unless it holds the signed headers of the party's own tables, in order.
pub fn decode_tables(
    subject: &Subject,
    roster: &Roster,
    party: PartyId,
    body: &[u8],
) -> Result<Vec<SignedHeader>, wire::Malformed> {
    let headers: Vec<SignedHeader> = wire::decode(body)?;
    let right = headers.len() == stated_by(party.0).count()
        && headers.iter().zip(stated_by(party.0)).all(|(signed, table)| {
            let header = &signed.header;
            header.tag == subject.tag(table.kind)
                && header.from == PartyId(table.from)
                && header.to == Recipient::One(PartyId(table.to))
                && roster.vouches(signed)
        });
    if right { Ok(headers) } else { Err(wire::Malformed) }
}

/// The length that a message of a step must have.
pub fn length(subject: &Subject, step: Step) -> Length {
    own_length(subject, step).unwrap_or_else(|| common_length(subject, step))
}

/// Whether a message of this step may be addressed so.
pub fn addressed_rightly(header: &Header) -> bool {
    let to_one = goes_to_one(header.tag.step);
    match header.to {
        Recipient::One(to) => to_one && to != header.from,
        Recipient::All => !to_one,
    }
}

/// Whether two different messages of this step contradict each other. Everything that an honest
/// server says in a run is a function of what it keeps, but for what repeats or answers a peer's
/// word.
pub fn binds(tag: &Tag) -> bool {
    let answers = [Kind::Abort, Kind::Withdrawn, Kind::Collection, Kind::Seeds];
    let setup = [steps::SETUP_CONTRIBUTION, steps::SETUP_KEY_DIGESTS, steps::ACCUSATION];
    echoed(tag.step).is_none()
        && tag.step != steps::FORWARD
        && !setup.contains(&tag.step)
        && !answers.iter().any(|kind| kind.step() == tag.step)
}

/// Whether the content of a signed message of right length obeys its step's rule. What a server
/// says when it stops is not looked at.
pub fn content_is_wellformed(
    subject: &Subject,
    roster: &Roster,
    signed: &SignedHeader,
    body: &[u8],
) -> bool {
    let header = &signed.header;
    let slots = subject.slots() as u32;
    match header.tag.step {
        steps::SUBMISSION_LIST => slots_ascend(body, LIST_ENTRY, slots),
        steps::CONFLICT_DETAILS => slots_ascend(body, DETAILS_ENTRY, slots),
        step if step == Kind::Lacking.step() => {
            body.split_at_checked(ABOUT).is_some_and(|(_, lacking)| {
                let mut entries = lacking.chunks_exact(LACKING_ENTRY);
                slots_ascend(lacking, LACKING_ENTRY, slots)
                    && entries.all(|entry| (1..=3).contains(&entry[4]))
            })
        }
        step if step == Kind::Seeds.step() => slots_ascend(body, SEEDS_ENTRY, slots),
        step if step == Kind::TableStatement.step() => {
            decode_tables(subject, roster, header.from, body).is_ok()
        }
        _ => true,
    }
}

/// What a holder states of a pair's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairStatement {
    /// Digest of the pair's key of the epoch, from which everything follows.
    pub key: Digest,
    /// Digest of the seed that is opened in the end; zeros where none is.
    pub opened: Digest,
}

impl PairStatement {
    /// Length on the wire.
    pub const BYTES: usize = 2 * 32;

    /// A server's statement about both of its pairs.
    pub fn encode(statements: &[PairStatement; 2]) -> Vec<u8> {
        statements.iter().flat_map(|s| [s.key, s.opened]).flat_map(|d| d.0).collect()
    }

    /// What `member` states of `pair` in such a statement, whose length must have been checked.
    pub fn of(body: &[u8], member: u8, pair: Pair) -> Self {
        let at = Self::BYTES * usize::from(Pair::of_party(member)[1] == pair);
        let digest = |i: usize| Digest(body[at + i..at + i + 32].try_into().expect("32 bytes"));
        Self { key: digest(0), opened: digest(32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_three_different_servers() {
        // Whose table is tested, by whom, with words of whom.
        for (table, words) in [(Kind::Z2, FG), (Kind::Z1, YZ), (Kind::Delta, B), (Kind::S, M)] {
            let route = TABLES.into_iter().find(|route| route.kind == table).unwrap();
            let mut parties = [route.from, words.from, words.to];
            parties.sort_unstable();
            assert_eq!(parties, [0, 1, 2], "{table:?}");
            assert_eq!(words.second, route.from);
        }
        for words in WORDS {
            assert_eq!(words.from + words.second + words.to, 3);
        }
    }
}
