//! Invitations to decisions by e-mail: the table `[mail]` of the configuration, and what is sent.
//!
//! A decision's creator asks for it; the address is used for this one message, and neither kept nor
//! logged. Only links of this deployment to this decision are sent, and only a few to each person,
//! so that nobody makes a sender of other things of a server. Whoever runs the mail servers on the
//! way can read the link: `docs/spec/decide.md`, limits.

mod texts;

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use ostrakon_decide::record::mail_digest;
use ostrakon_decide::{Chain, DecisionId, Link, Person, Seat};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::config::{Config, ConfigError};
use crate::core::Core;
use crate::interface::ServiceError;
use crate::interface::decisions::MailRequest;
use crate::requests::internal;
use texts::About;

/// The environment variable that holds the password for the mail server, if it is not to be in a
/// file.
pub const MAIL_PASSWORD_VARIABLE: &str = "OSTRAKON_MAIL_PASSWORD";
/// Messages to one person of a decision at most.
pub const MOST_TO_A_PERSON: u32 = 3;
/// Messages for one decision at most.
pub const MOST_FOR_A_DECISION: u32 = 300;
/// Messages that are handed to the mail server at a time.
const SENDING: usize = 4;
/// How long the mail server may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest address (RFC 5321).
const ADDRESS_BYTES: usize = 254;

/// The table `[mail]`: the server that mail is handed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// `smtps://HOST[:PORT]` (TLS from the start), `smtp://HOST[:PORT]?tls=required` (STARTTLS),
    /// or, on this machine only, `smtp://HOST[:PORT]`.
    pub smtp: String,
    /// The sender, as in `Ostrakon <decisions@example.org>`.
    pub from: String,
    /// The name to log in with; without it there is no login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// File with the password. [`MAIL_PASSWORD_VARIABLE`] goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
}

impl Mail {
    /// What makes no sense, each with its remedy.
    pub(crate) fn problems(&self, complain: &mut impl FnMut(String)) {
        let encrypted = self.smtp.starts_with("smtps://") || self.smtp.ends_with("?tls=required");
        let host = self.smtp.strip_prefix("smtp://").unwrap_or_default();
        let here = ["localhost", "127.0.0.1", "[::1]"];
        if !encrypted
            && !here.iter().any(|name| host == *name || host.starts_with(&format!("{name}:")))
        {
            complain(
                "`mail.smtp` must be `smtps://HOST:PORT` or `smtp://HOST:PORT?tls=required`; without TLS it may be on this machine only"
                    .into(),
            );
        }
        if AsyncSmtpTransport::<Tokio1Executor>::from_url(&self.smtp).is_err() {
            complain(format!("`mail.smtp` = {:?} is no address of a mail server", self.smtp));
        }
        if self.from.parse::<Mailbox>().is_err() {
            complain(format!("`mail.from` = {:?} is no e-mail address", self.from));
        }
        if self.user.is_none() && self.password_file.is_some() {
            complain("`mail.password_file` needs `mail.user`, the name to log in with".into());
        }
    }
}

/// Hands mail to the configured server.
pub(crate) struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    sending: Semaphore,
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

impl Core {
    /// Sends somebody who is asked the link, at the creator's request.
    pub(crate) async fn mail(
        &self,
        id: DecisionId,
        request: MailRequest,
    ) -> Result<(), ServiceError> {
        let none = || {
            ServiceError::NotFound(
                "this server sends no e-mail: copy the link and send it yourself".into(),
            )
        };
        let mailer = self.mailer.as_ref().ok_or_else(none)?;
        let over =
            || ServiceError::Refused("the decision is over: nobody is awaited any more".into());
        let chain = self.chain(&id)?.ok_or_else(over)?;
        self.check_mail(&chain, &request)?;
        let wrong = || ServiceError::Refused("this is no e-mail address".into());
        let address = Some(&request.address).filter(|address| address.len() <= ADDRESS_BYTES);
        let address: Address =
            address.and_then(|address| address.parse().ok()).ok_or_else(wrong)?;
        let busy =
            |_| ServiceError::Busy("too much e-mail is being sent; try again in a moment".into());
        let _turn = mailer.sending.try_acquire().map_err(busy)?;
        // Counted first: what was sent counts, whatever happens to this process.
        let limits = (MOST_TO_A_PERSON, MOST_FOR_A_DECISION);
        if !self.store.count_mail(&id.0, request.person, limits).await.map_err(internal)? {
            let text = format!(
                "a person gets at most {MOST_TO_A_PERSON} e-mails from here, and a decision {MOST_FOR_A_DECISION}"
            );
            return Err(ServiceError::Conflict(format!("{text}: send the link yourself")));
        }
        let message =
            self.message(mailer, &chain, &request, address).ok_or(ServiceError::Internal)?;
        mailer.transport.send(message).await.map_err(|error| {
            // The whole error may repeat the address.
            tracing::warn!(permanent = error.is_permanent(), "the mail server has not taken a message");
            ServiceError::Unavailable(
                "the mail server has not taken the message: check the address, or send the link yourself".into(),
            )
        })?;
        Ok(())
    }

    /// Whether the creator asks for it, and it is about this decision.
    fn check_mail(&self, chain: &Chain, request: &MailRequest) -> Result<(), ServiceError> {
        let MailRequest { person, address, link, locale, signature } = request;
        let digest = mail_digest(chain.operators(), &chain.id(), *person, address, link, locale);
        if !chain.draft().creator.verifies(&digest, signature) {
            return Err(ServiceError::Forbidden(
                "only who created the decision has its links sent".into(),
            ));
        }
        let refused = |text: &str| Err(ServiceError::Refused(text.into()));
        let place = usize::from(*person);
        let (Some(asked), Some(standing)) =
            (chain.draft().people.get(place), chain.people().get(place))
        else {
            return refused("nobody with this number is asked");
        };
        if standing.is_removed() || standing.answered().is_some() || chain.close().is_some() {
            return Err(ServiceError::Conflict("this person is not awaited any more".into()));
        }
        let Some(read) = link.parse::<Link>().ok().filter(|read| read.to_string() == *link) else {
            return refused("this is no link to a decision");
        };
        let of_deployment = self
            .config
            .servers
            .iter()
            .any(|server| server.url.trim_end_matches('/') == read.origin);
        if !of_deployment || read.servers != chain.operators().digest || read.decision != chain.id()
        {
            return refused("only links to this decision at this deployment are sent");
        }
        let fits = match (&asked.seat, &read.invitation) {
            (Seat::Account(_), None) => true,
            (Seat::Invitation(key), Some(invitation)) => invitation.key().verifying_key() == *key,
            _ => false,
        };
        if fits { Ok(()) } else { refused("the link is not this person's") }
    }

    fn message(
        &self,
        mailer: &Mailer,
        chain: &Chain,
        request: &MailRequest,
        to: Address,
    ) -> Option<Message> {
        let draft = chain.draft();
        let person = &draft.people[usize::from(request.person)];
        let invited = matches!(person.seat, Seat::Invitation(_));
        let texts = texts::of(&request.locale);
        let is_creator = |other: &&Person| other.seat == Seat::Account(draft.creator);
        let body = texts.body(&About {
            name: &person.name,
            asks: draft.people.iter().find(is_creator).map(|creator| creator.name.as_str()),
            question: &draft.question,
            link: &request.link,
            invited,
            deadline: draft.deadline,
        });
        let id = format!(
            "<{}@{}>",
            HEXLOWER.encode(&self.platform.random::<16>()),
            mailer.from.email.domain()
        );
        let message = Message::builder()
            .message_id(Some(id))
            .date(UNIX_EPOCH + Duration::from_millis(self.platform.now_ms()))
            .from(mailer.from.clone())
            .to(Mailbox::new(None, to))
            .subject(texts.subject)
            .header(ContentType::TEXT_PLAIN);
        message
            .body(body)
            .inspect_err(|error| tracing::error!(%error, "a message cannot be put together"))
            .ok()
    }
}
