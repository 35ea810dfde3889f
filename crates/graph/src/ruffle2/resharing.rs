//! Products before anything is verified: each server's terms, and shares of their sum.

use ostrakon_field::{WordField, elements, to_table};
use ostrakon_replicated::pair::Pair;

use super::fault::Stop;
use super::opening::makers;
use super::preparation::set_equality::assignment;
use super::run::Run;
use super::seeds::{JobSeeds, Purpose};
use super::sharing::Rss;
use super::steps::{Kind, Rule};

/// A server's terms of the products x_i·y_i. Over the three servers every product of two shares is
/// computed once.
pub fn local_terms<F: WordField>(x: &Rss<F>, y: &Rss<F>) -> Vec<F> {
    let [a, b] = assignment(x.party());
    let (x_a, x_b, y_a, y_b) = (x.share(a), x.share(b), y.share(a), y.share(b));
    (0..x.len()).map(|i| x_a[i] * (y_a[i] + y_b[i]) + x_b[i] * y_a[i]).collect()
}

/// From terms whose sum over the servers counts to replicated shares of that sum: each server masks
/// its terms and gives them to the next one.
pub async fn reshare<F: WordField>(
    run: &Run,
    seeds: &JobSeeds,
    kind: Kind,
    sequence: u32,
    mut terms: Vec<F>,
) -> Result<Rss<F>, Stop> {
    let me = run.me();
    let step = u64::from(kind.step().0) << 32 | u64::from(sequence);
    let zero: Vec<F> = seeds.zero_shares(me, Purpose::ProductZero(step), terms.len());
    terms.iter_mut().zip(zero).for_each(|(term, zero)| *term += zero);
    let (next, previous) = makers(me);
    run.send(next, kind, sequence, to_table(terms.iter().copied()));
    let theirs = run.receive(previous, kind, sequence, Rule::table::<F>(terms.len())).await?;
    let theirs: Vec<F> = elements(&theirs.body).collect();
    let [first, _] = Pair::of_party(me);
    let own = if first == Pair::of(me, next) { [terms, theirs] } else { [theirs, terms] };
    Ok(Rss::of_own(me, own))
}
