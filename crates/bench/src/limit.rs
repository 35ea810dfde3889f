//! The limit: how long the work that nobody can avoid takes on this machine, all cores together.
//!
//! All three servers of a benchmark share one machine, so the limit of a phase is the sum, over all
//! three, of the time that each piece of unavoidable work takes when all cores do nothing else.
//! Nothing is counted for waiting, signatures, or the messages' latency. Which work that is, and
//! why, is in `docs/benchmarks.md`, "Benchmark limit"; the methods of [`Work`] are its table.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use anyhow::{Context, Result};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ostrakon_crypto::hash::keyed;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_kernels::{
    Prg, gather, permutation, replicated_rows, short_prg_rows, xor_into, zeroed_table,
};
use ostrakon_party::Header;
use ostrakon_replicated::messages::{LIST_ENTRY, Shape};
use ostrakon_replicated::params::{SLOT_SEED, WEIGHT_BYTES};
use rayon::prelude::*;

use crate::measurement::median;

/// Bytes of plaintext in a TLS record.
const RECORD: usize = 1 << 14;
/// Bytes that are written to a socket at a time.
const WRITE: usize = 1 << 18;

/// Seconds by kind of work.
pub type Parts = BTreeMap<&'static str, f64>;

/// Repeated measurements of the kinds of work for tables of one shape.
pub struct Limits {
    shape: Shape,
    index: Vec<u32>,
    tables: [Vec<u8>; 2],
    samples: Vec<Units>,
    slot_samples: Vec<SlotUnits>,
    key_samples: Vec<KeyUnits>,
}

/// Seconds for one piece of each kind of work.
#[derive(Clone, Copy, Debug, Default)]
struct Units {
    gather: f64,
    gather_weights: f64,
    prg: f64,
    hash: f64,
    copy: f64,
    aead: f64,
    loopback: f64,
    gf64: f64,
    permutation: f64,
}

/// Seconds for one piece of work on every slot.
#[derive(Clone, Copy, Debug, Default)]
struct SlotUnits {
    /// Hashing a row.
    row: f64,
    /// One compression.
    compression: f64,
    /// Expanding a seed into a row.
    expand: f64,
}

/// Seconds for one operation with public keys for every slot.
#[derive(Clone, Copy, Debug, Default)]
struct KeyUnits {
    /// Verifying a signature.
    verify: f64,
    /// An exchange.
    exchange: f64,
}

/// Operations with public keys of which the time is measured.
const KEY_OPERATIONS: usize = 2000;

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
pub(crate) fn time(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// The least time of a few: what disturbs one of them is not part of the work.
pub(crate) fn best(mut work: impl FnMut()) -> f64 {
    const TRIES: usize = 3;
    (0..TRIES).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min)
}

impl Limits {
    /// Prepares buffers that are in memory already: what is measured is work, not the system's
    /// handing out of pages.
    pub fn new(shape: Shape) -> Self {
        let table = |byte| {
            let mut table = zeroed_table(shape.bytes());
            table.fill(byte);
            table
        };
        let index = permutation::sample(&Prg::new(&[1; 32]), shape.rows as usize);
        Self {
            shape,
            index,
            tables: [table(1), table(2)],
            samples: Vec::new(),
            slot_samples: Vec::new(),
            key_samples: Vec::new(),
        }
    }

    /// Measures every kind of work once more.
    ///
    /// # Errors
    /// If loopback does not work.
    pub fn sample(&mut self) -> Result<()> {
        let (width, rows) = (self.shape.width as usize, self.shape.rows as usize);
        let [a, b] = &mut self.tables;
        let prg = Prg::new(&[2; 32]);
        let mut units = Units {
            gather: best(|| gather(a, b, width, &self.index)),
            prg: best(|| prg.xor_at(0, a)),
            hash: best(|| {
                black_box(Header::digest_of(a));
            }),
            copy: best(|| xor_into(a, b)),
            aead: aead(a).min(aead(a)),
            loopback: loopback(a)?.min(loopback(a)?),
            permutation: best(|| {
                black_box(permutation::sample(&prg, rows));
            }),
            ..Units::default()
        };
        let (from, mut to) = (vec![3; rows * WEIGHT_BYTES], vec![4; rows * WEIGHT_BYTES]);
        units.gather_weights = best(|| gather(&mut to, &from, WEIGHT_BYTES, &self.index));
        drop((from, to));
        let (vector, words) = (vec![5; width / WEIGHT_BYTES], vec![6; rows]);
        units.gf64 = best(|| {
            black_box(replicated_rows(&vector, width, &words, &words, a, b));
        });
        self.samples.push(units);
        Ok(())
    }

    /// Measures the work on slots once more.
    pub fn sample_slots(&mut self) {
        let (width, rows) = (self.shape.width as usize, self.shape.rows as usize);
        let [a, b] = &mut self.tables;
        let key = [8; 32];
        let seeds = vec![9; rows * SLOT_SEED];
        let hash = |value: &[u8]| keyed(&key, value).expose()[0];
        let any = |a: u8, b: u8| a | b;
        self.slot_samples.push(SlotUnits {
            row: best(|| {
                black_box(a.par_chunks(width).map(hash).reduce(|| 0, any));
            }),
            compression: best(|| {
                black_box(seeds.par_chunks(SLOT_SEED).map(hash).reduce(|| 0, any));
            }),
            expand: best(|| short_prg_rows(&seeds, width, b, false)),
        });
    }

    /// Measures operations with public keys once more: of some, for all rows.
    pub fn sample_keys(&mut self) {
        let key = SigningKey::from_seed(&[10; 32]);
        let (public, digest) = (key.verifying_key(), Digest([11; 32]));
        let signature = key.sign(&digest);
        let own = ExchangeKey::new(&Secret::new([12; 32]));
        let other = ExchangeKey::new(&Secret::new([13; 32])).public();
        let all = f64::from(self.shape.rows) / KEY_OPERATIONS as f64;
        let many = |operation: &(dyn Fn() -> bool + Sync)| {
            all * best(|| {
                let done = (0..KEY_OPERATIONS).into_par_iter().all(|_| black_box(operation()));
                assert!(done, "a right signature holds, and two keys agree");
            })
        };
        self.key_samples.push(KeyUnits {
            verify: many(&|| public.verifies(&digest, &signature)),
            exchange: many(&|| own.agree(&other).is_some()),
        });
    }

    /// The limit of a phase.
    pub fn parts(&self, phase: fn(&Work) -> Parts) -> Parts {
        let middle = |unit: fn(&Units) -> f64| median(self.samples.iter().map(unit).collect());
        let units = Units {
            gather: middle(|u| u.gather),
            gather_weights: middle(|u| u.gather_weights),
            prg: middle(|u| u.prg),
            hash: middle(|u| u.hash),
            copy: middle(|u| u.copy),
            aead: middle(|u| u.aead),
            loopback: middle(|u| u.loopback),
            gf64: middle(|u| u.gf64),
            permutation: middle(|u| u.permutation),
        };
        let weighted =
            (f64::from(self.shape.width) + WEIGHT_BYTES as f64) / f64::from(self.shape.width);
        let middle = |unit: fn(&SlotUnits) -> f64| match self.slot_samples.len() {
            0 => 0.0,
            _ => median(self.slot_samples.iter().map(unit).collect()),
        };
        let slots = SlotUnits {
            row: middle(|u| u.row),
            compression: middle(|u| u.compression),
            expand: middle(|u| u.expand),
        };
        let middle = |unit: fn(&KeyUnits) -> f64| match self.key_samples.len() {
            0 => 0.0,
            _ => median(self.key_samples.iter().map(unit).collect()),
        };
        let keys = KeyUnits { verify: middle(|u| u.verify), exchange: middle(|u| u.exchange) };
        phase(&Work { units, slots, keys, weighted, per_byte: 1.0 / f64::from(self.shape.width) })
    }
}

/// What pieces of work take, to be added up by a phase's formula.
pub struct Work {
    units: Units,
    slots: SlotUnits,
    keys: KeyUnits,
    /// Size of a table with weights, in tables.
    weighted: f64,
    /// Size of one byte for each row, in tables.
    per_byte: f64,
}

impl Work {
    /// Vote, shuffle and verification.
    pub fn online(&self) -> Parts {
        let u = &self.units;
        BTreeMap::from([
            ("gather", 6.0 * u.gather),
            ("prg", 6.0 * u.prg),
            ("hash", 12.0 * u.hash),
            ("copy", 6.0 * u.copy),
            ("aead", 3.0 * u.aead),
            ("loopback", 3.0 * u.loopback),
        ])
    }

    /// Three Shuffle-Pairs and their checks.
    pub fn preprocessing(&self) -> Parts {
        let (u, m) = (&self.units, self.weighted);
        BTreeMap::from([
            ("gather", 14.0 * u.gather + 12.0 * u.gather_weights),
            ("prg", (34.0 * m + 10.0) * u.prg),
            ("hash", (12.0 * m + 2.0) * u.hash),
            ("copy", (24.0 * m + 2.0) * u.copy),
            ("aead", 6.0 * m * u.aead),
            ("loopback", 6.0 * m * u.loopback),
            ("gf64", 18.0 * u.gf64),
            ("permutation", 6.0 * u.permutation),
        ])
    }

    /// The three parties' shares of α_out, one of which travels.
    pub fn opening(&self) -> Parts {
        let u = &self.units;
        BTreeMap::from([
            ("prg", 6.0 * u.prg),
            ("hash", u.hash),
            ("copy", 5.0 * u.copy),
            ("aead", u.aead),
            ("loopback", u.loopback),
        ])
    }
}

impl Work {
    /// Both members of each pair: per slot 32 bytes of stream, the hash of a mask seed, a leaf, a
    /// node of the tree.
    pub fn slot_commitments(&self) -> Parts {
        BTreeMap::from([
            ("prg", 6.0 * 32.0 * self.per_byte * self.units.prg),
            ("hash", 6.0 * 3.0 * self.slots.compression),
        ])
    }

    /// Sealing, the shuffle with its opening, the board.
    pub fn epoch(&self) -> Parts {
        let (u, s) = (&self.units, &self.slots);
        let lists = LIST_ENTRY as f64 * self.per_byte;
        let pads = 32.0 * self.per_byte;
        // Digests of the submissions and redundancy of the rows, by three servers; pads shown for
        // six pairs' sides and verified by three.
        let per_slot = 6.0 * s.row + (3.0 * 2.0 + 6.0 + 3.0 * 2.0) * s.compression;
        // Lists, which are equal and do not travel: signed by three, and agreed by three; pads:
        // signed by three, checked by three; the board's entry.
        let bulk = ((3.0 + 3.0) * lists + 6.0 * pads + 3.0) * u.hash;
        let travelling = 3.0 * pads;
        let mut parts = BTreeMap::from([
            ("hash", per_slot + bulk),
            ("prg", 6.0 * pads * u.prg + 9.0 * s.expand),
            ("copy", (3.0 + 2.0 * travelling) * u.copy),
            ("aead", travelling * u.aead),
            ("loopback", travelling * u.loopback),
        ]);
        for (kind, seconds) in self.online().into_iter().chain(self.opening()) {
            *parts.entry(kind).or_default() += seconds;
        }
        parts
    }
}

impl Work {
    /// Clarion's sealing, tables and checks: four tables travel, each made of gathers by one server
    /// and stated by both ends; their masks come from seeds that two servers have, as do the three
    /// pads of every row.
    pub fn clarion_mix(&self) -> Parts {
        let (u, s, m) = (&self.units, &self.slots, self.weighted);
        let lists = LIST_ENTRY as f64 * self.per_byte;
        BTreeMap::from([
            ("gather", 6.0 * u.gather),
            ("prg", 8.0 * m * u.prg + 6.0 * s.expand),
            ("hash", 3.0 * s.row + (8.0 * m + 6.0 * lists) * u.hash),
            ("copy", 10.0 * u.copy),
            ("aead", 4.0 * m * u.aead),
            ("loopback", 4.0 * m * u.loopback),
            ("gf64", 8.0 * u.gf64 / 2.0),
            ("permutation", 4.0 * u.permutation),
        ])
    }

    /// Clarion's opening and the board: one table travels, two servers make a mask anew, all
    /// read the rows and sign the board.
    pub fn clarion_open(&self) -> Parts {
        let (u, s, m) = (&self.units, &self.slots, self.weighted);
        BTreeMap::from([
            ("gather", u.gather),
            ("prg", 2.0 * u.prg),
            ("hash", 3.0 * s.row + 4.0 * u.hash),
            ("copy", 3.0 * u.copy),
            ("aead", m * u.aead),
            ("loopback", m * u.loopback),
        ])
    }

    /// Clarion's sealing, mix, opening and board.
    pub fn clarion_epoch(&self) -> Parts {
        let mut parts = self.clarion_mix();
        for (kind, seconds) in self.clarion_open() {
            *parts.entry(kind).or_default() += seconds;
        }
        parts
    }

    /// What each server does with each submission of a Clarion room: the signatures of submission
    /// and registration, and its box.
    pub fn clarion_take_in(&self) -> Parts {
        let k = &self.keys;
        BTreeMap::from([("verify", 3.0 * 2.0 * k.verify), ("exchange", 3.0 * k.exchange)])
    }

    /// The same in a Ruffle room: one signature.
    pub fn ruffle_take_in(&self) -> Parts {
        BTreeMap::from([("verify", 3.0 * self.keys.verify)])
    }

    /// Ruffle's sealing and shuffle, up to the certified table.
    pub fn ruffle_mix(&self) -> Parts {
        let mut parts = self.epoch();
        for (kind, seconds) in self.opening() {
            if let Some(sum) = parts.get_mut(kind) {
                *sum -= seconds;
            }
        }
        parts
    }
}

impl Work {
    /// The preparation of three permutations' uses on tables of one width.
    pub fn graph_preparation(&self) -> Parts {
        times(3.0, self.preprocessing())
    }

    /// The differences of three uses, opened to all: each server expands the masks of both its
    /// pairs before and behind a use; three shares travel, each vouched for by a digest.
    pub fn graph_difference(&self) -> Parts {
        let u = &self.units;
        let one = BTreeMap::from([
            ("prg", 12.0 * u.prg),
            ("copy", 12.0 * u.copy),
            ("hash", 6.0 * u.hash),
            ("aead", 3.0 * u.aead),
            ("loopback", 3.0 * u.loopback),
        ]);
        times(3.0, one)
    }

    /// Three uses on tables that are known up to their masks.
    pub fn graph_hop(&self) -> Parts {
        times(3.0, self.online())
    }

    /// The order check: differences, and the uses themselves.
    pub fn graph_check(&self) -> Parts {
        let mut parts = self.graph_difference();
        for (kind, seconds) in self.graph_hop() {
            *parts.entry(kind).or_default() += seconds;
        }
        parts
    }
}

fn times(factor: f64, parts: Parts) -> Parts {
    parts.into_iter().map(|(kind, seconds)| (kind, factor * seconds)).collect()
}

/// Seals and opens a table in records, on all cores.
pub(crate) fn aead(table: &mut [u8]) -> f64 {
    let key = UnboundKey::new(&AES_128_GCM, &[7; 16])
        .map(LessSafeKey::new)
        .expect("the key has 16 bytes");
    let nonce = |record: usize| {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&(record as u64).to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    };
    // Each record's tag is kept beside it while it is closed.
    let sealed = |(i, record): (usize, &mut [u8])| {
        let tag = key
            .seal_in_place_separate_tag(nonce(i), Aad::empty(), record)
            .expect("records are short");
        let mut joined = [0; 16];
        joined.copy_from_slice(tag.as_ref());
        joined
    };
    let mut tags = Vec::new();
    let seal = time(|| tags = table.par_chunks_mut(RECORD).enumerate().map(sealed).collect());
    let open = time(|| {
        table.par_chunks(RECORD).zip(&tags).enumerate().for_each_init(
            || vec![0; RECORD],
            |out, (i, (record, tag))| {
                let out = &mut out[..record.len()];
                key.open_separate_gather(nonce(i), Aad::empty(), record, tag, out)
                    .expect("nothing was changed");
            },
        );
    });
    seal + open
}

/// Sends a table over TCP, by as many connections at once as there are pairs of cores; the time for
/// one.
pub(crate) fn loopback(table: &[u8]) -> Result<f64> {
    let pairs = (rayon::current_num_threads() / 2).max(1);
    let listener = TcpListener::bind("127.0.0.1:0").context("loopback cannot be used")?;
    let address = listener.local_addr()?;
    let mut connections = Vec::new();
    for _ in 0..pairs {
        let to = TcpStream::connect(address)?;
        let (from, _) = listener.accept()?;
        to.set_nodelay(true)?;
        connections.push((to, from));
    }
    let seconds = time(|| {
        std::thread::scope(|scope| {
            for (to, from) in &mut connections {
                scope.spawn(|| table.chunks(WRITE).try_for_each(|piece| to.write_all(piece)));
                scope.spawn(|| {
                    let mut buffer = vec![0; WRITE];
                    let mut missing = table.len();
                    while missing > 0 {
                        match from.read(&mut buffer) {
                            Ok(n) if n > 0 => missing -= n,
                            _ => break,
                        }
                    }
                });
            }
        });
    });
    Ok(seconds / pairs as f64)
}
