//! A join link at its servers: nothing is believed that whoever it names has not signed.

use std::sync::Arc;

use anyhow::Result;
use data_encoding::BASE64URL_NOPAD;
use ostrakon_client::joining::{Canvass, CanvassNews, JoiningAnswer, JoiningCall};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::draft::gathering::{Request, Word};
use ostrakon_decide::{Gathering, JoinLink};
use ostrakon_protocol::decisions::GatheringInfo;

use super::connection::driver::{Driver, Transport};
use super::decision::{Creator, Deployment};
use crate::{failure, system};

/// A join link that holds.
pub struct Joining {
    /// The link.
    pub link: JoinLink,
    /// Its servers.
    pub deployment: Arc<Deployment>,
    /// What is believed of what they show.
    shown: ostrakon_client::Joining,
}

/// What those servers have done that did it, as the machine has them asked.
async fn canvass<T: Transport>(
    deployment: &Deployment,
    transport: Arc<T>,
    call: JoiningCall,
) -> Result<Vec<JoiningAnswer>> {
    let machine = Canvass::new(call, Secret::new(system::random()));
    let mut driver = Driver::new(machine, transport);
    driver.happen(Canvass::wake);
    loop {
        match driver.next_other() {
            Some(CanvassNews::Done(answers)) => return Ok(answers),
            Some(CanvassNews::Failed { party, refusal }) => {
                return Err(deployment.said(party, refusal));
            }
            None => driver.turn().await,
        }
    }
}

async fn shown(deployment: &Arc<Deployment>, link: &JoinLink) -> Result<Vec<GatheringInfo>> {
    let call = JoiningCall::Show(link.gathering);
    let answers = canvass(deployment, Arc::clone(deployment), call).await?;
    let info = |answer| match answer {
        JoiningAnswer::Shown(info) => Some(info),
        JoiningAnswer::Requests(_) | JoiningAnswer::Taken => None,
    };
    Ok(answers.into_iter().filter_map(info).collect())
}

/// Hands a new join link in at all servers.
///
/// # Errors
/// If none of them takes it.
pub async fn hand_in(
    deployment: &Arc<Deployment>,
    bytes: Vec<u8>,
    token: Option<&str>,
) -> Result<()> {
    let (deployment, token) = (Arc::clone(deployment), token.map(str::to_owned));
    let creator = Creator { deployment: Arc::clone(&deployment), token };
    canvass(&deployment, Arc::new(creator), JoiningCall::Keep(bytes)).await.map(drop)
}

impl Joining {
    /// Follows a link.
    ///
    /// # Errors
    /// If no server shows what the link is for, or the link's key is another one.
    pub async fn open(http: &reqwest::Client, link: JoinLink) -> Result<Self> {
        let deployment = Deployment::open(http, &link.origin, Some(&link.servers)).await?;
        let shown = shown(&deployment, &link).await?;
        let read = ostrakon_client::Joining::read(deployment.operators, link.gathering, &shown);
        let other = || failure::unproven("the servers show another join link than this one");
        let shown = read.ok_or_else(other)?;
        if !shown.is_opened_by(&link.secret) {
            return Err(failure::unproven("the join link is incomplete: copy the whole link"));
        }
        Ok(Self { link, deployment, shown })
    }

    /// What it is for.
    pub fn gathering(&self) -> &Gathering {
        self.shown.gathering()
    }

    /// The latest that its creator has said, of all that servers show.
    pub fn word(&self) -> Option<&Word> {
        self.shown.word()
    }

    /// Hears what its creator has said since.
    ///
    /// # Errors
    /// If no server shows it.
    pub async fn look(&mut self) -> Result<()> {
        let shown = shown(&self.deployment, &self.link).await?;
        self.shown.hear(shown.iter().filter_map(|info| info.word.as_deref()));
        Ok(())
    }

    async fn canvass(&self, call: JoiningCall) -> Result<Vec<JoiningAnswer>> {
        canvass(&self.deployment, Arc::clone(&self.deployment), call).await
    }

    /// The account under which a device asks.
    pub fn account(&self, device: &SigningKey) -> SigningKey {
        self.shown.account(device)
    }

    /// Asks to take part.
    ///
    /// # Errors
    /// If no server takes the request.
    pub async fn ask(&self, account: &SigningKey, name: &str) -> Result<Request> {
        let request = self.shown.ask(account, &self.link.secret, name, system::unix_time())?;
        let (link, bytes) = (self.link.gathering, ostrakon_party::wire::encode(&request));
        self.canvass(JoiningCall::Take { link, request: bytes }).await?;
        Ok(request)
    }

    /// As the creator: who asks, the earliest first.
    ///
    /// # Errors
    /// If no server shows it.
    pub async fn requests(&self, creator: &SigningKey) -> Result<Vec<Request>> {
        let time = system::unix_time();
        let signature = self.shown.sign_reading(creator, time);
        let link = self.link.gathering;
        let answers = self.canvass(JoiningCall::Requests { link, time, signature }).await?;
        let info = |answer| match answer {
            JoiningAnswer::Requests(info) => Some(info),
            JoiningAnswer::Shown(_) | JoiningAnswer::Taken => None,
        };
        let shown: Vec<_> = answers.into_iter().filter_map(info).collect();
        Ok(self.shown.requests(&shown))
    }

    /// As the creator: the word that follows what was said, with this done to it, is said.
    ///
    /// # Errors
    /// If no server takes it.
    pub async fn say(
        &mut self,
        creator: &SigningKey,
        change: impl FnOnce(&mut Word),
    ) -> Result<()> {
        let signed = self.shown.say(creator, 0, change)?;
        let (link, bytes) = (self.link.gathering, ostrakon_party::wire::encode(&signed));
        let word = BASE64URL_NOPAD.encode(&bytes);
        self.canvass(JoiningCall::Say { link, word: bytes }).await?;
        self.shown.hear([word.as_str()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
