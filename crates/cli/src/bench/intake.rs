//! `ostrakon bench intake`: three servers of one or several processes, started and stopped for the
//! purpose.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_bench::intake::{self, Report, Servers};
use ostrakon_node::config::Role;
use ostrakon_store::Scratch;
use tokio::runtime::Runtime;

use crate::client::http_client;
use crate::output;
use crate::serving::processes::Processes;
use crate::serving::site::{Ports, Site};

/// Where `cargo xtask postgres` says that its PostgreSQL is.
const VARIABLE: &str = "OSTRAKON_TEST_POSTGRES";
/// Intake processes of each server at most.
const MOST_INTAKES: i64 = 16;

/// In which database the servers keep their data.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

/// Options of `bench intake`.
#[derive(clap::Args)]
pub struct Options {
    /// Participants, each with a key of its own; a multiple of 3.
    #[arg(long, default_value_t = 6000)]
    clients: u32,
    /// Connections to each server.
    #[arg(long, default_value_t = 128)]
    connections: u32,
    /// The room's minimum, up to which places are given out evenly over the servers; the greatest
    /// that so many participants meet unless it is said.
    #[arg(long, value_name = "M")]
    minimum: Option<u32>,
    /// How long to measure; the epoch under way is finished.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// In which database the servers keep their data.
    #[arg(long, value_enum, default_value = "sqlite")]
    database: Database,
    /// With PostgreSQL: the URL of a database whose user may make others. Three are made beside it,
    /// and removed in the end. Without it, the variable OSTRAKON_TEST_POSTGRES, which `cargo xtask
    /// postgres` sets.
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
    /// With PostgreSQL: intake processes of each server, beside its engine; none lets one process
    /// do everything.
    #[arg(
        long,
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=MOST_INTAKES)
    )]
    intakes: u32,
    /// Where the servers keep their files meanwhile: with SQLite, the disk that is measured.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Prints the measurement as a JSON object.
    #[arg(long)]
    json: bool,
}

/// Starts three servers, measures, and stops them.
///
/// # Errors
/// If the options contradict each other, a server does not start, or something is lost.
pub fn run(options: &Options) -> Result<()> {
    let bar = output::spinner("starting three servers");
    let directory = match &options.data_dir {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    let directory = directory.context("--data-dir: no directory can be made there")?;
    let runtime = Runtime::new()?;
    let databases = runtime.block_on(databases(options))?;
    let report = |text: &str| bar.set_message(text.to_owned());
    let measured = with_servers(options, &runtime, directory.path(), databases.as_ref(), report);
    if let Some(databases) = databases {
        runtime.block_on(databases.remove()).context("the databases of the measurement remain")?;
    }
    bar.finish_and_clear();
    let measured = measured?;
    if options.json {
        output::json(&measured)
    } else {
        output::line(intake::table(&measured).trim_end())
    }
}

/// Makes a database for each server, if they are to be in PostgreSQL.
async fn databases(options: &Options) -> Result<Option<Scratch>> {
    if options.database == Database::Sqlite {
        if options.intakes > 0 || options.postgres_url.is_some() {
            bail!(
                "--intakes and --postgres-url: several processes share a PostgreSQL only; add `--database postgres`"
            );
        }
        return Ok(None);
    }
    let url = options.postgres_url.clone().or_else(|| std::env::var(VARIABLE).ok()).context(
        "--database postgres: say where PostgreSQL is, with `--postgres-url`, or run this by `cargo xtask postgres`",
    )?;
    let names =
        (0..3).map(|party| format!("ostrakon_bench_{}_{party}", std::process::id())).collect();
    Ok(Some(
        Scratch::create(&url, names)
            .await
            .context("--postgres-url: no databases can be made there")?,
    ))
}

fn with_servers(
    options: &Options,
    runtime: &Runtime,
    directory: &Path,
    databases: Option<&Scratch>,
    report: impl Fn(&str),
) -> Result<Report> {
    let urls = databases.map(Scratch::urls);
    let site = Site::create_with(directory, Ports::free()?, |party, config| {
        config.store.url = urls.as_ref().map(|urls| urls[party].clone());
        config.process.role = if options.intakes > 0 { Role::Engine } else { Role::All };
    })?;
    let mut processes = runtime.block_on(async { Processes::start(&site, None) })?;
    let started = runtime.block_on(start(options, &site, &mut processes, &report));
    let measured = started.and_then(|servers| {
        let Options { clients, connections, minimum, seconds, .. } = *options;
        let servers = Servers {
            databases: databases.map_or_else(Vec::new, |databases| databases.names().to_vec()),
            directory: directory.to_owned(),
            ..servers
        };
        intake::run(intake::Options { clients, connections, minimum, seconds }, &servers, report)
    });
    runtime.block_on(processes.stop());
    measured
}

/// Waits for the servers, and starts their intake processes.
async fn start(
    options: &Options,
    site: &Site,
    processes: &mut Processes,
    report: impl Fn(&str),
) -> Result<Servers> {
    let http = http_client()?;
    processes.ready(&http, |text| report(&text)).await?;
    let ports: [u16; 3] = site.ports().try_into().expect("there are three servers");
    let mut intakes = ports.map(|port| vec![port]);
    if options.intakes > 0 {
        // They need what the engine has made of the database.
        let added = site.add_intakes(options.intakes as usize)?;
        for (ports, added) in intakes.iter_mut().zip(&added) {
            *ports = added.iter().map(|(_, port)| *port).collect();
        }
        processes.add(added.into_iter().flatten().map(|(server, _)| server))?;
        processes.ready(&http, |text| report(&text)).await?;
    }
    let ids = processes.ids();
    ensure!(ids.len() == 3 * (1 + options.intakes as usize), "a server has ended");
    // First come the three servers, and then the intake processes of each.
    let of_server = |party: usize| {
        let more = ids[3..].chunks(options.intakes.max(1) as usize).nth(party).unwrap_or_default();
        [&ids[party..=party], more].concat()
    };
    let processes = [of_server(0), of_server(1), of_server(2)];
    let (databases, directory) = Default::default();
    Ok(Servers { ports, intakes, processes, databases, token: site.token()?, directory })
}
