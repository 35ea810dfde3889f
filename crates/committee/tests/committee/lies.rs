//! One member lies to the others: nothing wrong is ever signed by an honest one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::graphs::{ask, contribution, terms};
use crate::plain::Plain;
use crate::world::{KEEP, OPEN, TRICKLE, World, key, member_key, pass};
use ostrakon_committee::{Phase, Refused};
use ostrakon_computation::{ComputationId, Contributors, Entry, Input, Said, Statement};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_graph::asked::{Shown, Terms};

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

/// Attack: a member invents keys and lists, so that the others fetch, keep and compute on more than
/// they have room for.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_more_contributors_than_can_be_computed_on_is_not_fetched() {
    let large = Terms { vertices: 1 << 16, edges: 1, ..terms(Shown::Vertices) };
    let own_part = large.most_owners() / 3;
    let invented = move |id: &ComputationId| {
        let mut entries: Vec<Entry> = (0..=own_part)
            .map(|i| Input::sign(id, vec![1], &key(60 + u8::try_from(i).unwrap())).entry)
            .collect();
        entries.sort();
        Said::Holdings(entries)
    };
    let lie = move |member: usize, _: usize, mut told: Vec<Statement>| {
        for statement in told.iter_mut().filter(|_| member == LIAR) {
            if matches!(statement.said, Said::Holdings(_)) {
                *statement = sign(&statement.computation, invented(&statement.computation));
            }
        }
        told
    };
    let world = World::start_graphs_with(3, Some(Arc::new(lie)), None).await;
    let draft = ask(&world, &large, |draft| {
        draft.contributors = Contributors::Anyone;
        draft.minimum = 1;
    });
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&contribution(&world, &draft.draft, 1, &[(0, 1)])).await;
    world.close(&draft).await;
    let why = world.stopped(&id, LIAR).await;
    assert!(why.iter().any(|why| why.contains("m2 lists more inputs")), "{why:?}");
    assert_eq!(world.fetched(), 0);
    world.stop().await;
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

/// Attack: a member never shows what came out at it, so that the others keep inputs and messages
/// for it for ever, and compute again whenever they are started.
#[tokio::test(flavor = "multi_thread")]
async fn who_withholds_its_result_pins_nothing_of_the_others() {
    let lie = |member: usize, _: usize, mut told: Vec<Statement>| {
        told.retain(|s| member != LIAR || !matches!(s.said, Said::Outcome { .. }));
        told
    };
    let plain = Plain::default();
    let mut world = World::start_lying(3, plain.clone(), Some(Arc::new(lie))).await;
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let inputs: Vec<Input> = (1..=3).map(|seed| Input::sign(&id, vec![seed], &key(seed))).collect();
    for input in &inputs {
        world.submit(input).await;
    }
    world.close(&draft).await;
    let (contributor, body) = inputs[0].entry.input();
    let signed = |world: &World| {
        let view = world.members[0].view(&id).unwrap();
        view.members[0].signed && view.members[1].signed
    };
    while !signed(&world) {
        pause().await;
    }
    assert!(world.members[0].input(&id, &contributor, &body).await.is_ok(), "others may lag");
    pass(24 * 60 * 60);
    while world.members[0].input(&id, &contributor, &body).await.is_ok() {
        pause().await;
    }
    let begun = plain.begun();
    world.restart(0).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(plain.begun(), begun, "who has a result computes no more");
    pass(KEEP.as_secs());
    while !world.members[0].views().is_empty() {
        pause().await;
    }
    world.stop().await;
}

/// Attack: who asks together with a member that never shows what came out has the others keep what
/// they have sent, of one question after the other.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_a_member_that_does_not_sign_counts_as_under_way() {
    let lie = |member: usize, _: usize, mut told: Vec<Statement>| {
        told.retain(|s| member != LIAR || !matches!(s.said, Said::Outcome { .. }));
        told
    };
    let world = World::start_lying(3, Plain::default(), Some(Arc::new(lie))).await;
    for _ in 0..OPEN.of_one {
        let draft = world.draft(|_| ());
        let id = draft.draft.id();
        world.create(&draft).await;
        for seed in 1..=2 {
            world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
        }
        world.close(&draft).await;
        while !world.members[0].view(&id).unwrap().members[0].signed {
            pause().await;
        }
    }
    let one_more = world.draft(|_| ());
    let refused = world.members[0].create(one_more.clone()).await;
    assert!(matches!(refused, Err(Refused::Unavailable(_))), "{refused:?}");
    // When this member forgets what it has sent there is room.
    pass(24 * 60 * 60);
    while world.members[0].create(one_more.clone()).await.is_err() {
        pause().await;
    }
    world.stop().await;
}

/// Attack: a member lists an input that it does not show, before all others who list it; or it
/// takes as long as it can to say so.
#[tokio::test(flavor = "multi_thread")]
async fn an_input_is_had_of_whichever_member_shows_it() {
    for after in [Duration::ZERO, TRICKLE] {
        is_had_of_another(after).await;
    }
}

async fn is_had_of_another(after: Duration) {
    let besides: Arc<Mutex<Option<Entry>>> = Arc::default();
    let listed = Arc::clone(&besides);
    let lie = move |member: usize, _: usize, mut told: Vec<Statement>| {
        for statement in told.iter_mut().filter(|_| member == 0) {
            if let Said::Holdings(entries) = &statement.said {
                let mut entries = entries.clone();
                entries.extend(*listed.lock().unwrap());
                entries.sort();
                let first = SigningKey::from_seed(&member_key(0));
                let said = Said::Holdings(entries);
                *statement = Statement::sign(statement.computation, said, &first);
            }
        }
        told
    };
    let world = World::start_lying(3, Plain::default(), Some(Arc::new(lie))).await;
    world.hide(0, after);
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=2 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    let third = Input::sign(&id, vec![3], &key(3));
    world.members[1].submit(&id, third.clone()).await.unwrap();
    *besides.lock().unwrap() = Some(third.entry);
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert!(archive.seal.inputs.contains(&third.entry));
    world.stop().await;
}

/// Attack: a member lists what it shows to nobody, so that the others look again and again.
#[tokio::test(flavor = "multi_thread")]
async fn to_look_again_at_the_same_lists_verifies_no_signature_again() {
    let world = World::start(3, Plain::default()).await;
    world.hide(0, Duration::ZERO);
    let draft = world.draft(|_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    for seed in 1..=2 {
        world.submit(&Input::sign(&id, vec![seed], &key(seed))).await;
    }
    world.members[0].submit(&id, Input::sign(&id, vec![3], &key(3))).await.unwrap();
    world.close(&draft).await;
    while world.fetched() < 10 {
        pause().await;
    }
    for member in &world.members[1..] {
        assert_eq!(member.view(&id).unwrap().phase, Phase::Sealing);
        let figures = member.metrics();
        assert!(figures.ends_with("ostrakon_committee_verified 3\n"), "{figures}");
    }
    world.stop().await;
}

/// Attack: a member never closes. What the others hold is deleted all the same when its time is up.
#[tokio::test(flavor = "multi_thread")]
async fn what_never_comes_to_an_end_is_deleted_too() {
    let lie = |member: usize, _: usize, told: Vec<Statement>| match member {
        LIAR => Vec::new(),
        _ => told,
    };
    let world = World::start_lying(3, Plain::default(), Some(Arc::new(lie))).await;
    let draft = world.draft(|_| ());
    world.create(&draft).await;
    world.submit(&Input::sign(&draft.draft.id(), vec![1], &key(1))).await;
    world.close(&draft).await;
    while !world.members[0].view(&draft.draft.id()).is_ok_and(|view| view.members[0].closed) {
        pause().await;
    }
    // From when on it counts is noted a little after that it has closed.
    while !world.members[0].views().is_empty() {
        pass(KEEP.as_secs());
        pause().await;
    }
    let anew = world.members[0].create(draft).await;
    assert!(matches!(anew, Err(Refused::Conflict(_))), "{anew:?}");
    world.stop().await;
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
