//! One member lies to the others: nothing wrong is ever signed by an honest one.

use std::sync::Arc;

use crate::world::{Plain, World, key};
use ostrakon_committee::{Phase, Refused};
use ostrakon_computation::{ComputationId, Entry, Input, Said, Statement};
use ostrakon_crypto::{Digest, SigningKey};

/// The liar's number, and its key.
const LIAR: usize = 2;

fn liar() -> SigningKey {
    SigningKey::from_seed(&[202; 32])
}

fn sign(id: &ComputationId, said: Said) -> Statement {
    Statement::sign(*id, said, &liar())
}

/// Runs a computation of three inputs in which the liar's statements to each member are changed,
/// and returns what the honest members say.
async fn with(change: impl Fn(usize, &mut Statement) + Send + Sync + 'static) -> Vec<String> {
    let lie = move |member: usize, to: usize, mut told: Vec<Statement>| {
        if member == LIAR {
            told.iter_mut().for_each(|statement| change(to, statement));
        }
        told
    };
    let plain = Plain::default();
    let world = World::start_lying(3, plain.clone(), Some(Arc::new(lie))).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=3 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    world.close(&draft).await;
    let why = world.stopped(&id, LIAR).await;
    for member in &world.members[..LIAR] {
        assert!(matches!(member.archive(&id), Err(Refused::Conflict(_))), "no result");
        assert!(matches!(member.view(&id).unwrap().phase, Phase::Stopped { .. }));
    }
    world.stop().await;
    why
}

#[tokio::test(flavor = "multi_thread")]
async fn two_lists_shown_to_two_members_end_it_before_anything_is_computed() {
    // To member 1 the liar lists an input that it invents; its contributor colludes.
    let why = with(|to, statement| {
        let id = statement.computation;
        if let (Said::Holdings(entries), 1) = (&statement.said, to) {
            let mut entries: Vec<Entry> = entries.clone();
            entries.push(Input::sign(&id, vec![9], &key(4)).entry);
            entries.sort();
            *statement = sign(&id, Said::Holdings(entries));
        }
    });
    // Nobody has the body, so the honest members wait. A result would be the defect.
    let waited = tokio::time::timeout(std::time::Duration::from_secs(3), why).await;
    assert!(waited.is_err(), "an honest member went on without an input that is listed");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_seal_ends_it() {
    for to_all in [true, false] {
        let why = with(move |to, statement| {
            if matches!(statement.said, Said::Sealed { .. }) && (to_all || to == 1) {
                let said = Said::Sealed { seal: Digest([9; 32]), spent: None };
                *statement = sign(&statement.computation, said);
            }
        })
        .await;
        assert!(why.iter().any(|why| why.contains("different lists")), "{why:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_nobody_has_signed_names_its_member() {
    let why = with(|_, statement| {
        if let Said::Holdings(entries) = &statement.said {
            let mut entries = entries.clone();
            entries[0].body.0[0] ^= 1;
            entries.sort();
            *statement = sign(&statement.computation, Said::Holdings(entries));
        }
    })
    .await;
    assert!(why.iter().any(|why| why.contains("m2 lists inputs")), "{why:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_statements_where_one_is_allowed_are_kept_as_evidence() {
    let turn = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let lie = move |member: usize, to: usize, mut told: Vec<Statement>| {
        if member != LIAR || to != 0 {
            return told;
        }
        let turn = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        for statement in &mut told {
            // First an empty list, then the true one.
            if matches!(statement.said, Said::Holdings(_)) && turn < 3 {
                *statement = sign(&statement.computation, Said::Holdings(vec![]));
            }
        }
        told
    };
    let world = World::start_lying(3, Plain::default(), Some(Arc::new(lie))).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=3 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    // The others are slow, so that member 0 looks at the liar more often than once.
    let order = ostrakon_computation::Order::sign(id, &key(50));
    world.members[LIAR].close(&order).await.unwrap();
    world.members[0].close(&order).await.unwrap();
    let why = world.stopped(&id, LIAR).await;
    assert!(why.iter().any(|why| why.contains("contradict each other")), "{why:?}");
    let evidence = world.members[0].view(&id).unwrap().equivocations;
    assert!(evidence[0].convicts(&liar().verifying_key()), "a third person can check it");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_and_misplaced_statements_are_as_if_they_were_not_there() {
    // Statements of the liar under another computation's name, or with another's key, change
    // nothing: the honest members wait for it, and blame nobody.
    for forge in [false, true] {
        let why = with(move |_, statement| {
            let said = statement.said.clone();
            *statement = if forge {
                Statement::sign(statement.computation, said, &key(1))
            } else {
                sign(&ComputationId(Digest([3; 32])), said)
            };
        });
        let waited = tokio::time::timeout(std::time::Duration::from_secs(2), why).await;
        assert!(waited.is_err(), "the honest members went on, or stopped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_result_is_shown_to_nobody() {
    let why = with(|_, statement| {
        if let Said::Outcome { seal, .. } = statement.said {
            let said = Said::Outcome { seal, result: Digest([8; 32]) };
            *statement = sign(&statement.computation, said);
        }
    })
    .await;
    assert!(why.iter().any(|why| why.contains("different results")), "{why:?}");
}
