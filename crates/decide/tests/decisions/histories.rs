//! What a device that remembers notices: forks, hidden answers, keys that are used twice, openings
//! of something else.

use ostrakon_crypto::Signature;
use ostrakon_decide::*;
use ostrakon_party::PartyId;

use crate::world::{BEFORE, DEADLINE, Decision, World, account, ballot, creator, draft};

/// Two decisions that are the same until answers are given.
fn twins() -> (Decision, Decision) {
    let twin = || Decision::answering(2, 2, vec![ballot(Function::Majority, 2)]);
    (twin(), twin())
}

#[test]
fn two_histories_for_two_visitors_are_noticed_by_whoever_sees_both() {
    let (mut shown, mut other) = twins();
    assert_eq!(shown.chain.head(), other.chain.head());
    shown.answer(0, &[1]);
    other.answer(1, &[1]);
    let me = account(1).verifying_key();
    let mut memory = Memory::default();
    shown.visit().unwrap().remember(&me, &mut memory).unwrap();
    assert_eq!(
        other.visit().unwrap().remember(&me, &mut memory),
        Err(Refused::Forked { number: 3 })
    );
    // It does not answer there either, and nothing of its answers leaves.
    let visit = shown.visit().unwrap();
    let mut forked = Memory::default();
    other.visit().unwrap().remember(&me, &mut forked).unwrap();
    let answer = visit.answer(&account(1), &[1], &mut forked, 7, &mut shown.world.rng);
    assert!(matches!(answer, Err(Refused::Forked { .. })));
    assert!(!forked.has_answered(&visit.chain().unwrap().id()));
}

#[test]
fn a_hidden_answer_is_noticed_by_the_device_that_gave_it() {
    let twin = || Decision::answering(4, 2, vec![ballot(Function::Majority, 2)]);
    let (mut shown, mut hiding) = (twin(), twin());
    let me = account(0).verifying_key();
    shown.answer(0, &[1]);
    let mut memory = shown.memories[0].clone();
    let visit = shown.visit().unwrap();
    visit.remember(&me, &mut memory).unwrap();
    let receipt = visit.confirmed(&me, &mut memory).unwrap();
    for person in 1..4 {
        hiding.answer(person, &[1]);
    }
    hiding.beat(DEADLINE);
    let hidden = hiding.visit().unwrap();
    assert_eq!(hidden.chain().unwrap().close().unwrap().1, [0], "said to be absent");
    assert_eq!(hidden.remember(&me, &mut memory), Err(Refused::Forked { number: receipt.number }));
    assert_ne!(
        hidden.digest(receipt.number),
        Some(receipt.digest),
        "the receipt shows it to others"
    );
    let before = hidden.remember(&me, &mut Memory::default());
    assert_eq!(before, Ok(()), "a device that has seen nothing cannot know");
}

#[test]
fn an_older_history_is_refused() {
    let mut decision = Decision::answering(2, 2, vec![ballot(Function::Majority, 2)]);
    decision.answer(0, &[1]);
    let me = account(1).verifying_key();
    let mut memory = Memory::default();
    decision.visit().unwrap().remember(&me, &mut memory).unwrap();
    decision.records.pop();
    assert_eq!(
        decision.visit().unwrap().remember(&me, &mut memory),
        Err(Refused::Shorter { shown: 3, seen: 4 })
    );
}

#[test]
fn a_one_time_key_is_not_used_in_two_decisions() {
    let world = World::new(7);
    let mut first = draft(&world, 2, 2, vec![ballot(Function::Majority, 2)]);
    let mut one = Decision::new(world, &first);
    first.nonce = [4; 16];
    let mut two = Decision::new(World::new(7), &first);
    let key = one.world.certified(&account(0), 2);
    for decision in [&mut one, &mut two] {
        // A dishonest P0 takes the same key of the stock for both.
        let content = Content::Accept { person: 0, key: key.clone(), claim: None };
        let signed = decision.chain.next(&decision.world.identities[0], 6, content);
        decision.take(&signed).unwrap();
        decision.accept(1);
    }
    assert_eq!(
        one.record(1).record.spends(),
        two.record(1).record.spends(),
        "which every server can compare"
    );
    let mut memory = Memory::default();
    let visit = one.visit().unwrap();
    visit.answer(&account(0), &[1], &mut memory, 7, &mut one.world.rng).unwrap();
    let visit = two.visit().unwrap();
    let error = visit.answer(&account(0), &[1], &mut memory, 7, &mut two.world.rng).unwrap_err();
    assert!(error.to_string().contains("used in another one"), "{error}");
}

#[test]
fn an_opening_of_another_close_is_refused() {
    let (mut one, mut other) = twins();
    one.answer(0, &[1]);
    one.answer(1, &[1]);
    other.answer(1, &[1]);
    other.answer(0, &[1]);
    one.beat(BEFORE);
    other.beat(BEFORE);
    let openings = other.openings();
    let examined = one.examine().unwrap();
    let error = examined.check_opening(PartyId(0), &openings[0].1).unwrap_err();
    assert!(error.to_string().contains("another close"), "{error}");
    let mut renamed = openings[0].1.clone();
    renamed.close = examined.chain().close().unwrap().0;
    assert!(examined.check_opening(PartyId(0), &renamed).is_err(), "the proof is of the other one");
}

#[test]
fn answers_are_taken_after_everything_was_verified_only() {
    let mut decision = Decision::answering(2, 2, vec![ballot(Function::Majority, 2)]);
    decision.answer(0, &[1]);
    let mut visit = Visit::new(decision.world.operators, decision.chain.id());
    for record in &decision.records {
        visit.read(record, &mut decision.world.rng).unwrap();
    }
    let mut answer = |visit: &Visit, answers: &[u8]| {
        visit
            .answer(&account(1), answers, &mut Memory::default(), 7, &mut decision.world.rng)
            .map(|_| ())
    };
    assert!(answer(&visit, &[1]).unwrap_err().to_string().contains("not verified"));
    visit.verify(&mut crate::world::seeded(3)).unwrap();
    assert!(answer(&visit, &[2]).unwrap_err().to_string().contains("none of its options"));
    assert!(answer(&visit, &[1, 1]).unwrap_err().to_string().contains("one answer to each"));
    assert_eq!(answer(&visit, &[1]), Ok(()));
}

/// What a server has verified and kept it takes again by the rules alone, and comes to the same.
#[test]
fn records_that_were_kept_are_not_verified_again_but_keep_to_the_rules() {
    let mut decision = Decision::answering(5, 2, vec![ballot(Function::Tally, 2)]);
    for person in [1, 3, 4] {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let verified = decision.chain.next(&account(2), 9, Content::Verified);
    decision.take(&verified).unwrap();
    let records: Vec<_> =
        decision.records.iter().map(|record| SignedRecord::decode(record).unwrap()).collect();
    let operators = decision.world.operators;
    let mut chain = Chain::begin_checked(operators, &records[0]).unwrap();
    assert_eq!(chain.apply_checked(&records[2]), Err(Refused::NotNext { next: 1 }), "a gap");
    for record in &records[1..] {
        let mut unsigned = record.clone();
        unsigned.signature = Signature([0; 64]);
        assert!(matches!(chain.check(&unsigned), Err(Refused::Signature { .. })));
        let mut trusting = chain.clone();
        trusting.apply_checked(&unsigned).expect("signatures are not looked at");
        chain.apply_checked(record).unwrap();
        assert_eq!(trusting, chain);
        assert!(chain.apply_checked(record).unwrap_err().is_conflict(), "twice");
    }
    assert_eq!(chain, decision.chain);
    let strangers = chain.next(&account(7), 9, Content::Verified);
    assert!(
        chain.apply_checked(&strangers).unwrap_err().to_string().contains("not among the people")
    );
}

/// A decision that is over is remembered by little, and judges what comes as the whole chain does.
#[test]
fn what_is_over_takes_who_has_checked_it_and_nothing_else() {
    let mut decision = Decision::answering(5, 2, vec![ballot(Function::Tally, 2)]);
    assert_eq!(decision.chain.ended(), None, "it is under way");
    for person in [1, 3, 4] {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let mut ended = decision.chain.ended().unwrap();
    let says = |chain: &Chain, person: usize| chain.next(&account(person), 9, Content::Verified);
    let first = says(&decision.chain, 1);
    for signed in [
        first.clone(),
        says(&decision.chain, 7),
        decision.chain.next(&creator(), 9, Content::Cancel),
        decision.chain.next(&decision.world.identities[0], 9, Content::Lapse),
        SignedRecord { signature: Signature([0; 64]), ..first.clone() },
    ] {
        let (whole, little) = (decision.chain.check(&signed), ended.check(&signed));
        assert_eq!(whole.is_ok(), little.is_ok(), "{whole:?} {little:?}");
        assert_eq!(little.is_ok(), signed == first);
    }
    decision.take(&first).unwrap();
    ended.apply_checked(&first).unwrap();
    assert_eq!(Some(&ended), decision.chain.ended().as_ref());
    assert_eq!((ended.verified(), ended.answered(), ended.remaining()), (1, 3, 5));
    let again = says(&decision.chain, 1);
    assert!(ended.check(&again).unwrap_err().to_string().contains("said so before"));
    let world = World::new(9);
    let draft = draft(&world, 2, 0, vec![ballot(Function::Majority, 2)]);
    let mut lapsed = Decision::new(world, &draft);
    lapsed.beat(DEADLINE);
    let ended = lapsed.chain.ended().unwrap();
    assert_eq!((ended.stage(), ended.deadline()), (Stage::Lapsed, DEADLINE));
    let late = says(&lapsed.chain, 1);
    assert!(ended.check(&late).unwrap_err().to_string().contains("has lapsed"));
}
