//! How often attacks succeed whose chance is not negligible, at parameters that are small enough to
//! count: what the bounds of `docs/spec/stormy.md`, section 6, are made of. The stated chance must
//! lie in the interval of 95 % around what is found. Seeds are fixed, so a right
//! implementation does not miss by chance from one run to the next.

use ostrakon_authbits::ot::{LEVELS, TREES};
use ostrakon_authbits::{Kind, SegmentSpec};
use ostrakon_kernels::{Prg, permutation};

use crate::attacks::{flipped, is};
use crate::interval::assert_frequency;
use crate::world::{Committee, nightly, small};

/// Tries in the gate and in the nightly run.
fn tries(gate: u64, night: u64) -> u64 {
    if nightly() { night } else { gate }
}

/// Whether P0 has prepared a segment of two although P1 has sent something else.
fn survives(
    seed: u64,
    spec: SegmentSpec,
    kind: Kind,
    lie: impl Fn(&ostrakon_party::Message) -> Vec<u8> + Send + Sync + 'static,
) -> bool {
    let committee = Committee::new(seed, 2);
    let network = committee.corrupt(1, move |_, message| is(message, kind).then(|| lie(message)));
    matches!(committee.run(&network, spec, async |_| ())[0], Some(Ok(())))
}

/// Step 7: wrong strings U of t triples pass step 8 once in 2^t.
#[test]
fn wrong_strings_of_t_triples_survive_once_in_two_to_the_t() {
    let spec = SegmentSpec { number: 1, triples: 4, bucket: 1, security: 0 };
    for (touched, chance) in [(1, 0.5), (2, 0.25), (3, 0.125)] {
        let tried = tries(80, 1_000);
        let lie = move |message: &ostrakon_party::Message| {
            let mut body = message.body.to_vec();
            (0..touched).for_each(|k| body[8 * k] ^= 1);
            body
        };
        let survived =
            |seed: &u64| survives(10_000 * touched as u64 + seed, spec, Kind::Leaky, lie);
        let found = (0..tried).filter(survived).count() as u64;
        assert_frequency(found, tried, chance, "wrong strings");
    }
}

/// Step 3: corrections that differ in one tree pass step 5 if the holder's digit is the guessed
/// one: once in 16.
#[test]
fn corrections_of_one_wrong_tree_pass_once_in_sixteen() {
    let tried = tries(160, 2_000);
    let passed = |seed: &u64| {
        let tree = *seed as usize % TREES;
        survives(50_000 + seed, small(4), Kind::Corrections, move |message| {
            flipped(message, 8 * 24 * tree + 3)
        })
    };
    let found = (0..tried).filter(passed).count() as u64;
    assert_frequency(found, tried, 1.0 / 16.0, "one wrong tree");
}

/// Step 2: of the two sums of a level the holder can read one. A wrong one is not noticed once in
/// two, and tells the bit.
#[test]
fn a_wrong_sum_of_a_level_is_not_looked_at_once_in_two() {
    let tried = tries(100, 1_000);
    let passed = |seed: &u64| {
        let (tree, level) = (*seed as usize % TREES, *seed as usize / TREES % LEVELS);
        survives(90_000 + seed, small(4), Kind::Trees, move |message| {
            flipped(message, 8 * (192 * tree + 32 * level))
        })
    };
    let found = (0..tried).filter(passed).count() as u64;
    assert_frequency(found, tried, 0.5, "a wrong sum");
}

/// Step 9: of Bℓ leaky triples B are known to the adversary. They are one bucket once in
/// C(Bℓ, B)/ℓ.
#[test]
fn as_many_known_triples_as_a_bucket_has_fill_one_as_seldom_as_is_said() {
    for (triples, bucket, chance) in
        [(4usize, 2usize, 1.0 / 7.0), (3, 3, 1.0 / 28.0), (8, 2, 1.0 / 15.0)]
    {
        let tried = tries(2_000, 100_000);
        let full = |seed: &u64| {
            let mut key = [triples as u8; 32];
            key[..8].copy_from_slice(&seed.to_le_bytes());
            let order = permutation::sample(&Prg::new(&key), triples * bucket);
            order.chunks(bucket).any(|members| members.iter().all(|k| (*k as usize) < bucket))
        };
        let found = (0..tried).filter(full).count() as u64;
        assert_frequency(found, tried, chance, "a full bucket");
    }
}
