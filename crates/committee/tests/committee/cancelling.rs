//! What its creator has cancelled: nothing comes out, everything is erased, and all members agree.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostrakon_committee::{Phase, Refused, Service};
use ostrakon_computation::{
    Cancellation, ComputationId, Input, Order, Said, SignedDraft, Statement,
};
use ostrakon_crypto::SigningKey;

use crate::graphs;
use crate::plain::Plain;
use crate::world::{PATIENCE, World, key, member_key};

/// A question to which two have handed something in.
async fn asked(world: &World) -> (SignedDraft, [Input; 2]) {
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let inputs = [1, 2].map(|seed| Input::sign(&id, vec![seed], &key(seed)));
    for input in &inputs {
        world.submit(input).await;
    }
    (draft, inputs)
}

fn word(id: ComputationId) -> Cancellation {
    Cancellation::sign(id, &key(50))
}

/// Waits until a member holds an input no more.
async fn erased(member: &Service, id: &ComputationId, input: &Input) {
    let (contributor, body) = input.entry.input();
    while member.input(id, &contributor, &body).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_before_the_close_is_erased_and_whoever_comes_is_told() {
    let plain = Plain::default();
    let mut world = World::start(3, plain.clone()).await;
    let (draft, inputs) = asked(&world).await;
    let id = draft.draft.id();
    let forged = world.members[0].cancel(&Cancellation::sign(id, &key(1))).await;
    assert!(matches!(forged, Err(Refused::Forbidden(_))), "{forged:?}");
    // The word reaches one member, which passes it on to those that still collect.
    world.members[0].cancel(&word(id)).await.unwrap();
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    for round in 0..2 {
        for member in &world.members {
            for input in &inputs {
                erased(member, &id, input).await;
            }
            let third = Input::sign(&id, vec![3], &key(3));
            for input in [&inputs[0], &third] {
                let late = member.submit(&id, input.clone()).await;
                let Err(Refused::Conflict(why)) = late else { panic!("{late:?}") };
                assert!(why.contains("cancelled by who asked"), "{why}");
            }
            let close = member.close(&Order::sign(id, &key(50))).await;
            assert!(matches!(close, Err(Refused::Conflict(_))), "{close:?}");
            assert!(member.archive(&id).is_err());
            member.cancel(&word(id)).await.expect("the same again changes nothing");
        }
        if round == 0 {
            world.restart(1).await;
            assert_eq!(world.cancelled(&id).await, [0; 0]);
        }
    }
    assert_eq!(plain.begun(), 0);
    world.stop().await;
}

/// A question that all members compute on, and come to no end with.
async fn computing(world: &World, plain: &Plain) -> (ComputationId, [Input; 2]) {
    let (draft, inputs) = asked(world).await;
    let id = draft.draft.id();
    plain.hold();
    world.close(&draft).await;
    plain.waits_for(3).await;
    (id, inputs)
}

#[tokio::test(flavor = "multi_thread")]
async fn running_attempts_stop_and_come_to_nothing_after_a_restart() {
    let plain = Plain::default();
    let mut world = World::start(3, plain.clone()).await;
    let (id, inputs) = computing(&world, &plain).await;
    // Members that compute hear of it by what the one says that was told.
    world.passes_on(false);
    world.members[2].cancel(&word(id)).await.unwrap();
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    plain.release();
    for member in &world.members {
        erased(member, &id, &inputs[0]).await;
    }
    for member in [0, 2] {
        world.restart(member).await;
    }
    // A member that has only heard of the word when its attempt goes on may begin to open before
    // it has withheld that: then all know it alike.
    let opened = world.cancelled(&id).await;
    assert!(!opened.contains(&2), "it withheld it before it said that it had been told");
    for member in &world.members {
        erased(member, &id, &inputs[0]).await;
        assert!(member.archive(&id).is_err());
        let signed = member.view(&id).unwrap().members;
        assert!(signed.iter().all(|member| !member.signed && member.stopped.is_none()));
    }
    assert_eq!(plain.begun(), 3, "nothing was begun again");
    world.stop().await;
}

/// A member that collects hears nothing by itself: it is told, however late.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_not_told_computes_nothing_and_ends_when_it_is() {
    let plain = Plain::default();
    let mut world = World::start(3, plain.clone()).await;
    let (draft, inputs) = asked(&world).await;
    let id = draft.draft.id();
    world.passes_on(false);
    for member in [0, 1] {
        world.members[member].cancel(&word(id)).await.unwrap();
        erased(&world.members[member], &id, &inputs[0]).await;
    }
    assert_eq!(world.members[2].view(&id).unwrap().phase, Phase::Collecting);
    // Two were told after a restart, too; the third still collects.
    world.restart(0).await;
    world.passes_on(true);
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    erased(&world.members[2], &id, &inputs[1]).await;
    assert_eq!(plain.begun(), 0);
    world.stop().await;
}

/// Attack: one of three trickles whatever it is asked, so that the others do not hear each other.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_member_says_waits_for_no_other_one_that_is_slow() {
    let plain = Plain::default();
    let world = World::start(3, plain.clone()).await;
    let (id, inputs) = computing(&world, &plain).await;
    // The others have to hear it by themselves.
    world.passes_on(false);
    world.trickle(2);
    world.members[0].cancel(&word(id)).await.unwrap();
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    erased(&world.members[1], &id, &inputs[0]).await;
    plain.release();
    world.stop().await;
}

/// One member is told before it opens, two have opened already: all end it, and those say so.
#[tokio::test(flavor = "multi_thread")]
async fn who_had_begun_to_open_says_so() {
    let plain = Plain::default();
    let mut world = World::start(3, plain.clone()).await;
    let (draft, inputs) = asked(&world).await;
    let id = draft.draft.id();
    plain.hold_at(0);
    world.close(&draft).await;
    plain.waits_for(3).await;
    plain.opened(2).await;
    for member in [1, 2] {
        let late = world.members[member].cancel(&word(id)).await;
        assert!(matches!(late, Err(Refused::Conflict(_))), "{late:?}");
    }
    world.members[0].cancel(&word(id)).await.unwrap();
    // They say so when they have heard of the word.
    while world.cancelled(&id).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(world.cancelled(&id).await, [1, 2]);
    world.restart(1).await;
    assert_eq!(world.cancelled(&id).await, [1, 2]);
    for member in &world.members {
        erased(member, &id, &inputs[0]).await;
        assert!(member.archive(&id).is_err());
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_opened_or_has_come_out_is_not_cancelled() {
    let plain = Plain::default();
    let world = World::start(2, plain.clone()).await;
    let (draft, _) = asked(&world).await;
    let id = draft.draft.id();
    plain.hold_opening();
    world.close(&draft).await;
    plain.opened(2).await;
    for member in &world.members {
        let late = member.cancel(&word(id)).await;
        let Err(Refused::Conflict(why)) = late else { panic!("{late:?}") };
        assert!(why.contains("is being opened"), "{why}");
    }
    plain.release();
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    for member in &world.members {
        let late = member.cancel(&word(id)).await;
        assert!(matches!(late, Err(Refused::Conflict(_))), "{late:?}");
        assert_eq!(member.view(&id).unwrap().phase, Phase::Done);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_stopped_can_still_be_cancelled() {
    let plain = Plain::default();
    let world = World::start(3, plain.clone()).await;
    let (draft, inputs) = asked(&world).await;
    let id = draft.draft.id();
    plain.spoil();
    world.close(&draft).await;
    world.stopped(&id, usize::MAX).await;
    world.members[1].cancel(&word(id)).await.unwrap();
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    for member in &world.members {
        erased(member, &id, &inputs[0]).await;
    }
    world.stop().await;
}

/// Who has signed that too few had handed something in has opened nothing.
#[tokio::test(flavor = "multi_thread")]
async fn too_few_at_one_member_and_cancelled_at_another_is_opened_by_nobody() {
    let lie = |member: usize, to: usize, mut told: Vec<Statement>| {
        told.retain(|s| (member, to) != (0, 1) || !matches!(s.said, Said::Sealed { .. }));
        told
    };
    let world = World::start_lying(2, Plain::default(), Some(Arc::new(lie))).await;
    let draft = world.draft(|draft| draft.minimum = 3);
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&Input::sign(&id, vec![1], &key(1))).await;
    world.close(&draft).await;
    while !world.members[0].view(&id).unwrap().members[0].signed {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.members[1].cancel(&word(id)).await.unwrap();
    assert_eq!(world.cancelled(&id).await, [0; 0]);
    world.stop().await;
}

/// Attack: a member contradicts itself, so that another one does not hear that it was cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn who_contradicts_itself_keeps_no_cancellation_from_others() {
    let lying = Arc::new(AtomicBool::new(false));
    let lies = Arc::clone(&lying);
    let lie = move |member: usize, to: usize, mut told: Vec<Statement>| {
        // At one moment member 1 is shown both.
        let lies = lies.load(Ordering::SeqCst);
        for statement in &mut told {
            if let (0, 1, true, Said::Holdings(_)) = (member, to, lies, &statement.said) {
                let liar = SigningKey::from_seed(&member_key(0));
                let none = Said::Holdings(Vec::new());
                *statement = Statement::sign(statement.computation, none, &liar);
            }
        }
        told.retain(|s| {
            (member, to) != (2, 1) || lies || !matches!(s.said, Said::Cancelled { .. })
        });
        told
    };
    let plain = Plain::default();
    let world = World::start_lying(3, plain.clone(), Some(Arc::new(lie))).await;
    let (id, inputs) = computing(&world, &plain).await;
    world.passes_on(false);
    // Member 0 hears nothing of it either: it contradicts itself, and says nothing else to 1.
    world.members[2].cancel(&word(id)).await.unwrap();
    lying.store(true, Ordering::SeqCst);
    let heard = erased(&world.members[1], &id, &inputs[0]);
    tokio::time::timeout(PATIENCE, heard).await.expect("it hears of it all the same");
    assert!(matches!(world.members[1].view(&id).unwrap().phase, Phase::Cancelled { .. }));
    let evidence = world.members[1].view(&id).unwrap().equivocations;
    assert!(evidence.iter().all(|of| of.convicts(&world.committee.members[0].key)));
    plain.release();
    world.stop().await;
}

/// The job of graphs, cancelled while its servers compute.
#[tokio::test(flavor = "multi_thread")]
async fn a_computation_on_a_graph_is_cancelled_between_its_hops() {
    let world = World::start_graphs(3).await;
    let draft = graphs::ask(&world, &graphs::large(None), |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let inputs = [(1, [(0, 1)]), (2, [(2, 3)])];
    let inputs =
        inputs.map(|(seed, edges)| graphs::contribution(&world, &draft.draft, seed, &edges));
    for input in &inputs {
        world.submit(input).await;
    }
    world.close(&draft).await;
    assert!(graphs::between_hops(&world, &id, 0).await, "it is done before it can be cancelled");
    let sent = world.members[0].view(&id).unwrap().progress.map_or(0, |progress| progress.sent);
    assert!(sent > 100_000, "{sent} bytes were sent after a hop of thousands of rows");
    world.members[0].cancel(&word(id)).await.unwrap();
    let opened = world.cancelled(&id).await;
    assert!(!opened.contains(&0), "{opened:?}");
    for member in &world.members {
        erased(member, &id, &inputs[0]).await;
    }
    world.stop().await;
}
