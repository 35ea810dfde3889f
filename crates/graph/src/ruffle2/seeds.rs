//! Everything random in a job that two servers share, derived one-way from one seed per pair.

use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_kernels::{Prg, permutation};
use ostrakon_party::{Instance, InstanceKind, SessionId};
use ostrakon_replicated::pair::Pair;
#[cfg(feature = "server")]
use ostrakon_replicated::setup::SharedKeys;
use serde::{Deserialize, Serialize};

use super::uses::{Permutation, UseId};

/// The name of a job: its number, never given out twice in a session, and a digest of all that is
/// public about it beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobName {
    /// The number.
    pub number: u64,
    /// The digest.
    pub digest: Digest,
}

/// The phases of a job; each is an instance of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Statements about seeds.
    Seeds,
    /// Preparation of a slice of uses.
    Slice(u32),
    /// Lists are sealed, coins are tossed, orders checked, differences opened.
    Link,
    /// The uses on data, and outputs.
    Query,
    /// Pair keys are made, and who holds which dealt seeds is said.
    Dealing,
}

impl JobName {
    /// The instance of a phase. The digest is part of its name, so every signature of the phase
    /// covers it.
    pub fn instance(&self, phase: Phase) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/ruffle2/phase scope");
        let (name, number) = match phase {
            Phase::Seeds => (0, 0),
            Phase::Slice(slice) => (1, slice),
            Phase::Link => (2, 0),
            Phase::Query => (3, 0),
            Phase::Dealing => (4, 0),
        };
        transcript.number(self.number).field(&self.digest.0).number(name).number(number.into());
        let scope = transcript.finish().0[..16].try_into().expect("half of 32 bytes");
        Instance { kind: InstanceKind::Graph, scope, number: self.number }
    }
}

/// What a derived seed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// π of a permutation id, the same in all its uses.
    Permutation(u32),
    /// R of one use.
    Mask(UseId),
    /// The share of α_in of one use.
    Input(UseId),
    /// The share of the masks of a secret input.
    Secret,
    /// The fresh share that a stage of one use gives the pair.
    Fresh(usize, UseId),
    /// The weights of a bundle, by its first use.
    Weights(UseId),
    /// The weights of a bundle after a stage.
    FreshWeights(usize, UseId),
    /// The salt of a member's message of a stage of a bundle, by the bundle's first use.
    Salt {
        /// 0, 1 or 2.
        stage: usize,
        /// The member that sends the message.
        sender: u8,
        /// The bundle's first use.
        of: UseId,
    },
    /// Zero-shares of a slice's sums.
    Zero(u32),
    /// Zero-shares of products, by step.
    ProductZero(u64),
    /// A random sharing, by step.
    Random(u64),
    /// A pair's random bits, by step.
    Bits(u64),
    /// The masks under which a hop begins anew, by the hop.
    Restart(u32),
    /// Masks of what one reader alone may open, by the batch.
    Reader(u32),
}

impl Purpose {
    fn name(self) -> (&'static [u8], [u64; 4]) {
        let of = |id: UseId, stage: usize| {
            let [p, n, i] = id.numbers();
            [p, n, i, stage as u64]
        };
        match self {
            Purpose::Permutation(id) => (b"permutation", [id.into(), 0, 0, 0]),
            Purpose::Mask(id) => (b"mask", of(id, 0)),
            Purpose::Input(id) => (b"input", of(id, 0)),
            Purpose::Secret => (b"secret input", [0; 4]),
            Purpose::Fresh(stage, id) => (b"fresh", of(id, stage)),
            Purpose::Weights(id) => (b"weights", of(id, 0)),
            Purpose::FreshWeights(stage, id) => (b"fresh weights", of(id, stage)),
            Purpose::Salt { stage, sender, of: id } => {
                (b"message salt", of(id, 3 * stage + usize::from(sender)))
            }
            Purpose::Zero(slice) => (b"zero", [slice.into(), 0, 0, 0]),
            Purpose::ProductZero(step) => (b"product zero", [step, 0, 0, 0]),
            Purpose::Random(step) => (b"random", [step, 0, 0, 0]),
            Purpose::Bits(step) => (b"bits", [step, 0, 0, 0]),
            Purpose::Restart(hop) => (b"restart", [hop.into(), 0, 0, 0]),
            Purpose::Reader(batch) => (b"reader", [batch.into(), 0, 0, 0]),
        }
    }
}

/// A pair's seed of one job. Not `Clone`: a job is run once.
pub struct PairSeed {
    seed: Secret,
    /// Seeds of permutations that the lists' owners dealt, by the permutation's id; all others are
    /// derived.
    dealt: Vec<Option<Secret>>,
}

impl PairSeed {
    /// Takes over a seed that was stored, or opened for blame.
    pub fn known(bytes: [u8; 32]) -> Self {
        Self { seed: Secret::new(bytes), dealt: Vec::new() }
    }

    /// The same with seeds of permutations that owners dealt, by id; where none was dealt, the
    /// seed is derived.
    #[must_use]
    pub fn with_dealt(self, dealt: Vec<Option<Secret>>) -> Self {
        Self { dealt, ..self }
    }

    /// The seed itself, for the stock, or for opening a preparation that failed.
    pub fn expose(&self) -> &[u8; 32] {
        self.seed.expose()
    }

    /// The seed for one purpose. One-way: showing it tells nothing of the others.
    pub fn purpose(&self, purpose: Purpose) -> Secret {
        if let Purpose::Permutation(id) = purpose
            && let Some(Some(dealt)) = self.dealt.get(id as usize)
        {
            return Secret::new(*dealt.expose());
        }
        let (name, numbers) = purpose.name();
        let numbers: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.seed.derive("ostrakon/v1/ruffle2/purpose", &[name, &numbers])
    }

    /// The stream for one purpose.
    pub fn prg(&self, purpose: Purpose) -> Prg {
        Prg::new(self.purpose(purpose).expose())
    }
}

/// The seeds of a job that somebody knows: a server two, a blamer all three. By [`Pair::index`].
pub struct JobSeeds(pub [Option<PairSeed>; 3]);

impl JobSeeds {
    /// A server's, from its pairs' keys of a session.
    pub fn of_pairs(session: &SessionId, keys: [(Pair, &Secret); 2], job: &JobName) -> Self {
        let mut seeds = [None, None, None];
        for (pair, key) in keys {
            let fields: [&[u8]; 4] =
                [&session.0.0, &[pair.index() as u8], &job.number.to_le_bytes(), &job.digest.0];
            let seed = key.derive("ostrakon/v1/ruffle2/job seed", &fields);
            seeds[pair.index()] = Some(PairSeed { seed, dealt: Vec::new() });
        }
        Self(seeds)
    }

    /// The seed of a pair, if known.
    pub fn get(&self, pair: Pair) -> Option<&PairSeed> {
        self.0[pair.index()].as_ref()
    }

    /// The seed of a pair that the caller is in.
    pub fn of(&self, pair: Pair) -> &PairSeed {
        self.get(pair).expect("a server asks for the seeds of its own pairs only")
    }

    /// Elements that, over the three servers, sum to zero: the lower member of each pair adds the
    /// pair's stream, the higher one subtracts it.
    pub fn zero_shares<F: WordField>(&self, party: u8, purpose: Purpose, count: usize) -> Vec<F> {
        let mut sum = vec![0; count * ELEMENT_BYTES];
        let mut stream = sum.clone();
        for pair in Pair::of_party(party) {
            F::expand(&self.of(pair).prg(purpose), 0, &mut stream);
            match pair.members()[0] == party {
                true => F::add_into(&mut sum, &stream),
                false => F::sub_into(&mut sum, &stream),
            }
        }
        ostrakon_field::elements(&sum).collect()
    }
}

/// A server's seeds of a job while nothing depends on them: servers alone have drawn them, and no
/// owner has been given one. These alone can be opened (P7); they come from the set-up's keys
/// alone, and there is no way back from [`FreshSeeds::into_seeds`]. Not `Clone`.
#[cfg(feature = "server")]
pub struct FreshSeeds(JobSeeds);

#[cfg(feature = "server")]
impl FreshSeeds {
    /// A server's.
    pub fn of_party(keys: &SharedKeys, job: &JobName) -> Self {
        Self(JobSeeds::of_pairs(&keys.session(), keys.pairs(), job))
    }

    /// The seeds, to prepare with.
    pub fn seeds(&self) -> &JobSeeds {
        &self.0
    }

    /// Gives up the right to open them: from now on owners may be given some, and send data.
    #[must_use]
    pub fn into_seeds(self) -> JobSeeds {
        self.0
    }
}

/// The digest by which a seed is stated. A seed has 256 bits of entropy, so the digest hides it.
pub fn seed_digest(seed: &[u8; 32]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/ruffle2/seed", seed)
}

/// A pair's permutation from its seed: output row i is input row `index[i]`.
pub fn pair_permutation(seed: &Secret, of: &Permutation) -> Vec<u32> {
    permutation::sample(&Prg::new(seed.expose()), of.rows as usize)
}
