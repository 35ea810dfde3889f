//! Who is absent is not the adversary's to choose: minimum turnout, dates, and the other servers'
//! word for both.

use ostrakon_decide::draft::least_quorum;
use ostrakon_decide::vouch::{DILATORY, PATIENCE, says_due};
use ostrakon_decide::*;
use ostrakon_party::PartyId;

use crate::world::{ACCEPT_BY, BEFORE, DEADLINE, Decision, World, account, ballot, creator, draft};

const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

fn majority(people: usize) -> Decision {
    Decision::answering(people, 2, vec![ballot(Function::Majority, 2)])
}

/// What P0 says next, at a time of its choice.
fn p0_says(decision: &Decision, time: u64, content: Content) -> SignedRecord {
    decision.chain.next(&decision.world.identities[0], time, content)
}

fn refusal(decision: &Decision, signed: &SignedRecord) -> String {
    decision.chain.check(signed).unwrap_err().to_string()
}

/// attacks.md 4.12: whoever orders the steps closes after one person's answer, names everybody else
/// absent, and has honest servers stand in.
#[test]
fn one_persons_answer_is_not_opened_by_naming_everybody_else_absent() {
    let mut decision = majority(20);
    decision.answer(7, &[1]);
    let absent = decision.chain.missing();
    for time in [0, BEFORE, DEADLINE, u64::MAX] {
        let close = p0_says(&decision, time, Content::Close { absent: absent.clone() });
        let reason = refusal(&decision, &close);
        assert!(reason.contains("3 people must answer, but only 1 have"), "{reason}");
    }
    decision.beat(DEADLINE);
    assert_eq!(decision.chain.stage(), Stage::Lapsed);
    let result = decision.examine().unwrap().result(&[]).unwrap_err().to_string();
    assert!(result.contains("lapsed"), "{result}");
}

#[test]
fn with_the_quorum_it_is_opened_and_with_one_fewer_it_lapses() {
    for (answers, stage) in [(3, Stage::Lapsed), (4, Stage::Closed)] {
        let world = World::new(1);
        let mut drafted = draft(&world, 6, 2, vec![ballot(Function::Tally, 2)]);
        drafted.quorum = 4;
        let mut decision = Decision::new(world, &drafted);
        (0..6).for_each(|person| decision.accept(person));
        (0..answers).for_each(|person| decision.answer(person, &[1]));
        let lapse = p0_says(&decision, DEADLINE, Content::Lapse);
        assert_eq!(decision.chain.check(&lapse).is_ok(), stage == Stage::Lapsed);
        decision.beat(DEADLINE);
        assert_eq!(decision.chain.stage(), stage, "{answers} answers");
    }
}

#[test]
fn a_close_with_absentees_does_not_come_before_the_deadline_by_its_own_time() {
    let mut decision = majority(4);
    (0..3).for_each(|person| decision.answer(person, &[1]));
    let close = |time| p0_says(&decision, time, Content::Close { absent: vec![3] });
    let reason = refusal(&decision, &close(BEFORE));
    assert!(reason.contains("is before the date"), "{reason}");
    assert_eq!(decision.chain.check(&close(DEADLINE)), Ok(()));
    decision.answer(3, &[1]);
    let close = p0_says(&decision, 9, Content::Close { absent: vec![] });
    assert_eq!(decision.chain.check(&close), Ok(()), "all have answered: nobody waits");
}

#[test]
fn the_creator_takes_off_whom_nobody_can_do_without_and_the_rest_must_answer() {
    let world = World::new(2);
    let drafted = draft(&world, 3, 2, vec![ballot(Function::Majority, 2)]);
    let mut decision = Decision::new(world, &drafted);
    assert_eq!((least_quorum(3), decision.chain.quorum()), (3, 3));
    decision.accept(0);
    decision.accept(1);
    let reason = decision.chain.goes_on_without().unwrap_err();
    assert!(reason.contains("3 people must take part, but only 2 have accepted"), "{reason}");
    let remove = decision.chain.next(&creator(), 8, Content::Remove { person: 2 });
    decision.take(&remove).unwrap();
    assert_eq!((decision.chain.stage(), decision.chain.quorum()), (Stage::Answering, 2));
}

/// One person who never opens the link does not kill a decision.
#[test]
fn who_has_not_accepted_in_time_is_left_out() {
    let world = World::new(3);
    let drafted = draft(&world, 5, 2, vec![ballot(Function::Tally, 2)]);
    let mut decision = Decision::new(world, &drafted);
    [0, 1, 2, 4].into_iter().for_each(|person| decision.accept(person));
    assert_eq!(decision.chain.goes_on_without(), Ok(vec![3]), "of which the creator is warned");
    decision.beat(ACCEPT_BY - 1);
    assert_eq!(decision.chain.stage(), Stage::Accepting);
    let begin = |time, without| p0_says(&decision, time, Content::Begin { without });
    let early = refusal(&decision, &begin(ACCEPT_BY - 1, vec![3]));
    assert!(early.contains("before the date"), "{early}");
    for without in [vec![], vec![2], vec![2, 3], vec![3, 3]] {
        let reason = refusal(&decision, &begin(ACCEPT_BY, without));
        assert!(reason.contains("exactly those who have not accepted"), "{reason}");
    }
    let lapse = refusal(&decision, &p0_says(&decision, ACCEPT_BY, Content::Lapse));
    assert!(lapse.contains("can have a result"), "{lapse}");
    let stranger = decision.chain.next(&account(1), ACCEPT_BY, Content::Begin { without: vec![3] });
    assert!(refusal(&decision, &stranger).contains("only server 0"));
    decision.beat(ACCEPT_BY);
    assert_eq!(decision.chain.stage(), Stage::Answering);
    let standing = &decision.chain.people()[3];
    assert!(standing.is_late() && standing.is_removed() && decision.chain.remaining() == 4);
    (0..3).for_each(|person| decision.answer(person, &[1]));
    decision.answer(4, &[0]);
    decision.beat(BEFORE);
    assert_eq!(decision.result().unwrap().meanings, [Meaning::Counts(vec![1, 3])]);
}

#[test]
fn it_lapses_without_those_who_are_needed() {
    let world = || World::new(4);
    let lone = draft(&world(), 5, 2, vec![ballot(Function::Tally, 2)]);
    let all = Draft { all_needed: true, ..lone.clone() };
    let custom = Function::Custom { outputs: vec![0; 6] };
    let table = draft(&world(), 5, 2, vec![ballot(custom, 2)]);
    let five = draft(&world(), 5, 2, vec![ballot(Function::AtLeast { k: 5 }, 2)]);
    let most = Draft { quorum: 5, ..lone.clone() };
    for (drafted, accepted, reason, needs_all) in [
        (lone, 2, "only 2 have accepted", false),
        (all, 4, "all or none", true),
        (most, 4, "only 4 have accepted", true),
        (table, 4, "fixed number", true),
        (five, 4, "without “person 4”", true),
    ] {
        let mut decision = Decision::new(world(), &drafted);
        assert_eq!(decision.chain.needs_all(), needs_all, "{reason}");
        (0..accepted).for_each(|person| decision.accept(person));
        let why = decision.chain.goes_on_without().unwrap_err();
        assert!(why.contains(reason), "{why}");
        let without = decision.chain.not_accepted();
        let begin = p0_says(&decision, ACCEPT_BY, Content::Begin { without });
        assert!(refusal(&decision, &begin).contains(reason));
        let early = p0_says(&decision, ACCEPT_BY - 1, Content::Lapse);
        assert!(refusal(&decision, &early).contains("before the date"));
        decision.beat(ACCEPT_BY);
        assert_eq!(decision.chain.stage(), Stage::Lapsed, "{reason}");
    }
}

/// Four have accepted of five; person 3 has not. Nothing is said yet.
fn waiting() -> (Decision, Vouching) {
    let world = World::new(5);
    let drafted = draft(&world, 5, 2, vec![ballot(Function::Tally, 2)]);
    let mut decision = Decision::new(world, &drafted);
    [0, 1, 2, 4].into_iter().for_each(|person| decision.accept(person));
    (decision, Vouching::default())
}

/// P0's clock is its own, and so is what it signs: nobody is left out before both others say that
/// it is time.
#[test]
fn nobody_is_left_out_before_both_other_servers_say_that_it_is_time() {
    let (decision, mut vouching) = waiting();
    let begin = p0_says(&decision, ACCEPT_BY, Content::Begin { without: vec![3] });
    assert_eq!(decision.chain.check(&begin), Ok(()), "by its own word it is time");
    let check = |vouching: &Vouching, after: [u64; 3]| {
        vouching.check(&decision.chain, &begin, &after, |_| true)
    };
    assert_eq!(check(&vouching, [9, 9, 9]), Err(Unvouched::Early(1)));
    vouching.note_due(P0, Date::Accept, 1);
    vouching.note_due(P1, Date::Accept, 4);
    vouching.note_due(P2, Date::Answer, 5);
    assert_eq!(check(&vouching, [9, 9, 9]), Err(Unvouched::Early(2)), "another date");
    vouching.note_due(P2, Date::Accept, 6);
    vouching.note_due(P2, Date::Accept, 2);
    assert_eq!(check(&vouching, [9, 9, 6]), Err(Unvouched::Early(2)), "it did not know of it");
    assert_eq!(check(&vouching, [9, 4, 9]), Err(Unvouched::Early(1)), "nor of this");
    assert_eq!(check(&vouching, [9, 5, 7]), Ok(()));
    assert!(vouching.all_say_due(Date::Accept) && !vouching.all_say_due(Date::Answer));
}

#[test]
fn a_close_that_hides_a_step_that_a_server_holds_is_refused() {
    let mut decision = majority(4);
    (0..3).for_each(|person| decision.answer(person, &[1]));
    let step = decision.step(3, &[1]).unwrap();
    let mut vouching = Vouching::default();
    let held = vouching.held(&decision.chain, (P1, 3), &step).expect("it comes next");
    vouching.hold(held);
    assert_eq!(vouching.held(&decision.chain, (P1, 4), &step), None, "once");
    vouching.note_due(P1, Date::Answer, 5);
    vouching.note_due(P2, Date::Answer, 5);
    assert_eq!(vouching.held(&decision.chain, (P2, 6), &step), None, "too late");
    let close = p0_says(&decision, DEADLINE, Content::Close { absent: vec![3] });
    let hides = Err(Unvouched::Hides { by: 1, person: 3 });
    assert_eq!(vouching.check(&decision.chain, &close, &[9, 6, 6], |_| true), hides);
    // P0 cannot say that it did not know: what vouches for the close was said later.
    assert_eq!(
        vouching.check(&decision.chain, &close, &[9, 3, 6], |_| true),
        Err(Unvouched::Early(1)),
        "who does not know of the step does not know that it is time"
    );
    // It takes the step, and nobody is absent.
    decision.take(&step).unwrap();
    vouching.moved();
    let close = p0_says(&decision, DEADLINE, Content::Close { absent: vec![] });
    assert_eq!(vouching.check(&decision.chain, &close, &[0, 0, 0], |_| true), Ok(()));
}

#[test]
fn an_acceptance_that_a_server_holds_is_not_passed_over() {
    let (mut decision, mut vouching) = waiting();
    let accept = decision.acceptance(3);
    let held = vouching.held(&decision.chain, (P2, 0), &accept).unwrap();
    assert_eq!((held.person, &held.record), (3, &accept.encode()));
    vouching.hold(held);
    vouching.note_due(P1, Date::Accept, 1);
    vouching.note_due(P2, Date::Accept, 1);
    let begin = p0_says(&decision, ACCEPT_BY, Content::Begin { without: vec![3] });
    let hides = Err(Unvouched::Hides { by: 2, person: 3 });
    assert_eq!(vouching.check(&decision.chain, &begin, &[9, 9, 9], |_| true), hides);
    assert_eq!(vouching.waiting(&decision.chain.head()).count(), 1, "P0 takes it instead");
    // Its one-time key came to stand in another decision: nobody can take it.
    let spent = accept.record.spends();
    let unspent = |held: &Held| held.spends() != spent;
    assert!(spent.is_some());
    assert_eq!(vouching.check(&decision.chain, &begin, &[9, 9, 9], unspent), Ok(()));
    decision.take(&accept).unwrap();
    assert_eq!(decision.chain.stage(), Stage::Answering);
}

#[test]
fn nothing_is_held_that_does_not_come_next_and_hold_by_the_rules() {
    let mut decision = majority(4);
    let old = decision.step(1, &[1]).unwrap();
    let mut forged = old.clone();
    forged.record.time += 1;
    let vouching = Vouching::default();
    assert_eq!(vouching.held(&decision.chain, (P1, 0), &forged), None, "changed");
    let close = p0_says(&decision, DEADLINE, Content::Close { absent: vec![0, 1, 2, 3] });
    assert_eq!(vouching.held(&decision.chain, (P1, 0), &close), None, "nobody speaks by it");
    decision.answer(0, &[1]);
    assert_eq!(vouching.held(&decision.chain, (P1, 0), &old), None, "it came after another head");
    let now = decision.step(1, &[1]).unwrap();
    assert!(vouching.held(&decision.chain, (P1, 0), &now).is_some());
}

/// A device whose step was passed over has time to hand it in again, but nobody can hold up a
/// decision for long by that.
#[test]
fn a_server_waits_for_who_was_passed_over_but_not_for_ever() {
    assert!(!says_due(DEADLINE, None, BEFORE));
    assert!(says_due(DEADLINE, None, DEADLINE));
    let latest = Some(DEADLINE - 5);
    assert!(!says_due(DEADLINE, latest, DEADLINE));
    assert!(says_due(DEADLINE, latest, DEADLINE - 5 + PATIENCE));
    let again = |now| says_due(DEADLINE, Some(now), now);
    assert!(!again(DEADLINE + DILATORY - 1));
    assert!(again(DEADLINE + DILATORY));
}
