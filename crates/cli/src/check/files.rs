//! What a configuration says of this machine: files, directories, addresses, disk.

use std::fs::{File, TryLockError};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostrakon_api::Tls;
use ostrakon_node::config::{ADMIN_TOKEN_VARIABLE, Config, IDENTITY_VARIABLE};

use super::Findings;
use crate::{edge, log};

/// Room for the database and for what is under way, besides the stock.
const BESIDES_STOCK: u64 = 1 << 30;
const DAY: u64 = 86_400;

/// Checks everything on this machine.
pub fn check(config: &Config, findings: &mut Findings) {
    secrets(config, findings);
    certificate(config, findings);
    data(config, findings);
    urls(config, findings);
    if let Some(filter) = &config.log
        && let Err(error) = log::parse(filter)
    {
        findings.error(format!("`log`: {error}"));
    }
}

fn secrets(config: &Config, findings: &mut Findings) {
    if std::env::var_os(IDENTITY_VARIABLE).is_none() {
        private(&config.identity_file, findings);
    }
    if let Err(error) = config.identity() {
        findings.error(error.to_string());
    }
    if std::env::var_os(ADMIN_TOKEN_VARIABLE).is_none() {
        private(&config.admin_token_file, findings);
    }
    if let Err(error) = config.admin_tokens() {
        findings.error(error.to_string());
    }
}

/// Complains of a file or directory that others may read.
fn private(path: &Path, findings: &mut Findings) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    if metadata.permissions().mode() & 0o077 != 0 {
        let mode = if metadata.is_dir() { "700" } else { "600" };
        findings.error(format!("{0} may be read by others than its owner: `chmod {mode} {0}`", path.display()));
    }
}

fn certificate(config: &Config, findings: &mut Findings) {
    let Some((certificate, key)) = config.https.certificate_file.as_ref().zip(config.https.key_file.as_ref()) else {
        return;
    };
    private(key, findings);
    let tls = Tls::default();
    if let Err(error) = tls.use_files(certificate, key) {
        findings.error(error.to_string());
        return;
    }
    let days = tls.expires().unwrap_or_default().saturating_sub(edge::unix_time()) / DAY;
    match days {
        0 => findings.error(format!("the certificate in {} has expired", certificate.display())),
        1..14 => findings.warning(format!("the certificate in {} expires in {days} days", certificate.display())),
        _ => {}
    }
}

fn data(config: &Config, findings: &mut Findings) {
    let data = &config.data;
    let running =
        File::open(data.join("lock")).is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    if data.exists() {
        private(data, findings);
        if !data.is_dir() {
            findings.error(format!("`data` = {} is no directory", data.display()));
        }
    }
    if running {
        findings.warning(format!("a server is running with the data in {}", data.display()));
    } else {
        for (name, address) in [("http", config.http), ("mesh", config.mesh)] {
            if let Err(error) = TcpListener::bind(address) {
                findings.error(format!("cannot listen at `{name}` = {address}: {error}"));
            }
        }
    }
    let existing = data.ancestors().find(|path| path.exists());
    let Some(space) = existing.and_then(|path| rustix::fs::statvfs(path).ok()) else {
        findings.error(format!("`data` = {}: nothing is known of its disk", data.display()));
        return;
    };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let wanted = config.stock.bytes.saturating_add(BESIDES_STOCK);
    if free < wanted && !running {
        findings.warning(format!(
            "the disk of {} has {} MiB free, but `stock.bytes` and the database may take {} MiB: make room, or lower it",
            data.display(),
            free >> 20,
            wanted >> 20
        ));
    }
}

fn urls(config: &Config, findings: &mut Findings) {
    for (i, server) in config.servers.iter().enumerate() {
        let host = server.url.split("://").nth(1).unwrap_or_default();
        let local = ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local));
        if server.url.starts_with("http://") && !local {
            findings
                .error(format!("the `url` of {} is not HTTPS: browsers refuse what the page needs there", server.name));
        }
        for other in &config.servers[..i] {
            if other.address == server.address || other.url == server.url {
                findings.error(format!("{} and {} have the same address", other.name, server.name));
            }
            if other.name == server.name {
                findings.warning(format!("two servers are called {:?}", server.name));
            }
        }
    }
}
