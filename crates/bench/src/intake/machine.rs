//! What the servers' processes use, and what the machine could do at most.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_node::config::Limits;
use rayon::prelude::*;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::http::{Connection, Request};

/// How long each thing is tried.
const TRIAL: Duration = Duration::from_secs(1);
/// Requests of a participant in an epoch: its presence, three issues, three submissions. Each is
/// signed.
const REQUESTS: f64 = 7.0;
/// Bytes that a commit writes at least: a page of the write-ahead log with its header.
const PAGE: usize = 4096 + 24;

/// Bytes that a process has resident; 0 where the system does not tell.
pub fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse().ok());
    kibibytes.unwrap_or(0u64) * 1024
}

/// The processes in which a PostgreSQL on this machine serves sessions with these databases.
pub fn sessions(databases: &[String]) -> Vec<u32> {
    if databases.is_empty() {
        return Vec::new();
    }
    let serves = |process: &u32| {
        // PostgreSQL writes there what each of its processes does: "postgres: USER DATABASE CLIENT
        // ACTIVITY".
        let title = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let title = String::from_utf8_lossy(&title);
        let database = title.strip_prefix("postgres: ").and_then(|rest| rest.split(' ').nth(1));
        database.is_some_and(|name| databases.iter().any(|database| database == name))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(serves).collect()
}

/// What the machine does a second when it does nothing else.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Most {
    /// Checks of signatures, on all cores.
    pub verifications: f64,
    /// Commits to the disk, one after another: a page is written and synchronised.
    pub commits: f64,
    /// HTTP requests to a handler that does nothing, over kept connections; client and server share
    /// the cores.
    pub requests: f64,
}

impl Most {
    /// Measures it; `directory` is on the disk that counts.
    ///
    /// # Errors
    /// If the disk or loopback cannot be used.
    pub async fn measure(directory: &Path, lines: usize) -> Result<Self> {
        let directory = directory.to_owned();
        let verifications = tokio::task::spawn_blocking(verifications).await?;
        let commits = tokio::task::spawn_blocking(move || commits(&directory)).await??;
        Ok(Self { verifications, commits, requests: requests(lines).await? })
    }

    /// Participants a second if there were nothing to do but their requests, each with its
    /// signature.
    pub fn participants(&self) -> f64 {
        1.0 / (REQUESTS / self.verifications + REQUESTS / self.requests)
    }
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn now() -> Instant {
    Instant::now()
}

fn verifications() -> f64 {
    let key = SigningKey::from_seed(&[9; 32]);
    let signed: Vec<_> = (0..=255).map(|n| (Digest([n; 32]), key.sign(&Digest([n; 32])))).collect();
    let public = key.verifying_key();
    let begun = now();
    let mut count = 0;
    while begun.elapsed() < TRIAL {
        assert!(signed.par_iter().all(|(digest, signature)| public.verifies(digest, signature)));
        count += signed.len();
    }
    count as f64 / begun.elapsed().as_secs_f64()
}

fn commits(directory: &Path) -> Result<f64> {
    let path = directory.join("commits");
    let mut file = fs::File::create(&path).context("the disk cannot be written")?;
    let begun = now();
    let mut count = 0;
    while begun.elapsed() < TRIAL {
        file.write_all(&[7; PAGE])?;
        file.sync_data()?;
        count += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(f64::from(count) / seconds)
}

async fn requests(lines: usize) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("loopback cannot be used")?;
    let port = listener.local_addr()?.port();
    let router = Router::new().route("/", get(async || "ok"));
    let server = tokio::spawn(async move {
        ostrakon_api::serve(listener, router, &Limits::default(), std::future::pending()).await;
    });
    let mut tasks = JoinSet::new();
    let begun = now();
    for _ in 0..lines {
        tasks.spawn(async move {
            let mut connection = Connection::open(port).await?;
            let request = Request::get("/");
            let mut count = 0u32;
            while begun.elapsed() < TRIAL {
                connection.call(&request).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(done) = tasks.join_next().await {
        count += done??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    server.abort();
    Ok(f64::from(count) / seconds)
}
