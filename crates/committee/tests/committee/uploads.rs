//! Inputs that come in pieces.

use ostrakon_committee::{Refused, Uploaded};
use ostrakon_computation::{Announced, ComputationId, Draft, Input, SignedDraft};
use ostrakon_crypto::Digest;
use ostrakon_graph::asked::{JOB, Naming, Program, Shown, Terms, parameters};

use crate::graphs::contribution;
use crate::world::{World, key, now, pass};

fn terms() -> Terms {
    let (program, shown) = (Program::InDegrees, Shown::Vertices);
    let (naming, undirected, weighted) = (Naming::Numbers, false, false);
    let (noise, reader, keep) = (None, None, None);
    Terms {
        vertices: 500,
        naming,
        edges: 1500,
        undirected,
        weighted,
        program,
        shown,
        noise,
        reader,
        keep,
    }
}

fn ask(world: &World, change: impl Fn(&mut Draft)) -> SignedDraft {
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&terms());
        change(draft);
    })
}

/// What the contributor with this key's seed tells a member.
fn announced(
    world: &World,
    id: &ComputationId,
    input: &Input,
    (seed, member): (u8, usize),
) -> Announced {
    Announced::sign(id, input, &world.committee.members[member].key, &key(seed))
}

fn held(uploaded: Uploaded) -> (Digest, u64) {
    let Uploaded::Held { upload, bytes } = uploaded else { panic!("{uploaded:?}") };
    (upload, bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_upload_goes_on_where_it_stopped_also_after_a_restart() {
    let mut world = World::start_graphs(3).await;
    let draft = ask(&world, |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let input = contribution(&world, &draft.draft, 1, &[(0, 1), (2, 1)]);
    let (body, head) = (&input.body, announced(&world, &id, &input, (1, 0)));
    let (upload, at) = held(world.members[0].announce(&id, head).await.unwrap());
    assert_eq!(at, 0);
    assert_eq!(world.members[0].piece(&id, &upload, 0, &body[..9000]).await.unwrap(), 9000);
    // Neither a gap nor more than was announced; and what was confirmed may come again.
    let wrong = [
        (9001, &body[9001..9002]),
        (9000, &vec![0; body.len()][..]),
        (u64::MAX, &body[..9]),
        (u64::MAX - 8, &body[..9]),
    ];
    for (at, piece) in wrong {
        let refused = world.members[0].piece(&id, &upload, at, piece).await;
        assert!(matches!(refused, Err(Refused::Conflict(_))), "{at}: {refused:?}");
    }
    assert_eq!(world.members[0].piece(&id, &upload, 0, &body[..9000]).await.unwrap(), 9000);
    assert!(world.members[0].piece(&id, &Digest([1; 32]), 9000, &body[9000..]).await.is_err());
    world.restart(0).await;
    let member = &world.members[0];
    assert_eq!(held(member.announce(&id, head).await.unwrap()), (upload, 9000));
    assert_eq!(member.view(&id).unwrap().inputs, 0, "half an input is none");
    let end = body.len() as u64;
    assert_eq!(member.piece(&id, &upload, 9000, &body[9000..]).await.unwrap(), end);
    let Uploaded::Receipt(receipt) = member.announce(&id, head).await.unwrap() else {
        panic!("it is complete")
    };
    assert_eq!(receipt, member.submit(&id, input.clone()).await.unwrap(), "as for the whole");
    assert_eq!(member.announce(&id, head).await.unwrap(), Uploaded::Receipt(receipt));
    world.submit(&contribution(&world, &draft.draft, 2, &[(3, 1)])).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    let result = ostrakon_graph::asked::result(&archive).unwrap().unwrap();
    assert_eq!((result.accepted, result.values.counts().pop()), (2, Some((Some(3), 1))));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_take_no_more_room_than_was_asked_for_and_only_of_who_may_contribute() {
    let world = World::start_graphs(3).await;
    let keys = [1, 2].map(|seed| key(seed).verifying_key());
    let draft = ask(&world, |draft| {
        draft.contributors = keys.into_iter().collect();
        draft.closes = Some(now() + 10_000);
    });
    let id = draft.draft.id();
    world.create(&draft).await;
    let member = &world.members[0];
    let input = contribution(&world, &draft.draft, 1, &[(0, 1)]);
    let stranger = contribution(&world, &draft.draft, 9, &[(0, 1)]);
    let head = announced(&world, &id, &input, (1, 0));
    let uninvited = announced(&world, &id, &stranger, (9, 0));
    assert!(matches!(member.announce(&id, uninvited).await, Err(Refused::Forbidden(_))));
    let mut forged = head;
    forged.entry.body = Digest([3; 32]);
    assert!(matches!(member.announce(&id, forged).await, Err(Refused::Unsound(_))));
    for bytes in [1 << 40, input.body.len() + 1, input.body.len() - 1] {
        let other = Input::sign(&id, vec![0; bytes.min(1 << 20)], &key(1));
        let mut other = announced(&world, &id, &other, (1, 0));
        if bytes > 1 << 20 {
            other.bytes = bytes as u64;
        }
        let refused = member.announce(&id, other).await;
        assert!(matches!(refused, Err(Refused::Unsound(_))), "{bytes}: {refused:?}");
    }
    // Pieces of something else than was announced are forgotten, and it can be sent again.
    let (upload, _) = held(member.announce(&id, head).await.unwrap());
    member.piece(&id, &upload, 0, &vec![7; input.body.len()]).await.unwrap();
    assert!(matches!(member.announce(&id, head).await, Err(Refused::Unsound(_))));
    let (again, at) = held(member.announce(&id, head).await.unwrap());
    assert!(again != upload && at == 0);
    // Nothing is taken after the close.
    pass(10_001);
    world.result(&id).await;
    let late = member.piece(&id, &again, 0, &input.body).await;
    assert!(matches!(late, Err(Refused::NotFound(_))), "{late:?}");
    assert!(matches!(member.announce(&id, head).await, Err(Refused::Conflict(_))));
    world.stop().await;
}

/// Attack: a member shows another one what a contributor has announced to it, as it was or with
/// another length, to send pieces of its own or to have the contributor's forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_announced_to_one_member_is_worth_nothing_at_another() {
    let world = World::start_graphs(3).await;
    let draft = ask(&world, |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let input = contribution(&world, &draft.draft, 1, &[(0, 1), (2, 1)]);
    let [own, told] = [0, 1].map(|member| announced(&world, &id, &input, (1, member)));
    let member = &world.members[0];
    let (upload, _) = held(member.announce(&id, own).await.unwrap());
    member.piece(&id, &upload, 0, &input.body[..9000]).await.unwrap();
    for bytes in [told.bytes, told.bytes + 1, told.bytes - 1] {
        let replayed = member.announce(&id, Announced { bytes, ..told }).await;
        assert!(matches!(replayed, Err(Refused::Unsound(_))), "{replayed:?}");
    }
    member.awaits(&id, &upload).await.expect("the contributor's is as it was");
    member.piece(&id, &upload, 9000, &input.body[9000..]).await.unwrap();
    let taken = member.announce(&id, own).await.unwrap();
    assert!(matches!(taken, Uploaded::Receipt(_)), "{taken:?}");
    assert!(matches!(member.awaits(&id, &upload).await, Err(Refused::NotFound(_))));
    world.stop().await;
}

/// What is announced while a member closes comes before the close, and is erased, or after it, and
/// is refused.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_announced_around_the_close_survives_it() {
    let world = World::start_graphs(3).await;
    for round in 0..6 {
        let draft = ask(&world, |draft| draft.closes = Some(now() + 10));
        let id = draft.draft.id();
        world.create(&draft).await;
        let inputs =
            [1, 2, 3, 4, 5].map(|seed| (seed, contribution(&world, &draft.draft, seed, &[(0, 1)])));
        let member = &world.members[0];
        pass(10);
        let closed = || member.view(&id).unwrap().members[0].closed;
        while !closed() {
            for (seed, input) in &inputs {
                let _ = member.announce(&id, announced(&world, &id, input, (*seed, 0))).await;
            }
        }
        let phases = async {
            while world.rows(0, "uploads").await > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let erased = tokio::time::timeout(std::time::Duration::from_secs(5), phases).await;
        assert!(erased.is_ok(), "round {round}: something is left");
    }
    world.stop().await;
}
