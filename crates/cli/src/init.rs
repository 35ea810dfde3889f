//! `ostrakon init`.
//!
//! Operators who run one server each do so in two steps. First everybody makes keys and a *card*, which holds nothing
//! secret, and gives it to the others over a channel that they trust. Then everybody names the three cards, and gets the
//! configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_node::config::{Config, SERVERS, ServerConfig};

use crate::site::{Ports, Site};
use crate::{edge, output, secret};

/// The configuration's file name.
pub const CONFIG: &str = "server.toml";
/// The file name of the identity key.
pub const IDENTITY: &str = "identity.key";
/// The file name of the administrator's token.
pub const ADMIN_TOKEN: &str = "admin.token";
/// The file name of the card.
const CARD: &str = "card.toml";

/// Options of `init`.
#[derive(clap::Args)]
pub struct Options {
    /// Sets up three servers on this machine, in this new directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "card"])]
    local: Option<PathBuf>,
    /// With --local: the first server's public port; the others have the next two.
    #[arg(long, default_value_t = 7000, requires = "local")]
    base_port: u16,
    /// Sets up one server in this directory: its keys and its card, or, with --card, its configuration.
    #[arg(long, required_unless_present = "local")]
    dir: Option<PathBuf>,
    /// The operator's name for the server.
    #[arg(long, requires_all = ["url", "address"])]
    name: Option<String>,
    /// Origin of the public interface, as in `https://ostrakon.example`.
    #[arg(long, requires = "name")]
    url: Option<String>,
    /// Where the other servers reach this one, as in ostrakon.example:7100.
    #[arg(long, requires = "name")]
    address: Option<String>,
    /// A server's card; to be given three times, this server's own among them.
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    card: Vec<PathBuf>,
    /// With --card: where the public interface listens. TLS is the business of a proxy in front of it.
    #[arg(long, default_value = "127.0.0.1:7000", requires = "card")]
    http: SocketAddr,
    /// With --card: where this server listens for the others.
    #[arg(long, default_value = "0.0.0.0:7100", requires = "card")]
    mesh: SocketAddr,
}

/// Makes keys and configuration.
///
/// # Errors
/// If they exist already, or an option is missing or makes no sense.
pub fn run(options: &Options) -> Result<()> {
    if let Some(directory) = &options.local {
        let site = Site::create(directory, Ports::from_base(options.base_port)?).context("--local")?;
        return site.servers().iter().try_for_each(|server| output::line(&server.config.display().to_string()));
    }
    let directory = options.dir.as_deref().context("--dir is missing")?;
    match (&options.name, &options.url, &options.address) {
        (Some(name), Some(url), Some(address)) => make_card(directory, name, url, address),
        _ if !options.card.is_empty() => configure(directory, options),
        _ => bail!("give --name, --url and --address to make keys, or three times --card to make the configuration"),
    }
}

/// Makes a server's identity key and administrator token. Returns the public half of the key.
///
/// # Errors
/// If they exist already or cannot be written.
pub fn make_secrets(directory: &Path) -> Result<VerifyingKey> {
    let seed = edge::random::<32>();
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes) + "\n";
    secret::write_new(&directory.join(IDENTITY), &hex(&seed))?;
    secret::write_new(&directory.join(ADMIN_TOKEN), &hex(&edge::random::<32>()))?;
    Ok(SigningKey::from_seed(&seed).verifying_key())
}

/// Writes a server's configuration.
///
/// # Errors
/// If there is one already or it cannot be written.
pub fn write_config(directory: &Path, config: &Config) -> Result<()> {
    secret::write_new(&directory.join(CONFIG), &config.to_text())
}

fn make_card(directory: &Path, name: &str, url: &str, address: &str) -> Result<()> {
    let scheme = url.starts_with("https://") || url.starts_with("http://");
    ensure!(scheme && !url.ends_with('/'), "--url must read https://HOST[:PORT], without a slash at the end");
    ensure!(address.contains(':'), "--address must read HOST:PORT");
    secret::directory(directory)?;
    let key = make_secrets(directory)?;
    let card = ServerConfig { name: name.to_owned(), url: url.to_owned(), address: address.to_owned(), key };
    let path = directory.join(CARD);
    std::fs::write(&path, toml::to_string_pretty(&card)?)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    output::line(&path.display().to_string())?;
    eprintln!("Give this card to the other operators over a channel that you trust, and take theirs. Then:");
    eprintln!("  ostrakon init --dir {} --card FILE --card FILE --card FILE", directory.display());
    Ok(())
}

fn configure(directory: &Path, options: &Options) -> Result<()> {
    ensure!(options.card.len() == SERVERS, "--card: {SERVERS} cards are needed, not {}", options.card.len());
    let mut servers = options.card.iter().map(|path| read_card(path)).collect::<Result<Vec<_>>>()?;
    // Every operator must come to the same party numbers, in whatever order the cards are named.
    servers.sort_by_key(|server| server.key);
    let seed = secret::read(&directory.join(IDENTITY)).context("--dir holds no key; make one with --name first")?;
    let seed = data_encoding::HEXLOWER.decode(seed.as_bytes()).ok().and_then(|seed| seed.try_into().ok());
    let seed: [u8; 32] = seed.with_context(|| format!("--dir: {IDENTITY} does not hold 64 hexadecimal digits"))?;
    let key = SigningKey::from_seed(&seed).verifying_key();
    let party = servers.iter().position(|server| server.key == key);
    let party = party.context("--card: this server's own card is not among them")?;
    let config = Config::new(u8::try_from(party)?, options.http, options.mesh, servers);
    write_config(directory, &config)?;
    let path = directory.join(CONFIG);
    Config::read(&path)?;
    output::line(&path.display().to_string())
}

fn read_card(path: &Path) -> Result<ServerConfig> {
    let text = std::fs::read_to_string(path).with_context(|| format!("--card: {} cannot be read", path.display()))?;
    toml::from_str(&text).with_context(|| format!("--card: {} is no card", path.display()))
}
