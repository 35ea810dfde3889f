//! `ostrakon config check`: everything that is wrong with a configuration, at once.

mod files;
mod network;
mod secrets;
mod syntax;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ostrakon_node::config::{Config, Role};
use serde::Serialize;

use crate::output;

/// Subcommands of `config`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Says everything that is wrong with a configuration; fails if a server could not work with
    /// it.
    Check(Options),
}

/// Options of `config check`.
#[derive(clap::Args)]
pub struct Options {
    /// The configuration; several are also compared with each other.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Asks nobody over the network.
    #[arg(long)]
    offline: bool,
    /// Prints one JSON object for each finding.
    #[arg(long)]
    json: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A server cannot work with it, or is not safe.
    Error,
    /// It may be meant, or pass.
    Warning,
}

/// Something that is wrong, with its remedy.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    file: PathBuf,
    level: Level,
    message: String,
}

/// The findings about one file.
pub struct Findings {
    file: PathBuf,
    all: Vec<Finding>,
}

impl Findings {
    fn new(file: &Path) -> Self {
        Self { file: file.into(), all: Vec::new() }
    }

    fn add(&mut self, level: Level, message: String) {
        self.all.push(Finding { file: self.file.clone(), level, message });
    }

    /// A server cannot work with this.
    pub fn error(&mut self, message: impl Into<String>) {
        self.add(Level::Error, message.into());
    }

    /// This may be meant, or pass.
    pub fn warning(&mut self, message: impl Into<String>) {
        self.add(Level::Warning, message.into());
    }
}

/// Checks configurations.
///
/// # Errors
/// If a server could not work with one of them.
pub async fn run(command: Command) -> Result<()> {
    let Command::Check(options) = command;
    let mut all = Vec::new();
    let mut read: Vec<(PathBuf, Config)> = Vec::new();
    for file in &options.files {
        let mut findings = Findings::new(file);
        if let Some(config) = syntax::read(file, &mut findings) {
            files::check(&config, &mut findings);
            files::database(&config, &mut findings).await;
            if !options.offline {
                network::check(&config, &mut findings).await;
            }
            compare(&config, &read, &mut findings);
            read.push((file.clone(), config));
        }
        all.append(&mut findings.all);
    }
    report(&options, &all)
}

fn report(options: &Options, all: &[Finding]) -> Result<()> {
    for finding in all {
        if options.json {
            output::json(finding)?;
        } else {
            let level = if finding.level == Level::Error { "error" } else { "warning" };
            output::line(&format!("{}: {level}: {}", finding.file.display(), finding.message))?;
        }
    }
    let errors = all.iter().filter(|finding| finding.level == Level::Error).count();
    if errors > 0 {
        bail!("{errors} {} to be mended", if errors == 1 { "error has" } else { "errors have" });
    }
    if !options.json {
        output::line("The configuration is good.")?;
    }
    Ok(())
}

/// What must be the same in all servers' files, and what must not.
fn compare(config: &Config, others: &[(PathBuf, Config)], findings: &mut Findings) {
    for (path, other) in others {
        let path = path.display();
        if config.servers != other.servers {
            findings.error(format!(
                "`servers` differs from {path}: all operators need the same three cards, in the same order"
            ));
        }
        // Processes of one server have its party, and an intake process uses neither data nor key.
        if config.process.role == Role::Intake || other.process.role == Role::Intake {
            continue;
        }
        if config.party == other.party {
            findings.error(format!(
                "`party` is {} here and in {path}: every server needs its own",
                config.party
            ));
        }
        if place(&config.data) == place(&other.data) {
            findings.error(format!(
                "`data` is {} here and in {path}: every server needs its own",
                config.data.display()
            ));
        }
        if place(&config.identity_file) == place(&other.identity_file) {
            findings.error(format!(
                "`identity_file` is the same here and in {path}: every server needs its own key"
            ));
        }
    }
}

/// Where a path leads, whatever way it takes; it may not exist yet.
fn place(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    path.canonicalize()
        .ok()
        .or_else(|| Some(parent?.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_owned())
}
