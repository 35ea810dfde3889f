//! Attacks on the secrecy of the permutations: errors that are put in and taken out at a guess, and
//! answers that would show where a row went.

use std::collections::BTreeMap;

use ostrakon_additive::three::epoch::{Opened, Unmixed};
use ostrakon_additive::three::messages::Kind;
use ostrakon_party::Header;
use ostrakon_testkit::Network;
use ostrakon_threeparty::pair::Pair;

use crate::digests::{body, compress, vector};
use crate::liar::Lies;
use crate::world::*;

const ROWS: u32 = 3;
const WIDTH: usize = 16;

/// The same error in two of a corrupt server's messages: at `first.1` bytes in the one, at
/// `second.1` bytes in the other.
fn twice(party: u8, first: (Kind, usize), second: (Kind, usize)) -> Lies {
    Lies::new(party, move |_, message| {
        let mut body = message.body.to_vec();
        let mut hit = false;
        for (kind, at) in [first, second] {
            if is(message, kind) {
                body[at] ^= 7;
                hit = true;
            }
        }
        hit.then_some(body)
    })
}

fn aborted(result: &Option<Result<Opened, Unmixed>>) -> Option<Pair> {
    match result {
        Some(Err(Unmixed::Aborted { pair, .. })) => *pair,
        Some(Ok(_)) => panic!("a board came out"),
        Some(Err(other)) => panic!("stopped otherwise: {other}"),
        None => panic!("still waiting"),
    }
}

fn all_stop(scene: &Scene, network: &Lies, corrupt: u8) {
    let results = scene.run(network);
    for honest in (0..3).filter(|id| *id != corrupt) {
        let pair = aborted(&results[usize::from(honest)]);
        assert!(pair.is_none_or(|pair| pair.contains(corrupt)), "{pair:?}");
    }
    for kind in [Kind::Ready, Kind::OpenB, Kind::OpenD, Kind::OpenZ1] {
        // The corrupt server's own code may be ready; no honest server opens.
        for honest in (0..3).filter(|id| *id != corrupt) {
            assert!(kind == Kind::Ready || !posted(network, honest, kind), "opened {kind:?}");
        }
    }
}

/// An error in one column and the same one, at every guess, in the other: one of the guesses is
/// where the unknown permutation takes the row. None survives, so survival tells nothing.
fn no_guess_survives(party: u8, kind: Kind, columns: [usize; 2]) {
    let scene = Scene::new(31, ROWS, WIDTH as u32);
    for row in 0..ROWS as usize {
        for guess in 0..ROWS as usize {
            let at = |column: usize, row: usize| (column * ROWS as usize + row) * 8;
            let (first, second) = ((kind, at(columns[0], row)), (kind, at(columns[1], guess)));
            all_stop(&scene, &twice(party, first, second), party);
        }
    }
}

/// P3 alters F and guesses where π12 takes the row in G.
#[test]
fn guess_pi12() {
    no_guess_survives(2, Kind::WordsFG, [0, 1]);
}

/// P2 alters Y and guesses where π1 takes the row in Z.
#[test]
fn guess_pi1() {
    no_guess_survives(1, Kind::WordsYZ, [0, 1]);
}

/// P1 alters B and guesses where π2 takes the row in B′.
#[test]
fn guess_pi2() {
    no_guess_survives(0, Kind::WordsB, [0, 1]);
}

/// The error that is put into a row.
const ERROR: [u8; WIDTH] = [0x55; WIDTH];

/// What a server adds to what its code says: by kind, from which byte on, what.
type Lie = BTreeMap<Kind, (usize, Vec<u8>)>;

/// An error in one row of a table, and in everything else that the table's sender says as if the
/// table were right: its words, its digests of others' words, what it opens. Only the table's own
/// check can find it.
fn marked(scene: &Scene, table: Kind, row: usize) -> Lie {
    let network = Network::default();
    scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
    let word = compress(&vector(&network), &ERROR);
    let at_row = (row * WIDTH, ERROR.to_vec());
    let mut lie = Lie::from([(table, at_row.clone())]);
    match table {
        Kind::Z2 => drop(lie.insert(Kind::WordsYZ, (row * 8, word.clone()))),
        Kind::Z1 => {
            let right = body(&network, Kind::WordsYZ);
            let mut words = right.clone();
            add(&mut words, &((ROWS as usize + row) * 8, word.clone()));
            let mut digest = Header::digest_of(&words).0.to_vec();
            add(&mut digest, &(0, Header::digest_of(&right).0.to_vec()));
            lie.insert(Kind::DigestYZ, (0, digest));
            lie.insert(Kind::WordsL, (row * 8, word.clone()));
            lie.insert(Kind::OpenZ1, at_row);
        }
        Kind::Delta => drop(lie.insert(Kind::WordsM, (row * 8, word.clone()))),
        _ => assert_eq!(table, Kind::S),
    }
    lie
}

fn add(to: &mut [u8], (at, error): &(usize, Vec<u8>)) {
    to[*at..].iter_mut().zip(error).for_each(|(byte, error)| *byte ^= error);
}

fn tells(party: u8, lie: Lie) -> Lies {
    Lies::new(party, move |_, message| {
        let (_, error) = lie.iter().find(|(kind, _)| is(message, **kind))?;
        let mut body = message.body.to_vec();
        add(&mut body, error);
        Some(body)
    })
}

/// P2 puts an error into z2, and takes it out of S at every guess. The checks of both tables stop
/// it, whatever the guess; with a check at the end only, the right guess would survive.
#[test]
fn cancel_at_a_guess() {
    let scene = Scene::new(32, ROWS, WIDTH as u32);
    for row in 0..ROWS as usize {
        for guess in 0..ROWS as usize {
            let mut lie = marked(&scene, Kind::Z2, row);
            lie.insert(Kind::S, (guess * WIDTH, ERROR.to_vec()));
            all_stop(&scene, &tells(1, lie), 1);
        }
    }
}

/// A server marks one row in a table of its own and stands by it; in the printed form it would find
/// it on the board.
#[test]
fn marked_share() {
    let scene = Scene::new(33, ROWS, WIDTH as u32);
    for (party, table) in [(1, Kind::Z2), (0, Kind::Z1), (2, Kind::Delta), (1, Kind::S)] {
        for row in 0..ROWS as usize {
            all_stop(&scene, &tells(party, marked(&scene, table, row)), party);
        }
    }
}

/// P3 alters U, which P2 would answer with Y: the difference would show π12. P2 waits for P1's
/// digest and answers nothing; so do P1 for A and P3 for L.
#[test]
fn false_u_before_its_digest() {
    let scene = Scene::new(34, ROWS, WIDTH as u32);
    let cases = [
        (2, Kind::WordsU, Kind::DigestU, 1, Kind::WordsYZ),
        (1, Kind::WordsA, Kind::DigestA, 0, Kind::WordsB),
        (0, Kind::WordsL, Kind::DigestL, 2, Kind::WordsM),
    ];
    for (corrupt, asked, digest, answering, answer) in cases {
        let network = Lies::new(corrupt, move |_, message| {
            let mut body = message.body.to_vec();
            is(message, asked).then(|| {
                body[3] ^= 9;
                body
            })
        });
        // The digest comes long after what it is of.
        network.schedule(move |_, message| u32::from(is(message, digest)) * 3);
        all_stop(&scene, &network, corrupt);
        assert!(!posted(&network, answering, answer), "{asked:?} was answered");
    }
}

/// P3 sends a wrong Δ and confirms whatever is said of it: P1's words are right, and P2 sees it.
#[test]
fn false_delta_confirmed() {
    let scene = Scene::new(35, ROWS, WIDTH as u32);
    let network = Lies::new(2, |_, message| {
        let mut body = message.body.to_vec();
        is(message, Kind::Delta).then(|| {
            body[5] ^= 1;
            body
        })
    });
    let results = scene.run(&network);
    assert_eq!(aborted(&results[1]), Some(Pair::P12), "P2 suspects P3 and is suspected");
    assert!(results[0].as_ref().unwrap().is_err());
}
