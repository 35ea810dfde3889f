//! A small program on triples, by which they are checked.

use ostrakon_field::Fp;
use ostrakon_robust::Tape;
use ostrakon_robust::offline::Spent;
use ostrakon_robust::opening::Mode;
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::{Given, Product, Program, Share, Triple, Turn};

use crate::world::{Ran, World, assert_only_corrupt_blamed};

/// Opens (i + 3)·(i + 5), one for each triple.
pub struct Products {
    count: usize,
    triples: Vec<Triple>,
    under_way: Vec<Product>,
}

impl Products {
    pub fn new(triples: Vec<Triple>) -> Products {
        Products { count: triples.len(), triples, under_way: vec![] }
    }
}

impl Program for Products {
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        let open = |count| Phase::Open { count, mode: Mode::Robust };
        vec![open(2 * self.count), open(self.count)]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        match given {
            Given::Opened(values) if !self.under_way.is_empty() => {
                let products = self.under_way.drain(..).zip(values.as_chunks::<2>().0);
                Turn::Open(products.map(|(product, &opened)| product.finish(opened).0).collect())
            }
            Given::Opened(values) => Turn::Done(values),
            _ => {
                let mut masked = Vec::new();
                for (i, triple) in std::mem::take(&mut self.triples).into_iter().enumerate() {
                    let factors = [3, 5].map(|more| Share::from(Fp::new(i as u64 + more)));
                    let (product, opened) = Product::of(factors[0], factors[1], triple);
                    self.under_way.push(product);
                    masked.extend(opened);
                }
                Turn::Open(masked)
            }
        }
    }
}

/// Runs the program and asserts its output.
pub fn check(world: &mut World, stock: Vec<Spent<Vec<Triple>>>) -> Ran<Vec<Fp>> {
    let name = stock[0].name();
    let programs: Vec<Products> =
        stock.into_iter().map(|spent| Products::new(spent.into_stock())).collect();
    let count = programs[0].count as u64;
    let instance = world.instance(name, programs[0].phases());
    let ran = world.run(instance, programs);
    assert_only_corrupt_blamed(world, &ran.faults);
    let right: Vec<Fp> = (0..count).map(|i| Fp::new((i + 3) * (i + 5))).collect();
    for position in world.honest() {
        assert_eq!(ran.outputs[position].as_ref(), Some(&right), "position {position}");
    }
    ran
}
