//! `ostrakon serve`.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostrakon_api::{Listener, LogControl};
use ostrakon_node::config::{Config, Role};
use ostrakon_node::{Service, ThreeServers};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::serving::log;
use crate::serving::upkeep::{self, Upkeep};

/// How long the service may take to stop. What is still open then ends with the process; nothing on
/// disk depends on it.
const STOPPING: Duration = Duration::from_millis(2500);

/// Options of `serve`.
#[derive(clap::Args)]
pub struct Options {
    /// The configuration that `init` made.
    #[arg(long)]
    config: PathBuf,
    /// What this process does; otherwise `process.role` of the configuration, or everything. An
    /// engine and any number of intake processes share one PostgreSQL database.
    #[arg(long, value_name = "all|engine|intake", value_parser = role)]
    role: Option<Role>,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
    /// The form of the log, which goes to standard error.
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: log::Format,
    /// Stops when standard input ends: for a parent process that takes the server with it when it
    /// goes.
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
/// If the configuration is wrong, or a port or the data cannot be used; also later, if the server
/// can work again only when it is started again.
pub async fn run(options: Options, log: LogControl) -> Result<()> {
    // First of all, because a start may take long: until it is caught, a signal ends the process
    // where it stands.
    let hangup = signal(SignalKind::hangup()).expect("the runtime handles signals");
    let mut stop = pin!(told_to_stop(options.until_stdin_ends));
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
    let tls = upkeep::tls(&config.https)?;
    let origins = config.servers.iter().map(|server| server.url.clone()).collect();
    let service = tokio::select! {
        service = Service::start(config, Arc::new(ThreeServers)) => service?,
        () = &mut stop => {
            tracing::info!("told to stop while starting");
            return Ok(());
        }
    };
    let settings = ostrakon_api::Options { web: options.web, origins, log: Some(log.clone()) };
    let router = ostrakon_api::router(service.clone(), &settings);
    let upkeep =
        tokio::spawn(Upkeep::new(service.clone(), options.config, log, tls.clone()).run(hangup));
    let mut failure = None;
    let end = async {
        tokio::select! {
            () = stop => {}
            reason = service.ended() => failure = Some(reason),
        }
    };
    ostrakon_api::serve(Listener::new(listener, tls), router, &service.config().limits, end).await;
    upkeep.abort();
    if tokio::time::timeout(STOPPING, service.stop()).await.is_err() {
        tracing::warn!("the database could not be closed in time; what is on disk is whole");
    }
    match failure {
        Some(reason) => bail!("the server can do no more before it is started again: {reason}"),
        None => Ok(()),
    }
}

/// Resolves when somebody asks the process to stop, also if that was after this call and before it
/// is waited for.
pub fn told_to_stop(until_stdin_ends: bool) -> impl Future<Output = ()> {
    let interrupted = interrupted();
    async move {
        tokio::select! {
            () = interrupted => {}
            () = stdin_ended(), if until_stdin_ends => {}
        }
    }
}

/// Resolves when somebody asks the process to stop, by Ctrl-C or SIGTERM, from this call on.
pub fn interrupted() -> impl Future<Output = ()> {
    let mut interrupt = signal(SignalKind::interrupt()).expect("the runtime handles signals");
    let mut terminate = signal(SignalKind::terminate()).expect("the runtime handles signals");
    async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Resolves when standard input ends.
async fn stdin_ended() {
    let mut rest = [0; 64];
    let mut stdin = tokio::io::stdin();
    while matches!(stdin.read(&mut rest).await, Ok(1..)) {}
}
