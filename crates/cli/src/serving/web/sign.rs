//! `ostrakon sign-web`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;
use ostrakon_crypto::SigningKey;
use zeroize::Zeroizing;

use super::manifest::{MANIFEST, Manifest, Release, SIGNATURE, release_digest, sha256};
use crate::{output, secret, system};

/// Options of `sign-web`.
#[derive(clap::Args)]
pub struct Options {
    /// The folder of the built page.
    directory: PathBuf,
    /// The file with the release's key; made if it does not exist.
    #[arg(long)]
    key: PathBuf,
}

/// Checks the files against the list, signs the list, and prints the key that `verify-web
/// --release` takes.
///
/// # Errors
/// If a file is missing or differs from the list, or the key cannot be read.
pub fn run(options: &Options) -> Result<()> {
    let path = options.directory.join(MANIFEST);
    let list = fs::read(&path)
        .with_context(|| format!("{} cannot be read: build the page first", path.display()))?;
    for (name, digest) in &Manifest::read(&list)?.files {
        let bytes = fs::read(options.directory.join(name))
            .with_context(|| format!("{name} cannot be read"))?;
        anyhow::ensure!(
            sha256(&bytes) == *digest,
            "{name} was changed after the page was built: build it again"
        );
    }
    let key = release_key(options)?;
    let release = Release { key: key.verifying_key(), signature: key.sign(&release_digest(&list)) };
    let text = serde_json::to_string_pretty(&release)? + "\n";
    fs::write(options.directory.join(SIGNATURE), text)
        .context("the signature cannot be written")?;
    output::line(&release.key.to_hex())
}

fn release_key(options: &Options) -> Result<SigningKey> {
    if !options.key.exists() {
        let seed = Zeroizing::new(system::random::<32>());
        secret::write_new(&options.key, &Zeroizing::new(HEXLOWER.encode(&*seed) + "\n"))?;
    }
    let text = Zeroizing::new(secret::read(&options.key)?);
    let seed = HEXLOWER.decode(text.as_bytes()).map(Zeroizing::new).ok();
    let seed = seed.and_then(|seed| <[u8; 32]>::try_from(seed.as_slice()).ok()).map(Zeroizing::new);
    let seed =
        seed.with_context(|| format!("{} must hold 64 hexadecimal digits", options.key.display()))?;
    Ok(SigningKey::from_seed(&seed))
}
