//! `ostrakon init`.
//!
//! Operators who run one server each do so in two steps. First everybody makes keys and a *card*,
//! which holds nothing secret, and gives it to the others over a channel that they trust. Then
//! everybody names the others' cards, and gets the configuration. What no flag gives is asked for,
//! if there is somebody at a terminal to be asked.

mod interview;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::SigningKey;
use ostrakon_node::config::{Acme, Config, ServerConfig};
use ostrakon_node::{EngineProvider, ThreeServers};

use self::interview::Interview;
use crate::serving::home::{CONFIG, IDENTITY, make_secrets, write_config};
use crate::serving::site::{Ports, Site};
use crate::{output, secret};

/// The file name of the card.
const CARD: &str = "card.toml";
/// Where the public interface listens unless told otherwise.
const HTTP: &str = "127.0.0.1:7000";
/// Where the other servers connect unless told otherwise.
const MESH: &str = "0.0.0.0:7100";

/// Options of `init`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Sets up three servers on this machine, in this new directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "card"])]
    local: Option<PathBuf>,
    /// With --local: the first server's public port; the others have the next two.
    #[arg(long, default_value_t = 7000, requires = "local")]
    base_port: u16,
    /// Sets up one server in this directory: its keys and its card, or, with --card, its
    /// configuration.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The operator's name for the server.
    #[arg(long, requires_all = ["url", "address", "dir"])]
    name: Option<String>,
    /// Origin of the public interface, as in `https://ostrakon.example`.
    #[arg(long, requires = "name")]
    url: Option<String>,
    /// Where the other servers reach this one, as in ostrakon.example:7100.
    #[arg(long, requires = "name")]
    address: Option<String>,
    /// Another server's card; to be given twice.
    #[arg(long, value_name = "FILE", conflicts_with = "name", requires = "dir")]
    card: Vec<PathBuf>,
    /// With --card: where the public interface listens; 127.0.0.1:7000 unless given.
    #[arg(long, requires = "card")]
    http: Option<SocketAddr>,
    /// With --card: where this server listens for the others; 0.0.0.0:7100 unless given.
    #[arg(long, requires = "card")]
    mesh: Option<SocketAddr>,
    /// With --card: directory of database and stock; `data` beside the configuration unless given.
    #[arg(long, value_name = "DIR", requires = "card")]
    data: Option<PathBuf>,
    /// With --card: file with the certificate of the public interface, in PEM.
    #[arg(long, value_name = "FILE", requires_all = ["card", "certificate_key"])]
    certificate: Option<PathBuf>,
    /// With --card: file with the certificate's key, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
    /// With --card: orders a certificate with this name by ACME; may be repeated.
    #[arg(long, value_name = "NAME", requires = "card", conflicts_with_all = ["certificate", "behind_proxy"])]
    acme_domain: Vec<String>,
    /// With --acme-domain: whom the authority may write to, as in mailto:you@example.org.
    #[arg(long, value_name = "URL", requires = "acme_domain")]
    acme_contact: Vec<String>,
    /// With --acme-domain: the authority's directory; Let's Encrypt unless given.
    #[arg(long, value_name = "URL", requires = "acme_domain")]
    acme_authority: Option<String>,
    /// With --card: a proxy in front speaks HTTPS.
    #[arg(long, requires = "card")]
    behind_proxy: bool,
    /// With --card: batches to hold ready for every size of room.
    #[arg(long, value_name = "COUNT", requires = "card")]
    stock_ready: Option<u32>,
    /// With --card: bytes of stock on disk at most.
    #[arg(long, value_name = "BYTES", requires = "card")]
    stock_bytes: Option<u64>,
    /// With --card: what is logged.
    #[arg(long, value_name = "FILTER", requires = "card")]
    log: Option<String>,
}

/// Makes keys and configuration.
///
/// # Errors
/// If they exist already, or an option is missing or makes no sense.
pub fn run(mut options: Options) -> Result<()> {
    if let Some(directory) = &options.local {
        let site =
            Site::create(directory, Ports::from_base(options.base_port)?).context("--local")?;
        let files = site.config_files();
        return files.iter().try_for_each(|file| output::line(&file.display().to_string()));
    }
    if options.name.is_none() && options.card.is_empty() {
        if !std::io::stdin().is_terminal() {
            bail!(
                "give --dir, --name, --url and --address to make keys and card, or --dir and twice --card to make the \
                 configuration; on a terminal you are asked instead"
            );
        }
        Interview::new(std::io::stdin().lock(), std::io::stderr()).complete(&mut options)?;
    }
    proceed(&options)
}

fn proceed(options: &Options) -> Result<()> {
    let directory = options.dir.as_deref().context("--dir is missing")?;
    match (&options.name, &options.url, &options.address) {
        (Some(name), Some(url), Some(address)) => make_card(directory, name, url, address),
        _ => configure(directory, options),
    }
}

fn check_url(url: &str) -> Result<()> {
    let host =
        url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    ensure!(
        !host.is_empty() && !host.contains('/'),
        "--url must read https://HOST[:PORT], without a slash at the end"
    );
    Ok(())
}

fn check_address(address: &str) -> Result<()> {
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    ensure!(port.is_some_and(|port| port != 0), "--address must read HOST:PORT");
    Ok(())
}

fn make_card(directory: &Path, name: &str, url: &str, address: &str) -> Result<()> {
    check_url(url)?;
    check_address(address)?;
    secret::directory(directory)?;
    let key = make_secrets(directory)?;
    let card = ServerConfig {
        name: name.to_owned(),
        url: url.to_owned(),
        address: address.to_owned(),
        key,
    };
    let path = directory.join(CARD);
    std::fs::write(&path, toml::to_string_pretty(&card)?)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    output::line(&path.display().to_string())?;
    eprintln!(
        "Give this card to the two other operators over a channel that you trust, and take theirs. Then:"
    );
    eprintln!("  ostrakon init --dir {} --card FILE --card FILE", directory.display());
    Ok(())
}

/// All three cards, in the order to which every operator comes, in whatever order the cards are
/// named.
fn read_cards(directory: &Path, options: &Options) -> Result<Vec<ServerConfig>> {
    let mut paths = options.card.clone();
    paths.push(directory.join(CARD));
    let mut cards: Vec<(&Path, ServerConfig)> = Vec::new();
    for path in paths.iter().filter(|path| path.exists() || options.card.contains(path)) {
        let card = read_card(path)?;
        if !cards.iter().any(|(_, other)| *other == card) {
            cards.push((path, card));
        }
    }
    ensure!(
        ThreeServers.trusts(cards.len()).is_ok(),
        "--card: 3 different cards are needed, this server's own among them; there are {}: {}. Name the other \
         operators' cards with --card, each once",
        cards.len(),
        if cards.is_empty() { "none".to_owned() } else { listed(&cards) }
    );
    distinct(&cards)?;
    let mut servers: Vec<ServerConfig> = cards.into_iter().map(|(_, card)| card).collect();
    servers.sort_by_key(|server| server.key);
    Ok(servers)
}

/// The cards by name and file.
fn listed(cards: &[(&Path, ServerConfig)]) -> String {
    let one = |(path, card): &(&Path, ServerConfig)| {
        format!("{} ({}, {})", card.name, card.address, path.display())
    };
    cards.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// No two cards are of one server, as far as they say it.
fn distinct(cards: &[(&Path, ServerConfig)]) -> Result<()> {
    for (i, (path, card)) in cards.iter().enumerate() {
        for (other_path, other) in &cards[..i] {
            let same = if card.key == other.key {
                "key"
            } else if card.address == other.address {
                "address"
            } else if card.url == other.url {
                "url"
            } else {
                continue;
            };
            bail!(
                "--card: {} ({}) and {} ({}) have the same {same}: every server needs its own. Nothing was written; ask the \
                 operators which card is wrong",
                other.name,
                other_path.display(),
                card.name,
                path.display()
            );
        }
    }
    Ok(())
}

/// Tells the order of the servers, which all operators must have alike.
fn tell_order(config: &Config) {
    eprintln!("The servers, in the order that all three operators get:");
    for (number, server) in config.servers.iter().enumerate() {
        let own = if number == config.id().index() { ", this one" } else { "" };
        eprintln!(
            "  {number}: {} at {} (key {}…){own}",
            server.name,
            server.url,
            &server.key.to_hex()[..8]
        );
    }
    eprintln!("Compare this with the two others: if it differs, somebody has another card.");
}

fn configure(directory: &Path, options: &Options) -> Result<()> {
    let servers = read_cards(directory, options)?;
    let seed = secret::read(&directory.join(IDENTITY))
        .context("--dir holds no key; make one with --name first")?;
    let seed =
        data_encoding::HEXLOWER.decode(seed.as_bytes()).ok().and_then(|seed| seed.try_into().ok());
    let seed: [u8; 32] =
        seed.with_context(|| format!("--dir: {IDENTITY} does not hold 64 hexadecimal digits"))?;
    let key = SigningKey::from_seed(&seed).verifying_key();
    let party = servers.iter().position(|server| server.key == key);
    let party = party.context("--card: this server's own card is not among them")?;
    let http = options.http.unwrap_or_else(|| HTTP.parse().expect("an address"));
    let mesh = options.mesh.unwrap_or_else(|| MESH.parse().expect("an address"));
    let mut config = Config::new(u8::try_from(party)?, http, mesh, servers);
    config.log.clone_from(&options.log);
    config.data = options.data.clone().map(std::path::absolute).transpose()?.unwrap_or(config.data);
    let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    config.https.certificate_file = absolute(&options.certificate)?;
    config.https.key_file = absolute(&options.certificate_key)?;
    if !options.acme_domain.is_empty() {
        let mut acme = Acme::new(options.acme_domain.clone());
        acme.contact.clone_from(&options.acme_contact);
        acme.authority = options.acme_authority.clone().unwrap_or(acme.authority);
        config.https.acme = Some(acme);
    }
    config.limits.behind_proxy = options.behind_proxy;
    config.stock.ready = options.stock_ready.unwrap_or(config.stock.ready);
    config.stock.bytes = options.stock_bytes.unwrap_or(config.stock.bytes);
    let mut problems = config.problems();
    problems.extend(ThreeServers.trusts(config.servers.len()).err());
    ensure!(problems.is_empty(), "{}", problems.join("; "));
    write_config(directory, &config)?;
    tell_order(&config);
    output::line(&directory.join(CONFIG).display().to_string())
}

fn read_card(path: &Path) -> Result<ServerConfig> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--card: {} cannot be read", path.display()))?;
    toml::from_str(&text).with_context(|| format!("--card: {} is no card", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interview(directory: &Path, answers: &str) -> Result<()> {
        let mut options = Options { dir: Some(directory.to_owned()), ..Options::default() };
        let mut questions = Vec::new();
        Interview::new(answers.as_bytes(), &mut questions).complete(&mut options)?;
        proceed(&options)
    }

    #[test]
    fn cards_are_named_and_two_of_one_server_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let homes = ["x", "y", "z"].map(|name| directory.path().join(name));
        for (home, address) in homes.iter().zip(["a:1", "b:1", "b:1"]) {
            let url = format!("https://{}", home.file_name().unwrap().to_str().unwrap());
            make_card(home, "Institute", &url, address).unwrap();
        }
        let cards = homes.each_ref().map(|home| home.join(CARD));
        let complaint = |card: Vec<PathBuf>| {
            let options = Options { card, ..Options::default() };
            let error = configure(&homes[0], &options).unwrap_err().to_string();
            assert!(!homes[0].join(CONFIG).exists(), "nothing is written");
            error
        };
        let two = complaint(vec![cards[1].clone(), cards[1].clone()]);
        assert!(two.contains("there are 2: ") && two.contains("y/card.toml"), "{two}");
        let same = complaint(vec![cards[1].clone(), cards[2].clone()]);
        assert!(same.contains("same address") && same.contains("z/card.toml"), "{same}");
    }

    #[test]
    fn whoever_only_answers_gets_a_card_and_then_a_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let homes = ["x", "y", "z"].map(|name| directory.path().join(name));
        for (home, name) in homes.iter().zip(["x", "y", "z"]) {
            let url = format!("https://{name}.example");
            let answers = format!("\nThe Institute\nnot an address\n{url}\n\n");
            interview(home, &answers).unwrap();
            let card = read_card(&home.join(CARD)).unwrap();
            assert_eq!(card.address, format!("{name}.example:7100"));
        }
        let cards = homes.each_ref().map(|home| home.join(CARD));
        let answers = format!("nowhere\n{}\n{}\n3\n\n\n", cards[1].display(), cards[2].display());
        interview(&homes[0], &answers).unwrap();
        let config = Config::read(&homes[0].join(CONFIG)).unwrap();
        assert!(config.limits.behind_proxy && config.http.ip().is_loopback());
        assert!(config.identity().is_ok());
        let answers =
            format!("{}\n{}\n2\nz.example\n\n\n\n", cards[1].display(), cards[0].display());
        interview(&homes[2], &answers).unwrap();
        let config = Config::read(&homes[2].join(CONFIG)).unwrap();
        assert_eq!(config.https.acme.unwrap().domains, ["z.example"]);
        let error = interview(&homes[1], "").unwrap_err().to_string();
        assert!(error.contains("--help"), "{error}");
    }
}
