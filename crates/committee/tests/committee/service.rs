//! Whole committees in one process, over real links, with a job that anybody can check.

use std::time::Duration;

use crate::plain::Plain;
use crate::world::{KEEP, OPEN, World, key, now, pass};
use ostrakon_committee::{Phase, Refused};
use ostrakon_computation::{
    Cancellation, ComputationId, Conclusion, Contributors, Input, Order, Parameters,
};

#[tokio::test(flavor = "multi_thread")]
async fn inputs_are_sealed_computed_on_and_signed_by_all() {
    let world = World::start(3, Plain::default()).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=3 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert_eq!(archive.conclusion, Conclusion::Reached(Parameters(6u64.to_le_bytes().to_vec())));
    assert_eq!(archive.verify_as(&id, &world.committee.digest()), Ok(()));
    for member in &world.members {
        assert_eq!(member.archive(&id).unwrap(), archive, "all members publish the same");
        assert_eq!(member.view(&id).unwrap().phase, Phase::Done);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_any_member_holds_counts_and_who_signs_twice_is_out() {
    let world = World::start(3, Plain::default()).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    // One member each: the others have to fetch what they lack.
    for seed in 1..=3 {
        let input = Input::sign(&id, vec![seed], &key(seed));
        world.members[usize::from(seed) - 1].submit(&id, input).await.unwrap();
    }
    let (one, other) = (Input::sign(&id, vec![4], &key(4)), Input::sign(&id, vec![40], &key(4)));
    world.members[0].submit(&id, one.clone()).await.unwrap();
    let again = world.members[0].submit(&id, one.clone()).await;
    again.expect("the same again gets the same receipt");
    for attempt in [&other, &other, &one] {
        // Not even sent again: two receipts of one key would each promise that theirs counts.
        let again = world.members[0].submit(&id, attempt.clone()).await;
        assert!(matches!(again, Err(Refused::Conflict(_))), "{again:?}");
    }
    // The order reaches one member alone, which passes it on.
    world.members[0].close(&Order::sign(id, &key(50))).await.unwrap();
    let archive = world.result(&id).await;
    assert_eq!(archive.conclusion, Conclusion::Reached(Parameters(6u64.to_le_bytes().to_vec())));
    assert_eq!((archive.seal.inputs.len(), archive.seal.conflicts.len()), (3, 1));
    assert_eq!(archive.verify(), Ok(()));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_are_told_how_many_are_missing_and_nothing_is_computed() {
    let plain = Plain::default();
    let world = World::start(2, plain.clone()).await;
    let draft = world.draft(|draft| draft.minimum = 3);
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&Input::sign(&id, vec![1], &key(1))).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert_eq!(archive.conclusion, Conclusion::TooFew { missing: 2 });
    // A date closes like an order.
    let dated = world.draft(|draft| {
        draft.minimum = 3;
        draft.closes = Some(now() + 60);
    });
    let id = dated.draft.id();
    world.create(&dated).await;
    world.submit(&Input::sign(&id, vec![1], &key(1))).await;
    assert_eq!(world.members[0].view(&id).unwrap().phase, Phase::Collecting);
    pass(60);
    let archive = world.result(&id).await;
    assert_eq!(archive.conclusion, Conclusion::TooFew { missing: 2 });
    assert_eq!(archive.verify(), Ok(()));
    assert_eq!(plain.begun(), 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_creator_closes_and_only_those_who_are_asked_hand_in() {
    let world = World::start(2, Plain::default()).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=2 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    let member = &world.members[0];
    let forged = member.close(&Order::sign(id, &key(1))).await;
    assert!(matches!(forged, Err(Refused::Forbidden(_))), "{forged:?}");
    let stranger = member.submit(&id, Input::sign(&id, vec![1], &key(99))).await;
    assert!(matches!(stranger, Err(Refused::Forbidden(_))), "{stranger:?}");
    let mut changed = Input::sign(&id, vec![3], &key(3));
    changed.body[0] = 4;
    let changed = member.submit(&id, Input::decode(&changed.encode()).unwrap()).await;
    assert!(matches!(changed, Err(Refused::Unsound(_))), "{changed:?}");
    let long = member.submit(&id, Input::sign(&id, vec![1; 100], &key(3))).await;
    assert!(matches!(long, Err(Refused::Unsound(_))), "{long:?}");
    let unsound = member.submit(&id, Input::sign(&id, vec![255], &key(3))).await;
    assert!(matches!(unsound, Err(Refused::Unsound(_))), "{unsound:?}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(member.view(&id).unwrap().phase, Phase::Collecting, "nobody has closed it");
    world.close(&draft).await;
    world.result(&id).await;
    let late = member.submit(&id, Input::sign(&id, vec![3], &key(3))).await;
    assert!(matches!(late, Err(Refused::Conflict(_))), "{late:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_that_cannot_be_computed_are_refused_with_the_reason() {
    let world = World::start(2, Plain::default()).await;
    let refused = async |change: fn(&mut ostrakon_computation::Draft)| {
        let draft = world.draft(change);
        world.members[0].create(draft).await.unwrap_err().to_string()
    };
    assert_eq!(
        refused(|draft| draft.job = "dreams".into()).await,
        "this server computes plain, not dreams"
    );
    assert_eq!(refused(|draft| draft.parameters = Parameters(vec![9])).await, "no parameters");
    assert_eq!(refused(|draft| draft.closes = Some(1)).await, "the date of closing is past");
    assert!(refused(|draft| draft.minimum = 0).await.contains("minimum"));
    let unknown = world.draft(|_| ()).draft.id();
    assert!(matches!(world.members[0].view(&unknown), Err(Refused::NotFound(_))));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_asks_but_those_whom_the_operator_knows() {
    let world = World::start(2, Plain::default()).await;
    let stranger = key(51);
    let draft = world.draft(|draft| draft.creator = stranger.verifying_key()).draft;
    let refused = world.members[0].create(draft.sign(&stranger)).await;
    assert!(matches!(refused, Err(Refused::Forbidden(_))), "{refused:?}");
    world.stop().await;
}

/// A question about three inputs that is closed, and whose attempts are held.
async fn held(world: &World, plain: &Plain) -> ComputationId {
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=3 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    plain.hold();
    world.close(&draft).await;
    id
}

/// A member that is killed again and again does not keep the others busy for ever; and what it says
/// of the end is its own word, which the others do not repeat.
#[tokio::test(flavor = "multi_thread")]
async fn a_computation_is_begun_sixteen_times_at_most() {
    let plain = Plain::default();
    let mut world = World::start(3, plain.clone()).await;
    let id = held(&world, &plain).await;
    plain.waits_for(1).await;
    world.restart_after(1, "UPDATE computations SET generation = 16").await;
    let why = world.stopped(&id, usize::MAX).await;
    assert_eq!(why[1], "it was begun 16 times and came to no end");
    // Each names the first of the others of whom it learnt, and does not repeat what that one says.
    assert!(["m1 has stopped", "m2 has stopped"].contains(&&why[0][..]), "{}", why[0]);
    assert!(["m0 has stopped", "m1 has stopped"].contains(&&why[2][..]), "{}", why[2]);
    plain.release();
    world.stop().await;
}

/// Stopped and started again at every stage, a member knows what it has said and finishes.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_start_again_at_any_stage_come_to_the_same_result() {
    for stage in ["collecting", "sealing", "computing", "done"] {
        let plain = Plain::default();
        let mut world = World::start(3, plain.clone()).await;
        let draft = world.draft(|draft| draft.contributors = Contributors::Anyone);
        let id = draft.draft.id();
        world.create(&draft).await;
        for seed in 1..=3 {
            world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
        }
        match stage {
            "collecting" => world.restart(1).await,
            "sealing" => {
                world.members[1].close(&Order::sign(id, &key(50))).await.unwrap();
                world.restart(1).await;
            }
            "computing" => {
                plain.hold();
                world.close(&draft).await;
                plain.waits_for(1).await;
                world.restart(1).await;
                plain.release();
            }
            _ => {
                world.close(&draft).await;
                world.result(&id).await;
                world.restart(1).await;
            }
        }
        world.close(&draft).await;
        let archive = world.result(&id).await;
        let six = Conclusion::Reached(Parameters(6u64.to_le_bytes().to_vec()));
        assert_eq!(archive.conclusion, six, "{stage}");
        assert_eq!(archive.verify(), Ok(()), "{stage}");
        world.stop().await;
    }
}

/// The draft is handed in several times at once; there is one course of it, to which all receipts
/// belong.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_comes_twice_at_the_same_time_is_one_computation() {
    let world = World::start(2, Plain::default()).await;
    for _ in 0..20 {
        let draft = world.draft(|_| ());
        let id = draft.draft.id();
        let creates = (0..8).map(|_| world.members[0].create(draft.clone()));
        futures::future::join_all(creates).await.into_iter().for_each(|made| assert!(made.is_ok()));
        world.members[1].create(draft.clone()).await.unwrap();
        for seed in 1..=2 {
            world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
        }
        world.close(&draft).await;
        assert_eq!(world.result(&id).await.seal.inputs.len(), 2);
    }
    world.stop().await;
}

/// A crash between the writing of a result and the saying of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_written_and_not_said_is_said_after_the_restart() {
    for few in [false, true] {
        let plain = Plain::default();
        let mut world = World::start(2, plain.clone()).await;
        let draft = world.draft(|draft| draft.minimum = if few { 3 } else { 2 });
        let id = draft.draft.id();
        world.create(&draft).await;
        for seed in 1..=2 {
            world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
        }
        world.close(&draft).await;
        let archive = world.result(&id).await;
        let begun = plain.begun();
        world.restart_after(1, "DELETE FROM statements WHERE kind = 'outcome'").await;
        assert_eq!(world.result(&id).await, archive);
        assert_eq!(plain.begun(), begun, "nothing is computed again");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_inputs_are_taken_than_can_be_computed_on() {
    let world = World::start(2, Plain::default()).await;
    let draft = world.draft(|draft| draft.contributors = Contributors::Anyone);
    let id = draft.draft.id();
    world.create(&draft).await;
    // Who signs two inputs takes nobody else's place: the second is evidence, at the last place
    // too.
    for (seed, body) in [(1, 1), (1, 10), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (6, 60)] {
        let taken = world.members[0].submit(&id, Input::sign(&id, vec![body], &key(seed))).await;
        match taken {
            Ok(_) => assert!(body < 10),
            Err(refused) => assert!(matches!(refused, Refused::Conflict(_)), "{body}: {refused}"),
        }
    }
    let full = world.members[0].submit(&id, Input::sign(&id, vec![7], &key(7))).await;
    assert!(matches!(full, Err(Refused::Unavailable(_))), "{full:?}");
    world.close(&draft).await;
    let sealed = world.result(&id).await.seal;
    assert_eq!((sealed.inputs.len(), sealed.conflicts.len()), (4, 2));
    world.stop().await;
}

/// Attack: somebody asks so much that nobody else can, and nothing of it ever closes.
#[tokio::test(flavor = "multi_thread")]
async fn of_one_creator_and_of_all_so_many_questions_are_under_way_at_a_time() {
    let world = World::start(2, Plain::default()).await;
    let member = &world.members[0];
    let of = |seed: u8| {
        let asked = world.draft(|draft| draft.creator = key(seed).verifying_key());
        asked.draft.sign(&key(seed))
    };
    let mut drafts = Vec::new();
    for _ in 0..OPEN.of_one {
        drafts.push(of(50));
        member.create(drafts.last().unwrap().clone()).await.unwrap();
    }
    let one_more = of(50);
    let refused = member.create(one_more.clone()).await;
    let Err(Refused::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("6 questions of yours are under way"), "{why}");
    member.create(drafts[0].clone()).await.expect("what is known already takes no room");
    for _ in OPEN.of_one..OPEN.in_all {
        member.create(of(52)).await.unwrap();
    }
    let refused = member.create(of(52)).await;
    let Err(Refused::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("8 questions are under way"), "{why}");
    // What has come to an end makes room.
    member.cancel(&Cancellation::sign(drafts[0].draft.id(), &key(50))).await.unwrap();
    member.create(one_more).await.unwrap();
    world.stop().await;
}

/// Attack: as many as may be asked, and more, are asked at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn questions_that_come_at_the_same_time_are_counted_one_after_the_other() {
    let world = World::start(2, Plain::default()).await;
    let drafts: Vec<_> = (0..OPEN.of_one + 5).map(|_| world.draft(|_| ())).collect();
    let asked = drafts.iter().map(|draft| world.members[0].create(draft.clone()));
    let asked = futures::future::join_all(asked).await;
    assert_eq!(asked.iter().filter(|taken| taken.is_ok()).count(), OPEN.of_one, "{asked:?}");
    assert_eq!(world.members[0].views().len(), OPEN.of_one);
    world.stop().await;
}

/// Attack: a stranger asks and takes back, or closes at once, until there is room for nobody.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_without_a_result_makes_room_for_others() {
    let world = World::start(2, Plain::default()).await;
    let member = &world.members[0];
    let first = world.draft(|_| ());
    world.create(&first).await;
    for seed in 1..=2 {
        world.submit(&Input::sign(&first.draft.id(), vec![seed], &key(seed))).await;
    }
    world.close(&first).await;
    world.result(&first.draft.id()).await;
    for number in 0..OPEN.kept + 5 {
        let draft = world.draft(|_| ());
        let id = draft.draft.id();
        let asked = async {
            // The last ones may not have come to their end yet.
            while let Err(Refused::Unavailable(_)) = member.create(draft.clone()).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(300), asked).await.expect("there is room");
        if number % 2 == 0 {
            member.cancel(&Cancellation::sign(id, &key(50))).await.unwrap();
        } else {
            world.members[1].create(draft.clone()).await.unwrap();
            world.close(&draft).await;
        }
    }
    assert!(member.views().len() <= OPEN.kept);
    assert!(member.archive(&first.draft.id()).is_ok(), "a result does not make room");
    world.stop().await;
}

/// Attack: whoever has the link asks again and again how far it is.
#[tokio::test(flavor = "multi_thread")]
async fn to_look_at_an_attempt_costs_no_more_than_to_read_what_is_known_of_it() {
    let plain = Plain::default();
    let world = World::start(3, plain.clone()).await;
    let id = held(&world, &plain).await;
    plain.waits_for(3).await;
    let named = plain.named();
    for _ in 0..1000 {
        assert_eq!(world.members[0].view(&id).unwrap().phase, Phase::Computing);
        world.members[0].metrics();
    }
    assert_eq!(plain.named(), named);
    plain.release();
    world.result(&id).await;
    assert_eq!(plain.named(), named, "nor does it to forget it");
    world.stop().await;
}

/// A contributor's connection breaks at any moment. What it handed in is then held or not, for all
/// time: no receipt is ever given for an input that is in no list.
#[tokio::test(flavor = "multi_thread")]
async fn a_contributor_that_hangs_up_is_held_or_not_and_never_both() {
    let mut world = World::start(2, Plain::default()).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let inputs: Vec<Input> = (1..=5).map(|seed| Input::sign(&id, vec![seed], &key(seed))).collect();
    for input in &inputs[..2] {
        world.members[1].submit(&id, input.clone()).await.unwrap();
    }
    for (input, micros) in inputs.iter().zip([0, 100, 300, 1000, 3000]) {
        let handing_in = world.members[0].submit(&id, input.clone());
        let _ = tokio::time::timeout(Duration::from_micros(micros), handing_in).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.close(&draft).await;
    let sealed = world.result(&id).await.seal.inputs;
    world.restart(0).await;
    for input in inputs {
        let counts = sealed.contains(&input.entry);
        let receipt = world.members[0].submit(&id, input).await;
        assert!(counts || receipt.is_err(), "a receipt for what does not count");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_deleted_and_its_archive_stays() {
    let mut world = World::start(2, Plain::default()).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let inputs: Vec<Input> = (1..=2).map(|seed| Input::sign(&id, vec![seed], &key(seed))).collect();
    for input in &inputs {
        world.submit(input).await;
    }
    world.close(&draft).await;
    let archive = world.result(&id).await;
    // The inputs go at once, the rest when its time is up.
    for member in &world.members {
        let (contributor, body) = inputs[0].entry.input();
        while member.input(&id, &contributor, &body).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(member.view(&id).unwrap().phase, Phase::Done);
    }
    pass(KEEP.as_secs());
    for member in &world.members {
        while !member.views().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    for again in [false, true] {
        if again {
            world.restart(0).await;
        }
        let member = &world.members[0];
        assert_eq!(member.archived(&id).await.unwrap(), archive);
        let anew = member.create(draft.clone()).await;
        assert!(matches!(anew, Err(Refused::Conflict(_))), "{anew:?}");
    }
    world.stop().await;
}
