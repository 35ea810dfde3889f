//! A job on one server, from its preparation to the first hop (`docs/spec/graph.md`).
//!
//! Each phase takes over what the one before has made: [`Job::prepare`] makes a [`Stock`], which
//! alone can give out seeds; [`Stock::link`] consumes it; [`Linked::compute`] leaves a
//! [`Computed`](crate::output::Computed), whose values are still shared.

mod decoys;

use std::collections::BTreeMap;

use ostrakon_crypto::{Secret, Transcript, VerifyingKey};
use ostrakon_field::Fp61;
use ostrakon_party::{Party, wire};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::setup::SharedKeys;
use serde::{Deserialize, Serialize};

use crate::intake::{self, sealed_mark};
use crate::job::Job;
use crate::order_check::Checker;
use crate::owner::{Issue, Maps, Upload};
use crate::program::VertexProgram;
use crate::query::{Link, Linked};
use crate::ruffle2::coin;
use crate::ruffle2::factors::Factors;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, begin};
use crate::ruffle2::preparation::{self, Failing, Prepared, SeedStatements, Slice, stated_by};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{FreshSeeds, JobSeeds, PairSeed, Phase, Purpose};
use crate::ruffle2::shuffle::Shuffler;
use crate::ruffle2::uses::{Use, UseId};
use crate::spec::JobSpec;
use crate::watch::Stage;

/// What a server keeps between the preparation of a job and its input. Not `Clone`: it is consumed
/// by [`Stock::link`].
pub struct Stock<P> {
    /// The job.
    job: Job<P>,
    party: u8,
    seeds: JobSeeds,
    statements: SeedStatements,
    prepared: BTreeMap<UseId, Prepared>,
}

/// What a preparation makes.
type Made = (SeedStatements, BTreeMap<UseId, Prepared>);

#[derive(Serialize, Deserialize)]
struct Stored {
    party: u8,
    spec: JobSpec,
    seeds: [Option<[u8; 32]>; 3],
    statements: SeedStatements,
    prepared: Vec<Prepared>,
}

impl<P: VertexProgram> Job<P> {
    /// Prepares everything that needs no input. `randomness` is 32 fresh random bytes, used for
    /// this call alone.
    ///
    /// # Errors
    /// [`Stop`]; the job's number is then spent.
    pub async fn prepare(
        self,
        party: &Party,
        keys: &SharedKeys,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Stock<P>, Stop> {
        let fresh = FreshSeeds::of_party(keys, &self.spec().name());
        let made = self.prepare_with(party, Failing::Opens(&fresh), randomness, journal).await?;
        Ok(self.stock(party, fresh.into_seeds(), made))
    }

    /// Prepares with seeds of which some were dealt by owners, whose lists are known already: if a
    /// check fails nothing is opened.
    ///
    /// # Errors
    /// [`Stop`]; the job's number is then spent.
    pub async fn prepare_dealt(
        self,
        party: &Party,
        seeds: JobSeeds,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<DealtStock<P>, Stop> {
        let made = self.prepare_with(party, Failing::Stops(&seeds), randomness, journal).await?;
        Ok(DealtStock(self.stock(party, seeds, made)))
    }

    fn stock(self, party: &Party, seeds: JobSeeds, (statements, prepared): Made) -> Stock<P> {
        Stock { job: self, party: party.id.0, seeds, statements, prepared }
    }

    async fn prepare_with(
        &self,
        party: &Party,
        failing: Failing<'_>,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Made, Stop> {
        let (randomness, seeds) = (Secret::new(randomness), failing.seeds());
        let name = self.spec().name();
        let run = Run { party: party.clone(), instance: name.instance(Phase::Seeds) };
        let permutations = self.spec().permutations();
        let stating = preparation::state_seeds(&run, &name, seeds, &permutations, journal);
        let statements = run.with_accusations(stating).await?;
        let mut prepared = Vec::new();
        let slices = [self.spec().check_bundles()].into_iter().chain(self.spec().hop_slices());
        let slices: Vec<_> = slices.collect();
        let of = u32::try_from(slices.len()).unwrap_or(u32::MAX);
        for (number, bundles) in (0..).zip(slices) {
            self.watch().tell(Stage::Preparing { done: number, of });
            let run = preparation::slice_run(party, &name, number);
            let slice = Slice { job: &name, number, bundles: &bundles, failing };
            let fresh = number.to_le_bytes();
            let fresh = randomness.derive("ostrakon/v1/graph/slice randomness", &[&fresh]);
            let (statements, fresh) = (&statements, *fresh.expose());
            // The order check counts, whatever the program's field is.
            prepared.extend(if number == 0 {
                let task = preparation::prepare::<Fp61>(&run, &slice, statements, fresh, journal);
                run.with_accusations(task).await?
            } else {
                let task = preparation::prepare::<P::F>(&run, &slice, statements, fresh, journal);
                run.with_accusations(task).await?
            });
        }
        let prepared = prepared.into_iter().map(|prepared| (prepared.of.id, prepared)).collect();
        Ok((statements, prepared))
    }
}

impl<P: VertexProgram> Stock<P> {
    /// The descriptor.
    pub fn spec(&self) -> &JobSpec {
        self.job.spec()
    }

    /// Bytes for a file that only this server may read.
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&Stored {
            party: self.party,
            spec: self.job.spec().clone(),
            seeds: self.seeds.0.each_ref().map(|seed| seed.as_ref().map(|seed| *seed.expose())),
            statements: self.statements.clone(),
            prepared: self.prepared.values().cloned().collect(),
        })
    }

    /// Reads what [`Stock::to_bytes`] wrote, for the same program.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8], program: P) -> Result<Self, wire::Malformed> {
        let stored: Stored = wire::decode(bytes)?;
        let job = Job::new(stored.spec, program).ok_or(wire::Malformed)?;
        let prepared: BTreeMap<UseId, Prepared> =
            stored.prepared.into_iter().map(|prepared| (prepared.of.id, prepared)).collect();
        let uses: Vec<(Use, bool)> = job.uses().collect();
        let sound = |(of, check): &(Use, bool)| {
            prepared.get(&of.id).is_some_and(|prepared| {
                let canonical = match check {
                    true => prepared.is_sound::<Fp61>(stored.party),
                    false => prepared.is_sound::<P::F>(stored.party),
                };
                prepared.of == *of && canonical
            })
        };
        let count = 2 + job.spec().permutations().len();
        let stated = stored.statements.iter().flatten().all(|digests| digests.len() == count);
        let seeds = Pair::ALL
            .into_iter()
            .all(|pair| stored.seeds[pair.index()].is_some() == pair.contains(stored.party));
        let fits = stored.party < 3 && stated && seeds && prepared.len() == uses.len();
        if !fits || !uses.iter().all(sound) {
            return Err(wire::Malformed);
        }
        let seeds = JobSeeds(stored.seeds.map(|seed| seed.map(PairSeed::known)));
        let statements = stored.statements;
        Ok(Self { job, party: stored.party, seeds, statements, prepared })
    }

    /// What this server gives to the owner of a list (`place` is the list's number) or to the
    /// querier (`place` is the number of lists). `None` to anybody else, and to everybody once the
    /// uploads have been sealed, also after a restart.
    ///
    /// # Errors
    /// [`Stop::Journal`].
    pub fn issue(
        &self,
        place: u32,
        to: &VerifyingKey,
        journal: &dyn Journal,
    ) -> Result<Option<Issue>, Stop> {
        let spec = self.job.spec();
        let sealed = journal.read(&sealed_mark(spec.number)).map_err(Stop::Journal)?;
        let owner = intake::places(spec).get(place as usize).map(|place| place.owner);
        if sealed.is_some() || owner != Some(*to) {
            return Ok(None);
        }
        // Digests are of the job seed, of the secret input's seed, then of the permutations'.
        let (purposes, at): (Vec<Purpose>, _) = if (place as usize) < spec.lists.len() {
            let ids = [0, 1, 2].map(|k| Purpose::Permutation(3 * place + k));
            (ids.to_vec(), 2 + 3 * place as usize)
        } else {
            (vec![Purpose::Secret], 1)
        };
        let stated = Pair::ALL.map(|pair| {
            let digests = stated_by(&self.statements, pair.members()[0], pair);
            digests[at..at + purposes.len()].iter().map(|digest| digest.0).collect()
        });
        let seeds = Pair::of_party(self.party).map(|pair| {
            let seed = self.seeds.of(pair);
            purposes.iter().map(|purpose| *seed.purpose(*purpose).expose()).collect()
        });
        Ok(Some(Issue { stated, seeds }))
    }

    /// Seals the uploads, tosses the coins, checks the orders and opens the differences. `uploads`
    /// are by place. `randomness` is 32 fresh random bytes, used for this call alone.
    ///
    /// # Errors
    /// [`Stop`]. A list that is no graph is left out and stops nothing.
    pub async fn link(
        self,
        party: &Party,
        uploads: &[Option<Upload>],
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Linked<P>, Stop> {
        let instance = self.job.spec().name().instance(Phase::Link);
        let run = Run { party: party.clone(), instance };
        let task = self.link_checked(&run, uploads, Secret::new(randomness), journal);
        run.with_accusations(task).await
    }

    async fn link_checked(
        self,
        run: &Run,
        uploads: &[Option<Upload>],
        randomness: Secret,
        journal: &dyn Journal,
    ) -> Result<Linked<P>, Stop> {
        let spec = self.job.spec();
        let mut bodies = intake::seal(run, spec, uploads, journal).await?;
        let input = match spec.querier {
            Some(_) => match bodies.pop().flatten() {
                Some(input) if <P::F as ostrakon_field::WordField>::are_canonical(&input) => {
                    Some(input)
                }
                _ => return Err(Stop::Check("the secret input")),
            },
            None => None,
        };
        let maps: Vec<Option<Maps>> = bodies
            .into_iter()
            .enumerate()
            .map(|(list, body)| Maps::decode(&body?, spec.rows(list)))
            .collect();
        self.link_sealed(run, maps, input, randomness, journal).await
    }

    /// L2 to L5, on lists that all servers know to be sealed.
    async fn link_sealed(
        self,
        run: &Run,
        maps: Vec<Option<Maps>>,
        input: Option<bytes::Bytes>,
        randomness: Secret,
        journal: &dyn Journal,
    ) -> Result<Linked<P>, Stop> {
        let Stock { job, seeds, prepared, .. } = self;
        let spec = job.spec();
        job.watch().tell(Stage::Checking);
        begin(journal, format!("job {} link", spec.number))?;
        let coin = coin::toss(run, 0, &randomness).await?;
        let uses: Vec<Use> = job.uses().map(|(of, _)| of).collect();
        let factors = Factors::expand(&seeds, uses.iter());
        let good = {
            let shuffler =
                Shuffler { run, job: spec.number, seeds: &seeds, factors: &factors, journal };
            let checker =
                Checker { spec, run, seeds: &seeds, prepared: &prepared, shuffler: &shuffler };
            checker.check(&maps, &coin).await?
        };
        let maps = maps.into_iter().zip(good).map(|(maps, good)| maps.filter(|_| good)).collect();
        let fresh = randomness.derive("ostrakon/v1/graph/decoys", &[]);
        let decoys = decoys::decoys(run, &seeds, job.spec(), &fresh, journal).await?;
        let link = Link { job, seeds, factors, prepared, coin, input, decoys };
        link.open(run, maps).await
    }
}

/// A stock whose lists' permutations were dealt by their owners. It gives out no seed.
pub struct DealtStock<P>(Stock<P>);

impl<P: VertexProgram> DealtStock<P> {
    /// Tosses the coins, checks the orders and opens the differences. `maps` are by list; without
    /// one a list does not take part. All servers must have the same ones, which they vote on.
    ///
    /// # Errors
    /// [`Stop`]. A list that is no graph is left out and stops nothing.
    pub async fn link(
        self,
        party: &Party,
        maps: Vec<Option<Maps>>,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Linked<P>, Stop> {
        let instance = self.0.job.spec().name().instance(Phase::Link);
        let run = Run { party: party.clone(), instance };
        let task = async {
            let mut transcript = Transcript::new("ostrakon/v1/graph/sealed lists");
            for maps in &maps {
                let bytes = maps.as_ref().map_or_else(Vec::new, Maps::encode);
                transcript.bulk_field(&bytes);
            }
            run.vote(0, "the sealed lists", &transcript.finish()).await?;
            self.0.link_sealed(&run, maps, None, Secret::new(randomness), journal).await
        };
        run.with_accusations(task).await
    }
}
