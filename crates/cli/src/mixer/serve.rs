//! `ostrakon mixer serve`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use ostrakon_api::{Listener, Machine, MixerOperating, OperatorToken};
use ostrakon_asynchromix::Told;
use ostrakon_mixer::{Config, Report, Runner};
use ostrakon_node::config::Limits;

use super::home::{Home, KIND};
use crate::serving::cards::{self, Directory, ServingOptions};
use crate::serving::serve::told_to_stop;

/// Options of `mixer serve`.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    pub serving: ServingOptions,
    /// The data were restored from a copy, or are known to be old. The server uses nothing of them,
    /// and takes part again when the others have agreed to that; once is enough.
    #[arg(long)]
    restored: bool,
}

/// Runs a server until it is told to stop.
///
/// # Errors
/// If its directory is not in order, a port cannot be used, or its journal cannot be written: then
/// it must not speak any more.
pub async fn run(options: Options) -> Result<()> {
    let stop = told_to_stop(options.serving.until_stdin_ends);
    let home = Home::open(Directory::new(&options.serving.home, &KIND)).context("--home")?;
    let _lock = home.directory.lock()?;
    let (description, room) = home.room()?;
    let data = home.data()?;
    let operating = MixerOperating {
        token: OperatorToken::new(&home.directory.token()?),
        machine: Arc::new({
            let data = data.clone();
            move || machine(&data)
        }),
    };
    let http = cards::listen("http", home.settings.http).await?;
    let listener = cards::listen("mesh", home.settings.mesh).await?;
    let (mut runner, visits, reports) = Runner::start(Config {
        room: Arc::new(room),
        identity: home.identity.clone(),
        directory: data,
        listener,
        addresses: description.servers.iter().map(|card| card.mesh.clone()).collect(),
        devices: None,
    })?;
    tracing::info!(room = description.name, "serving");
    if options.restored {
        runner.readmit()?;
    }
    reports.into_iter().for_each(note);
    let web = options.serving.web;
    let router = ostrakon_api::mixer_router(visits, description, web, operating);
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = async {
        let until = async {
            tokio::select! {
                () = stop => {}
                _ = stopped => {}
            }
        };
        ostrakon_api::serve(Listener::new(http, None), router, &Limits::default(), until).await;
    };
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => Ok(()),
        ended = runner.run(note) => {
            // It may not say anything any more, to nobody.
            drop(stopping);
            serving.await;
            ended.context("the server has stopped")
        }
    }
}

/// What the process has of its machine.
fn machine(data: &Path) -> Machine {
    let resident = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let space = rustix::fs::statvfs(data).ok();
    let bytes = |blocks: u64, space: &rustix::fs::StatVfs| blocks.saturating_mul(space.f_frsize);
    Machine {
        memory: resident().map(|kibibytes| kibibytes.saturating_mul(1024)),
        disk: space.map(|space| (bytes(space.f_bavail, &space), bytes(space.f_blocks, &space))),
    }
}

/// Nothing that a participant does is written to the log.
fn note(report: Report) {
    let Report::Told(told) = report else { return };
    match told {
        Told::Started => tracing::info!("takes part"),
        Told::DataLost => tracing::error!(
            "the data are older than what others have heard of this server; start it once with --restored"
        ),
        Told::CaughtUp(commits) => tracing::info!(
            commits,
            "was away for long: the room's state is taken over from another server"
        ),
        Told::Fault(party, what) => tracing::warn!(server = party.0, what, "a fault"),
        Told::Convicted(party, deed) => tracing::error!(
            server = party.0,
            deed = deed.in_words(),
            "a server was convicted: nothing is prepared with it any more; `ostrakon mixer evidence` exports the proof"
        ),
        Told::Published(epoch) => tracing::info!(epoch, "published"),
        Told::Sealed(epoch, rows, enough) => tracing::info!(epoch, rows, enough, "sealed"),
        Told::Ready(batch) => tracing::info!(batch, "prepared"),
        Told::Burnt(batch) | Told::Dropped(batch) => tracing::info!(batch, "dropped"),
        Told::Begun(_)
        | Told::Prepared(..)
        | Told::Opened(_)
        | Told::Closed(_)
        | Told::Mixing(_)
        | Told::Mixed(..) => {}
    }
}
