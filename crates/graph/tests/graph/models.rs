//! Small models of failures that the construction avoids (`docs/spec/ruffle2.md`, section 7). Each
//! shows that the simpler construction fails, and that the one built here does not.

use ostrakon_field::Gf64;
use ostrakon_graph::ruffle2::uses::permuted;
use ostrakon_kernels::{Prg, permutation};
use ostrakon_party::Header;

use crate::common::Draw;

fn table(seed: u64, rows: usize) -> Vec<u8> {
    let mut key = [4; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut table = vec![0; rows * 8];
    Prg::new(&key).fill(&mut table);
    table
}

fn secret_permutation(seed: u64, rows: usize) -> Vec<u32> {
    let mut key = [5; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    permutation::sample(&Prg::new(&key), rows)
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

const ROWS: usize = 12;

#[test]
fn one_mask_on_two_tables_shows_the_permutation() {
    for seed in 0..50 {
        let pi = secret_permutation(seed, ROWS);
        let read = |masks: [u64; 2]| -> Option<Vec<u32>> {
            let beta = [table(4 * seed, ROWS), table(4 * seed + 1, ROWS)];
            let seen = [0, 1]
                .map(|i: usize| permuted(&xor(&beta[i], &table(1000 + masks[i], ROWS)), 8, &pi));
            let (known, seen) = (xor(&beta[0], &beta[1]), xor(&seen[0], &seen[1]));
            let place = |row: &[u8]| known.chunks(8).position(|k| k == row).map(|i| i as u32);
            seen.chunks(8).map(place).collect()
        };
        assert_eq!(read([1, 1]), Some(pi.clone()), "an outsider of the pair reads π");
        assert_eq!(read([1, 2]), None, "not with a mask for every use");
    }
}

#[test]
fn a_digest_told_too_early_is_an_oracle() {
    for seed in 0..50 {
        let (pi, mut draw) = (secret_permutation(seed, ROWS), Draw::new(seed));
        let (d2, mask) = (table(7, ROWS), table(8, ROWS));
        let row = draw.below(ROWS as u32) as usize;
        let error = |table: &[u8], row: usize| {
            let mut table = table.to_vec();
            table[8 * row] ^= 1;
            table
        };
        let step = |d2: &[u8]| permuted(&xor(d2, &mask), 8, &pi);
        let (false_d2, true_d3) = (error(&d2, row), step(&d2));
        // Lax: P2 answers a false δ2 with the digest of what it makes of it.
        let told = Header::digest_of(&step(&false_d2));
        let found = (0..ROWS).find(|j| Header::digest_of(&error(&true_d3, *j)) == told);
        assert_eq!(pi[found.unwrap()] as usize, row, "P0 learns where a row went");
        // Strict: it compares with P1's digest of δ2 first, which differs whatever π is.
        assert_ne!(Header::digest_of(&false_d2), Header::digest_of(&d2));
    }
}

#[test]
fn the_check_on_data_tells_zero_rows_from_others() {
    for seed in 0..50 {
        let mut draw = Draw::new(seed);
        let mut word = || Gf64(u64::from(draw.below(u32::MAX)) + 1);
        let (error, coin) = (word(), word());
        // A weight error at a known row leaves V = d·⟨c, row⟩.
        let v = |row: Gf64| error * (coin * row);
        assert!(v(Gf64::ZERO) == Gf64::ZERO && v(word()) != Gf64::ZERO);
    }
}

/// Whether a subset of the coefficients sums to the target, and which: bits of the result.
fn subset(coefficients: &[u64], mut target: u64) -> Option<Vec<usize>> {
    let mut basis: Vec<Option<(u64, Vec<bool>)>> = vec![None; 64];
    let add = |a: &mut (u64, Vec<bool>), b: &(u64, Vec<bool>)| {
        a.0 ^= b.0;
        a.1.iter_mut().zip(&b.1).for_each(|(a, b)| *a ^= b);
    };
    for (i, c) in coefficients.iter().enumerate() {
        let mut vector = (*c, (0..coefficients.len()).map(|j| i == j).collect());
        while vector.0 != 0 {
            let place = 63 - vector.0.leading_zeros() as usize;
            match &basis[place] {
                Some(known) => add(&mut vector, known),
                None => {
                    basis[place] = Some(vector);
                    break;
                }
            }
        }
    }
    let mut chosen = (0, vec![false; coefficients.len()]);
    while target != 0 {
        let known = basis[63 - target.leading_zeros() as usize].as_ref()?;
        target ^= known.0;
        add(&mut chosen, known);
    }
    Some(chosen.1.iter().enumerate().filter(|(_, bit)| **bit).map(|(i, _)| i).collect())
}

#[test]
fn coefficients_known_before_the_lists_let_an_owner_hide_a_path() {
    let mut draw = Draw::new(3);
    let mut word = || u64::from(draw.below(u32::MAX)) << 32 | u64::from(draw.below(u32::MAX));
    for _ in 0..20 {
        let coefficients: Vec<u64> = (0..80).map(|_| word()).collect();
        let honest = word();
        let rows = subset(&coefficients, honest).expect("80 parallel rows span the field");
        let sum = rows.iter().fold(honest, |sum, row| sum ^ coefficients[*row]);
        assert_eq!(sum, 0, "known first: what the honest path brings is cancelled");
        let tossed: Vec<u64> = (0..80).map(|_| word()).collect();
        let sum = rows.iter().fold(word(), |sum, row| sum ^ tossed[*row]);
        assert_ne!(sum, 0, "tossed after the lists are sealed: it is not");
    }
}

/// The product in GF(2^8).
fn small(mut a: u16, mut b: u16) -> u16 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        b >>= 1;
        a <<= 1;
        if a >> 8 != 0 {
            a ^= 0x11b;
        }
    }
    product
}

#[test]
fn powers_of_one_coin_have_roots_that_expanded_coefficients_have_not() {
    const N: u16 = 128;
    // Errors of products that are the coefficients of a polynomial with N − 1 roots.
    let mut errors = vec![1];
    for root in 1..N {
        let mut next = vec![0; errors.len() + 1];
        for (i, c) in errors.iter().enumerate() {
            next[i + 1] ^= c;
            next[i] ^= small(*c, root);
        }
        errors = next;
    }
    let survives = |coefficients: &[u16]| {
        let sum = errors.iter().zip(coefficients).fold(0, |s, (e, c)| s ^ small(*e, *c));
        sum == 0
    };
    let powers = |coin: u16| -> Vec<u16> {
        let next = |power: &u16| Some(small(*power, coin));
        std::iter::successors(Some(1), next).take(N.into()).collect()
    };
    let by_powers = (0..256).filter(|coin| survives(&powers(*coin))).count();
    assert_eq!(by_powers, 127, "half of all coins let the errors pass");
    let mut draw = Draw::new(9);
    let mut expanded = || -> Vec<u16> { (0..N).map(|_| draw.below(256) as u16).collect() };
    let by_expansion = (0..2560).filter(|_| survives(&expanded())).count();
    assert!(by_expansion < 40, "about one in 256: {by_expansion} of 2560");
}

/// A multiset of keys, each as often as a vertex has edges, in an order that nobody knows.
fn shuffled_keys(draw: &mut Draw, degrees: &[u32]) -> Vec<usize> {
    let mut keys: Vec<usize> =
        degrees.iter().enumerate().flat_map(|(v, d)| vec![v; *d as usize]).collect();
    for i in (1..keys.len()).rev() {
        keys.swap(i, draw.below(i as u32 + 1) as usize);
    }
    keys
}

/// Sorting by opened comparisons: equal keys are seen to be equal.
#[test]
fn opened_comparisons_of_equal_keys_tell_all_degrees_and_of_distinct_ones_nothing() {
    let mut draw = Draw::new(17);
    for _ in 0..100 {
        let mut degrees: Vec<u32> = (0..4).map(|_| 1 + draw.below(3)).collect();
        let keys = shuffled_keys(&mut draw, &degrees);
        let less = |a: usize, b: usize| keys[a] < keys[b];
        let alike = |a: usize| (0..keys.len()).filter(|b| !less(a, *b) && !less(*b, a)).count();
        // A class of so many equal keys shows itself at each of its members.
        let mut read: Vec<u32> = Vec::new();
        for size in 1..=3 {
            let members = (0..keys.len()).filter(|a| alike(*a) == size).count();
            read.extend(vec![size as u32; members / size]);
        }
        degrees.sort_unstable();
        assert_eq!(read, degrees, "the degrees are read off");
    }
    // With the row's number behind the key no two are equal, and what is opened is any order.
    let orders_of = |keys: [usize; 4]| {
        let mut seen = std::collections::BTreeMap::new();
        for a in 0..24 {
            let (mut rows, mut code, mut rest) = (Vec::new(), a, vec![0, 1, 2, 3]);
            for left in (1..=4).rev() {
                rows.push(rest.remove(code % left));
                code /= left;
            }
            let mut order = vec![0, 1, 2, 3];
            order.sort_by_key(|place: &usize| (keys[rows[*place]], rows[*place]));
            *seen.entry(order).or_insert(0) += 1;
        }
        seen
    };
    let (one, other) = (orders_of([0, 0, 0, 1]), orders_of([0, 1, 2, 2]));
    assert!(one == other && one.len() == 24 && one.values().all(|count| *count == 1));
}

/// Where an output mask is the next preparation's input mask, as in the paper, opening a failed
/// preparation shows what went through the one before.
#[test]
fn a_failed_preparation_that_is_opened_shows_data_if_masks_are_handed_on() {
    for seed in 0..50 {
        let (data, mask) = (table(10 * seed, ROWS), table(10 * seed + 1, ROWS));
        let public = xor(&data, &mask);
        let handed_on = mask;
        assert_eq!(xor(&public, &handed_on), data, "read by whoever sees the failed one opened");
        // Here each use's mask is fresh, and nothing has been opened against it yet.
        let fresh = table(10 * seed + 2, ROWS);
        assert_ne!(xor(&public, &fresh), data);
    }
}

/// A dispute that opens a pair's seed would show the third server the permutation, and with the
/// public sorting map the order that it hides: which edge goes where.
#[test]
fn a_server_that_is_shown_the_factor_that_it_lacks_reads_the_graph() {
    let compose = |p: &[u32], q: &[u32]| -> Vec<u32> { p.iter().map(|i| q[*i as usize]).collect() };
    for seed in 0..50 {
        let factors = [3 * seed, 3 * seed + 1, 3 * seed + 2].map(|s| secret_permutation(s, ROWS));
        let whole = |lacked: &[u32]| compose(lacked, &compose(&factors[1], &factors[0]));
        let hidden = secret_permutation(1000 + seed, ROWS);
        let public = {
            let place = permutation::invert(&hidden);
            permutation::invert(&compose(&whole(&factors[2]), &place))
        };
        assert_eq!(compose(&public, &whole(&factors[2])), hidden, "with the factor: the graph");
        let guessed = secret_permutation(2000 + seed, ROWS);
        assert_ne!(compose(&public, &whole(&guessed)), hidden, "without it: any order at all");
    }
}

/// An error before the middle permutation, taken away again at a guessed place behind it: if the
/// guess is right the end is as it should be, and only a check of the stage between tells.
#[test]
fn an_error_that_is_cancelled_at_a_guess_in_a_later_stage_shows_at_the_stage_between() {
    let mut draw = Draw::new(21);
    let mut words = || -> Vec<Gf64> {
        let mut word = || u64::from(draw.below(u32::MAX)) << 32 | u64::from(draw.below(u32::MAX));
        (0..ROWS).map(|_| Gf64(word() | 1)).collect()
    };
    let (rows, weights, error) = (words(), words(), words()[0]);
    let middle = secret_permutation(5, ROWS);
    let moved =
        |table: &[Gf64]| -> Vec<Gf64> { middle.iter().map(|i| table[*i as usize]).collect() };
    let sum = |weights: &[Gf64], table: &[Gf64]| {
        weights.iter().zip(table).fold(Gf64::ZERO, |sum, (w, row)| sum + *w * *row)
    };
    let mut spoilt = rows.clone();
    spoilt[4] += error;
    let unseen = (0..ROWS).filter(|guess| {
        let mut end = moved(&spoilt);
        end[*guess] += error;
        sum(&moved(&weights), &end) == sum(&weights, &rows)
    });
    let unseen: Vec<usize> = unseen.collect();
    assert_eq!(unseen.len(), 1, "a check of the end lets one guess of all pass");
    assert_eq!(middle[unseen[0]], 4);
    assert_ne!(sum(&weights, &spoilt), sum(&weights, &rows), "one of the stage lets none pass");
}

/// Two vertices' rows, then two edges'.
const VERTICES: usize = 2;
const EDGES: usize = 2;
/// Which row goes to each place.
type Order = [usize; VERTICES + EDGES];
const BASE: Order = [0, 1, 2, 3];

fn orders() -> Vec<Order> {
    let all = (0..256).map(|code| [code / 64, code / 16 % 4, code / 4 % 4, code % 4]);
    all.filter(|order: &Order| BASE.iter().all(|row| order.contains(row))).collect()
}

/// What a map leaves in the place of what an earlier one has left.
fn moved<T: Copy>(rows: [T; 4], map: &Order) -> [T; 4] {
    map.map(|from| rows[from])
}

fn inverse(map: &Order) -> Order {
    BASE.map(|row| map.iter().position(|from| *from == row).unwrap())
}

/// The edges of a hop by these maps: for each row in destination order the vertex whose value it
/// has from source order, and the one that gets it. (The last vertex that stands before a row in
/// source order; the first one behind it in destination order.)
fn hop(maps: &[Order; 3]) -> Vec<(usize, usize)> {
    let vertices = moved(BASE, &maps[0]).map(|row| usize::from(row < VERTICES));
    let source = |place: usize| vertices[..=place].iter().sum::<usize>().checked_sub(1);
    let target = |place: usize| (0..VERTICES).find(|vertex| place <= maps[2][*vertex]);
    let rows = moved(BASE, &maps[1]).map(source).into_iter().enumerate();
    rows.filter_map(|(place, source)| Some((source?, target(place)?))).collect()
}

/// The count of vertices, summed up behind so many of the maps, as it is back at the vertices.
fn counts(maps: &[Order; 3], summed_behind: usize) -> [usize; VERTICES] {
    let mut column = BASE.map(|row| usize::from(row < VERTICES));
    for (step, map) in maps.iter().enumerate() {
        column = moved(column, map);
        if step + 1 == summed_behind {
            column = BASE.map(|place| column[..=place].iter().sum());
        }
    }
    [column[0], column[1]]
}

/// Of all triples of maps on two vertices and two edges those pass the order check that are
/// graphs. Without its labels others would: by their orders alone, or by its counts.
#[test]
fn only_graphs_pass_the_order_check_and_without_labels_others_would() {
    let ascends = |order: Order| {
        order.iter().position(|row| *row == 0) < order.iter().position(|row| *row == 1)
    };
    let (mut ascending, mut counted, mut graphs, mut lost, mut more) = (0, 0, 0, 0, 0);
    for (one, two, three) in triples() {
        let maps = [one, two, three];
        let labels = maps.iter().fold(BASE, moved) == BASE;
        let passes = [1, 2].map(|behind| counts(&maps, behind)) == [[1, 2]; 2];
        let edges = hop(&maps);
        let own = (0..VERTICES).filter(|vertex| edges.contains(&(*vertex, *vertex))).count();
        let others = edges.len() - own;
        counted += usize::from(passes);
        if passes && labels {
            graphs += 1;
            assert!(own == VERTICES && others <= EDGES, "{maps:?}: {edges:?}");
        }
        if ascends(one) && ascends(inverse(&three)) {
            ascending += 1;
            assert!(passes || !labels, "{maps:?}");
            lost += usize::from(own < VERTICES);
            more += usize::from(others > EDGES);
        }
    }
    assert_eq!((ascending, counted, graphs), (3_456, 848, 144));
    assert_eq!((lost, more), (2_168, 576));
}

fn triples() -> impl Iterator<Item = (Order, Order, Order)> {
    let all = orders();
    let count = all.len();
    (0..count.pow(3)).map(move |n| (all[n / count / count], all[n / count % count], all[n % count]))
}

/// Each server lacks one of a permutation's three factors. Whatever the graph is and the two that
/// it has are, each of the maps is any of all as often as any other.
#[test]
fn the_maps_of_every_graph_are_uniform_to_every_server() {
    let all = orders();
    let graphs = triples().filter(|(one, two, three)| {
        let maps = [*one, *two, *three];
        let labels = maps.iter().fold(BASE, moved) == BASE;
        labels && [1, 2].map(|behind| counts(&maps, behind)) == [[1, 2]; 2]
    });
    // What the permutation and its map make together, for each of the three.
    let mut together: [std::collections::BTreeSet<Order>; 3] = Default::default();
    for (one, two, three) in graphs {
        together[0].insert(one);
        together[1].insert(two);
        together[2].insert(three);
    }
    assert_eq!(together.each_ref().map(|orders| orders.len()), [12, 23, 12]);
    let known = || all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
    for (order, lacked) in together.iter().flatten().flat_map(|order| [0, 1, 2].map(|l| (order, l)))
    {
        for (a, b) in known() {
            let map = |unknown: &Order| {
                let factors = match lacked {
                    0 => [unknown, a, b],
                    1 => [a, unknown, b],
                    _ => [a, b, unknown],
                };
                let permutation = factors.into_iter().fold(BASE, moved);
                // What is public: it makes the order of what the permutation has left.
                order.map(|row| inverse(&permutation)[row])
            };
            let mut seen = [false; 256];
            for unknown in &all {
                let [a, b, c, d] = map(unknown);
                seen[((a * 4 + b) * 4 + c) * 4 + d] = true;
            }
            assert_eq!(seen.iter().filter(|seen| **seen).count(), all.len());
        }
    }
}
