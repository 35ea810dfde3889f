//! Rows of all kinds are alike to whoever lacks the keys: distinguishers, each shown to find what
//! it is for.

use std::collections::BTreeSet;

use rand_core::Rng;

use super::{ROOM, WIDTH, World, generator};
use crate::dial::{self, Place};
use crate::params::{ADDRESS, CYCLE, VERSION};
use crate::{Event, MessageState, Turn};

/// How often each bit of rows is set, behind the version that is the same in all.
fn frequencies(rows: &[Vec<u8>]) -> Vec<f64> {
    let mut set = vec![0u32; 8 * (WIDTH - 1)];
    for row in rows {
        assert_eq!((row.len(), row[0]), (WIDTH, VERSION));
        for (at, count) in set.iter_mut().enumerate() {
            *count += u32::from(row[1 + at / 8] >> (at % 8) & 1);
        }
    }
    set.into_iter().map(|count| f64::from(count) / rows.len() as f64).collect()
}

/// The places of bits that are set in one lot of rows more often than in the other, by more than
/// chance explains.
///
/// Hoeffding: the frequencies of one fair or unfair bit in m and n rows differ by t or more with
/// probability 2·exp(−2t² / (1/m + 1/n)) at most; t is such that with all 2,024 bits together that
/// happens in one comparison of a million. With 400 rows each t is 0.24, so that a bit that is
/// always the same in one lot and fair in the other is found but with a probability below 10⁻²⁴.
fn distinguished(one: &[Vec<u8>], other: &[Vec<u8>]) -> Vec<(usize, usize)> {
    let (ones, others) = (frequencies(one), frequencies(other));
    let rows = 1.0 / (1.0 / one.len() as f64 + 1.0 / other.len() as f64);
    let far = ((2.0 * ones.len() as f64 * 1e6).ln() / (2.0 * rows)).sqrt();
    assert!(far < 0.25, "too few rows to find a bit that is always the same");
    let differ = ones.iter().zip(&others).map(|(one, other)| (one - other).abs() > far);
    let places = differ.enumerate().filter(|(_, differ)| *differ);
    places.map(|(at, _)| (1 + at / 8, at % 8)).collect()
}

/// Rows of random bytes, as covers of channels' rounds are.
fn random(count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = generator(seed);
    let row = |_| {
        let mut row = vec![0; WIDTH];
        rng.fill_bytes(&mut row);
        row[0] = VERSION;
        row
    };
    (0..count).map(row).collect()
}

/// Rows whose keys are no keys: of random bytes half are on the curve.
fn without_key(rows: &[Vec<u8>]) -> usize {
    let is_key = |row: &Vec<u8>| curve(row[1..33].try_into().unwrap()) && row[32] & 0x80 == 0;
    rows.iter().filter(|row| !is_key(row)).count()
}

/// The distinguishers find each bit that is always the same, and nothing in what is random.
#[test]
fn the_distinguishers_find_one_constant_bit() {
    let (one, other) = (random(400, 40), random(400, 41));
    assert_eq!(distinguished(&one, &other), []);
    for (byte, bit) in [(1, 0), (1, 7), (16, 3), (17, 0), (WIDTH - 1, 1)] {
        for set in [0, 1] {
            let mut planted = other.clone();
            planted.iter_mut().for_each(|row| row[byte] = row[byte] & !(1 << bit) | set << bit);
            assert_eq!(distinguished(&one, &planted), [(byte, bit)]);
        }
    }
}

/// Whether these bytes are the u-coordinate of a point of Curve25519, not of its twist: whether
/// u³ + 486662·u² + u is a square. What a distinguisher of keys from random bytes would test.
fn curve(bytes: &[u8; 32]) -> bool {
    on_curve::test(bytes)
}

mod on_curve {
    /// Numbers modulo 2^255 − 19 in four words, slow and plain.
    type Number = [u64; 4];
    const P: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

    fn reduce(mut wide: [u64; 8]) -> Number {
        for _ in 0..2 {
            let mut carry = 0u128;
            for at in 0..4 {
                let sum = u128::from(wide[at]) + 38 * u128::from(wide[at + 4]) + carry;
                wide[at] = sum as u64;
                carry = sum >> 64;
            }
            wide[4..].fill(0);
            wide[4] = carry as u64;
        }
        let mut carry = 38 * u128::from(wide[4]);
        let mut out = [0; 4];
        for at in 0..4 {
            let sum = u128::from(wide[at]) + carry;
            out[at] = sum as u64;
            carry = sum >> 64;
        }
        while out.iter().rev().ge(P.iter().rev()) {
            out = minus(out);
        }
        out
    }

    fn minus(from: Number) -> Number {
        let mut borrow = 0i128;
        let mut out = [0; 4];
        for at in 0..4 {
            let difference = i128::from(from[at]) - i128::from(P[at]) + borrow;
            out[at] = difference as u64;
            borrow = difference >> 64;
        }
        out
    }

    fn times(one: &Number, other: &Number) -> Number {
        let mut wide = [0u64; 8];
        for (i, x) in one.iter().enumerate() {
            let mut carry = 0u128;
            for (j, y) in other.iter().enumerate() {
                let sum = u128::from(wide[i + j]) + u128::from(*x) * u128::from(*y) + carry;
                wide[i + j] = sum as u64;
                carry = sum >> 64;
            }
            wide[i + 4] = carry as u64;
        }
        reduce(wide)
    }

    fn plus(one: &Number, other: &Number) -> Number {
        let mut wide = [0u64; 8];
        let mut carry = 0u128;
        for at in 0..4 {
            let sum = u128::from(one[at]) + u128::from(other[at]) + carry;
            wide[at] = sum as u64;
            carry = sum >> 64;
        }
        wide[4] = carry as u64;
        reduce(wide)
    }

    pub fn test(bytes: &[u8; 32]) -> bool {
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
        let u = [word(0), word(1), word(2), word(3) & u64::MAX >> 1];
        let square = times(&u, &u);
        let value = plus(&plus(&times(&square, &u), &times(&square, &[486_662, 0, 0, 0])), &u);
        // Euler: a square has value^((p − 1)/2) = 1; (p − 1)/2 = 2^254 − 10.
        let mut power = [1, 0, 0, 0];
        let exponent = [u64::MAX - 9, u64::MAX, u64::MAX, u64::MAX >> 2];
        for bit in (0..256).rev() {
            power = times(&power, &power);
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 {
                power = times(&power, &value);
            }
        }
        power == [1, 0, 0, 0] || power == [0; 4]
    }
}

/// The distinguisher tells keys from random bytes: about half of the latter are on the curve.
#[test]
fn the_distinguisher_of_keys_works() {
    let mut rng = generator(4);
    let mut random = [[0; 32]; 60];
    random.iter_mut().for_each(|bytes| rng.fill_bytes(bytes));
    let on = random.iter().filter(|bytes| curve(bytes)).count();
    assert!((15..=45).contains(&on), "{on} of 60");
    let key = |_| dial::fresh(&mut rng).exchange().public();
    assert!((0..20).map(key).all(|key| curve(&key)));
}

/// Rows of covers, calls and answers have one length, carry keys that all are keys, and agree in
/// every bit's frequency.
#[test]
fn dial_cover_distinguisher() {
    let place = Place { room: &ROOM, round: 4, width: WIDTH };
    let mut world = World::new(2, 5);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap().callee;
    let call = dial::Call {
        once: dial::fresh(&mut world.rng).exchange().public(),
        channels: 15,
        name: "a".repeat(64),
        from: None,
    };
    let answer = dial::Answer { once: call.once, channel: 1, start: 7 };
    let rng = &mut world.rng;
    let count = 400;
    let covers: Vec<_> = (0..count).map(|_| dial::cover(place, rng)).collect();
    let calls: Vec<_> =
        (0..count).map(|_| dial::call(place, &link, &call, None, rng).unwrap()).collect();
    let answers: Vec<_> = (0..count)
        .map(|_| dial::answer(place, &link.key, &link.secret, &answer, rng).unwrap())
        .collect();
    assert_eq!(without_key(&covers), 0, "every cover has a key of somebody's");
    for rows in [calls, answers] {
        assert_eq!(without_key(&rows), 0);
        let distinct: BTreeSet<_> = rows.iter().map(|row| &row[1..49]).collect();
        assert_eq!(distinct.len(), count, "no key and no mark twice");
        assert_eq!(distinguished(&covers, &rows), []);
    }
}

/// In its channel's rounds, too, who talks writes rows like those of who does not.
#[test]
fn talking_and_idle_rows_are_alike() {
    let mut world = World::new(3, 6);
    let (contact, _) = world.connect(0, 1);
    let channel = world.clients[0].contacts[0].talk.as_ref().unwrap().channel;
    let mut rows: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    for n in 0..500 * CYCLE {
        if n % (3 * CYCLE) == 0 {
            let _full = world.clients[0].say(contact, &"x".repeat(200));
        }
        // In other channels' rounds both write covers, among which a trace of words would be lost.
        let of_talk = Turn::of(world.round) == Turn::Channel(channel);
        for (client, into) in [(0, 0), (2, 1)] {
            let row = world.clients[client].next_row(world.round, &mut world.rng).unwrap();
            if of_talk {
                rows[into].push(row);
            }
        }
        world.round += 1;
    }
    let [talking, idle] = rows;
    assert_eq!(distinguished(&talking, &idle), []);
}

/// A round whose opening is in doubt: one server may have read its rows, and no client has. What
/// was said in it is said again by itself, and the user is told that the round was stopped. Nothing
/// joins the two rows for who has both: neither address nor anything locked comes again, their sums
/// are as random as those of rows of somebody who says nothing, and each round has one row of each
/// client, whatever became of the one before.
#[test]
fn what_is_said_again_after_a_doubtful_opening_is_another_row() {
    let mut world = World::new(3, 17);
    let (contact, called) = world.connect(0, 1);
    let message = world.clients[0].say(contact, "words").unwrap();
    let channel = world.clients[0].contacts[0].talk.as_ref().unwrap().channel;
    let mut rows: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..401 * CYCLE {
        let round = world.round;
        let of_talk = Turn::of(round) == Turn::Channel(channel);
        for (client, into) in [(0, 0), (2, 1)] {
            let row = world.clients[client].next_row(round, &mut world.rng).unwrap();
            if of_talk {
                rows[into].push(row);
            }
            let events = world.clients[client].on_over(round);
            world.events[client].extend(events);
        }
        if of_talk {
            let told = std::mem::take(&mut world.events[0]);
            let state = MessageState::RoundStopped;
            assert_eq!(told, [Event::Moved { contact, message, state }], "round {round}");
        }
        world.round += 1;
    }
    assert!(world.events.iter().all(Vec::is_empty), "nobody is told anything else");
    let [again, idle] = &rows;
    let sixteens = again.iter().flat_map(|row| row[1..241].chunks(ADDRESS));
    let distinct: BTreeSet<_> = sixteens.collect();
    assert_eq!(distinct.len(), again.len() * 240 / ADDRESS, "nothing of a row comes again");
    let sum = |pair: &[Vec<u8>]| {
        let mut sum: Vec<u8> = pair[0].iter().zip(&pair[1]).map(|(a, b)| a ^ b).collect();
        sum[0] = VERSION;
        sum
    };
    // Sums of neighbours of independent fair bits are independent and fair.
    let [sums, of_idle] = [again, idle].map(|rows| rows.windows(2).map(sum).collect::<Vec<_>>());
    assert_eq!(distinguished(&sums, &of_idle), []);
    // The partner, to whom the corrupt server shows the rows, has each of them at its address, and
    // the words once.
    let since = world.round - 401 * CYCLE;
    let turns = (since..).filter(|round| Turn::of(*round) == Turn::Channel(channel));
    for (round, row) in turns.zip(again) {
        let told = world.clients[1].on_round(round, &[row]);
        world.events[1].extend(told);
    }
    assert_eq!(world.heard(1), ["words"]);
    let view = &world.clients[1].contacts()[called as usize];
    assert_eq!(view.messages.len(), 1);
}
