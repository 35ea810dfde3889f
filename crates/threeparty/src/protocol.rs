//! What the messages of a protocol must be like, as public rules.

use ostrakon_crypto::Digest;
use ostrakon_party::{
    Header, Instance, Length, PartyId, Recipient, Roster, SignedHeader, Step, Tag, wire,
};

use crate::offence::Offence;

/// The subject of a run: everything public that its messages' rules depend on, so that a third
/// person judges them as the parties do.
pub trait Protocol: Copy + PartialEq + Send + Sync {
    /// Proof against a party.
    type Evidence: From<Offence>;
    /// A party with the proof against it.
    type Fault: Send;

    /// The run.
    fn instance(&self) -> Instance;

    /// The length that a message of a step must have.
    fn length(&self, step: Step) -> Length;

    /// Whether a message of this step may be addressed so.
    fn addressed_rightly(header: &Header) -> bool;

    /// Whether two different messages of this step contradict each other.
    fn binds(tag: &Tag) -> bool;

    /// Whether the content of a signed message of right length, which is no echo, obeys its step's
    /// rule.
    fn content_is_wellformed(&self, roster: &Roster, signed: &SignedHeader, body: &[u8]) -> bool;

    /// Whether a message of the second step opens the commitment in one of the first.
    fn opens(commitment: Step, opening: Step) -> bool;

    /// A fault in this run.
    fn fault(&self, culprit: PartyId, evidence: Self::Evidence) -> Self::Fault;

    /// The bytes with which a fault is shown to the peers.
    fn show(fault: &Self::Fault) -> Vec<u8>;

    /// Reads a fault that a peer shows to `reader`: one of this run, not against the reader, whose
    /// evidence verifies.
    fn heed(&self, roster: &Roster, reader: PartyId, shown: &[u8]) -> Option<Self::Fault>;

    /// The tag of a step of this run.
    fn tag_of(&self, step: Step) -> Tag {
        Tag { instance: self.instance(), step, sequence: 0 }
    }
}

/// Steps that every protocol has. Numbers are part of the wire format.
pub mod steps {
    use ostrakon_party::Step;

    /// S1: an ephemeral public key.
    pub const SETUP_KEY: Step = Step(0x0101);
    /// S2: a contribution to a pair's key.
    pub const SETUP_CONTRIBUTION: Step = Step(0x0102);
    /// S3: digests of both own pairs' keys.
    pub const SETUP_KEY_DIGESTS: Step = Step(0x0103);
    /// A commitment to a contribution to a joint coin.
    pub const COIN_COMMITMENT: Step = Step(0x0110);
    /// Its opening.
    pub const COIN_OPENING: Step = Step(0x0111);
    /// E1: what submissions a server holds.
    pub const SUBMISSION_LIST: Step = Step(0x0301);
    /// E2: the signatures of submissions on which lists differ.
    pub const CONFLICT_DETAILS: Step = Step(0x0302);
    /// E3: submissions that the receiver lacks.
    pub const FORWARD: Step = Step(0x0303);
    /// E5: the digest of the agreed list.
    pub const SEAL_VOTE: Step = Step(0x0304);
    /// Evidence against a party.
    pub const ACCUSATION: Step = Step(0x0f00);
}

/// Added to a statement's step for its echo (authenticated broadcast, round 2).
pub const ECHO: u16 = 0x8000;

/// The step of the echo of a statement.
pub fn echo(step: Step) -> Step {
    Step(step.0 | ECHO)
}

/// The statement's step, if a step is that of an echo.
pub fn echoed(step: Step) -> Option<Step> {
    (step.0 & ECHO != 0).then_some(Step(step.0 & !ECHO))
}

/// Half of a digest, as the scope of an instance.
pub fn half(digest: &Digest) -> [u8; 16] {
    digest.0[..16].try_into().expect("half of 32 bytes")
}

/// Reads an echo.
///
/// # Errors
/// [`wire::Malformed`] unless it holds, for each of the echoing party's peers, that peer's own
/// signed statement.
pub fn decode_echo(
    roster: &Roster,
    statement: Tag,
    echoing: PartyId,
    body: &[u8],
) -> Result<[SignedHeader; 2], wire::Malformed> {
    let headers: [SignedHeader; 2] = wire::decode(body)?;
    let peers = roster.parties().filter(|id| *id != echoing);
    for (peer, signed) in peers.zip(&headers) {
        let header = &signed.header;
        let address = header.from == peer && header.tag == statement && header.to == Recipient::All;
        if !address || !roster.vouches(signed) {
            return Err(wire::Malformed);
        }
    }
    Ok(headers)
}

/// Whether a message obeys its step's rule of content: that of echoes, or the protocol's.
#[must_use]
pub fn content_is_wellformed<P: Protocol>(
    subject: &P,
    roster: &Roster,
    signed: &SignedHeader,
    body: &[u8],
) -> bool {
    let header = &signed.header;
    match echoed(header.tag.step) {
        Some(step) => decode_echo(roster, Tag { step, ..header.tag }, header.from, body).is_ok(),
        None => subject.content_is_wellformed(roster, signed, body),
    }
}
