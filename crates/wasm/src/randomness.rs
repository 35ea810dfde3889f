//! The browser's generator: here randomness enters.

use ostrakon_crypto::{Entropy, Generator};

#[expect(clippy::disallowed_methods, reason = "the browser is an edge: here randomness enters")]
fn draw(out: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(out)
}

/// The browser's generator, if it has given random numbers once; then it does not fail later.
pub fn generator() -> Result<Entropy, String> {
    draw(&mut [0; 32]).map_err(|_| "this browser offers no secure random numbers".to_owned())?;
    Ok(Generator(|out| draw(out).expect("a generator that has given random numbers goes on")))
}
