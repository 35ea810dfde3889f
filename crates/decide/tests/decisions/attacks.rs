//! Records that cheats sign, each of which the one rule refuses and names.

use ostrakon_crypto::{Digest, Signature, SigningKey};
use ostrakon_decide::keys::layers::FRESH;
use ostrakon_decide::record::{claim_digest, create};
use ostrakon_decide::*;

use crate::world::{DEADLINE, Decision, World, account, ballot, creator, draft, invitation};

fn answering() -> Decision {
    Decision::answering(4, 2, vec![ballot(Function::Majority, 2)])
}

fn accepting() -> Decision {
    let world = World::new(4);
    let draft = draft(&world, 3, 2, vec![ballot(Function::Majority, 2)]);
    Decision::new(world, &draft)
}

/// P0 refuses what `author` says next, for this reason.
fn refused(decision: &mut Decision, author: &SigningKey, content: Content, reason: &str) {
    let signed = decision.chain.next(author, 9, content);
    let before = decision.chain.clone();
    let error = decision.take(&signed).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
    assert_eq!(decision.chain, before, "nothing is changed");
}

fn p0(decision: &Decision) -> SigningKey {
    assert_eq!(*decision.world.operators.sequencer(), decision.world.identities[0].verifying_key());
    SigningKey::from_seed(&[201; 32])
}

#[test]
fn a_record_holds_at_its_place_only() {
    let mut decision = answering();
    let step = decision.step(1, &[1]).unwrap();
    for (at, byte) in step.encode().iter().enumerate().step_by(7) {
        let mut bytes = step.encode();
        bytes[at] = byte ^ 2;
        let taken = SignedRecord::decode(&bytes).and_then(|changed| decision.chain.check(&changed));
        assert!(taken.is_err(), "byte {at}");
    }
    decision.take(&step).unwrap();
    assert!(decision.take(&step).unwrap_err().is_conflict(), "a replay");
    let mut elsewhere = decision.step(2, &[1]).unwrap().record;
    elsewhere.decision = DecisionId([0; 16]);
    let elsewhere = elsewhere.sign(&decision.world.operators, &account(2));
    assert!(matches!(decision.take(&elsewhere), Err(Refused::Decision { number: 6 })));
}

#[test]
fn nobody_answers_for_somebody_else_or_twice() {
    let mut decision = answering();
    let Content::Step { step, .. } = decision.step(1, &[1]).unwrap().record.content else {
        unreachable!()
    };
    let taken = |person| Content::Step { person, step: step.clone() };
    refused(
        &mut decision,
        &account(2),
        taken(1),
        "answers for “person 1”, but somebody else signed it",
    );
    refused(&mut decision, &account(2), taken(2), "“person 2” signed, is wrong");
    refused(&mut decision, &account(2), taken(7), "not asked");
    decision.answer(1, &[1]);
    refused(&mut decision, &account(1), taken(1), "has answered before");
}

#[test]
fn a_wrong_step_is_refused_by_p0_and_by_everybody_if_p0_lets_it_pass() {
    let mut decision = answering();
    decision.answer(0, &[0]);
    decision.answer(3, &[0]);
    let Content::Step { mut step, person } = decision.step(1, &[1]).unwrap().record.content else {
        unreachable!()
    };
    let last = step.len() - 1;
    step[last - 32] ^= 1;
    let signed = decision.chain.next(&account(1), 9, Content::Step { person, step });
    let error = decision.take(&signed).unwrap_err();
    assert!(matches!(error, Refused::Step { number: 7, person: 1, .. }), "{error}");
    decision.force(&signed);
    let error = decision.visit().err().expect("every later device refuses");
    assert!(error.to_string().contains("“person 1”"), "{error}");
    // The other servers refuse to open.
    decision.force(&decision.chain.next(
        &p0(&decision),
        DEADLINE,
        Content::Close { absent: vec![2] },
    ));
    let error = decision.examine().err().expect("no server opens");
    assert!(matches!(error, Refused::Step { person: 1, .. }), "{error}");
}

#[test]
fn only_the_first_who_uses_a_link_takes_its_place() {
    let mut decision = accepting();
    let late = decision.acceptance(1);
    decision.accept(1);
    assert!(decision.take(&late).unwrap_err().is_conflict());
    let Content::Accept { key, claim, .. } = late.record.content else { unreachable!() };
    let again = Content::Accept { person: 1, key: key.clone(), claim };
    refused(&mut decision, &account(1), again, "the link was used before");
    let two_places = |decision: &Decision| {
        let digest = claim_digest(
            &decision.world.operators,
            &decision.chain.id(),
            2,
            &account(1).verifying_key(),
        );
        Content::Accept {
            person: 2,
            key: key.clone(),
            claim: Some(invitation(2).key().sign(&digest)),
        }
    };
    let content = two_places(&decision);
    refused(&mut decision, &account(1), content, "is that of “person 1” already");
}

#[test]
fn an_acceptance_is_not_forged() {
    let mut decision = accepting();
    let thief = account(9);
    let key = decision.world.certified(&thief, 2);
    let forged = |claim| Content::Accept { person: 1, key: key.clone(), claim };
    // The claim of an honest person does not serve another account.
    let Content::Accept { claim, .. } = decision.acceptance(1).record.content else {
        unreachable!()
    };
    refused(
        &mut decision,
        &thief,
        forged(claim),
        "invitation of “person 1” was not used for this account",
    );
    refused(&mut decision, &thief, forged(None), "by an invitation or by an account");
    let own = decision.world.certified(&account(1), 2);
    let digest = claim_digest(
        &decision.world.operators,
        &decision.chain.id(),
        1,
        &account(1).verifying_key(),
    );
    let claim = Some(invitation(1).key().sign(&digest));
    let by_p0 = Content::Accept { person: 1, key: own, claim };
    let server = p0(&decision);
    refused(&mut decision, &server, by_p0, "only the owner of the key");
    let named = Content::Accept { person: 0, key: key.clone(), claim: None };
    refused(&mut decision, &thief, named, "belongs to another account");
    let stock = decision.world.certified(&account(0), 2);
    let by_stranger = Content::Accept { person: 0, key: stock, claim: None };
    refused(&mut decision, &thief, by_stranger, "only “person 0” or server 0");
    let weaker = decision.world.certified(&account(0), 0);
    refused(
        &mut decision,
        &account(0),
        Content::Accept { person: 0, key: weaker, claim: None },
        "shared for 0 servers",
    );
}

type Change = fn(&mut Creation);

#[test]
fn a_draft_that_was_changed_is_another_decision() {
    let mut world = World::new(5);
    let draft = draft(&world, 2, 2, vec![ballot(Function::Majority, 2)]);
    let first = world.create(&draft);
    let operators = world.operators;
    assert!(Chain::begin(operators, &first).is_ok());
    let Content::Create(creation) = first.record.content.clone() else { unreachable!() };
    let change = |change: &dyn Fn(&mut Creation)| {
        let mut changed = first.clone();
        let mut creation = creation.clone();
        change(&mut creation);
        changed.record.content = Content::Create(creation);
        changed
    };
    let altered: [(&str, Change); 3] = [
        ("roster", |creation| creation.draft.people[1].name.push('x')),
        ("function", |creation| creation.draft.ballots[0].function = Function::Veto),
        ("assumed", |creation| creation.draft.ballots[0].assumed = 1),
    ];
    for (what, alter) in altered {
        let changed = change(&alter);
        assert_eq!(
            Chain::begin(operators, &changed),
            Err(Refused::Decision { number: 0 }),
            "{what}"
        );
        // Renamed, and signed by the creator: the operators' layers are of the draft that they were
        // asked for.
        let Content::Create(creation) = changed.record.content else { unreachable!() };
        let renamed =
            create(creation.draft.clone(), creation.layers.clone(), &operators, &creator(), 5);
        assert!(
            matches!(Chain::begin(operators, &renamed), Err(Refused::Key { number: 0, .. })),
            "{what}"
        );
    }
    let stranger = create(draft.clone(), creation.layers.clone(), &operators, &account(1), 5);
    assert!(
        Chain::begin(operators, &stranger).unwrap_err().to_string().contains("only the creator")
    );
    let swapped =
        change(&|creation| creation.layers.swap(0, 1)).record.sign(&operators, &creator());
    assert!(matches!(Chain::begin(operators, &swapped), Err(Refused::Key { .. })));
    let mut forged = first.clone();
    forged.signature = Signature([1; 64]);
    assert_eq!(Chain::begin(operators, &forged), Err(Refused::Signature { number: 0 }));
    let mut other = operators;
    other.digest = Digest([1; 32]);
    assert!(Chain::begin(other, &first).is_err(), "other servers");
}

#[test]
fn p0_closes_once_and_names_exactly_the_absent() {
    let mut decision = Decision::answering(5, 2, vec![ballot(Function::Majority, 2)]);
    for person in [0, 3, 4] {
        decision.answer(person, &[1]);
    }
    let server = p0(&decision);
    for absent in [vec![], vec![1], vec![0, 1, 2], vec![2, 1], vec![1, 2, 2]] {
        refused(&mut decision, &server, Content::Close { absent }, "exactly those");
    }
    refused(&mut decision, &account(0), Content::Close { absent: vec![1, 2] }, "only server 0");
    refused(&mut decision, &server, Content::Lapse, "can have a result");
    refused(&mut decision, &server, Content::Cancel, "only the creator");
    decision.beat(DEADLINE);
    refused(
        &mut decision,
        &server,
        Content::Close { absent: vec![1, 2] },
        "the decision is closed",
    );
    refused(&mut decision, &creator(), Content::Cancel, "the decision is closed");
    let answers = decision.step(1, &[1]).unwrap_err().to_string();
    assert!(answers.contains("no answers are taken"), "{answers}");
    refused(&mut decision, &account(7), Content::Verified, "not among the people");
    let verified = decision.chain.next(&account(1), 9, Content::Verified);
    decision.take(&verified).unwrap();
    refused(&mut decision, &account(1), Content::Verified, "said so before");
}

#[test]
fn nobody_is_stood_in_for_where_nobody_can() {
    let mut decision = Decision::answering(2, 0, vec![ballot(Function::Majority, 2)]);
    let server = p0(&decision);
    refused(&mut decision, &server, Content::Close { absent: vec![0, 1] }, "nobody can stand in");
}

#[test]
fn only_the_creator_removes_and_only_whom_the_function_can_do_without() {
    let mut decision = accepting();
    decision.accept(1);
    refused(&mut decision, &account(1), Content::Remove { person: 2 }, "only the creator");
    refused(&mut decision, &creator(), Content::Remove { person: 1 }, "has accepted");
    refused(&mut decision, &creator(), Content::Remove { person: 3 }, "not asked");
    let remove = decision.chain.next(&creator(), 9, Content::Remove { person: 2 });
    decision.take(&remove).unwrap();
    refused(&mut decision, &creator(), Content::Remove { person: 0 }, "two people must remain");
    for (function, reason) in [
        (Function::AtLeast { k: 3 }, "without “person 2”"),
        (Function::Custom { outputs: vec![0; 4] }, "fixed number"),
    ] {
        let world = World::new(6);
        let draft = draft(&world, 3, 2, vec![ballot(function, 2)]);
        let mut decision = Decision::new(world, &draft);
        refused(&mut decision, &creator(), Content::Remove { person: 2 }, reason);
    }
}

/// Honest operators erase what they drew for a draft that is not begun.
#[test]
fn a_decision_does_not_begin_with_layers_that_may_be_erased() {
    let mut world = World::new(1);
    let drafted = draft(&world, 3, 2, vec![ballot(Function::Tally, 2)]);
    let first = world.create(&drafted);
    let Content::Create(creation) = &first.record.content else { unreachable!("it creates") };
    let begin = |time| {
        let layers = creation.layers.clone();
        let first = create(drafted.clone(), layers, &world.operators, &creator(), time);
        Chain::begin(world.operators, &first)
    };
    let last = first.record.time + FRESH;
    assert!(begin(last).is_ok_and(|chain| chain.is_fresh(last) && !chain.is_fresh(last + 1)));
    assert!(begin(last + 1).unwrap_err().to_string().contains("drew their layers too long before"));
    let mut later = first.clone();
    let Content::Create(creation) = &mut later.record.content else { unreachable!("it creates") };
    creation.layers[0].drawn += 1;
    let later = later.record.sign(&world.operators, &creator());
    assert!(Chain::begin(world.operators, &later).is_err(), "the operator signs the time");
}
