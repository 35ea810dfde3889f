//! Random bytes of a party process.

use anyhow::{Result, anyhow};

#[expect(clippy::disallowed_methods, reason = "a party process is where randomness enters")]
fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| anyhow!("the system gives no random bytes: {error}"))
}

/// 32 random bytes.
pub(crate) fn secret() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    random(&mut bytes)?;
    Ok(bytes)
}
