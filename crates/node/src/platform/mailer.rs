//! Hands e-mail to the configured server.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use futures::FutureExt;
use futures::future::BoxFuture;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use ostrakon_job::Letter;
use ostrakon_protocol::ServiceError;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::config::{Config, ConfigError};

/// Messages that are handed to the mail server at a time.
const SENDING: usize = 4;
/// The longest address (RFC 5321).
const ADDRESS_BYTES: usize = 254;
/// How long the mail server may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hands mail to the configured server.
pub(crate) struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    /// One for each message that may yet be handed over.
    sending: Arc<Semaphore>,
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
        Ok(Some(Self { transport, from, sending: Arc::new(Semaphore::new(SENDING)) }))
    }

    /// Makes a message ready, of this number and time since 1970; it is sent while what this
    /// returns is awaited. The address is used for this and nothing else.
    ///
    /// # Errors
    /// `Refused` if it is no address; `Busy` if too much is being sent.
    pub fn send(
        &self,
        letter: Letter,
        id: [u8; 16],
        now: Duration,
    ) -> Result<BoxFuture<'static, Result<(), ServiceError>>, ServiceError> {
        let wrong = || ServiceError::Refused("this is no e-mail address".into());
        let address = Some(&letter.to).filter(|address| address.len() <= ADDRESS_BYTES);
        let address: Address =
            address.and_then(|address| address.parse().ok()).ok_or_else(wrong)?;
        let busy =
            |_| ServiceError::Busy("too much e-mail is being sent; try again in a moment".into());
        let turn = Arc::clone(&self.sending).try_acquire_owned().map_err(busy)?;
        let id = format!("<{}@{}>", HEXLOWER.encode(&id), self.from.email.domain());
        let message = Message::builder()
            .message_id(Some(id))
            .date(UNIX_EPOCH + now)
            .from(self.from.clone())
            .to(Mailbox::new(None, address))
            .subject(letter.subject)
            .header(ContentType::TEXT_PLAIN)
            .body(letter.body);
        let message = message.map_err(|error| {
            tracing::error!(%error, "a message cannot be put together");
            ServiceError::Internal
        })?;
        let transport = self.transport.clone();
        Ok(async move {
            let _turn = turn;
            transport.send(message).await.map(drop).map_err(|error| {
                // The whole error may repeat the address.
                tracing::warn!(
                    permanent = error.is_permanent(),
                    "the mail server has not taken a message"
                );
                ServiceError::Unavailable("the mail server has not taken the message".into())
            })
        }
        .boxed())
    }
}
