//! The preprocessing of a batch with the shares of all parties in one place, and errors put into
//! its messages. What a party signs is no part of it: nothing but the sums can find them.

use super::*;
use crate::batch::seeds::PairSeed;
use crate::batch::shares::Stored;
use crate::batch::shuffle_pair::{self, Permuting};
use crate::batch::stages;
use crate::messages::{Inputs, STAGES};

const ROWS: usize = 4;
const WIDTH: usize = 24;

pub const SPEC: BatchSpec = BatchSpec {
    number: 1,
    shape: Shape { rows: ROWS as u32, width: WIDTH as u32 },
    inputs: Inputs::Slots,
};

/// The seeds of all three pairs.
pub fn seeds() -> BatchSeeds {
    BatchSeeds([1, 2, 3].map(|fill| Some(PairSeed::opened([fill; 32]))))
}

/// Runs the three stages. `falsify` is given each stage's message of the pair's lower member on its
/// way. Returns every stage's two messages as they arrived, and its tables.
pub fn run(falsify: impl Fn(usize, &mut [u8])) -> ([[Vec<u8>; 2]; 3], [Stage; 3]) {
    let seeds = seeds();
    let mut table = stages::input(&SPEC, &seeds);
    let (mut scratch, mut permuted) = (Stored::default(), Stored::default());
    let (mut arrived, mut stages) = (Vec::new(), Vec::new());
    for (stage, pair) in STAGES.into_iter().enumerate() {
        let before = stages::next_input(&seeds, stage, &table);
        let index = seeds.of(pair).permutation(SPEC.shape.rows);
        let permuting =
            Permuting { spec: &SPEC, seeds: &seeds, stage, index: &index, table: &before };
        let mut messages = pair.members().map(|member| permuting.message(member, &mut scratch));
        falsify(stage, &mut messages[0]);
        permuting.permute(&mut scratch, &mut permuted);
        let mut stored = Stored::of_message(messages[0].clone(), SPEC.shape);
        stored.add(&messages[1]);
        stored.add(permuted.as_message());
        table = shuffle_pair::output(&seeds, stage, Some(stored));
        stages.push(Stage { before, after: table.clone() });
        arrived.push(messages);
    }
    (arrived.try_into().expect("three stages"), stages.try_into().ok().expect("three stages"))
}

/// In which stages the three parties' sums do not cancel.
fn found(stages: &[Stage; 3], coin: u8) -> [bool; 3] {
    let sums =
        [0, 1, 2].map(|party| local_sums(party, &SPEC, &seeds(), &Digest([coin; 32]), stages));
    [0, 1, 2].map(|stage: usize| sums.iter().map(|own| own[stage]).sum::<Gf64>() != Gf64::ZERO)
}

#[test]
fn sums_of_honest_stages_cancel() {
    let (_, stages) = run(|_, _| ());
    assert!((0..50).all(|coin| found(&stages, coin) == [false; 3]));
}

/// attacks §1.3: the smallest error, one bit of a row or of a weight, passes one bit test with
/// probability 3/4.
#[test]
fn one_wrong_bit_is_found_in_its_stage_wherever_it_is() {
    for stage in 0..3 {
        for byte in 0..ROWS * (WIDTH + WEIGHT_BYTES) {
            let (_, stages) =
                run(|at, message| message[byte] ^= u8::from(at == stage) << (byte % 8));
            let expected = [0, 1, 2].map(|at| at == stage);
            assert!(
                (0..3).all(|coin| found(&stages, coin) == expected),
                "stage {stage}, byte {byte}"
            );
        }
    }
}

/// attacks §1.5: P2, who does not know the permutation between, adds an error in stage 0 and takes
/// it away in stage 2 at every place that it might have moved to, one of which is right.
#[test]
fn an_error_taken_back_at_a_guessed_place_is_found_in_both_stages() {
    let end = |stages: &[Stage; 3]| {
        let [share, other, third] = Pair::ALL.map(|pair| {
            let mut rows = vec![0; ROWS * WIDTH];
            shares::of(&stages[2].after, pair).read_rows(SPEC.shape, 0, &mut rows);
            rows
        });
        share.into_iter().zip(other).zip(third).map(|((a, b), c)| a ^ b ^ c).collect::<Vec<u8>>()
    };
    let true_end = end(&run(|_, _| ()).1);
    let mut right = 0;
    for guess in 0..ROWS {
        let (_, stages) = run(|stage, message| match stage {
            0 => message[0] ^= 0x80,
            2 => message[guess * WIDTH] ^= 0x80,
            _ => {}
        });
        right += u32::from(end(&stages) == true_end);
        assert!((0..3).all(|coin| found(&stages, coin) == [true, false, true]), "guess {guess}");
    }
    assert_eq!(right, 1, "a check of the end alone would have passed one guess");
}
