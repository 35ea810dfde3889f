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
use crate::program::{Along, Begin, Next, VertexProgram};
use crate::ruffle2::coin;
use crate::ruffle2::factors::Factors;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::opening::open;
use crate::ruffle2::preparation::Prepared;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobSeeds, Purpose};
use crate::ruffle2::sharing::{Masked, Rss, table_digest};
use crate::ruffle2::shuffle::{Applied, Shuffler};
use crate::ruffle2::uses::UseId;
use crate::spec::JobSpec;
use crate::watch::{Stage, Watch};

/// Added to a use's number in the tag of its difference's opening: the order check has lower ones.
const DIFFERENCES: u32 = 1 << 31;

/// Added to a use's number in the tag of the opening with which it begins alone.
const ALONE: u32 = 1 << 31;

/// What a job has once its lists are known and checked.
pub(crate) struct Link<P: VertexProgram> {
    pub job: Job<P>,
    pub seeds: JobSeeds,
    pub factors: Factors,
    pub prepared: BTreeMap<UseId, Prepared>,
    pub coin: Digest,
    pub input: Option<Bytes>,
    /// Rows that are shuffled with the vertices' values.
    pub decoys: Option<Rss<P::F>>,
}

/// A list's ways: of its first hop, and of those behind it if they go elsewhere.
struct Ways {
    list: usize,
    first: Route,
    others: Option<Route>,
}

impl Ways {
    fn new(spec: &JobSpec, list: usize, maps: &Maps) -> Self {
        let route = |hop| Route::new(maps, spec.vertices as usize, spec.is_backward(hop));
        let others = (spec.is_backward(0) != spec.is_backward(1)).then(|| route(1));
        Self { list, first: route(0), others }
    }

    fn at(&self, hop: u32) -> &Route {
        self.others.as_ref().filter(|_| hop > 0).unwrap_or(&self.first)
    }
}

/// A job whose structure is fixed, ready for its hops. Not `Clone`: its uses are made once.
pub struct Linked<P: VertexProgram> {
    link: Link<P>,
    ways: Vec<Ways>,
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

    fn coefficients(&self, list: usize, hop: u32) -> Coefficients<P::F> {
        match self.job.program().along(hop) {
            Along::Times(factor) => Coefficients::Same(factor),
            Along::Coin => {
                let numbers = [list as u64, hop.into()];
                Coefficients::Each(coin::stream(&self.coin, b"coefficients", &numbers).into())
            }
        }
    }

    /// Of a state what is no delayed vertex's.
    fn shown<'a>(&self, state: &'a [u8]) -> &'a [u8] {
        &state[..self.spec().shown() as usize * ELEMENT_BYTES]
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
        let shown = self.shown(state).len();
        let pairs = elements::<P::F>(&gathered[..shown]).zip(elements::<P::F>(state));
        let new = pairs.map(|(gathered, state)| take * gathered + kept * state + added);
        // What was new before is delayed by one hop more; what arrives at delayed vertices is lost.
        let mut next = to_table(new);
        next.extend_from_slice(&state[..state.len() - shown]);
        next
    }

    /// The walk over one pair's shares of the masks: for each use the share of L(U) − α_in, and the
    /// masks of all states.
    fn walk_masks(&self, ways: &[Ways], pair: Pair) -> (BTreeMap<UseId, Vec<u8>>, Vec<Vec<u8>>) {
        let spec = self.spec();
        let mut state = vec![0; spec.vertices as usize * ELEMENT_BYTES];
        if self.input.is_some() {
            P::F::expand(&self.seeds.of(pair).prg(Purpose::Secret), 0, &mut state);
        }
        let (mut differences, mut states) = (BTreeMap::new(), vec![self.shown(&state).to_vec()]);
        for hop in 0..spec.hops {
            match self.job.program().begins(hop) {
                Begin::Masked if hop > 0 => state = self.restart(hop, pair),
                Begin::Public if hop > 0 => state.fill(0),
                _ => {}
            }
            let mut gathered = vec![0; state.len()];
            for way in ways {
                let (list, route) = (&way.list, way.at(hop));
                let mut through = |step: usize, table: Vec<u8>| {
                    let u = spec.hop_use(*list, hop, step);
                    let share = less_input::<P::F>(&self.seeds, &u, pair, table);
                    differences.insert(u.id, share);
                    self.prepared[&u.id].share::<P::F>(&self.seeds, pair)
                };
                let table = through(0, route.enter::<P::F>(&state));
                let coefficients = self.coefficients(*list, hop);
                let table = through(1, route.turn::<P::F>(&table, &coefficients));
                let table = through(2, route.gather::<P::F>(&table));
                P::F::add_into(&mut gathered, &route.leave::<P::F>(&table));
            }
            state = self.advance(hop, ways.len(), &gathered, &state, false);
            let shown = self.shown(&state);
            states.push(match spec.output_use(hop) {
                None => shown.to_vec(),
                Some(u) => {
                    let mut rows = shown.to_vec();
                    let decoys = self.decoys.iter().flat_map(|decoys| decoys.share(pair));
                    rows.extend(to_table(decoys.copied()));
                    let share = less_input::<P::F>(&self.seeds, &u, pair, rows);
                    differences.insert(u.id, share);
                    self.prepared[&u.id].share::<P::F>(&self.seeds, pair).into_owned()
                }
            });
        }
        (differences, states)
    }

    /// A pair's share of the masks under which a hop begins anew.
    fn restart(&self, hop: u32, pair: Pair) -> Vec<u8> {
        let mut masks = vec![0; self.spec().vertices as usize * ELEMENT_BYTES];
        P::F::expand(&self.seeds.of(pair).prg(Purpose::Restart(hop)), 0, &mut masks);
        masks
    }

    /// L5: opens L(U) − α_in for all uses of all hops, one round.
    pub async fn open(mut self, run: &Run, maps: Vec<Option<Maps>>) -> Result<Linked<P>, Stop> {
        let lists = maps.iter().enumerate();
        let ways: Vec<Ways> = lists
            .filter_map(|(list, maps)| Some(Ways::new(self.spec(), list, maps.as_ref()?)))
            .collect();
        // The input masks of uses that begin alone hide values: nothing else is opened under them.
        if self.job.program().begins(0) == Begin::EachUse {
            let (differences, masks) = (BTreeMap::new(), [Vec::new(), Vec::new()]);
            return Ok(Linked { link: self, ways, differences, masks });
        }
        let [a, b] = Pair::of_party(run.me());
        let (mut of_a, states_a) = self.walk_masks(&ways, a);
        let (mut of_b, states_b) = self.walk_masks(&ways, b);
        // The masks are worked out, and what they were made of is as large as the differences.
        self.prepared.clear();
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
                for Ways { list, .. } in &ways {
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
        Ok(Linked { link: self, ways, differences, masks: [states_a, states_b] })
    }
}

impl<P: VertexProgram> Linked<P> {
    /// The descriptor.
    pub fn spec(&self) -> &JobSpec {
        self.link.spec()
    }

    /// The lists that take part: uploaded, and found to be graphs.
    pub fn accepted(&self) -> impl Iterator<Item = usize> + '_ {
        self.ways.iter().map(|way| way.list)
    }

    pub(crate) fn program(&self) -> &P {
        self.link.job.program()
    }

    pub(crate) fn watch(&self) -> &Watch {
        self.link.job.watch()
    }

    pub(crate) fn seeds(&self) -> &JobSeeds {
        &self.link.seeds
    }

    pub(crate) fn into_parts(self) -> (JobSeeds, Job<P>) {
        (self.link.seeds, self.link.job)
    }

    /// The shares of what a hop has made.
    pub(crate) fn shared(&self, hop: u32, table: &[u8], party: u8) -> Rss<P::F> {
        let masks = self.masks.each_ref().map(|masks| elements(&masks[hop as usize + 1]).collect());
        Masked { beta: elements(table).collect(), masks }.into_rss(party)
    }

    /// The masks under which a hop begins anew.
    pub(crate) fn restart(&self, hop: u32, party: u8) -> Rss<P::F> {
        let share = |pair| elements(&self.link.restart(hop, pair)).collect();
        Rss::of_own(party, Pair::of_party(party).map(share))
    }

    pub(crate) fn start(&self) -> Vec<u8> {
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
        let mut states = vec![self.link.shown(&state).to_vec()];
        let of = self.spec().hops;
        for hop in 0..of {
            self.link.job.watch().tell(Stage::Hop { done: hop, of });
            state = self.hop(run, journal, hop, &state).await?;
            states.push(self.link.shown(&state).to_vec());
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
            // Of the decoys all is masks.
            beta.resize(of.bytes(), 0);
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

    /// One step of a hop whose uses begin alone ([`Begin::EachUse`]): opens each list's values
    /// under the use's input masks, shuffles them, and sorts what comes out.
    pub(crate) async fn shuffle_alone(
        &self,
        run: &Run,
        journal: &dyn Journal,
        (hop, step): (u32, usize),
        values: &[Rss<P::F>],
    ) -> Result<Vec<Rss<P::F>>, Stop> {
        let (spec, seeds, pairs) = (self.spec(), self.seeds(), Pair::of_party(run.me()));
        let of = |way: &Ways| spec.hop_use(way.list, hop, step);
        let sequence = |way: &Ways| spec.sequence(way.list, hop, step);
        let masked = self.ways.iter().zip(values).map(|(way, values)| {
            let mut shares = values.tables();
            for pair in pairs {
                let share = shares[pair.index()].take().expect("an own pair's share");
                let less = less_input::<P::F>(seeds, &of(way), pair, share.into());
                shares[pair.index()] = Some(less.into());
            }
            (ALONE | sequence(way), shares)
        });
        let opened = open::<P::F>(run, masked.collect()).await?;
        let apply =
            |(way, beta): (&Ways, Vec<u8>)| Applied { of: of(way), sequence: sequence(way), beta };
        let uses = self.ways.iter().zip(opened).map(apply).collect();
        let (job, factors) = (spec.number, &self.link.factors);
        let shuffler = Shuffler { run, job, seeds, factors, journal };
        let shuffled = shuffler.apply::<P::F>(uses).await?;
        let sorted = self.ways.iter().zip(shuffled).map(|(way, table)| {
            let sort =
                |table: &[u8]| -> Vec<P::F> { elements(&way.at(hop).sort(table, step)).collect() };
            let prepared = &self.link.prepared[&of(way).id];
            let masks = pairs.map(|pair| sort(&prepared.share::<P::F>(seeds, pair)));
            Masked { beta: sort(&table), masks }.into_rss(run.me())
        });
        Ok(sorted.collect())
    }

    pub(crate) async fn hop(
        &mut self,
        run: &Run,
        journal: &dyn Journal,
        hop: u32,
        state: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let enter = |way: &Ways| way.at(hop).enter::<P::F>(state);
        let mut tables: Vec<Vec<u8>> = self.ways.iter().map(enter).collect();
        for step in 0..3 {
            let mut uses = Vec::new();
            for (Ways { list, .. }, mut beta) in self.ways.iter().zip(tables) {
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
                .ways
                .iter()
                .zip(shuffled)
                .map(|(way, table)| match step {
                    0 => {
                        let coefficients = self.link.coefficients(way.list, hop);
                        way.at(hop).turn::<P::F>(&table, &coefficients)
                    }
                    1 => way.at(hop).gather::<P::F>(&table),
                    _ => way.at(hop).leave::<P::F>(&table),
                })
                .collect();
        }
        let mut gathered = vec![0; state.len()];
        tables.iter().for_each(|table| P::F::add_into(&mut gathered, table));
        Ok(self.link.advance(hop, self.ways.len(), &gathered, state, true))
    }
}
