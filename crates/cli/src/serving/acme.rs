//! Certificates ordered from an authority that speaks ACME (RFC 8555), by the challenge TLS-ALPN-01
//! (RFC 8737): the authority connects to port 443 and finds its digest in a certificate that this
//! server made for the purpose.
//!
//! Account, certificate and key are kept in a directory, with what they were ordered for, so that a
//! restart orders nothing, and other names or another authority in the configuration order at once.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, RetryPolicy,
};
use ostrakon_api::Tls;
use ostrakon_crypto::hash;
use ostrakon_node::config::Acme;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use serde::{Deserialize, Serialize};

use crate::serving::token;
use crate::{secret, system};

/// The pause after an order failed.
const AFTER_FAILURE: Duration = Duration::from_secs(30 * 60);
/// How often it is looked whether the certificate is due.
const PAUSE: Duration = Duration::from_secs(60);
/// How long the authority may take for each of its steps.
const PATIENCE: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(120));

/// What a certificate was ordered for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ordered {
    /// The URL of the authority's directory.
    authority: String,
    /// The names, in order.
    domains: Vec<String>,
}

impl Ordered {
    /// What an order by these settings would be for.
    fn by(acme: &Acme) -> Self {
        let mut domains: Vec<_> =
            acme.domains.iter().map(|domain| domain.to_ascii_lowercase()).collect();
        domains.sort_unstable();
        domains.dedup();
        Self { authority: acme.authority.clone(), domains }
    }
}

/// Whose a stored account is.
#[derive(Deserialize)]
struct AccountAt {
    directory: Option<String>,
}

/// The files of a cache directory.
struct Cache(PathBuf);

impl Cache {
    /// The account with an authority: each has a file of its own, since no authority knows another
    /// one's accounts.
    fn account(&self, authority: &str) -> PathBuf {
        // The first authority's had this name, whichever it was.
        let first = self.0.join("account.json");
        let account =
            fs::read(&first).ok().and_then(|text| serde_json::from_slice::<AccountAt>(&text).ok());
        if account.is_some_and(|account| account.directory.as_deref() == Some(authority)) {
            return first;
        }
        let digest = hash::digest("ostrakon/v1/cli/certificate authority", authority.as_bytes());
        self.0.join(format!("account-{}.json", &digest.to_hex()[..16]))
    }

    fn ordered_file(&self) -> PathBuf {
        self.0.join("ordered.json")
    }

    /// What the certificate was ordered for, if that is known.
    fn ordered(&self) -> Option<Ordered> {
        serde_json::from_slice(&fs::read(self.ordered_file()).ok()?).ok()
    }

    fn certificate(&self) -> PathBuf {
        self.0.join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.0.join("key.pem")
    }

    /// When the certificate should be replaced, in seconds since 1970: after two thirds of its
    /// life.
    fn due(&self, expires: u64) -> u64 {
        let modified = fs::metadata(self.certificate()).and_then(|metadata| metadata.modified());
        let since = modified.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let since = since.map_or(0, |since| since.as_secs());
        since + expires.saturating_sub(since) / 3 * 2
    }
}

/// Sees to it for ever that there is a certificate, and a new one before it expires.
pub async fn keep(acme: Acme, tls: Tls) {
    let cache = Cache(acme.cache.clone());
    if cache.certificate().exists()
        && let Err(error) = tls.use_files(&cache.certificate(), &cache.key())
    {
        tracing::warn!(%error, "the certificate of an earlier order cannot be used; another one is ordered");
    }
    loop {
        let pause = attend(&acme, &cache, &tls).await;
        tokio::time::sleep(pause).await;
    }
}

fn is_due(acme: &Acme, cache: &Cache, tls: &Tls) -> bool {
    let over = tls.expires().is_none_or(|expires| cache.due(expires) <= system::unix_time());
    over || cache.ordered() != Some(Ordered::by(acme))
}

/// Orders a certificate if one is due. Returns how long to pause.
async fn attend(acme: &Acme, cache: &Cache, tls: &Tls) -> Duration {
    if !is_due(acme, cache, tls) {
        return PAUSE;
    }
    let ordered = order(acme, cache, tls).await;
    tls.forget_challenges();
    match ordered {
        // Without a pause, order would follow order until the authority answers no more.
        Ok(()) if is_due(acme, cache, tls) => {
            tracing::error!(
                "the certificate just issued is over by this machine's clock: set it; trying again in half an hour"
            );
            AFTER_FAILURE
        }
        Ok(()) => {
            tracing::info!("the authority issued a certificate");
            PAUSE
        }
        Err(error) => {
            let error = format!("{error:#}");
            tracing::error!(
                error,
                "the authority issued no certificate; trying again in half an hour"
            );
            AFTER_FAILURE
        }
    }
}

/// Orders a certificate and takes it into use.
async fn order(acme: &Acme, cache: &Cache, tls: &Tls) -> Result<()> {
    secret::directory(&cache.0)?;
    let account = account(acme, cache).await.context("the account")?;
    let names: Vec<_> = acme.domains.iter().cloned().map(Identifier::Dns).collect();
    let mut order = account.new_order(&NewOrder::new(&names)).await.context("the order")?;
    prove(&mut order, tls).await?;
    let status = order
        .poll_ready(&PATIENCE)
        .await
        .context("the authority does not find its challenge answered")?;
    if status != OrderStatus::Ready {
        bail!(
            "the authority could not check the names: does {} lead to this server's port 443?",
            acme.domains[0]
        );
    }
    let key = order.finalize().await.context("the request for the certificate")?;
    let certificate = order.poll_certificate(&PATIENCE).await.context("the certificate")?;
    // The key first: a certificate without its key is no pair, and is ordered again.
    token::replace(&cache.key(), &key)?;
    token::replace(&cache.certificate(), &certificate)?;
    tls.use_files(&cache.certificate(), &cache.key())?;
    token::replace(&cache.ordered_file(), &serde_json::to_string(&Ordered::by(acme))?)
}

/// The account of an earlier order from this authority, or a new one.
async fn account(acme: &Acme, cache: &Cache) -> Result<Account> {
    let path = cache.account(&acme.authority);
    let builder = match &acme.authority_roots {
        Some(roots) => Account::builder_with_root(roots)?,
        None => Account::builder()?,
    };
    if path.exists() {
        let credentials: AccountCredentials = serde_json::from_str(&secret::read_all(&path)?)?;
        return Ok(builder.from_credentials(credentials).await?);
    }
    let contact: Vec<_> = acme.contact.iter().map(String::as_str).collect();
    let account = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let (account, credentials) = builder.create(&account, acme.authority.clone(), None).await?;
    secret::write_new(&path, &serde_json::to_string(&credentials)?)?;
    Ok(account)
}

/// Answers the challenge for every name, and says so.
async fn prove(order: &mut Order, tls: &Tls) -> Result<()> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
        let mut challenge =
            challenge.context("the authority does not offer the challenge tls-alpn-01")?;
        let name = challenge.identifier().to_string();
        let mut params = CertificateParams::new(vec![name.clone()])?;
        let digest = challenge.key_authorization().digest();
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest.as_ref())];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        tls.answer_challenge(&name, certificate.pem().as_bytes(), key.serialize_pem().as_bytes())?;
        challenge.set_ready().await.context("the challenge")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
