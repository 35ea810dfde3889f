//! Visitors and servers who deviate; each test mounts one attack and sees who is named.

use std::sync::Arc;

use ostrakon_crypto::Digest;
use ostrakon_crypto::hash::digest;

use super::world::{World, binary, head};
use crate::fault::{DecodeError, HistoryError, SessionError, StepFault, VisitError};
use crate::group::elgamal::{Ciphertext, Table};
use crate::layer::Layer;
use crate::proofs::disjunction::{Witness, prove};
use crate::statement::combine;
use crate::step::encode_tables;
use crate::visitor::hand_on;
use crate::{
    Ballot, Group, Helpers, History, OneTimeKey, ProofOfPossession, Ristretto, Session, SessionId,
    ShareCommitments, Step, Visitor, verify_history,
};

type Element = <Ristretto as Group>::Element;
type Scalar = <Ristretto as Group>::Scalar;

fn majority() -> Vec<Ballot> {
    vec![binary(3, |ones| u32::from(ones >= 2))]
}

fn world() -> World<Ristretto> {
    World::new(11, 3, Helpers::none(), majority())
}

fn refused(position: usize, visitor: usize) -> Option<HistoryError> {
    Some(HistoryError { position, visitor, fault: StepFault::Proof })
}

/// What a malicious visitor can do at most: any tables, and the honest prover run on them as if it
/// had chosen 0.
fn forged(
    world: &mut World<Ristretto>,
    history: &History<Ristretto>,
    visitor: usize,
    table: Table<Ristretto>,
    s: &[Scalar],
) -> Step<Ristretto> {
    let tables = vec![table];
    let statement = history.statement(visitor, &head(history), &encode_tables(&tables));
    let weights = statement.weights(0, s.len());
    let branches = vec![combine(&weights, &history.tables()[0], &tables[0], &history.maps()[0])];
    let sum = weights.iter().zip(s).fold(Ristretto::scalar(0), |sum, (weight, s)| sum + weight * s);
    let alpha = *world.key(Layer::Visitor(visitor)).secret();
    let proofs =
        prove(&statement, &branches, &alpha, &[Witness { choice: 0, s: sum }], &mut world.rng);
    Step { tables, proofs }
}

/// Honest new entries for one value, with their randomness, for visitor 0.
fn honest(
    world: &mut World<Ristretto>,
    history: &History<Ristretto>,
    choice: u16,
) -> (Table<Ristretto>, Vec<Scalar>) {
    let maps = &history.maps()[0];
    let s: Vec<Scalar> =
        (0..maps.entries()).map(|_| Ristretto::random_scalar(&mut world.rng)).collect();
    let remaining = history.layers() - history.session().visitors()[0].public_key();
    let alpha = *world.key(Layer::Visitor(0)).secret();
    (hand_on(&history.tables()[0], maps, choice, &alpha, &s, &remaining), s)
}

fn verdict(
    world: &mut World<Ristretto>,
    history: &History<Ristretto>,
    step: &Step<Ristretto>,
) -> Option<HistoryError> {
    world.verify(history.clone(), 0, &head(history), &step.to_bytes()).err()
}

#[test]
fn the_forger_s_tools_make_an_honest_step_that_is_accepted() {
    let mut world = world();
    let history = world.start();
    let (table, s) = honest(&mut world, &history, 0);
    let step = forged(&mut world, &history, 0, table, &s);
    assert_eq!(
        verdict(&mut world, &history, &step),
        None,
        "so what is refused below is refused for its attack"
    );
}

#[test]
fn a_wrong_initial_table_is_nobody_s_to_choose() {
    let mut world = world();
    // The server shows visitor 0 the table of another function. Its step fits no history of the
    // real session.
    let other = World::<Ristretto>::new(
        11,
        3,
        Helpers::none(),
        vec![binary(3, |ones| u32::from(ones >= 1))],
    );
    let visit = Visitor::new(&other.start(), 0, world.key(Layer::Visitor(0))).unwrap();
    let shown = visit.visit(&other.start(), &[1], &head(&other.start()), &mut world.rng).unwrap();
    let start = world.start();
    assert_eq!(
        world.verify(start.clone(), 0, &head(&other.start()), &shown.to_bytes()).err(),
        refused(0, 0)
    );
    assert_eq!(verdict(&mut world, &start, &shown), refused(0, 0));
    // A visitor who starts from tables of its own instead of the session's.
    let key = start.layers();
    let made = |output: usize| {
        let x = world.session.encodings(0)[output].1;
        Ciphertext::<Ristretto>::encrypt(&x, &key, &Ristretto::scalar(7 + output as u128))
    };
    let table = Table { entries: vec![made(1), made(1), made(1), made(0)] };
    let s: Vec<Scalar> = (0..3).map(|_| Ristretto::random_scalar(&mut world.rng)).collect();
    let remaining = key - world.session.visitors()[0].public_key();
    let alpha = *world.key(Layer::Visitor(0)).secret();
    let table = hand_on(&table, &start.maps()[0], 0, &alpha, &s, &remaining);
    let step = forged(&mut world, &start, 0, table, &s);
    assert_eq!(verdict(&mut world, &start, &step), refused(0, 0));
}

#[test]
fn dropping_a_row_that_no_value_drops_is_refused() {
    let mut world = world();
    let history = world.start();
    let old = history.tables();
    let (_, s) = honest(&mut world, &history, 0);
    let alpha = *world.key(Layer::Visitor(0)).secret();
    let remaining = history.layers() - history.session().visitors()[0].public_key();
    // Row 1 of four is dropped: entry 0 as for value 0, the others as for value 1.
    let rows = [0, 2, 3];
    let entries = rows
        .iter()
        .zip(&s)
        .map(|(row, s)| old[0].entries[*row].hand_on(&alpha, s, &remaining))
        .collect();
    let step = forged(&mut world, &history, 0, Table { entries }, &s);
    assert_eq!(verdict(&mut world, &history, &step), refused(0, 0));
}

#[test]
fn entries_of_two_values_in_one_table_are_refused() {
    let mut world = world();
    let history = world.start();
    let (zero, s) = honest(&mut world, &history, 0);
    for place in 0..3 {
        let (one, other) = honest(&mut world, &history, 1);
        let (mut table, mut s) = (zero.clone(), s.clone());
        (table.entries[place], s[place]) = (one.entries[place], other[place]);
        let step = forged(&mut world, &history, 0, table, &s);
        assert_eq!(verdict(&mut world, &history, &step), refused(0, 0), "entry {place}");
    }
}

#[test]
fn an_entry_with_another_output_is_refused() {
    let mut world = world();
    let history = world.start();
    let remaining = history.layers() - history.session().visitors()[0].public_key();
    let [(_, no), (_, yes)] = world.session.encodings(0) else { panic!("two outputs") };
    let (no, yes) = (*no, *yes);
    for place in 0..3 {
        let (mut table, s) = honest(&mut world, &history, 0);
        table.entries[place] = Ciphertext::encrypt(&yes, &remaining, &Ristretto::scalar(77));
        let step = forged(&mut world, &history, 0, table, &s);
        assert_eq!(verdict(&mut world, &history, &step), refused(0, 0), "replaced entry {place}");
        // Changed in place, so that only its plaintext moves, and two changes that cancel in an
        // unweighted sum.
        let (mut table, s) = honest(&mut world, &history, 0);
        table.entries[place].v = table.entries[place].v + yes - no;
        let step = forged(&mut world, &history, 0, table.clone(), &s);
        assert_eq!(verdict(&mut world, &history, &step), refused(0, 0), "moved entry {place}");
        let other = (place + 1) % 3;
        table.entries[other].v = table.entries[other].v - yes + no;
        let step = forged(&mut world, &history, 0, table, &s);
        assert_eq!(
            verdict(&mut world, &history, &step),
            refused(0, 0),
            "moved entries {place} and {other}"
        );
    }
}

#[test]
fn an_entry_that_is_not_rerandomised_is_named() {
    let mut world = world();
    let history = world.start();
    let alpha = *world.key(Layer::Visitor(0)).secret();
    let remaining = history.layers() - history.session().visitors()[0].public_key();
    for (choice, place) in [(0, 0), (0, 2), (1, 1)] {
        let (_, mut s) = honest(&mut world, &history, choice);
        s[place] = Ristretto::scalar(0);
        let table =
            hand_on(&history.tables()[0], &history.maps()[0], choice, &alpha, &s, &remaining);
        let step = forged(&mut world, &history, 0, table, &s);
        let fault = StepFault::NotRerandomised { ballot: 0, entry: place };
        assert_eq!(
            verdict(&mut world, &history, &step),
            Some(HistoryError { position: 0, visitor: 0, fault })
        );
    }
}

#[test]
fn a_step_is_void_a_second_time_elsewhere_and_for_somebody_else() {
    let mut world = world();
    let choices = vec![vec![0], vec![1], vec![0]];
    let (history, steps) = world.run(&[0, 1], &choices);
    let (_, previous, step) = steps[1].clone();
    let replayed = world.verify(history.clone(), 1, &previous, &step).err().unwrap();
    assert_eq!((replayed.position, replayed.fault), (2, StepFault::Repeated));
    let start = world.start();
    let first = steps[0].2.as_slice();
    assert_eq!(
        world.verify(start.clone(), 1, &steps[0].1, first).err(),
        refused(0, 1),
        "as another visitor's"
    );
    assert_eq!(
        world.verify(start.clone(), 0, &Digest([1; 32]), first).err(),
        refused(0, 0),
        "after another head"
    );
    let unknown = world.verify(start, 3, &steps[0].1, first).err().unwrap();
    assert_eq!(unknown.fault, StepFault::UnknownVisitor);
    assert_eq!(
        Visitor::new(&history, 1, world.key(Layer::Visitor(1))).err(),
        Some(VisitError::Repeated(1))
    );
    assert_eq!(
        Visitor::new(&history, 2, world.key(Layer::Visitor(1))).err(),
        Some(VisitError::WrongKey(2))
    );
}

#[test]
fn a_history_in_another_order_or_with_a_gap_is_refused() {
    // All steps of the two first places have one length only where the tables have: try every
    // permutation of three.
    let mut world = world();
    let choices = vec![vec![0], vec![1], vec![1]];
    let (_, steps) = world.run(&[0, 1, 2], &choices);
    let verify = |world: &mut World<Ristretto>, order: &[usize]| {
        let steps: Vec<_> = order
            .iter()
            .map(|place| &steps[*place])
            .map(|(v, h, s)| (*v, *h, s.as_slice()))
            .collect();
        verify_history(world.session.clone(), &steps, &mut world.rng)
    };
    assert!(verify(&mut world, &[0, 1, 2]).is_ok());
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert!(verify(&mut world, &order).is_err(), "{order:?}");
    }
    assert!(verify(&mut world, &[0, 2]).is_err());
    // Two courses of one visit by visitor 0: the server cannot put visitor 1's step after the other
    // one.
    let (_, other) = world.run(&[0], &[vec![1], vec![], vec![]]);
    let mixed = [&other[0], &steps[1]].map(|(v, h, s)| (*v, *h, s.as_slice()));
    assert_eq!(verify_history(world.session.clone(), &mixed, &mut world.rng).err(), refused(1, 1));
}

#[test]
fn a_failing_batch_names_the_step_that_is_wrong() {
    let mut world =
        World::<Ristretto>::new(12, 5, Helpers::none(), vec![binary(5, |ones| ones as u32)]);
    let (_, steps) = world.run(&[4, 2, 0, 1, 3], &vec![vec![1]; 5]);
    for wrong in 0..5 {
        let mut steps = steps.clone();
        // The last response of the proof: canonical again after a change of its lowest bit.
        let at = steps[wrong].2.len() - 32;
        steps[wrong].2[at] ^= 1;
        let steps: Vec<_> = steps.iter().map(|(v, h, s)| (*v, *h, s.as_slice())).collect();
        let error = verify_history(world.session.clone(), &steps, &mut world.rng).err();
        assert_eq!(error, refused(wrong, steps[wrong].0));
    }
}

#[test]
fn a_step_of_another_session_or_for_another_ballot_is_refused() {
    let ballots =
        || vec![binary(3, |ones| u32::from(ones >= 2)), binary(3, |ones| u32::from(ones >= 2))];
    let mut world = World::<Ristretto>::with_id(13, 1, 3, Helpers::none(), ballots());
    let other = World::<Ristretto>::with_id(13, 2, 3, Helpers::none(), ballots());
    assert_eq!(keys(&world), keys(&other), "the same keys");
    let start = world.start();
    let step = world.visit(&start, 0, &[0, 1]);
    assert_eq!(
        world.verify(other.start(), 0, &head(&start), &step.to_bytes()).err(),
        refused(0, 0)
    );
    // The two ballots of one step swapped, tables and proofs together and apart.
    for (tables, proofs) in [(true, true), (true, false), (false, true)] {
        let mut swapped = step.clone();
        if tables {
            swapped.tables.swap(0, 1);
        }
        if proofs {
            swapped.proofs.swap(0, 1);
        }
        assert_eq!(
            world.verify(start.clone(), 0, &head(&start), &swapped.to_bytes()).err(),
            refused(0, 0)
        );
    }
    // A visitor of one session is not led into another.
    let visit = Visitor::new(&start, 0, world.key(Layer::Visitor(0))).unwrap();
    let led = visit.visit(&other.start(), &[0, 0], &head(&start), &mut world.rng);
    assert_eq!(led.err(), Some(VisitError::OtherSession));
}

fn keys(world: &World<Ristretto>) -> Vec<Vec<u8>> {
    world.session.visitors().iter().map(ShareCommitments::to_bytes).collect()
}

#[test]
fn an_altered_roster_function_threshold_or_operator_is_another_session() {
    let world = World::<Ristretto>::new(14, 3, Helpers::new(1, 2).unwrap(), majority());
    let id = SessionId(digest("ostrakon/v1/onepass/test session", b"one id"));
    let (visitors, operators) =
        (world.session.visitors().to_vec(), world.session.operators().to_vec());
    let helpers = world.helpers;
    let make = |visitors: &[_], operators: &[_], helpers, ballots| {
        *Session::<Ristretto>::new(id, visitors.to_vec(), operators.to_vec(), helpers, ballots)
            .unwrap()
            .binding()
    };
    let mut reordered = visitors.clone();
    reordered.swap(0, 1);
    let bindings = [
        make(&visitors, &operators, helpers, majority()),
        make(&reordered, &operators, helpers, majority()),
        make(&visitors, &operators[..1], helpers, majority()),
        make(&visitors, &operators, Helpers::new(1, 1).unwrap(), majority()),
        make(&visitors, &operators, helpers, vec![binary(3, |ones| u32::from(ones >= 1))]),
        make(&visitors, &operators, helpers, [majority(), majority()].concat()),
    ];
    for (place, binding) in bindings.iter().enumerate() {
        assert!(!bindings[..place].contains(binding), "session {place} is one of the former");
    }
}

#[test]
fn a_rogue_key_has_no_proof_of_possession() {
    let mut world = world();
    // h = xG − Σ h_j: its maker knows the logarithm of the sum of all keys.
    let x = Ristretto::random_scalar(&mut world.rng);
    let others = world
        .session
        .visitors()
        .iter()
        .fold(Ristretto::identity(), |sum, key| sum + key.public_key());
    let rogue: ShareCommitments<Ristretto> =
        ShareCommitments::new(vec![Ristretto::mul_base(&x) - others]);
    let context = digest("ostrakon/v1/onepass/test context", b"mallory, serial 1");
    // What it can sign with is x, or a proof of somebody else's.
    let knows = OneTimeKey::<Ristretto>::from_coefficients(vec![x]);
    assert!(!knows.prove_possession(&context, &mut world.rng).verify(&rogue, &context));
    let alice = world.key(Layer::Visitor(0));
    let proof = alice.prove_possession(&context, &mut world.rng);
    assert!(proof.verify(&alice.layer_key(), &context));
    assert!(!proof.verify(&rogue, &context));
    let elsewhere = digest("ostrakon/v1/onepass/test context", b"alice, serial 2");
    assert!(
        !proof.verify(&alice.layer_key(), &elsewhere),
        "a proof for one context is none for another"
    );
    for at in 0..64 {
        let mut bytes = proof.to_bytes();
        bytes[at] ^= 1;
        let changed = ProofOfPossession::from_bytes(&bytes);
        assert!(
            changed.map_or(true, |proof| !proof.verify(&alice.layer_key(), &context)),
            "byte {at}"
        );
    }
}

#[test]
fn the_commitments_of_a_key_cannot_be_exchanged_under_its_proof() {
    let helpers = Helpers::new(2, 3).unwrap();
    let mut world = World::<Ristretto>::new(15, 2, helpers, vec![binary(2, |ones| ones as u32)]);
    let (key, other) = (world.key(Layer::Visitor(0)), world.key(Layer::Visitor(1)));
    let context = Digest([4; 32]);
    let proof = key.prove_possession(&context, &mut world.rng);
    let mixed = [&key.layer_key().to_bytes()[..32], &other.layer_key().to_bytes()[32..]].concat();
    let mixed = ShareCommitments::from_bytes(&mixed, helpers).unwrap();
    assert!(proof.verify(&key.layer_key(), &context));
    assert!(!proof.verify(&mixed, &context));
}

#[test]
fn keys_that_are_void_copied_or_shared_otherwise_are_refused() {
    let helpers = Helpers::none();
    let read = |bytes: &[u8]| ShareCommitments::<Ristretto>::from_bytes(bytes, helpers).err();
    assert_eq!(read(&[0; 32]), Some(DecodeError::Identity));
    assert_eq!(read(&[0xff; 32]), Some(DecodeError::Point));
    assert_eq!(read(&[0; 64]), Some(DecodeError::Length { expected: 32, found: 64 }));
    let world = world();
    let (visitors, operators) = (world.session.visitors(), world.session.operators());
    let make = |visitors: Vec<_>, operators: Vec<_>, helpers| {
        Session::<Ristretto>::new(world.session.id(), visitors, operators, helpers, majority())
            .err()
    };
    let copied = vec![visitors[0].clone(), visitors[1].clone(), visitors[0].clone()];
    let same = SessionError::SameKey(Layer::Visitor(0), Layer::Visitor(2));
    assert_eq!(make(copied, operators.to_vec(), helpers), Some(same));
    let copied = SessionError::SameKey(Layer::Visitor(1), Layer::Operator(0));
    assert_eq!(make(visitors.to_vec(), vec![visitors[1].clone()], helpers), Some(copied));
    let other = Helpers::new(2, 2).unwrap();
    assert_eq!(
        make(visitors.to_vec(), operators.to_vec(), other),
        Some(SessionError::Sharing(Layer::Visitor(0)))
    );
    assert_eq!(make(visitors.to_vec(), Vec::new(), helpers), Some(SessionError::Operators(0)));
}

#[test]
fn points_that_are_not_canonical_and_an_identity_are_refused_in_a_step() {
    let mut world = world();
    let start = world.start();
    let honest = world.visit(&start, 0, &[1]).to_bytes();
    let fault = |world: &mut World<Ristretto>, at: usize, with: [u8; 32]| {
        let mut step = honest.clone();
        step[at..at + 32].copy_from_slice(&with);
        world.verify(world.start(), 0, &head(&start), &step).err().map(|error| error.fault)
    };
    assert_eq!(fault(&mut world, 0, [0; 32]), Some(StepFault::Identity), "u");
    // p + 0 and a negative field element (RFC 9496, A.2).
    let mut modulus = [0xff; 32];
    (modulus[0], modulus[31]) = (0xed, 0x7f);
    assert_eq!(fault(&mut world, 0, modulus), Some(StepFault::Point));
    let mut negative = [0; 32];
    negative[0] = 1;
    assert_eq!(fault(&mut world, 32, negative), Some(StepFault::Point), "v");
    let proof = world.session.tables_bytes(0);
    assert_eq!(fault(&mut world, proof, negative), Some(StepFault::Point), "a commitment");
    // The order of the group, as a challenge.
    let order = -Ristretto::scalar(1);
    let mut order = Ristretto::encode_scalar(&order);
    order[0] += 1;
    assert_eq!(fault(&mut world, proof + 6 * 32, order), Some(StepFault::Scalar), "a challenge");
    assert_eq!(fault(&mut world, proof + 10 * 32, order), Some(StepFault::Scalar), "a response");
}

#[test]
fn choices_that_do_not_fit_are_refused_before_anything_is_computed() {
    let mut world = world();
    let start = world.start();
    let mut visit = |choices: &[u16]| {
        let visitor = Visitor::new(&start, 0, world.key(Layer::Visitor(0))).unwrap();
        visitor.visit(&start, choices, &head(&start), &mut world.rng).err()
    };
    assert_eq!(visit(&[2]), Some(VisitError::Range(0)));
    assert_eq!(visit(&[]), Some(VisitError::Choices { expected: 1, found: 0 }));
    assert_eq!(visit(&[0, 0]), Some(VisitError::Choices { expected: 1, found: 2 }));
}

#[test]
fn the_server_cannot_evaluate_a_vote_twice_with_its_visitor_s_step() {
    // The server keeps visitor 0's step and wants to open it with another continuation of visitor
    // 1, who signed one step.
    let mut world =
        World::<Ristretto>::new(16, 2, Helpers::none(), vec![binary(2, |ones| ones as u32)]);
    let (history, steps) = world.run(&[0, 1], &[vec![1], vec![0]]);
    let closing = history.close(&head(&history), &[]).unwrap();
    let partial = {
        let key = world.key(Layer::Operator(0));
        closing.decrypt_as_operator(0, &key, &mut world.rng).unwrap()
    };
    assert!(closing.verify_operator(0, partial.clone()).is_ok());
    // A corrupt visitor 1 makes another step after the same one; the operator's contribution does
    // not fit its closing.
    let first = history_after(&world, &steps[0]);
    let second = world.walk(first, 1, &[1]);
    let again = second.close(&head(&second), &[]).unwrap();
    assert_ne!(again.digest(), closing.digest());
    assert!(again.verify_operator(0, partial).is_err());
}

fn history_after(world: &World<Ristretto>, step: &(usize, Digest, Vec<u8>)) -> History<Ristretto> {
    let start = world.start();
    let tables = Step::from_bytes(&world.session, 0, &step.2).unwrap().tables;
    start.after(step.0, &step.1, &step.2, Arc::new(tables))
}

#[test]
fn elements_of_proofs_are_bound_to_their_places() {
    // A proof is not accepted with the commitments of its branches exchanged, which would exchange
    // the values.
    let mut world = world();
    let start = world.start();
    let mut step = world.visit(&start, 0, &[0]);
    step.proofs[0].commitments.swap(0, 1);
    step.proofs[0].responses.swap(0, 1);
    let e: Element = step.proofs[0].commitments[0].key;
    assert_ne!(e, Ristretto::identity());
    assert_eq!(verdict(&mut world, &start, &step), refused(0, 0));
}
