//! Merkle trees over a power-of-two number of 32-byte leaves.
//!
//! The tree commits to the leaves of a table whose length is public; a leaf hash and an inner hash
//! never share a context, and a path is checked against an index and a known height, so neither a
//! node nor a leaf of another place can be passed off.

use crate::hash::Digest;

/// Hashes two children. One BLAKE3 compression: the pair fills exactly one block, and the context
/// is the key.
fn parent(key: &[u8; 32], left: &Digest, right: &Digest) -> Digest {
    let mut block = [0; 64];
    block[..32].copy_from_slice(&left.0);
    block[32..].copy_from_slice(&right.0);
    Digest(*blake3::keyed_hash(key, &block).as_bytes())
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

#[cfg(feature = "parallel")]
fn parents(key: &[u8; 32], below: &[Digest]) -> Vec<Digest> {
    use rayon::prelude::*;
    below
        .par_chunks_exact(2)
        .with_min_len(1024)
        .map(|pair| parent(key, &pair[0], &pair[1]))
        .collect()
}

#[cfg(not(feature = "parallel"))]
fn parents(key: &[u8; 32], below: &[Digest]) -> Vec<Digest> {
    below.chunks_exact(2).map(|pair| parent(key, &pair[0], &pair[1])).collect()
}

/// The root over `leaves`, without keeping the tree.
pub fn root(leaves: Vec<Digest>) -> Digest {
    Tree::new(leaves).root()
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
    use crate::hash::digest;

    fn leaves(n: usize) -> Vec<Digest> {
        (0..n).map(|i| digest("leaf", &i.to_le_bytes())).collect()
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
