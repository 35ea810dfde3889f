//! Invitations to decisions by e-mail: the table `[mail]` of the configuration, and what is sent.
//!
//! A decision's creator asks for it; the address is used for this one message, and neither kept nor
//! logged. Only links of this deployment to this decision are sent, and only a few to each person,
//! so that nobody makes a sender of other things of a server. Whoever runs the mail servers on the
//! way can read the link: `docs/spec/decide.md`, limits.

mod texts;

use std::time::{Duration, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{Address, AsyncTransport, Message};
use ostrakon_decide::record::mail_digest;
use ostrakon_decide::{Chain, DecisionId, Link, Person, Seat, Stage};

use crate::answers::internal;
use crate::core::Core;
use crate::platform::mailer::Mailer;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::MailRequest;
use texts::{About, Visit};

/// Messages to one person of a decision at most.
pub const MOST_TO_A_PERSON: u32 = 3;
/// Messages for one decision at most.
pub const MOST_FOR_A_DECISION: u32 = 300;
/// The longest address (RFC 5321).
const ADDRESS_BYTES: usize = 254;

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
        let place = usize::from(request.person);
        let person = &draft.people[place];
        let visit = match chain.stage() {
            _ if chain.people()[place].key().is_none() => Visit::Accept(draft.accept_by),
            Stage::Accepting => Visit::Wait,
            _ => Visit::Answer,
        };
        let invited = matches!(person.seat, Seat::Invitation(_));
        let texts = texts::of(&request.locale);
        let is_creator = |other: &&Person| other.seat == Seat::Account(draft.creator);
        let body = texts.body(&About {
            name: &person.name,
            asks: draft.people.iter().find(is_creator).map(|creator| creator.name.as_str()),
            question: &draft.question,
            link: &request.link,
            invited,
            visit,
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
