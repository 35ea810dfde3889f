//! Lengths against their formulas, limits, and decoders against damaged bytes.

use super::world::{World, below, binary, head, seeded};
use crate::fault::{DecodeError, SessionError, StepFault};
use crate::group::toy::Toy;
use crate::layer::Layer;
use crate::params::{MAX_ENTRIES, MAX_STEP_BYTES, partial_bytes, proof_bytes, table_entries};
use crate::{Ballot, Helpers, KeyShare, PartialDecryption, Ristretto, Session, Step};

fn mixed(n: usize) -> Vec<Ballot> {
    vec![
        binary(n, |ones| ones as u32),
        Ballot::from_function(3, n, |counts| u32::from(counts[2])).unwrap(),
    ]
}

#[test]
fn every_form_has_the_length_of_its_formula() {
    assert_eq!((proof_bytes(2), proof_bytes(3)), (352, 544));
    let mut world = World::<Toy>::new(51, 4, Helpers::new(2, 3).unwrap(), mixed(4));
    let (_, steps) = world.run(&[3, 0, 2, 1], &vec![vec![1, 2]; 4]);
    for (position, (_, _, step)) in steps.iter().enumerate() {
        let left = 3 - position;
        let expected = 64 * (left + 1) + 352 + 64 * ((left + 1) * (left + 2) / 2) + 544;
        assert_eq!((step.len(), world.session.step_bytes(position)), (expected, expected));
    }
    assert_eq!(world.session.step_bytes(4), 0);
    let key = world.key(Layer::Visitor(0));
    assert_eq!(key.layer_key().to_bytes().len(), 64, "one element for each coefficient");
    assert_eq!(key.share(0).to_bytes().len(), 32);
    let history = world.run(&[0, 1, 2, 3], &vec![vec![0, 0]; 4]).0;
    let closing = history.close(&head(&history), &[]).unwrap();
    let partial =
        closing.decrypt_as_operator(0, &world.key(Layer::Operator(0)), &mut world.rng).unwrap();
    assert_eq!(partial.to_bytes().len(), partial_bytes(2));
    assert_eq!(partial_bytes(2), 128);
}

fn session(n: usize, ballots: Vec<Ballot>) -> Result<Session<Toy>, SessionError> {
    let world = World::<Toy>::new(52, n, Helpers::none(), vec![binary(n, |_| 0)]);
    let (visitors, operators) =
        (world.session.visitors().to_vec(), world.session.operators().to_vec());
    Session::new(world.session.id(), visitors, operators, Helpers::none(), ballots)
}

#[test]
fn the_largest_step_fits_its_message() {
    for (n, values) in [(899, 2), (40, 3), (15, 4), (9, 5)] {
        let largest = Ballot::from_function(values, n, |_| 0).unwrap();
        let bytes = session(n, vec![largest]).unwrap().step_bytes(0);
        assert!(bytes <= MAX_STEP_BYTES, "{n} visitors, {values} values: {bytes} bytes");
        let more = Ballot::from_function(values, n + 1, |_| 0).err();
        let entries = table_entries(n + 1, values).unwrap() as u64;
        assert_eq!(more, Some(SessionError::TooManyEntries { entries }), "one visitor more");
        assert!(entries > MAX_ENTRIES as u64);
    }
    assert_eq!(
        Ballot::from_function(2, 1 << 40, |_| 0).err().map(|error| error.to_string().is_empty()),
        Some(false)
    );
}

#[test]
fn ballots_together_are_limited_in_entries_and_in_bytes() {
    let ballots = |n, count| vec![binary(n, |_| 0); count];
    assert_eq!(
        session(29, ballots(29, 31)).err(),
        Some(SessionError::TooManyEntries { entries: 930 })
    );
    assert!(session(29, ballots(29, 26)).is_ok());
    // With one visitor proofs outweigh tables: 416 bytes for each ballot.
    assert_eq!(
        session(1, ballots(1, 145)).err(),
        Some(SessionError::StepTooLong { bytes: 145 * 416 })
    );
    assert_eq!(
        session(1, ballots(1, 144)).map(|session| session.step_bytes(0)).ok(),
        Some(144 * 416)
    );
    assert_eq!(session(1, Vec::new()).err(), Some(SessionError::NoBallots));
    let wrong = SessionError::TableLength { ballot: 1, expected: 3, found: 4 };
    assert_eq!(session(2, [ballots(2, 1), ballots(3, 1)].concat()).err(), Some(wrong));
    assert_eq!(Ballot::new(1, 3, vec![0; 1]).err(), Some(SessionError::Values(1)));
    let wrong = SessionError::TableLength { ballot: 0, expected: 4, found: 3 };
    assert_eq!(Ballot::new(2, 3, vec![0; 3]).err(), Some(wrong));
    for (threshold, count) in [(0, 3), (4, 3), (1, 65), (0, 0)] {
        assert_eq!(
            Helpers::new(threshold, count),
            Err(SessionError::Threshold { threshold, count })
        );
    }
}

#[test]
fn every_changed_byte_of_a_step_is_refused() {
    let mut world = World::<Ristretto>::new(53, 2, Helpers::none(), mixed(2));
    let start = world.start();
    let step = world.visit(&start, 1, &[1, 2]).to_bytes();
    assert!(world.verify(start.clone(), 1, &head(&start), &step).is_ok());
    for at in 0..step.len() {
        let mut changed = step.clone();
        changed[at] ^= 1 << (at % 8);
        let error = world.verify(start.clone(), 1, &head(&start), &changed).expect_err("refused");
        assert_eq!((error.position, error.visitor), (0, 1), "byte {at}");
    }
}

#[test]
fn truncated_and_extended_steps_are_refused_by_their_length() {
    let mut world = World::<Toy>::new(54, 3, Helpers::none(), mixed(3));
    let start = world.start();
    let step = world.visit(&start, 0, &[0, 1]).to_bytes();
    let expected = step.len();
    for length in (0..expected).chain(expected + 1..expected + 70) {
        let mut changed = step.clone();
        changed.resize(length, 0);
        let error =
            world.verify(start.clone(), 0, &head(&start), &changed).err().map(|error| error.fault);
        assert_eq!(error, Some(StepFault::Length { expected, found: length }));
    }
    let late = Step::from_bytes(&world.session, 3, &[]).err();
    assert_eq!(
        late,
        Some(StepFault::Length { expected: 0, found: 0 }),
        "after the last there is no step"
    );
}

#[test]
fn partial_decryptions_are_read_in_one_form_and_refused_when_changed() {
    let mut world = World::<Ristretto>::new(55, 2, Helpers::none(), mixed(2));
    let (history, _) = world.run(&[1, 0], &vec![vec![1, 2]; 2]);
    let closing = history.close(&head(&history), &[]).unwrap();
    let key = world.key(Layer::Operator(0));
    let bytes = closing.decrypt_as_operator(0, &key, &mut world.rng).unwrap().to_bytes();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let accepted = PartialDecryption::from_bytes(&changed, 2)
            .map(|partial| closing.verify_operator(0, partial));
        assert!(!matches!(accepted, Ok(Ok(_))), "byte {at}");
    }
    for length in [0, 64, bytes.len() - 1, bytes.len() + 1] {
        let mut changed = bytes.clone();
        changed.resize(length, 0);
        let error = PartialDecryption::<Ristretto>::from_bytes(&changed, 2).err();
        assert_eq!(error, Some(DecodeError::Length { expected: 128, found: length }));
    }
    let share = KeyShare::<Ristretto>::from_bytes(&[0xff; 32]).err();
    assert_eq!(share, Some(DecodeError::Scalar));
    assert_eq!(
        KeyShare::<Ristretto>::from_bytes(&[0; 31]).err(),
        Some(DecodeError::Length { expected: 32, found: 31 })
    );
}

/// Bytes of the right length that are noise or a damaged valid input; what is accepted is written
/// again as it was read.
#[test]
fn decoders_are_total_and_read_one_form_only() {
    use rand_core::Rng;
    let helpers = Helpers::new(2, 3).unwrap();
    let mut world = World::<Toy>::new(56, 2, helpers, mixed(2));
    let start = world.start();
    let step = world.visit(&start, 0, &[0, 2]).to_bytes();
    let key = world.key(Layer::Visitor(0));
    let layer_key = key.layer_key().to_bytes();
    let share = key.share(1).to_bytes().to_vec();
    let possession = key.prove_possession(&head(&start), &mut world.rng).to_bytes().to_vec();
    let again = |kind: usize, bytes: &[u8]| match kind {
        0 => Step::from_bytes(&world.session, 0, bytes).ok().map(|step| step.to_bytes()),
        1 => crate::ShareCommitments::<Toy>::from_bytes(bytes, helpers)
            .ok()
            .map(|key| key.to_bytes()),
        2 => KeyShare::<Toy>::from_bytes(bytes).ok().map(|share| share.to_bytes().to_vec()),
        3 => crate::ProofOfPossession::<Toy>::from_bytes(bytes)
            .ok()
            .map(|proof| proof.to_bytes().to_vec()),
        _ => PartialDecryption::<Toy>::from_bytes(bytes, 2).ok().map(|partial| partial.to_bytes()),
    };
    let mut rng = seeded(57);
    let partial = [layer_key.clone(), possession.clone()].concat();
    for (kind, valid) in [step, layer_key, share, possession, partial].iter().enumerate() {
        assert_eq!(again(kind, valid).as_ref(), Some(valid), "form {kind}");
        for _ in 0..500 {
            let mut bytes = valid.clone();
            match below(&mut rng, 4) {
                0 => rng.fill_bytes(&mut bytes),
                1 => bytes.truncate(below(&mut rng, valid.len())),
                2 => bytes.extend([0; 33]),
                _ => {
                    let at = below(&mut rng, valid.len());
                    bytes[at] = below(&mut rng, 256) as u8;
                }
            }
            assert!(again(kind, &bytes).is_none_or(|written| written == bytes), "form {kind}");
        }
    }
}
