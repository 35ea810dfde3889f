//! What may be asked, and what not.

use super::*;

fn katz(base: u64, hops: u32, edges: u32) -> Terms {
    let program = Program::Katz { base, hops };
    let (naming, shown) = (Naming::Numbers, Shown::Vertices);
    let (undirected, weighted, noise, reader, keep) = (false, false, None, None, None);
    Terms { vertices: 3, naming, edges, undirected, weighted, program, shown, noise, reader, keep }
}

/// The highest value after so many hops, by definition, in numbers that do not wrap.
fn highest(edges: &[(usize, usize)], base: u64, hops: u32) -> u128 {
    let mut values = [1u128; 3];
    for hop in 1..=hops {
        let mut next = [u128::from(base).pow(hop); 3];
        edges.iter().for_each(|(source, target)| next[*target] += values[*source]);
        values = next;
    }
    values.into_iter().max().unwrap()
}

/// Attack: an owner hands in so many walks that values wrap, and honest ones look small.
#[test]
fn katz_is_asked_only_where_no_lists_make_its_values_wrap() {
    for (base, hops) in [(2, 32), (10, 17), (10, 12), (3, 8), (10, 6)] {
        let most = most_katz_edges(base, hops).unwrap() as usize;
        let loops = |count: usize| highest(&vec![(0, 0); count], base, hops);
        assert!(loops(most) <= MOST_KATZ && loops(most + 1) > MOST_KATZ, "{base} {hops}");
        let mixed: Vec<_> = (0..most).map(|e| (e % 3, e * e % 3)).collect();
        assert!(highest(&mixed, base, hops) <= MOST_KATZ);
        let edges = most as u32 + 1;
        let refused = katz(base, hops, edges).validate(1).unwrap_err();
        assert!(matches!(refused, BadTerms::Walks { .. }), "{refused}");
        assert!(most == 0 || katz(base, hops, most as u32).validate(1).is_ok());
    }
    assert_eq!(katz(10, 19, 1).validate(1), Err(BadTerms::Katz));
    assert_eq!(katz(u64::MAX, 32, 1).validate(1), Err(BadTerms::Katz));
    // What is commonly asked can be, and where anyone may come no more come than can be.
    assert_eq!(katz(10, 3, 10_000).validate(10), Ok(()));
    let open = katz(10, 4, 10_000);
    assert_eq!((open.most_owners(), open.validate(3)), (3, Ok(())));
    assert!(matches!(open.validate(4), Err(BadTerms::Walks { .. })));
    assert_eq!(open.validate_for_anyone(1), Ok(()));
    let two = BadTerms::Minimum { minimum: 2, most: 1 };
    assert_eq!(open.validate_for_anyone(2), Err(two));
}

#[test]
fn counts_are_of_so_many_that_they_do_not_say_whose() {
    let of = |vertices, from: &[u32], shown| {
        let program = Program::Distances { from: from.to_vec(), hops: 2, processors: None };
        Terms { vertices, program, shown, ..katz(2, 1, 4) }.validate(1)
    };
    assert_eq!(of(11, &[4], Shown::Counts), Ok(()));
    assert_eq!(of(11, &[4, 5], Shown::Counts), Err(BadTerms::Telling));
    assert_eq!(of(11, &[4, 5], Shown::Vertices), Ok(()));
}

#[test]
fn processors_are_asked_for_where_each_distance_is_shown_and_rounds_can_be_counted() {
    let of = |edges, processors, shown| {
        let program = Program::Distances { from: vec![0], hops: 3, processors };
        Terms { vertices: 100, program, shown, ..katz(2, 1, edges) }
    };
    let vertices = Shown::Vertices;
    assert_eq!(of(1000, Some(8), vertices).validate(2), Ok(()));
    for (processors, shown) in [(0, vertices), (1 << 21, vertices), (8, Shown::Counts)] {
        let refused = of(1000, Some(processors), shown).validate(2);
        assert_eq!(refused, Err(BadTerms::Processors));
    }
    // One processor goes through one row after the other.
    assert_eq!(of(40_000, Some(1), vertices).most_owners(), 1);
    assert_eq!(of(40_000, Some(1), vertices).validate(2), Err(BadTerms::TooMuch(2)));
    assert_eq!(of(40_000, Some(64), vertices).validate(2), Ok(()));
    let (with, without) = (of(1000, Some(8), vertices), of(1000, None, vertices));
    assert!(with.words(2) > without.words(2) && with.most_owners() < without.most_owners());
}

/// Attack: so many come that a member runs out of memory.
#[test]
fn as_many_are_taken_as_fit_into_memory_and_no_more() {
    let of = |edges, processors| {
        let program = Program::Distances { from: vec![0], hops: 3, processors };
        Terms { vertices: 100, program, ..katz(2, 1, edges) }
    };
    let top = Terms { shown: Shown::Top(3), program: Program::InDegrees, ..of(100_000, None) };
    for terms in [of(40_000, None), of(40_000, Some(64)), of(10_000, Some(1 << 20)), top] {
        let most = terms.most_owners();
        assert!(most > 0 && terms.words(most) <= MOST_WORDS, "{most} {terms:?}");
        assert!(terms.words(most + 1) > MOST_WORDS, "{most} {terms:?}");
        assert_eq!(terms.validate(most), Ok(()));
        assert_eq!(terms.validate(most + 1), Err(BadTerms::TooMuch(most + 1)));
    }
}

/// The table of the guide ("How large").
#[test]
fn the_guide_says_how_many_rows_are_taken() {
    let guide = include_str!("../../../../../docs/graphs.md");
    for hops in [1, 2, 6, 8, 10, 16, 32] {
        let of = |edges| {
            let program = Program::Distances { from: vec![0], hops, processors: None };
            Terms { vertices: 100, program, ..katz(2, 1, edges) }.words(1)
        };
        let of_row = of(2) - of(1);
        let (rows, megabytes) = (MOST_WORDS / of_row / 1000, 8 * of_row / 10);
        let rows = match rows {
            1000.. => format!("{},{:03},000", rows / 1000, rows % 1000),
            _ => format!("{rows},000"),
        };
        let line = format!("\n| {hops} | {rows} | {megabytes} MB |\n");
        assert!(guide.contains(&line), "{line}");
    }
}

#[test]
fn further_questions_are_about_lists_like_the_first_ones() {
    let keep = |questions, days| Some(Keep { questions, days });
    let first = Terms { keep: keep(2, 7), ..katz(10, 2, 4) };
    assert_eq!(first.validate(2), Ok(()));
    for keep in [keep(0, 1), keep(1, 0), keep(21, 1), keep(1, 31)] {
        assert_eq!(Terms { keep, ..first.clone() }.validate(2), Err(BadTerms::Keep));
    }
    let program = Program::Reach { from: vec![1], hops: 2 };
    let further = Terms { program, ..katz(10, 2, 4) };
    assert_eq!(further.validate_again(&first, 2), Ok(()));
    let again = Terms { keep: keep(1, 1), ..further.clone() };
    assert_eq!(again.validate_again(&first, 2), Err(BadTerms::Keep));
    let lengths = Program::Shortest { from: vec![1], within: 2, longest: 2 };
    for other in [
        Terms { vertices: 4, ..further.clone() },
        Terms { edges: 5, ..further.clone() },
        Terms { undirected: true, ..further.clone() },
        Terms { weighted: true, ..further.clone() },
        Terms { program: lengths, ..further.clone() },
        Terms { naming: Naming::Names(["a", "b", "c"].map(str::to_owned).to_vec()), ..further },
    ] {
        assert_eq!(other.validate_again(&first, 2), Err(BadTerms::OtherLists));
    }
}

#[test]
fn noise_is_on_what_has_a_sensitivity_and_on_nothing_else() {
    let of = |program, shown, epsilon, bins| {
        let noise = Some(Noise { epsilon, bins });
        let terms = Terms { vertices: 100, program, shown, noise, ..katz(2, 1, 4) };
        terms.validate(1).map(|()| terms.epsilon())
    };
    assert_eq!(of(Program::Edges, Shown::Counts, 1000, 0), Ok(Some(4000)));
    // A list of four edges for another one of four: eight changes.
    assert_eq!(of(Program::InDegrees, Shown::Counts, 1000, 8), Ok(Some(8000)));
    assert_eq!(of(Program::OutDegrees, Shown::Counts, 1000, 8), Ok(Some(8000)));
    let (from, hops) = (vec![1], 2);
    let reach = Program::Reach { from: from.clone(), hops };
    let distances = Program::Distances { from, hops, processors: None };
    let katz = Program::Katz { base: 10, hops };
    for (program, shown, epsilon, bins) in [
        (reach, Shown::Counts, 1000, 8),
        (distances, Shown::Counts, 1000, 8),
        (katz, Shown::Counts, 1000, 8),
        (Program::InDegrees, Shown::Vertices, 1000, 8),
        (Program::InDegrees, Shown::AtLeast(2), 1000, 8),
        (Program::InDegrees, Shown::Counts, 1000, 0),
        (Program::InDegrees, Shown::Counts, 100, 8),
        (Program::InDegrees, Shown::Counts, 1000, 65),
        (Program::Edges, Shown::Counts, 0, 0),
    ] {
        assert_eq!(of(program, shown, epsilon, bins), Err(BadTerms::Noise));
    }
}

#[test]
fn ranks_are_asked_of_as_many_as_can_be_divided_for() {
    let of = |vertices, edges, damping, shown| {
        let program = Program::Pagerank { damping, hops: 20 };
        Terms { vertices, program, shown, ..katz(2, 1, edges) }.validate(2)
    };
    assert_eq!(of(1000, 10_000, 850, Shown::Vertices), Ok(()));
    for (vertices, edges, damping, shown) in [
        (MOST_RANKED + 1, 10, 850, Shown::Vertices),
        (10, MOST_EDGES, 1000, Shown::Vertices),
        (10, 10, 0, Shown::Vertices),
        (10, 10, 850, Shown::Counts),
    ] {
        assert_eq!(of(vertices, edges, damping, shown), Err(BadTerms::Ranks));
    }
}
