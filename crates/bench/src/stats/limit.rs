//! The limit of a committee's work: what its protocol cannot avoid, all members' work on all cores
//! of
//! this machine. Which work that is, and how often it is done: `docs/benchmarks.md`, "Statistics".

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::Result;
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::VartimeMultiscalarMul;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_kernels::{FixedKeyHash, Prg, inner_product, transpose64, xor_into};
use rayon::prelude::*;

use crate::limit::{Parts, aead, best, loopback, time};

/// Bytes of a buffer that stays in a core's cache.
const CACHED: usize = 1 << 14;
/// Bytes that are sealed, opened and sent to be measured.
const CARRIED: usize = 1 << 24;
/// Operations on points that are measured together.
const POINTS: usize = 64;

/// Seconds that one piece of each kind of work takes, all cores together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// A byte of a stream.
    stream: f64,
    /// A byte added to another one.
    xor: f64,
    /// A hash of a block under a public key.
    hash: f64,
    /// A block of 64 by 64 bits turned over.
    transpose: f64,
    /// A product in GF(2^64), added up.
    product: f64,
    /// A byte sealed and opened.
    aead: f64,
    /// A byte through the loopback device.
    loopback: f64,
    /// A short message through it and back.
    trip: f64,
    sign: f64,
    verify: f64,
    /// A secret multiple of a point.
    multiplication: f64,
    /// Two public multiples of points added up.
    combination: f64,
    /// Four public multiples of points added up.
    combination_of_four: f64,
    /// A point decoded.
    decoding: f64,
}

/// How often each kind of work is done, by all members together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub stream: f64,
    pub hash: f64,
    pub transpose: f64,
    pub product: f64,
    /// Bytes that travel.
    pub carried: f64,
    /// Messages that wait for each other.
    pub rounds: f64,
    /// Members, each of which signs what it says in a round, and checks what the others say.
    pub members: f64,
    pub multiplication: f64,
    pub combination: f64,
    pub combination_of_four: f64,
    pub decoding: f64,
}

/// Seconds for one of `pieces` that all cores do at the same time, `each` at a time.
fn per_piece(each: usize, work: impl Fn(usize) + Sync) -> f64 {
    let tasks = 4 * rayon::current_num_threads();
    best(|| (0..tasks).into_par_iter().for_each(&work)) / (tasks * each) as f64
}

impl Units {
    /// Measures all of them, which takes about a second.
    ///
    /// # Errors
    /// If loopback does not work.
    pub fn measure() -> Result<Self> {
        let (hash, prg) = (FixedKeyHash::new(&[1; 16]), Prg::new(&[2; 32]));
        let words: Vec<u64> =
            (0..CACHED as u64 / 8).map(|i| i.wrapping_mul(u64::MAX / 5)).collect();
        let mut carried = vec![3; CARRIED];
        let (aead, loopback) =
            (best_of(|| Ok(aead(&mut carried)))?, best_of(|| loopback(&carried))?);
        let scalars: Vec<Scalar> = (0..=POINTS).map(scalar).collect();
        let points: Vec<_> = scalars.iter().map(RistrettoPoint::mul_base).collect();
        let key = SigningKey::from_seed(&[5; 32]);
        let (signed, public) = (key.sign(&Digest([6; 32])), key.verifying_key());
        let encoded: Vec<_> = points.iter().map(RistrettoPoint::compress).collect();
        let many =
            |work: &(dyn Fn(usize) + Sync)| per_piece(POINTS, |_| (0..POINTS).for_each(work));
        Ok(Self {
            stream: per_piece(16 * CACHED, |_| {
                let mut out = vec![0; CACHED];
                (0..16).for_each(|i| prg.fill_at(i * CACHED as u64, &mut out));
                black_box(out);
            }),
            xor: per_piece(64 * CACHED, |_| {
                let (mut out, from) = (vec![0; CACHED], vec![7; CACHED]);
                (0..64).for_each(|_| xor_into(black_box(&mut out), &from));
            }),
            hash: per_piece(CACHED, |task| {
                let mut blocks = vec![task as u128; CACHED];
                hash.hash(&mut blocks, |i| i as u128);
                black_box(blocks);
            }),
            transpose: per_piece(CACHED, |_| {
                let mut block = [0x0123_4567_89ab_cdef; 64];
                (0..CACHED).for_each(|_| transpose64(black_box(&mut block)));
            }),
            product: per_piece(16 * words.len(), |_| {
                (0..16).for_each(|_| {
                    black_box(inner_product(black_box(&words), &words));
                });
            }),
            aead: aead / CARRIED as f64,
            loopback: loopback / CARRIED as f64,
            trip: best_of(trip)?,
            sign: many(&|_| {
                black_box(key.sign(&Digest([6; 32])));
            }),
            verify: many(&|_| {
                black_box(public.verifies(&Digest([6; 32]), &signed));
            }),
            multiplication: many(&|i| {
                black_box(scalars[i] * points[i]);
            }),
            combination: many(&|i| {
                let sum = RistrettoPoint::vartime_double_scalar_mul_basepoint;
                black_box(sum(&scalars[i], &points[i], &scalars[i + 1]));
            }),
            combination_of_four: many(&|i| {
                let four = [0, 1, 2, 3].map(|k| (i + k) % POINTS);
                let sum = RistrettoPoint::vartime_multiscalar_mul;
                black_box(sum(four.map(|k| scalars[k]), four.map(|k| points[k])));
            }),
            decoding: many(&|i| {
                black_box(encoded[i].decompress());
            }),
        })
    }

    /// What the work takes, by kind.
    pub fn limit(&self, work: &Work) -> Parts {
        let saying = work.members * (self.sign + (work.members - 1.0).max(0.0) * self.verify);
        let parts = BTreeMap::from([
            ("prg", work.stream * self.stream),
            ("xor", work.stream * self.xor),
            ("hash", work.hash * self.hash),
            ("transpose", work.transpose * self.transpose),
            ("gf64", work.product * self.product),
            ("aead", work.carried * self.aead),
            ("loopback", work.carried * self.loopback),
            ("trips", work.rounds * self.trip / 2.0),
            ("signatures", work.rounds * saying),
            (
                "points",
                work.multiplication * self.multiplication
                    + work.combination * self.combination
                    + work.combination_of_four * self.combination_of_four
                    + work.decoding * self.decoding,
            ),
        ]);
        parts.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect()
    }
}

impl std::ops::Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            stream: self.stream + other.stream,
            hash: self.hash + other.hash,
            transpose: self.transpose + other.transpose,
            product: self.product + other.product,
            carried: self.carried + other.carried,
            rounds: self.rounds + other.rounds,
            members: self.members.max(other.members),
            multiplication: self.multiplication + other.multiplication,
            combination: self.combination + other.combination,
            combination_of_four: self.combination_of_four + other.combination_of_four,
            decoding: self.decoding + other.decoding,
        }
    }
}

impl Work {
    /// Of a preparation of so many leaky triples (`docs/spec/stormy.md`, steps 3 to 8). In each
    /// ordered pair both ends add up the streams of 64 trees, of 16 and of 15 leaves.
    pub fn preparation(members: usize, leaky: usize) -> Self {
        let (c, n) = (members as f64, leaky as f64);
        let pairs = c * (c - 1.0);
        Self {
            stream: pairs * n / 8.0 * 64.0 * 31.0,
            hash: pairs * n * 3.0,
            transpose: n / 64.0 * (4.0 * pairs + 2.0 * c),
            product: n * (16.0 * pairs + 3.0 * c),
            ..Self::default()
        }
    }

    /// Of a circuit of so many AND gates: the check of what was opened.
    pub fn circuit(members: usize, ands: usize) -> Self {
        Self { product: 2.0 * members as f64 * ands as f64, ..Self::default() }
    }

    /// Of so many reports of a number (`docs/spec/statistics.md`, steps 5 and 7 to 13).
    pub fn reports(members: usize, reports: usize) -> Self {
        let (c, m) = (members as f64, reports as f64);
        Self {
            // The signature, and the two equations of the proof, which are of three fields.
            combination: c * m,
            combination_of_four: 2.0 * c * m,
            // R and R̄ of each field; and the others' Z of two fields.
            decoding: c * m * (6.0 + 2.0 * (c - 1.0)),
            // The own Z of each field.
            multiplication: c * m * 3.0,
            ..Self::default()
        }
    }

    /// Of so many reports of lists, of which the sums of sketches of `bits` bits are authenticated
    /// (steps 5, 7 and 13): each member expands its share of every report, and masks for the sums
    /// come from 16 trees in each ordered pair.
    pub fn lists(members: usize, reports: usize, bits: usize) -> Self {
        let (c, m, bits) = (members as f64, reports as f64, bits as f64);
        Self {
            stream: c * m * bits / 8.0 + c * (c - 1.0) * bits / 8.0 * 16.0 * 31.0,
            combination: c * m * 3.0,
            decoding: c * m * 2.0,
            multiplication: c * m,
            ..Self::default()
        }
    }

    /// With messages: what each member sends, in so many rounds.
    pub fn carrying(self, members: usize, bytes: u64, rounds: u32) -> Self {
        let members = members as f64;
        Self { carried: members * bytes as f64, rounds: f64::from(rounds), members, ..self }
    }
}

fn scalar(i: usize) -> Scalar {
    let seed = ostrakon_crypto::hash::digest("ostrakon/v1/bench scalar", &i.to_le_bytes());
    Scalar::from_bytes_mod_order(seed.0)
}

fn best_of(mut measure: impl FnMut() -> Result<f64>) -> Result<f64> {
    Ok(measure()?.min(measure()?).min(measure()?))
}

/// Seconds of a short message to another thread and back.
fn trip() -> Result<f64> {
    const TRIPS: usize = 200;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let mut sent = Ok(());
    let seconds = time(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut message = [0; 64];
                while far.read_exact(&mut message).and_then(|()| far.write_all(&message)).is_ok() {}
            });
            let mut message = [0; 64];
            for _ in 0..TRIPS {
                sent = near.write_all(&message).and_then(|()| near.read_exact(&mut message));
            }
            // The other end ends with the connection.
            let _ = near.shutdown(std::net::Shutdown::Both);
        });
    });
    sent?;
    Ok(seconds / TRIPS as f64)
}
