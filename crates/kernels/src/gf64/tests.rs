use proptest::prelude::*;

use super::*;

/// Schoolbook multiplication, one bit at a time.
fn slow_wide(a: u64, b: u64) -> u128 {
    (0..64).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ u128::from(a) << i)
}

/// Long division by x^64 + x^4 + x^3 + x + 1.
fn slow_reduce(mut product: u128) -> u64 {
    const MODULUS: u128 = 1 << 64 | 0b11011;
    for i in (64..128).rev() {
        if product >> i & 1 == 1 {
            product ^= MODULUS << (i - 64);
        }
    }
    product as u64
}

fn slow_mul(a: u64, b: u64) -> u64 {
    slow_reduce(slow_wide(a, b))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn stream(seed: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    crate::Prg::new(&[seed; 32]).fill(&mut bytes);
    bytes
}

fn slow_replicated(c: &[u64], x_a: &[u64], x_b: &[u64], rows_a: &[u64], rows_b: &[u64]) -> u64 {
    let linear =
        |row: &[u64]| row.iter().zip(c).fold(0, |sum, (&word, &c)| sum ^ slow_mul(word, c));
    let mut sum = 0;
    for i in 0..x_a.len() {
        let row = i * c.len()..(i + 1) * c.len();
        let (a, b) = (linear(&rows_a[row.clone()]), linear(&rows_b[row]));
        sum ^= slow_mul(x_a[i], a ^ b) ^ slow_mul(x_b[i], a);
    }
    sum
}

/// The path between the fastest and the portable one, or the portable one where it does not exist.
fn pclmul_columns(share: &Share, sums: &mut [u128]) {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::weighted_columns(share, sums) };
    }
    portable::weighted_columns(share, sums);
}

proptest! {
    #[test]
    fn products_agree_with_schoolbook(a: u64, b: u64) {
        prop_assert_eq!(clmul_wide(a, b), slow_wide(a, b));
        prop_assert_eq!(portable::clmul_wide(a, b), slow_wide(a, b));
        prop_assert_eq!(clmul_mul(a, b), slow_mul(a, b));
    }

    #[test]
    fn reduction_agrees_with_long_division(product: u128) {
        prop_assert_eq!(reduce(product), slow_reduce(product));
    }

    #[test]
    fn inner_products_agree(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..70)) {
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
        let expected = a.iter().zip(&b).fold(0, |sum, (&a, &b)| sum ^ slow_mul(a, b));
        prop_assert_eq!(inner_product(&a, &b), expected);
        prop_assert_eq!(reduce(portable::inner_product(&a, &b)), expected);
    }

    #[test]
    fn linear_rows_agree(c in prop::collection::vec(any::<u64>(), 1..20), rows in 0usize..40) {
        let table = stream(1, rows * c.len() * WORD);
        let mut out = vec![7; rows];
        linear_rows(&c, &table, c.len() * WORD, &mut out);
        let mut portable_out = vec![7; rows];
        portable::linear_rows(&c, table.as_chunks().0, &mut portable_out);
        for (i, row) in words(&table).chunks(c.len()).enumerate() {
            let expected = row.iter().zip(&c).fold(0, |sum, (&word, &c)| sum ^ slow_mul(word, c));
            prop_assert_eq!(out[i], expected);
            prop_assert_eq!(portable_out[i], expected);
        }
    }

    #[test]
    fn replicated_rows_agree(c in prop::collection::vec(any::<u64>(), 1..20), rows in 0usize..40) {
        let (x_a, x_b) = (words(&stream(1, rows * WORD)), words(&stream(2, rows * WORD)));
        let (rows_a, rows_b) = (stream(3, rows * c.len() * WORD), stream(4, rows * c.len() * WORD));
        let expected = slow_replicated(&c, &x_a, &x_b, &words(&rows_a), &words(&rows_b));
        prop_assert_eq!(
            replicated_rows(&c, c.len() * WORD, &x_a, &x_b, &rows_a, &rows_b),
            expected
        );

        let (rows_a, rows_b) = (rows_a.as_chunks().0, rows_b.as_chunks().0);
        let share = Share { x_a: &x_a, x_b: &x_b, rows_a, rows_b };
        let paths: [fn(&Share, &mut [u128]); 3] =
            [weighted_columns, pclmul_columns, portable::weighted_columns];
        for path in paths {
            let mut columns = vec![0; c.len()];
            path(&share, &mut columns);
            let products = columns.iter().zip(&c).map(|(&column, &c)| clmul_mul(reduce(column), c));
            let sum = products.fold(0, |sum, product| sum ^ product);
            prop_assert_eq!(sum, expected);
        }
    }
}

#[test]
fn extreme_operands() {
    for a in [0, 1, 2, 1 << 63, u64::MAX, 0x8888_8888_8888_8888, 0x1111_1111_1111_1111] {
        for b in [0, 1, 2, 1 << 63, u64::MAX, 0x8888_8888_8888_8888, 0x1111_1111_1111_1111] {
            assert_eq!(clmul_wide(a, b), slow_wide(a, b));
            assert_eq!(portable::clmul_wide(a, b), slow_wide(a, b));
        }
    }
}

#[test]
fn long_inputs_are_split_without_loss() {
    let n = 3 * CHUNK / WORD + 5;
    let (a, b) = (words(&stream(1, n * WORD)), words(&stream(2, n * WORD)));
    let expected = a.iter().zip(&b).fold(0, |sum, (&a, &b)| sum ^ slow_mul(a, b));
    assert_eq!(inner_product(&a, &b), expected);

    let (width, rows) = (24, 2 * CHUNK / 24 + 7);
    let c = words(&stream(5, width));
    let (x_a, x_b) = (words(&stream(1, rows * WORD)), words(&stream(2, rows * WORD)));
    let (rows_a, rows_b) = (stream(3, rows * width), stream(4, rows * width));
    let expected = slow_replicated(&c, &x_a, &x_b, &words(&rows_a), &words(&rows_b));
    assert_eq!(replicated_rows(&c, width, &x_a, &x_b, &rows_a, &rows_b), expected);

    let mut linear = vec![0; rows];
    linear_rows(&c, &rows_a, width, &mut linear);
    for (row, result) in words(&rows_a).chunks(3).zip(linear) {
        assert_eq!(result, row.iter().zip(&c).fold(0, |sum, (&word, &c)| sum ^ slow_mul(word, c)));
    }
}
