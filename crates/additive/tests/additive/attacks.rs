//! Attacks by name: crashes, coins, copies, and what comes after Ready.

use std::sync::Arc;

use ostrakon_additive::client::Submission;
use ostrakon_additive::three::epoch::{Refused, Unmixed, check, may_have_opened, verify_signature};
use ostrakon_additive::three::fault::{Abort, Evidence, Fault};
use ostrakon_additive::three::messages::{Kind, Subject};
use ostrakon_crypto::Secret;
use ostrakon_kernels::{Prg, linear_rows, short_prg};
use ostrakon_party::{Header, Message, PartyId, SignedHeader, wire};
use ostrakon_testkit::{Network, Saboteur};
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::{Offence, Statement, coin};

use crate::liar::Lies;
use crate::world::*;

const WIDTH: usize = 16;

fn body_of(network: &Network, kind: Kind) -> Vec<u8> {
    let sent = network.sent();
    sent.iter().find(|(_, m)| is(m, kind)).expect("was posted").1.body.to_vec()
}

/// P1 gives P2, or P2 gives P1, a false seed at the opening: the other holder's is taken, and the
/// false one convicts. Different digests of it before the seal stop the epoch.
#[test]
fn false_b_seed() {
    let scene = Scene::new(11, 4, WIDTH as u32);
    for (corrupt, kind) in [(0, Kind::OpenB), (1, Kind::OpenD), (0, Kind::OpenZ1)] {
        let network = scene.deployment.corrupt(corrupt, move |_, message| {
            is(message, kind).then(|| vec![0xaa; message.body.len()])
        });
        let results = scene.run(&network);
        for honest in (0..3).filter(|id| *id != corrupt) {
            scene.assert_whole(&results[usize::from(honest)]);
        }
        let faults = results.iter().flatten().flat_map(|r| &r.as_ref().unwrap().faults);
        let faults: Vec<_> = faults.collect();
        assert_eq!(faults.len(), 1, "{kind:?}");
        assert_eq!(faults[0].culprit, PartyId(corrupt));
        assert!(faults[0].verify(&scene.deployment.world.roster));
    }
    for (corrupt, at) in [(0, 3 * 32), (2, 32), (2, 3 * 32), (1, 0), (0, 2 * 32)] {
        let network = scene.deployment.corrupt(corrupt, move |_, message| {
            let mut body = message.body.to_vec();
            is(message, Kind::SeedStatement).then(|| {
                body[at] ^= 1;
                body
            })
        });
        let results = scene.run(&network);
        for honest in (0..3).filter(|id| *id != corrupt) {
            match &results[usize::from(honest)] {
                Some(Err(Unmixed::Aborted { pair: Some(pair), .. })) => {
                    assert!(pair.contains(corrupt));
                }
                other => panic!("{:?}", other.as_ref().map(|r| r.as_ref().err())),
            }
        }
        assert!(!posted(&network, 1, Kind::Z2), "nothing was mixed");
    }
}

/// A corrupt sender lets the receiver of its table crash after it has answered, and sends another
/// one: the difference of two answers would be the receiver's permutation.
fn table_after_crash(sender: u8, table: Kind, receiver: u8, answer: Kind) {
    let scene = Scene::new(12, 4, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    let slots = |_| scene.slots.clone();
    let first = drops(&scene, sender, Kind::TableStatement);
    let stalled = scene.run_with(&first, slots, &marks);
    assert!(stalled.iter().any(Option::is_none));
    let before = body_of(&first, answer);
    let second = scene.deployment.corrupt(sender, move |_, message| {
        let mut body = message.body.to_vec();
        is(message, table).then(|| {
            body[..8 * WIDTH.min(4)].iter_mut().for_each(|byte| *byte ^= 0x3c);
            body
        })
    });
    let results = scene.run_with(&second, slots, &marks);
    let fault = scene.fault(&results[usize::from(receiver)]);
    assert_eq!(fault.culprit, PartyId(sender));
    assert!(!posted(&second, receiver, answer), "a second answer under one mask");
    assert!(!before.is_empty());
    assert!(marks.iter().all(|marks| !may_have_opened(&scene.spec, &marks.all())));
}

/// Who signs a table's header can make other signatures of the same header. What the receiver
/// states of it is the same after a crash, whichever signature it is given then: two statements
/// would convict it.
#[test]
fn a_table_signed_again_changes_no_statement() {
    let scene = Scene::new(25, 4, WIDTH as u32);
    let tables = [(0, Kind::Z2), (0, Kind::S), (1, Kind::Delta), (1, Kind::Z1)];
    for (receiver, table) in tables {
        let marks: [Memory; 3] = Default::default();
        let slots = |_| scene.slots.clone();
        scene.run_with(&drops(&scene, 2, Kind::TableStatement), slots, &marks);
        // As if this had been the signature that came first.
        let what = format!("received {:04x}", table.step().0);
        let standing = {
            let mut marks = marks[receiver].0.lock().unwrap();
            let (_, mark) = marks.iter_mut().find(|(name, _)| name.ends_with(&what)).unwrap();
            let mut standing: SignedHeader = wire::decode(mark).unwrap();
            standing.signature.0[0] ^= 1;
            *mark = wire::encode(&standing);
            standing
        };
        let again = Network::default();
        scene.run_with(&again, slots, &marks);
        let sent = again.sent();
        let from = PartyId(receiver as u8);
        let own = |m: &Message| is(m, Kind::TableStatement) && m.signed.header.from == from;
        let (_, statement) = sent.iter().find(|(_, m)| own(m)).unwrap();
        let headers: Vec<SignedHeader> = wire::decode(&statement.body).unwrap();
        assert!(headers.contains(&standing), "{table:?} is stated in another way");
    }
}

/// P2, who knows π12 and π2, would read π1 from two z1.
#[test]
fn z2_after_crash() {
    table_after_crash(1, Kind::Z2, 0, Kind::Z1);
}

/// P1, who knows π12 and π1, would read π2 from two S. The paper's form has no S; the mask d is
/// used once only because z1 is marked.
#[test]
fn z1_after_crash() {
    table_after_crash(0, Kind::Z1, 1, Kind::S);
}

/// P3 sends another Δ after a crash of P2: the difference of two S is known to P3, but P2 would
/// answer for two tables.
#[test]
fn delta_after_crash() {
    table_after_crash(2, Kind::Delta, 1, Kind::S);
}

/// P2 learns the coin, lets P1 crash, and sends a z2 whose error passes the check with this coin.
#[test]
fn table_exchanged_after_coin() {
    let scene = Scene::new(13, 4, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    let slots = |_| scene.slots.clone();
    let first = drops(&scene, 1, Kind::WordsA);
    scene.run_with(&first, slots, &marks);
    let sent = first.sent();
    let mut openings: Vec<(PartyId, Vec<u8>)> = sent
        .iter()
        .filter(|(_, m)| m.signed.header.tag.step == steps::COIN_OPENING)
        .map(|(_, m)| (m.signed.header.from, m.body.to_vec()))
        .collect();
    openings.sort();
    openings.dedup();
    let coin = coin::joint_coin(openings.iter().map(|(_, body)| &body[..]));
    let seed = Secret::new(coin.0).derive("ostrakon/v1/clarion/check vector", &[]);
    let mut c = [0; WIDTH];
    Prg::new(seed.expose()).fill(&mut c);
    let (words, _) = c.as_chunks::<8>();
    let c: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let error = [0x11; WIDTH];
    let mut compressed = [0];
    linear_rows(&c, &error, WIDTH, &mut compressed);
    let second = Lies::new(1, move |_, message| {
        let mut body = message.body.to_vec();
        is(message, Kind::Z2).then(|| {
            let column = 4 * WIDTH;
            body[..WIDTH].iter_mut().zip(error).for_each(|(byte, e)| *byte ^= e);
            let bytes = compressed[0].to_le_bytes();
            body[column..column + 8].iter_mut().zip(bytes).for_each(|(byte, e)| *byte ^= e);
            body
        })
    });
    let results = scene.run_with(&second, slots, &marks);
    assert_eq!(scene.fault(&results[0]).culprit, PartyId(1));
    assert!(!posted(&second, 0, Kind::Z1), "an answer to another table");
    assert!([0, 2].iter().all(|honest| !matches!(results[*honest], Some(Ok(_)))));
}

/// A server says of its own table that it was another one than it sent: it has signed two.
#[test]
fn a_table_is_stated_otherwise_than_it_was_sent() {
    let scene = Scene::new(14, 4, WIDTH as u32);
    for corrupt in 0..3 {
        let key = scene.deployment.world.key(PartyId(corrupt));
        let network = scene.deployment.corrupt(corrupt, move |_, message| {
            is(message, Kind::TableStatement).then(|| {
                let mut headers: Vec<SignedHeader> = wire::decode(&message.body).unwrap();
                let own = |signed: &&mut SignedHeader| signed.header.from == PartyId(corrupt);
                let signed = headers.iter_mut().find(own).expect("it sends a table");
                signed.header.digest.0[0] ^= 1;
                *signed = signed.header.sign(&key);
                wire::encode(&headers)
            })
        });
        let results = scene.run(&network);
        for honest in (0..3).filter(|id| *id != corrupt) {
            let fault = scene.fault(&results[usize::from(honest)]);
            assert_eq!(fault.culprit, PartyId(corrupt), "by {honest}");
        }
    }
}

/// After Ready a corrupt P2 says nothing more, or says that it has stopped: P1 has S already and
/// the two others open the same board.
#[test]
fn deny_s_after_ready() {
    let scene = Scene::new(16, 4, WIDTH as u32);
    for kind in [Kind::OpenD, Kind::Collection] {
        let results = scene.run(&drops(&scene, 1, kind));
        [0, 2].iter().for_each(|honest| scene.assert_whole(&results[*honest]));
    }
}

/// P2's Ready goes to one of the others alone, and its Abort to the other one, who is ready and has
/// no collection yet, or has one already: if one opens, the other one does.
#[test]
fn abort_after_ready() {
    let scene = Scene::new(16, 4, WIDTH as u32);
    let key = scene.deployment.world.key(PartyId(1));
    for (ready_to, late) in [(0u8, true), (0, false), (2, true), (2, false)] {
        let network = Network::default();
        let hidden = PartyId(2 - ready_to);
        network.corrupt(Saboteur::rewriting(PartyId(1), key.clone(), move |to, m| {
            // Another vote counts as none; so does an empty collection.
            let hides = is(m, Kind::Ready) && to == hidden || is(m, Kind::Collection);
            hides.then(|| vec![0; if is(m, Kind::Ready) { 32 } else { 0 }])
        }));
        // A late collection comes after the Abort.
        network.schedule(move |_, m| if is(m, Kind::Collection) && late { 3 } else { 0 });
        let abort = made(&scene, PartyId(1), Kind::Abort, wire::encode(&Abort::Told));
        network.inject(hidden, abort, 2);
        let results = scene.run(&network);
        [0, 2].iter().for_each(|honest| scene.assert_whole(&results[*honest]));
        assert_eq!(posted(&network, hidden.0, Kind::Withdrawn), late, "who is told says so");
    }
}

/// One participant's submission in the name of another: neither MAC nor signature is right.
#[test]
fn replay_other_key() {
    let scene = Scene::new(17, 4, WIDTH as u32);
    let theirs = scene.slots[0].submission.clone().unwrap();
    for server in (0..3).map(PartyId) {
        let registry = &scene.registries[server.index()];
        let at = |slot: u32, owner: u32, submission: &Submission| {
            let owner = participant(owner).verifying_key();
            check(server, &scene.spec, slot, &owner, submission, registry)
        };
        assert_eq!(at(0, 0, &theirs), Ok(()));
        assert_eq!(at(1, 0, &theirs), Err(Refused::Owner), "another slot");
        assert_eq!(at(1, 1, &theirs), Err(Refused::Registration));
        let mut renamed = theirs.clone();
        renamed.registration = scene.registrations[1];
        assert_eq!(at(1, 1, &renamed), Err(Refused::Owner));
        assert!(!verify_signature(&scene.spec, 1, &participant(1).verifying_key(), &renamed));
        assert!(verify_signature(&scene.spec, 0, &participant(0).verifying_key(), &theirs));
        let mut narrow = theirs.clone();
        narrow.padded.pop();
        assert_eq!(at(0, 0, &narrow), Err(Refused::Width));
        let mut later = scene.spec;
        later.round += 1;
        let owner = participant(0).verifying_key();
        assert_eq!(check(server, &later, 0, &owner, &theirs, registry), Err(Refused::Round));
    }
}

/// What is sealed is padded with the seeds that all servers hold: a row that names another
/// registration than that of these seeds is left out, whatever its MACs and its signature say.
#[test]
fn a_row_for_another_registration() {
    let mut scene = Scene::new(27, 4, WIDTH as u32);
    let (agreed, other) = (scene.registrations[1], scene.registrations[2]);
    scene.registrations[1] = other;
    scene.slots[1].submission = Some(scene.submit(1, &scene.row(1)));
    scene.registrations[1] = agreed;
    for result in scene.run(&Network::default()) {
        let opened = result.unwrap().unwrap();
        assert_eq!(opened.accepted, 3);
        assert!(!rows_of(&opened.table, WIDTH).contains(&scene.row(1)));
    }
}

/// A participant submits, under its own key, the padded row of another one: pads are bound to the
/// key, so the row does not come out twice.
#[test]
fn copied_body() {
    let mut scene = Scene::new(18, 4, WIDTH as u32);
    let copied = scene.slots[0].submission.clone().unwrap().padded;
    let own_pads = scene.submit(1, &[0; WIDTH]).padded;
    let row: Vec<u8> = copied.iter().zip(&own_pads).map(|(a, b)| a ^ b).collect();
    scene.slots[1].submission = Some(scene.submit(1, &row));
    assert_eq!(scene.slots[1].submission.as_ref().unwrap().padded, copied);
    for result in scene.run(&Network::default()) {
        let table = result.unwrap().unwrap().table;
        let rows = rows_of(&table, WIDTH);
        assert_eq!(rows.iter().filter(|row| **row == scene.row(0)).count(), 1);
        assert_eq!(rows.iter().filter(|found| **found == row).count(), 1, "noise in its place");
    }
}

/// A corrupt server lists its target's submission only, or nothing: two lists are enough.
#[test]
fn drop_all_but_one() {
    let scene = Scene::new(19, 5, WIDTH as u32);
    for corrupt in 0..3 {
        let results = scene.run_with(
            &Network::default(),
            |party| {
                let mut slots = scene.slots.clone();
                if party == PartyId(corrupt) {
                    slots.iter_mut().skip(1).for_each(|slot| slot.submission = None);
                }
                slots
            },
            &Default::default(),
        );
        results.iter().for_each(|result| scene.assert_whole(result));
    }
}

/// The pad of a participant's row that the two servers of a pair know.
fn pad(scene: &Scene, pair: Pair, slot: u32) -> Vec<u8> {
    let seed = &scene.seeds[slot as usize].0[pair.index()];
    let owner = participant(slot).verifying_key();
    let mut pad = vec![0; WIDTH];
    short_prg(&seed.pad(&scene.spec.context, slot, &owner), &mut pad);
    pad
}

fn sum(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// A submission that one server alone holds is not sealed. That server has all of its row but the
/// pad of the two others. Noise of the others' seeds, as it would stand for a slot that is sealed
/// without its body, is that pad, and would give it the row: so there is none, neither on the board
/// nor on the way, and with no row of the board comes out what was handed in late.
#[test]
fn late_submission() {
    let scene = Scene::new(20, 5, WIDTH as u32);
    let late = 2;
    let (handed_in, row) = (scene.slots[2].submission.clone().unwrap().padded, scene.row(late));
    for corrupt in (0..3).map(PartyId) {
        let own = Pair::of_party(corrupt.0).map(|pair| pad(&scene, pair, late));
        let left = own.iter().fold(handed_in.clone(), |left, pad| sum(&left, pad));
        let noise = pad(&scene, Pair::without(corrupt.0), late);
        assert_ne!(left, row, "it lacks a pad");
        assert_eq!(sum(&left, &noise), row, "and would have it from noise");
        let network = Network::default();
        let slots = |party: PartyId| {
            let mut slots = scene.slots.clone();
            if party != corrupt {
                slots[late as usize].submission = None;
            }
            slots
        };
        for result in scene.run_with(&network, slots, &Default::default()) {
            scene.assert_whole_but(&[late], &result);
            let opened = result.unwrap().unwrap();
            assert_eq!(opened.accepted, 4);
            let rows = rows_of(&opened.table, WIDTH);
            assert!(rows.iter().all(|other| sum(&left, other) != row));
        }
        let shown = |body: &[u8]| body.windows(WIDTH).any(|bytes| bytes == noise);
        assert!(network.sent().iter().all(|(_, message)| !shown(&message.body)));
    }
}

/// A participant's MACs are right and its signature is not: its submission, which reaches two
/// servers, is accepted and stops nobody, not even who has it from the two.
#[test]
fn an_invalid_signature_beside_right_macs_stops_nothing() {
    let mut scene = Scene::new(22, 4, WIDTH as u32);
    scene.slots[1].submission.as_mut().unwrap().signature.0[0] ^= 1;
    for lacking in (0..3).map(PartyId) {
        let results = scene.run_with(
            &Network::default(),
            |party| {
                let mut slots = scene.slots.clone();
                if party == lacking {
                    slots[1].submission = None;
                }
                slots
            },
            &Default::default(),
        );
        results.iter().for_each(|result| scene.assert_whole(result));
    }
}

/// A corrupt server stops the epoch with a reason that it makes up: nobody honest is convicted, and
/// no pair of honest servers is suspected.
#[test]
fn an_invented_reason_suspects_no_honest_pair() {
    let scene = Scene::new(23, 4, WIDTH as u32);
    let subject = Subject::Epoch(scene.spec);
    let fault = Fault {
        culprit: PartyId(0),
        subject,
        evidence: Evidence::Offence(Offence::Malformed(Box::new(Statement {
            signed: made(&scene, PartyId(2), Kind::Ready, vec![0; 32]).signed,
            body: vec![0; 32],
        }))),
    };
    let reasons = [
        Abort::Keys(Pair::P01),
        Abort::Table(Kind::Z1),
        Abort::Words(Kind::WordsB),
        Abort::Fault(Box::new(fault)),
    ];
    for reason in reasons {
        let network = Network::default();
        let message = made(&scene, PartyId(2), Kind::Abort, wire::encode(&reason));
        for honest in [0, 1] {
            network.inject(PartyId(honest), message.clone(), 0);
        }
        // The words of all come later than that.
        network.schedule(|_, m| u32::from(WORDS.iter().any(|kind| is(m, *kind))) * 2);
        let results = scene.run(&network);
        for honest in [0, 1] {
            match &results[honest] {
                Some(Err(Unmixed::Aborted { pair, .. })) => {
                    assert!(pair.is_none_or(|pair| pair.contains(2)), "{reason:?}: {pair:?}");
                }
                Some(Err(other)) => panic!("{reason:?}: {other}"),
                Some(Ok(_)) => panic!("{reason:?}: not stopped"),
                None => panic!("{reason:?}: still waiting"),
            }
        }
    }
}

/// A server's statement to all.
fn made(scene: &Scene, from: PartyId, kind: Kind, body: Vec<u8>) -> Message {
    let world = &scene.deployment.world;
    let header = Header {
        session: world.roster.session,
        tag: Subject::Epoch(scene.spec).tag(kind),
        from,
        to: ostrakon_party::Recipient::All,
        length: body.len() as u64,
        digest: Header::digest_of(&body),
    };
    Message { signed: header.sign(&world.key(from)), body: body.into(), depth: 0 }
}

/// Two submissions of one participant for one slot drop the slot and convict nobody.
#[test]
fn a_participant_who_says_two_things_is_dropped() {
    let scene = Scene::new(21, 5, WIDTH as u32);
    let other = Arc::new(scene.submit(2, &[0x42; WIDTH]));
    let results = scene.run_with(
        &Network::default(),
        |party| {
            let mut slots = scene.slots.clone();
            if party == PartyId(1) {
                slots[2].submission = Some((*other).clone());
            }
            slots
        },
        &Default::default(),
    );
    for result in results {
        let opened = result.unwrap().unwrap();
        assert_eq!(opened.accepted, 4);
        assert!(opened.faults.is_empty());
        assert!(rows_of(&opened.table, WIDTH).iter().all(|row| *row != scene.row(2)));
    }
}
