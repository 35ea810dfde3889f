//! Forgeries that weak Fiat–Shamir and short weights allow (attacks on the paper), mounted on this
//! transcript.

use super::world::{World, binary, head};
use crate::fault::{HistoryError, StepFault};
use crate::group::Group;
use crate::group::elgamal::{Ciphertext, Table};
use crate::hashing;
use crate::layer::Layer;
use crate::params::WEIGHT_BITS;
use crate::proofs::disjunction::StepProof;
use crate::statement::{Commitments, combine};
use crate::step::{Step, encode_tables};
use crate::{Helpers, Ristretto};

type Element = <Ristretto as Group>::Element;
type Scalar = <Ristretto as Group>::Scalar;

fn random(world: &mut World<Ristretto>) -> Scalar {
    Ristretto::random_scalar(&mut world.rng)
}

/// The last visitor of one binary ballot: one new entry, so that a table can be solved for.
fn before_last(seed: u64) -> (World<Ristretto>, crate::History<Ristretto>) {
    let mut world = World::<Ristretto>::new(
        seed,
        2,
        Helpers::none(),
        vec![binary(2, |ones| u32::from(ones == 2))],
    );
    let start = world.start();
    let history = world.walk(start, 0, &[0]);
    (world, history)
}

/// The statement chosen after the challenge: with a challenge that hashes the commitments only,
/// this entry would be accepted whatever it encrypts, because it is the solution of the verifier's
/// equations.
#[test]
fn a_table_that_is_solved_for_after_the_challenge_is_refused() {
    let (mut world, history) = before_last(21);
    let old = history.tables()[0].clone();
    let key = world.session.visitors()[1].public_key();
    let alpha = *world.key(Layer::Visitor(1)).secret();
    let remaining = history.layers() - key;
    let [b, c] = [random(&mut world), random(&mut world)];
    // Commitments first, with an honest one for the key (the forger knows its key) ...
    let nonce = random(&mut world);
    let own = Commitments {
        key: Ristretto::mul_base(&nonce),
        first: Ristretto::mul_base(&b),
        second: Ristretto::mul_base(&c),
    };
    let simulated = |world: &mut World<Ristretto>| (random(world), random(world), random(world));
    let (e1, z1, y1) = simulated(&mut world);
    // ... then a challenge from them alone ...
    let weak = hashing::scalar::<Ristretto>("ostrakon/v1/onepass/test weak", &head(&history), 0);
    let e0 = weak - e1;
    let (z0, y0) = (nonce + e0 * alpha, random(&mut world));
    // ... then U and V that satisfy both equations of the branch, and from them, with weight one,
    // the entry.
    let inverse = e0.invert();
    let u = (Ristretto::mul_base(&y0) - own.first) * inverse;
    let v = (remaining * y0 - old.entries[0].u * z0 - own.second) * inverse;
    let entry = Ciphertext { u: old.entries[0].u + u, v: old.entries[0].v + v };
    let weak_equations = |e: Scalar, entry: &Ciphertext<Ristretto>| {
        let (u, v) = (entry.u - old.entries[0].u, entry.v - old.entries[0].v);
        Ristretto::mul_base(&z0) == own.key + key * e
            && Ristretto::mul_base(&y0) == own.first + u * e
            && remaining * y0 - old.entries[0].u * z0 == own.second + v * e
    };
    assert!(weak_equations(e0, &entry), "the weak verifier accepts");
    let secret = |layer| *world.key(layer).secret();
    let operators = secret(Layer::Operator(0)) + secret(Layer::Operator(1));
    let opened: Element = entry.v - entry.u * operators;
    let outputs: Vec<Element> = world.session.encodings(0).iter().map(|(_, x)| *x).collect();
    assert!(!outputs.contains(&opened), "though the entry encrypts no output at all");
    // The verifier of this crate hashes the entry before it has weights, and all of it before it
    // has challenges.
    let tables = vec![Table { entries: vec![entry] }];
    let statement = history.statement(1, &head(&history), &encode_tables(&tables));
    let weights = statement.weights(0, 1);
    let combined = combine(&weights, &old, &tables[0], &history.maps()[0]);
    let other = &combined[1];
    let fake = Commitments {
        key: Ristretto::mul_base(&z1) - key * e1,
        first: Ristretto::mul_base(&y1) - other.u * e1,
        second: remaining * y1 - other.w * z1 - other.v * e1,
    };
    let proof = StepProof {
        commitments: vec![own, fake],
        challenges: vec![e0],
        responses: vec![(z0, y0), (z1, y1)],
    };
    let step = Step { tables, proofs: vec![proof] };
    let error = world.verify(history.clone(), 1, &head(&history), &step.to_bytes()).err();
    assert_eq!(error, Some(HistoryError { position: 1, visitor: 1, fault: StepFault::Proof }));
}

/// Grinding needs weights that are short, or that do not depend on the entry.
#[test]
fn weights_are_long_independent_and_from_the_whole_statement() {
    let (mut world, history) = before_last(22);
    assert_eq!(WEIGHT_BITS, 128);
    let statement = |table: &[u8]| history.statement(1, &head(&history), table);
    let bytes = world.visit(&history, 1, &[1]).to_bytes()[..64].to_vec();
    let weights = statement(&bytes).weights(0, 64);
    let encoded: Vec<[u8; 32]> = weights.iter().map(Ristretto::encode_scalar).collect();
    for (place, weight) in encoded.iter().enumerate() {
        assert!(!encoded[..place].contains(weight), "weights repeat");
        assert_eq!(weight[16..], [0; 16], "the weights have no more than their bits");
    }
    for byte in 0..16 {
        let seen = encoded
            .iter()
            .fold((0, 0), |(ones, zeros), weight| (ones | weight[byte], zeros | !weight[byte]));
        assert_eq!(seen, (0xff, 0xff), "every bit of byte {byte} takes both values");
    }
    for at in 0..64 {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let changed = statement(&changed).weights(0, 64);
        assert!(
            weights.iter().zip(&changed).all(|(a, b)| a != b),
            "all weights change with byte {at}"
        );
    }
    assert!(
        statement(&bytes).weights(1, 64).iter().zip(&weights).all(|(a, b)| a != b),
        "and with the ballot"
    );
}

/// An error that cancels for weights that the forger knows beforehand does not cancel for those of
/// its own statement.
#[test]
fn errors_that_cancel_for_other_weights_are_found() {
    let mut world =
        World::<Ristretto>::new(23, 3, Helpers::none(), vec![binary(3, |ones| ones as u32)]);
    let history = world.start();
    let mut step = world.visit(&history, 0, &[0]);
    let statement = history.statement(0, &head(&history), &encode_tables(&step.tables));
    let weights = statement.weights(0, 3);
    // Move entry 0 by x and entry 1 so that the sum under these weights stays: U, V, W and so all
    // equations are as before.
    let x = Ristretto::mul_base(&random(&mut world));
    step.tables[0].entries[0].v += x;
    let back = x * (weights[0] * weights[1].invert());
    step.tables[0].entries[1].v -= back;
    let again = combine(&weights, &history.tables()[0], &step.tables[0], &history.maps()[0]);
    let (z, y) = step.proofs[0].responses[0];
    let total = statement.challenges([step.proofs[0].commitments.as_slice()])[0];
    let e = step.proofs[0].branch_challenges(&total)[0];
    let second = step.proofs[0].commitments[0].second;
    assert_eq!(
        statement.remaining * y - again[0].w * z,
        second + again[0].v * e,
        "with the old weights it would pass"
    );
    let error = world.verify(history.clone(), 0, &head(&history), &step.to_bytes()).err();
    assert_eq!(error, Some(HistoryError { position: 0, visitor: 0, fault: StepFault::Proof }));
}
