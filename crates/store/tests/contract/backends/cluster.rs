//! A PostgreSQL of a test's own, which it can crash.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::{AnyConnection, Connection};
use tempfile::TempDir;

use crate::place::server;

/// A server with data of its own. It ends with the test.
pub struct Cluster {
    programs: String,
    directory: TempDir,
    server: Child,
}

impl Cluster {
    /// Makes and starts one whose log reaches the disk with commits alone.
    pub async fn start() -> Self {
        sqlx::any::install_default_drivers();
        let mut beside = AnyConnection::connect(&server()).await.unwrap();
        let programs = "SELECT setting FROM pg_config WHERE name = 'BINDIR'";
        let programs: String = sqlx::query_scalar(programs).fetch_one(&mut beside).await.unwrap();
        let directory = TempDir::new().unwrap();
        if is_root() {
            let id = |flag: &str| {
                let output = Command::new("id").args([flag, "postgres"]).output().unwrap();
                String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
            };
            chown(directory.path(), Some(id("--user")), Some(id("--group"))).unwrap();
        }
        let mut init = program(&programs, "initdb");
        init.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--pgdata",
        ]);
        assert!(
            init.arg(directory.path().join("data"))
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        let server = start(&programs, directory.path());
        let cluster = Self { programs, directory, server };
        drop(cluster.connect().await);
        cluster
    }

    pub fn url(&self) -> String {
        format!(
            "postgres:///postgres?user=postgres&host={}&dbname=postgres",
            self.directory.path().display()
        )
    }

    /// Waits until the server answers.
    pub async fn connect(&self) -> AnyConnection {
        for _ in 0..1800 {
            if let Ok(connection) = AnyConnection::connect(&self.url()).await {
                return connection;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the server does not become ready");
    }

    /// Ends the server without letting it write anything more, and starts it again.
    pub fn crash(&mut self) {
        self.end();
        self.server = start(&self.programs, self.directory.path());
    }

    fn end(&mut self) {
        Command::new("kill").args(["-QUIT", &self.server.id().to_string()]).status().unwrap();
        self.server.wait().unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn start(programs: &str, directory: &Path) -> Child {
    let mut command = program(programs, "postgres");
    command.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    command.args(["-c", "listen_addresses=", "-c", "wal_writer_delay=10s"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Run by a user that PostgreSQL accepts; it does not outlive the test.
fn program(programs: &str, name: &str) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
    }
    command
        .args(["--pdeathsig", "QUIT", "--"])
        .arg(Path::new(programs).join(name))
        .current_dir("/");
    command
}
