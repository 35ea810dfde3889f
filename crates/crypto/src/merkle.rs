//! Merkle trees over a power-of-two number of 32-byte leaves.
//!
//! The tree commits to the leaves of a table whose length is public; a leaf hash and an inner hash
//! never share a context, and a path is checked against an index and a known height, so neither a
//! node nor a leaf of another place can be passed off.

use crate::hash::Digest;
use crate::many::{self, BLOCK};

/// Hashes two children. One BLAKE3 compression: the pair fills exactly one block, and the context
/// is the key.
fn parent(key: &[u8; 32], left: &Digest, right: &Digest) -> Digest {
    Digest(*blake3::keyed_hash(key, &children(left, right)).as_bytes())
}

/// What is hashed of two children.
fn children(left: &Digest, right: &Digest) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..32].copy_from_slice(&left.0);
    block[32..].copy_from_slice(&right.0);
    block
}

/// The key of inner nodes.
fn node_key() -> [u8; 32] {
    crate::hash::digest("ostrakon/v1/merkle/node", &[]).0
}

/// What stands in for leaves that are not there, up to the next power of two.
const ABSENT: Digest = Digest([0; 32]);

/// A whole tree, level by level from the leaves (padded to a power of two) to the root.
pub struct Tree {
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    /// Builds the tree over at least one leaf.
    pub fn new(mut leaves: Vec<Digest>) -> Self {
        assert!(!leaves.is_empty(), "a Merkle tree has at least one leaf");
        leaves.resize(leaves.len().next_power_of_two(), ABSENT);
        let key = node_key();
        let mut levels = vec![leaves];
        while levels.last().is_some_and(|level| level.len() > 1) {
            let below = &levels[levels.len() - 1];
            levels.push(parents(&key, below));
        }
        Self { levels }
    }

    /// The root, which commits to every leaf and its place.
    pub fn root(&self) -> Digest {
        self.levels[self.levels.len() - 1][0]
    }

    /// The siblings on the way from leaf `index` to the root, lowest first.
    pub fn path(&self, index: usize) -> Vec<Digest> {
        let inner = &self.levels[..self.levels.len() - 1];
        inner.iter().enumerate().map(|(height, level)| level[(index >> height) ^ 1]).collect()
    }
}

/// Nodes that a thread computes the parents of.
const TASK: usize = 1 << 10;

/// The nodes above a level, which has an even number of them.
fn parents(key: &[u8; 32], below: &[Digest]) -> Vec<Digest> {
    let mut above = vec![ABSENT; below.len() / 2];
    #[cfg(feature = "parallel")]
    if below.len() > TASK {
        use rayon::prelude::*;
        let (tasks, results) = (below.par_chunks(TASK), above.par_chunks_mut(TASK / 2));
        tasks.zip(results).for_each(|(below, above)| parents_of(key, below, above));
        return above;
    }
    parents_of(key, below, &mut above);
    above
}

/// The same on the calling thread.
fn parents_of(key: &[u8; 32], below: &[Digest], above: &mut [Digest]) {
    let (pairs, _) = below.as_chunks::<2>();
    let blocks = pairs.iter().map(|[left, right]| (key, children(left, right)));
    many::keyed_blocks(BLOCK, blocks, |at, parent| above[at] = Digest(*parent));
}

/// The root of a tree of which this is a level.
fn top(key: &[u8; 32], mut level: Vec<Digest>) -> Digest {
    while level.len() > 1 {
        level = parents(key, &level);
    }
    level[0]
}

/// The root over `count` leaves, at least one, of which `write` writes those from a number on. The
/// tree is not kept, nor are its leaves. Uses all cores where that is enabled.
pub fn root_of(count: usize, write: impl Fn(usize, &mut [Digest]) + Sync) -> Digest {
    assert!(count > 0, "a Merkle tree has at least one leaf");
    let key = node_key();
    let whole = count.next_power_of_two();
    let task = whole.min(TASK);
    let subtree = |first: usize| {
        let mut leaves = vec![ABSENT; task];
        write(first, &mut leaves[..task.min(count - first)]);
        top(&key, leaves)
    };
    let tasks = count.div_ceil(task);
    #[cfg(feature = "parallel")]
    let mut roots: Vec<Digest> = {
        use rayon::prelude::*;
        (0..tasks).into_par_iter().map(|at| subtree(at * task)).collect()
    };
    #[cfg(not(feature = "parallel"))]
    let mut roots: Vec<Digest> = (0..tasks).map(|at| subtree(at * task)).collect();
    if tasks < whole / task {
        roots.resize(whole / task, top(&key, vec![ABSENT; task]));
    }
    top(&key, roots)
}

/// Whether `leaf` stands at `index` of the table of `count` leaves whose tree has this `root`.
#[must_use]
pub fn verify(root: &Digest, count: usize, index: usize, leaf: &Digest, path: &[Digest]) -> bool {
    if index >= count || path.len() != count.next_power_of_two().trailing_zeros() as usize {
        return false;
    }
    let key = node_key();
    let mut node = *leaf;
    for (height, sibling) in path.iter().enumerate() {
        node = match (index >> height) & 1 {
            0 => parent(&key, &node, sibling),
            _ => parent(&key, sibling, &node),
        };
    }
    node == *root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(leaves: &[Digest]) -> Digest {
        root_of(leaves.len(), |first, written| {
            written.copy_from_slice(&leaves[first..first + written.len()]);
        })
    }
    use crate::hash::digest;

    fn leaves(n: usize) -> Vec<Digest> {
        (0..n).map(|i| digest("leaf", &i.to_le_bytes())).collect()
    }

    #[test]
    fn roots_are_those_of_trees() {
        for n in [1, 2, 3, 8, 33, TASK - 1, TASK, TASK + 1, 2 * TASK, 5 * TASK + 3] {
            assert_eq!(root(&leaves(n)), Tree::new(leaves(n)).root(), "{n} leaves");
        }
    }

    /// One by one, as it is defined.
    #[test]
    fn nodes_are_hashes_of_two() {
        let key = node_key();
        let mut level = leaves(37);
        level.resize(64, ABSENT);
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| parent(&key, &pair[0], &pair[1])).collect();
        }
        assert_eq!(root(&leaves(37)), level[0]);
    }

    #[test]
    fn every_path_verifies_and_nothing_else_does() {
        for n in [1, 2, 3, 7, 8, 33] {
            let tree = Tree::new(leaves(n));
            for i in 0..n {
                let path = tree.path(i);
                assert!(verify(&tree.root(), n, i, &leaves(n)[i], &path));
                for j in (0..n).filter(|j| *j != i) {
                    assert!(!verify(&tree.root(), n, j, &leaves(n)[i], &path));
                }
                assert!(!verify(&tree.root(), n, i, &digest("leaf", b"?"), &path));
                let mut longer = path.clone();
                longer.push(ABSENT);
                assert!(!verify(&tree.root(), n, i, &leaves(n)[i], &longer));
            }
            assert!(!verify(&tree.root(), n, n, &ABSENT, &tree.path(0)));
        }
    }
}
