//! Decisions in which everybody keeps to the rules.

use ostrakon_decide::opening::archive::Part;
use ostrakon_decide::*;
use ostrakon_party::PartyId;

use crate::world::{
    BEFORE, DEADLINE, Decision, World, account, ballot, creator, draft, drawn, seeded,
};

/// Each person's answers, in the order in which they come; then the meanings.
fn decide(ballots: Vec<Ballot>, answers: &[&[u8]], order: &[usize]) -> Vec<Meaning> {
    let mut decision = Decision::answering(answers.len(), 2, ballots);
    for person in order {
        decision.answer(*person, answers[*person]);
    }
    decision.beat(if order.len() == answers.len() { BEFORE } else { DEADLINE });
    decision.result().unwrap().meanings
}

#[test]
fn every_function_comes_out_of_one_visit_each() {
    let tie = Tie::None;
    let ballots = vec![
        ballot(Function::Majority, 2),
        ballot(Function::Unanimous, 2),
        ballot(Function::AtLeast { k: 2 }, 2),
        ballot(Function::Veto, 2),
        ballot(Function::Parity, 2),
        ballot(Function::Plurality { tie }, 3),
        ballot(Function::Plurality { tie: Tie::First }, 3),
        ballot(Function::Tally, 3),
        ballot(Function::Custom { outputs: vec![7, 8, 9, 10, 11] }, 2),
    ];
    let answers: [&[u8]; 4] = [
        &[1, 1, 0, 0, 1, 0, 2, 0, 1],
        &[1, 1, 0, 0, 0, 1, 2, 2, 0],
        &[1, 1, 1, 0, 0, 1, 1, 2, 1],
        &[0, 1, 0, 0, 0, 0, 1, 1, 0],
    ];
    let meanings = [
        Meaning::Passed(true),
        Meaning::Passed(true),
        Meaning::Passed(false),
        Meaning::Passed(true),
        Meaning::Odd(true),
        Meaning::Tie,
        Meaning::Option(1),
        Meaning::Counts(vec![1, 1, 2]),
        Meaning::Value(9),
    ];
    assert_eq!(decide(ballots.clone(), &answers, &[2, 0, 3, 1]), meanings);
    // Person 1 stays away: option 0 counts.
    let away = decide(ballots, &answers, &[3, 2, 0]);
    assert_eq!(
        (&away[0], &away[1], &away[7]),
        (&Meaning::Passed(false), &Meaning::Passed(false), &Meaning::Counts(vec![2, 1, 1]))
    );
}

#[test]
fn whoever_stays_away_is_stood_in_for_by_two_or_by_all_servers() {
    for threshold in [2, 3] {
        let mut decision = Decision::answering(5, threshold, vec![ballot(Function::Tally, 2)]);
        for person in [2, 3, 4] {
            decision.answer(person, &[1]);
        }
        decision.beat(BEFORE);
        assert_eq!(decision.chain.stage(), Stage::Answering, "there is time");
        decision.beat(DEADLINE);
        assert_eq!(decision.chain.close().unwrap().1, [0, 1]);
        assert_eq!(
            decision.result().unwrap().meanings,
            [Meaning::Counts(vec![2, 3])],
            "threshold {threshold}"
        );
    }
}

#[test]
fn without_anybody_to_stand_in_it_lapses_or_everybody_has_come() {
    let mut decision = Decision::answering(2, 0, vec![ballot(Function::Majority, 2)]);
    decision.answer(1, &[1]);
    let mut complete = Decision::answering(2, 0, vec![ballot(Function::Majority, 2)]);
    complete.answer(1, &[1]);
    complete.answer(0, &[1]);
    decision.beat(DEADLINE);
    assert_eq!(decision.chain.stage(), Stage::Lapsed);
    let result = decision.examine().unwrap().result(&[]);
    assert!(result.unwrap_err().to_string().contains("lapsed"));
    complete.beat(BEFORE);
    assert_eq!(complete.result().unwrap().meanings, [Meaning::Passed(true)]);
}

#[test]
fn who_has_not_accepted_lets_it_lapse_or_is_removed() {
    let world = World::new(2);
    let draft = draft(&world, 3, 2, vec![ballot(Function::AtLeast { k: 2 }, 2)]);
    let mut decision = Decision::new(world, &draft);
    let mut lapsing = Decision::new(World::new(2), &draft);
    lapsing.beat(DEADLINE);
    assert_eq!(lapsing.chain.stage(), Stage::Lapsed);
    decision.accept(2);
    decision.accept(0);
    let remove = decision.chain.next(&creator(), 8, Content::Remove { person: 1 });
    decision.take(&remove).unwrap();
    assert_eq!(decision.chain.stage(), Stage::Answering, "all that remain have accepted");
    decision.answer(2, &[1]);
    decision.answer(0, &[1]);
    decision.beat(BEFORE);
    assert_eq!(decision.result().unwrap().meanings, [Meaning::Passed(true)]);
}

#[test]
fn a_key_from_the_stock_lets_somebody_be_asked_while_away() {
    let world = World::new(3);
    let draft = draft(&world, 2, 2, vec![ballot(Function::Majority, 2)]);
    let mut decision = Decision::new(world, &draft);
    let waiting = decision.chain.waits_for_stock();
    assert_eq!(waiting, [(0, account(0).verifying_key())]);
    let key = decision.world.certified(&account(0), 2);
    let content = Content::Accept { person: 0, key, claim: None };
    let signed = decision.chain.next(&decision.world.identities[0], 6, content);
    assert_eq!(signed.record.spends().unwrap().owner, account(0).verifying_key());
    decision.take(&signed).unwrap();
    assert!(decision.chain.waits_for_stock().is_empty());
    decision.accept(1);
    decision.answer(0, &[1]);
    decision.answer(1, &[1]);
    decision.beat(BEFORE);
    assert_eq!(decision.result().unwrap().meanings, [Meaning::Passed(true)]);
}

#[test]
fn two_at_once_one_tries_again_with_the_same_answers() {
    let mut decision = Decision::answering(2, 2, vec![ballot(Function::Tally, 2)]);
    let first = decision.step(0, &[1]).unwrap();
    let second = decision.step(1, &[1]).unwrap();
    decision.take(&second).unwrap();
    assert!(decision.take(&first).unwrap_err().is_conflict());
    assert!(decision.step(0, &[0]).is_err(), "the answers are fixed");
    assert_eq!(decision.memories[0].pending(&decision.chain.id()), Some(&[1][..]));
    let again = decision.step(0, &[1]).unwrap();
    decision.take(&again).unwrap();
    let (visit, me) = (decision.visit().unwrap(), account(0).verifying_key());
    let receipt = visit.confirmed(&me, &mut decision.memories[0]).unwrap();
    assert_eq!((receipt.person, receipt.number, Some(receipt.digest)), (0, 4, visit.digest(4)));
    assert_eq!(decision.memories[0].pending(&decision.chain.id()), None);
    decision.beat(BEFORE);
    assert_eq!(decision.result().unwrap().meanings, [Meaning::Counts(vec![0, 2])]);
}

#[test]
fn an_archive_says_who_took_part_and_every_changed_byte_is_refused() {
    let mut decision = Decision::answering(4, 2, vec![ballot(Function::Majority, 2)]);
    for person in 1..4 {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let verified = decision.chain.next(&account(1), 9, Content::Verified);
    decision.take(&verified).unwrap();
    let openings = decision.openings();
    let text = Archive::new(decision.world.servers.clone(), &decision.records, &openings).to_text();
    let pinned = decision.world.operators.digest;
    let mut rng = seeded(9);
    let report = Archive::verify(&text, Some(&pinned), &mut rng).unwrap();
    assert_eq!(report.outcome.unwrap().meanings, [Meaning::Passed(true)]);
    let parts: Vec<_> = report.people.iter().map(|person| person.part).collect();
    assert_eq!(parts, [Part::Absent, Part::Answered(5), Part::Answered(6), Part::Answered(7)]);
    assert_eq!((report.people[1].verified, report.head), (true, decision.chain.head()));
    // Every byte is covered by a signature or a proof; a sample of them, for time.
    for at in (0..text.len()).step_by(text.len() / 150) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        assert!(Archive::verify(&changed, Some(&pinned), &mut rng).is_err(), "byte {at}");
    }
    let without =
        Archive::new(decision.world.servers.clone(), &decision.records, &openings[..2]).to_text();
    assert_eq!(
        Archive::verify(&without, None, &mut rng).unwrap().outcome,
        None,
        "one has not opened yet"
    );
    let twice = Archive::new(
        decision.world.servers,
        &decision.records,
        &[openings[0].clone(), openings[0].clone()],
    );
    assert!(Archive::verify(&twice.to_text(), None, &mut rng).is_err());
}

#[test]
fn what_could_be_learned_later_is_told_before_answering() {
    let mut decision =
        Decision::answering(3, 0, vec![ballot(Function::Tally, 2), ballot(Function::Tally, 3)]);
    let before = residual(&decision.chain, 1);
    assert_eq!(
        (before.before, &before.after[..], &before.results[..]),
        (0, &[0, 2][..], &[3, 6][..])
    );
    assert!(!before.everything, "nobody holds shares");
    decision.answer(1, &[0, 0]);
    decision.answer(0, &[0, 0]);
    assert_eq!(residual(&decision.chain, 1).after, [0, 2], "as it was when it came");
    let last = residual(&decision.chain, 2);
    assert_eq!(
        (last.before, last.after.len(), &last.results[..]),
        (2, 0, &[1, 1][..]),
        "the result and nothing else"
    );
}

#[test]
fn one_server_alone_cannot_open_and_a_lying_one_is_named() {
    let mut decision = Decision::answering(4, 2, vec![ballot(Function::Majority, 2)]);
    for person in 0..3 {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let openings = decision.openings();
    let examined = decision.examine().unwrap();
    assert!(examined.result(&openings[1..]).unwrap_err().to_string().contains("server 0"));
    let mut lying = openings.clone();
    lying[1].1.layer = lying[2].1.layer.clone();
    let error = examined.result(&lying).unwrap_err();
    assert!(matches!(error, Refused::Opening { party: 1, .. }), "{error}");
    assert!(examined.check_opening(PartyId(3), &openings[0].1).is_err(), "no such server");
    assert!(examined.check_opening(PartyId(1), &openings[0].1).is_err(), "another server's");
    assert_eq!(
        examined.may_open(BEFORE),
        Err(NotYet::Deadline(DEADLINE)),
        "P0 cannot make others hurry"
    );
    assert_eq!(examined.may_open(DEADLINE), Ok(()));
}

/// Two people stay away, and every server may lack the shares of any of them.
#[test]
fn any_servers_that_hold_shares_stand_in_for_each_and_too_few_are_told() {
    let mut decision =
        Decision::answering(5, 2, vec![ballot(Function::Tally, 2), ballot(Function::Parity, 2)]);
    for (person, answers) in [(1, [1, 1]), (3, [0, 0]), (4, [0, 0])] {
        decision.answer(person, &answers);
    }
    decision.beat(DEADLINE);
    let whole = decision.openings();
    let examined = decision.examine().unwrap();
    let absent = [0, 2];
    for held in 0_u32..1 << 6 {
        let holds = |party: usize, place: usize| held >> (2 * party + place) & 1 == 1;
        let mut openings = Vec::new();
        for (party, _) in decision.world.parties() {
            let of_absent = |place: usize| account(absent[place]).verifying_key();
            let lacks = |owner| {
                (0..2).any(|place| owner == of_absent(place) && !holds(party.index(), place))
            };
            let own = decision.world.shares[party.index()].iter();
            let own =
                own.filter(|share| !lacks(share.statement().owner)).map(|share| share.to_bytes());
            let own: Vec<HeldShare> =
                own.filter_map(|share| HeldShare::from_bytes(&share)).collect();
            let opening =
                examined.open(&drawn(party), party, &own, &mut decision.world.rng).unwrap();
            assert_eq!(
                opening.layer.len(),
                whole[0].1.layer.len(),
                "the layer is given whatever is lacking"
            );
            examined.check_opening(party, &opening).unwrap();
            openings.push((party, opening));
        }
        let standing_in = [0, 1].map(|place| (0..3).filter(|party| holds(*party, place)).count());
        if standing_in.iter().all(|servers| *servers >= 2) {
            let meanings = examined.result(&openings).unwrap().meanings;
            assert_eq!(meanings, [Meaning::Counts(vec![4, 1]), Meaning::Odd(true)], "{held:b}");
            assert_eq!(shortage(&decision.chain, &openings), None);
            continue;
        }
        let error = examined.result(&openings).unwrap_err().to_string();
        let short = standing_in.iter().position(|servers| *servers < 2).unwrap();
        assert!(
            error.contains(&format!("2 servers have to stand in for “person {}”", absent[short])),
            "{error}"
        );
        for party in (0..3).filter(|party| holds(*party, short)) {
            assert!(error.contains(&format!("only server {party} did")), "{error}");
        }
        assert_eq!(
            error.contains("1 more of the absent"),
            standing_in.iter().all(|servers| *servers < 2),
            "{error}"
        );
        assert_eq!(examined.outcome(&openings), Ok(None), "nothing is wrong with the openings");
        let text =
            Archive::new(decision.world.servers.clone(), &decision.records, &openings).to_text();
        let report = Archive::verify(&text, None, &mut decision.world.rng).unwrap();
        assert!(
            report.outcome.is_none() && error.ends_with(&report.shortage.unwrap()),
            "an archive says so, too"
        );
    }
}

#[test]
fn a_shortage_is_told_once_it_is_certain() {
    let mut decision = Decision::answering(4, 2, vec![ballot(Function::Majority, 2)]);
    assert_eq!(shortage(&decision.chain, &[]), None, "it is not closed");
    for person in 1..4 {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let mut openings = decision.openings();
    openings.iter_mut().take(2).for_each(|(_, opening)| opening.absent.clear());
    assert_eq!(shortage(&decision.chain, &openings[..1]), None, "the two others may hold shares");
    let certain = shortage(&decision.chain, &openings[..2]).unwrap();
    assert!(certain.contains("“person 0”") && certain.contains("no server did"), "{certain}");
}

#[test]
fn parts_for_the_absent_are_checked_one_by_one() {
    let mut decision = Decision::answering(5, 2, vec![ballot(Function::Majority, 2)]);
    for person in [1, 3, 4] {
        decision.answer(person, &[1]);
    }
    decision.beat(DEADLINE);
    let openings = decision.openings();
    let examined = decision.examine().unwrap();
    let honest = &openings[1].1;
    let refused = |change: &dyn Fn(&mut Opening), reason: &str| {
        let mut opening = honest.clone();
        change(&mut opening);
        let error = examined.check_opening(PartyId(1), &opening).unwrap_err().to_string();
        assert!(error.contains("server 1") && error.contains(reason), "{error}");
    };
    refused(&|opening| opening.absent.swap(0, 1), "not in order");
    refused(&|opening| opening.absent[1] = opening.absent[0].clone(), "not in order");
    refused(&|opening| opening.absent[0].person = 1, "not absent");
    refused(&|opening| opening.absent[1].person = 7, "not absent");
    refused(&|opening| opening.absent[0].partial = opening.absent[1].partial.clone(), "“person 0”");
    refused(
        &|opening| opening.absent[1].partial = openings[0].1.absent[1].partial.clone(),
        "“person 2”",
    );
    refused(&|opening| opening.absent[0].partial.clear(), "0 came");
}
