//! Small models of the failures that the protocol's construction avoids (`docs/spec/ruffle.md`,
//! sections 10.3 and 10.8). Each shows that the simpler construction fails and that the one built
//! here does not, in the same model.

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_kernels::{Prg, clmul_mul, permutation};
use ostrakon_replicated::client::{self, SlotName};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::slots::{SlotSeeds, slots_prg};

fn prg(purpose: u8) -> Prg {
    Prg::new(&[purpose; 32])
}

/// A message with redundancy by which its reader knows it, as every row has.
fn row(text: &[u8; 16]) -> Vec<u8> {
    [&text[..], &digest("test/redundancy", text).0[..16]].concat()
}

fn is_message(row: &[u8]) -> bool {
    digest("test/redundancy", &row[..16]).0[..16] == row[16..]
}

/// The seeds of a slot for the three pairs.
fn seeds(slot: u32) -> [SlotSeeds; 3] {
    [1, 2, 3].map(|pair| {
        let seed = ostrakon_crypto::Secret::new([pair; 32]);
        SlotSeeds::derive(&slots_prg(&seed), slot)
    })
}

/// What comes out of the mix for an absent slot: its α.
fn noise(slot: u32, width: usize) -> Vec<u8> {
    let mut row = vec![0; width];
    seeds(slot).iter().for_each(|pair| pair.xor_mask(&mut row));
    row
}

/// What a corrupt P1 reads from a late submission when it tries every published noise row. It knows
/// the pads of its own two pairs.
fn trial_decryption(
    late: &[u8],
    slot: u32,
    published: &[Vec<u8>],
    padded: bool,
) -> Option<Vec<u8>> {
    let own = Pair::of_party(1).map(|pair| seeds(slot)[pair.index()].clone());
    published.iter().find_map(|noise| {
        let mut candidate: Vec<u8> = late.iter().zip(noise).map(|(a, b)| a ^ b).collect();
        if padded {
            own.iter().for_each(|pair| pair.xor_pad(&mut candidate));
        }
        is_message(&candidate).then_some(candidate)
    })
}

#[test]
fn a_late_submission_is_read_by_trial_unless_it_is_padded() {
    let message = row(b"attack at dawn!!");
    let (slot, rows) = (5, 16);
    let published: Vec<Vec<u8>> = (0..rows).rev().map(|slot| noise(slot, message.len())).collect();

    let unpadded: Vec<u8> =
        message.iter().zip(noise(slot, message.len())).map(|(a, b)| a ^ b).collect();
    assert_eq!(trial_decryption(&unpadded, slot, &published, false), Some(message.clone()));

    let context = Digest([7; 32]);
    let name = SlotName { session: &context, batch: 1, context: &context, rows, slot };
    let built = client::submit(name, &seeds(slot), &message, &SigningKey::from_seed(&[9; 32]));
    assert_eq!(trial_decryption(built.masked(), slot, &published, false), None);
    assert_eq!(trial_decryption(built.masked(), slot, &published, true), None);
    // With the third pair's pad it would be read: the pad is what hides it.
    let mut opened = built.masked().to_vec();
    seeds(slot)[Pair::without(1).index()].xor_pad(&mut opened);
    assert_eq!(trial_decryption(&opened, slot, &published, true), Some(message));
}

/// Ruffle Eq. 3 for one of its κ tests over bits: the weight is the last column, and every column
/// may be chosen.
fn one_bit_test(columns: u8, before: [u8; 2], after: [u8; 2]) -> bool {
    let term = |row: u8| (row >> 2 & 1) & ((row & columns).count_ones() as u8 & 1);
    before.into_iter().chain(after).fold(0, |v, row| v ^ term(row)) == 0
}

#[test]
fn an_error_in_one_cell_passes_a_one_bit_test_with_probability_three_quarters() {
    // Two rows of two data bits and a weight bit, all tables and all choices of columns; the error
    // flips a data bit.
    let (mut passed, mut all) = (0, 0);
    for table in 0..64u8 {
        for columns in 0..8u8 {
            let before = [table & 7, table >> 3];
            let after = [before[1], before[0] ^ 1];
            passed += u32::from(one_bit_test(columns, before, after));
            all += 1;
        }
    }
    assert_eq!(4 * passed, 3 * all);
    // What that means for the paper's 48 tests, and how many 40 bits of security would take.
    assert!(0.75f64.powi(48) > 2f64.powi(-20));
    assert!(0.75f64.powi(96) > 2f64.powi(-40) && 0.75f64.powi(97) < 2f64.powi(-40));
}

/// Rows of two words with a weight each.
#[derive(Clone)]
struct Table {
    rows: Vec<[u64; 2]>,
    weights: Vec<u64>,
}

impl Table {
    fn random(purpose: u8, count: usize) -> Self {
        let words = words(purpose, 3 * count);
        Self {
            rows: (0..count).map(|i| [words[3 * i], words[3 * i + 1]]).collect(),
            weights: (0..count).map(|i| words[3 * i + 2]).collect(),
        }
    }

    fn permuted(&self, index: &[u32]) -> Self {
        let at = |i: &u32| *i as usize;
        Self {
            rows: index.iter().map(|i| self.rows[at(i)]).collect(),
            weights: index.iter().map(|i| self.weights[at(i)]).collect(),
        }
    }

    /// Σ r_i·⟨c, row_i⟩, where `own` is the word of c for the weight itself: 0 as built.
    fn sum(&self, c: [u64; 2], own: u64) -> u64 {
        self.rows.iter().zip(&self.weights).fold(0, |sum, (row, r)| {
            let inner = clmul_mul(c[0], row[0]) ^ clmul_mul(c[1], row[1]) ^ clmul_mul(own, *r);
            sum ^ clmul_mul(*r, inner)
        })
    }
}

fn words(purpose: u8, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    prg(purpose).fill(&mut bytes);
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn on_data_weight_errors_tell_zero_rows_and_equal_rows_wherever_the_weight_stands() {
    let coins = words(9, 3 * 64);
    for coin in coins.chunks_exact(3) {
        let (c, own) = ([coin[0], coin[1]], coin[2]);
        let passes = |before: &Table, own: u64, err: &[usize]| {
            let mut after = before.clone();
            err.iter().for_each(|i| after.weights[*i] ^= 0x1234);
            after.sum(c, own) == before.sum(c, own)
        };
        let random = Table::random(1, 4);
        let mut zero = random.clone();
        zero.rows[2] = [0, 0];
        assert!(passes(&zero, 0, &[2]), "an error on a zero row passes: a cover shows");
        assert!(!passes(&zero, own, &[2]), "a weight in its own row seems to mend that");
        let mut equal = random.clone();
        equal.rows[2] = equal.rows[0];
        assert!(
            passes(&equal, own, &[0, 2]),
            "in characteristic 2 it does not: equal errors on equal rows pass"
        );
        // On pseudorandom rows, which is where the check is used, none of these passes.
        for err in [&[2][..], &[0, 2]] {
            assert!(!passes(&random, 0, err) && !passes(&random, own, err));
        }
    }
}

#[test]
fn a_sum_over_all_stages_misses_what_the_sum_of_each_stage_finds() {
    let count = 8;
    let index = [11, 12, 13].map(|purpose| permutation::sample(&prg(purpose), count));
    let vectors: Vec<[u64; 2]> = words(20, 6).chunks_exact(2).map(|c| [c[0], c[1]]).collect();
    let start = Table::random(2, count);
    // The server that takes part in stages 0 and 2 puts an error in and takes it out at a guess.
    let mut passed_end_to_end = 0;
    for guess in 0..count {
        let mut tables = vec![start.clone()];
        for (stage, index) in index.iter().enumerate() {
            let mut next = tables[stage].permuted(index);
            let place = [Some(3), None, Some(guess)][stage];
            if let Some(place) = place {
                next.rows[place][0] ^= 0xbad;
            }
            tables.push(next);
        }
        let difference =
            |from: usize, to: usize, c: [u64; 2]| tables[from].sum(c, 0) ^ tables[to].sum(c, 0);
        let stages = [0, 1, 2].map(|stage| difference(stage, stage + 1, vectors[0]));
        let telescoped = stages[0] ^ stages[1] ^ stages[2];
        assert_eq!(
            telescoped,
            difference(0, 3, vectors[0]),
            "the stages between fall out of the sum"
        );
        passed_end_to_end += u32::from(telescoped == 0);
        let each = [0, 1, 2].map(|stage| difference(stage, stage + 1, vectors[stage]));
        assert!(
            each[0] != 0 && each[1] == 0 && each[2] != 0,
            "stages 0 and 2 are found out, whatever the guess"
        );
    }
    assert_eq!(passed_end_to_end, 1, "one guess in N survives, and has learnt where a row went");
}
