//! Generators of random numbers, as protocol code takes them, from whatever fills bytes.

use std::convert::Infallible;

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

use crate::hash::Secret;

/// The generator of a function that fills bytes so that nobody can foretell them, such as the
/// operating system's.
pub struct Generator<F>(pub F);

impl<F: FnMut(&mut [u8])> TryRng for Generator<F> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        (self.0)(out);
        Ok(())
    }
}

impl<F: FnMut(&mut [u8])> TryCryptoRng for Generator<F> {}

/// The generator of the operating system or the browser.
pub type Entropy = Generator<fn(&mut [u8])>;

/// The generator of a secret: it looks random to whoever does not have that, and gives the same
/// numbers again to whoever has.
pub type Stream = Generator<Box<dyn FnMut(&mut [u8]) + Send + Sync>>;

impl Stream {
    /// The numbers that belong to `secret` and `context`, which names protocol and purpose.
    pub fn of(secret: Secret, context: &'static str) -> Self {
        let mut drawn: u64 = 0;
        Self(Box::new(move |out| {
            drawn += 1;
            secret.fill(context, &[&drawn.to_le_bytes()], out);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn a_secret_gives_its_numbers_again_and_no_number_twice() {
        let draw = |secret: u8, context| {
            let mut stream = Stream::of(Secret::new([secret; 32]), context);
            [stream.next_u64(), stream.next_u64(), stream.next_u32().into()]
        };
        let [first, second, third] = draw(1, "a");
        assert_eq!(draw(1, "a"), [first, second, third]);
        assert!(first != second && third != second & u64::from(u32::MAX));
        assert_ne!(draw(2, "a")[0], first, "another secret");
        assert_ne!(draw(1, "b")[0], first, "another context");
    }
}
