//! Prints of what was looked at as it came in, so that it is not looked at again.

use ostrakon_crypto::Secret;
use ostrakon_kernels::linear_rows;

use crate::params::WORD;

/// Tells bytes that were looked at before from others, by a universal hash under a key that nobody
/// else has: others pass for them with probability 2^-64.
pub struct Prints(Vec<u64>);

impl Prints {
    /// For pieces of at most so many bytes. `secret` serves this alone.
    pub fn new(secret: &Secret, most: usize) -> Self {
        let mut key = vec![0; most.div_ceil(WORD) * WORD];
        secret.fill("ostrakon/v1/clarion/prints", &[], &mut key);
        Self(crate::three::tables::columns::read(&key))
    }

    /// The print of some bytes; `None` if they are not whole words, or too many. Pieces are to be
    /// compared with pieces of their length.
    pub fn of(&self, bytes: &[u8]) -> Option<u64> {
        let key = self.0.get(..bytes.len() / WORD)?;
        bytes.len().is_multiple_of(WORD).then(|| {
            let mut print = [0];
            linear_rows(key, bytes, bytes.len(), &mut print);
            print[0]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_print_is_of_every_bit() {
        let prints = Prints::new(&Secret::new([1; 32]), 24);
        let bytes: Vec<u8> = (0..24).collect();
        let print = prints.of(&bytes);
        assert!(print.is_some());
        for bit in 0..8 * 24 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(prints.of(&other), print, "bit {bit}");
        }
        assert_ne!(Prints::new(&Secret::new([2; 32]), 24).of(&bytes), print, "another key");
        assert_eq!(prints.of(&bytes[..23]), None);
        assert_eq!(prints.of(&[0; 32]), None);
    }
}
