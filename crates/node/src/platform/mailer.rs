//! Hands e-mail to the configured server.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::config::{Config, ConfigError};

/// Messages that are handed to the mail server at a time.
const SENDING: usize = 4;
/// How long the mail server may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hands mail to the configured server.
pub(crate) struct Mailer {
    pub transport: AsyncSmtpTransport<Tokio1Executor>,
    pub from: Mailbox,
    /// One for each message that may yet be handed over.
    pub sending: Semaphore,
}

impl Mailer {
    /// None if the configuration has no mail server.
    pub fn of(config: &Config) -> Result<Option<Self>, ConfigError> {
        let Some(mail) = &config.mail else { return Ok(None) };
        let wrong = |name: &str| ConfigError::Setting(format!("`mail.{name}` cannot be used"));
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(&mail.smtp)
            .map_err(|_| wrong("smtp"))?
            .timeout(Some(PATIENCE));
        if let Some(user) = &mail.user {
            let password: Zeroizing<String> = config.mail_password()?;
            transport =
                transport.credentials(Credentials::new(user.clone(), password.trim().to_owned()));
        }
        let url = config
            .servers
            .get(usize::from(config.party))
            .map(|server| server.url.as_str())
            .unwrap_or_default();
        let host = url
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split([':', '/']).next())
            .unwrap_or("localhost");
        let transport = transport.hello_name(ClientId::Domain(host.to_owned())).build();
        let from = mail.from.parse().map_err(|_| wrong("from"))?;
        Ok(Some(Self { transport, from, sending: Semaphore::new(SENDING) }))
    }
}
