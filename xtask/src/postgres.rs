//! A PostgreSQL of its own for tests: fresh, reached over a socket that only this user can open,
//! gone at the end.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{shell, tools};

/// Where the tests find it.
pub const VARIABLE: &str = "OSTRAKON_TEST_POSTGRES";
/// Debian's user for it. The server refuses to be run by root.
const USER: &str = "postgres";
/// How often, and how long after each other, it is asked whether it is ready.
const TRIES: u32 = 1800;
const PAUSE: Duration = Duration::from_millis(100);

/// A server that runs until this is dropped.
pub struct Postgres {
    server: Child,
    directory: PathBuf,
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Errors
    /// If PostgreSQL is missing and cannot be installed, or does not start; its log is then named.
    pub fn start() -> Result<Self> {
        let programs = tools::postgres()?;
        let root = tools::is_root()?;
        // From here on the directory is removed again, whatever happens.
        let cleared = Cleared(fresh_directory()?);
        if root {
            give_away(&cleared.0)?;
        }
        let data = cleared.0.join("data");
        let mut init = as_user(&programs.join("initdb"), root);
        init.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--pgdata",
        ]);
        shell::output(init.arg(&data))?;
        let log = cleared.0.join("log");
        let file = OpenOptions::new().create(true).append(true).open(&log)?;
        let mut command = as_user(&programs.join("postgres"), root);
        command.arg("-D").arg(&data).arg("-k").arg(&cleared.0);
        // No network; enough connections for tests that run side by side.
        command.args(["-c", "listen_addresses=", "-c", "max_connections=300"]);
        let server = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
        let mut postgres = Self { server, directory: cleared.keep() };
        postgres.wait(&programs).with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(postgres)
    }

    fn wait(&mut self, programs: &Path) -> Result<()> {
        for _ in 0..TRIES {
            if let Some(status) = self.server.try_wait()? {
                bail!("PostgreSQL ended at its start ({status})");
            }
            let mut ask = shell::program(programs.join("pg_isready"));
            if ask.arg("-q").arg("-h").arg(&self.directory).status()?.success() {
                return Ok(());
            }
            sleep(PAUSE);
        }
        bail!("PostgreSQL does not become ready")
    }

    /// Where it is reached: a database in which tests may make others.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?user=postgres&host={}", self.directory.display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An immediate end: what it holds is thrown away.
        let id = self.server.id().to_string();
        if shell::run(shell::program("kill").args(["-QUIT", &id])).is_ok() {
            drop(self.server.wait());
        }
        drop(Cleared(self.directory.clone()));
    }
}

/// Makes a directory that only this user can open. One that a killed run has left under the same
/// process id is passed over.
fn fresh_directory() -> Result<PathBuf> {
    let mut number = 0;
    loop {
        let directory =
            env::temp_dir().join(format!("ostrakon-postgres-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => {
                made.with_context(|| format!("{} cannot be made", directory.display()))?;
                return Ok(directory);
            }
        }
    }
}

/// A directory that is removed when this is dropped.
struct Cleared(PathBuf);

impl Cleared {
    fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Cleared {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty()
            && let Err(error) = fs::remove_dir_all(&self.0)
        {
            shell::progress(&format!("{} cannot be removed: {error}", self.0.display()));
        }
    }
}

/// A program run by a user that PostgreSQL accepts, which does not outlive this process.
fn as_user(program: &Path, root: bool) -> Command {
    let mut command = shell::program("setpriv");
    if root {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT", "--"]).arg(program);
    // The user need not be allowed to see the repository.
    command.current_dir("/");
    command
}

fn give_away(directory: &Path) -> Result<()> {
    let id = |flag: &str| -> Result<u32> {
        let text = shell::output(shell::program("id").args([flag, USER]))?;
        Ok(String::from_utf8(text)?.trim().parse()?)
    };
    Ok(chown(directory, Some(id("--user")?), Some(id("--group")?))?)
}

/// Runs a command with a PostgreSQL beside it.
///
/// # Errors
/// If PostgreSQL does not start, or the command fails.
pub fn beside(command: &[String]) -> Result<()> {
    let (program, arguments) = command.split_first().context("name the command to run")?;
    let postgres = Postgres::start()?;
    shell::run(shell::program(program).args(arguments).env(VARIABLE, postgres.url()))
}
