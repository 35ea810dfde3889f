//! What a configuration says of this machine: files, directories, addresses, disk.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::net::TcpListener;

use ostrakon_api::Tls;
use ostrakon_node::config::{Config, Role};
use ostrakon_store::{Database, Store};

use super::Findings;
use super::secrets::{self, private};
use crate::serving::log;
use crate::system;

/// Room for the database and for what is under way, besides the stock.
const BESIDES_STOCK: u64 = 1 << 30;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// How long before its end a certificate is complained about.
const FORTNIGHT: u64 = 14 * DAY;

/// Checks everything on this machine.
pub fn check(config: &Config, findings: &mut Findings) {
    secrets::check(config, findings);
    certificate(config, findings);
    // Intake processes have neither data nor links with the other servers.
    if config.process.role == Role::Intake {
        intake_listens(config, findings);
    } else {
        data(config, findings);
    }
    urls(config, findings);
    if let Some(filter) = &config.log
        && let Err(error) = log::parse(filter)
    {
        findings.error(format!("`log`: {error}"));
    }
}

fn certificate(config: &Config, findings: &mut Findings) {
    let Some((certificate, key)) =
        config.https.certificate_file.as_ref().zip(config.https.key_file.as_ref())
    else {
        return;
    };
    private(key, findings);
    let tls = Tls::default();
    if let Err(error) = tls.use_files(certificate, key) {
        findings.error(error.to_string());
        return;
    }
    // A server starts and works with it, so it does not count as an error: a check before the start
    // must not keep it down.
    let (expires, now) = (tls.expires().unwrap_or_default(), system::unix_time());
    let path = certificate.display();
    if expires <= now {
        findings.warning(format!(
            "the certificate in {path} has expired, so browsers refuse the server: renew it"
        ));
        return;
    }
    let left = expires - now;
    let time =
        if left < DAY { format!("{} hours", left / HOUR) } else { format!("{} days", left / DAY) };
    if left < FORTNIGHT {
        findings.warning(format!("the certificate in {path} expires in {time}: renew it"));
    }
}

/// Nothing tells whether an intake process that uses the address is this one.
fn intake_listens(config: &Config, findings: &mut Findings) {
    match TcpListener::bind(config.http) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            findings.warning(format!(
                "somebody listens at `http` = {}: this process, if it runs",
                config.http
            ));
        }
        Err(error) => findings.error(format!("cannot listen at `http` = {}: {error}", config.http)),
    }
}

fn data(config: &Config, findings: &mut Findings) {
    let data = &config.data;
    let running = File::open(data.join("lock"))
        .is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
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

/// Whether the database in the data directory can be used. A running server is not disturbed.
pub async fn database(config: &Config, findings: &mut Findings) {
    if config.process.role == Role::Intake || config.database().ok() != Some(Database::Sqlite) {
        return;
    }
    if let Err(error) = Store::examine(&config.data, &Database::Sqlite).await {
        findings.error(error.to_string());
    }
}

fn urls(config: &Config, findings: &mut Findings) {
    for (i, server) in config.servers.iter().enumerate() {
        let host = server.url.split("://").nth(1).unwrap_or_default();
        let local = ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local));
        if server.url.starts_with("http://") && !local {
            findings.error(format!(
                "the `url` of {} is not HTTPS: browsers refuse what the page needs there",
                server.name
            ));
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
