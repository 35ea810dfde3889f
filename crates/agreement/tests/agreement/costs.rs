//! Messages are as many as the specification's formula says.

use crate::world::{Role, World, params};

/// 3·n·(n − 1) a round in which all take part.
fn formula(n: usize, rounds: usize) -> usize {
    3 * n * (n - 1) * rounds
}

#[test]
fn messages_of_two_rounds_equal_the_formula() {
    for (n, two_rounds) in [(4, 72), (5, 120), (7, 252), (10, 540), (16, 1440)] {
        assert_eq!(formula(n, 2), two_rounds);
        let mut world = World::new(params(n, 64, 64), &vec![Role::Honest; n], 1);
        (0..n).for_each(|i| world.propose(i, vec![i as u8]));
        // In the order of sending all servers end a round together.
        while !world.pool.is_empty() {
            world.deliver_in_order(1);
        }
        let rounds = world.machines[0].ledger.as_ref().unwrap().top();
        let rounds = usize::try_from(rounds).unwrap();
        assert!(rounds >= 4, "n = {n}: one wave at least");
        let count = |kind| world.sent.get(kind).copied().unwrap_or(0);
        assert_eq!(count("block"), n * (n - 1) * rounds, "n = {n}");
        assert_eq!(count("vote"), n * (n - 1) * rounds);
        assert_eq!(count("certificate"), n * (n - 1) * rounds);
        assert_eq!(world.sent.values().sum::<usize>(), formula(n, rounds), "nothing else is sent");
    }
}
