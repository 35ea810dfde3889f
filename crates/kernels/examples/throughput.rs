//! Measures the kernels on this machine: `cargo run --release -p ostrakon-kernels --example
//! throughput [ROWS]`.
//!
//! Every line is the best of a few runs: nanoseconds per row (or element), and gigabytes written
//! per second.

use std::hint::black_box;
use std::time::Instant;

use ostrakon_kernels::{
    Prg, gather, gather_xor, gather_xor_prg, permutation, replicated_rows, short_prg_rows,
    xor_into, zeroed_table,
};

const RUNS: usize = 5;

fn main() {
    let rows =
        std::env::args().nth(1).map_or(1_000_000, |arg| arg.parse().expect("ROWS is a number"));
    for rows in [rows, 10 * rows] {
        for width in [32, 48, 160] {
            if rows * width <= 1 << 30 {
                tables(rows, width);
            }
        }
        permutations(rows);
    }
}

fn tables(rows: usize, width: usize) {
    println!("{rows} rows of {width} bytes");
    let prg = Prg::new(&[1; 32]);
    let bytes = rows * width;
    let (mut src, mut dst) = (zeroed_table(bytes), zeroed_table(bytes));
    let index = permutation::sample(&Prg::new(&[2; 32]), rows);
    report("prg fill", rows, bytes, || prg.fill(&mut src));
    report("prg xor", rows, bytes, || prg.xor_at(0, &mut dst));
    report("xor_into", rows, bytes, || xor_into(&mut dst, &src));
    report("fresh table", rows, bytes, || prg.fill(&mut zeroed_table(bytes)));
    report("gather", rows, bytes, || gather(&mut dst, &src, width, &index));
    report("gather_xor", rows, bytes, || gather_xor(&mut dst, &src, width, &index));
    report("gather_xor_prg", rows, bytes, || {
        gather_xor_prg(&mut dst, &src, width, &index, &prg, 0)
    });
    let mut seeds = vec![0; 16 * rows];
    prg.fill(&mut seeds);
    report("short_prg_rows", rows, bytes, || short_prg_rows(&seeds, width, &mut dst, false));
    let c = vec![3; width / 8];
    let (x_a, x_b) = (vec![5; rows], vec![7; rows]);
    report("replicated_rows", rows, bytes, || {
        black_box(replicated_rows(&c, width, &x_a, &x_b, &src, &dst));
    });
}

fn permutations(n: usize) {
    println!("permutations of {n}");
    let prg = Prg::new(&[3; 32]);
    let mut sampled = Vec::new();
    report("sample", n, 4 * n, || sampled = permutation::sample(&prg, n));
    report("invert", n, 4 * n, || {
        black_box(permutation::invert(&sampled));
    });
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn report(name: &str, rows: usize, bytes: usize, mut run: impl FnMut()) {
    let seconds = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    let best = seconds.fold(f64::INFINITY, f64::min);
    println!(
        "  {name:16} {:8.2} ns/row {:8.2} GB/s",
        best * 1e9 / rows as f64,
        bytes as f64 / best / 1e9
    );
}
