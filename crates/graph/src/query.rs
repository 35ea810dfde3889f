//! The hops (`docs/spec/graph.md`, L5 and Q): one walk over what nobody knows, which needs the
//! structure and no data, and one over what everybody knows.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostrakon_crypto::Digest;
use ostrakon_field::{ELEMENT_BYTES, WordField, elements, to_table};
use ostrakon_replicated::pair::Pair;

use crate::hop::{Coefficients, Route};
use crate::job::Job;
use crate::order_check::less_input;
use crate::owner::Maps;
use crate::program::{Along, Next, VertexProgram};
use crate::ruffle2::coin;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::opening::open;
use crate::ruffle2::preparation::Prepared;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobSeeds, Purpose};
use crate::ruffle2::sharing::{Masked, table_digest};
use crate::ruffle2::shuffle::{Applied, Shuffler};
use crate::ruffle2::uses::{Factors, UseId};
use crate::spec::JobSpec;
use crate::watch::Stage;

/// Added to a use's number in the tag of its difference's opening: the order check has lower ones.
const DIFFERENCES: u32 = 1 << 31;

/// What a job has once its lists are known and checked.
pub(crate) struct Link<P> {
    pub job: Job<P>,
    pub seeds: JobSeeds,
    pub factors: Factors,
    pub prepared: BTreeMap<UseId, Prepared>,
    pub coin: Digest,
    pub input: Option<Bytes>,
}

/// A job whose structure is fixed, ready for its hops. Not `Clone`: its uses are made once.
pub struct Linked<P> {
    link: Link<P>,
    routes: Vec<(usize, Route)>,
    /// L(U) − α_in of every use, opened.
    differences: BTreeMap<UseId, Vec<u8>>,
    /// Masks of the state before the first hop and after each, of both own pairs: of what is
    /// opened, so behind the last permutation if there is one.
    masks: [Vec<Vec<u8>>; 2],
}

/// The states before the first hop and after each.
pub(crate) type States<F> = Vec<Masked<F>>;

impl<P: VertexProgram> Link<P> {
    fn spec(&self) -> &JobSpec {
        self.job.spec()
    }

    fn coefficients(&self, list: usize, rows: usize, hop: u32) -> Coefficients<P::F> {
        match self.job.program().along(hop) {
            Along::Times(factor) => Coefficients::Same(factor),
            Along::Coin => {
                let numbers = [list as u64, hop.into()];
                Coefficients::Each(coin::elements(&self.coin, b"coefficients", &numbers, rows))
            }
        }
    }

    /// The state after a hop. What is added is added to the public part alone.
    fn advance(
        &self,
        hop: u32,
        lists: usize,
        gathered: &[u8],
        state: &[u8],
        public: bool,
    ) -> Vec<u8> {
        let Next { gathered: take, kept, added } = self.job.program().next(hop);
        // Each list has a row for each vertex, which carries the vertex's value back to it.
        let kept = match self.job.program().along(hop) {
            Along::Coin => kept,
            Along::Times(factor) => kept - take * factor * P::F::nth(lists as u64),
        };
        let added = if public { added } else { P::F::ZERO };
        let pairs = elements::<P::F>(gathered).zip(elements::<P::F>(state));
        to_table(pairs.map(|(gathered, state)| take * gathered + kept * state + added))
    }

    /// The walk over one pair's shares of the masks: for each use the share of L(U) − α_in, and the
    /// masks of all states.
    fn walk_masks(
        &self,
        routes: &[(usize, Route)],
        pair: Pair,
    ) -> (BTreeMap<UseId, Vec<u8>>, Vec<Vec<u8>>) {
        let spec = self.spec();
        let mut state = vec![0; spec.vertices as usize * ELEMENT_BYTES];
        if self.input.is_some() {
            P::F::expand(&self.seeds.of(pair).prg(Purpose::Secret), 0, &mut state);
        }
        let (mut differences, mut states) = (BTreeMap::new(), vec![state.clone()]);
        for hop in 0..spec.hops {
            let mut gathered = vec![0; state.len()];
            for (list, route) in routes {
                let mut through = |step: usize, table: Vec<u8>| {
                    let u = spec.hop_use(*list, hop, step);
                    let share = less_input::<P::F>(&self.seeds, &u, pair, table);
                    differences.insert(u.id, share);
                    self.prepared[&u.id].share::<P::F>(&self.seeds, pair)
                };
                let table = through(0, route.enter::<P::F>(&state));
                let coefficients = self.coefficients(*list, route.rows(), hop);
                let table = through(1, route.turn::<P::F>(&table, &coefficients));
                let table = through(2, route.gather::<P::F>(&table));
                P::F::add_into(&mut gathered, &route.leave::<P::F>(&table));
            }
            state = self.advance(hop, routes.len(), &gathered, &state, false);
            states.push(match spec.output_use(hop) {
                None => state.clone(),
                Some(u) => {
                    let share = less_input::<P::F>(&self.seeds, &u, pair, state.clone());
                    differences.insert(u.id, share);
                    self.prepared[&u.id].share::<P::F>(&self.seeds, pair)
                }
            });
        }
        (differences, states)
    }

    /// L5: opens L(U) − α_in for all uses of all hops, one round.
    pub async fn open(self, run: &Run, maps: Vec<Option<Maps>>) -> Result<Linked<P>, Stop> {
        let vertices = self.spec().vertices as usize;
        let route = |maps: &Maps| Route::new(maps, vertices, self.spec().direction);
        let routes: Vec<(usize, Route)> = maps
            .iter()
            .enumerate()
            .filter_map(|(list, maps)| Some((list, route(maps.as_ref()?))))
            .collect();
        let [a, b] = Pair::of_party(run.me());
        let (mut of_a, states_a) = self.walk_masks(&routes, a);
        let (mut of_b, states_b) = self.walk_masks(&routes, b);
        let spec = self.spec();
        let (mut ids, mut tables) = (Vec::new(), Vec::new());
        let mut add = |id: UseId, sequence: u32| {
            let mut shares = [None, None, None];
            shares[a.index()] = of_a.remove(&id).map(Bytes::from);
            shares[b.index()] = of_b.remove(&id).map(Bytes::from);
            tables.push((DIFFERENCES | sequence, shares));
            ids.push(id);
        };
        for hop in 0..spec.hops {
            for step in 0..3 {
                for (list, _) in &routes {
                    let id = spec.hop_use(*list, hop, step).id;
                    add(id, spec.sequence(*list, hop, step));
                }
            }
            if let Some(last) = spec.output_use(hop) {
                add(last.id, spec.output_sequence(hop));
            }
        }
        let opened = open::<P::F>(run, tables).await?;
        let differences = ids.into_iter().zip(opened).collect();
        Ok(Linked { link: self, routes, differences, masks: [states_a, states_b] })
    }
}

impl<P: VertexProgram> Linked<P> {
    /// The descriptor.
    pub fn spec(&self) -> &JobSpec {
        self.link.spec()
    }

    /// The lists that take part: uploaded, and found to be graphs.
    pub fn accepted(&self) -> impl Iterator<Item = usize> + '_ {
        self.routes.iter().map(|(list, _)| *list)
    }

    fn start(&self) -> Vec<u8> {
        let program = self.link.job.program();
        let mut state = to_table((0..self.spec().vertices).map(|v| program.start(v)));
        if let Some(input) = &self.link.input {
            P::F::add_into(&mut state, input);
        }
        state
    }

    /// The walk over what everybody knows: three shuffles a hop.
    pub(crate) async fn walk(
        mut self,
        run: &Run,
        journal: &dyn Journal,
    ) -> Result<(States<P::F>, JobSeeds, Job<P>), Stop> {
        let mut state = self.start();
        run.vote(0, "the initial table", &table_digest(&state)).await?;
        let mut states = vec![state.clone()];
        let of = self.spec().hops;
        for hop in 0..of {
            self.link.job.watch().tell(Stage::Hop { done: hop, of });
            state = self.hop(run, journal, hop, &state).await?;
            states.push(state.clone());
        }
        self.shuffle_outputs(run, journal, &mut states).await?;
        let [a, b] = self.masks;
        let of = |table: &Vec<u8>| elements(table).collect();
        let masked = states
            .iter()
            .zip(a.iter().zip(&b))
            .map(|(beta, (a, b))| Masked { beta: of(beta), masks: [of(a), of(b)] });
        Ok((masked.collect(), self.link.seeds, self.link.job))
    }

    /// All states after hops go through the last permutation, side by side.
    async fn shuffle_outputs(
        &mut self,
        run: &Run,
        journal: &dyn Journal,
        states: &mut [Vec<u8>],
    ) -> Result<(), Stop> {
        let spec = self.link.spec().clone();
        let mut uses = Vec::new();
        for (hop, state) in (0..spec.hops).zip(&states[1..]) {
            let Some(of) = spec.output_use(hop) else { return Ok(()) };
            let mut beta = state.clone();
            let difference = self.differences.remove(&of.id).expect("one for every use");
            P::F::add_into(&mut beta, &difference);
            uses.push(Applied { of, sequence: spec.output_sequence(hop), beta });
        }
        let (job, seeds) = (spec.number, &self.link.seeds);
        let shuffler = Shuffler { run, job, seeds, factors: &self.link.factors, journal };
        let shuffled = shuffler.apply::<P::F>(uses).await?;
        states[1..].iter_mut().zip(shuffled).for_each(|(state, table)| *state = table.to_vec());
        Ok(())
    }

    async fn hop(
        &mut self,
        run: &Run,
        journal: &dyn Journal,
        hop: u32,
        state: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let enter = |(_, route): &(usize, Route)| route.enter::<P::F>(state);
        let mut tables: Vec<Vec<u8>> = self.routes.iter().map(enter).collect();
        for step in 0..3 {
            let mut uses = Vec::new();
            for ((list, _), mut beta) in self.routes.iter().zip(tables) {
                let of = self.link.spec().hop_use(*list, hop, step);
                let difference = self.differences.remove(&of.id).expect("one for every use");
                P::F::add_into(&mut beta, &difference);
                uses.push(Applied {
                    of,
                    sequence: self.link.spec().sequence(*list, hop, step),
                    beta,
                });
            }
            let (job, seeds) = (self.link.spec().number, &self.link.seeds);
            let shuffler = Shuffler { run, job, seeds, factors: &self.link.factors, journal };
            let shuffled = shuffler.apply::<P::F>(uses).await?;
            tables = self
                .routes
                .iter()
                .zip(shuffled)
                .map(|((list, route), table)| match step {
                    0 => {
                        let coefficients = self.link.coefficients(*list, route.rows(), hop);
                        route.turn::<P::F>(&table, &coefficients)
                    }
                    1 => route.gather::<P::F>(&table),
                    _ => route.leave::<P::F>(&table),
                })
                .collect();
        }
        let mut gathered = vec![0; state.len()];
        tables.iter().for_each(|table| P::F::add_into(&mut gathered, table));
        Ok(self.link.advance(hop, self.routes.len(), &gathered, state, true))
    }
}
