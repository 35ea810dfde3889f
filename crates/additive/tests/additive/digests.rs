//! What the digests in E9's statements tell the server that lacks the message: it makes up every
//! message that a guess amounts to, the right guess included, and finds none of them stated.

use std::collections::BTreeSet;

use ostrakon_additive::three::keys::{BatchKeys, EpochKeys};
use ostrakon_additive::three::messages::Kind;
use ostrakon_additive::three::purposes::Purpose;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, linear_rows, short_prg};
use ostrakon_party::{Header, SignedHeader, wire};
use ostrakon_testkit::Network;
use ostrakon_threeparty::coin;
use ostrakon_threeparty::protocol::steps;

use crate::world::*;

const ROWS: usize = 4;
const WIDTH: usize = 16;
/// Bytes at a message's end that nobody but its makers can know.
const SALT: usize = 32;

fn orders(rows: usize) -> Vec<Vec<usize>> {
    (0..rows).fold(vec![Vec::new()], |orders, next| {
        let with = |order: Vec<usize>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        };
        orders.into_iter().flat_map(with).collect()
    })
}

/// What was posted of a kind.
pub fn body(network: &Network, kind: Kind) -> Vec<u8> {
    network.sent().iter().find(|(_, m)| is(m, kind)).expect("was posted").1.body.to_vec()
}

fn stated(network: &Network) -> BTreeSet<Digest> {
    let sent = network.sent();
    let statements = sent.iter().filter(|(_, m)| is(m, Kind::TableStatement));
    let headers = statements.flat_map(|(_, m)| wire::decode::<Vec<SignedHeader>>(&m.body).unwrap());
    headers.map(|signed| signed.header.digest).collect()
}

fn keys(scene: &Scene, server: usize) -> EpochKeys {
    BatchKeys::from_bytes(&scene.deployment.batches[server]).unwrap().epoch(&scene.spec)
}

fn stream(prg: &Prg, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    prg.fill(&mut out);
    out
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// Row i is row `order[i]`.
fn permuted(order: &[usize], table: &[u8]) -> Vec<u8> {
    let width = table.len() / order.len();
    order.iter().flat_map(|from| table[from * width..(from + 1) * width].to_vec()).collect()
}

/// The vector of the checks, from the coin that everybody knows by now.
pub fn vector(network: &Network) -> Vec<u64> {
    let sent = network.sent();
    let openings = sent.iter().filter(|(_, m)| m.signed.header.tag.step == steps::COIN_OPENING);
    let openings: BTreeSet<_> =
        openings.map(|(_, m)| (m.signed.header.from, m.body.to_vec())).collect();
    let coin = coin::joint_coin(openings.iter().map(|(_, body)| &body[..]));
    let seed = Secret::new(coin.0).derive("ostrakon/v1/clarion/check vector", &[]);
    let bytes = stream(&Prg::new(seed.expose()), WIDTH);
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The bytes of ⟨c, T⟩, for rows of 16 bytes.
pub fn compress(c: &[u64], table: &[u8]) -> Vec<u8> {
    let mut words = vec![0; table.len() / WIDTH];
    linear_rows(c, table, WIDTH, &mut words);
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// A message that follows from a guess is what was sent, but for the end, and no digest of it is
/// stated.
fn is_no_test(guesses: &[Vec<u8>], sent: &[u8], stated: &BTreeSet<Digest>) {
    let right = guesses.iter().filter(|guess| sent.starts_with(guess)).count();
    assert_eq!(right, 1, "the right guess is among them");
    assert!(stated.contains(&Header::digest_of(sent)));
    for guess in guesses {
        for end in [&[][..], &[0; SALT]] {
            let digest = Header::digest_of(&[guess, end].concat());
            assert!(!stated.contains(&digest), "a digest tells that a guess is right");
        }
    }
}

/// P3 knows all but π12 of z2, before anything is opened.
#[test]
fn p3_does_not_learn_who_wrote_what_from_z2() {
    let scene = Scene::new(61, ROWS as u32, WIDTH as u32);
    let network = Network::default();
    scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
    let keys = keys(&scene, 2);
    let mut s23 = Vec::new();
    for slot in 0..ROWS as u32 {
        let owner = participant(slot).verifying_key();
        // Of its two pairs P3 has P2's last.
        let [_, seed] = scene.registries[2].get(&owner).unwrap().seeds();
        let mut pad = [0; WIDTH];
        short_prg(&seed.pad(&scene.spec.context, slot, &owner), &mut pad);
        s23.extend(pad);
    }
    let own = |purpose, bytes| stream(&keys.prg(purpose), bytes);
    let guess = |order: &Vec<usize>| {
        let table = xor(&permuted(order, &s23), &own(Purpose::A, ROWS * WIDTH));
        let column = xor(&permuted(order, &own(Purpose::Q, ROWS * 8)), &own(Purpose::G, ROWS * 8));
        [table, column].concat()
    };
    let guesses: Vec<Vec<u8>> = orders(ROWS).iter().map(guess).collect();
    is_no_test(&guesses, &body(&network, Kind::Z2), &stated(&network));
}

/// P3 guesses rows and π12, hence z1 and S; the columns follow from check words that it has.
#[test]
fn p3_does_not_read_rows_from_z1_and_s() {
    let scene = Scene::new(62, ROWS as u32, WIDTH as u32);
    let network = Network::default();
    scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
    let (z1, s) = (body(&network, Kind::Z1), body(&network, Kind::S));
    let (yz, m) = (body(&network, Kind::WordsYZ), body(&network, Kind::WordsM));
    let table = |message: &[u8]| message[..ROWS * WIDTH].to_vec();
    let column = xor(&yz[ROWS * 8..], &compress(&vector(&network), &table(&z1)));
    is_no_test(&[[table(&z1), column].concat()], &z1, &stated(&network));
    let column = xor(&m, &compress(&vector(&network), &table(&s)));
    is_no_test(&[[table(&s), column].concat()], &s, &stated(&network));
}

/// P1 knows S and z1, after the opening d, and from B the column: all but π2 of Δ.
#[test]
fn p1_does_not_learn_who_wrote_what_from_delta() {
    let scene = Scene::new(63, ROWS as u32, WIDTH as u32);
    let network = Network::default();
    scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
    let (z1, s) = (body(&network, Kind::Z1), body(&network, Kind::S));
    let d = body(&network, Kind::OpenD).try_into().expect("a seed");
    let d = stream(&Prg::new(&d), ROWS * WIDTH);
    let b = body(&network, Kind::WordsB);
    let c = vector(&network);
    let guess = |order: &Vec<usize>| {
        let z1 = permuted(order, &z1[..ROWS * WIDTH]);
        let table = xor(&xor(&s[..ROWS * WIDTH], &d), &z1);
        let answered = xor(&permuted(order, &b[..ROWS * 8]), &b[ROWS * 8..]);
        let column = xor(&compress(&c, &table), &answered);
        [table, column].concat()
    };
    let guesses: Vec<Vec<u8>> = orders(ROWS).iter().map(guess).collect();
    is_no_test(&guesses, &body(&network, Kind::Delta), &stated(&network));
}
