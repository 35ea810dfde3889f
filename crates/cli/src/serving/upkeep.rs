//! What a running server looks after besides its work: secrets and certificates that change, and
//! their end.
//!
//! Files are looked at every few seconds, and at once on SIGHUP, which also sets the log to what
//! the configuration says. What cannot be used is reported, and what was known before remains.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use ostrakon_api::{LogControl, Tls};
use ostrakon_kernels::give_back_memory;
use ostrakon_node::Service;
use ostrakon_node::config::{Config, Https};
use tokio::signal::unix::Signal;
use tokio::time::Instant;

use crate::serving::{acme, log};
use crate::system;

/// How often files are looked at.
const PAUSE: Duration = Duration::from_secs(2);
/// How often the end of the certificate is looked at, and a proxy's certificate asked for.
const REVIEW: Duration = Duration::from_secs(60 * 60);
/// How long before its end a certificate is complained about. One that is renewed in time is never
/// that old.
const WARNING_DAYS: u64 = 14;
/// How long a proxy may take to show its certificate.
const PROXY_TIME: Duration = Duration::from_secs(20);
const DAY: u64 = 86_400;
/// How often memory is given back that nobody uses.
const TIDYING: Duration = Duration::from_secs(60);

/// What tells one version of a file from the next: when it was written, its length and its number.
type Version = Option<(i64, i64, u64, u64)>;

/// A file that may change.
struct Watched {
    path: PathBuf,
    version: Version,
}

impl Watched {
    fn new(path: &Path) -> Self {
        Self { path: path.into(), version: Self::look(path) }
    }

    fn look(path: &Path) -> Version {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino()))
    }

    fn changed(&mut self) -> bool {
        let version = Self::look(&self.path);
        std::mem::replace(&mut self.version, version) != version
    }
}

/// The upkeep of a server.
pub struct Upkeep {
    service: Service,
    config_path: PathBuf,
    log: LogControl,
    tls: Option<Tls>,
    /// The certificate and its key, if they are the operator's own files.
    pair: Option<(PathBuf, PathBuf)>,
    /// A proxy's address, whose certificate is watched.
    proxy: Option<String>,
    tokens: Vec<Watched>,
    certificate: Vec<Watched>,
}

/// Readies HTTPS as the configuration says: `None` for plain HTTP.
///
/// # Errors
/// If the operator's own certificate cannot be used.
pub fn tls(https: &Https) -> Result<Option<Tls>> {
    if let Some(acme) = &https.acme {
        let tls = Tls::default();
        tokio::spawn(acme::keep(acme.clone(), tls.clone()));
        return Ok(Some(tls));
    }
    let Some((certificate, key)) = pair(https) else { return Ok(None) };
    let tls = Tls::default();
    tls.use_files(&certificate, &key).context("`https`")?;
    Ok(Some(tls))
}

fn pair(https: &Https) -> Option<(PathBuf, PathBuf)> {
    https.certificate_file.clone().zip(https.key_file.clone())
}

impl Upkeep {
    /// The upkeep of `service`, whose configuration is at `config_path`.
    pub fn new(service: Service, config_path: PathBuf, log: LogControl, tls: Option<Tls>) -> Self {
        let config = service.config().clone();
        let pair = pair(&config.https);
        let own = &config.servers[config.id().index()];
        let proxied = config.limits.behind_proxy && own.url.starts_with("https://");
        let tokens = [Some(&config.admin_token_file), config.rooms.creation_token_file.as_ref()];
        let certificate = pair.iter().flat_map(|(certificate, key)| [certificate, key]);
        Self {
            certificate: certificate.map(|path| Watched::new(path)).collect(),
            tokens: tokens.into_iter().flatten().map(|path| Watched::new(path)).collect(),
            proxy: proxied.then(|| own.url.clone()),
            service,
            config_path,
            log,
            tls,
            pair,
        }
    }

    /// Looks after everything for ever, and at once at every `hangup`.
    pub async fn run(mut self, mut hangup: Signal) {
        let mut review = Instant::now();
        let mut tidying = review + TIDYING;
        loop {
            let tokens =
                self.tokens.iter_mut().fold(false, |changed, file| file.changed() | changed);
            let certificate =
                self.certificate.iter_mut().fold(false, |changed, file| file.changed() | changed);
            if tokens {
                self.reload_tokens();
            }
            if certificate {
                self.reload_certificate();
            }
            if let Some(expires) = self.tls.as_ref().and_then(Tls::expires) {
                self.service.set_certificate_expires(expires);
            }
            if review <= Instant::now() {
                review = Instant::now() + REVIEW;
                self.review().await;
            }
            if tidying <= Instant::now() {
                tidying = Instant::now() + TIDYING;
                // What a crowd has left behind would stay otherwise until the next one comes.
                drop(tokio::task::spawn_blocking(give_back_memory).await);
            }
            if wait(&mut hangup).await {
                self.reload_tokens();
                self.reload_certificate();
                self.reload_log();
            }
        }
    }

    fn reload_tokens(&self) {
        match self.service.reload() {
            Ok(()) => tracing::info!("tokens have been read again"),
            Err(error) => {
                tracing::error!(%error, "tokens cannot be read again; those known before still count")
            }
        }
    }

    fn reload_certificate(&self) {
        let Some((tls, (certificate, key))) = self.tls.as_ref().zip(self.pair.as_ref()) else {
            return;
        };
        match tls.use_files(certificate, key) {
            Ok(()) => tracing::info!("the certificate has been read again"),
            // A tool that renews writes one file after the other.
            Err(error) => {
                tracing::error!(%error, "the certificate cannot be read again; the one before is still used")
            }
        }
    }

    fn reload_log(&self) {
        let config = Config::read(&self.config_path);
        let filter = config.map(|config| config.log.unwrap_or_else(|| log::DEFAULT.into()));
        let set =
            filter.map_err(|error| error.to_string()).and_then(|filter| self.log.set(&filter));
        match set {
            Ok(()) => tracing::info!("the log is as the configuration says"),
            Err(error) => tracing::error!(error, "the log stays as it is"),
        }
    }

    /// Learns of a proxy's certificate, and complains of one that ends soon.
    async fn review(&self) {
        if let Some(url) = &self.proxy {
            match certificate_at(url).await {
                Ok(expires) => self.service.set_certificate_expires(expires),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        error,
                        "the proxy's certificate cannot be seen, so nobody watches its end"
                    );
                }
            }
        }
        let Some(expires) = self.service.certificate_expires() else { return };
        let days = expires.saturating_sub(system::unix_time()) / DAY;
        if days < WARNING_DAYS {
            tracing::warn!(days, "the certificate of the public interface expires soon: renew it");
        }
    }
}

/// Waits for the next look: whether somebody asked for it.
async fn wait(hangup: &mut Signal) -> bool {
    tokio::time::timeout(PAUSE, hangup.recv()).await.is_ok()
}

/// When the certificate expires that a server shows at its public address, whoever speaks HTTPS
/// there.
///
/// # Errors
/// If nobody does.
pub async fn certificate_at(url: &str) -> Result<u64> {
    // It is looked at, not relied on: an expired one has to be seen too.
    let client =
        reqwest::Client::builder().no_proxy().tls_info(true).tls_danger_accept_invalid_certs(true);
    let answer = client.timeout(PROXY_TIME).build()?.head(format!("{url}/healthz")).send().await?;
    let shown =
        answer.extensions().get::<reqwest::tls::TlsInfo>().and_then(|info| info.peer_certificate());
    let expires = shown.and_then(ostrakon_api::certificate_expires);
    expires.with_context(|| format!("{url} shows no certificate"))
}
