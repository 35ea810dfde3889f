//! What servers that know each other by signed cards have in common: their directories, the
//! commands that operators give them, and groups of them on this machine.

mod directory;
mod loopback;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;

use crate::output;
use crate::serving::log;
pub use directory::{Directory, TOKEN};
pub use loopback::{Loopback, run_until_stopped};

/// A kind of server: the words and names in which kinds differ.
pub struct Kind {
    /// The command whose subcommands are `init`, `found`, `serve` and `up`.
    pub command: &'static str,
    /// What one of them is called.
    pub server: &'static str,
    /// What several of them are together.
    pub group: &'static str,
    /// The file of the configuration.
    pub config: &'static str,
    /// The file of the group's description, as `found` printed it.
    pub founded: &'static str,
}

/// Options that `init` has for every kind.
#[derive(clap::Args)]
pub struct CardOptions {
    /// Where the server keeps its keys, configuration and data.
    #[arg(long, value_name = "DIR")]
    pub home: PathBuf,
    /// The server's name: who runs it.
    #[arg(long)]
    pub name: String,
    /// Where everybody finds it: `https://HOST[:PORT]`.
    #[arg(long)]
    pub url: String,
    /// Where the other servers find it: HOST:PORT.
    #[arg(long, value_name = "HOST:PORT")]
    pub address: String,
}

impl CardOptions {
    /// Prints a new server's card, and tells the operator what to do with it.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub fn print(&self, card: &impl Serialize, kind: &Kind) -> Result<()> {
        output::line(&serde_json::to_string(card)?)?;
        let Kind { command, server, group, founded, .. } = kind;
        eprintln!(
            "Give this card to whoever founds the {group}, keep what comes back as {}, compare its digest \
             with the other operators, and start the {server}: ostrakon {command} serve --home {}",
            self.home.join(founded).display(),
            self.home.display()
        );
        Ok(())
    }
}

/// Options that `serve` has for every kind.
#[derive(clap::Args)]
pub struct ServingOptions {
    /// The directory that `init` made, with what `found` printed in it.
    #[arg(long, value_name = "DIR")]
    pub home: PathBuf,
    /// The directory of the web client's files.
    #[arg(long)]
    pub web: Option<PathBuf>,
    /// The form of the log, which goes to standard error.
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: log::Format,
    /// Stops when standard input ends: for a parent process that takes the server with it when it
    /// goes.
    #[arg(long, hide = true)]
    pub until_stdin_ends: bool,
}

/// Reads a card that `init` printed.
///
/// # Errors
/// If there is none.
pub fn read_card<C: DeserializeOwned>(path: &Path, kind: &Kind) -> Result<C> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| {
        let command = kind.command;
        format!("{} is no card: it must be what `ostrakon {command} init` printed", path.display())
    })
}

/// Listens at what a setting says.
///
/// # Errors
/// If it cannot.
pub async fn listen(setting: &str, address: SocketAddr) -> Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.with_context(|| format!("cannot listen at `{setting}` = {address}"))
}
