//! Asking a committee to compute something: the draft, the keys that belong to it, and the links.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use ostrakon_computation::{CONTRIBUTORS, ComputationId, Contributors, Draft, Link, Parameters};
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::Invitation;
use serde::Serialize;

use super::computation::Asked;
use super::survey::Survey;
use crate::{output, system};

/// What is asked, whatever the job.
pub struct Asking<'a> {
    /// Any one of the members: scheme, host and port.
    pub server: &'a str,
    /// The job's name.
    pub job: &'static str,
    /// What the job is to do, as it writes it.
    pub parameters: Parameters,
    /// What it is about, for people.
    pub title: String,
    /// With fewer inputs nothing is computed.
    pub minimum: u32,
    /// Who may hand in.
    pub who: Who,
    /// Seconds after which it closes by itself.
    pub seconds: Option<u64>,
}

/// Who may hand an input in.
pub enum Who {
    /// Whoever has the link.
    Anyone,
    /// Whoever has one of so many links, each for one input.
    Invited(usize),
    /// Who has the secret half of one of these keys, once each.
    Keys(Vec<VerifyingKey>),
    /// Nobody: it is computed on what was sealed in this computation.
    Earlier(ComputationId),
}

/// What came of it.
#[derive(Serialize)]
pub struct Created {
    id: String,
    /// The link for everybody.
    pub link: String,
    /// One link for each person who is invited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invitations: Vec<String>,
    /// Where the key that closes is kept.
    #[serde(skip)]
    pub kept: PathBuf,
}

impl Asking<'_> {
    /// Signs the draft with the creator's key, keeps that key, and lays the draft before every
    /// member.
    ///
    /// # Errors
    /// If the draft breaks a rule, the key cannot be kept, or a member refuses it or does not
    /// answer.
    pub async fn ask(self, asked: &Asked, creator: &Invitation) -> Result<Created> {
        let count = match &self.who {
            Who::Invited(count) => *count,
            Who::Anyone | Who::Keys(_) | Who::Earlier(_) => 0,
        };
        ensure!(count <= CONTRIBUTORS, "--invitations: at most {CONTRIBUTORS}");
        let invitations: Vec<Invitation> =
            (0..count).map(|_| Invitation(system::random())).collect();
        let keys = invitations.iter().map(|invitation| invitation.key().verifying_key());
        let contributors = match self.who {
            Who::Anyone => Contributors::Anyone,
            Who::Invited(_) => keys.collect(),
            Who::Keys(roster) => roster.into_iter().collect(),
            Who::Earlier(earlier) => Contributors::Earlier(earlier),
        };
        if let Contributors::Keys(keys) = &contributors {
            let (people, minimum) = (keys.len(), self.minimum);
            ensure!(
                people >= minimum as usize,
                "only {people} may hand in, and with fewer than --minimum {minimum} nothing is \
                 computed: let more people take part, or lower --minimum"
            );
        }
        let draft = Draft {
            committee: asked.digest,
            job: self.job.to_owned(),
            parameters: self.parameters,
            title: self.title,
            minimum: self.minimum,
            contributors,
            closes: self.seconds.map(|seconds| system::unix_time() + seconds),
            creator: creator.key().verifying_key(),
            nonce: system::random(),
        };
        draft.validate()?;
        let draft = draft.sign(&creator.key());
        let computation = draft.draft.id();
        let origin = self.server.trim_end_matches('/').to_owned();
        let link = Link { origin, computation, committee: asked.digest, invitation: None };
        // The key that closes is on disk before anybody can hand in.
        let kept = Survey::new(&link, creator).keep(&link)?;
        asked.create(&draft).await?;
        let links = invitations
            .into_iter()
            .map(|invitation| Link { invitation: Some(invitation), ..link.clone() }.to_string());
        Ok(Created {
            id: computation.0.to_hex(),
            link: link.to_string(),
            invitations: links.collect(),
            kept,
        })
    }
}

impl Created {
    /// Prints the links, a line each, the one for everybody first.
    ///
    /// # Errors
    /// If standard output is closed.
    pub fn print(&self) -> Result<()> {
        output::line(&self.link)?;
        self.invitations.iter().try_for_each(|link| output::line(link))
    }
}
