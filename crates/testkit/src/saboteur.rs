//! A corrupt party: it runs the honest code, and its messages are changed on the way out.
//!
//! The saboteur has the corrupt party's signing key. What it changes it signs again, so the change
//! reaches the checks behind the signature; [`Mutation::Garble`] leaves the old signature on and
//! tests the signature itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_crypto::SigningKey;
use ostrakon_kernels::Prg;
use ostrakon_party::{Header, Message, PartyId, Recipient, Step};

use crate::Draw;

/// What is done to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// One bit of the body is flipped, at a place drawn from the seed; signed anew.
    FlipBit,
    /// The body is replaced by as many random bytes; signed anew.
    Randomise,
    /// The last byte is cut off; signed anew.
    Truncate,
    /// A byte is added; signed anew.
    Extend,
    /// The message is not sent.
    Drop,
    /// The message is sent twice.
    Duplicate,
    /// The body of the message that the party sent in this place of another session; signed anew.
    Replay,
    /// The message arrives after everything else has come to rest.
    Delay,
    /// One bit of the body is flipped under the old signature.
    Garble,
    /// A message to one party is addressed to all, and a statement to all to its recipient alone;
    /// signed anew.
    Readdress,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Mutation; 10] = [
        Mutation::FlipBit,
        Mutation::Randomise,
        Mutation::Truncate,
        Mutation::Extend,
        Mutation::Drop,
        Mutation::Duplicate,
        Mutation::Replay,
        Mutation::Delay,
        Mutation::Garble,
        Mutation::Readdress,
    ];

    /// Those that a message bears that nobody signs, on a link without a schedule.
    pub const UNSIGNED: [Mutation; 7] = [
        Mutation::FlipBit,
        Mutation::Randomise,
        Mutation::Truncate,
        Mutation::Extend,
        Mutation::Drop,
        Mutation::Duplicate,
        Mutation::Replay,
    ];

    /// What leaves instead of the bytes of an unsigned message, which are not empty. The first byte
    /// tells the kind of the message; random bytes leave it as it is. `last` is the message before
    /// of that kind.
    ///
    /// # Panics
    /// If the mutation is none of [`Self::UNSIGNED`].
    pub fn of_unsigned(self, bytes: &[u8], last: &[u8], draw: &mut Draw) -> Vec<Vec<u8>> {
        let mut body = bytes.to_vec();
        match self {
            Mutation::FlipBit => {
                let bit = draw.below(8 * body.len());
                body[bit / 8] ^= 1 << (bit % 8);
            }
            Mutation::Randomise => body[1..].fill_with(|| draw.bits() as u8),
            Mutation::Truncate => drop(body.pop()),
            Mutation::Extend => body.push(0),
            Mutation::Drop => return vec![],
            Mutation::Duplicate => return vec![body.clone(), body],
            Mutation::Replay => body = last.to_vec(),
            Mutation::Delay | Mutation::Garble | Mutation::Readdress => {
                panic!("{self:?} needs a schedule or a signature")
            }
        }
        vec![body]
    }

    /// Whether it changes what the party says, so that its own signature can convict it.
    pub fn lies(self) -> bool {
        use Mutation::{Extend, FlipBit, Randomise, Readdress, Replay, Truncate};
        matches!(self, FlipBit | Randomise | Truncate | Extend | Replay | Readdress)
    }
}

/// Which of the corrupt party's messages are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The message posted as number `n`, counted from 0. Of a statement to both peers only the one
    /// to this peer.
    Nth(usize),
    /// Every message of a step, alike to both peers.
    Step(Step),
    /// Every message to one peer: a cut link.
    To(PartyId),
}

/// What becomes of a message.
pub(crate) struct Fate {
    /// What arrives now.
    pub(crate) now: Vec<Message>,
    /// What arrives when nothing else moves.
    pub(crate) later: Vec<Message>,
}

type Rewrite = Arc<dyn Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync>;

/// Changes one party's messages.
#[derive(Clone)]
pub struct Saboteur {
    party: PartyId,
    key: Arc<SigningKey>,
    seed: u64,
    plan: Plan,
    posted: usize,
    touched: BTreeSet<usize>,
}

#[derive(Clone)]
enum Plan {
    Mutate { target: Target, mutation: Mutation, other_session: Arc<Vec<Bytes>> },
    Rewrite(Rewrite),
}

impl Saboteur {
    /// A saboteur that applies `mutation` to `target`. `other_session` holds the bodies that the
    /// party posted in another session, in order, for [`Mutation::Replay`].
    pub fn new(
        party: PartyId,
        key: Arc<SigningKey>,
        seed: u64,
        target: Target,
        mutation: Mutation,
        other_session: Arc<Vec<Bytes>>,
    ) -> Self {
        let plan = Plan::Mutate { target, mutation, other_session };
        Self { party, key, seed, plan, posted: 0, touched: BTreeSet::new() }
    }

    /// A saboteur for one attack: `rewrite` sees each message with its recipient and returns the
    /// new body, or `None` to leave it. New bodies are signed.
    pub fn rewriting(
        party: PartyId,
        key: Arc<SigningKey>,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            party,
            key,
            seed: 0,
            plan: Plan::Rewrite(Arc::new(rewrite)),
            posted: 0,
            touched: BTreeSet::new(),
        }
    }

    pub(crate) fn party(&self) -> PartyId {
        self.party
    }

    fn sign(&self, message: &Message, body: Vec<u8>) -> Message {
        let header = Header {
            length: body.len() as u64,
            digest: Header::digest_of(&body),
            ..message.signed.header
        };
        Message { signed: header.sign(&self.key), body: body.into(), depth: message.depth }
    }

    pub(crate) fn tamper(&mut self, to: PartyId, message: Message) -> Fate {
        let keep = |message| Fate { now: vec![message], later: Vec::new() };
        if message.signed.header.from != self.party {
            return keep(message);
        }
        let number = self.posted;
        self.posted += 1;
        match self.plan.clone() {
            Plan::Rewrite(rewrite) => match rewrite(to, &message) {
                Some(body) => keep(self.sign(&message, body)),
                None => keep(message),
            },
            Plan::Mutate { target, mutation, other_session } => {
                let hit = match target {
                    Target::Nth(n) => n == number,
                    Target::Step(step) => step == message.signed.header.tag.step,
                    Target::To(peer) => peer == to,
                };
                if !hit {
                    return keep(message);
                }
                self.touched.insert(number);
                self.mutate(to, message, mutation, other_session.get(number))
            }
        }
    }

    fn mutate(
        &self,
        to: PartyId,
        message: Message,
        mutation: Mutation,
        other: Option<&Bytes>,
    ) -> Fate {
        let now = |now| Fate { now, later: Vec::new() };
        let mut body = message.body.to_vec();
        match mutation {
            Mutation::Drop => now(Vec::new()),
            Mutation::Duplicate => now(vec![message.clone(), message]),
            Mutation::Delay => Fate { now: Vec::new(), later: vec![message] },
            Mutation::Garble => {
                self.flip(&mut body);
                now(vec![Message { body: body.into(), ..message }])
            }
            Mutation::FlipBit => {
                self.flip(&mut body);
                now(vec![self.sign(&message, body)])
            }
            Mutation::Randomise => {
                self.prg().fill(&mut body);
                now(vec![self.sign(&message, body)])
            }
            Mutation::Truncate => {
                body.pop();
                now(vec![self.sign(&message, body)])
            }
            Mutation::Extend => {
                body.push(0);
                now(vec![self.sign(&message, body)])
            }
            Mutation::Readdress => {
                let header = message.signed.header;
                let to =
                    if header.to == Recipient::All { Recipient::One(to) } else { Recipient::All };
                now(vec![Message { signed: Header { to, ..header }.sign(&self.key), ..message }])
            }
            Mutation::Replay => {
                let other = other.map_or(body, |other| other.to_vec());
                now(vec![self.sign(&message, other)])
            }
        }
    }

    fn prg(&self) -> Prg {
        let mut key = [0x5a; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        Prg::new(&key)
    }

    /// Flips a bit; the seed says which. The same one for both recipients of a statement.
    fn flip(&self, body: &mut [u8]) {
        let mut draw = [0; 8];
        self.prg().fill(&mut draw);
        let bits = body.len() as u64 * 8;
        if let Some(bit) = u64::from_le_bytes(draw).checked_rem(bits) {
            body[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}
