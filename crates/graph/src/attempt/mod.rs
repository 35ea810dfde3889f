//! An attempt at a computation on sealed contributions, from fresh keys to what is shown
//! (`docs/spec/graph.md`, section 14).
//!
//! Everything that may be used once hangs on keys that the attempt makes of its randomness, so
//! another attempt has other ones; and an attempt that goes on after a restart says the same again.
//! What must be the same in all attempts, the lists that are computed on, is marked before anything
//! is opened.

pub mod dealing;

use std::collections::BTreeMap;
use std::sync::Mutex;

use ostrakon_computation::ComputationId;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use ostrakon_field::Fp61;
use ostrakon_party::{Instance, Party};

use crate::asked::{Contribution, Program, Shown, Terms, Values};
use crate::components::Components;
use crate::graphsc::Minima;
use crate::job::Job;
use crate::output::{Computed, Reader};
use crate::owner::Maps;
use crate::program::{Degree, Katz, Reach, VertexProgram};
use crate::query::Linked;
use crate::ranking::PageRank;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, bind};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobName, Phase};
use crate::spec::{Decoys, Direction, JobSpec, ListSpec};
use crate::watch::Watch;

/// Hops that are prepared under one coin.
const SLICE: u32 = 8;

/// The mark in the computation's journal that is made before anything is opened of what is shown.
/// Whoever keeps the journal and has put something else there keeps it from being opened.
pub const OPENING: &str = "opening";
/// The mark that names the one attempt in which what has noise is opened.
pub const NOISE: &str = "noise";
/// The mark that names the lists that take part: the same in all attempts at all computations on
/// the same contributions. Whoever keeps the journal keeps it with the first of these.
pub const ACCEPTED: &str = "accepted";

/// What is computed.
pub struct Task<'a> {
    /// Names the computation.
    pub computation: &'a ComputationId,
    /// For which computation contributions were made: this one, or an earlier one.
    pub made_for: &'a ComputationId,
    /// What is asked.
    pub terms: &'a Terms,
    /// With fewer lists nothing is opened.
    pub minimum: u32,
    /// The attempt's number, no other attempt's of these servers.
    pub number: u64,
    /// Whose contributions these are, in the seal's order.
    pub owners: &'a [VerifyingKey],
    /// The contributions.
    pub contributions: Vec<Contribution>,
    /// Who is told how far it is.
    pub watch: Watch,
}

/// What came out.
pub struct Computation {
    /// Which lists were left out, by their number.
    pub excluded: Vec<usize>,
    /// What is shown.
    pub values: Values,
}

/// Why nothing came out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// The servers' protocol stopped.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// Too many lists are no graphs.
    #[error("without the lists that are no graphs, {missing} are missing")]
    TooFew {
        /// How many more the minimum needs.
        missing: u32,
    },
}

/// The journal of one attempt, whose keys do not outlive the process.
#[derive(Default)]
struct Volatile(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Volatile {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().map_err(|_| "a panic while it was held")?;
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let marks = self.0.lock().map_err(|_| "a panic while it was held")?;
        Ok(marks.get(name).cloned())
    }
}

/// The descriptor of an attempt. Owners are bound by the session, which names the seal; here lists
/// have their numbers.
fn spec_of(
    computation: &ComputationId,
    terms: &Terms,
    lists: usize,
    number: u64,
    program: Vec<u8>,
) -> JobSpec {
    let list = |list: usize| {
        let mut owner = [0; 32];
        owner[..8].copy_from_slice(&(list as u64).to_le_bytes());
        ListSpec { owner: VerifyingKey(owner), edges: terms.cap() }
    };
    let hops = terms.hops();
    let direction = match terms.program {
        Program::OutDegrees => Direction::Backward,
        Program::Pagerank { .. } => Direction::BackwardOnce,
        _ => Direction::Forward,
    };
    JobSpec {
        number,
        context: computation.0,
        vertices: terms.nodes(),
        delays: terms.program.delays(),
        lists: (0..lists).map(list).collect(),
        querier: None,
        hops,
        direction,
        slice: hops.min(SLICE),
        program,
        shuffled: terms.shown == Shown::Counts && terms.program != Program::Edges,
        decoys: terms.decoys(),
    }
}

/// The descriptor of an attempt at these terms.
pub fn spec(computation: &ComputationId, terms: &Terms, lists: usize, number: u64) -> JobSpec {
    let described = match &terms.program {
        Program::Distances { from, processors: Some(processors), .. } => {
            minima(from, *processors).describe()
        }
        Program::Distances { from, .. }
        | Program::Reach { from, .. }
        | Program::Shortest { from, .. } => Reach { sources: from.clone() }.describe(),
        Program::Components { hops } => components(terms, *hops).describe(),
        Program::Edges | Program::InDegrees | Program::OutDegrees => Degree.describe(),
        Program::Katz { base, .. } => Katz { base: *base }.describe(),
        Program::Pagerank { damping, .. } => PageRank { damping: *damping }.describe(),
    };
    spec_of(computation, terms, lists, number, described)
}

fn minima(from: &[u32], processors: u32) -> Minima {
    Minima { sources: from.to_vec(), processors }
}

fn components(terms: &Terms, within: u32) -> Components {
    Components { vertices: terms.vertices, within }
}

/// Every instance under which messages of an attempt on so many lists travel.
pub fn instances(
    computation: &ComputationId,
    terms: &Terms,
    lists: usize,
    number: u64,
) -> Vec<Instance> {
    let spec = spec(computation, terms, lists, number);
    let slices = 1 + u32::try_from(spec.hop_slices().len()).unwrap_or(u32::MAX);
    let phases = [Phase::Dealing, Phase::Seeds, Phase::Link, Phase::Query].into_iter();
    let name = spec.name();
    phases.chain((0..slices).map(Phase::Slice)).map(|phase| name.instance(phase)).collect()
}

/// Makes an attempt. `key` is the server's key for seeds, `journal` that of the computation. It is
/// a function of `randomness`, the journal and the messages received: `randomness` is 32 random
/// bytes, fresh for each number, or those of the same attempt before a restart, with the same
/// messages.
///
/// # Errors
/// [`Failed`].
pub async fn compute(
    party: &Party,
    key: &ExchangeKey,
    task: Task<'_>,
    journal: &dyn Journal,
    randomness: Secret,
) -> Result<Computation, Failed> {
    let at = At { party, key, journal, randomness: &randomness };
    match &task.terms.program {
        Program::Distances { from, processors: Some(processors), .. } => {
            let (excluded, linked) = linked(at, &task, minima(from, *processors)).await?;
            let computed = linked.minima(party, at.query(), &Volatile::default()).await?;
            opens(journal)?;
            Ok(Computation { excluded, values: show_minima(&task, computed).await? })
        }
        Program::Distances { from, .. } | Program::Shortest { from, .. } => {
            let (excluded, computed) = shared(at, &task, Reach { sources: from.clone() }).await?;
            Ok(Computation { excluded, values: show_distances(&task, from, computed).await? })
        }
        Program::Reach { from, .. } => {
            let (excluded, computed) = shared(at, &task, Reach { sources: from.clone() }).await?;
            Ok(Computation { excluded, values: show_reached(&task, computed).await? })
        }
        Program::Components { hops } => {
            let (excluded, linked) = linked(at, &task, components(task.terms, *hops)).await?;
            let marks = Volatile::default();
            // Bits of what components are called are opened on the way.
            opens(journal)?;
            let smallest = linked.components(party, at.query(), &marks).await?;
            Ok(Computation { excluded, values: Values::of_components(&smallest) })
        }
        Program::Edges | Program::InDegrees | Program::OutDegrees => {
            let (excluded, computed) = shared(at, &task, Degree).await?;
            if task.terms.noise.is_some() {
                once(&task, journal)?;
            }
            let values = match (&task.terms.program, task.terms.decoys()) {
                (Program::Edges, _) => show_total(&task, computed).await?,
                (_, Some(decoys)) => show_among(&task, decoys, computed).await?,
                (_, None) => show_numbers(&task, computed).await?,
            };
            Ok(Computation { excluded, values })
        }
        Program::Katz { base, .. } => {
            let (excluded, computed) = shared(at, &task, Katz { base: *base }).await?;
            Ok(Computation { excluded, values: show_numbers(&task, computed).await? })
        }
        Program::Pagerank { damping, .. } => {
            let (excluded, linked) = linked(at, &task, PageRank { damping: *damping }).await?;
            let computed = linked.rank(party, at.query(), &Volatile::default()).await?;
            opens(journal)?;
            Ok(Computation { excluded, values: show_numbers(&task, computed).await? })
        }
    }
}

/// G6 for distances.
async fn show_distances(
    task: &Task<'_>,
    from: &[u32],
    mut computed: Computed<Reach>,
) -> Result<Values, Stop> {
    let marks = Volatile::default();
    Ok(match reader(task) {
        Some(reader) => Values::Closed(Box::new(computed.first_reached_to(reader, &marks).await?)),
        None => Values::of_distances(task.terms, from, &computed.first_reached(&marks).await?),
    })
}

/// G6 for distances by scatter and gather.
async fn show_minima(task: &Task<'_>, mut computed: Computed<Minima>) -> Result<Values, Stop> {
    Ok(match reader(task) {
        Some(reader) => Values::Closed(Box::new(computed.values_to(reader).await?)),
        None => Values::of_minima(task.terms, &computed.values().await?),
    })
}

/// G6 for reach.
async fn show_reached(task: &Task<'_>, mut computed: Computed<Reach>) -> Result<Values, Stop> {
    let marks = Volatile::default();
    Ok(match reader(task) {
        Some(reader) => {
            let last = computed.last().map(<[_]>::to_vec);
            Values::Closed(Box::new(computed.nonzero_to(&last, reader, &marks).await?))
        }
        None => Values::of_reached(task.terms, &computed.reached(&marks).await?),
    })
}

/// G6 for the number of edges.
async fn show_total(task: &Task<'_>, mut computed: Computed<Degree>) -> Result<Values, Stop> {
    let (marks, coins) = (Volatile::default(), task.terms.coins());
    Ok(match reader(task) {
        Some(reader) => Values::Closed(Box::new(computed.total_to(coins, reader, &marks).await?)),
        None => Values::of_total(task.terms, computed.total(coins, &marks).await?),
    })
}

/// G6 for counts with noise.
async fn show_among(
    task: &Task<'_>,
    decoys: Decoys,
    mut computed: Computed<Degree>,
) -> Result<Values, Stop> {
    let marks = Volatile::default();
    Ok(match reader(task) {
        Some(reader) => {
            Values::Closed(Box::new(computed.among_decoys_to(decoys, reader, &marks).await?))
        }
        None => Values::of_decoys(decoys, &computed.among_decoys(decoys, &marks).await?),
    })
}

/// From here on what is shown is opened, unless it was cancelled.
fn opens(journal: &dyn Journal) -> Result<(), Stop> {
    let begun = Transcript::new("ostrakon/v1/graph/opening").finish();
    bind(journal, OPENING.to_owned(), &begun)
}

/// Another attempt would have other noise, and the mean of both less: what has noise is opened in
/// one attempt only.
fn once(task: &Task<'_>, journal: &dyn Journal) -> Result<(), Stop> {
    let mut transcript = Transcript::new("ostrakon/v1/graph/attempt with noise");
    transcript.number(task.number);
    bind(journal, NOISE.to_owned(), &transcript.finish())
}

/// G6 for whatever counts.
async fn show_numbers<P: VertexProgram<F = Fp61>>(
    task: &Task<'_>,
    mut computed: Computed<P>,
) -> Result<Values, Stop> {
    let marks = Volatile::default();
    Ok(match (task.terms.shown, reader(task)) {
        (Shown::AtLeast(threshold), None) => {
            let counts = computed.at_least(threshold, &marks).await?;
            Values::Vertices(counts.into_iter().map(|c| c.map(|c| c.value())).collect())
        }
        (Shown::AtLeast(threshold), Some(reader)) => {
            Values::Closed(Box::new(computed.at_least_to(threshold, reader, &marks).await?))
        }
        (Shown::Top(count), reader) => {
            let of = (count, task.terms.value_bits(task.contributions.len()));
            match reader {
                None => Values::of_top(&computed.top(of, &marks).await?),
                Some(reader) => {
                    Values::Closed(Box::new(computed.top_to(of, reader, &marks).await?))
                }
            }
        }
        (_, None) => Values::of_numbers(task.terms, &computed.values().await?),
        (_, Some(reader)) => Values::Closed(Box::new(computed.values_to(reader).await?)),
    })
}

fn reader<'a>(task: &'a Task<'_>) -> Option<Reader<'a>> {
    let key = task.terms.reader.as_ref()?;
    Some(Reader { computation: task.computation, key })
}

/// Where an attempt is made.
#[derive(Clone, Copy)]
struct At<'a> {
    party: &'a Party,
    key: &'a ExchangeKey,
    journal: &'a dyn Journal,
    randomness: &'a Secret,
}

impl At<'_> {
    fn draw(&self, what: &[u8]) -> Secret {
        self.randomness.derive("ostrakon/v1/graph/attempt", &[what])
    }

    /// The randomness of the hops.
    fn query(&self) -> [u8; 32] {
        *self.draw(b"query").expose()
    }
}

/// G1 to G5: up to the shared result, which may be opened. Returns which lists are left out, too.
async fn shared<P: VertexProgram>(
    at: At<'_>,
    task: &Task<'_>,
    program: P,
) -> Result<(Vec<usize>, Computed<P>), Failed> {
    let (excluded, linked) = linked(at, task, program).await?;
    let computed = linked.compute(at.party, at.query(), &Volatile::default()).await?;
    opens(at.journal)?;
    Ok((excluded, computed))
}

/// G1 to G4.
async fn linked<P: VertexProgram>(
    at: At<'_>,
    task: &Task<'_>,
    program: P,
) -> Result<(Vec<usize>, Linked<P>), Failed> {
    let At { party, key, journal, .. } = at;
    let lists = task.contributions.len();
    let described = program.describe();
    let spec = spec_of(task.computation, task.terms, lists, task.number, described);
    let name = spec.name();
    let run = Run { party: party.clone(), instance: name.instance(Phase::Dealing) };
    let fresh = at.draw(b"keys");
    let dealing = deal(&run, key, task, &name, &fresh);
    let (seeds, complete) = run.with_accusations(dealing).await?;
    let job = Job::new(spec, program).ok_or(Stop::Check("the terms"))?.watched(task.watch.clone());
    let marks = Volatile::default();
    let fresh = *at.draw(b"preparation").expose();
    let stock = job.prepare_dealt(party, seeds, fresh, &marks).await?;
    let maps = task.contributions.iter().zip(&complete);
    let maps: Vec<Option<Maps>> =
        maps.map(|(of, complete)| complete.then(|| of.maps.clone())).collect();
    let linked = stock.link(party, maps, *at.draw(b"link").expose(), &marks).await?;
    let excluded = accept(task, &linked, journal)?;
    Ok((excluded, linked))
}

/// G1 and G2.
async fn deal(
    run: &Run,
    key: &ExchangeKey,
    task: &Task<'_>,
    name: &JobName,
    randomness: &Secret,
) -> Result<(crate::ruffle2::seeds::JobSeeds, Vec<bool>), Stop> {
    let keys = dealing::pair_keys(run, randomness).await?;
    let opened = task.contributions.iter().zip(task.owners);
    let held = opened.map(|(of, owner)| of.open((task.made_for, owner), run.me(), key));
    let dealt = dealing::complete(run, &task.contributions, held.collect()).await?;
    let seeds = dealing::seeds(run, &keys, name, &dealt);
    Ok((seeds, dealt.iter().map(Option::is_some).collect()))
}

/// G4: the lists that are in are the same in all attempts, and enough. Else nothing is opened.
fn accept<P: VertexProgram>(
    task: &Task<'_>,
    linked: &Linked<P>,
    journal: &dyn Journal,
) -> Result<Vec<usize>, Failed> {
    let accepted: Vec<usize> = linked.accepted().collect();
    bind(journal, ACCEPTED.to_owned(), &digest(&accepted))?;
    let count = u32::try_from(accepted.len()).unwrap_or(u32::MAX);
    let missing = task.minimum.saturating_sub(count);
    if missing > 0 {
        return Err(Failed::TooFew { missing });
    }
    let lists = 0..task.contributions.len();
    Ok(lists.filter(|list| !accepted.contains(list)).collect())
}

fn digest(accepted: &[usize]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/graph/accepted lists");
    for list in accepted {
        transcript.number(*list as u64);
    }
    transcript.finish()
}
