//! Invitations to decisions by e-mail: what is sent.
//!
//! A decision's creator asks for it; the address is used for this one message, and neither kept nor
//! logged. Only links of this deployment to this decision are sent, and only a few to each person,
//! so that nobody makes a sender of other things of a server. Whoever runs the mail servers on the
//! way can read the link: `docs/spec/decide.md`, limits.

mod texts;

use ostrakon_decide::record::mail_digest;
use ostrakon_decide::{Chain, DecisionId, Link, Person, Seat, Stage};
use ostrakon_job::Letter;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::MailRequest;

use crate::server::DecisionServer;
use texts::{About, Visit};

/// Messages to one person of a decision at most.
const MOST_TO_A_PERSON: u32 = 3;
/// Messages for one decision at most.
const MOST_FOR_A_DECISION: u32 = 300;

impl DecisionServer {
    /// Has the mail server send somebody who is asked the link, at the creator's request. Returns
    /// when it has taken the message.
    ///
    /// # Errors
    /// `NotFound` if this server sends no e-mail or there is no such decision; `Forbidden` if the
    /// creator did not sign it; `Refused` if the link is not the person's; `Conflict` if too many
    /// were sent; `Busy`, `Unavailable`.
    pub async fn mail(&self, id: DecisionId, request: MailRequest) -> Result<(), ServiceError> {
        if !self.port.sends_mail() {
            return Err(ServiceError::NotFound(
                "this server sends no e-mail: copy the link and send it yourself".into(),
            ));
        }
        let over =
            || ServiceError::Refused("the decision is over: nobody is awaited any more".into());
        let chain = self.chain(&id)?.ok_or_else(over)?;
        self.check_mail(&chain, &request)?;
        let send = self.port.mail(letter(&chain, &request))?;
        // Counted first: what was sent counts, whatever happens to this process.
        let limits = (MOST_TO_A_PERSON, MOST_FOR_A_DECISION);
        if !self.keep().count_mail(&id, request.person, limits).await? {
            let text = format!(
                "a person gets at most {MOST_TO_A_PERSON} e-mails from here, and a decision {MOST_FOR_A_DECISION}"
            );
            return Err(ServiceError::Conflict(format!("{text}: send the link yourself")));
        }
        let sent = send.await;
        sent.map_err(|_| {
            ServiceError::Unavailable(
                "the mail server has not taken the message: check the address, or send the link yourself".into(),
            )
        })
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
        let urls = self.port.urls();
        let of_deployment = urls.iter().any(|url| url.trim_end_matches('/') == read.origin);
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
}

fn letter(chain: &Chain, request: &MailRequest) -> Letter {
    let draft = chain.draft();
    let place = usize::from(request.person);
    let person = &draft.people[place];
    let visit = match chain.stage() {
        _ if chain.people()[place].key().is_none() => Visit::Accept(draft.accept_by),
        Stage::Accepting => Visit::Wait,
        _ => Visit::Answer,
    };
    let texts = texts::of(&request.locale);
    let is_creator = |other: &&Person| other.seat == Seat::Account(draft.creator);
    let body = texts.body(&About {
        name: &person.name,
        asks: draft.people.iter().find(is_creator).map(|creator| creator.name.as_str()),
        question: &draft.question,
        link: &request.link,
        invited: matches!(person.seat, Seat::Invitation(_)),
        visit,
        needs_all: chain.needs_all(),
        deadline: draft.deadline,
    });
    Letter { to: request.address.clone(), subject: texts.subject, body }
}
