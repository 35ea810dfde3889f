//! Closing, absentees, helpers and operators: who can finish, and who is named.

use ostrakon_crypto::Digest;

use super::world::{World, absences, binary, head};
use crate::closing::Absence;
use crate::fault::{CloseError, OpenError, PartialError};
use crate::group::toy::Toy;
use crate::layer::Layer;
use crate::{Closing, Group, Helpers, KeyShare, Ristretto};

fn tally(n: usize) -> Vec<crate::Ballot> {
    vec![binary(n, |ones| ones as u32), binary(n, |ones| (ones % 2) as u32)]
}

fn choices(n: usize) -> Vec<Vec<u16>> {
    (0..n).map(|place| vec![(place % 2) as u16, 1]).collect()
}

fn closed(world: &mut World<Ristretto>, order: &[usize]) -> Closing<Ristretto> {
    let choices = choices(world.visitors());
    let (history, _) = world.run(order, &choices);
    history.close(&head(&history), &absences(&history, &choices)).unwrap()
}

#[test]
fn a_missing_operator_is_replaced_by_helpers() {
    let mut world = World::new(1, 4, Helpers::new(2, 3).unwrap(), tally(4));
    let closing = closed(&mut world, &[2, 0, 3, 1]);
    let mut removed = vec![world.operate(&closing, 1)];
    assert_eq!(closing.open(&removed), Err(OpenError::Operator(0)));
    let layer = Layer::Operator(0);
    for helper in [2, 0] {
        removed.push(world.help(&closing, helper, layer));
    }
    assert_eq!(closing.open(&removed), Ok(vec![2, 0]));
    let one = Err(OpenError::Helpers { layer, needed: 2, found: 1 });
    assert_eq!(closing.open(&removed[..2]), one, "one helper is not enough");
    let twice = [removed[0].clone(), removed[1].clone(), removed[1].clone()];
    assert_eq!(closing.open(&twice), one, "and counts once");
}

#[test]
fn any_threshold_of_helpers_opens_and_fewer_do_not() {
    let mut world = World::<Toy>::new(2, 3, Helpers::new(3, 5).unwrap(), tally(3));
    let choices = choices(3);
    let (history, _) = world.run(&[1], &choices);
    let closing = history.close(&head(&history), &absences(&history, &choices)).unwrap();
    let operators = [world.operate(&closing, 0), world.operate(&closing, 1)];
    // Each of the two who are absent has helpers of its own.
    let layers = [Layer::Visitor(0), Layer::Visitor(2)];
    for subsets in 0_u32..1 << 10 {
        let mut removed = operators.to_vec();
        for (layer, subset) in layers.iter().zip([subsets & 31, subsets >> 5]) {
            for helper in (0..5).filter(|helper| subset >> helper & 1 == 1) {
                removed.push(world.help(&closing, helper, *layer));
            }
        }
        let found = [subsets & 31, subsets >> 5].map(|subset| subset.count_ones() as usize);
        let short = found.iter().position(|found| *found < 3);
        let error = |place: usize| OpenError::Helpers {
            layer: layers[place],
            needed: 3,
            found: found[place],
        };
        let expected = short.map_or_else(|| Ok(vec![1, 1]), |place| Err(error(place)));
        assert_eq!(closing.open(&removed), expected, "helpers {subsets:b}");
    }
}

#[test]
fn a_lying_helper_and_a_lying_operator_are_named_and_the_others_finish() {
    let mut world = World::new(3, 3, Helpers::new(2, 3).unwrap(), tally(3));
    let closing = closed(&mut world, &[0, 2]);
    let layer = Layer::Visitor(1);
    // A helper that uses another share, of another helper; and one that changes an element
    // afterwards.
    let other = world.partial(&closing, 1, layer);
    assert_eq!(closing.verify_helper(0, layer, other).err(), Some(PartialError::Helper(0, layer)));
    let mut bytes = world.partial(&closing, 0, layer).to_bytes();
    bytes[..32].copy_from_slice(&Ristretto::encode(&Ristretto::generator()));
    let changed = crate::PartialDecryption::from_bytes(&bytes, 2).unwrap();
    assert_eq!(
        closing.verify_helper(0, layer, changed).err(),
        Some(PartialError::Helper(0, layer))
    );
    // An operator that gives what belongs to the other one.
    let key = world.key(Layer::Operator(0));
    let partial = closing.decrypt_as_operator(0, &key, &mut world.rng).unwrap();
    assert_eq!(closing.verify_operator(1, partial).err(), Some(PartialError::Operator(1)));
    assert_eq!(
        closing.decrypt_as_operator(1, &key, &mut world.rng).err(),
        Some(PartialError::WrongKey(1))
    );
    // Two honest helpers are enough.
    let operators = [world.operate(&closing, 0), world.operate(&closing, 1)];
    let helpers = [world.help(&closing, 1, layer), world.help(&closing, 2, layer)];
    assert_eq!(closing.open(&[operators, helpers].concat()), Ok(vec![1, 1]));
}

#[test]
fn a_partial_decryption_is_void_in_another_closing_and_for_another_layer() {
    let mut world = World::<Ristretto>::new(4, 3, Helpers::new(1, 2).unwrap(), tally(3));
    let choices = choices(3);
    let (history, _) = world.run(&[0], &choices);
    let absent = absences(&history, &choices);
    let closing = history.close(&head(&history), &absent).unwrap();
    let other_head = history.close(&Digest([9; 32]), &absent).unwrap();
    let defaults = [1, 2].map(|visitor| Absence { visitor, choices: vec![1, 0] });
    let other_default = history.close(&head(&history), &defaults).unwrap();
    assert_ne!(closing.digest(), other_head.digest());
    assert_ne!(closing.digest(), other_default.digest());
    let layer = Layer::Visitor(2);
    let partial = world.partial(&closing, 0, layer);
    let refused = Some(PartialError::Helper(0, layer));
    assert_eq!(other_head.verify_helper(0, layer, partial.clone()).err(), refused);
    assert_eq!(other_default.verify_helper(0, layer, partial.clone()).err(), refused);
    for other in [Layer::Visitor(1), Layer::Operator(1)] {
        let refused = Some(PartialError::Helper(0, other));
        assert_eq!(closing.verify_helper(0, other, partial.clone()).err(), refused);
    }
    let removed = closing.verify_helper(0, layer, partial).unwrap();
    assert_eq!(other_head.open(&[removed]), Err(OpenError::OtherClosing));
}

#[test]
fn a_closing_names_exactly_the_absent() {
    let mut world = World::<Toy>::new(5, 3, Helpers::new(1, 1).unwrap(), tally(3));
    let (history, _) = world.run(&[1], &choices(3));
    let absence = |visitor, choices: &[u16]| Absence { visitor, choices: choices.to_vec() };
    let close = |absent: &[Absence]| history.close(&head(&history), absent).err();
    assert_eq!(close(&[absence(0, &[0, 0])]), Some(CloseError::NotNamed(2)));
    assert_eq!(close(&[absence(0, &[0, 0]), absence(1, &[0, 0])]), Some(CloseError::NotAbsent(1)));
    assert_eq!(close(&[absence(0, &[0, 0]), absence(0, &[0, 0])]), Some(CloseError::NotAbsent(0)));
    assert_eq!(close(&[absence(0, &[0, 2]), absence(2, &[0, 0])]), Some(CloseError::Defaults(0)));
    assert_eq!(close(&[absence(0, &[0]), absence(2, &[0, 0])]), Some(CloseError::Defaults(0)));
    assert_eq!(close(&[absence(2, &[0, 1]), absence(0, &[1, 0])]), None, "in any order");
    let alone = World::<Toy>::new(5, 3, Helpers::none(), tally(3));
    let nobody =
        alone.start().close(&Digest([0; 32]), &absences(&alone.start(), &choices(3))).err();
    assert_eq!(nobody, Some(CloseError::NoHelpers(0)));
}

#[test]
fn helpers_refuse_where_there_is_nothing_for_them() {
    let mut world = World::<Toy>::new(6, 2, Helpers::new(2, 2).unwrap(), tally(2));
    let (history, _) = world.run(&[1, 0], &choices(2));
    let closing = history.close(&head(&history), &[]).unwrap();
    let share = |layer| world.key(layer).share(0);
    let mut rng = super::world::seeded(6);
    let mut help = |helper, layer, share: &KeyShare<Toy>| {
        closing.decrypt_as_helper(helper, layer, share, &mut rng).err()
    };
    for come in 0..3 {
        let nothing = Some(PartialError::NotAbsent(come));
        assert_eq!(help(0, Layer::Visitor(come), &share(Layer::Visitor(0))), nothing);
    }
    let layer = Layer::Operator(1);
    assert_eq!(
        help(0, layer, &share(Layer::Operator(0))),
        Some(PartialError::WrongShare(layer)),
        "another key's"
    );
    assert_eq!(
        help(1, layer, &share(layer)),
        Some(PartialError::WrongShare(layer)),
        "another helper's"
    );
    assert_eq!(help(2, layer, &share(layer)), Some(PartialError::UnknownHelper(2)));
    assert_eq!(help(0, Layer::Operator(2), &share(layer)), Some(PartialError::UnknownOperator(2)));
    assert_eq!(help(0, layer, &share(layer)), None);
}

#[test]
fn shares_are_verified_against_their_commitments() {
    let helpers = Helpers::new(3, 4).unwrap();
    let world = World::<Ristretto>::new(8, 1, helpers, vec![binary(1, |ones| ones as u32)]);
    let (key, other) = (world.key(Layer::Visitor(0)), world.key(Layer::Operator(0)));
    for helper in 0..4 {
        assert!(key.layer_key().verify_share(helper, &key.share(helper)));
        assert!(
            !key.layer_key().verify_share(helper, &key.share((helper + 1) % 4)),
            "another helper's"
        );
        assert!(!key.layer_key().verify_share(helper, &other.share(helper)), "another key's");
    }
}
