//! What a corrupt server causes does not depend on secrets: the same errors under the same coin,
//! with all keys, seeds and rows drawn anew, end alike, at the same steps.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_additive::three::epoch::Unmixed;
use ostrakon_additive::three::messages::{Kind, WORDS};
use ostrakon_crypto::Secret;
use ostrakon_kernels::Prg;
use ostrakon_party::{Header, PartyId, SessionId, Step, wire};
use ostrakon_testkit::Network;
use ostrakon_threeparty::pair::Pair;

use crate::liar::Lies;
use crate::world::*;

const ROWS: u32 = 4;
const WIDTH: usize = 16;

/// The engine's tables and words, by sender.
fn of_party(party: u8) -> Vec<Kind> {
    match party {
        0 => vec![Kind::Z1, Kind::WordsL, Kind::WordsB],
        1 => vec![Kind::Z2, Kind::S, Kind::WordsA, Kind::WordsYZ],
        _ => vec![Kind::Delta, Kind::WordsFG, Kind::WordsU, Kind::WordsM],
    }
}

/// A set of errors, and what the corrupt server's digests say.
#[derive(Clone, Debug)]
struct Deviation {
    party: u8,
    errors: BTreeMap<Kind, Vec<(usize, u8)>>,
    /// For a digest: whether it is what the words say that it is of, or random.
    digests: BTreeMap<Kind, bool>,
}

struct Draws(Prg, u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        let mut word = [0; 8];
        self.0.fill_at(self.1, &mut word);
        self.1 += 8;
        u64::from_le_bytes(word) % bound
    }
}

fn deviation(party: u8, draw: &mut Draws) -> Deviation {
    let mut errors = BTreeMap::new();
    for kind in of_party(party) {
        if draw.below(5) < 2 {
            // One cell, or the same error in two cells of one message.
            let body = match kind {
                Kind::Z1 | Kind::Z2 | Kind::S | Kind::Delta => ROWS as usize * (WIDTH + 8),
                Kind::WordsFG | Kind::WordsYZ | Kind::WordsB => ROWS as usize * 16,
                _ => ROWS as usize * 8,
            };
            let value = draw.below(255) as u8 + 1;
            let cells = 1 + draw.below(2);
            let places = (0..cells).map(|_| (draw.below(body as u64) as usize, value));
            errors.insert(kind, places.collect());
        }
    }
    let mut digests = BTreeMap::new();
    for route in WORDS.iter().filter(|route| route.second == party) {
        match draw.below(10) {
            0 => drop(digests.insert(route.digest, false)),
            1..=6 => drop(digests.insert(route.digest, true)),
            _ => {}
        }
    }
    Deviation { party, errors, digests }
}

/// Pair keys of a draw, in place of those of the set-up.
fn redraw(mut deployment: Deployment, draw: u64) -> Deployment {
    let session: SessionId = deployment.world.roster.session;
    for (party, batch) in (0u8..).zip(&mut deployment.batches) {
        let key = |pair: Pair| {
            let fields: [&[u8]; 2] = [&[pair.index() as u8], &draw.to_le_bytes()];
            *Secret::new([0x2b; 32]).derive("test pair key", &fields).expose()
        };
        let keys = Pair::of_party(party).map(key);
        *batch = wire::encode(&(party, session, BATCH, keys));
    }
    deployment
}

/// The same error in a word of row 0 and, in the other column of the same words, at every guess of
/// where the permutation that the server lacks takes the row. Who evaluated such words would tell
/// the right guess from the others.
fn guesses(party: u8) -> Vec<Deviation> {
    let kind = [Kind::WordsB, Kind::WordsYZ, Kind::WordsFG][usize::from(party)];
    let guessing = |guess| {
        let cells = vec![(0, 7), ((ROWS + guess) as usize * 8, 7)];
        Deviation { party, errors: [(kind, cells)].into(), digests: BTreeMap::new() }
    };
    (0..ROWS).map(guessing).collect()
}

type Ending = (Vec<Option<String>>, BTreeSet<(PartyId, Step)>);

/// How honest servers end, and what steps they post.
fn ending(scene: &Scene, deviation: &Deviation) -> Ending {
    // What honest makers say of words in this very run, for digests that match: everything is a
    // function of what is kept, so a first run tells.
    let said = run(scene, deviation, BTreeMap::new()).0;
    let mut matching = BTreeMap::new();
    for route in WORDS {
        if deviation.digests.get(&route.digest) == Some(&true)
            && let Some(words) = said.get(&route.kind)
        {
            matching.insert(route.digest, Header::digest_of(words).0.to_vec());
        }
    }
    run(scene, deviation, matching).1
}

fn run(
    scene: &Scene,
    deviation: &Deviation,
    matching: BTreeMap<Kind, Vec<u8>>,
) -> (BTreeMap<Kind, Vec<u8>>, Ending) {
    let planned = deviation.clone();
    let network = Lies::new(deviation.party, move |_, message| {
        for (kind, cells) in &planned.errors {
            if is(message, *kind) {
                let mut body = message.body.to_vec();
                cells.iter().for_each(|(at, value)| body[*at] ^= value);
                return Some(body);
            }
        }
        for (kind, matches) in &planned.digests {
            if is(message, *kind) {
                return if *matches { matching.get(kind).cloned() } else { Some(vec![1; 32]) };
            }
        }
        None
    });
    let results = scene.run(&network);
    let sent = network.sent();
    let words = WORDS.iter().filter_map(|route| {
        let found = sent.iter().find(|(_, m)| is(m, route.kind))?;
        Some((route.kind, found.1.body.to_vec()))
    });
    let honest = (0..3).filter(|id| *id != deviation.party);
    let ends = honest.map(|id| {
        results[usize::from(id)].as_ref().map(|result| match result {
            Ok(opened) => {
                assert!(rows_of(&opened.table, WIDTH) == scene.rows(), "{deviation:?}: wrong");
                "opened".to_owned()
            }
            Err(Unmixed::Aborted { by, pair }) => format!("aborted by {by}, {pair:?}"),
            Err(other) => other.to_string(),
        })
    });
    let ends = ends.collect();
    let steps = sent
        .iter()
        .map(|(_, m)| (m.signed.header.from, m.signed.header.tag.step))
        .filter(|(from, _)| from.0 != deviation.party);
    (words.collect(), (ends, steps.collect()))
}

fn no_outcome_depends_on_secrets(party: u8) {
    let deviations = if nightly() { 1000 } else { 10 };
    let redraws = if nightly() { 5 } else { 3 };
    let scenes: Vec<Scene> = (0..redraws)
        .map(|draw| Scene::drawn(redraw(Deployment::new(51), draw), ROWS, WIDTH as u32, draw))
        .collect();
    let network = Network::default();
    scenes[1].run(&network).iter().for_each(|result| scenes[1].assert_whole(result));
    let mut draw = Draws(Prg::new(&[party + 1; 32]), 0);
    let drawn = std::iter::repeat_with(|| deviation(party, &mut draw));
    let drawn = drawn.filter(|deviation| !deviation.errors.is_empty()).take(deviations);
    let (mut stopped, mut tried, mut checked) = (0, 0, 0);
    for deviation in guesses(party).into_iter().chain(drawn) {
        tried += 1;
        let first = ending(&scenes[0], &deviation);
        for scene in &scenes[1..] {
            assert_eq!(ending(scene, &deviation), first, "{deviation:?} depends on secrets");
        }
        // Tables with errors are stated as they are, so that the words are reached.
        checked += usize::from(first.1.iter().any(|(_, step)| {
            *step == Kind::WordsU.step()
                || *step == Kind::WordsA.step()
                || *step == Kind::WordsL.step()
        }));
        stopped += usize::from(first.0.iter().all(|end| end.as_deref() != Some("opened")));
    }
    assert_eq!(checked, tried, "every deviation reaches the checks");
    assert!(stopped * 10 >= tried * 8, "only {stopped} of {tried} stopped");
}

#[test]
fn secrets_redrawn_against_p1() {
    no_outcome_depends_on_secrets(0);
}

#[test]
fn secrets_redrawn_against_p2() {
    no_outcome_depends_on_secrets(1);
}

#[test]
fn secrets_redrawn_against_p3() {
    no_outcome_depends_on_secrets(2);
}
