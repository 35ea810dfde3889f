//! Step 1: base oblivious transfers on ristretto255, after Masny and Rindal, *Endemic oblivious
//! transfer*, CCS 2019, figure 8.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use ostrakon_crypto::Transcript;
use ostrakon_party::PartyId;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{Delta, KEY_BITS};
use crate::abort::Abort;
use crate::run::{Kind, Run};

/// Bytes of a key that a base transfer makes.
pub type BaseKey = [u8; 16];

/// Bytes of an encoded point.
const POINT: usize = 32;
/// The owner's point, then two points of the holder for each transfer.
const MESSAGE: usize = POINT * (1 + 2 * KEY_BITS);

/// What base transfers with every peer come to, whichever protocol made them: the seam for another
/// one. Each serves one segment, hence no `Clone`.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct BaseKeys {
    /// Δ_i, the own part of the key.
    pub delta: Delta,
    /// As owner, by party: both keys of each transfer. Empty at the own place.
    pub sent: Vec<Vec<[BaseKey; 2]>>,
    /// As holder, by party: of transfer k the key number 1 ⊕ (bit k of Δ_i). Empty at the own
    /// place.
    pub received: Vec<Vec<BaseKey>>,
}

/// The names of one pair's transfers.
struct Names<'a> {
    run: &'a Run,
    holder: PartyId,
    owner: PartyId,
}

impl Names<'_> {
    fn transcript(&self, context: &'static str, number: usize, branch: u64) -> Transcript {
        let mut transcript = self.run.transcript(context);
        transcript
            .number(u64::from(self.holder.0))
            .number(u64::from(self.owner.0))
            .number(number as u64)
            .number(branch);
        transcript
    }

    /// H(branch, R): a point whose logarithm nobody knows.
    fn point(&self, number: usize, branch: u64, other: &[u8]) -> RistrettoPoint {
        let mut wide = [0; 64];
        for (half, part) in wide.chunks_exact_mut(32).enumerate() {
            let mut transcript =
                self.transcript("ostrakon/v1/authbits/base transfer point", number, branch);
            transcript.number(half as u64).field(other);
            part.copy_from_slice(&transcript.finish().0);
        }
        RistrettoPoint::from_uniform_bytes(&wide)
    }

    fn key(
        &self,
        number: usize,
        branch: u64,
        owner_point: &[u8],
        pair: &[u8],
        shared: &RistrettoPoint,
    ) -> BaseKey {
        let mut transcript =
            self.transcript("ostrakon/v1/authbits/base transfer key", number, branch);
        let mut secret = shared.compress();
        transcript.field(owner_point).field(pair).field(secret.as_bytes());
        secret.zeroize();
        let mut digest = transcript.finish().0;
        let key = digest[..16].try_into().expect("half of 32 bytes");
        digest.zeroize();
        key
    }
}

fn random_scalar(run: &mut Run) -> Scalar {
    let mut wide = Zeroizing::new([0; 64]);
    run.draw(&mut *wide);
    Scalar::from_bytes_mod_order_wide(&wide)
}

/// What the holder of Δ sends one owner, and the scalars that open the keys.
fn choose(run: &mut Run, delta: &Delta, owner: PartyId) -> (Vec<u8>, Zeroizing<Vec<Scalar>>) {
    let mut points = Vec::with_capacity(MESSAGE - POINT);
    let mut scalars = Zeroizing::new(Vec::with_capacity(KEY_BITS));
    for number in 0..KEY_BITS {
        let scalar = random_scalar(run);
        let mut wide = [0; 64];
        run.draw(&mut wide);
        let other = RistrettoPoint::from_uniform_bytes(&wide).compress();
        let names = Names { run, holder: run.party.id, owner };
        // Both branches are computed and one is selected, so that time does not tell the choice.
        let choice = subtle::Choice::from(1 ^ delta.bit(number));
        let hashed = [0, 1].map(|branch| names.point(number, branch, other.as_bytes()));
        let hashed = RistrettoPoint::conditional_select(&hashed[0], &hashed[1], choice);
        let chosen = (RistrettoPoint::mul_base(&scalar) - hashed).compress();
        let place = |branch: u8| {
            let is_chosen = choice.ct_eq(&subtle::Choice::from(branch));
            let mut bytes = *other.as_bytes();
            for (byte, ours) in bytes.iter_mut().zip(chosen.as_bytes()) {
                byte.conditional_assign(ours, is_chosen);
            }
            bytes
        };
        points.extend_from_slice(&place(0));
        points.extend_from_slice(&place(1));
        scalars.push(scalar);
    }
    (points, scalars)
}

fn decode(bytes: &[u8]) -> Option<RistrettoPoint> {
    CompressedRistretto::from_slice(bytes).ok()?.decompress()
}

/// The owner's keys from a holder's points.
fn owner_keys(
    names: &Names,
    secret: &Scalar,
    own: &[u8],
    pairs: &[u8],
) -> Option<Vec<[BaseKey; 2]>> {
    let key_pair = |(number, pair): (usize, &[u8])| {
        let (zero, one) = pair.split_at(POINT);
        let key = |branch, mine, other| {
            let shared = (decode(mine)? + names.point(number, branch, other)) * secret;
            Some(names.key(number, branch, own, pair, &shared))
        };
        Some([key(0, zero, one)?, key(1, one, zero)?])
    };
    pairs.chunks_exact(2 * POINT).enumerate().map(key_pair).collect()
}

/// Draws Δ_i.
pub(crate) fn draw_delta(run: &mut Run) -> Delta {
    let (mut mac, mut hash) = (Zeroizing::new([0; 8]), Zeroizing::new([0; 16]));
    run.draw(&mut *mac);
    run.draw(&mut *hash);
    Delta { mac: u64::from_le_bytes(*mac), hash: u128::from_le_bytes(*hash) }
}

/// Step 1 with all peers at once; `deltas` says, by peer, what is chosen.
///
/// # Errors
/// [`Abort::Malformed`] names who sent what is no point, or the neutral one as an owner.
pub(crate) async fn transfer(run: &mut Run, deltas: &[Delta]) -> Result<BaseKeys, Abort> {
    let secret = Zeroizing::new(random_scalar(run));
    let own = RistrettoPoint::mul_base(&secret).compress();
    let (me, parties) = (run.party.id, run.parties());
    let mut scalars: Vec<Zeroizing<Vec<Scalar>>> = Vec::new();
    let mut bodies = Vec::new();
    for peer in run.party.roster.clone().parties() {
        let mut body = own.to_bytes().to_vec();
        let (points, opening) =
            if peer == me { Default::default() } else { choose(run, &deltas[peer.index()], peer) };
        body.extend(points);
        bodies.push(body);
        scalars.push(opening);
    }
    let sent_points = bodies.clone();
    let received = run.exchange(Kind::BasePoints, bodies, MESSAGE).await?;
    let delta = deltas[me.index()].clone();
    let mut keys =
        BaseKeys { delta, sent: vec![Vec::new(); parties], received: vec![Vec::new(); parties] };
    for peer in run.party.peers() {
        let i = peer.index();
        let (theirs, pairs) = received[i].split_at(POINT);
        let names = Names { run, holder: peer, owner: me };
        keys.sent[i] =
            owner_keys(&names, &secret, own.as_bytes(), pairs).ok_or(Abort::Malformed(peer))?;
        let point = decode(theirs).filter(|point| *point != RistrettoPoint::identity());
        let point = point.ok_or(Abort::Malformed(peer))?;
        let names = Names { run, holder: me, owner: peer };
        let pairs = sent_points[i][POINT..].chunks_exact(2 * POINT);
        keys.received[i] = scalars[i]
            .iter()
            .zip(pairs)
            .enumerate()
            .map(|(number, (scalar, pair))| {
                let choice = u64::from(1 ^ deltas[i].bit(number));
                names.key(number, choice, theirs, pair, &(point * scalar))
            })
            .collect();
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;
    use ostrakon_testkit::{Network, World};

    use super::*;
    use crate::spec::SegmentSpec;

    fn run_of(world: &World, party: u8, number: u64) -> Run {
        let spec = SegmentSpec { number, triples: 1, bucket: 1, security: 0 };
        let party = world.party(&Network::default(), PartyId(party));
        Run::new(party, spec.instance(), Secret::new([7; 32]))
    }

    /// A holder can compute one key of each of its transfers at the owner that it was made for, and
    /// none of an owner who was given the same points under other names, whichever names it takes
    /// for its own part: so nothing of a message is of use elsewhere.
    #[test]
    fn a_base_message_of_another_pair_place_or_run_opens_nothing() {
        const TRANSFERS: usize = 8;
        let world = World::new(5, 3);
        let mut run = run_of(&world, 1, 1);
        let delta = draw_delta(&mut run);
        let (points, scalars) = choose(&mut run, &delta, PartyId(0));
        let secret = random_scalar(&mut run);
        let owned = RistrettoPoint::mul_base(&secret);
        let own = owned.compress();
        let pairs = &points[..2 * POINT * TRANSFERS];
        // The branches that the holder can compute, transfer by transfer.
        let opened = |names: &Names, pairs: &[u8], first: usize| -> Vec<(usize, u8)> {
            let keys = owner_keys(names, &secret, own.as_bytes(), pairs).expect("points");
            let mut opened = Vec::new();
            for (number, pair) in pairs.chunks_exact(2 * POINT).enumerate() {
                let shared = owned * scalars[first + number];
                for branch in [0, 1] {
                    let own = own.as_bytes();
                    let key = names.key(number, u64::from(branch), own, pair, &shared);
                    if key == keys[number][usize::from(branch)] {
                        opened.push((number, branch));
                    }
                }
            }
            opened
        };
        let [holder, owner] = [PartyId(1), PartyId(0)];
        let chosen: Vec<_> = (0..TRANSFERS).map(|k| (k, 1 ^ delta.bit(k))).collect();
        assert_eq!(opened(&Names { run: &run, holder, owner }, pairs, 0), chosen);
        let here = Names { run: &run, holder, owner };
        assert!(opened(&here, &pairs[2 * POINT..], 1).is_empty(), "a transfer's points in another");
        let halves = pairs.chunks_exact(2 * POINT);
        let turned: Vec<u8> =
            halves.flat_map(|pair| [&pair[POINT..], &pair[..POINT]].concat()).collect();
        assert!(opened(&here, &turned, 0).is_empty(), "the two points in each other's place");
        for (holder, owner) in [(2, 0), (1, 2), (0, 1)] {
            let names = Names { run: &run, holder: PartyId(holder), owner: PartyId(owner) };
            assert!(opened(&names, pairs, 0).is_empty(), "of P{holder} for P{owner}");
        }
        for (world, number) in [(&world, 2), (&World::new(6, 3), 1)] {
            let run = &run_of(world, 1, number);
            assert!(opened(&Names { run, holder, owner }, pairs, 0).is_empty(), "in another run");
        }
    }
}
