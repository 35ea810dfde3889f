//! `ostrakon serve`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use ostrakon_api::{Listener, LogControl};
use ostrakon_node::config::{Config, Role};
use ostrakon_node::{RuffleProvider, Service};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::log;
use crate::upkeep::{self, Upkeep};

/// Options of `serve`.
#[derive(clap::Args)]
pub struct Options {
    /// The configuration that `init` made.
    #[arg(long)]
    config: PathBuf,
    /// What this process does; otherwise `process.role` of the configuration, or everything. An engine and any number of
    /// intake processes share one PostgreSQL database.
    #[arg(long, value_name = "all|engine|intake", value_parser = role)]
    role: Option<Role>,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
    /// The form of the log, which goes to standard error.
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: log::Format,
    /// Stops when standard input ends: for a parent process that takes the server with it when it goes.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

fn role(text: &str) -> Result<Role, String> {
    match text {
        "all" => Ok(Role::All),
        "engine" => Ok(Role::Engine),
        "intake" => Ok(Role::Intake),
        _ => Err("it must be all, engine or intake".into()),
    }
}

/// Runs a server until it is told to stop.
///
/// # Errors
/// If the configuration is wrong, or a port or the data cannot be used.
pub async fn run(options: Options, log: LogControl) -> Result<()> {
    let mut config = Config::read(&options.config).context("--config")?;
    config.process.role = options.role.unwrap_or(config.process.role);
    if let Some(filter) = &config.log
        && std::env::var_os(log::VARIABLE).is_none()
    {
        log.set(filter).map_err(anyhow::Error::msg).context("`log`")?;
    }
    let listener = TcpListener::bind(config.http).await;
    let listener = listener.with_context(|| {
        format!("cannot listen at `http` = {}: another program does, or the address is not this machine's", config.http)
    })?;
    let tls = upkeep::tls(&config)?;
    let origins = config.servers.iter().map(|server| server.url.clone()).collect();
    let service = Service::start(config, Arc::new(RuffleProvider)).await?;
    let settings = ostrakon_api::Options { web: options.web, origins, log: Some(log.clone()) };
    let router = ostrakon_api::router(service.clone(), &settings);
    let upkeep = tokio::spawn(Upkeep::new(service.clone(), options.config, log, tls.clone()).run());
    let stop = async {
        tokio::select! {
            () = interrupted() => {}
            () = stdin_ended(), if options.until_stdin_ends => {}
        }
    };
    ostrakon_api::serve(Listener::new(listener, tls), router, &service.config().limits, stop).await;
    upkeep.abort();
    service.stop().await;
    Ok(())
}

/// Resolves when somebody asks the process to stop: Ctrl-C, or SIGTERM.
pub async fn interrupted() {
    let mut terminate = signal(SignalKind::terminate()).expect("the runtime handles signals");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Resolves when standard input ends.
async fn stdin_ended() {
    let mut rest = [0; 64];
    let mut stdin = tokio::io::stdin();
    while matches!(stdin.read(&mut rest).await, Ok(1..)) {}
}
