//! What is public about a job before it begins (`docs/spec/graph.md`, section 3).

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::params::{CHECK_WORDS, MAX_HOPS, MAX_LISTS, MAX_ROWS};
use crate::ruffle2::seeds::JobName;
use crate::ruffle2::uses::{Bundle, Permutation, Use, UseId};

/// One owner's part of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSpec {
    /// Who brings it.
    pub owner: VerifyingKey,
    /// Edge rows: the most edges that it can have.
    pub edges: u32,
}

/// In which direction values travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From an edge's source to its target.
    Forward,
    /// From its target to its source: the inverses of the same permutations.
    Backward,
    /// The first hop backward, which counts the edges from each vertex; all others forward.
    BackwardOnce,
}

/// Rows among the vertices' values that are there or not as secret coins fall, so that the number
/// of vertices of each value is seen with noise (`docs/spec/graph.md`, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decoys {
    /// Values 0…bins − 1 are told apart, and one of `bins` or more.
    pub bins: u32,
    /// Rows for each of these.
    pub each: u32,
}

impl Decoys {
    /// All rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        (self.bins + 1) * self.each
    }
}

/// The descriptor of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's number, never given out twice in a session.
    pub number: u64,
    /// Digest of whatever else the service binds to the job: output policy, retention.
    pub context: Digest,
    /// Vertices, numbered from 0, the delayed ones behind the others; the same for all owners.
    pub vertices: u32,
    /// A vertex's value after each of so many hops, the last one first, is that of so many vertices
    /// (`docs/spec/graph.md`, section 7); 1 if no value is delayed.
    pub delays: u32,
    /// The owners' lists.
    pub lists: Vec<ListSpec>,
    /// Who brings a secret input, if the program has one.
    pub querier: Option<VerifyingKey>,
    /// Hops.
    pub hops: u32,
    /// The direction of all hops.
    pub direction: Direction,
    /// Hops that are prepared under one coin; bounds the memory that preparing takes.
    pub slice: u32,
    /// The program with its parameters ([`crate::program::VertexProgram::describe`]).
    pub program: Vec<u8>,
    /// Whether the vertices' values are shuffled before anything of them is opened, by one secret
    /// permutation after all hops: then it is known which values there are, and not whose.
    pub shuffled: bool,
    /// Rows that are shuffled among them.
    pub decoys: Option<Decoys>,
}

impl JobSpec {
    /// Whether the limits hold and no owner has two lists.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let rows = |list: &ListSpec| u64::from(self.vertices) + u64::from(list.edges);
        let mut owners: Vec<_> = self.lists.iter().map(|list| list.owner).collect();
        owners.sort();
        owners.dedup();
        self.vertices > 0
            && self.delays > 0
            && self.vertices.is_multiple_of(self.delays)
            && owners.len() == self.lists.len()
            && (1..=MAX_LISTS).contains(&self.lists.len())
            && (1..=MAX_HOPS).contains(&self.hops)
            && (1..=self.hops).contains(&self.slice)
            && self.lists.iter().all(|list| rows(list) <= u64::from(MAX_ROWS))
            && self.decoys.is_none_or(|decoys| {
                let rows = (u64::from(decoys.bins) + 1) * u64::from(decoys.each);
                self.shuffled && rows + u64::from(self.shown()) <= u64::from(MAX_ROWS)
            })
    }

    /// The name under which everything of the job is derived and signed.
    pub fn name(&self) -> JobName {
        let mut transcript = Transcript::new("ostrakon/v1/graph/job");
        transcript.field(&wire::encode(self));
        JobName { number: self.number, digest: transcript.finish() }
    }

    /// The vertices whose values are results: all but the delayed ones.
    pub fn shown(&self) -> u32 {
        self.vertices / self.delays
    }

    /// Rows of a list: its vertices, then its edges.
    pub fn rows(&self, list: usize) -> usize {
        self.vertices as usize + self.lists[list].edges as usize
    }

    /// The three permutations of a list: base to source order, source to destination order,
    /// destination order to base. The middle one is mirrored, so that a hop's shuffles overlap.
    pub fn permutations_of(&self, list: usize) -> [Permutation; 3] {
        let rows = self.rows(list) as u32;
        [0, 1, 2].map(|k| Permutation { id: 3 * list as u32 + k, rows, mirrored: k == 1 })
    }

    /// The permutation of the vertices before their values are opened, if there is one.
    pub fn output_permutation(&self) -> Option<Permutation> {
        let id = 3 * self.lists.len() as u32;
        let rows = self.shown() + self.decoys.map_or(0, |decoys| decoys.rows());
        self.shuffled.then_some(Permutation { id, rows, mirrored: false })
    }

    /// All permutations, by their id.
    pub fn permutations(&self) -> Vec<Permutation> {
        let lists = (0..self.lists.len()).flat_map(|list| self.permutations_of(list));
        lists.chain(self.output_permutation()).collect()
    }

    /// The use of the last permutation on what a hop makes.
    pub fn output_use(&self, hop: u32) -> Option<Use> {
        let permutation = self.output_permutation()?;
        let id = UseId { permutation: permutation.id, number: hop, inverse: false };
        Some(Use { id, permutation, words: 1 })
    }

    /// The number of that use in the tags of messages: behind those of all hops.
    pub fn output_sequence(&self, hop: u32) -> u32 {
        self.sequence(0, self.hops, 0) + hop
    }

    /// The use of a list's order check in step 0, 1 or 2.
    pub fn check_use(&self, list: usize, step: usize) -> Use {
        let permutation = self.permutations_of(list)[step];
        let id = UseId { permutation: permutation.id, number: 0, inverse: false };
        Use { id, permutation, words: CHECK_WORDS }
    }

    /// Whether a hop goes backward.
    pub fn is_backward(&self, hop: u32) -> bool {
        match self.direction {
            Direction::Forward => false,
            Direction::Backward => true,
            Direction::BackwardOnce => hop == 0,
        }
    }

    /// The use of a list in step 0, 1 or 2 of a hop. Backward hops take the permutations' inverses
    /// in the opposite order.
    pub fn hop_use(&self, list: usize, hop: u32, step: usize) -> Use {
        let inverse = self.is_backward(hop);
        let which = if inverse { 2 - step } else { step };
        let permutation = self.permutations_of(list)[which];
        let id = UseId { permutation: permutation.id, number: hop + 1, inverse };
        Use { id, permutation, words: 1 }
    }

    /// The number of a hop's use in the tags of messages.
    pub fn sequence(&self, list: usize, hop: u32, step: usize) -> u32 {
        (hop * 3 + step as u32) * self.lists.len() as u32 + list as u32
    }

    /// The bundles of the order check.
    pub fn check_bundles(&self) -> Vec<Bundle> {
        let lists = 0..self.lists.len();
        let uses = lists.flat_map(|list| [0, 1, 2].map(|step| self.check_use(list, step)));
        uses.map(|u| Bundle::of(vec![u]).expect("one use")).collect()
    }

    /// The bundles of the hops of each slice.
    pub fn hop_slices(&self) -> Vec<Vec<Bundle>> {
        let hops: Vec<u32> = (0..self.hops).collect();
        let of = |list, step| {
            move |hops: &[u32]| hops.iter().map(|hop| self.hop_use(list, *hop, step)).collect()
        };
        // Hops of one slice have one direction.
        let alone = usize::from(self.direction == Direction::BackwardOnce);
        let (first, rest) = hops.split_at(alone);
        first
            .chunks(1)
            .chain(rest.chunks(self.slice as usize))
            .map(|hops| {
                (0..self.lists.len())
                    .flat_map(|list| [0, 1, 2].map(|step| of(list, step)(hops)))
                    .chain(
                        self.output_permutation()
                            .map(|_| hops.iter().filter_map(|hop| self.output_use(*hop)).collect()),
                    )
                    .map(|uses| Bundle::of(uses).expect("uses of one permutation"))
                    .collect()
            })
            .collect()
    }
}
