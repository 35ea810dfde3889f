//! Connected components, without comparing anything (`docs/spec/graph.md`, section 7).
//!
//! A component is called by its smallest vertex. Its bits are found from the highest one on: the
//! next bit is 0 if and only if some vertex of the component has what is known so far, and then a
//! 0. That is reach from vertices which everybody knows, since all bits that are opened are the
//! result's.

use std::sync::atomic::AtomicU32;

use ostrakon_crypto::Secret;
use ostrakon_field::{Gf64, elements, to_table};
use ostrakon_party::{Party, wire};

use crate::batches::Batches;
use crate::program::{Along, Begin, VertexProgram, number_bits};
use crate::query::Linked;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::opening::open;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::Phase;
use crate::ruffle2::sharing::table_digest;
use crate::watch::Stage;

/// The components of a graph whose edges are handed in in both directions, as far as `within` hops
/// lead across them.
#[derive(Clone, Copy, Debug)]
pub struct Components {
    /// The vertices.
    pub vertices: u32,
    /// Hops for each bit.
    pub within: u32,
}

impl Components {
    /// All hops.
    pub fn hops(&self) -> u32 {
        number_bits(self.vertices) * self.within
    }

    /// Whether reach of a bit begins at a vertex that bears this label so far: the label's higher
    /// bits are the vertex's own, and its bit is 0.
    fn begins_at(vertex: u32, label: u32, bit: u32) -> bool {
        vertex >> bit == label >> bit
    }
}

impl VertexProgram for Components {
    type F = Gf64;

    fn describe(&self) -> Vec<u8> {
        wire::encode(&("components", self.vertices, self.within))
    }

    fn start(&self, vertex: u32) -> Gf64 {
        let begins = Self::begins_at(vertex, 0, number_bits(self.vertices) - 1);
        if begins { Gf64::ONE } else { Gf64::ZERO }
    }

    fn along(&self, _hop: u32) -> Along<Gf64> {
        Along::Coin
    }

    fn begins(&self, hop: u32) -> Begin {
        if hop.is_multiple_of(self.within) { Begin::Public } else { Begin::GoesOn }
    }
}

impl Linked<Components> {
    /// Opens to all servers the smallest vertex of each vertex's component; none where the hops
    /// were seen to be too few. `randomness` is 32 fresh random bytes, used for this call alone.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn components(
        self,
        party: &Party,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Vec<Option<u32>>, Stop> {
        let instance = self.spec().name().instance(Phase::Query);
        let run = Run { party: party.clone(), instance };
        let randomness = Secret::new(randomness);
        let labels = run.with_accusations(self.label(&run, journal, &randomness)).await?;
        // A component's smallest vertex bears its own number.
        let found = |label: &u32| labels.get(*label as usize) == Some(label);
        Ok(labels.iter().map(|label| found(label).then_some(*label)).collect())
    }

    async fn label(
        mut self,
        run: &Run,
        journal: &dyn Journal,
        randomness: &Secret,
    ) -> Result<Vec<u32>, Stop> {
        let (program, vertices, of) = (*self.program(), self.spec().vertices, self.spec().hops);
        if program.vertices != vertices || program.within == 0 || program.hops() != of {
            return Err(Stop::Check("the descriptor of components"));
        }
        let next = AtomicU32::new(0);
        let mut labels = vec![0; vertices as usize];
        let mut hop = 0;
        for (round, bit) in (0..).zip((0..number_bits(vertices)).rev()) {
            let source = |(vertex, label): (u32, &u32)| {
                let begins = Components::begins_at(vertex, *label, bit);
                if begins { Gf64::ONE } else { Gf64::ZERO }
            };
            let mut state = to_table((0..).zip(&labels).map(source));
            run.vote(round, "the table of sources", &table_digest(&state)).await?;
            for _ in 0..program.within {
                self.watch().tell(Stage::Hop { done: hop, of });
                state = self.hop(run, journal, hop, &state).await?;
                hop += 1;
            }
            let reached = self.shared(hop - 1, &state, run.me());
            let (seeds, job) = (self.seeds(), self.spec().number);
            let batches = Batches { run, seeds, job, journal, randomness, next: &next };
            let (mut products, fresh) = batches.begin::<Gf64>()?;
            let random = products.random(0, reached.len());
            let product = products.multiply(&reached, &random).await?;
            let blinded = product.release(&products.verify(fresh).await?);
            let opened = open::<Gf64>(run, vec![(round << 16, blinded.tables())]).await?.remove(0);
            for (label, value) in labels.iter_mut().zip(elements::<Gf64>(&opened)) {
                if value == Gf64::ZERO {
                    *label |= 1 << bit;
                }
            }
        }
        Ok(labels)
    }
}
