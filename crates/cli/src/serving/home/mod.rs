//! A server's directory: its keys and its configuration.

mod template;

use std::path::Path;

use anyhow::Result;
use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_node::config::Config;

use crate::{secret, system};

/// The configuration's file name.
pub const CONFIG: &str = "server.toml";
/// The file name of the identity key.
pub const IDENTITY: &str = "identity.key";
/// The file name of the administrator's token.
const ADMIN_TOKEN: &str = "admin.token";

/// Makes a server's identity key and administrator token. Returns the public half of the key.
///
/// # Errors
/// If they exist already or cannot be written.
pub fn make_secrets(directory: &Path) -> Result<VerifyingKey> {
    let seed = system::random::<32>();
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes) + "\n";
    secret::write_new(&directory.join(IDENTITY), &hex(&seed))?;
    secret::write_new(&directory.join(ADMIN_TOKEN), &hex(&system::random::<32>()))?;
    Ok(SigningKey::from_seed(&seed).verifying_key())
}

/// Writes a server's configuration.
///
/// # Errors
/// If there is one already or it cannot be written.
pub fn write_config(directory: &Path, config: &Config) -> Result<()> {
    secret::write_new(&directory.join(CONFIG), &template::text(config))
}
