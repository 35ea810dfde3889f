//! Who is asked, how often, and when that is enough.

use ostrakon_client::Millis;
use ostrakon_client::joining::{CanvassNews, JoiningAnswer, JoiningCall};
use ostrakon_crypto::Signature;
use ostrakon_protocol::decisions::{GatheringInfo, RequestsInfo};

use crate::time::{InTime, START};
use crate::world::{BUSY, LINK, NOBODY, SHOWN, TAKEN, World, look, request};

fn shown() -> JoiningAnswer {
    JoiningAnswer::Shown(GatheringInfo { gathering: "AAE".into(), word: None })
}

/// When it is over, and how many have done it.
fn done(world: World) -> (Millis, usize) {
    match world.end() {
        (at, CanvassNews::Done(answers)) => (at, answers.len()),
        (at, failed) => panic!("{at}: {failed:?}"),
    }
}

/// The server of which it is told that nobody has done it, and what it said.
fn failed(world: World) -> (u8, Option<(u16, String)>) {
    match world.end() {
        (_, CanvassNews::Failed { party, refusal }) => {
            (party.0, refusal.map(|refusal| (refusal.status, refusal.detail)))
        }
        (at, done) => panic!("{at}: {done:?}"),
    }
}

#[test]
fn all_servers_are_asked_at_the_same_time_and_once_if_all_answer() {
    let mut world = World::new(look(), [SHOWN; 3]);
    world.advance(500);
    assert_eq!(world.news, [(54, CanvassNews::Done(vec![shown(), shown(), shown()]))]);
    assert!(world.exchanges.iter().all(|one| one.at == 0 && one.body.is_none()));
    assert_eq!(world.asked(), [1; 3]);

    let (time, signature) = (5, Signature([0xab; 64]));
    let call = JoiningCall::Requests { link: LINK, time, signature };
    let (_, news) = World::new(call, [NOBODY; 3]).end();
    let nobody = JoiningAnswer::Requests(RequestsInfo { requests: Vec::new() });
    assert_eq!(news, CanvassNews::Done(vec![nobody; 3]));
}

#[test]
fn what_is_handed_in_goes_to_all_servers_where_the_specification_says() {
    let link = LINK.to_hex();
    let calls = [
        (JoiningCall::Keep(vec![0, 1]), "gatherings".to_owned(), (201, r#"{"id":"07"}"#)),
        (request(), format!("gatherings/{link}/requests"), TAKEN),
        (
            JoiningCall::Say { link: LINK, word: vec![0, 1] },
            format!("gatherings/{link}/word"),
            TAKEN,
        ),
    ];
    for (call, path, taken) in calls {
        let mut world = World::new(call, [taken; 3]);
        world.advance(500);
        assert_eq!(world.news, [(54, CanvassNews::Done(vec![JoiningAnswer::Taken; 3]))]);
        for one in &world.exchanges {
            assert_eq!((&one.path, one.body.as_deref()), (&path, Some("AAE")));
        }
    }
}

#[test]
fn once_two_have_done_it_the_third_holds_nobody_up_for_long() {
    for (call, answer) in [(look(), SHOWN), (request(), TAKEN)] {
        assert_eq!(done(World::new(call.clone(), [answer; 3]).away(&[0])), (54 + 1_500, 2));
        // It is asked again meanwhile, where that may be of use.
        let mut busy = World::new(call.clone(), [BUSY, answer, answer]);
        busy.advance(500);
        assert!((2..5).contains(&busy.asked()[0]), "{:?}", busy.asked());
        busy.doors[0].status = answer.0;
        busy.doors[0].answer = answer.1;
        assert_eq!(done(busy).1, 3);
        let refused = (403, "");
        assert_eq!(done(World::new(call, [refused, answer, answer])), (54, 2));
    }
}

#[test]
fn one_server_is_enough_where_the_others_are_given_up() {
    let refused = (403, "");
    assert_eq!(done(World::new(request(), [refused, TAKEN, refused])), (54, 1));
    let (at, count) = done(World::new(look(), [SHOWN; 3]).away(&[0, 2]));
    assert_eq!((at, count), (3_000, 1));
    let (at, count) = done(World::new(request(), [BUSY, BUSY, TAKEN]));
    assert_eq!((at, count), (12_000, 1));
    // It is the last one, and comes late.
    let mut late = World::new(look(), [SHOWN; 3]).away(&[0, 1]);
    late.doors[2].slow = 9_000;
    assert_eq!(done(late), (9_054 + 1_500, 1));
}

#[test]
fn what_passes_is_tried_again_for_a_while_and_what_does_not_is_not() {
    for (call, answer, patient) in [(look(), SHOWN, 3_000), (request(), TAKEN, 12_000)] {
        let mut busy = World::new(call.clone(), [BUSY; 3]);
        busy.advance(patient - 200);
        assert!(busy.news.is_empty());
        let pauses: Vec<_> = busy.exchanges.iter().map(|one| one.at).collect();
        assert!(pauses.iter().any(|at| *at > 1_000) && pauses.len() < 60, "{pauses:?}");
        for door in &mut busy.doors {
            (door.status, door.answer) = answer;
        }
        assert_eq!(done(busy).1, 3);
        let mut hopeless = World::new(call.clone(), [BUSY; 3]);
        hopeless.advance(patient + 2_000);
        assert!(matches!(&hopeless.news[..], [(_, CanvassNews::Failed { .. })]));
        let mut refusing = World::new(call, [(403, ""), (404, ""), (422, "")]);
        refusing.advance(60_000);
        assert_eq!(refusing.asked(), [1; 3]);
    }
}

#[test]
fn what_says_most_is_told_where_nobody_does_it() {
    let no = (422, r#"{"detail":"no"}"#);
    let told = |answers| failed(World::new(request(), answers));
    assert_eq!(told([BUSY, no, (403, "")]), (1, Some((422, "no".into()))));
    assert_eq!(told([BUSY, BUSY, BUSY]), (0, Some((429, "busy".into()))));
    let silent = World::new(request(), [BUSY; 3]).away(&[0, 1]);
    assert_eq!(failed(silent), (2, Some((429, "busy".into()))));
    assert_eq!(failed(World::new(request(), [BUSY; 3]).away(&[0, 1, 2])), (0, None));
    // What it has said it has said, though it says nothing any more.
    let mut fading = World::new(request(), [BUSY; 3]).away(&[0, 1]);
    fading.advance(500);
    fading.doors[2].slow = Millis::MAX / 2;
    assert_eq!(failed(fading), (2, Some((429, "busy".into()))));
}

#[test]
fn an_answer_that_is_none_counts_as_silence() {
    let page = (200, "<html>Sign in to this network</html>");
    for (call, wrong) in [
        (look(), page),
        (look(), NOBODY),
        (request(), page),
        (request(), (200, "")),
        (JoiningCall::Keep(vec![0]), page),
        (JoiningCall::Keep(vec![0]), (302, "")),
    ] {
        let mut world = World::new(call.clone(), [wrong; 3]);
        world.advance(2_000);
        assert!(world.news.is_empty() && world.asked()[0] > 1, "{call:?} {wrong:?}");
        assert_eq!(failed(world), (0, None), "{call:?} {wrong:?}");
    }
}

#[test]
fn what_comes_twice_or_after_the_end_counts_for_nothing() {
    let mut world = World::new(look(), [SHOWN; 3]).away(&[1, 2]);
    world.advance(50);
    for id in [0, 0, 7] {
        world.canvass.replied(START + 60, id, 200, SHOWN.1.as_bytes());
    }
    world.advance(10);
    assert!(world.news.is_empty(), "one server is not three");
    assert_eq!(done(world), (3_000, 1));
}
