//! Rows of dial rounds: calls, answers, and what looks like them (specification, section 4).

pub mod hostile;
pub(crate) mod opening;

use ostrakon_crypto::locked::{TAG, lock, unlock};
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Secret, Transcript};
use ostrakon_mixing::RoomId;
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::hidden::Hidden;
use crate::link::Callee;
use crate::params::{LINK_SECRET, MARK, NAME, PROOF, VERSION};

const EXCHANGE: std::ops::Range<usize> = 1..33;
const MARKED: std::ops::Range<usize> = 33..33 + MARK;
const HEAD: usize = MARKED.end;

/// Where a dial row is to be read: room and round.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub room: &'a RoomId,
    pub round: u64,
    pub width: usize,
}

impl Place<'_> {
    fn transcript(&self, context: &'static str) -> Transcript {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.room.0).number(self.round);
        transcript
    }
}

/// What a call says.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    /// The caller's key of this call alone: answers are sealed for it.
    pub once: [u8; 32],
    /// Channels that the caller has free, by bits.
    pub channels: u8,
    /// The name that the caller gives itself.
    pub name: String,
    /// A link of the caller's own, by which it can be called back, and whose key proves that it is
    /// the caller's.
    pub from: Option<Callee>,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The callee's key of this conversation alone.
    pub once: [u8; 32],
    /// The channel of the conversation.
    pub channel: u8,
    /// The cycle that it begins with.
    pub start: u64,
}

/// Bytes of an answer: once key, channel, first cycle.
pub(crate) const ANSWER_BYTES: usize = 32 + 1 + 8;

impl Answer {
    /// Its bytes.
    pub fn encode(&self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        bytes[..32].copy_from_slice(&self.once);
        bytes[32] = self.channel;
        bytes[33..].copy_from_slice(&self.start.to_le_bytes());
        bytes
    }

    /// Reads [`Answer::encode`]; whether there is such a channel is to be seen.
    pub fn decode(bytes: &[u8; ANSWER_BYTES]) -> Self {
        let (mut once, mut start) = ([0; 32], [0; 8]);
        once.copy_from_slice(&bytes[..32]);
        start.copy_from_slice(&bytes[33..]);
        Self { once, channel: bytes[32], start: u64::from_le_bytes(start) }
    }
}

const CALL: u8 = 1;
const ANSWER: u8 = 2;
const CALL_BYTES: usize = 1 + 32 + 1 + 1 + 32 + LINK_SECRET + PROOF + 1 + NAME;

/// Step 4.4: a row that is no call: a public key that somebody might have, and random bytes.
pub(crate) fn cover(place: Place<'_>, rng: &mut impl CryptoRng) -> Vec<u8> {
    let mut row = vec![0; place.width];
    rng.fill_bytes(&mut row);
    row[0] = VERSION;
    row[EXCHANGE].copy_from_slice(&fresh(rng).exchange().public());
    row
}

/// A fresh secret half of an exchange.
pub(crate) fn fresh(rng: &mut impl CryptoRng) -> Hidden<32> {
    let mut secret = Hidden([0; 32]);
    rng.fill_bytes(&mut secret.0);
    secret
}

/// Step 4.1: a call for the owner of a link. `own` is the secret half of `call.from`. `None` if the
/// link's key is no key, so that nobody could read it.
pub(crate) fn call(
    place: Place<'_>,
    to: &Callee,
    call: &Call,
    own: Option<&Hidden<32>>,
    rng: &mut impl CryptoRng,
) -> Option<Vec<u8>> {
    let mut plain = vec![0; plain_length(place)];
    plain[0] = CALL;
    plain[1..33].copy_from_slice(&call.once);
    plain[33] = call.channels;
    let ephemeral = fresh(rng);
    if let (Some(from), Some(own)) = (&call.from, own) {
        let shared = own.exchange().agree(&to.key)?;
        plain[34] = 1;
        plain[35..67].copy_from_slice(&from.key);
        plain[67..83].copy_from_slice(&from.secret.0);
        let proof = proof(place, &shared, &ephemeral.exchange().public(), &call.once);
        plain[83..99].copy_from_slice(&proof);
    }
    let name = call.name.as_bytes();
    plain[99] = u8::try_from(name.len()).ok().filter(|length| usize::from(*length) <= NAME)?;
    plain[100..100 + name.len()].copy_from_slice(name);
    seal(place, &to.key, &to.secret, &plain, &ephemeral)
}

/// Step 4.6: an answer for the caller, sealed for the key of its call under the secret of the link
/// that it called.
pub(crate) fn answer(
    place: Place<'_>,
    to: &[u8; 32],
    secret: &Hidden<LINK_SECRET>,
    answer: &Answer,
    rng: &mut impl CryptoRng,
) -> Option<Vec<u8>> {
    let mut plain = vec![0; plain_length(place)];
    plain[0] = ANSWER;
    plain[1..=ANSWER_BYTES].copy_from_slice(&answer.encode());
    seal(place, to, secret, &plain, &fresh(rng))
}

/// Step 4.5: reads a row as a call of the link with this key and secret. A proof that does not hold
/// makes it no call.
pub(crate) fn read_call(
    place: Place<'_>,
    key: &ExchangeKey,
    secret: &Hidden<LINK_SECRET>,
    row: &[u8],
) -> Option<Call> {
    let plain = open(place, key, secret, row)?;
    if plain[0] != CALL {
        return None;
    }
    let once: [u8; 32] = plain[1..33].try_into().ok()?;
    let from = match plain[34] {
        0 => None,
        _ => {
            let callee = Callee {
                key: plain[35..67].try_into().ok()?,
                secret: Hidden(plain[67..83].try_into().ok()?),
            };
            let exchange = row[EXCHANGE].try_into().ok()?;
            let proof = proof(place, &key.agree(&callee.key)?, exchange, &once);
            if plain[83..99] != proof {
                return None;
            }
            Some(callee)
        }
    };
    let length = usize::from(plain[99]);
    let name = plain[100..100 + NAME].get(..length)?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some(Call { once, channels: plain[33], name, from })
}

/// Step 4.7: reads a row as an answer to the call with this key, which went to a link with this
/// secret.
pub(crate) fn read_answer(
    place: Place<'_>,
    key: &ExchangeKey,
    secret: &Hidden<LINK_SECRET>,
    row: &[u8],
) -> Option<Answer> {
    let plain = open(place, key, secret, row)?;
    (plain[0] == ANSWER).then_some(())?;
    plain[1..].first_chunk().map(Answer::decode)
}

fn plain_length(place: Place<'_>) -> usize {
    let length = place.width - HEAD - TAG;
    debug_assert!(length >= CALL_BYTES, "clients refuse narrower rows");
    length
}

/// Seals `plain` for the owner of `to`: X25519 with a fresh half, a mark, and one lock.
fn seal(
    place: Place<'_>,
    to: &[u8; 32],
    secret: &Hidden<LINK_SECRET>,
    plain: &[u8],
    ephemeral: &Hidden<32>,
) -> Option<Vec<u8>> {
    let ephemeral = ephemeral.exchange();
    let (exchange, shared) = (ephemeral.public(), ephemeral.agree(to)?);
    let mut row = vec![VERSION];
    row.extend_from_slice(&exchange);
    row.extend_from_slice(&mark(place, &shared, &exchange));
    let key = sealing(place, &shared, to, &exchange, secret);
    row.extend_from_slice(&lock(key, &[], plain));
    (row.len() == place.width).then_some(row)
}

/// Opens what [`seal`] made for this key under this secret. The mark comes first: it tells almost
/// always.
fn open(
    place: Place<'_>,
    key: &ExchangeKey,
    secret: &Hidden<LINK_SECRET>,
    row: &[u8],
) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    if row.len() != place.width {
        return None;
    }
    let exchange: &[u8; 32] = row[EXCHANGE].try_into().ok()?;
    let shared = key.agree(exchange)?;
    if row[MARKED] != mark(place, &shared, exchange) {
        return None;
    }
    unlock(sealing(place, &shared, &key.public(), exchange, secret), &[], &row[HEAD..])
}

/// Step 4.3: by which the owner of a key, and nobody else, finds a row. It does not depend on the
/// link's secret, which everybody has who has the link.
fn mark(place: Place<'_>, shared: &Secret, exchange: &[u8; 32]) -> [u8; MARK] {
    let context = place.transcript("ostrakon/v1/messaging/mark about").field(exchange).finish();
    let mut mark = [0; MARK];
    shared.fill("ostrakon/v1/messaging/mark", &[&context.0], &mut mark);
    mark
}

fn sealing(
    place: Place<'_>,
    shared: &Secret,
    to: &[u8; 32],
    exchange: &[u8; 32],
    secret: &Hidden<LINK_SECRET>,
) -> Secret {
    let context = place
        .transcript("ostrakon/v1/messaging/dial about")
        .field(to)
        .field(exchange)
        .field(&secret.0)
        .finish();
    shared.derive("ostrakon/v1/messaging/dial", &[&context.0])
}

fn proof(place: Place<'_>, shared: &Secret, exchange: &[u8; 32], once: &[u8; 32]) -> [u8; PROOF] {
    let context =
        place.transcript("ostrakon/v1/messaging/proof about").field(exchange).field(once).finish();
    let mut proof = [0; PROOF];
    shared.fill("ostrakon/v1/messaging/proof", &[&context.0], &mut proof);
    proof
}

/// What both sides know of a conversation before its first row.
pub(crate) struct Meeting<'a> {
    pub room: &'a RoomId,
    /// The key of the link that was called.
    pub link: &'a [u8; 32],
    /// The secret of that link.
    pub secret: &'a Hidden<LINK_SECRET>,
    /// The key of the call.
    pub call: &'a [u8; 32],
    /// The key of the caller's own link, if the caller named one.
    pub from: Option<&'a [u8; 32]>,
    /// The answer.
    pub answer: &'a Answer,
}

impl Meeting<'_> {
    /// Step 5.1, at the caller, who has the secret halves of the call and of its own link.
    pub fn root_of_caller(&self, call: &Hidden<32>, from: Option<&Hidden<32>>) -> Option<Secret> {
        let call = call.exchange();
        let own = from.map(|from| from.exchange().agree(&self.answer.once));
        self.root(call.agree(self.link)?, call.agree(&self.answer.once)?, own)
    }

    /// Step 5.1, at the callee, who has the secret halves of the link and of the answer.
    pub fn root_of_callee(&self, link: &Hidden<32>, answer: &Hidden<32>) -> Option<Secret> {
        let answer = answer.exchange();
        let own = self.from.map(|from| answer.agree(from));
        self.root(link.exchange().agree(self.call)?, answer.agree(self.call)?, own)
    }

    /// The root: of three exchanges (two, if the caller named no link) and everything that was
    /// said.
    #[expect(clippy::needless_pass_by_value, reason = "the exchanges are used up")]
    fn root(&self, link: Secret, once: Secret, own: Option<Option<Secret>>) -> Option<Secret> {
        let own = match own {
            Some(own) => Some(own?),
            None => None,
        };
        let mut about = Transcript::new("ostrakon/v1/messaging/root about");
        about.field(&self.room.0).field(self.link).field(self.call).field(&self.answer.once);
        about.field(self.from.map_or(&[], |from| &from[..]));
        about.number(u64::from(self.answer.channel)).number(self.answer.start);
        let own = own.as_ref().map_or(&[][..], |own| own.expose());
        let about = about.finish();
        let fields: [&[u8]; 4] = [once.expose(), own, &self.secret.0, &about.0];
        Some(link.derive("ostrakon/v1/messaging/root", &fields))
    }
}

#[cfg(test)]
mod tests;
